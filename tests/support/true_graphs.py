"""Graphs that are written down, for the tests of the truth."""

import numpy as np

from pycupc.graph.sparse import SparseGraph
from pycupc.results.causal_graph import CausalGraph


def written_graph(p, *arrows, labels=None):
    """The graph with these arrows; an arrow both ways is an undirected edge."""
    matrix = np.zeros((p, p), dtype=np.int8)
    for i, j in arrows:
        matrix[i, j] = 1
    labels = tuple(labels or "abcdefgh"[:p])
    return CausalGraph(labels=labels, sparse_graph=SparseGraph.from_dense(matrix))
