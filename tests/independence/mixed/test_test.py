"""Tests of numbers and categories with missing values, and their kin: micd's answers, the engines, imputation."""

import os
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
from common import GOLDEN_FOLDER, refused
from micd import Problem, answers_of_micd
from mixed_problems import (
    GAPPED,
    GRAPHS,
    IMPUTED,
    OF_ONE,
    P_VALUES,
    TESTS,
    compiled_p,
    data_of,
    made,
    mixed_frame,
    problem,
    recorded,
)

import pycupc
from pycupc import MixedImputation, MixedTable, cli, gaussMItest, mixCItest, mixCItwd, mixMItest, pc
from pycupc.independence.mixed.impute import imputed_mixed
from pycupc.independence.mixed.mix_ci_test import levels_of
from pycupc.independence.registry import FromR, mixed_from_r

RECORDED = recorded(GOLDEN_FOLDER / "mixed" / "micd.npz")


def as_given(test, case):
    """The data of a recorded case, as the test takes them."""
    return data_of(test, Problem(list(case["tables"]), case["levels"].tolist()))


def sets_of(fit):
    """The cells of `sepset`, as micd.R writes them."""
    p = len(fit.labels)
    cells = (fit.sepset.get(i, j) for i in range(p) for j in range(p))
    return ["N" if S is None else ",".join(["S", *(str(v + 1) for v in S)]) for S in cells]


def check_graph(test, data, answer, alpha, conservative, engine):
    """The graph, the sets, the counts and pMax are micd's."""
    fit = pc(data, getattr(pycupc, test), alpha=alpha, conservative=conservative, engine=engine, quirks=True)
    assert np.array_equal(fit.graph, answer["graph"])
    assert fit.n_edgetests == answer["tests"].tolist()
    assert sets_of(fit) == answer["sets"].tolist()
    np.testing.assert_allclose(fit.pMax, answer["pMax"], rtol=1e-6, atol=1e-12)


# ---------------------------------------------------------------- micd


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("test", TESTS)
def test_recorded_graphs_of_micd(test, engine):
    for k in GRAPHS:
        case = RECORDED[f"{test}_{k}"]
        check_graph(test, as_given(test, case), case, float(case["alpha"]), bool(case["conservative"]), engine)


@pytest.mark.parametrize("test", TESTS)
def test_recorded_p_values_where_levels_do_not_occur(test):
    """Some of these are faults of micd: without quirks, the answer is another one."""
    faults = 0
    for k in P_VALUES:
        case = RECORDED[f"{test}_p{k}"]
        data = as_given(test, case)
        for padded, p in zip(case["V"].tolist(), case["p"].tolist(), strict=True):
            V = [v for v in padded if v >= 0]
            for quirks in (True, False):
                found = getattr(pycupc, test)(V[0], V[1], V[2:], data, quirks=quirks)
                of_engine = compiled_p(made(test, data, quirks=quirks), V)
                assert of_engine == pytest.approx(found, rel=1e-9, abs=1e-12, nan_ok=True)
                if quirks:
                    assert found == pytest.approx(p, rel=1e-6, nan_ok=True)
            faults += found != pytest.approx(p, rel=1e-6, nan_ok=True)
    assert faults > 0


@pytest.fixture(scope="module")
def has_micd(rscript):
    """Skips where R has no micd."""
    call = [rscript, "-e", "quit(status = !nzchar(system.file(package = 'micd')))"]
    if subprocess.run(call, check=False).returncode:
        pytest.skip("no micd")


BLOCKS = [pytest.param(range(4), id="short")]
BLOCKS += [
    pytest.param(range(50 * b, 50 * b + 50), id=f"block {b}", marks=pytest.mark.slow)
    for b in range(1, 1 + int(os.environ.get("PYCUPC_LIVE_BLOCKS", "1")))
]


@pytest.mark.r
@pytest.mark.parametrize("seeds", BLOCKS)
@pytest.mark.parametrize("test", TESTS)
def test_live_micd_gives_the_same_graphs(test, seeds, rscript, has_micd):
    """PYCUPC_LIVE_BLOCKS=20 makes 1,000 problems of each test, which take an hour."""
    asked = [problem(test, 1000 + seed) for seed in seeds]
    answered = [pair for pair in zip(asked, answers_of_micd(asked, rscript), strict=True) if pair[1].runs]
    assert len(answered) >= 0.95 * len(asked)  # micd stops in some tests of few complete rows
    for one, answer in answered:
        check_graph(test, data_of(test, one), answer.runs[test], one.alpha, one.runs[test], "cpu")


# ---------------------------------------------------------------- cases that are known by other means


def test_a_complete_table_has_the_p_values_of_the_complete_test():
    table = MixedTable.of(mixed_frame(share=0.0))
    for V in ([0, 1], [0, 2], [1, 3, 0], [0, 2, 1, 3], [1, 3, 4], [1, 4, 3, 2, 0]):
        assert mixCItwd(V[0], V[1], V[2:], table) == pytest.approx(mixCItest(V[0], V[1], V[2:], table), rel=1e-9)


def test_equal_imputations_have_the_p_value_of_one_table():
    table = MixedTable.of(mixed_frame(share=0.0))
    data = MixedImputation([table, table, table])
    for V in ([0, 1], [1, 3, 0], [0, 2, 1, 3], [1, 4, 3, 2, 0]):
        for found in (mixMItest(V[0], V[1], V[2:], data), compiled_p(made("mixMItest", data), V)):
            assert found == pytest.approx(mixCItest(V[0], V[1], V[2:], table), rel=1e-6)


def test_numbers_alone_are_pooled_as_numbers():
    data = imputed_mixed(MixedTable.of(mixed_frame()), 3)
    matrices = [np.corrcoef(own[:, [1, 3, 4]], rowvar=False) for own in data.values]
    assert mixMItest(1, 4, [3], data) == pytest.approx(gaussMItest(0, 2, [1], [*matrices, data.n]), rel=1e-9)


def test_imputations_that_lack_a_configuration_do_not_depend_on_the_origin():
    """With quirks, micd's zero for the mean of a configuration that an imputation lacks does."""
    a = np.repeat([0.0, 1, 2], [30, 28, 2])
    x = a + np.random.default_rng(1).normal(size=60)
    other = np.where(a == 2, 1.0, a)
    p = {}
    for shift in (0.0, 100.0):
        data = MixedImputation.from_values([np.column_stack([v, x + shift]) for v in (a, other)], [3, 0])
        for quirks in (True, False):
            p[shift, quirks] = mixMItest(0, 1, [], data, quirks=quirks)
            assert compiled_p(made("mixMItest", data, quirks=quirks), [0, 1]) == pytest.approx(
                p[shift, quirks], rel=1e-6
            )
    assert p[0.0, False] == pytest.approx(p[100.0, False], rel=1e-6)
    assert p[0.0, True] != pytest.approx(p[100.0, True], rel=1e-2)


def test_only_categories_of_the_complete_rows_count_without_quirks():
    D = mixed_frame(share=0.0)
    D.loc[D["x"] == "mid", "w"] = np.nan
    table = MixedTable.of(D)
    rest = MixedTable.of(D.dropna())
    assert mixCItwd(1, 2, [], table) == pytest.approx(mixCItest(1, 2, [], rest), rel=1e-9)
    assert mixCItwd(1, 2, [], table, quirks=True) > mixCItwd(1, 2, [], table)


@pytest.mark.parametrize("test", TESTS)
def test_only_categories_of_a_resample_count_without_quirks(test):
    """A resample keeps the categories of its table, as a factor of R does."""
    D = mixed_frame(share=0.05 if test in GAPPED else 0.0)
    rows = np.flatnonzero(D["x"] != "mid")

    def of(D):
        return MixedImputation([D, D]) if test in IMPUTED else MixedTable.of(D)

    for V in ([1, 2], [0, 1, 2], [1, 4, 0, 2]):
        of_resample, right = (
            [compiled_p(made(test, data, quirks=quirks), V) for quirks in (True, False)]
            for data in (of(D).take(rows), of(D.iloc[rows]))
        )
        assert of_resample[1] == pytest.approx(right[1], rel=1e-9)
        assert of_resample[0] > 1.01 * right[0]
        assert getattr(pycupc, test)(V[0], V[1], V[2:], of(D).take(rows)) == pytest.approx(right[1], rel=1e-6)


def test_fewer_than_two_complete_rows_are_no_test():
    D = mixed_frame(40, 0.0)
    D.loc[:19, "v"], D.loc[20:, "w"] = None, np.nan
    table = MixedTable.of(D)
    assert np.isnan(mixCItwd(0, 1, [], table))
    for NAdelete in (True, False):
        fits = [pc(table, mixCItwd, NAdelete=NAdelete, engine=engine) for engine in ("cpu", "reference")]
        assert [bool(fit.sparse_graph.adjacent([0], [1])[0]) for fit in fits] == [not NAdelete] * 2
        if NAdelete:
            assert (0, 1) in zip(fits[0].untested.x.tolist(), fits[0].untested.y.tolist(), strict=True)
            assert "never observed together" in str(fits[0].why("v", "w"))


def test_constants_and_copies_among_the_complete_rows():
    D = mixed_frame(60, 0.0)
    D["w2"], D["k"] = D["w"], 1.0
    D.loc[5, "k"], D.loc[5, "y"] = 2.0, np.nan
    table = MixedTable.of(D)
    for V, p in (([0, 6, 3], 1.0), ([1, 5, 0], 0.0), ([0, 1, 5], 1.0)):
        assert mixCItwd(V[0], V[1], V[2:], table) == p
        assert compiled_p(made("mixCItwd", table), V) == p


# ---------------------------------------------------------------- around the tests


@pytest.mark.parametrize("test", [*GAPPED, *IMPUTED, "flexCItest"])
@pytest.mark.parametrize("how", [{"conservative": True}, {"maj_rule": True, "tiers": [0, 0, 1, 1, 2]}, {"m_max": 1}])
def test_engines_agree(test, how):
    table = MixedTable.of(mixed_frame(share=0.0 if test in OF_ONE else 0.1))
    data = imputed_mixed(table, 3, rounds=2) if test in IMPUTED else table
    fits = [pc(data, getattr(pycupc, test), alpha=0.1, engine=engine, **how) for engine in ("cpu", "reference")]
    assert pycupc.compare(*fits).equal


@pytest.mark.parametrize("algorithm", [pycupc.fci, pycupc.rfci])
def test_engines_agree_with_hidden_variables(algorithm):
    table = MixedTable.of(mixed_frame())
    for data, test in ((table, mixCItwd), (imputed_mixed(table, 3, rounds=2), mixMItest)):
        a, b = (algorithm(data, test, alpha=0.05, m_max=2, engine=engine) for engine in ("cpu", "reference"))
        assert np.array_equal(a.sparse_graph.amat_pag(), b.sparse_graph.amat_pag())
        assert a.n_edgetests == b.n_edgetests


@pytest.mark.parametrize("test", TESTS)
def test_results_are_pickled_without_the_sums(test):
    table = MixedTable.of(mixed_frame(share=0.1 if test in GAPPED else 0.0))
    data = MixedImputation([table, table]) if test in IMPUTED else table
    fit = pc(data, getattr(pycupc, test), alpha=0.05)
    stored = pickle.dumps(fit)
    again = pickle.loads(stored)
    assert pycupc.compare(fit, again).equal
    assert len(stored) < 3 * data.values.nbytes + 20_000


def test_stability_draws_the_same_rows_of_all_imputations():
    table = MixedTable.of(mixed_frame())
    for data, test in ((table, mixCItwd), (imputed_mixed(table, 2, rounds=1), mixMItest)):
        found = pycupc.stability(data, indepTest=test, alpha=0.1, n_resamples=2, random_state=2)
        assert found.n_resamples == 2


def test_NA_of_R_is_a_missing_value_like_any_other():
    """It is a signalling NaN, after which NumPy's fmax and fmin forget the numbers before, towards the end of a row."""
    values = np.tile(np.arange(150.0, 0.0, -1.0), (2, 1))
    values.view(np.uint64)[:, 146:149] = 0x7FF00000000007A2
    sent = FromR("mixCItwd", values.T, {}, ["a", "b"], {"texts": [None, None]})
    assert np.fmax.reduce(mixed_from_r(sent).values).tolist() == [150.0, 150.0]
    assert not mixed_from_r(sent).constant.any()


def test_data_of_mixMItest_are_checked():
    D, other = mixed_frame(share=0.0), mixed_frame(share=0.0, seed=1)
    data = MixedImputation([D, other.assign(x=other["x"].replace("mid", "new"))])
    assert data.levels.tolist() == [2, 0, 4, 0, 0]
    refused("at least 2 imputations", MixedImputation, [D])
    refused("the same shape", MixedImputation, [D, other[:-1]])
    refused("the same kinds of columns", MixedImputation, [D, other.assign(y=list("ab") * 100)])
    refused("each imputation must be complete and finite; .* v, w", MixedImputation, [D, mixed_frame()])
    refused("mixCItwd takes one table; mixMItest takes several", pc, [D, other], mixCItwd, error=TypeError)
    refused("all values are missing in w", pc, D.assign(w=np.nan), mixCItwd)


# ---------------------------------------------------------------- imputation and the command line


def test_imputations_are_reproducible_and_keep_what_is_there():
    table = MixedTable.of(mixed_frame())
    a, b, c = (imputed_mixed(table, 2, seed, rounds=2) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a.values, b.values)
    np.testing.assert_array_equal(a.values[1], c.values[0])
    assert not np.array_equal(a.values[0], a.values[1])
    there = ~np.isnan(table.values)
    for values in a.values:
        np.testing.assert_array_equal(values[there], table.values[there])
        for j in np.flatnonzero(levels_of(table)).tolist():
            assert set(values[:, j]) <= set(range(levels_of(table)[j]))


def test_imputations_follow_the_other_columns():
    """x is 10 in category b and 0 in category a: the gaps of both are drawn so."""
    rng = np.random.default_rng(0)
    v = np.array(["a", "b"])[rng.integers(0, 2, 300)]
    D = pd.DataFrame({"v": v, "x": np.where(v == "b", 10.0, 0.0) + rng.normal(size=300)})
    D.loc[:30, "v"], D.loc[40:70, "x"] = None, np.nan
    values = imputed_mixed(D, 2).values[0]
    assert (values[:31, 0] == (v[:31] == "b")).mean() > 0.9
    assert abs(values[40:71, 1] - np.where(v[40:71] == "b", 10, 0)).mean() < 2


@pytest.mark.parametrize(
    ("options", "name", "said"),
    [
        ([], "incomplete mixed", "each test takes the rows that are complete"),
        (["--test", "mixed", "--missing", "testwise", "--quirks"], "incomplete mixed", "--test mixed; values are"),
        (["--missing", "impute=2", "--impute-seed", "3"], "imputed mixed", "2 imputations by chained equations"),
    ],
)
def test_command_line(tmp_path, capsys, options, name, said):
    mixed_frame(120).to_csv(tmp_path / "d.csv", index=False)
    command = ["run", tmp_path / "d.csv", "--plot", "none", "--out", tmp_path / "out", *options]
    assert cli.main([str(word) for word in command]) == cli.OK
    assert f"(auto: {name} data)" in capsys.readouterr().out
    assert said in (tmp_path / "out" / "manifest.json").read_text()


def test_pairwise_deletion_takes_no_words(tmp_path, capsys):
    mixed_frame(120).to_csv(tmp_path / "d.csv", index=False)
    assert cli.main(["run", str(tmp_path / "d.csv"), "--missing", "pairwise", "--out", str(tmp_path / "o")]) == cli.DATA
    assert "pairwise takes numbers, and the table has categories: --missing testwise" in capsys.readouterr().err
