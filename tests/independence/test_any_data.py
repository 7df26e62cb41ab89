"""Correlations of ranks and latent variables, n by pair, numbers and categories together, and `run` on any table.

tests/files/any_data.npz has recorded answers: latent correlations of polycor (hetcor, ML = FALSE, pd = FALSE), and
p-values of micd (mixCItest), with the tables that they are of.
"""

import json
import math
import re
import warnings
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from common import FILES, refused

import pycupc
from pycupc import MixedTable, RCoT, SuffStat, cli, mixCItest, pc
from pycupc.discrete import DiscreteSuffStat
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.gpu.device_correlation import concordances as on_device
from pycupc.independence.gaussian import ranks
from pycupc.independence.gaussian.latent import kinds_of, latent_correlation, levels_of
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.independence.missing.impute import imputed
from pycupc.independence.mixed.test import MixedTest

RECORDED = np.load(FILES / "any_data.npz")
MEASURES = ["spearman", "kendall", "normal-scores"]


NAMED = pd.DataFrame(np.eye(3), index=[*"abc"], columns=[*"abc"])


def chain(n=300, p=6, seed=0):
    """Observations of 0 - 1 - 2 - ..., float64 (n, p)."""
    X = np.random.default_rng(seed).standard_normal((n, p))
    for j in range(1, p):
        X[:, j] += X[:, j - 1]
    return X


def frame(n=300):
    return pd.DataFrame(chain(n=n))


def incomplete(n=300):
    return gaps(frame(n))


def with_ties(n, seed=1):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.standard_normal((n, 2)), rng.integers(0, 3, (n, 2)), rng.integers(0, 2, n)])


def run(*args):
    return cli.main([*map(str, args), "--plot", "none", "--force", "--out", "out"])


# ---------------------------------------------------------------- ranks


def test_an_engine_with_a_device_counts_for_kendall():
    class Counting(CpuEngine):
        correlates_on_device, seen = True, 0

        def concordances(self, X):
            self.seen += 1
            return ranks.concordances(X)

    engine, X = Counting(), chain()
    assert pc(X, correlation="kendall", engine=engine) == pc(X, correlation="kendall", engine="cpu")
    assert engine.seen == 1


@pytest.mark.parametrize("n", [2, 5, 64, 65, 200])
def test_kendall_and_ranks_are_those_of_scipy(n):
    X = with_ties(n)
    np.testing.assert_array_equal(ranks.ranks(X), scipy.stats.rankdata(X, axis=0))
    tau = ranks.kendall(X)
    for i, j in combinations(range(X.shape[1]), 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = scipy.stats.kendalltau(X[:, i], X[:, j])[0]
        assert tau[i, j] == tau[j, i] or np.isnan(expected)
        np.testing.assert_allclose(tau[i, j], expected, rtol=0, atol=1e-14)
    X[:, 1] = 3.0  # a constant column
    tau = ranks.kendall(X)
    assert np.isnan(tau[1]).all()
    assert n < 20 or not np.isnan(np.delete(np.delete(tau, 1, 0), 1, 1)).any()


def test_signs_on_a_device_count_the_same_pairs():
    class Device:
        asarray, asnumpy, zeros, sign = staticmethod(np.asarray), staticmethod(np.asarray), np.zeros, np.sign
        float32, float64 = np.float32, np.float64

    X = with_ties(90)
    np.testing.assert_array_equal(on_device(Device, X), ranks.concordances(X))


def test_correlations_of_ranks_follow_their_formulas():
    X = chain()
    rho = scipy.stats.spearmanr(X)[0]
    np.testing.assert_allclose(SuffStat.from_data(X, correlation="spearman").C, 2 * np.sin(np.pi / 6 * rho), atol=1e-14)
    n, least = len(X), 1 / (4 * len(X) ** 0.25 * np.sqrt(np.pi * np.log(len(X))))
    scores = scipy.stats.norm.ppf(np.clip(scipy.stats.rankdata(X, axis=0) / n, least, 1 - least))
    expected = np.corrcoef(scores, rowvar=False)
    np.testing.assert_allclose(SuffStat.from_data(X, correlation="normal-scores").C, expected, atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_ranks_do_not_see_increasing_transformations(measure):
    X = chain()
    fit = pc(X, correlation=measure)
    assert fit == pc(np.exp(X), correlation=measure)
    assert len(fit.sparse_graph) == 5


def test_nearest_correlation_matrix_of_higham():
    C = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])  # Higham (2002), section 4
    near, distance = ranks.nearest_correlation(C)
    np.testing.assert_allclose(near[[0, 0, 1], [1, 2, 2]], [0.7607, 0.1573, 0.7607], atol=1e-4)
    assert distance == pytest.approx(0.5278, abs=1e-4)
    assert np.linalg.eigvalsh(near)[0] > 0


def test_an_indefinite_matrix_is_said_and_may_be_replaced():
    X = chain(n=8, p=6)
    with pytest.warns(UserWarning, match="C is not positive semidefinite, .* pcalg's rules .*nearest=True"):
        kept = SuffStat.from_data(X, correlation="kendall")
    assert np.linalg.eigvalsh(kept.C)[0] < 0
    with pytest.warns(UserWarning, match="the nearest correlation matrix, .* away, takes its place"):
        assert np.linalg.eigvalsh(SuffStat.from_data(X, correlation="kendall", nearest=True).C)[0] > 0


def test_an_indefinite_matrix_of_a_file_is_replaced_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    C = pd.DataFrame([[1, 0.9, 0.9], [0.9, 1, -0.9], [0.9, -0.9, 1]], columns=[*"abc"])
    C.to_csv("C.csv", index=False)
    near = ranks.nearest_correlation(C.to_numpy())[0]
    assert run("run", "C.csv", "--correlation", "50", "--nearest") == cli.OK
    assert "the nearest correlation matrix, 0.98 away, takes its place" in capsys.readouterr().err
    assert pycupc.PcAlgo.load("out/result.npz").p_values.correlations([0], [1]) == pytest.approx(near[0, 1])


RESAMPLED = {
    "RCoT": (lambda: frame(100), lambda D: D),
    "ranks": (lambda: frame(100), lambda D: SuffStat.from_data(D, correlation="kendall")),
    "mixed": (lambda: mixed_frame(100), MixedTable.of),
    "pairwise": (lambda: incomplete(100), lambda D: SuffStat.from_data(D, missing="pairwise")),
    "smallest n": (lambda: incomplete(100), lambda D: SuffStat.from_data(D, missing="pairwise", n_rule="min")),
    "test-wise": (lambda: incomplete(100), IncompleteTable),
    "imputed": (lambda: frame(100), lambda D: MultipleImputation([D + 0.4 * np.sin(7 * D + k) for k in range(3)])),
}


@pytest.mark.parametrize("kind", RESAMPLED)
@pytest.mark.parametrize("method", ["pc", "rfci"])
def test_stability_is_a_loop_over_the_resampled_rows(kind, method):
    D, of = RESAMPLED[kind][0](), RESAMPLED[kind][1]
    how = {"alpha": 0.1, "quirks": kind == "mixed"}
    how |= {"indepTest": RCoT(seed=3, features=25)} if kind == "RCoT" else {}
    result = pycupc.stability(of(D), n_resamples=4, random_state=1, method=method, **how)
    fits = [getattr(pycupc, method)(of(D.iloc[result.indices(i)]), **how) for i in range(4)]
    if method == "pc":
        assert result.n_tests[:, 0].tolist() == [sum(fit.n_edgetests) for fit in fits]
    expected = np.mean([fit.sparse_graph.skeleton() for fit in fits], axis=0)
    shares, place = result.columns(), {label: i for i, label in enumerate(result.labels)}
    found = np.zeros_like(expected)
    found[tuple([place[label] for label in shares[end]] for end in ("from", "to"))] = shares["adjacent"]
    np.testing.assert_array_equal(found + found.T, expected)
    if method == "pc":
        arrows = sum(fit.sparse_graph.counts().get("directed", 0) for fit in fits) / 4
        assert shares["directed"].sum() + shares["reversed"].sum() == arrows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pc(chain(), correlation="rank"), "correlation must be one of 'pearson', .*, got 'rank'"),
        (lambda: pc({"C": np.eye(3), "n": 9}, correlation="kendall"), "correlation='kendall' goes with data"),
        (lambda: pc([chain(), chain()], mixCItest), "mixCItest takes one table; mixMItest takes several imputations"),
        (lambda: pc(chain(), mixCItest, correlation="kendall"), "correlation='kendall' goes with the Gaussian test"),
        *(
            (lambda data=data: pc(data, correlation="spearman"), "correlation='spearman' goes with .* complete numbers")
            for data in (IncompleteTable(chain()), MultipleImputation([chain()] * 2), MixedTable.of(chain()))
        ),
        (lambda: SuffStat.from_data(chain(), correlation="kendall", missing="pairwise"), "goes with correlation="),
        (
            lambda: SuffStat(NAMED, NAMED.rename(columns={"a": "z"})),
            "n must have one row .*; not variables: z; not in n",
        ),
        (lambda: SuffStat(np.eye(3), np.ones((2, 2))), "n must be a number or a matrix of shape"),
        (lambda: SuffStat(np.eye(3), np.full((3, 3), -1.0)), r"n must have finite numbers of at least 0 .* n\[0, 1\]"),
        (lambda: SuffStat(np.eye(3), 9 * np.ones((3, 3)), n_rule="max"), "n_rule must be one of 'mean', .*, got 'max'"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    refused(message, call, error=(TypeError, ValueError))


# ---------------------------------------------------------------- latent variables


def log_likelihood(table, r):
    """Of a table of two ordinal variables with latent correlation r, by SciPy."""
    cuts = [np.r_[-9.0, scipy.stats.norm.ppf(np.cumsum(m)[:-1] / m.sum()), 9.0] for m in (table.sum(1), table.sum(0))]
    below = scipy.stats.multivariate_normal([0, 0], [[1, r], [r, 1]], allow_singular=True)
    corner = np.array([[below.cdf([a, b]) for b in cuts[1]] for a in cuts[0]])
    return (table * np.log(np.maximum(np.diff(np.diff(corner, axis=0), axis=1), 1e-300)))[table > 0].sum()


@pytest.mark.parametrize("k", range(5))
def test_latent_correlations_are_those_of_polycor(k):
    X, expected = RECORDED[f"latent_X{k}"], RECORDED[f"latent_C{k}"]
    C = latent_correlation(X, levels_of(X))
    np.testing.assert_array_equal(C, C.T)
    for i, j in combinations(range(X.shape[1]), 2):
        if abs(C[i, j]) < 0.95:
            assert C[i, j] == pytest.approx(expected[i, j], abs=1e-4)
        else:  # empty cells in a corner: the likelihood is constant from some r on
            table = pd.crosstab(X[:, i], X[:, j]).to_numpy()
            assert (table == 0).any()
            assert log_likelihood(table, C[i, j]) == pytest.approx(log_likelihood(table, expected[i, j]), abs=1e-4)


def test_kinds_of_columns_are_found():
    X = np.column_stack([np.arange(40) % 2, np.arange(40) % 7, np.arange(40) / 7, np.arange(40) % 3 / 2, np.ones(40)])
    assert kinds_of(levels_of(X), 5) == "1 binary, 1 ordinal, 3 continuous"


def test_latent_correlations_of_classes_estimate_those_before():
    X = chain(n=4000, p=4, seed=3)
    cut = X.copy()
    cut[:, 0], cut[:, 1] = X[:, 0] > 0.5, np.digitize(X[:, 1], [-1, 0, 2])
    np.testing.assert_allclose(SuffStat.from_data(cut, correlation="latent").C, np.corrcoef(X, rowvar=False), atol=0.05)


def test_categories_with_an_order_have_latent_correlations():
    X = chain(n=200, p=3)
    codes = np.digitize(X[:, 0], [-1, 0, 1])
    D = pd.DataFrame(X, columns=list("abc"))
    D["a"] = pd.Categorical.from_codes(codes, ["z", "y", "x", "w"], ordered=True)
    D["b"] = np.where(X[:, 1] > 0, "yes", "no")
    numbers = np.column_stack([codes, X[:, 1] > 0, X[:, 2]])
    np.testing.assert_array_equal(
        SuffStat.from_data(D, correlation="latent").C, SuffStat.from_data(numbers, correlation="latent").C
    )
    D["a"] = D["a"].astype(str)
    refused(r"need an order of the categories, .*: a \(w, x, y, z\)", pc, D, correlation="latent")


# ---------------------------------------------------------------- n by pair


@pytest.mark.parametrize("options", [{}, {"conservative": True}])
def test_one_n_in_all_cells_is_that_n(options):
    C = np.corrcoef(chain(seed=4), rowvar=False)
    one, many = pc({"C": C, "n": 300}, **options), pc({"C": C, "n": np.full(C.shape, 300)}, **options)
    assert (one.amat() == many.amat()).all(axis=None)
    assert one.n_edgetests == many.n_edgetests
    np.testing.assert_allclose(one.p_values.dense(), many.p_values.dense(), atol=1e-13)


def test_the_n_of_a_matrix_is_the_mean_over_its_pairs():
    X = chain(n=90, p=4)
    X[:30, 0], X[60:, 1], X[5:9, 2] = np.nan, np.nan, np.nan
    there = ~np.isnan(X)
    numbers = [(there[:, i] & there[:, j]).sum() for i, j in combinations(range(4), 2)]
    assert sorted({*numbers}) == [30, 56, 60, 86]
    for rule in ("mean", "min", "harmonic"):
        pairwise = SuffStat.from_data(X, missing="pairwise", n_rule=rule)
        given = SuffStat(pairwise.C, pairwise.pair_n.matrix + np.diag([90.0, 1, 2, 3]), n_rule=rule)
        assert pairwise.n == given.n == pairwise.pair_n.typical == pytest.approx(np.mean(numbers), rel=1e-15)
        assert pc(pairwise).n == pairwise.n


@pytest.mark.parametrize("rule", ["mean", "min", "harmonic"])
def test_n_of_a_test_is_that_of_its_pairs(rule):
    C, rng = np.corrcoef(chain(seed=5), rowvar=False), np.random.default_rng(0)
    N = np.triu(rng.integers(5, 300, C.shape), 1)
    data = SuffStat(C, N + N.T, n_rule=rule)
    numbers = [N[0, 1], N[0, 4], N[1, 4]]
    expected = {"mean": np.mean(numbers), "min": min(numbers), "harmonic": scipy.stats.hmean(numbers)}[rule]
    assert data.pair_n.of_test(4, 0, [1]) == pytest.approx(expected)
    fits = [pc(data, alpha=0.05, engine=engine) for engine in ("cpu", "reference")]
    assert fits[0].n_edgetests == fits[1].n_edgetests
    np.testing.assert_allclose(*(fit.p_values.dense() for fit in fits), atol=1e-12)


def test_n_of_each_pair_goes_by_its_names():
    N = pd.DataFrame(9 * np.ones((3, 3)), index=[*"abc"], columns=[*"abc"])
    N.loc["a", "b"] = N.loc["b", "a"] = 5
    data = SuffStat(NAMED, N.loc[[*"cab"], [*"bca"]])
    assert data.pair_n.of_test(0, 1, []) == 5
    assert data.pair_n.of_test(1, 2, []) == 9


def test_pairwise_complete_correlations():
    X = chain(n=120)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    data, D = SuffStat.from_data(X, missing="pairwise"), pd.DataFrame(X)
    np.testing.assert_allclose(data.C, D.corr(), atol=1e-12)
    assert data.pair_n.matrix[0, 1] == (D[0].notna() & D[1].notna()).sum()
    X[:60, 0], X[60:, 1] = np.nan, np.nan
    with pytest.warns(UserWarning, match="count as independent: column 0 and column 1"):
        apart = SuffStat.from_data(X, missing="pairwise")
    assert np.isnan(apart.C[0, 1])
    assert not pc(apart).sparse_graph.adjacent([0], [1])[0]


# ---------------------------------------------------------------- numbers and categories


@pytest.mark.parametrize("k", range(14))
def test_mixed_tests_are_those_of_micd(k):
    X = RECORDED[f"mixed_X{k}"]
    D = pd.DataFrame(X, columns=list("abcxyz")).astype(dict.fromkeys("abc", str))
    table = MixedTable.of(D)
    test = MixedTest(table, 0.05, quirks=True)
    for (x, y, *S), p in zip(RECORDED[f"mixed_tests{k}"].tolist(), RECORDED[f"mixed_p{k}"], strict=True):
        S = [v for v in S if v >= 0]
        made = test.single_tests(np.array([x]), np.array([y]), np.array([S], dtype=np.int64).reshape(1, -1))[1][0]
        assert made == pytest.approx(p, abs=1e-9)
        assert mixCItest(x, y, S, table, quirks=True) == pytest.approx(p, abs=1e-9)


def test_singular_and_constant_columns():
    x = np.random.default_rng(0).standard_normal(60)
    table = MixedTable.of(pd.DataFrame({"a": list("ab") * 30, "x": x, "x2": x, "k": 1.0, "f": "q"}))
    for x, y, S, p in ((1, 2, [0], 0.0), (0, 3, [], 1.0), (1, 4, [], 1.0), (0, 1, [2], 1.0)):
        assert mixCItest(x, y, S, table) == p
    with pytest.warns(UserWarning, match="constant columns are independent of all others, hence no edges: k, f"):
        table.check()


def mixed_frame(n=300):
    X = chain(n=n, p=5)
    D = pd.DataFrame(X.round(6), columns=list("vwxyz"))
    D["v"], D["x"] = np.where(X[:, 0] > 0, "yes", "no"), np.array(["low", "mid", "high"])[np.digitize(X[:, 2], [-1, 1])]
    return D


def test_categories_of_polars_are_categories():
    polars, D = pytest.importorskip("polars"), mixed_frame().astype({"x": "category"})
    table = MixedTable.of(polars.from_pandas(D))
    assert table.categories == MixedTable.of(D).categories
    np.testing.assert_array_equal(table.values, MixedTable.of(D).values)


def test_numbers_in_rows_of_a_list_stay_numbers():
    assert MixedTable.of([[1, "a"], [2, "b"], [3, "a"]]).categories == (None, ("a", "b"))
    assert DiscreteSuffStat.from_data([["1.5", "a"], ["2", "b"]]).categories == (("1.5", "2"), ("a", "b"))
    with pytest.raises(ValueError, match="data must be complete; 1 missing values in column 1"):
        DiscreteSuffStat.from_data([["a", "x"], ["b", math.nan]])


@pytest.mark.parametrize(("part", "message"), [(np.s_[:0, :], "at least 2 rows"), (np.s_[:, :1], "at least 2 columns")])
def test_a_mixed_table_has_two_rows_and_two_columns(part, message):
    with pytest.raises(ValueError, match=message):
        MixedTable.of(mixed_frame().iloc[part])


def test_categories_of_too_many_levels_are_untested_among_numbers():
    """The G^2 test of a and b needs 10 * 9 * 9 observations; those with a number are made."""
    rng = np.random.default_rng(1)
    D = pd.DataFrame({name: [f"{name}{v}" for v in rng.integers(0, 10, 200)] for name in "ab"})
    D["x"] = rng.normal(size=200)
    fit = pc(D, mixCItest)
    assert fit.untested.x.tolist() == [0]
    assert fit.untested.y.tolist() == [1]
    assert "a and b: no edge, not enough data: the test without conditioning needs 810" in str(fit.why("a", "b"))
    assert "not enough data" not in str(fit.why("a", "x"))


def test_engines_agree_on_a_mixed_table():
    fits = [pc(mixed_frame(), mixCItest, engine=engine) for engine in ("cpu", "reference")]
    assert fits[0].n_edgetests == fits[1].n_edgetests
    np.testing.assert_allclose(*(fit.p_values.dense() for fit in fits), atol=1e-10)


@pytest.mark.parametrize("value", [0.0, 0.1, -7.7])
def test_a_number_may_have_one_value_in_a_category(value):
    """Its covariance matrix is singular there, whatever the value."""
    D = mixed_frame(120)
    D["y"] = np.where(D["v"] == "no", value, D["y"])
    fits = [pc(D, mixCItest, alpha=0.1, engine=engine) for engine in ("cpu", "reference")]
    assert mixCItest(0, 3, [], D) == fits[0].pMax[0, 3] == fits[1].pMax[0, 3] == 0
    assert mixCItest(1, 3, [0], D) == 1
    assert MixedTest(MixedTable.of(D), 0.1).single_tests(np.array([1]), np.array([3]), np.array([[0]]))[1] == 1


@pytest.mark.parametrize("method", ["pc", "fci", "rfci"])
@pytest.mark.parametrize("kind", ["mixed", "incomplete"])
def test_faults_of_the_tests_of_categories_are_those_of_the_skeleton(method, kind):
    codes = np.digitize(chain(n=200, p=4, seed=6), [-1, 1])
    words = pd.DataFrame(codes).astype(str)
    data = MixedTable.of(words) if kind == "mixed" else IncompleteTable(codes, categories=True, adaptDF=True)
    found = {}
    for quirks in (True, False):
        fit = getattr(pycupc, method)(data, quirks=quirks)
        found[quirks] = fit.p_values.dense()
        np.testing.assert_array_equal(found[quirks], pycupc.skeleton(data, quirks=quirks).p_values.dense())
    assert not np.array_equal(found[True], found[False])


def test_categories_that_do_not_occur_count_with_quirks_unless_all_are_categories():
    table = MixedTable.of(mixed_frame(100))
    more = replace(table, categories=tuple(c and (*c, "never") for c in table.categories))
    for quirks, V in product((True, False), ([0, 2], [0, 1, 2], [1, 2, 0], [1, 3])):
        p, other = (mixCItest(V[0], V[1], V[2:], some, quirks=quirks) for some in (table, more))
        assert (p == other) == (not quirks or V in ([0, 2], [1, 3]))
        test = MixedTest(more, 0.05, quirks=quirks)
        found = test.single_tests(*(np.array([part]) for part in (V[0], V[1], V[2:])))[1]
        np.testing.assert_allclose(found, other, atol=1e-12)


# ---------------------------------------------------------------- the command line


def gaps(D):
    return D.mask(np.random.default_rng(3).random(D.shape) < 0.05)


TABLES = {
    "numbers": (frame, [], "data", ""),
    "gaps": (incomplete, [], "data with gaps", "missing in 6 of 6 columns"),
    "pairwise": (incomplete, ["--missing", "pairwise"], "data with gaps", ""),
    "both": (mixed_frame, [], "numbers and categories", r"2 of 5 columns hold words \(v, x\)"),
    "asked": (mixed_frame, ["--test", "mixed"], "numbers and categories", ""),
    "both with gaps": (
        lambda: gaps(mixed_frame()),
        [],
        "numbers and categories with gaps",
        "missing in 5 of 5 columns",
    ),
    "ranks": (frame, ["--correlation", "kendall"], "data", ""),
    "words": (
        lambda: gaps(pd.DataFrame(np.where(frame() > 0, "up", "down"))),
        [],
        "categories with gaps",
        "holds categories.*values are missing",
    ),
    "latent": (lambda: mixed_frame().drop(columns="x"), ["--correlation", "latent"], "data", "as the two classes"),
}


@pytest.mark.parametrize("name", TABLES)
def test_run_chooses_a_test_for_any_table(here, capsys, name):
    make, options, kind, said = TABLES[name]
    make().rename(columns=lambda c: f"c{c}" if isinstance(c, int) else c).to_csv("d.csv", index=False)
    assert run("run", "d.csv", *options) == cli.OK
    facts = json.loads(Path("out/manifest.json").read_text())["input"]
    assert facts["kind"] == kind
    assert facts["choice"]
    error = capsys.readouterr().err
    assert re.search(said, error)
    assert (facts["choice"] in error) == bool(said)


BAD = {
    "text": (
        lambda: mixed_frame().assign(z=[f"patient {k}" for k in range(300)]),
        ["--keep", "z"],
        "at most 255 of them, each in several rows; names.*variables: --drop z: z (300 different values in 300 rows",
    ),
    "kept": (frame, ["--keep", "zz"], "keep must name columns, got 'zz'; the columns are"),
    "no order": (mixed_frame, ["--correlation", "latent"], "need an order of the categories, .*: x (high, low, mid)"),
    "ranks of words": (mixed_frame, ["--correlation", "kendall"], "kendall takes numbers, and the table holds words"),
    "ranks with gaps": (incomplete, ["--correlation", "kendall"], "kendall needs complete rows"),
    "damaged": (lambda: mixed_frame().assign(w=["1,5x", *range(299)]), [], "3 of 5 columns hold other cells"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_table_without_a_sensible_test_is_refused_with_the_reason(here, capsys, name):
    make, options, message = BAD[name]
    make().to_csv("d.csv", index=False)
    assert run("run", "d.csv", *options) == cli.DATA
    error = capsys.readouterr().err
    first, _, rest = message.partition(".*")
    assert first.strip() in error
    assert rest.strip() in error
    assert "d.csv" in error


DAYS = pd.date_range("2020-01-01", periods=300)
#: A column that is no variable, and why.
NO_VARIABLES = {
    "names": ([f"patient {k}" for k in range(300)], "names the rows (290 different texts in 290 rows)"),
    "most names": ([f"A/{k // 1.4:.0f}" for k in range(300)], "holds names ("),
    "dates": (DAYS.strftime("%Y-%m-%d"), "holds dates in order"),
    "months": ([f"2020-{k // 25 + 1:02}-01" for k in range(300)], "holds dates in order"),
    "day first, falling": (DAYS[::-1].strftime("%d.%m.%Y"), "holds dates in order"),
    "free text": ([f"the patient came back after {k // 1.5:.0f} days" for k in range(300)], "holds free text ("),
}


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("kind", NO_VARIABLES)
def test_columns_that_are_no_variables_are_left_out(here, capsys, kind, place):
    texts, why = NO_VARIABLES[kind]
    for table in (frame().add_prefix("c"), mixed_frame(), mixed_frame()[["v", "x"]].assign(u=["l", "m", "n"] * 100)):
        table = table[:290]
        more = table.copy()
        more.insert(0 if place == "first" else table.shape[1], "extra", list(texts)[:290])
        more.to_csv("d.csv", index=False)
        assert run("run", "d.csv") == cli.OK
        error, page = capsys.readouterr().err, Path("out/graph.html").read_text()
        facts = json.loads(Path("out/manifest.json").read_text())["input"]
        assert f"extra {why}" in error
        assert "(to keep: --keep extra)" in error
        assert facts["choice"] in error
        assert facts["choice"].startswith(facts["columns_left_out"])
        assert facts["columns_left_out"] in Path("out/summary.txt").read_text()
        assert f"extra {why}" in page
        for data in ("d.csv", more):
            choice, plain = pycupc.choose(data), pycupc.choose(table)
            assert list(choice.labels) == list(table.columns)
            assert choice.family == plain.family
            assert f"extra {why}" in str(choice.reason)


@pytest.mark.parametrize(
    "texts",
    [
        [f"{k / 7:.2f} {'mg' if k else 'g'}" for k in range(300)],  # numbers with different units
        [f"1 {k:03}" for k in range(300)],  # numbers in another form
        [f"{k}" for k in range(299)] + ["many"],  # numbers, and a word
    ],
)
def test_numbers_in_another_form_are_not_taken_for_names(here, capsys, texts):
    mixed_frame().assign(z=texts).to_csv("d.csv", index=False)
    assert run("run", "d.csv") == cli.DATA
    assert "left out" not in capsys.readouterr().err


def test_a_column_of_dates_in_order_may_be_kept(here, capsys):
    mixed_frame().assign(z=NO_VARIABLES["months"][0]).to_csv("d.csv", index=False)
    assert run("run", "d.csv", "--keep", "z") == cli.OK
    assert "left out" not in capsys.readouterr().err


@pytest.mark.parametrize("mark", [".", "?", "*", "-", "--"])
def test_a_mark_beside_numbers_means_a_missing_value(here, capsys, mark):
    table = frame().add_prefix("c").round(3)
    with_marks = table.astype(object)
    with_marks.loc[3:9, "c1"] = mark
    with_marks.to_csv("d.csv", index=False)
    assert run("run", "d.csv") == cli.OK
    said = f"taken for missing values, beside numbers: {mark!r} in c1 (7 rows)"
    assert said in capsys.readouterr().err
    facts = json.loads(Path("out/manifest.json").read_text())["input"]
    assert (facts["kind"], facts["marks_of_missing"]) == ("data with gaps", said)
    assert said in Path("out/summary.txt").read_text()
    table.loc[3:9, "c1"] = np.nan
    table.to_csv("gaps.csv", index=False)
    assert pycupc.choose("d.csv").data.values.tobytes() == pycupc.choose("gaps.csv").data.values.tobytes()
    for other in (mark, "?" if mark == "." else "."):  # in a column of words; and a second mark beside numbers
        more = with_marks.assign(w=[other, "up", "down"] * 100) if other == mark else with_marks.copy()
        more.loc[10, "c1"] = other
        more.to_csv("d.csv", index=False)
        assert run("run", "d.csv") == cli.DATA
        error = capsys.readouterr().err
        assert "--na" in error
        assert "missing value" in error


def test_numbers_that_may_mean_a_missing_value_are_named_in_any_table(tmp_path):
    x = chain()[:60, :3]
    gappy = x.copy()
    gappy[:4, 0], gappy[4:8, 0], gappy[8:10, 1] = np.nan, -99, -999
    said = r"column 0 is -99 in 4 rows, far from all other values, which are -\d.*column 1 is -999 in 2 rows"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        IncompleteTable(gappy)
    assert re.search(said, " ".join(str(one.message) for one in found))
    x[4:8, 0] = -99
    table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(w=["up", "down", "nan"] * 20)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        MixedTable.of(table).check()
    text = " ".join(str(one.message) for one in found)
    assert re.search("a is -99 in 4 rows.*'nan' is a category of w; if it means a missing value: na=", text)
    MixedTable.of(table).take(np.arange(60)).check()  # of resamples nothing is said again: warnings are errors
    MixedTable.of(table).take(np.arange(0, 9, 3)).check()  # with one value of w, in as many rows as it has values
    table.drop(columns="w").assign(w=["up", "down"] * 30).to_csv(tmp_path / "d.csv", index=False)
    assert "-99.0" in (tmp_path / "d.csv").read_text()
    assert np.isnan(MixedTable.of(tmp_path / "d.csv", na=["-99"], missing="keep").values).sum() == 4


@pytest.mark.parametrize("how", ["run", "python"])
def test_what_is_said_of_data_to_impute_is_said_once(tmp_path, how):
    x = chain()[:60, :3]
    x[:4, 0], x[4:8, 1] = -99, np.nan
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        if how == "run":
            pd.DataFrame(x, columns=["a", "b", "c"]).to_csv(tmp_path / "d.csv", index=False)
            args = [tmp_path / "d.csv", "--missing", "impute=2", "--out", tmp_path / "out", "--quiet", "--plot", "none"]
            assert cli.main(["run", *map(str, args)]) == 0
            said = json.loads((tmp_path / "out" / "manifest.json").read_text())["warnings"]
        else:
            imputed(x, 2)
            said = [str(one.message) for one in found]
    assert sum("is -99 in 4 rows" in text for text in said) == 1


def test_words_that_may_mean_a_missing_value_are_named_where_they_are_categories():
    table = pd.DataFrame({"a": ["None", "mild"] * 9, "b": ["x", "y", "z"] * 6})
    remedy = r"na=\['None'\] of the function that reads the file, or NaN in place of it"
    with pytest.warns(UserWarning, match=f"^'None' is a category of a; if it means a missing value: {remedy}$"):
        assert DiscreteSuffStat.from_data(table).nlev.tolist() == [2, 3]
