"""The CPDAG and a DAG of any graph: those of the DAGs that extend it."""

from itertools import combinations

import networkx as nx
import numpy as np
from common import refused
from effects_cases import random_dag
from hypothesis import given, settings
from hypothesis import strategies as st
from markov_classes import classes_on, cpdag_of, true_cpdag
from orientation_cases import Cells, graph_of, orient_dense

from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph

seeds = st.integers(0, 2**32 - 1)


# CPDAGs and DAGs of a graph


def colliders_of(dag):
    """The unshielded colliders a -> b <- c."""
    return {
        (a, b, c)
        for b in range(len(dag))
        for a, c in combinations(np.flatnonzero(dag[:, b]).tolist(), 2)
        if not dag[a, c] and not dag[c, a]
    }


@given(seeds)
@settings(max_examples=250, deadline=None)
def test_cpdag_and_dag_of_any_graph_are_those_of_the_dags_that_extend_it(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, int(rng.integers(2, 6)), rng.uniform(0.2, 0.9))
    classes = classes_on(dag | dag.T)
    marks = (true_cpdag(dag) if rng.random() < 0.7 else dag).astype(int)
    for a, b in np.argwhere(dag).tolist():
        if rng.random() < rng.choice([0.2, 0.7]):
            marks[[a, b], [b, a]] = [(1, 0), (0, 1), (1, 1)][rng.integers(3)]
    arrows = (marks == 1) & (marks.T == 0)
    extensions = [
        (other, dags)
        for dags in classes
        for other in dags
        if (other >= arrows).all() and all(arrows[a, b] and arrows[c, b] for a, b, c in colliders_of(other))
    ]
    graph = CausalGraph(labels=tuple("abcdef"[: len(dag)]), sparse_graph=SparseGraph.from_dense(marks))
    cycle = graph.cycle()
    assert (cycle is None) == nx.is_directed_acyclic_graph(nx.DiGraph(arrows))
    if cycle is not None:
        assert all(arrows[a, b] for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True))
        assert len(set(cycle)) == len(cycle)
    assert graph.is_cpdag == (graph._not_a_cpdag() == "")
    if extensions:
        assert any(np.array_equal(graph.to_dag().graph, other) for other, _ in extensions)
        want = cpdag_of(extensions[0][1])
        np.testing.assert_array_equal(graph.to_cpdag().graph, want)
        assert graph.is_cpdag == np.array_equal(marks, want)
    else:
        assert not graph.is_cpdag
        for method in (graph.to_dag, graph.to_cpdag):
            refused('no DAG extends this graph: not a CPDAG: .*; u2pd="retry" gives a graph that a DAG extends', method)


def test_bidirected_edges_are_no_part_of_a_cpdag():
    graph = CausalGraph(labels=("a", "b"), sparse_graph=SparseGraph.from_dense([[0, 2], [2, 0]]))
    assert (graph.is_cpdag, graph.cycle()) == (False, None)
    refused("1 edge is bidirected", graph.to_dag)


# rand and retry


def test_forced_dag_takes_the_lowest_sink_first():
    """Recorded from pcalg 2.7-12; three tries fail, the last one has no cycle."""
    want = graph_of("1>0 1-4 2>0 2-3 2-4 3>0 3-4", 5)
    cells = {(0, 4): (1, 3), (1, 2): (3,), (1, 3): (0, 4)}
    got = orient_dense((want + want.T) != 0, Cells(cells), u2pd="retry")
    assert (got.status, got.n_tries) == ("forced", 3)
    np.testing.assert_array_equal(got.graph, want)
