"""The parent sets of causes: by their definition, given ones, too many."""

import sys
from itertools import combinations

import numpy as np
import pytest
from common import refused
from effects_cases import cpdag, named, random_covariance, random_dag

import pycupc
from pycupc.effects.dags import all_dags
from pycupc.effects.orientations import Orientations
from pycupc.effects.parent_sets import ParentSets, parent_sets


@pytest.mark.parametrize("kind", ["dag", "cpdag", "pdag", "any"])
def test_parent_sets_are_those_of_the_definition(kind):
    rng = np.random.default_rng(0)
    for _ in range(60):
        p = int(rng.integers(1, 11))
        m = random_dag(rng, p, rng.uniform(0.1, 0.8)) if kind != "any" else rng.integers(0, 2, (p, p)).astype(np.int8)
        np.fill_diagonal(m, 0)
        if kind in ("cpdag", "pdag"):
            m = cpdag(m)
        if kind == "pdag":
            m = m * (rng.random(m.shape) < 0.8)
        sparse = named(m).sparse_graph
        causes = rng.permutation(p)[: int(rng.integers(1, p + 1))].tolist()
        want = ParentSets.of(causes, [_by_definition(x, Orientations.of(sparse)) for x in causes])
        for a, b in zip(parent_sets(sparse, causes), want, strict=True):
            np.testing.assert_array_equal(a, b)


def _by_definition(x: int, graph: Orientations) -> list[frozenset[int]]:
    """docs/contracts/effects.md, section 2, on all subsets of the siblings."""
    near, found = graph.adjacent, []
    always = {s for s in graph.siblings[x] if graph.parents[s] - near[x] - {x}}
    for k in range(len(graph.siblings[x]) + 1):
        for T in map(frozenset, combinations(sorted(graph.siblings[x]), k)):
            if always <= T and all(T | graph.parents[x] <= near[t] | {t} for t in T):
                found.append(graph.parents[x] | T)
    return found


def test_many_siblings_are_no_matter_but_too_many_sets_are(monkeypatch):
    p = 61
    star = np.zeros((p, p), dtype=int)
    star[0, 1:] = star[1:, 0] = 1
    assert len(pycupc.ida(0, 5, np.eye(p), star)) == p
    monkeypatch.setattr(sys.modules["pycupc.effects.parent_sets"], "MOST_PARENT_SETS", 50)
    refused(r"too many possible parent sets of \(0,\): more than 50", pycupc.ida, 0, 5, np.eye(p), star)


def test_given_parent_sets_and_dags():
    rng = np.random.default_rng(8)
    C = random_covariance(rng, 4)
    complete = 1 - np.eye(4, dtype=int)
    graph = Orientations.of(named(complete).sparse_graph)
    dags = all_dags(graph)
    rows = [[int(v in parents[w]) for w in range(4) for v in range(4)] for parents in dags]
    want = pycupc.ida(0, 2, C, complete, method="global")
    np.testing.assert_array_equal(pycupc.ida(0, 2, C, complete, method="global", all_dags=rows), want)
    sets = [[sorted(parents[0]), sorted(parents[1])] for parents in dags]
    for technique in ("RRC", "MCD"):
        given = pycupc.joint_ida([0, 1], 2, C, all_pasets=sets, technique=technique)
        np.testing.assert_allclose(given, pycupc.joint_ida([0, 1], 2, C, complete, type="cpdag", technique=technique))


@pytest.mark.filterwarnings("ignore:effects were computed although the graph is not a CPDAG")
def test_sets_with_background_knowledge_are_those_of_pdag():
    rng = np.random.default_rng(8)
    differ = 0
    for _ in range(60):
        dag = random_dag(rng, 6, 0.5)
        m = cpdag(dag)
        undirected = np.argwhere((m == 1) & (m.T == 1) & (dag != 0))
        if not len(undirected):
            continue
        arrow = tuple(map(str, undirected[0].tolist()))
        C, fit = random_covariance(rng, 6), pycupc.add_background_knowledge(named(m), required=[arrow])
        known = fit.graph
        E = pycupc.effects(fit, C)
        for x, y in [(0, 5), (1, 2), (4, 3)]:
            if known[y, x] and not known[x, y]:
                continue  # a single 0 of `ida`
            np.testing.assert_allclose(E[x, y], pycupc.ida(x, y, C, fit, type="pdag"), atol=1e-9)
            differ += len(pycupc.ida(x, y, C, known)) != len(E[x, y])
    assert differ
