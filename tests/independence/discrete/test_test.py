"""Tests of discrete data: recorded answers of pcalg, properties, and the pairs that were not tested."""

import json
import pickle
import re
from itertools import combinations

import numpy as np
import pytest
from common import GOLDEN_FOLDER, Case, assert_same, refused
from discrete_cases import check_answer, discrete, draw, observed_df, rare_levels
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from markov_classes import d_separated, true_cpdag

import pycupc
from pycupc.discrete import DiscreteSuffStat, binCItest, disCItest
from pycupc.results.edge_columns import sepset_columns
from pycupc.results.serialisation import check_arrays

RECORDED = sorted((GOLDEN_FOLDER / "discrete").glob("*.npz"))

COMMON = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


# -- recorded answers of pcalg ----------------------------------------------------------------------------------------


def test_all_cases_are_there():
    assert len(RECORDED) == 26


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_recorded(path):
    check_answer(Case(path))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_without_a_note_the_right_answer_is_pcalgs(path):
    case = Case(path)
    data, test = discrete(case)
    fit = pycupc.skeleton(data, test, **case.arguments, engine="cpu")
    if "quirks" not in fit.notes:
        np.testing.assert_array_equal(fit.skeleton, case.skeleton)
        assert fit.sepset.cells() == case.cells()


# -- engines, threads, labels -----------------------------------------------------------------------------------------

#: (adaptDF, df, quirks): what changes the degrees of freedom, as far as it goes together.
RULES = [(False, "pcalg", False), (False, "pcalg", True), (True, "pcalg", False), (True, "pcalg", True)]
RULES += [(False, "observed", False)]

sizes = {"seed": st.integers(0, 2**32 - 1), "p": st.integers(3, 8), "n": st.sampled_from([10, 60, 300, 1000])}
sizes |= {"alpha": st.sampled_from([0.001, 0.05, 0.3, 0.7]), "rule": st.sampled_from(RULES)}


@COMMON
@given(**sizes)
def test_cpu_equals_reference(seed, p, n, alpha, rule):
    adaptDF, df, quirks = rule
    suff = DiscreteSuffStat(*draw(seed, p, n), adaptDF=adaptDF, df=df)
    fits = [pycupc.skeleton(suff, disCItest, alpha, engine=engine, quirks=quirks) for engine in ("cpu", "reference")]
    assert_same(*fits)
    np.testing.assert_allclose(fits[0].pMax, fits[1].pMax, rtol=1e-8, atol=1e-300)


@COMMON
@given(**sizes)
def test_the_order_of_variables_and_of_categories_does_not_matter(seed, p, n, alpha, rule):
    adaptDF, df, quirks = rule
    codes, levels = draw(seed, p, n)
    rng = np.random.default_rng(seed)
    order = rng.permutation(p)
    renamed = np.column_stack([rng.permutation(levels[j])[codes[:, j]] for j in order])
    one = pycupc.skeleton(DiscreteSuffStat(codes, levels, adaptDF=adaptDF, df=df), disCItest, alpha, quirks=quirks)
    other = pycupc.skeleton(
        DiscreteSuffStat(renamed, levels[order], adaptDF=adaptDF, df=df), disCItest, alpha, quirks=quirks
    )
    np.testing.assert_array_equal(one.skeleton[np.ix_(order, order)], other.skeleton)
    np.testing.assert_array_equal(one.sparse_graph.degrees()[order], other.sparse_graph.degrees())


def test_threads_do_not_matter(monkeypatch):
    from pycupc.engines.cpu import setwise_levels, threads, turn_walk

    suff = DiscreteSuffStat(*draw(3, 25, 400), adaptDF=False)
    whole = pycupc.skeleton(suff, disCItest, 0.3, engine="cpu", numCores=1)
    monkeypatch.setattr(turn_walk, "OPEN_PAIRS", 3)
    for module in (setwise_levels, threads):
        monkeypatch.setattr(module, "INLINE_TESTS", 0)
    divided = pycupc.skeleton(suff, disCItest, 0.3, engine="cpu", numCores=4)
    assert whole.max_ord >= 3
    assert_same(whole, divided)
    np.testing.assert_array_equal(whole.pMax, divided.pMax)


@COMMON
@given(**sizes)
def test_every_stored_set_separates_and_no_kept_edge_has_one(seed, p, n, alpha, rule):
    adaptDF, df, quirks = rule
    suff = DiscreteSuffStat(*draw(seed, p, n), adaptDF=adaptDF, df=df)
    fit = pycupc.skeleton(suff, disCItest, alpha, engine="cpu", quirks=quirks)
    for (x, y), S in fit.sepset.cells().items():
        assert disCItest(x, y, S, suff, quirks=quirks) >= alpha
    for x, y in np.argwhere(fit.skeleton).tolist():
        others = np.flatnonzero(fit.skeleton[x])
        for size in range(3):
            for S in combinations(others[others != y].tolist(), size):
                assert disCItest(x, y, S, suff, quirks=quirks) < alpha


def population(dag, p: int, rng) -> np.ndarray:
    """All 4^p states of p binary variables as often as a network with probabilities in quarters has them: the table
    whose frequencies are the probabilities exactly."""
    tables = [rng.integers(1, 4, 2 ** len(dag[v])) for v in range(p)]
    rows = np.zeros((1, p), dtype=np.int64)
    for v in range(p):
        code = np.zeros(len(rows), dtype=np.int64)
        for parent in dag[v]:
            code = 2 * code + rows[:, parent]
        rows = np.repeat(rows, 4, axis=0)
        rows[:, v] = np.tile(np.arange(4), len(code)) < np.repeat(tables[v][code], 4)
    return rows


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(st.integers(0, 2**32 - 1))
def test_the_population_of_a_network_gives_its_true_cpdag(seed):
    rng = np.random.default_rng(seed)
    p = 5
    parents = [sorted(v for v in range(u) if rng.random() < 0.35)[:2] for u in range(p)]
    X = population(parents, p, rng)
    dag = np.zeros((p, p), dtype=bool)
    for v in range(p):
        dag[parents[v], v] = True
    suff = DiscreteSuffStat(X, [2] * p, adaptDF=False)
    for x, y in combinations(range(p), 2):  # numbers may hide a dependence: such a network is not faithful to its graph
        for size in range(p - 1):
            for S in combinations([v for v in range(p) if v not in (x, y)], size):
                separated = d_separated(dag, x, y, S)
                value = disCItest(x, y, S, suff)
                assert not separated or value > 0.999
                assume(separated or value < 1e-3)
    fit = pycupc.pc(suff, disCItest, alpha=0.5)
    np.testing.assert_array_equal(fit.graph, true_cpdag(dag))


def test_a_note_where_pcalg_may_answer_otherwise():
    codes, levels = draw(2, 6, 2000, most=3)
    suff = DiscreteSuffStat(codes, levels, adaptDF=True)
    ours, theirs = (pycupc.pc(suff, disCItest, alpha=0.05, quirks=quirks) for quirks in (False, True))
    assert "may differ from pcalg's disCItest" in ours.notes["quirks"]
    assert "quirks" not in pycupc.pc(DiscreteSuffStat(codes, levels, adaptDF=False), disCItest, alpha=0.05).notes
    found = pycupc.compare(ours, theirs, names=("ours", "pcalg"))
    assert not found.equal
    assert "ours: may differ from pcalg's disCItest, whose adaptDF raises" in str(found)
    assert "pcalg: as pcalg's disCItest" in str(found)


@pytest.mark.parametrize("test", [disCItest, binCItest])
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_a_constant_column_has_no_edges(test, engine):
    """pcalg 2.7-12 stops at a column with nlev = 1, and answers 1 for every pair with it if nlev is 2."""
    codes = np.random.default_rng(3).integers(0, 2, (200, 4))
    codes[:, 1] = np.where(np.arange(200) % 5, codes[:, 0], codes[:, 1])
    codes[:, 2] = 0
    want = pycupc.pc({"dm": codes, "nlev": [2, 2, 2, 2], "adaptDF": False}, test, alpha=0.05, engine=engine)
    assert (want.pMax[:2, 2] == 1).all()
    for make in (lambda: DiscreteSuffStat(codes, adaptDF=False), lambda: DiscreteSuffStat.from_data(codes)):
        with pytest.warns(UserWarning, match="constant columns are independent of all others, .* edges: column 2$"):
            suff = make()
        assert_same(pycupc.pc(suff, test, alpha=0.05, engine=engine), want)


# -- removed pairs that were not tested -------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_a_pair_that_was_not_tested_says_so(engine, tmp_path):
    codes, levels = rare_levels()
    suff = DiscreteSuffStat(codes, levels, labels=list("abcde"))
    fit = pycupc.pc(suff, disCItest, alpha=0.01, engine=engine)
    for found in (fit, _saved(fit, tmp_path / "fit.npz"), pickle.loads(pickle.dumps(fit))):
        assert found.untested.x.tolist() == [0, 0, 1, 3]
        assert found.untested.y.tolist() == [1, 2, 2, 4]
        assert found.untested.level.tolist() == [1, 1, 1, 0]
        assert found.untested.needed.tolist() == [1500, 1500, 1500, 1210]
        why = found.why("d", "e")
        assert (why.status, why.p, why.n, why.needed) == ("removed", 1.0, 600, 1210)
        text = (
            "d and e: no edge, not enough data: the test without conditioning needs 1,210 observations, there are 600"
        )
        assert text in str(why)
        assert "the test given {b} needs 1,500 observations, there are 600 (level 1" in str(found.why("a", "c"))
        assert "independent" not in str(why)
        tested = found.why("a", "d")
        assert (tested.status, tested.needed) == ("removed", None)
        assert "independent without conditioning" in str(tested)
        assert "4 of 10 removed pairs were not tested: not enough data" in found.summary()
        columns = sepset_columns(found)
        assert columns["note"].tolist() == ["not enough data: 1,500 observations needed, 600 there"] * 3
    page = fit.explore(tmp_path / "graph.html", show=False).read_text()
    data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert data["untested"] == [[0, 1, 1500, 600], [0, 2, 1500, 600], [1, 2, 1500, 600], [3, 4, 1210, 600]]


@pytest.mark.parametrize(
    "table", [[0.0, 1.0, 1.0], [0.0, 9.0, 1.0, 50.0], [0.0, np.nan, 1.0, 50.0], [-1.0, 1.0, 0.0, 9.0]]
)
def test_a_damaged_list_of_untested_pairs_is_refused(table):
    fit = pycupc.pc(DiscreteSuffStat(*rare_levels()), disCItest, alpha=0.01)
    check_arrays(arrays := fit.to_arrays(), 5)
    refused("untested", check_arrays, {**arrays, "untested": np.array(table)}, 5)


def _saved(fit, path):
    fit.save(path)
    return pycupc.PcAlgo.load(path)


@COMMON
@given(**sizes)
def test_the_untested_pairs_are_those_whose_test_was_not_made(seed, p, n, alpha, rule):
    adaptDF, df, quirks = rule
    codes, levels = draw(seed, p, n)
    suff = DiscreteSuffStat(codes, levels, adaptDF=adaptDF, df=df)
    fit = pycupc.skeleton(suff, disCItest, alpha, engine="cpu", quirks=quirks)
    expected = {}
    for (x, y), S in fit.sepset.cells().items():
        if df == "pcalg":
            needed = 10 * (levels[x] - 1) * (levels[y] - 1) * int(np.prod(levels[list(S)]))
        else:
            needed = 5 * observed_df(x, y, S, codes)
        if needed > n:
            expected[min(x, y), max(x, y)] = needed
            assert fit.pMax[x, y] == 1
    low, high = np.minimum(fit.untested.x, fit.untested.y), np.maximum(fit.untested.x, fit.untested.y)
    found = zip(zip(low.tolist(), high.tolist(), strict=True), fit.untested.needed.tolist(), strict=True)
    assert dict(found) == expected


def test_every_pair_of_continuous_data_was_tested():
    fit = pycupc.pc(np.random.default_rng(0).standard_normal((30, 4)), alpha=0.01)
    assert not len(fit.untested.x)
    assert "not tested" not in fit.summary()
