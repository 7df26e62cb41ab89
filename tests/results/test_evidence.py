"""Edges that stayed: how many tests they survived, and which came closest to removing them, by every single test."""

import math

import explored_graphs
import numpy as np
import pytest

import pycupc
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.results import evidence, explorer_content

ALPHA = 0.05


@pytest.fixture(scope="module")
def suff_stat():
    return pycupc.SuffStat.from_data(explored_graphs.table(25, n=120, parents=3))


@pytest.fixture(scope="module")
def tests(suff_stat):
    """The p-value of every test of each pair, {pair: {set: p}}, with the number of calls under "calls"."""
    made: dict[tuple[int, int], dict] = {}

    def recorded(x, y, S, suff):
        p = gaussCItest(x, y, S, suff)
        pair = made.setdefault((min(x, y), max(x, y)), {"calls": 0})
        pair["calls"] += 1
        pair[tuple(sorted(S))] = p
        return p

    made["fit"] = pycupc.pc(suff_stat, recorded, alpha=ALPHA, p=25)
    return made


@pytest.fixture(scope="module")
def fit(suff_stat):
    return pycupc.pc(suff_stat, alpha=ALPHA)


def pairs(fit):
    return list(zip(fit.sparse_graph.low.tolist(), fit.sparse_graph.high.tolist(), strict=True))


def test_numbers_of_tests_and_highest_levels(fit, tests):
    graph = fit.sparse_graph
    n, highest = evidence.KeptEdges(fit).n_tests(graph.low, graph.high)
    assert fit.max_ord >= 3
    assert n.tolist() == [tests[pair]["calls"] for pair in pairs(fit)]
    longest = [max(len(S) for S in tests[pair] if S != "calls") for pair in pairs(fit)]
    assert highest.tolist() == longest


@pytest.mark.parametrize("form", ["run", "loaded", "custom"])
def test_why_names_the_weakest_test(fit, tests, suff_stat, tmp_path, form):
    found = fit
    if form == "loaded":
        fit.save(tmp_path / "fit.npz")
        found = pycupc.PcAlgo.load(tmp_path / "fit.npz")
    elif form == "custom":
        found = tests["fit"]
    for a, b in pairs(fit):
        why = found.why(b, a)
        assert why.n_tests == tests[a, b]["calls"]
        if form == "custom":
            assert why.S is None
            continue
        S = tuple(sorted(map(found.index, why.S)))
        p = max(value for key, value in tests[a, b].items() if key != "calls")
        assert why.p == pytest.approx(p, rel=1e-6)
        assert tests[a, b][S] == pytest.approx(p, rel=1e-6)
        assert why.level == len(S)
        assert why.margin < 0
        assert 2 * math.exp(math.log(0.5 * math.erfc(abs(why.z) / math.sqrt(2)))) == pytest.approx(p, rel=1e-6)
        given = f"given {{{', '.join(why.S)}}}" if S else "without conditioning"
        assert f"the largest p-value of its {why.n_tests:,.0f} tests is {why.p:.3g}, {given}" in str(why)


def test_what_the_page_says(fit, suff_stat, monkeypatch):
    content = explorer_content.content(fit)
    graph = content.graph
    assert graph.p == fit.p  # the page numbers its variables as the result does
    for k, (a, b) in enumerate(zip(graph.low.tolist(), graph.high.tolist(), strict=True)):
        why = fit.why(a, b)
        assert content.edge_tests[k] == why.n_tests
    monkeypatch.setattr("pycupc.results.evidence.MOST_TESTS", 1)
    why = fit.why(*pairs(fit)[0])
    assert why.S is None
    assert why.n_tests > 1


def test_a_fixed_edge_was_never_tested(suff_stat):
    fixed = np.zeros((25, 25), dtype=bool)
    fixed[0, 1] = fixed[1, 0] = True
    fit = pycupc.pc(suff_stat, alpha=ALPHA, fixedEdges=fixed)
    content = explorer_content.content(fit)
    k = pairs(fit).index((0, 1))
    assert content.edge_tests[k] == 0
    assert fit.why(0, 1).status == "fixed"
