"""`evaluate`, `simulate`, `d_separated`, and the relatives of a variable: definitions, all small DAGs, refusals."""

from itertools import combinations
from math import isnan

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from common import refused
from markov_classes import d_separated as by_networkx
from markov_classes import unlabelled

import pycupc
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph
from pycupc.truth.simulation import ERRORS


def graph(p, *arrows, labels=None):
    """The graph with these arrows; an arrow both ways is an undirected edge."""
    matrix = np.zeros((p, p), dtype=np.int8)
    for i, j in arrows:
        matrix[i, j] = 1
    labels = tuple(labels or "abcdefgh"[:p])
    return CausalGraph(labels=labels, sparse_graph=SparseGraph.from_dense(matrix))


#: a --> b, b --> c, a --> d, and a result that has b --- a, c --> b, c --- d.
TRUE = graph(4, (0, 1), (1, 2), (0, 3))
FOUND = graph(4, (0, 1), (1, 0), (2, 1), (2, 3), (3, 2))


# -- evaluate ---------------------------------------------------------------------------------------------------------


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
    empty = graph(4)
    it = pycupc.evaluate(empty, TRUE)
    assert isnan(it.edge_precision)
    assert isnan(it.arrow_precision)
    assert it.edge_recall == 0
    assert isnan(pycupc.evaluate(TRUE, empty).edge_recall)
    assert pycupc.evaluate(empty, empty).shd == 0
    assert "precision 0/0 and recall 0/3 = 0.00" in repr(it)


def test_as_cpdag_asks_only_for_directions_that_data_can_tell():
    chain = graph(3, (0, 1), (1, 2))
    assert pycupc.evaluate(chain.to_cpdag(), chain).shd == 2
    assert pycupc.evaluate(chain.to_cpdag(), chain, as_cpdag=True).shd == 0
    collider = graph(3, (0, 1), (2, 1))
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
    cycle = graph(3, (0, 1), (1, 2), (2, 0))
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
    refused("only fit has d; only truth has e", pycupc.evaluate, TRUE, graph(4, labels="abce"))
    refused("only fit has d; `labels`", pycupc.evaluate, TRUE, graph(3))
    refused("labels must name all 4", pycupc.evaluate, TRUE, TRUE.graph, labels=["a"])
    for wrong in ([[0, 2], [3, 0]], [[0, 0.5], [0.5, 0]], [[0, np.nan], [0, 0]], [[0, np.inf], [0, 0]]):
        refused("is no edge of a DAG or a CPDAG", pycupc.evaluate, graph(2), wrong)
    refused("empty diagonal", pycupc.evaluate, graph(2), np.eye(2))
    refused(
        "same names of rows and columns",
        pycupc.evaluate,
        graph(2),
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


# -- d_separated and the relatives of a variable ----------------------------------------------------------------------


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
    dag = graph(5, (0, 1), (2, 1), (1, 3), (3, 4))
    assert pycupc.d_separated(dag, "a", "c")
    assert not pycupc.d_separated(dag, "a", "c", "e")
    assert pycupc.d_separated(dag, ["a", "c"], ["d", "e"], ["b"])
    assert not pycupc.d_separated(dag, ["a", "b"], "c")
    assert pycupc.d_separated(dag.to_networkx(), "a", "e", ["d"])
    assert pycupc.d_separated(dag.graph.T, 0, 4, 3, coding="amat")
    assert pycupc.d_separated(dag.graph, "v", "z", "y", labels=list("vwxyz"))


def test_refusals_of_d_separated():
    dag = graph(3, (0, 1), (1, 2))
    refused("no variable in common, got 'a'", pycupc.d_separated, dag, "a", "a")
    refused("no variable in common, got 'c'", pycupc.d_separated, dag, "a", "c", ["b", "c"])
    refused("x and y must name a variable each", pycupc.d_separated, dag, [], "a")
    refused("there is no variable 'q'", pycupc.d_separated, dag, "q", "a")
    refused("variables are 0 to 2", pycupc.d_separated, dag, 3, "a", error=IndexError)
    square = graph(4, *((i, j) for k in range(4) for i, j in ((k, (k + 1) % 4), ((k + 1) % 4, k))))
    refused("no DAG extends this graph", pycupc.d_separated, square, 0, 2)


def test_the_relatives_of_a_variable():
    dag = graph(6, (4, 2), (0, 2), (2, 1), (3, 1), (5, 3))
    assert dag.neighbours("c") == ("a", "b", "e")
    assert dag.parents(2) == ("a", "e")
    assert dag.children("c") == ("b",)
    assert dag.markov_blanket("c") == ("a", "b", "d", "e")
    assert dag.neighbours("f") == ("d",)
    assert graph(2).markov_blanket(0) == ()
    refused("there is no variable 'q'", dag.markov_blanket, "q")
    pag = NamedGraph.from_amat_pag([[0, 2, 1], [3, 0, 0], [1, 0, 0]], list("abc"))
    assert pag.parents("b") == ("a",)
    assert pag.neighbours("a") == ("b", "c")
    assert pag.children("a") == ("b",)
    refused("the Markov blanket needs a graph of directed and undirected edges", pag.markov_blanket, "a")


def test_the_blanket_is_the_smallest_set_that_separates_and_that_of_the_class():
    for dags, _ in unlabelled(4):
        graphs = [
            CausalGraph(labels=tuple("abcd"), sparse_graph=SparseGraph.from_dense(d.astype(np.int8))) for d in dags
        ]
        for v in range(4):
            others = [w for w in range(4) if w != v]
            separating = [
                S
                for size in range(4)
                for S in combinations(others, size)
                if all(by_networkx(dags[0], v, w, S) for w in others if w not in S)
            ]
            want = tuple("abcd"[w] for w in separating[0])
            assert [g.markov_blanket(v) for g in (*graphs, graphs[0].to_cpdag())] == [want] * (len(dags) + 1)


# -- simulate ---------------------------------------------------------------------------------------------------------


def test_the_data_follow_the_weights():
    known = pycupc.simulate(6, 200_000, degree=3, weights=(-1, 1), seed=3, labels=list("uvwxyz"))
    W = known.weight_matrix()
    assert known.data.shape == (200_000, 6)
    assert known.labels == known.graph.labels == tuple("uvwxyz")
    assert np.array_equal(W != 0, known.graph.graph == 1)
    assert not np.tril(W).any()
    assert np.array_equal(W[known.graph.sparse_graph.low, known.graph.sparse_graph.high], known.weights)
    residuals = known.data - known.data @ W
    assert np.allclose(np.cov(residuals.T), np.eye(6), atol=0.02)  # a standard error of at most 0.0032
    assert list(known.table().columns) == list("uvwxyz")
    assert np.array_equal(known.table(), known.data)
    assert repr(known) == f"<Simulation: 200,000 observations of 6 variables, {len(known.weights)} edges, seed 3>"


def test_the_number_of_edges():
    """Of 4,950 pairs; the bounds are five standard deviations."""
    for options, share in (({"degree": 4}, 4 / 99), ({"prob": 0.3}, 0.3), ({}, 2 / 99)):
        m = len(pycupc.simulate(100, 1, seed=2, **options).weights)
        assert abs(m - 4950 * share) < 5 * np.sqrt(4950 * share * (1 - share))
    assert len(pycupc.simulate(20, 1, prob=1, seed=1).weights) == 190
    assert len(pycupc.simulate(20, 1, degree=0, seed=1).weights) == len(pycupc.simulate(1, 3, seed=1).weights) == 0
    weights = pycupc.simulate(100, 1, prob=1, weights=(0.5, 2), seed=1).weights
    assert 0.5 <= weights.min() < 0.51
    assert 1.99 < weights.max() <= 2


@pytest.mark.parametrize("errors", ERRORS)
def test_the_distributions_of_the_errors(errors):
    """By the share of values beyond 1, 3 and 30, and the mean where there is one."""
    from scipy import stats

    norm, t = stats.norm, stats.t
    with_others = {"mix": stats.cauchy, "mixt3": t(3), "mixN100": norm(0, 10)}
    pure = {
        "normal": norm,
        "cauchy": stats.cauchy,
        "t4": t(4),
        "uniform": stats.uniform(-(3**0.5), 2 * 3**0.5),
        "laplace": stats.laplace(0, 0.5**0.5),
        "exponential": stats.expon(-1),
    }
    x = pycupc.simulate(1, 100_000, errors=errors, seed=5).data[:, 0]
    for cut in (-3, -0.9, 0.4, 3, 30):
        share = pure[errors].cdf(cut) if errors in pure else 0.9 * norm.cdf(cut) + 0.1 * with_others[errors].cdf(cut)
        assert abs((x <= cut).mean() - share) < 5 * np.sqrt(share * (1 - share) / len(x)) + 1e-5


def test_a_seed_names_the_data_and_is_kept():
    one, two = pycupc.simulate(8, 50, seed=7), pycupc.simulate(8, 50, seed=7)
    assert np.array_equal(one.data, two.data)
    assert one.graph.sparse_graph == two.graph.sparse_graph
    drawn = pycupc.simulate(8, 50)
    assert np.array_equal(drawn.data, pycupc.simulate(8, 50, seed=drawn.seed).data)
    assert drawn.seed != pycupc.simulate(8, 50).seed


def test_pc_finds_the_class_with_enough_data():
    known = pycupc.simulate(8, 100_000, degree=2, weights=(0.5, 1), seed=1)
    it = pycupc.evaluate(pycupc.pc(known.data, alpha=1e-4), known.graph, as_cpdag=True)
    assert it.shd == 0
    assert it.edge_precision == it.edge_recall == 1


def test_refusals_of_simulate():
    for p, n in ((0, 5), (5, 0), (2.5, 5)):
        refused("must be a whole number of at least 1", pycupc.simulate, p, n)
    refused("p must be", pycupc.simulate, "5", 5, error=TypeError)
    refused("either degree or prob", pycupc.simulate, 5, 5, degree=2, prob=0.1)
    refused(r"degree must be a number in \[0, p - 1 = 4\], got 5", pycupc.simulate, 5, 5, degree=5)
    refused(r"prob must be a number in \[0, 1\], got nan", pycupc.simulate, 5, 5, prob=float("nan"))
    refused("errors must be one of 'normal'", pycupc.simulate, 5, 5, errors="gauss")
    refused("errors must be one of 'normal'", pycupc.simulate, 5, 5, errors=["normal"])
    refused("the least and the largest", pycupc.simulate, 5, 5, weights=(1, 0.1))
    refused("the least and the largest", pycupc.simulate, 5, 5, weights=(0, np.inf))
    refused("weights must be two numbers", pycupc.simulate, 5, 5, weights=1, error=TypeError)
    refused("seed must be a whole number of at least 0", pycupc.simulate, 5, 5, seed=-1)
    refused("labels must name all 5", pycupc.simulate, 5, 5, labels=["a"])
    refused("exceed the range of float64", pycupc.simulate, 400, 2, prob=1, weights=(9, 10), seed=1)
