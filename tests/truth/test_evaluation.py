"""`evaluate`: pairs are counted once, the truth in every form, refusals."""

from math import isnan

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from common import refused
from true_graphs import written_graph

import pycupc
from pycupc.graph.named import NamedGraph
from pycupc.results.causal_graph import CausalGraph

#: a --> b, b --> c, a --> d, and a result that has b --- a, c --> b, c --- d.
TRUE = written_graph(4, (0, 1), (1, 2), (0, 3))
FOUND = written_graph(4, (0, 1), (1, 0), (2, 1), (2, 3), (3, 2))


def test_pairs_are_counted_once_and_shares_follow_from_the_counts():
    it = pycupc.evaluate(FOUND, TRUE)
    assert (it.missing, it.extra, it.other_direction, it.shd) == (1, 1, 2, 4)
    assert (it.edges_found, it.edges_true, it.edges_right) == (3, 3, 2)
    assert (it.arrows_found, it.arrows_true, it.arrows_right) == (1, 3, 0)
    assert (it.edge_precision, it.edge_recall, it.arrow_precision, it.arrow_recall) == (2 / 3, 2 / 3, 0, 0)
    assert repr(it) == (
        "SHD 4: 1 missing, 1 extra, 2 with another direction\n"
        "edges:  precision 2/3 = 0.67 and recall 2/3 = 0.67\n"
        "arrows: precision 0/1 = 0.00 and recall 0/3 = 0.00"
    )


def test_a_share_of_nothing_is_nan():
    empty = written_graph(4)
    it = pycupc.evaluate(empty, TRUE)
    assert isnan(it.edge_precision)
    assert isnan(it.arrow_precision)
    assert it.edge_recall == 0
    assert isnan(pycupc.evaluate(TRUE, empty).edge_recall)
    assert pycupc.evaluate(empty, empty).shd == 0
    assert "precision 0/0 and recall 0/3 = 0.00" in repr(it)


def test_as_cpdag_asks_only_for_directions_that_data_can_tell():
    chain = written_graph(3, (0, 1), (1, 2))
    assert pycupc.evaluate(chain.to_cpdag(), chain).shd == 2
    assert pycupc.evaluate(chain.to_cpdag(), chain, as_cpdag=True).shd == 0
    collider = written_graph(3, (0, 1), (2, 1))
    assert pycupc.evaluate(chain.to_cpdag(), collider, as_cpdag=True).arrow_recall == 0


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_the_truth_in_every_form(order):
    want = pycupc.evaluate(FOUND, TRUE)
    part = TRUE.subgraph(order)
    moved = CausalGraph(labels=part.labels, sparse_graph=part.sparse_graph)
    weighted = moved.matrix() * -0.3
    forms = [moved, weighted, moved.to_networkx(), moved.amat(), part]
    for form in forms:
        assert pycupc.evaluate(FOUND, form) == want
    plain = np.asarray(moved.graph)
    assert pycupc.evaluate(FOUND, plain, labels=moved.labels) == want
    assert pycupc.evaluate(FOUND, plain.T, labels=moved.labels, coding="amat") == want
    assert pycupc.evaluate(FOUND, TRUE.graph.tolist()) == want
    class_of = moved.to_cpdag()
    wanted = pycupc.evaluate(FOUND, TRUE.to_cpdag())
    assert pycupc.evaluate(FOUND, class_of.to_networkx()) == pycupc.evaluate(FOUND, class_of.amat()) == wanted
    assert pycupc.evaluate(FOUND, class_of.matrix()) == wanted


def test_both_may_be_matrices():
    assert pycupc.evaluate(FOUND.graph, TRUE.graph) == pycupc.evaluate(FOUND, TRUE)
    assert pycupc.evaluate(FOUND.graph.T, TRUE.graph.T, coding="amat") == pycupc.evaluate(FOUND, TRUE)


def test_refusals_of_evaluate():
    cycle = written_graph(3, (0, 1), (1, 2), (2, 0))
    refused(
        "truth must be a DAG or a CPDAG, but has the directed cycle a --> b --> c --> a", pycupc.evaluate, cycle, cycle
    )
    both = CausalGraph.from_amat_pag([[0, 2], [2, 0]])
    refused("truth must be a DAG or a CPDAG, but has bidirected edges", pycupc.evaluate, both, both)
    circles = NamedGraph.from_amat_pag([[0, 1], [1, 0]])
    refused("fit must be a DAG or a CPDAG, but has edges with circles", pycupc.evaluate, circles, both)
    refused("truth is of pcalg's type amat.pag", pycupc.evaluate, TRUE, TRUE.amat_pag())
    refused("reads it the wrong way round", pycupc.evaluate, TRUE, TRUE.amat(), coding="matrix")
    refused('coding must be "matrix"', pycupc.evaluate, TRUE, TRUE.graph, coding="rows")
    refused("only fit has d; only truth has e", pycupc.evaluate, TRUE, written_graph(4, labels="abce"))
    refused("only fit has d; `labels`", pycupc.evaluate, TRUE, written_graph(3))
    refused("labels must name all 4", pycupc.evaluate, TRUE, TRUE.graph, labels=["a"])
    for wrong in ([[0, 2], [3, 0]], [[0, 0.5], [0.5, 0]], [[0, np.nan], [0, 0]], [[0, np.inf], [0, 0]]):
        refused("is no edge of a DAG or a CPDAG", pycupc.evaluate, written_graph(2), wrong)
    refused("empty diagonal", pycupc.evaluate, written_graph(2), np.eye(2))
    refused(
        "same names of rows and columns",
        pycupc.evaluate,
        written_graph(2),
        pd.DataFrame(np.zeros((2, 2)), index=["b", "a"], columns=["a", "b"]),
    )
    for wrong in ("truth.csv", None, np.zeros((2, 3)), {"a": 1}):
        refused(
            "truth must be a result, a square matrix or a networkx.DiGraph",
            pycupc.evaluate,
            TRUE,
            wrong,
            error=TypeError,
        )
    refused("truth must be a networkx.DiGraph", pycupc.evaluate, TRUE, nx.Graph([("a", "b")]), error=TypeError)
    known = pycupc.simulate(4, 100, seed=1)
    latent = pycupc.fci(known.data, alpha=0.01)
    refused("result of fci or rfci", pycupc.evaluate, latent, known.graph, error=TypeError)
