"""Possible causal effects of all pairs: values, intervals, summaries, rankings, data with gaps, refusals."""

import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest
from common import refused

import pycupc

from effects_cases import named, random_covariance, random_graph  # isort: skip
from effects_cases import fitted_graph


@pytest.mark.filterwarnings("ignore:effects were computed although the graph is not a CPDAG")
def test_each_pair_has_the_values_of_ida():
    rng, single = np.random.default_rng(12), 0
    for k in range(15):
        kind = ("cpdag", "pdag", "invalid")[k % 3]
        m = (random_graph(rng, kind) != 0).astype(int)
        C = random_covariance(rng, len(m))
        E = pycupc.effects(named(m), C)
        which = "pdag" if E._with_knowledge else "cpdag"
        for x, y in product(range(len(m)), repeat=2):
            want = pycupc.ida(x, y, C, named(m), type=which)
            np.testing.assert_allclose(E[x, y], want, rtol=1e-9, atol=1e-12)
            assert [reason.value for reason in E.why(x, y)] == [v for v in E[x, y].tolist() if v == v]
            single += len(E.values(x)) != len(want)
        table = E.to_pandas()
        assert table["n_values"].tolist() == [
            len(E[x, y]) for x, y in zip(table["cause"], table["effect"], strict=True)
        ]
    assert single > 5


def test_data_of_other_variables_are_refused():
    fit, X = named(np.zeros((2, 2), dtype=int)), np.random.default_rng(0).normal(size=(9, 2))
    with pytest.raises(ValueError, match="data must have the variables of the graph, got 'b' in the place of '1'"):
        pycupc.effects(fit, pd.DataFrame(X, columns=["0", "b"]))
    for columns in (["0", "1"], ["1", "2"]):  # the names of the graph, or no names
        assert pycupc.effects(fit, pd.DataFrame(X, columns=columns)).n == 9


def test_summaries_and_top():
    graph, X = fitted_graph(np.random.default_rng(3))
    E = pycupc.effects(graph, X)
    table = E.to_pandas().sort_values("smallest", ascending=False, kind="stable").reset_index(drop=True)
    top = E.top(7)
    assert len(table) == 12 * 11
    for name in ("cause", "effect", "n_values", "smallest", "mean", "sign_agreement"):
        assert (top[name] == table[name][:7]).all() or np.allclose(
            top[name].astype(float), table[name][:7].astype(float)
        )
    for row in table.itertuples():
        values = E[row.cause, row.effect]
        assert len(values) == row.n_values
        np.testing.assert_allclose(
            [row.smallest, row.mean, row.sign_agreement],
            [np.abs(values).min(), values.mean(), abs(np.sign(values).mean())],
        )


@pytest.mark.parametrize("method", ["local", "optimal"])
def test_effects_are_ranked_in_standard_deviations_on_request(method):
    graph, X = fitted_graph(np.random.default_rng(3))
    units = np.where(np.arange(X.shape[1]) % 2, 1000.0, 0.01)
    E, of_standardised = (
        pycupc.effects(graph, data, method=method) for data in (X * units, (X - X.mean(axis=0)) / X.std(axis=0))
    )
    top, want = E.top(9, by="sd"), of_standardised.top(9)
    np.testing.assert_allclose(top["in_sd"], want["value"], rtol=1e-9)  # equal ones, x on y and y on x, in any order
    pairs = [{*zip(found["cause"], found["effect"], strict=True)} for found in (top, want)]
    assert pairs[0] == pairs[1]
    for row in top.itertuples():  # the other columns stay in the units of the data
        assert row.value in E[row.cause, row.effect].tolist()
    assert E.top(9)["effect"].tolist() != top["effect"].tolist()
    assert "in_sd" not in E.top(9)
    with pytest.raises(ValueError, match="by must be 'units' or 'sd', got 'z'"):
        E.top(3, by="z")


def test_noise_in_a_large_unit_is_not_the_first_of_the_example_in_standard_deviations():
    data = pycupc.load_example()
    E = pycupc.effects(pycupc.pc(data, alpha=0.01), data)
    assert E.top(1)["effect"].tolist() == ["co2"]
    assert "co2" not in E.top(15, by="sd")["effect"].tolist()


def test_small_blocks_change_nothing(monkeypatch):
    graph, X = fitted_graph(np.random.default_rng(3))
    want = pycupc.effects(graph, X)
    smallest, top = want.smallest(), want.top(5)
    monkeypatch.setattr(sys.modules["pycupc.effects.local"], "BLOCK", 30)  # `pycupc.effects` is the function
    again = pycupc.effects(graph, X)
    np.testing.assert_allclose(again.smallest(), smallest, rtol=1e-12)
    assert again.top(5)["effect"].tolist() == top["effect"].tolist()


def test_some_causes_and_effects_by_name():
    graph, X = fitted_graph(np.random.default_rng(4))
    every, some = pycupc.effects(graph, X), pycupc.effects(graph, X, causes=["3", "5"], effects="7")
    np.testing.assert_allclose(some["5", "7"], every[5, 7])
    assert some.smallest().shape == (2, 1)
    with pytest.raises(ValueError, match="not among the variables asked about as cause"):
        some["7", "7"]


@pytest.mark.parametrize("method", ["local", "optimal"])
def test_interval_and_value_are_those_of_the_regression(method):
    graph, X = fitted_graph(np.random.default_rng(6))
    E = pycupc.effects(graph, X, method=method)
    checked = 0
    for x, y in ((0, 1), (3, 8), (7, 2), (10, 11), (5, 6)):
        for reason in E.why(x, y):
            if reason.given is None:
                continue
            A = np.column_stack((X[:, [x, *map(int, reason.given)]], np.ones(len(X))))
            beta, rss, *_ = np.linalg.lstsq(A, X[:, y], rcond=None)
            free = len(X) - A.shape[1]
            error = np.sqrt(rss[0] / free * np.linalg.inv(A.T @ A)[0, 0])
            from scipy.stats import t

            half = t.ppf(0.975, free) * error
            np.testing.assert_allclose(
                (reason.value, reason.low, reason.high),
                (beta[0], beta[0] - half, beta[0] + half),
                rtol=1e-7,
                atol=1e-10,
            )
            checked += 1
    assert checked >= 5


def test_intervals_of_all_pairs_are_those_of_why():
    graph, X = fitted_graph(np.random.default_rng(6), p=7)
    E = pycupc.effects(graph, X)
    found = np.array(E.with_intervals())
    for x, y in product(range(7), repeat=2):
        least = min(E.why(x, y), key=lambda reason: abs(reason.value))
        np.testing.assert_allclose(found[:, x, y], (least.value, least.low, least.high), rtol=1e-9, atol=1e-12)
    some = pycupc.effects(graph, X, causes=["2", "5"]).on_page(np.array([1, 2, 4]))
    np.testing.assert_allclose(some["high"][1], found[2, 2, [1, 2, 4]])
    assert np.isnan(some["value"][[0, 2]]).all()


def test_a_copy_makes_an_effect_undefined_not_the_others():
    m = np.zeros((4, 4), dtype=int)
    m[0, 2] = m[1, 2] = m[2, 3] = 1
    C = np.eye(4)
    C[0, 1] = C[1, 0] = 1.0
    E = pycupc.effects(named(m), C)
    assert np.isnan(E[2, 3]).all()
    assert E[0, 3][0] == 0
    refused("singular", pycupc.ida, 2, 3, C, named(m))


@pytest.mark.parametrize("technique", ["RRC", "MCD"])
def test_a_singular_joint_effect_names_the_variables(technique):
    m, C = np.zeros((6, 6), dtype=int), np.eye(6)
    m[2, 4] = m[3, 4] = m[4, 5] = 1
    C[2, 3] = C[3, 2] = 1.0
    with pytest.raises(ValueError, match=r"the effect of \(4,\) given \(2, 3\) is not determined"):
        pycupc.joint_ida([4, 1], 5, C, m, technique=technique)


CHAIN, EYE = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), np.eye(3)
UNKNOWN = np.where([[0, 1, 0], [1, 0, 0], [0, 0, 0]], np.nan, EYE)
REFUSED = [
    (lambda: pycupc.ida([0, 1], 2, EYE, CHAIN), "x must be one variable"),
    (lambda: pycupc.ida(0, 2, EYE, CHAIN, method="optimal", y_notparent=True), "y_notparent is not available"),
    (lambda: pycupc.ida(0, 2, EYE, [[0, 1, 0], [0, 0, 1], [0, 1, 0]], type="pdag"), "the rules direct more of its"),
    (lambda: pycupc.ida(0, 2, np.eye(4), CHAIN), "same variables, got 4 and 3"),
    (lambda: pycupc.ida(1, 2, UNKNOWN, CHAIN), r"effect of \(1,\) given \(0,\) is not determined: .* is incomplete"),
    (lambda: pycupc.joint_ida([0, 1], 2, EYE), "a graph or all_pasets is needed"),
    (lambda: pycupc.joint_ida([0, 0], 2, EYE, 1 - EYE), r"causes must be different variables, got \['1', '1'\]"),
    (lambda: pycupc.effects(CHAIN, np.eye(9)[:, :2]), "3 variables of the graph, got 2"),
    (lambda: pycupc.effects(CHAIN, EYE, causes=[]), "causes must have at least one variable, got none"),
    (lambda: pycupc.effects(CHAIN, EYE, effects=[]), "effects must have at least one variable, got none"),
    (lambda: pycupc.effects(np.eye(9)[:, :2], CHAIN), "graph must be a square matrix"),
]


@pytest.mark.filterwarnings("ignore:effects were computed")
@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_errors(call, words):
    refused(words, call)


def test_a_graph_of_no_class_is_said_to_be_one():
    m = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    with pytest.warns(UserWarning, match="effects were computed although the graph is not a CPDAG: directed cycle"):
        pycupc.effects(named(m), np.eye(3))
    with pytest.warns(UserWarning, match="although the graph is not a CPDAG"):
        pycupc.ida(0, 2, EYE, CHAIN)
    calls = (
        lambda: pycupc.effects(named(m), np.eye(3)),
        lambda: pycupc.ida(0, 2, EYE, CHAIN),
        lambda: pycupc.joint_ida([0, 1], 2, EYE, CHAIN, type="cpdag"),
    )
    for call in calls:
        with pytest.warns(UserWarning, match="although the graph is not a CPDAG") as caught:
            call()
        assert caught[0].filename == __file__, caught[0].filename  # the line of the user


@pytest.mark.parametrize("name", ["causes", "effects"])
def test_variables_that_are_named_twice_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must name each variable once"):
        pycupc.effects(np.zeros((3, 3)), np.eye(3), **{name: [0, 1, 1]})


@pytest.mark.parametrize("k", [-1, 1.5, True])
def test_a_number_of_pairs_is_a_whole_number(k):
    with pytest.raises((ValueError, TypeError), match=f"k must be a whole number of at least 0, got {k}"):
        pycupc.effects(np.zeros((3, 3)), np.eye(3)).top(k)


def test_variables_in_another_order_are_refused():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=list("cba"))
    fit, C = pycupc.pc(rng.normal(size=(30, 3)), labels=list("abc")), X[list("abc")].cov()
    for data in (X, X.cov(), pycupc.SuffStat.from_data(X)):
        refused("in another order", pycupc.effects, fit, data)
    words = "mcov must have the order of the variables of the graph, got the names"
    for function, cause, effect in ((pycupc.ida, 0, 1), (pycupc.ida_fast, "a", ["b"]), (pycupc.joint_ida, ["a"], "b")):
        refused(words, function, cause, effect, X.cov(), fit)
    for call in (lambda C: pycupc.effects(fit, C), lambda C: pycupc.ida("a", "c", C, fit)):
        call(C)
        refused("rows in the order of its columns, got 'c' as the first row", call, C.loc[["c", "b", "a"]])
    assert pycupc.effects(fit, C)["a", "a"] == pytest.approx([1.0])


def test_a_matrix_in_the_coding_of_pcalg_is_refused():
    graph = named(np.triu(np.ones((3, 3), dtype=int), 1))
    for wrong in (graph.amat(), graph.amat_pag()):
        with pytest.raises(ValueError, match=r"from row to column, got amat.*; give the result"):
            pycupc.ida(0, 1, np.eye(3), wrong)
    found = [pycupc.adjustment_set(right, 1, 2) for right in (graph, graph.matrix(), graph.matrix().to_numpy())]
    assert found == [["0"], ["0"], ["1"]]  # a matrix without names has those of R


def test_the_rows_of_a_graph_matrix_go_by_their_names():
    C = np.cov(np.random.default_rng(0).normal(size=(30, 3)), rowvar=False)
    m = pd.DataFrame([[0, 1, 1], [0, 0, 1], [0, 0, 0]], index=[*"abc"], columns=[*"abc"])
    found = [pycupc.ida("b", "c", C, graph, type="pdag").tolist() for graph in (m, m.loc[[*"cab"]])]
    assert found[0] == found[1]
    assert pycupc.adjustment_set(m.loc[[*"cab"]], "b", "c") == ["a"]
    with pytest.raises(ValueError, match="the same names for rows and columns, got the rows x, y, z"):
        pycupc.ida("b", "c", C, m.set_axis([*"xyz"]))
    with pytest.raises(TypeError, match="y_notparent must be True or False, got 'no'"):
        pycupc.ida("b", "c", C, m, y_notparent="no")


@pytest.mark.parametrize("mask", [[True, False, False], np.array([True, False, False])])
def test_a_mask_is_no_list_of_variables(mask):
    data = np.random.default_rng(4).standard_normal((50, 3))
    with pytest.raises(TypeError, match="by its label or its number, got (np.)?True"):
        pycupc.effects(pycupc.pc(data), data, causes=mask)


def test_levels_of_intervals_and_what_is_no_graph():
    data = np.random.default_rng(5).standard_normal((50, 3))
    fit = pycupc.pc(data)
    found = pycupc.effects(fit.graph, data)  # a matrix does as well
    assert np.array_equal(found.smallest(), pycupc.effects(fit, data).smallest())
    for level in (95, 1, 0):
        refused(f"level must be a number above 0 and below 1, got {level}", found.top, 3, level=level)


def test_a_constant_column_has_no_effects_whatever_its_value():
    data = np.random.default_rng(6).standard_normal((50, 3))
    data[:, 0] = 0.1  # whose computed variance is not 0
    graph = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    with pytest.warns(UserWarning, match="constant columns"):
        found = pycupc.effects(graph, data)
    assert np.isnan(found[0, 1]).all()
    assert "1" not in {*found.top()["cause"], *found.top(by="sd")["cause"]}


def test_variances_beyond_the_range_of_float64_are_refused():
    data = np.random.default_rng(6).standard_normal((50, 3))
    for unit in (1e-160, 1e160):
        words, graph = "variances from 1e-290 to 1e290; others: column 1", np.zeros((3, 3))
        refused(words, pycupc.effects, graph, data * [1, unit, 1])


def test_a_covariance_matrix_may_be_asymmetric_by_rounding():
    C = np.array([[1.0, 1e-17, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]])
    graph = np.zeros((3, 3))
    assert pycupc.effects(graph, C)[0, 2] == pytest.approx([0.5])
    assert pycupc.ida(0, 2, C, graph) == pytest.approx([0.5])
    refused("mcov must be a covariance matrix, got one that is not symmetric", pycupc.ida, 0, 2, np.triu(C), graph)


def test_arguments_of_another_form_are_named():
    graph, C = np.zeros((2, 2)), np.eye(2)
    refused("graph must be a matrix without NaN", pycupc.ida, 0, 1, C, np.array([[0, np.nan], [0, 0]]))
    refused("x must be one variable, got 2", pycupc.ida_fast, [0, 1], [1], C, graph)
    refused(r"rows of 4 cells, got shape \(2, 3\)", pycupc.ida, 0, 1, C, graph, "global", all_dags=np.zeros((2, 3)))
    assert pycupc.ida_fast(0, [], C, graph).shape == (0, 1)
    for pair in ("12", "1", ("1", "2", "1")):  # "12" was the pair "1", "2"
        refused(r"E\[x, y\] has the effects of a pair", pycupc.effects(graph, C).__getitem__, pair, error=TypeError)


# -- data with gaps ----------------------------------------------------------------------------------------------------


def gapped(n=200, p=5):
    rng = np.random.default_rng(8)
    X = np.cumsum(rng.standard_normal((n, p)), axis=1) * [1.0, 10.0, 0.1, 3.0, 1.0]
    return X, np.where(rng.random(X.shape) < 0.1, np.nan, X)


def slopes(X, y, x, given):
    """The coefficient of x in the regression of y on x and `given`, and its variance."""
    D = np.column_stack([np.ones(len(X)), X[:, [x, *given]]])
    beta, (left,), *_ = np.linalg.lstsq(D, X[:, y], rcond=None)
    return beta[1], left / (len(X) - D.shape[1]) * np.linalg.inv(D.T @ D)[1, 1]


def test_effects_of_imputations_are_pooled_by_rubins_rules():
    from scipy.stats import t

    _, gaps = gapped()
    rng, n, M = np.random.default_rng(9), len(gaps), 4
    tables = [np.where(np.isnan(gaps), rng.standard_normal(gaps.shape), gaps) for _ in range(M)]
    data = pycupc.MultipleImputation(tables)
    fit = pycupc.pc(data, alpha=0.05)
    found = pycupc.effects(fit, data)
    assert "pooled over 4 imputations" in repr(found)
    assert found.top(by="sd")["in_sd"].abs().is_monotonic_decreasing
    tested = 0
    for x in range(5):
        for y in range(5):
            for reason in found.why(x, y) if x != y else ():
                if reason.given is None or np.isnan(reason.value):
                    continue
                given = [int(label) - 1 for label in reason.given]
                value, variance = np.array([slopes(X, y, x, given) for X in tables]).T
                within, between = variance.mean(), (1 + 1 / M) * value.var(ddof=1)
                total, share = within + between, between / (within + between)
                free = n - len(given) - 2
                observed = (free + 1) / (free + 3) * free * (1 - share)
                df = 1 / (share**2 / (M - 1) + 1 / observed)  # Barnard and Rubin
                half = t.ppf(0.975, df) * np.sqrt(total)
                np.testing.assert_allclose(
                    [reason.value, reason.low, reason.high], value.mean() + half * np.array([0, -1, 1]), rtol=1e-8
                )
                tested += 1
    assert tested > 10
    np.testing.assert_allclose(found.mean()[1, 2], found[1, 2].mean())
    equal = pycupc.MultipleImputation([tables[0]] * 3)  # without variance between them: the effects of that table
    one, same = pycupc.effects(fit, tables[0]), pycupc.effects(fit, equal)
    for mine, other in zip(same.with_intervals(), one.with_intervals(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=0.02)  # n - 3 of n - 1 degrees of freedom count, at no variance
    np.testing.assert_allclose(same.smallest(), one.smallest(), rtol=1e-12)


def test_effects_of_gaps_come_from_pairwise_complete_covariances():
    _, gaps = gapped()
    data = pycupc.IncompleteTable(gaps)
    found = pycupc.effects(pycupc.pc(data, alpha=0.05), data)
    assert "pairwise-complete covariances, without intervals" in repr(found)
    r = pycupc.SuffStat.from_data(gaps, missing="pairwise").C
    deviations = np.nanstd(gaps, axis=0, ddof=1)
    np.testing.assert_allclose(found.C, r * np.outer(deviations, deviations), rtol=1e-12)
    assert np.isnan(found.with_intervals()[1]).all()
    for wrong in (
        pycupc.IncompleteTable(np.where(np.isnan(gaps), np.nan, gaps > 0), categories=True),
        pycupc.MultipleImputation([(gaps > 0).astype(int), (gaps > 1).astype(int)], categories=True),
    ):
        with pytest.raises(TypeError, match="effects need numbers"):
            pycupc.effects(found._graph.dense(), wrong)
    huge = np.where(np.isnan(gaps), np.nan, gaps * [1, 1, 1, 1, 1e200])
    with pytest.raises(ValueError, match="between 1e-77 and 1e77"):
        pycupc.effects(found._graph.dense(), pycupc.IncompleteTable(huge))
