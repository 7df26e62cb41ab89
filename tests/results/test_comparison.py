"""`compare`: does it see every difference, and lead to where it began?"""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from common import refused
from compared_results import problem
from orientation_cases import flat_cells

import pycupc
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.results.comparison import compare
from pycupc.results.differences import Side
from pycupc.results.serialisation import only_stored_cells


def sets(cells) -> dict[str, np.ndarray]:
    """The arrays of these cells and their sets."""
    return dict(zip(("sepset_x", "sepset_y", "sepset_len", "sepset_members"), flat_cells(dict(cells)), strict=True))


def with_arrays(fit: pycupc.PcAlgo, **changed: np.ndarray) -> pycupc.PcAlgo:
    """`fit` with some of its flat arrays replaced, every cell named."""
    arrays = fit.to_arrays("matrix") | sets(sorted(fit.sepset.cells().items()))
    named = only_stored_cells({**arrays, **changed}, fit.p)
    return pycupc.PcAlgo.from_arrays(named, labels=fit.labels, max_ord=fit.max_ord)


def test_a_result_equals_itself_and_its_copy(tmp_path):
    data = problem()
    fit = pycupc.pc(data, alpha=0.05)
    found = compare(fit, fit)
    assert found
    assert found.equal
    assert "are equal" in str(found)
    assert compare(fit, with_arrays(fit))
    fit.save(tmp_path / "fit.npz")
    assert compare(fit, pycupc.PcAlgo.load(tmp_path / "fit.npz"))


def test_an_edge_that_only_one_kept_is_named_with_its_test():
    data = problem()
    strict, loose = pycupc.skeleton(data, alpha=0.01), pycupc.skeleton(data, alpha=0.05)
    found = compare(strict, loose, suffStat=data, alpha=0.05, names=("strict", "loose"))
    assert not found
    first = found.differences[0]
    assert [f.level for f in found.differences] == sorted(f.level for f in found.differences)
    remover = (strict, loose)[first.removed_by]
    assert remover.sepset.get(first.x, first.y) == first.S
    assert len(first.S) == first.level
    # the p-value recorded by the one that removed it is that of the test itself, recomputed
    assert first.recomputed_p == pytest.approx(first.p[first.removed_by], rel=1e-6)
    among = [first.x, first.y, *first.S]
    assert first.condition == pytest.approx(np.linalg.cond(data["C"][np.ix_(among, among)]))
    kept = {(min(f.x, f.y), max(f.x, f.y)) for f in found.differences if f.other_level == -1}
    differ = np.argwhere(np.triu(strict.skeleton != loose.skeleton))
    assert kept == {(int(i), int(j)) for i, j in differ}
    for text in ("The first difference:", f"level {first.level}, edge", "strict removed it given", "alpha 0.05"):
        assert text in found.text
    assert not first.singular


def test_identical_columns_are_led_to():
    """What happens with pcalg's stable.fast on such data: it tests a set that holds a copy of x otherwise."""
    data = problem()
    C = data["C"].copy()
    C[11, :], C[:, 11] = C[3, :], C[:, 3]
    C[11, 3] = C[3, 11] = C[11, 11] = 1.0
    data = {"C": C, "n": 150}
    fit = pycupc.skeleton(data, alpha=0.05)
    x, y = next((x, y) for (x, y), S in fit.sepset.cells().items() if {x, *S} >= {3, 11} or {y, *S} >= {3, 11})
    arrays = fit.to_arrays("matrix")
    ends = {"graph_from": [x, y], "graph_to": [y, x], "graph_mark": [1, 1]}
    edges = {name: np.append(arrays[name], more) for name, more in ends.items()}
    cells = {cell: S for cell, S in sorted(fit.sepset.cells().items()) if set(cell) != {x, y}}
    other = with_arrays(fit, **edges, **sets(cells))
    found = compare(fit, other, suffStat=data, names=("ours", "theirs"))
    assert [(f.x, f.y) for f in found.differences] == [(x, y)]
    assert found.differences[0].singular
    assert found.differences[0].collinear == ((3, 11),)
    assert found.collinear == ((3, 11),)
    assert "4 and 12 are collinear up to rounding (1 - |r| < 1e-12)" in found.text
    assert "Columns collinear up to rounding: 4 with 12." in found.text
    assert "singular" in found.text


def test_a_collider_that_only_one_set_makes_is_named():
    rng = np.random.default_rng(0)
    x, y, z = rng.standard_normal((3, 500))
    y = y + x + z
    fit = pycupc.pc({"C": np.corrcoef([x, y, z]), "n": 500}, alpha=0.01)
    assert fit.graph[0, 1] == 1
    assert fit.graph[1, 0] == 0
    chain = with_arrays(
        fit,
        graph_from=np.array([0, 1, 1, 2]),
        graph_to=np.array([1, 0, 2, 1]),
        graph_mark=np.ones(4),
        **sets({(0, 2): (1,)}),
    )
    found = compare(fit, chain, names=("collider", "chain"))
    assert found.parts["skeleton"]
    assert not found.parts["graph"]
    assert found.triple == (0, 1, 2)
    assert found.edge == (0, 1)
    assert "The first difference is at the triple 1 - 2 - 3" in found.text
    assert "1 --> 2 in collider, 1 --- 2 in chain" in found.text


def test_equal_sets_and_other_arrows_point_to_a_rule():
    for seed in range(50):
        data = problem(n=40, seed=seed)
        relaxed, solved = pycupc.pc(data, alpha=0.3), pycupc.pc(data, alpha=0.3, solve_confl=True)
        if not np.array_equal(relaxed.graph, solved.graph):
            break
    found = compare(relaxed, solved)
    assert not found
    assert found.triple is None
    assert "the difference comes from an orientation rule" in found.text


@pytest.mark.parametrize(
    ("change", "part", "text"),
    [
        ({"n_edgetests": np.array([1.0])}, "numbers of tests", "Tests per level in b: 1"),
        ({"pMax": np.full(144, 0.5)}, "p-values", "Largest difference of pMax"),
    ],
)
def test_bookkeeping_that_differs_is_named(change, part, text):
    fit = pycupc.skeleton(problem(), alpha=0.05)
    found = compare(fit, with_arrays(fit, **change))
    assert [name for name, same in found.parts.items() if not same] == [part]
    assert text in found.text


def test_sets_in_other_cells_are_told_from_other_sets():
    fit = pycupc.skeleton(problem(), alpha=0.05)
    cells = sorted(fit.sepset.cells().items())
    mirrored = sorted(((y, x), S) for (x, y), S in cells)
    assert "stored in other cells" in compare(fit, with_arrays(fit, **sets(mirrored))).text
    k = next(i for i, (_, S) in enumerate(cells) if len(S) == 1)
    (x, y), (s,) = cells[k]
    cells[k] = (x, y), (next(v for v in range(12) if v not in (x, y, s)),)
    assert "1 pairs have other separating sets" in compare(fit, with_arrays(fit, **sets(cells))).text


def test_one_parting_in_the_last_digits_of_pmax_is_no_difference():
    fit = pycupc.skeleton(problem(), alpha=0.05)
    assert compare(fit, with_arrays(fit, pMax=(fit.pMax * (1 + 1e-9)).ravel()))
    assert not compare(fit, with_arrays(fit, pMax=(fit.pMax * (1 + 1e-9)).ravel()), rtol=1e-12)


def test_other_variables_are_refused():
    a = pycupc.skeleton(problem(), alpha=0.05)
    b = pycupc.skeleton(problem(), alpha=0.05, labels=[f"v{i}" for i in range(12)])
    refused("by other names: number 1 is '1' and 'v0'", compare, a, b)
    refused("a has 12 variables, b has 5", compare, a, pycupc.skeleton(problem(5), alpha=0.05))
    refused("suffStat must have the 12 variables of the results, got 5", compare, a, a, suffStat=problem(5))
    data = pd.DataFrame(np.random.default_rng(1).standard_normal((150, 12)), columns=[f"v{i}" for i in range(12)])
    refused("suffStat must have the order of the variables", compare, b, b, suffStat=data[data.columns[::-1]])
    refused(r"alpha must be a number in \[0, 1\], got 3", compare, a, a, alpha=3)
    refused("data must be a table of observations", compare, a, a, suffStat=5, error=TypeError)


def test_what_is_no_graph():
    refused("graph must be a square matrix, got object", compare, object(), object())


def test_of_two_sets_of_a_pair_the_smaller_one_says_its_level():
    skeleton = SparseGraph.from_dense(np.zeros((4, 4), dtype=np.int8))
    cells = flat_cells({(0, 1): (2,), (1, 0): (2, 3), (2, 3): (0, 1), (3, 2): (1,), (1, 2): (0, 3)})
    side = Side(SimpleNamespace(found_sepset=SepSets.from_flat(skeleton, cells), skeleton=np.zeros((4, 4))), "made up")
    found = [int(side.level[pair]) for pair in ((0, 1), (1, 0), (2, 3), (3, 2), (1, 2), (0, 2))]
    assert found == [1, 1, 1, 1, 2, 0]
