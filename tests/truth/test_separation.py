"""`d_separated`: all small DAGs, forms of questions, refusals."""

from itertools import combinations

import numpy as np
from common import refused
from markov_classes import d_separated as by_networkx
from markov_classes import unlabelled
from true_graphs import written_graph

import pycupc
from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph


def test_all_questions_of_all_dags_of_four_variables():
    """Each DAG, and the CPDAG of its class, answer as networkx."""
    for dags, _ in unlabelled(4):
        cpdag = CausalGraph(
            labels=tuple("abcd"), sparse_graph=SparseGraph.from_dense(dags[0].astype(np.int8))
        ).to_cpdag()
        for x, y in combinations(range(4), 2):
            rest = [v for v in range(4) if v not in (x, y)]
            for S in ([], rest[:1], rest[1:], rest):
                want = by_networkx(dags[0], x, y, S)
                assert pycupc.d_separated(cpdag, x, y, S) == want
                assert all(pycupc.d_separated(dag, y, x, S) == want for dag in dags)


def test_several_variables_names_and_other_forms():
    dag = written_graph(5, (0, 1), (2, 1), (1, 3), (3, 4))
    assert pycupc.d_separated(dag, "a", "c")
    assert not pycupc.d_separated(dag, "a", "c", "e")
    assert pycupc.d_separated(dag, ["a", "c"], ["d", "e"], ["b"])
    assert not pycupc.d_separated(dag, ["a", "b"], "c")
    assert pycupc.d_separated(dag.to_networkx(), "a", "e", ["d"])
    assert pycupc.d_separated(dag.graph.T, 0, 4, 3, coding="amat")
    assert pycupc.d_separated(dag.graph, "v", "z", "y", labels=list("vwxyz"))


def test_refusals_of_d_separated():
    dag = written_graph(3, (0, 1), (1, 2))
    refused("no variable in common, got 'a'", pycupc.d_separated, dag, "a", "a")
    refused("no variable in common, got 'c'", pycupc.d_separated, dag, "a", "c", ["b", "c"])
    refused("x and y must name a variable each", pycupc.d_separated, dag, [], "a")
    refused("there is no variable 'q'", pycupc.d_separated, dag, "q", "a")
    refused("variables are 0 to 2", pycupc.d_separated, dag, 3, "a", error=IndexError)
    square = written_graph(4, *((i, j) for k in range(4) for i, j in ((k, (k + 1) % 4), ((k + 1) % 4, k))))
    refused("no DAG extends this graph", pycupc.d_separated, square, 0, 2)
