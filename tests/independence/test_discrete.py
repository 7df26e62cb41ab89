"""Tests of discrete data: recorded answers of pcalg, properties, single tests, and what is refused."""

import json
import pickle
import re
from itertools import combinations

import numpy as np
import pytest
from common import GOLDEN_FOLDER, Case, assert_same, refused
from discrete_cases import check_answer, discrete, rare_levels
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from markov_classes import d_separated, true_cpdag
from scipy.stats import chi2

import pycupc
from pycupc.discrete import DiscreteSuffStat, binCItest, disCItest, gSquareBin, gSquareDis
from pycupc.independence.discrete.contingency import prepare, single_tests
from pycupc.results.edge_columns import sepset_columns
from pycupc.results.serialisation import check_arrays

RECORDED = sorted((GOLDEN_FOLDER / "discrete").glob("*.npz"))

COMMON = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


def draw(seed: int, p: int, n: int, most: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, p) of variables that share a hidden cause and copy each other now and then, and their levels."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, most + 1, p)
    mixed = 0.5 * rng.random((n, 1)) + 0.5 * rng.random((n, p))
    codes = np.minimum((mixed * levels).astype(np.int64), levels - 1)
    for j in range(1, p):
        if rng.random() < 0.3:
            copied = rng.random(n) < 0.7
            codes[copied, j] = np.minimum(codes[copied, j - 1], levels[j] - 1)
    return codes, levels


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


# -- one test ---------------------------------------------------------------------------------------------------------


def literal(x, y, S, dm, nlev, adaptDF, few=10):
    """Degrees of freedom, G^2 and p-value from a table counted cell by cell; `few`: observations per df it needs."""
    n, tables = len(dm), {}
    for row in dm.tolist():
        tables.setdefault(tuple(row[s] for s in S), np.zeros((nlev[x], nlev[y])))[row[x], row[y]] += 1
    sets = int(np.prod([nlev[s] for s in S], dtype=int))
    df = (nlev[x] - 1) * (nlev[y] - 1) * sets
    if n < few * df:
        return df, 0.0, 1.0
    g2 = 0.0
    for table in tables.values():
        expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
        there = table > 0
        g2 += 2 * (table[there] * np.log(table[there] / expected[there])).sum()
    if adaptDF and S:
        filled = sum(int((table > 0).sum()) for table in tables.values())
        df = max(df - (nlev[x] * nlev[y] * sets - filled), 1)
    return df, g2, float(chi2.sf(g2, df))


def observed_df(x, y, S, dm):
    """Degrees of freedom of the levels that occur in each configuration of S."""
    strata: dict = {}
    for row in dm.tolist():
        strata.setdefault(tuple(row[s] for s in S), []).append((row[x], row[y]))
    seen = [[len(set(column)) for column in zip(*rows, strict=True)] for rows in strata.values()]
    return sum((r - 1) * (c - 1) for r, c in seen)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("adaptDF", [False, True])
def test_single_test_at_any_level(seed, adaptDF):
    codes, levels = draw(seed, 9, [50, 400, 5000][seed % 3], most=2 + seed % 3)
    rng = np.random.default_rng(seed)
    x, y, *others = rng.permutation(9).tolist()
    S = others[: seed % 8]
    expected = literal(x, y, S, codes, levels.tolist(), adaptDF)[2]
    assert gSquareDis(x, y, S, codes, levels, adaptDF) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    if (levels == 2).all():
        assert gSquareBin(x, y, S, codes, adaptDF) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("seed", range(60))
def test_observed_degrees_of_freedom(seed):
    """Against a count by table, with levels and configurations that never occur; one test, and on the cpu engine."""
    codes, levels = draw(seed, 9, [12, 50, 400, 5000][seed % 4], most=2 + seed % 3)
    levels = levels + (seed % 5 == 0)
    rng = np.random.default_rng(seed)
    x, y, *others = rng.permutation(9).tolist()
    S = others[: seed % 8]
    g2, df = literal(x, y, S, codes, levels.tolist(), False, few=0)[1], observed_df(x, y, S, codes)
    expected = 1.0 if df == 0 or len(codes) < 5 * df else float(chi2.sf(g2, df))
    suff = DiscreteSuffStat(codes, levels, df="observed")
    assert disCItest(x, y, S, suff) == pytest.approx(expected, rel=1e-9, abs=1e-300)
    tested = [np.array([value], dtype=int) for value in (x, y, sorted(S))]
    (single,) = single_tests(prepare(suff, 0.01, quirks=False), *tested)[1]
    assert single == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_observed_degrees_of_freedom_of_a_few_rows(n):
    suff = DiscreteSuffStat([[0, 1, 2], [1, 0, 2], [0, 1, 0]][:n], [3, 3, 3], df="observed")
    data = prepare(suff, 0.05, quirks=False)
    for S in ([], [2]):
        independent, p = single_tests(data, np.array([0]), np.array([1]), np.array([S], dtype=int).reshape(1, -1))
        assert independent.all()
        assert p.tolist() == [1.0]


def test_observed_degrees_of_freedom_find_edges_that_rare_levels_hide():
    table, levels = rare_levels()
    assert disCItest(1, 2, [0], DiscreteSuffStat(table, levels)) == 1
    assert disCItest(1, 2, [0], DiscreteSuffStat(table, levels, df="observed")) < 1e-20


def test_the_two_faults_of_pcalg():
    codes, _ = draw(1, 8, 20_000, most=2)
    codes[:, 1] = np.where(np.random.default_rng(1).random(20_000) < 0.9, codes[:, 0], codes[:, 1])
    S = [2, 3, 4, 5, 6]
    assert gSquareDis(0, 1, S, codes) < 1e-50
    assert gSquareDis(0, 1, S, codes, quirks=True) == 1
    ternary, levels = draw(2, 4, 2000, most=3)
    assert (levels == 3).any()
    s = int(np.flatnonzero(levels == 3)[-1])
    x, y = (v for v in range(3) if v != s)
    assert gSquareDis(x, y, [s], ternary, levels, True) != gSquareDis(x, y, [s], ternary, levels, True, quirks=True)


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


# -- data -------------------------------------------------------------------------------------------------------------


def test_categories_become_codes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "colour": ["red", "blue", "red", "green"],
            "size": pd.Categorical(["L", "S", "L", "S"], categories=["S", "M", "L"], ordered=True),
            "ok": [True, False, True, True],
            "number": [7, 3, 3, 7],
        }
    )
    suff = DiscreteSuffStat.from_data(frame)
    assert suff.labels == ("colour", "size", "ok", "number")
    assert suff.nlev.tolist() == [3, 2, 2, 2]
    assert suff.categories[0] == ("blue", "green", "red")
    assert suff["dm"][:, 0].tolist() == [2, 0, 2, 1]
    assert suff.categories[3] == (3, 7)


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


def test_files_and_chosen_columns_become_codes(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": ["p", "q", "r"], "a": ["x", "y", "x"], "b": ["u", "v", "v"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (frame, tmp_path / "t.csv"):
        for options in ({"drop": ["id"]}, {"only": ["b", "a"]}):
            suff = DiscreteSuffStat.from_data(data, **options)
            assert suff.labels == ("a", "b")
            assert suff.categories == (("x", "y"), ("u", "v"))
    with pytest.raises(ValueError, match="at most 255 levels; who has more"):
        DiscreteSuffStat.from_data(pd.DataFrame({"who": range(300), "a": [0, 1] * 150}))


GOOD = {"dm": np.tile([[0, 0], [1, 1]], (10, 1)), "nlev": [2, 2], "adaptDF": False}

BAD = [
    ({"dm": GOOD["dm"]}, ValueError, "suffStat lacks 'adaptDF'"),
    ({"adaptDF": False}, ValueError, "suffStat lacks 'dm'"),
    ({**GOOD, "adaptDF": "yes"}, TypeError, "adaptDF must be True or False, got 'yes'"),
    ({**GOOD, "df": "seen"}, ValueError, "df must be 'pcalg' or 'observed', got 'seen'"),
    ({**GOOD, "df": "observed", "adaptDF": True}, ValueError, "choose one of adaptDF=True and df='observed'"),
    ({**GOOD, "dm": GOOD["dm"] - 1}, ValueError, "codes of at least 0; negative codes in column 0, column 1"),
    (
        {**GOOD, "dm": GOOD["dm"] + 0.5},
        ValueError,
        "whole numbers 0, 1, ...; column 0, column 1 does not. Is it continuous",
    ),
    ({**GOOD, "dm": np.where(GOOD["dm"] == 1, np.nan, 0.0)}, ValueError, "missing values in column 0, column 1"),
    ({**GOOD, "dm": GOOD["dm"] * 2}, ValueError, "a code of dm must be below nlev"),
    ({**GOOD, "dm": GOOD["dm"] * 2, "nlev": None}, ValueError, "without nlev the codes must be 0, 1, ..., k - 1"),
    ({**GOOD, "nlev": [2, 1]}, ValueError, "nlev must be at least 2"),
    ({**GOOD, "nlev": [2]}, ValueError, "nlev must hold 2 whole numbers"),
    ({**GOOD, "nlev": [2, 300]}, ValueError, "at most 255 levels; column 1 has more"),
    ({**GOOD, "dm": np.array([["a", "b"], ["b", "a"]])}, TypeError, "from_data"),
    ("table", TypeError, "DiscreteSuffStat.from_data"),
]


@pytest.mark.parametrize(("data", "error", "words"), BAD)
def test_bad_data(data, error, words):
    refused(words.replace("(", r"\("), pycupc.pc, data, disCItest, alpha=0.05, error=error)


def test_bad_tables():
    with pytest.raises(ValueError, match="complete; 1 missing values in column 1, 2 missing values in column 2$"):
        DiscreteSuffStat.from_data(np.array([["a", None, None], ["b", "x", None], ["a", "y", "z"]], dtype=object))
    refused("Gaussian test", DiscreteSuffStat.from_data, np.random.default_rng(0).standard_normal((20, 3)))
    with pytest.raises(ValueError, match="whole: w, h; these are categories: sex. mixCItest takes both"):
        DiscreteSuffStat.from_data(np.array([["m", 1.5, 2.5], ["f", 2.5, 3.0]], dtype=object), ["sex", "w", "h"])
    refused("levels 0 and 1", pycupc.pc, {"dm": GOOD["dm"], "nlev": [2, 3], "adaptDF": False}, binCItest, alpha=0.05)
    with pytest.raises(ValueError, match="quirks=True reproduces pcalg, which has no df='observed'"):
        pycupc.pc({**GOOD, "df": "observed"}, disCItest, alpha=0.05, quirks=True)
    refused("quirks=True", pycupc.pc, {"C": np.eye(3), "n": 10}, alpha=0.05, quirks=True)


def test_discrete_data_stand_for_their_test_and_not_for_another():
    suff = DiscreteSuffStat([[0, 1], [1, 0], [0, 0]] * 20, adaptDF=False)
    assert pycupc.pc(suff, alpha=0.01) == pycupc.pc(suff, disCItest, alpha=0.01)
    text = "a DiscreteSuffStat needs indepTest=pycupc.disCItest, got the Gaussian test"
    refused(text, pycupc.pc, suff, pycupc.gaussCItest, alpha=0.01, error=TypeError)
    pd = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="DiscreteSuffStat.from_data"):
        pycupc.pc(pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "v", "v"]}), alpha=0.01)


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
