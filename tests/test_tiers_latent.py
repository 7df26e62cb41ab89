"""Tiers with hidden variables: the levels, the marks before the rules, and that the sets suffice (docs/TIERS.md, 8)."""

from __future__ import annotations

import math
import os
from functools import partial
from itertools import chain, combinations

import numpy as np
import pytest
from tiers_cases import noise, random_problem
from tiers_oracle import skeleton

from pycupc.algorithm.arguments import Options, Variables, check_arguments
from pycupc.algorithm.skeleton import find_skeleton
from pycupc.data.knowledge import Knowledge
from pycupc.graph.sparse import ARROW, CIRCLE, SparseGraph
from pycupc.graph.tiers import Tiers
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.gaussian.suffstat import SuffStat

N_CASES = int(os.environ.get("PYCUPC_LIVE_CASES", "40"))


def run(problem, tiers):
    """The skeleton as `fci` finds it."""
    known = Knowledge(tiers)
    variables = Variables(problem["seed"], noise, p=problem["p"], knowledge=known)
    engine = "reference"
    if "C" in problem:
        variables, engine = Variables(SuffStat(problem["C"], problem["n"]), knowledge=known), "cpu"
    options = Options(problem["alpha"], math.inf, "stable", True, None)
    return find_skeleton(check_arguments("fci", variables, options, engine))


def asked(function, stat, x, y, S):
    return function(x, y, S, stat)


@pytest.mark.parametrize("gaussian", [False, True])
def test_levels(gaussian):
    rng = np.random.default_rng(1)
    for _ in range(N_CASES):
        problem = random_problem(rng, gaussian=gaussian)
        p = problem["p"]
        tiers = rng.integers(1, 4, p).tolist()
        stat = SuffStat(problem["C"], problem["n"]) if gaussian else problem["seed"]
        test = partial(asked, gaussCItest if gaussian else noise, stat)
        none = np.zeros((p, p), dtype=bool)
        want, got = skeleton(test, p, problem["alpha"], tiers, none, none, latent=True), run(problem, tiers)
        np.testing.assert_array_equal(got.skeleton, want.G)
        assert got.n_edgetests == want.counts
        assert got.max_ord == want.max_ord
        assert got.sepset.cells() == want.cells
        np.testing.assert_allclose(got.pMax, want.pMax, rtol=1e-6)


def test_marks_before_the_rules():
    graph = SparseGraph.undirected(4, [0, 0, 1], [1, 2, 3])
    marks = Tiers(np.array([1, 0, 1, 2]), latent=True).marks(graph)
    assert marks.low_mark.tolist() == [ARROW, CIRCLE, CIRCLE]
    assert marks.high_mark.tolist() == [CIRCLE, CIRCLE, ARROW]


@pytest.mark.parametrize("known", [{"context_all": ["a"]}, {"required": [("a", "b")]}, {"forbidden": [("a", "b")]}])
def test_only_tiers(known):
    with pytest.raises(ValueError, match="fci takes tiers, and arrows that are forbidden both ways, got"):
        Knowledge(**known).of(["a", "b", "c"]).check_only_tiers("fci")
    Knowledge([1, 2, 2], forbidden=[("a", "b"), ("b", "a")]).of(["a", "b", "c"]).check_only_tiers("fci")


def ancestors(dag, nodes):
    """Those of some nodes, with the nodes themselves."""
    found = set(nodes)
    while more := {int(a) for b in found for a in np.flatnonzero(dag[:, b])} - found:
        found |= more
    return found


def separated(dag, x, y, S):
    """d-separation: in the moral graph of the ancestors, no path from x to y avoids S."""
    nodes = ancestors(dag, {x, y, *S})
    near = {v: {w for w in nodes if dag[v, w] or dag[w, v]} for v in nodes}
    for child in nodes:
        for a, b in combinations([v for v in nodes if dag[v, child]], 2):
            near[a].add(b)
            near[b].add(a)
    reached, waiting = {x}, [x]
    while waiting:
        for w in near[waiting.pop()] - reached - set(S):
            reached.add(w)
            waiting.append(w)
    return y not in reached


def subsets(nodes):
    return chain.from_iterable(combinations(nodes, size) for size in range(len(nodes) + 1))


def test_what_any_set_separates_a_set_of_the_tiers_does():
    rng = np.random.default_rng(2)
    n_separable = 0
    for _ in range(12):
        n, p = 8, 5  # the last ones are hidden
        tier, order = rng.integers(0, 3, p), rng.permutation(n)
        dag = np.zeros((n, n), dtype=bool)
        dag[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 0.45, 1)
        for x in range(p):  # no way from a later tier to an earlier one, through hidden variables either
            for y in range(p):
                if tier[x] > tier[y]:
                    while x in ancestors(dag, [y]):
                        step = [(a, b) for a in range(n) for b in ancestors(dag, [y]) if dag[a, b] and a == x]
                        dag[step[0]] = False
        for x, y in combinations(range(p), 2):
            others = [v for v in range(p) if v not in (x, y)]
            near = [v for v in others if tier[v] <= max(tier[x], tier[y])]
            if any(separated(dag, x, y, S) for S in subsets(others)):
                n_separable += 1
                assert any(separated(dag, x, y, S) for S in subsets(near))
    assert n_separable > 20
