"""The sparse graph: the same as the dense one, with any marks."""

import numpy as np
import pytest
from common import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from pycupc.graph.sparse import SparseGraph

seeds = st.integers(0, 2**32 - 1)


def random_graph(rng: np.random.Generator) -> np.ndarray:
    """A mixed graph as a matrix of marks."""
    p = int(rng.integers(1, 12))
    upper = np.triu(rng.random((p, p)) < 0.5, 1)
    graph = np.zeros((p, p), np.int8)
    for i, j in np.argwhere(upper):
        graph[i, j], graph[j, i] = [(1, 0), (0, 1), (1, 1), (2, 2)][rng.integers(4)]
    return graph


@given(seeds)
@settings(max_examples=100, deadline=None)
def test_sparse_graph_is_the_dense_one(seed):
    dense = random_graph(np.random.default_rng(seed))
    graph, skeleton = SparseGraph.from_dense(dense), (dense != 0) | (dense.T != 0)
    np.testing.assert_array_equal(graph.dense(), dense)
    np.testing.assert_array_equal(graph.skeleton(), skeleton)
    np.testing.assert_array_equal(graph.degrees(), skeleton.sum(axis=1))
    assert SparseGraph.from_cells(graph.p, *graph.cells()) == graph
    start, neighbours = graph.neighbour_lists()
    for v in range(graph.p):
        np.testing.assert_array_equal(neighbours[start[v] : start[v + 1]], np.flatnonzero(skeleton[v]))
    x, y = np.indices(dense.shape)
    np.testing.assert_array_equal(graph.adjacent(x.ravel(), y.ravel()), skeleton.ravel())
    directed = int(((dense == 1) & (dense.T == 0)).sum())
    undirected = int(np.triu((dense == 1) & (dense.T == 1)).sum())
    assert [*graph.counts().values()] == [directed, undirected, int(np.triu(dense == 2).sum())]


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_any_marks_are_those_of_the_dense_amat_pag(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(0, 9))
    adjacent = np.triu(rng.random((p, p)) < 0.5, 1)
    amat = rng.integers(1, 4, (p, p)) * (adjacent | adjacent.T)
    graph = SparseGraph.from_amat_pag(amat)
    np.testing.assert_array_equal(graph.amat_pag(), amat)
    np.testing.assert_array_equal(graph.skeleton(), amat != 0)
    order = rng.permutation(p)
    assert graph.subgraph(order) == SparseGraph.from_amat_pag(amat[np.ix_(order, order)])
    if 1 in amat:
        refused("no circles", graph.cells)
    else:
        assert SparseGraph.from_cells(p, *graph.cells()) == graph


@pytest.mark.parametrize("p", [0, 1, 2])
def test_sparse_graph_without_edges(p):
    graph = SparseGraph.from_dense(np.zeros((p, p), np.int8))
    assert (len(graph), sum(graph.counts().values()), graph.dense().shape) == (0, 0, (p, p))
    assert graph.degrees().tolist() == [0] * p
    assert not graph.adjacent(np.zeros(3, int), np.zeros(3, int)).any()


def test_cells_outside_the_matrix_or_on_its_diagonal_are_refused():
    refused("edges among the variables 0 to 2", SparseGraph.from_cells, 3, [0], [3], [1])
    refused("edge of variable 1 to itself", SparseGraph.from_cells, 3, [0, 1], [1, 1], [1, 1])
