"""The entries of an oriented graph and the numbers of its triples."""

import contextlib

import numpy as np
import pytest

from pycupc.graph.sparse import SparseGraph
from pycupc.orientation import mixed_graph
from pycupc.system.jit import always_compiled, plain_if_small


@pytest.mark.parametrize("compiled", [False, True])
def test_triples_have_the_numbers_of_their_entries_and_those_without_edges_none(compiled):
    rng = np.random.default_rng(0)
    low, high = np.nonzero(np.triu(rng.random((12, 12)) < 0.4, 1))
    graph = mixed_graph.undirected(SparseGraph.undirected(12, low.astype(np.int32), high.astype(np.int32)))
    entries = [(v, e) for v in range(12) for e in range(graph.start[v], graph.start[v + 1])]
    entry_of = {(v, int(graph.entry[mixed_graph.NEIGHBOUR, e])): e for v, e in entries}
    triples = np.array([(a, b, c) for a in range(12) for b in range(12) for c in range(12) if a != c])
    expected = [
        mixed_graph.triple_number(graph.entry, entry_of[b, a], entry_of[b, c])
        for a, b, c in triples.tolist()
        if (b, a) in entry_of and (b, c) in entry_of
    ]
    assert len(set(expected)) == len(graph.triple)
    with always_compiled() if compiled else contextlib.nullcontext(), plain_if_small(1, "numbers of triples"):
        numbers = mixed_graph.triple_numbers(graph, triples)
        assert numbers.tolist() == expected
        assert mixed_graph.triple_numbers(graph, triples[:0]).tolist() == []
