"""Multiple imputation and test-wise deletion: micd's recorded answers, the engines, single tests, bad input."""

import json
import math
import pickle
import subprocess
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from common import GOLDEN_FOLDER, refused, run

import pycupc
from pycupc import IncompleteTable, MultipleImputation, SuffStat, cli, disCItwd, disMItest, gaussCItwd, gaussMItest, pc
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.reference import ReferenceEngine
from pycupc.independence.families import family_of
from pycupc.independence.missing.impute import imputed
from pycupc.independence.registry import Request


def made(function, data, alpha, **how):
    """The test of a function of micd with its data."""
    family, function = family_of(function, data)
    return family.make(Request(data, function, alpha, **how))


RECORDED = dict(np.load(GOLDEN_FOLDER / "missing" / "micd.npz"))
TESTS = (gaussMItest, disMItest, gaussCItwd, disCItwd)
rng = np.random.default_rng(5)
COMPLETE = rng.normal(size=(80, 6)) @ (np.eye(6) + 0.4 * rng.normal(size=(6, 6)))
HOLES = rng.random(COMPLETE.shape) < 0.15
GAPPED = np.where(HOLES, np.nan, COMPLETE)
IMPUTED = [np.where(HOLES, rng.normal(size=HOLES.shape), COMPLETE) for _ in range(4)]
CODED = [np.digitize(X, [-0.6, 0.8]) for X in IMPUTED]
CODES = np.where(HOLES, np.nan, CODED[0])
DATA = {
    gaussMItest: MultipleImputation(IMPUTED),
    disMItest: MultipleImputation(CODED, categories=True),
    gaussCItwd: IncompleteTable(GAPPED),
    disCItwd: IncompleteTable(CODES, categories=True, adaptDF=True),
}


def recorded_data(k, test):
    of = {name: RECORDED[f"{k}_{name}"] for name in ("C", "n", "T", "Ds", "G", "L", "adaptDF")}
    if test is gaussMItest:
        return [*of["C"], float(of["n"])]
    if test is disMItest:
        return MultipleImputation.from_codes(of["Ds"].transpose(0, 2, 1), of["L"])
    if test is gaussCItwd:
        return of["T"]
    return {"dm": np.where(of["G"] < 0, np.nan, of["G"]), "adaptDF": bool(of["adaptDF"])}


def write_table(path, X):
    lines = [",".join("" if v != v else repr(float(v)) for v in row) for row in X]
    Path(path).write_text("\n".join(["a,b,c,d,e,f", *lines]))


def sets_of(fit):
    p = len(fit.labels)
    cells = (fit.sepset.get(i, j) for i in range(p) for j in range(p))
    return ["N" if S is None else ",".join(["S", *(str(v + 1) for v in S)]) for S in cells]


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_recorded_answers_of_micd(test, engine):
    for k in range(10):
        quirks = {"quirks": True} if test is disCItwd else {}
        how = {"alpha": float(RECORDED[f"{k}_alpha"]), "conservative": bool(RECORDED[f"{k}_conservative"])}
        fit = pc(recorded_data(k, test), test, engine=engine, **how, **quirks)
        answer = {name: RECORDED[f"{k}_{test.__name__}_{name}"] for name in ("graph", "tests", "sets", "pMax")}
        assert np.array_equal(fit.graph, answer["graph"])
        assert fit.n_edgetests == answer["tests"].tolist()
        assert sets_of(fit) == answer["sets"].tolist()
        np.testing.assert_allclose(fit.pMax, answer["pMax"], rtol=1e-6)


def test_faults_of_disCItwd_are_micd_s():
    dm = np.where(RECORDED["faults_dm"] < 0, np.nan, RECORDED["faults_dm"])
    for v, adaptDF, p in zip(*(RECORDED[f"faults_{name}"] for name in ("v", "adaptDF", "p")), strict=True):
        if p == -9:  # micd stops where a variable has one value
            continue
        x, y, *S = (int(number) - 1 for number in v.split())
        data = IncompleteTable(dm, categories=True, adaptDF=bool(adaptDF))
        of_engine = made(disCItwd, data, 0.05, NAdelete=True, quirks=True)
        p_of_engine = of_engine.single_tests(
            np.array([x]), np.array([y]), np.array([S], dtype=np.int64).reshape(1, -1)
        )[1]
        for found in (disCItwd(x, y, S, data, quirks=True), float(p_of_engine[0])):
            assert found == pytest.approx(p, rel=1e-6, nan_ok=True)


@pytest.mark.parametrize("test", TESTS)
def test_compiled_tests_have_the_literal_p_values(test):
    for NAdelete in (True, False):
        of = made(test, DATA[test], 0.05, NAdelete=NAdelete, quirks=False)
        for level in range(5):
            v = np.array([rng.permutation(6)[: level + 2] for _ in range(12)])
            independent, p = of.single_tests(v[:, 0].copy(), v[:, 1].copy(), v[:, 2:].copy())
            literal = [of.p_value(x, y, S) for x, y, *S in v.tolist()]
            np.testing.assert_allclose(p, literal, rtol=1e-9)
            assert np.array_equal(independent, np.where(np.isnan(p), float(NAdelete), p) >= 0.05)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("how", [{"conservative": True}, {"maj_rule": True, "tiers": [0, 0, 1, 1, 2, 2]}, {"m_max": 1}])
def test_engines_agree(test, how):
    a, b = (pc(DATA[test], alpha=0.2, engine=engine, **how) for engine in (CpuEngine(2), ReferenceEngine()))
    assert pycupc.compare(a, b).equal


def linear_functions(seed):
    """A table with gaps whose columns are exact linear functions of each other, and alpha."""
    rng = np.random.default_rng(seed)
    p, n = int(rng.integers(3, 7)), int(rng.choice([8, 20, 60, 200]))
    X = rng.normal(size=(n, p))
    if seed % 3 == 0:  # indicators of one factor, and what depends on it
        site = rng.integers(0, p - 1, n)
        X[:, : p - 1] = site[:, None] == np.arange(p - 1)
        X[:, -1] += 2 * (site == 0)
    elif seed % 3 == 1:  # another unit
        X[:, -1] = 7 - 3 * X[:, 0]
    else:  # a difference, in rounded values
        X = np.round(X, 1)
        X[:, -1] = X[:, 0] - X[:, 1]
    X[rng.random(X.shape) < rng.choice([0.02, 0.1, 0.3])] = np.nan
    return X, float(rng.choice([0.001, 0.01, 0.05, 0.2]))


@pytest.mark.parametrize("seed", [27, 69, 81, 43, 151, 307, 313, 343, 2, 5, 8, 11, 14])
@pytest.mark.filterwarnings("ignore:constant columns", "ignore:fewer than 2 observations")
def test_engines_agree_on_exact_linear_functions(seed):
    """Rounding must not decide singular tests: both engines have the correlations, and the rule, of the contract."""
    X, alpha = linear_functions(seed)
    a, b = (pc(X, gaussCItwd, alpha=alpha, engine=engine) for engine in ("cpu", "reference"))
    assert pycupc.compare(a, b).equal


def test_numbers_far_from_zero_have_the_p_values_of_their_deviations():
    """Also where a column varies in the complete rows of a test by less than its rounding elsewhere."""
    X = np.where(HOLES, np.nan, np.round(4 * COMPLETE))
    nothing = np.empty((15, 0), dtype=np.int64)
    x, y = (v.astype(np.int64) for v in np.triu_indices(6, 1))
    for shift in (1e6, 1e12):
        of = made(gaussCItwd, X + shift, 0.05, NAdelete=True, quirks=False)
        near = [gaussCItwd(i, j, (), X) for i, j in zip(x, y, strict=True)]
        np.testing.assert_allclose(of.single_tests(x, y, nothing)[1], near, rtol=1e-9)
    p = gaussCItwd(0, 1, (), COMPLETE[:40, [0, 2]])
    for size in (1e-9, 1e-20):
        column = np.append(size * COMPLETE[:40, 0], 5.0 + COMPLETE[:40, 1])
        split = np.column_stack([column, np.append(COMPLETE[:40, 2], [np.nan] * 40)])
        of = made(gaussCItwd, split, 0.05, NAdelete=True, quirks=False)
        assert of.single_tests(x[:1], y[:1], nothing[:1])[1][0] == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("algorithm", [pycupc.fci, pycupc.rfci])
def test_engines_agree_with_hidden_variables(algorithm):
    for test in (gaussMItest, gaussCItwd):
        a, b = (algorithm(DATA[test], alpha=0.01, m_max=2, engine=engine) for engine in ("cpu", "reference"))
        assert np.array_equal(a.sparse_graph.amat_pag(), b.sparse_graph.amat_pag())
        assert a.n_edgetests == b.n_edgetests


def test_pooled_p_value_by_hand():
    r, n = np.array([0.3, 0.35, 0.2]), 50
    matrices = [np.array([[1, a], [a, 1]]) for a in r]
    from scipy.stats import t

    z, W = np.arctanh(r), 1 / 47
    B = z.var(ddof=1)
    df = 2 * (1 + W / B * 3 / 4) ** 2
    by_hand = 2 * t.sf(z.mean() / math.sqrt(W + 4 / 3 * B), df)
    assert gaussMItest(0, 1, (), [*matrices, n]) == pytest.approx(by_hand, rel=1e-12)


def test_equal_imputations_give_the_test_of_one():
    C = np.corrcoef(COMPLETE, rowvar=False)
    a, b = pc([C, C, C, 80], gaussMItest, alpha=0.1), pc({"C": C, "n": 80}, alpha=0.1)
    assert (a.graph == b.graph).all()
    assert a.n_edgetests == b.n_edgetests


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_few_observations(n):  # micd: NaN below |S| + 3 observations, 1 with as many
    matrices = [np.corrcoef(X, rowvar=False) for X in IMPUTED]
    p = [gaussMItest(0, 1, S, [*matrices, n]) for S in ((), (2,))]
    assert [math.isnan(v) for v in p] == [n < 3, n < 4]
    of = made(gaussMItest, [*matrices, n], 0.05, NAdelete=True, quirks=False)
    one = np.array([0]), np.array([1])
    compiled = [of.single_tests(*one, S)[1][0] for S in (np.empty((1, 0), dtype=np.int64), np.array([[2]]))]
    np.testing.assert_allclose(compiled, p, rtol=1e-9)


def test_undefined_tests_of_few_complete_rows():
    X = COMPLETE.copy()
    X[1:, 0] = np.nan  # one row
    X[:, 1] = np.where(np.arange(80) < 40, np.nan, 3.0)  # constant where it is there
    constant = pytest.warns(UserWarning, match="constant columns are independent of all others.*: column 0, column 1$")
    with constant, pytest.warns(UserWarning, match="fewer than 2 observations are complete"):
        data = IncompleteTable(X)
    assert math.isnan(gaussCItwd(0, 2, (), data))
    assert math.isnan(gaussCItwd(2, 3, (1,), data))
    for NAdelete in (True, False):
        a, b = (pc(data, NAdelete=NAdelete, engine=engine) for engine in ("cpu", "reference"))
        assert pycupc.compare(a, b).equal
        assert bool(a.graph[0].any()) is not NAdelete
    refused("must return a p-value, got NaN", pc, data, NAdelete=False, conservative=True, engine="cpu")


@pytest.mark.parametrize("kind", ["gaussCItwd", "pairwise", "disCItwd"])
@pytest.mark.filterwarnings("ignore:fewer than 2 observations", "ignore:these pairs have too few rows")
def test_variables_that_were_never_observed_together_are_said_to_be_untested(kind, tmp_path):
    """a and b have no row in common, b and d three, c and d three given b."""
    X = COMPLETE[:, :4].copy()
    X[:40, 0] = X[40:, 1] = np.nan
    X[3:40, 3] = np.nan
    if kind == "disCItwd":
        data, needed = IncompleteTable(np.digitize(X, [0.0]) + 0 * X, list("abcd"), categories=True), 2
    else:
        table = IncompleteTable(X, list("abcd")) if kind == "gaussCItwd" else SuffStat.from_data(X, missing="pairwise")
        data, needed = table, 4
    fit = pc(data, alpha=0.9 if kind == "disCItwd" else 0.5)
    fit.save(tmp_path / "fit.npz")
    for found in (fit, pycupc.PcAlgo.load(tmp_path / "fit.npz"), pickle.loads(pickle.dumps(fit))):
        why = found.why(0, 1)
        assert (why.status, why.p, why.n, why.needed) == ("removed", 1.0, 0.0, needed)
        assert f"not enough data: the test without conditioning needs {needed} observations" in str(why)
        assert "its variables were never observed together" in str(why)
        assert "independent" not in str(why)
        assert "removed pairs were not tested: not enough data" in found.summary()
        if kind != "disCItwd":
            assert "needs 4 observations, there are 3 (level 0" in str(found.why(1, 3))
    untested = fit.untested
    for x, y, level, n in zip(untested.x, untested.y, untested.level, untested.there, strict=True):
        S = fit.sepset[int(x), int(y)]
        assert len(S) == level
        rows = np.isfinite(X[:, [x, y, *S]]).all(axis=1).sum()
        assert n == rows or kind == "pairwise"
        assert n <= (1 if kind == "disCItwd" else level + 3)


def test_copies_and_nan_among_imputations():
    Xs = [np.column_stack([X[:, :4], X[:, 0], X[:, 1] + X[:, 2]]) for X in IMPUTED]
    Xs[1] = Xs[1].copy()
    Xs[1][:, 3] = 2.0
    data = MultipleImputation(Xs)
    a, b = (pc(data, alpha=0.1, engine=engine) for engine in ("cpu", "reference"))
    assert pycupc.compare(a, b).equal


def test_resamples_draw_rows_of_all_imputations():
    assert pycupc.stability(DATA[disMItest], alpha=0.1, n_resamples=2, random_state=2, engine="cpu").n_resamples == 2
    rows = np.arange(0, 80, 2)
    part = DATA[gaussMItest].take(rows)
    np.testing.assert_array_equal(part.matrices, MultipleImputation([X[rows] for X in IMPUTED]).matrices)


EMPTY = np.where(np.arange(6) == 2, np.nan, COMPLETE)
WORDS_AND_NUMBERS = np.array([["a", 0.5], ["b", 1.5]], dtype=object)
BAD = [
    (lambda: MultipleImputation([COMPLETE]), ValueError, "at least 2 imputations"),
    (lambda: MultipleImputation([COMPLETE, COMPLETE[:, 1:]]), ValueError, "the same shape"),
    (lambda: MultipleImputation([COMPLETE, GAPPED]), ValueError, "each imputation must be complete"),
    (lambda: pc([2 * np.eye(3), np.eye(3), 10], gaussMItest), ValueError, "a diagonal of 1"),
    (lambda: pc(COMPLETE, gaussMItest), TypeError, "must be a MultipleImputation or a list"),
    (lambda: pc(DATA[gaussMItest], disMItest), TypeError, "categories=True"),
    (lambda: pc(np.where(HOLES, np.nan, 0.5), disCItwd), ValueError, "codes must be whole numbers"),
    (lambda: IncompleteTable(WORDS_AND_NUMBERS, categories=True), ValueError, "not whole: column 1; these are"),
    (lambda: pc({"adaptDF": False}, disCItwd), ValueError, "lacks 'dm'"),
    (lambda: IncompleteTable(np.column_stack([GAPPED, np.full(80, np.nan)])), ValueError, "all values are missing in"),
    (lambda: pc(np.where(HOLES, np.inf, COMPLETE), gaussCItwd), ValueError, "must be finite"),
    (lambda: SuffStat.from_data(EMPTY, missing="pairwise"), ValueError, "all values are missing in column 2$"),
    (lambda: IncompleteTable([*"aab"] * 300, categories=True), ValueError, "must be a table with one row"),
    (
        lambda: IncompleteTable([[f"{k}", "a"] for k in range(300)], categories=True),
        ValueError,
        "255 levels;.* has 300",
    ),
    (lambda: MultipleImputation.from_correlations([np.eye(3)], 9), ValueError, "at least 2 imputations"),
    (lambda: MultipleImputation.from_codes(np.zeros((2, 2, 9)), [2, 300]), ValueError, "255 levels; column 1 has 300"),
    (lambda: pc([np.eye(3), 10], gaussMItest), ValueError, "at least 2 imputations"),
    (lambda: IncompleteTable([["a", "b"], ["a", "c"]], categories=True), UserWarning, "others.*: column 0$"),
    (lambda: MultipleImputation([[["a", "b"], ["a", "c"]]] * 2, categories=True), UserWarning, "others.*: column 0$"),
    (lambda: pc(GAPPED, gaussCItwd, quirks=True), ValueError, "quirks"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_bad_input(call, error, text):
    with (pytest.warns if error is UserWarning else pytest.raises)(error, match=text):
        call()


def test_imputation_by_chained_equations():
    pytest.importorskip("sklearn")
    a, b = (imputed(GAPPED, 2, seed=4, rounds=2) for _ in range(2))
    assert np.array_equal(a.matrices, b.matrices)
    assert not np.array_equal(a.matrices[0], a.matrices[1])
    assert np.array_equal(a.rows[0][~HOLES], GAPPED[~HOLES])
    refused("M must be a whole number of at least 2 imputations, got 1", imputed, GAPPED, 1)
    refused("all values are missing in column 2$", imputed, EMPTY, 2)


def test_the_seed_decides_the_imputations():
    """Imputation m has the random state seed + m: of scikit-learn for numbers, of NumPy for categories."""
    pytest.importorskip("sklearn")
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    made = imputed(GAPPED, 3, seed=4, rounds=2).rows
    for m, rows in enumerate(made):
        own = IterativeImputer(random_state=4 + m, sample_posterior=True, max_iter=2)
        np.testing.assert_array_equal(rows, own.fit_transform(GAPPED))
    default, others = imputed(GAPPED, 2, rounds=2).rows, imputed(GAPPED, 2, seed=5, rounds=2).rows
    np.testing.assert_array_equal(default, imputed(GAPPED, 2, seed=0, rounds=2).rows)
    np.testing.assert_array_equal(others, made[1:])
    different = [*default, made[0], *others]
    assert not any(np.array_equal(a[HOLES], b[HOLES]) for a, b in combinations(different, 2))
    coded = CODES.astype(object)
    coded[HOLES] = None
    drawn = imputed(coded, 3, seed=4, rounds=0, categories=True).codes  # from the margins
    for m, codes in enumerate(drawn):
        rng, expected = np.random.default_rng(4 + m), CODES.copy()
        for j in range(6):
            expected[HOLES[:, j], j] = rng.choice(CODES[~HOLES[:, j], j], HOLES[:, j].sum())
        np.testing.assert_array_equal(codes.T, expected)
    of_other_seed = imputed(coded, 2, seed=9, rounds=1, categories=True).codes
    made = [*imputed(coded, 3, seed=4, rounds=1, categories=True).codes, *of_other_seed]
    assert not any(np.array_equal(a, b) for a, b in combinations(made, 2))
    for seed in (-1, 2**31 + 1):
        refused(f"seed must be a whole number from 0 to 2,147,483,648, got {seed}", imputed, GAPPED, 2, seed)


@pytest.mark.parametrize("command", ["run --method pc --seed 9", "run --method fci", "run --method rfci", "stability"])
def test_the_seed_of_imputations_has_an_option_of_its_own(here, command):
    pytest.importorskip("sklearn")
    command, *options = command.split()
    write_table("data.csv", GAPPED)
    method = options[1] if options else "pc"
    resamples = ["--resamples", "2", "--scheme", "subsample", "--seed", "3"] if command == "stability" else []
    found = []
    for seed in (0, 7):
        given = [*options, *resamples, "--missing", "impute=2", *(["--impute-seed", seed] if seed else [])]
        assert (
            run(command, "data.csv", *given, "--alpha", 0.2, "--out", "out", "--force", "--quiet", "--plot", "none")
            == 0
        )
        data = imputed(GAPPED, 2, seed)
        if command == "stability":
            same = pycupc.stability(data, alpha=0.2, n_resamples=2, scheme="subsample", random_state=3)
            found.append(pycupc.Stability.load("out/stability.npz").n_tests)
            np.testing.assert_array_equal(found[-1], same.n_tests)
        else:
            kept = (pycupc.PcAlgo if method == "pc" else pycupc.PagAlgo).load("out/result.npz")
            found.append(kept.pMax)
            np.testing.assert_array_equal(found[-1], getattr(pycupc, method)(data, alpha=0.2).pMax)
        assert f"impute=2 --impute-seed {seed})" in json.loads(Path("out/manifest.json").read_text())["input"]["choice"]
    assert not np.array_equal(*found)


def test_a_seed_without_imputations_is_refused(here, capsys):
    write_table("data.csv", GAPPED)
    assert run("run", "data.csv", "--impute-seed", 1) == cli.USAGE
    assert "--impute-seed goes with --missing impute=M" in capsys.readouterr().err
    assert run("run", "data.csv", "--missing", "impute=2", "--impute-seed", 2**31 + 1) == cli.USAGE
    assert "expected a whole number from 0 to 2,147,483,648, got '2147483649'" in capsys.readouterr().err


def test_imputation_of_categories_follows_the_others(tmp_path):
    pytest.importorskip("sklearn")
    words = np.array(["few", "many", "some"], dtype=object)[CODED[0]]
    words[:, 1] = np.where(CODED[0][:, 0] == 2, "yes", "no")
    gapped = np.where(HOLES & (np.arange(6) < 4), None, words)
    a, b = (imputed(gapped, 5, seed=4, rounds=2, categories=True) for _ in range(2))
    assert np.array_equal(a.codes, b.codes)
    assert a.levels.tolist() == [3, 2, 3, 3, 3, 3]
    known = gapped != None  # noqa: E711 - elementwise
    expected = np.column_stack([np.unique(column, return_inverse=True)[1] for column in words.T])
    assert all(np.array_equal(codes.T[known], expected[known]) for codes in a.codes)
    drawn = HOLES[:, 1] & ~HOLES[:, 0]
    assert (a.codes[:, 1, drawn] == expected[drawn, 1]).mean() > 0.75  # from the margins: 0.58
    assert len(np.unique(a.codes[:, 2, HOLES[:, 2]], axis=0)) > 1
    lines = [",".join(word or "" for word in row) for row in ["abcdef", *gapped]]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    how = ["run", str(tmp_path / "data.csv"), "--out", str(tmp_path / "out"), "--quiet", "--missing", "impute=2"]
    assert cli.main(how) == 0
    same = pc(imputed(gapped, 2, categories=True))
    assert np.array_equal(pycupc.PcAlgo.load(tmp_path / "out" / "result.npz").graph, same.graph)
    assert cli.main([*how, "--quirks", "--force"]) == 3


def test_command_line(tmp_path):
    write_table(tmp_path / "data.csv", GAPPED)
    how = ["run", str(tmp_path / "data.csv"), "--out", str(tmp_path / "out"), "--quiet", "--force", "--missing"]
    fits = {"testwise": pc(GAPPED, gaussCItwd)}
    for name, rule in (("pairwise", "mean"), ("pairwise=min", "min"), ("pairwise=harmonic", "harmonic")):
        fits[name] = pc(SuffStat.from_data(GAPPED, missing="pairwise", n_rule=rule))
    for name, fit in fits.items():
        assert cli.main([*how, name]) == 0
        assert np.array_equal(pycupc.PcAlgo.load(tmp_path / "out" / "result.npz").pMax, fit.pMax)
    assert cli.main([*how, "impute=1"]) == cli.main([*how, "pairwise=max"]) == 2


LIVE = r"""
suppressMessages({library(pcalg); library(micd)})
set.seed(1)
for (k in 1:20) {
  X <- matrix(rnorm(300), 60) %*% (diag(5) + matrix(rnorm(25, 0, .4), 5)); X[sample(300, 40)] <- NA
  fit <- pc(X, gaussCItwd, p = 5, alpha = .05)
  cat(ifelse(is.na(X), "nan", sprintf("%.17g", X)), as(fit@graph, "matrix"), fit@n.edgetests, "\n")
}
"""


@pytest.mark.r
def test_live_micd(rscript):
    made = subprocess.run([rscript, "-e", LIVE], capture_output=True, text=True, check=False)
    if "micd" in made.stderr:
        pytest.skip("micd is not installed")
    for line in made.stdout.splitlines():
        numbers = np.array(line.split(), dtype=float)
        fit = pc(numbers[:300].reshape(5, 60).T, gaussCItwd, alpha=0.05)
        assert np.array_equal(fit.graph, numbers[300:325].reshape(5, 5).T)
        assert fit.n_edgetests == numbers[325:].tolist()
