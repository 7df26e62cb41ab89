"""Parts of `fci` and `rfci`: work space, compiled and plain code, components, batches of rows, engines, skeletons."""

from itertools import combinations

import numpy as np
import pag_oracle
import pytest
from common import refused
from fci_cases import fitted, random_problem
from latent_cases import oriented, random_case

import pycupc
from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.pag.orienting import Orienting
from pycupc.orientation.pag.possible_d_sep import biconnected
from pycupc.system import jit


def test_the_work_space_grows(monkeypatch):
    """A search may put a variable into its queue many times."""
    sizes, following = [], Orienting._next

    def watched(self, *given):
        path = following(self, *given)
        sizes.append(self._work.shape[1] - self.p - 3)
        return path

    monkeypatch.setattr(Orienting, "_next", watched)
    rng = np.random.default_rng(1)
    for _ in range(15):
        case = random_case(rng, (5, 9, 10), ((20, 1, 1),), p_max=14)
        for quirks in (True, False):
            want = pag_oracle.orient(case["M"], {}, case["rules"], quirks=quirks, colliders=False)
            np.testing.assert_array_equal(oriented(case | {"cells": {}}, quirks)[0], pag_oracle.as_array(want))
    assert max(sizes) > 0


def test_compiled_as_plain(monkeypatch):
    rng = np.random.default_rng(2)
    cases = [random_case(rng, p_max=12, ambiguous=0.1) for _ in range(20)]
    answers = []
    for most in (-1, 10**12):
        monkeypatch.setattr(jit, "MOST_PLAIN_STEPS", most)
        answers.append([oriented(case, quirks) for case in cases for quirks in (True, False)])
    for (one, why), (two, also) in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, two)
        assert why == also


def joined(adjacent, a, b, without) -> bool:
    """Whether a path joins a and b that avoids a variable."""
    met, left = {a}, [a]
    while left:
        v = left.pop()
        new = set(np.flatnonzero(adjacent[v]).tolist()) - met - {without}
        met |= new
        left += new
    return b in met


def components(adjacent) -> set[frozenset[int]]:
    """Edges v - a and v - b are in one biconnected component if a path from a to b avoids v; so are chains of these."""
    edges = [tuple(edge) for edge in np.argwhere(np.triu(adjacent)).tolist()]
    number = {edge: k for k, edge in enumerate(edges)}
    for one, two in combinations(edges, 2):
        for v in set(one) & set(two):
            (a,), (b,) = set(one) - {v}, set(two) - {v}
            if joined(adjacent, a, b, v):
                old, new = number[two], number[one]
                number = {edge: new if k == old else k for edge, k in number.items()}
    return {frozenset(v for edge in edges if number[edge] == k for v in edge) for k in number.values()}


def test_biconnected_components():
    rng, several = np.random.default_rng(3), 0
    for _ in range(60):
        p = int(rng.integers(2, 12))
        adjacent = np.triu(rng.random((p, p)) < rng.uniform(0.1, 0.5), 1)
        adjacent |= adjacent.T
        found = [frozenset(part.tolist()) for part in biconnected(SparseGraph.from_dense(adjacent))]
        assert len(set(found)) == len(found)
        assert set(found) == components(adjacent)
        several += len(found) > 2
    assert several > 10


def fisher_z(x, y, S, stat) -> float:
    """Fisher's z as a user's test, which is asked in order, one set after the other."""
    return pycupc.gaussCItest(x, y, S, stat)


@pytest.mark.parametrize("quirks", [True, False])
@pytest.mark.parametrize("function", [pycupc.fci, pycupc.rfci])
def test_rows_one_by_one_as_together(function, quirks):
    rng, later = np.random.default_rng(4), 0
    for k in range(12):
        case = random_problem(rng, p_max=13)
        stat = {"C": np.array(case["C"]), "n": case["n"]}
        options = {"alpha": 0.2, "quirks": quirks} | ({"biCC": k % 3 == 0} if function is pycupc.fci else {})
        one = function(stat, fisher_z, p=len(stat["C"]), **options)
        fits = [function(stat, engine=engine, **options) for engine in ("cpu", "reference")]
        for two in fits:
            assert (one.sparse_graph, one.sepset.cells()) == (two.sparse_graph, two.sepset.cells())
            assert list(one.later.n_tests) == list(two.later.n_tests)
            assert one.trace == two.trace
            np.testing.assert_allclose(one.pMax, two.pMax, rtol=1e-6, atol=1e-12)
        later += len(one.later.n_tests) > 1
    assert later > 3


@pytest.mark.parametrize("function", ["fci", "rfci"])
def test_discrete_data_on_both_engines(function):
    rng = np.random.default_rng(5)
    for _ in range(4):
        case = random_problem(rng, discrete=True, p_max=8) | {"arguments": {}}
        one, two = (fitted(case, function, engine=engine) for engine in ("cpu", "reference"))
        assert (one.sparse_graph, one.sepset, one.trace) == (two.sparse_graph, two.sepset, two.trace)
        assert list(one.later.n_tests) == list(two.later.n_tests)


@pytest.mark.parametrize("function", [pycupc.fci, pycupc.rfci])
def test_a_skeleton_of_other_data(function):
    rng = np.random.default_rng(6)
    C = np.corrcoef(rng.standard_normal((5, 50)))
    fit = pycupc.skeleton({"C": C, "n": 50}, alpha=0.3)
    whole = function({"C": C, "n": 50}, alpha=0.3)
    for skeleton in (fit, pycupc.pc({"C": C, "n": 50}, alpha=0.3, maj_rule=True)):
        found = function({"C": C, "n": 50}, alpha=0.3, skeleton=skeleton)
        assert (found.sparse_graph, found.sepset) == (whole.sparse_graph, whole.sepset)
        assert list(found.later.n_tests) == list(whole.later.n_tests)
    for given, name in (
        ({"suffStat": {"C": C, "n": 51}, "alpha": 0.3}, "n"),
        ({"suffStat": {"C": C, "n": 50}, "alpha": 0.2}, "alpha"),
        ({"suffStat": {"C": C[:4, :4], "n": 50}, "alpha": 0.3}, "its variables are others"),
        ({"suffStat": {"C": C, "n": 50}, "alpha": 0.3, "labels": list("abcde")}, "its variables are others"),
    ):
        refused(rf"skeleton must be of the same data and alpha: .*{name}$", function, **given, skeleton=fit)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": [True] * 11}, "rules must be 10 values"),
        ({"rules": [2] * 10}, "rules must be 10 values"),
        ({"conservative": True, "maj_rule": True}, "conservative=True and maj_rule=True"),
        ({"alpha": 2}, "alpha must be"),
        ({"m_max": -1}, "m_max must be"),
        ({"fixedGaps": np.zeros((2, 2))}, "fixedGaps"),
        ({"skel_method": "slow"}, "method"),
        ({"labels": ["a"]}, "labels"),
    ],
)
def test_errors_of_rfci(options, message):
    refused(message, pycupc.rfci, {"C": np.eye(3), "n": 10}, **options)


@pytest.mark.parametrize("function", [pycupc.fci, pycupc.rfci])
def test_a_skeleton_of_other_data_with_the_same_names(function):
    """Neither names nor n or alpha tell them apart: p-values do. Gaps and fixed edges are those of the skeleton."""
    rng = np.random.default_rng(8)
    data = rng.standard_normal((60, 5)) @ (np.eye(5) + np.eye(5, k=1))
    fit = pycupc.skeleton(data)
    assert function(data, skeleton=fit) == function(data)
    with pytest.raises(ValueError, match="skeleton must be of the same data and test: 1 and 3 have another p-value"):
        function(data + 0.1 * rng.standard_normal((60, 5)), skeleton=fit)
    for name, pair in (("fixedGaps", ("1", "2")), ("fixedEdges", ("1", "5"))):
        given = {name: [pair]}
        with pytest.raises(ValueError, match=f"skeleton must be of the same {name}, which have the pair of 1 and"):
            function(data, skeleton=fit, **given)
        assert function(data, skeleton=pycupc.skeleton(data, **given), **given) == function(data, **given)
    with pytest.raises(TypeError, match="skeleton must be a result of pycupc.skeleton, got PagAlgo"):
        function(data, skeleton=function(data))


def test_one_context_variable_by_name_or_position():
    data = np.random.default_rng(9).standard_normal((500, 3)) @ np.triu(np.ones((3, 3)))
    options = {"labels": ["sex", "b", "c"], "alpha": 0.01, "jci": "1", "selectionBias": False}
    several = pycupc.fci(data, contextVars=["sex"], **options)
    assert several.sparse_graph != pycupc.fci(data, **options).sparse_graph
    for one in ("sex", 0, np.array(["sex"])):
        assert pycupc.fci(data, contextVars=one, **options).sparse_graph == several.sparse_graph
    with pytest.warns(UserWarning, match="contextVars have no effect with jci='0'"):  # as in pcalg
        without = pycupc.fci(data, contextVars=["sex"], **options | {"jci": "0"})
    assert without.sparse_graph == pycupc.fci(data, **options | {"jci": "0"}).sparse_graph
