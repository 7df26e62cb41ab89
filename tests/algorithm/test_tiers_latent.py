"""Tiers with hidden variables: the levels, the marks before the rules, and that the sets suffice
(docs/contracts/tiers.md, 8).
"""

import os
from itertools import chain, combinations

import networkx as nx
import numpy as np
import pytest
from markov_classes import d_separated
from orientation_cases import noise_test as noise
from tiers_cases import random_problem
from tiers_oracle import skeleton

import pycupc
from pycupc.algorithm.arguments import problem_of
from pycupc.algorithm.parameters import Arguments
from pycupc.algorithm.skeleton import find_skeleton
from pycupc.graph.knowledge import Knowledge
from pycupc.graph.sparse import ARROW, CIRCLE, TAIL, SparseGraph
from pycupc.graph.tiers import Tiers
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.suffstat import SuffStat

N_CASES = int(os.environ.get("PYCUPC_LIVE_CASES", "40"))


def run(problem, tiers):
    """The skeleton as `fci` finds it."""
    data = {"suffStat": problem["seed"], "indepTest": noise, "p": problem["p"], "engine": "reference"}
    if "C" in problem:
        data = {"suffStat": SuffStat(problem["C"], problem["n"]), "engine": "cpu"}
    return find_skeleton(problem_of(Arguments(function="fci", **data, alpha=problem["alpha"], tiers=tiers)))


@pytest.mark.parametrize("gaussian", [False, True])
def test_levels(gaussian):
    rng = np.random.default_rng(1)
    for _ in range(N_CASES):
        problem = random_problem(rng, gaussian=gaussian)
        p = problem["p"]
        tiers = rng.integers(1, 4, p).tolist()
        if rng.random() < 0.5:
            tiers = [None if rng.random() < 0.4 else tier for tier in tiers]
        stat = SuffStat(problem["C"], problem["n"]) if gaussian else problem["seed"]
        function = gaussCItest if gaussian else noise
        test = lambda x, y, S, f=function, stat=stat: f(x, y, S, stat)  # noqa: E731
        none = np.zeros((p, p), dtype=bool)
        want, got = skeleton(test, p, problem["alpha"], tiers, none, none, latent=True), run(problem, tiers)
        np.testing.assert_array_equal(got.skeleton, want.G)
        assert got.n_edgetests == want.counts
        assert got.max_ord == want.max_ord
        assert got.sepset.cells() == want.cells
        np.testing.assert_allclose(got.pMax, want.pMax, rtol=1e-6)


def test_marks_before_the_rules():
    graph = SparseGraph.undirected(4, [0, 0, 1], [1, 2, 3])
    assert Tiers(np.array([1, 0, 1, 2]), latent=True).arrowheads(graph) == [(1, 0), (1, 3)]
    assert Tiers(np.array([1, -1, 0, 2]), latent=True).arrowheads(graph) == [(2, 0)]


@pytest.mark.parametrize("known", [{"context_all": ["a"]}, {"required": [("a", "b")]}, {"forbidden": [("a", "b")]}])
def test_only_tiers(known):
    with pytest.raises(ValueError, match="fci takes tiers, and arrows that are forbidden both ways, got"):
        Knowledge(**known).of(["a", "b", "c"]).check_only_tiers("fci")
    Knowledge([1, 2, 2], forbidden=[("a", "b"), ("b", "a")]).of(["a", "b", "c"]).check_only_tiers("fci")


def causes(dag, x, y):
    """Whether x is an ancestor of y."""
    return nx.has_path(nx.from_numpy_array(dag, create_using=nx.DiGraph), x, y)


def told(x, y, S, dag):
    """A test that knows the truth."""
    return float(d_separated(dag, x, y, S))


def subsets(nodes):
    return chain.from_iterable(combinations(nodes, size) for size in range(len(nodes) + 1))


def hidden_problem(rng, n=8, p=5):
    """A DAG of n variables, of which the first p are observed, and the tiers of these; edges do not go back."""
    tier = rng.integers(0, 3, n)
    order = np.lexsort((rng.permutation(n), tier))
    dag = np.zeros((n, n), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 0.45, 1)
    return dag, tier[:p]


def test_what_any_set_separates_a_set_of_the_tiers_does():
    rng = np.random.default_rng(2)
    n_separable = 0
    for _ in range(12):
        dag, tier = hidden_problem(rng)
        for x, y in combinations(range(5), 2):
            others = [v for v in range(5) if v not in (x, y)]
            near = [v for v in others if tier[v] <= max(tier[x], tier[y])]
            if any(d_separated(dag, x, y, S) for S in subsets(others)):
                n_separable += 1
                assert any(d_separated(dag, x, y, S) for S in subsets(near))
    assert n_separable > 20


def test_fci_finds_the_same_edges_and_more_true_marks():
    rng = np.random.default_rng(3)
    spared = more = by_tier = 0
    for _ in range(N_CASES // 4):
        dag, tier = hidden_problem(rng, 9, 6)
        plain, tiered = (
            pycupc.fci(dag, told, 0.5, p=6, selectionBias=False, **tiers) for tiers in ({}, {"tiers": tier.tolist()})
        )
        np.testing.assert_array_equal(plain.skeleton, tiered.skeleton)
        tests = [sum(fit.n_edgetests) + sum(fit.later.n_tests) for fit in (plain, tiered)]
        spared += tests[0] - tests[1]
        amat = tiered.sparse_graph.amat_pag()
        more += int((amat > 1).sum() - (plain.sparse_graph.amat_pag() > 1).sum())
        for x, y in np.argwhere(amat).tolist():
            if tier[y] > tier[x]:
                assert amat[x, y] == ARROW
                by_tier += tiered.trace[x, y] == ("tier", x, y)
            if amat[x, y] != CIRCLE:
                assert causes(dag, y, x) == (amat[x, y] == TAIL)
    assert min(spared, more, by_tier) > 10


def test_rfci_finds_true_marks_only():
    rng, by_tier = np.random.default_rng(4), 0
    for _ in range(N_CASES // 2):
        dag, tier = hidden_problem(rng, 9, 6)
        fit = pycupc.rfci(dag, told, 0.5, p=6, tiers=tier.tolist())
        amat = fit.sparse_graph.amat_pag()
        for x, y in np.argwhere(amat).tolist():
            assert amat[x, y] == ARROW or tier[y] <= tier[x]
            by_tier += fit.trace.get((x, y)) == ("tier", x, y)
            if amat[x, y] != CIRCLE:
                assert causes(dag, y, x) == (amat[x, y] == TAIL)
    assert by_tier > 10


def test_arguments_of_fci():
    data = {"C": np.eye(3), "n": 50}
    for more, text in (
        ({}, "tiers need selectionBias=False"),
        ({"selectionBias": False, "jci": "1"}, "tiers need jci='0'"),
        ({"selectionBias": False, "skeleton": pycupc.pc(data, tiers=[1, 2, 2])}, "skeleton must be of the same tiers"),
    ):
        with pytest.raises(ValueError, match=text):
            pycupc.fci(data, tiers=[1, 1, 2], **more)
    fit = pycupc.fci(data, tiers=[1, 1, 2], selectionBias=False, skeleton=pycupc.skeleton(data))
    assert len(fit.sparse_graph) == 0
