"""The graph that the rules for PAGs change: the lists of `MixedGraph`, with a mark at the owner of each entry.

In this room the row KIND of the lists holds the mark at the owner, `NONE` where the edge has been removed, so that the
mark at the neighbour is in the mirror entry. RULE, FIRST and SECOND say what set the mark: the number of the
rule, and the variables besides the two ends. Entries are ordered by owner, then by neighbour, which is the order of
pcalg's scans: ``which(M, arr.ind = TRUE)`` runs down the columns of amat.pag, where cell [i, j] is the mark at j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.mixed_graph import (
    AMBIGUOUS,
    FIRST,
    KIND,
    MIRROR,
    NEIGHBOUR,
    RULE,
    SECOND,
    Indices,
    MixedGraph,
    find,
    maybe_adjacent,
    owners,
    triple_number,
)
from pycupc.system.jit import jit_part

#: The mark of an edge that has been removed.
NONE = 0
#: The number of rule 1 where it sets the tail of b --> c.
TAIL_OF_RULE_1 = 17


def to_sparse(graph: MixedGraph, p: int) -> SparseGraph:
    """The edges left, with their marks."""
    entry = graph.entry
    owner, neighbour = owners(entry), entry[NEIGHBOUR]
    at = np.flatnonzero((owner < neighbour) & (entry[KIND] != NONE))
    low, high = owner[at].astype(np.int32), neighbour[at].astype(np.int32)
    low_mark, high_mark = (entry[KIND, e].astype(np.int8) for e in (at, entry[MIRROR, at]))
    return SparseGraph(p, low, high, low_mark, high_mark)


@jit_part
def edge(start, entry, near, v, w):
    """The entry of w in the list of v; -1 if they are not adjacent, or not any more."""
    if maybe_adjacent(near, v, w) == 0:
        return -1
    e = find(start, entry, v, w)
    if e >= 0 and entry[KIND, e] == NONE:
        return -1
    return e


@jit_part
def is_ambiguous(entry, triple, i, j):
    """Whether the triple of the neighbours in entries i and j of one list is ambiguous."""
    return triple[triple_number(entry, i, j)] & AMBIGUOUS != 0


@jit_part
def put(entry, e, mark, rule, first, second):
    """Set the mark at the owner of entry e."""
    entry[KIND, e] = mark
    entry[RULE, e] = rule
    entry[FIRST, e] = first
    entry[SECOND, e] = second


def scan(graph: MixedGraph, wanted: NDArray[np.bool_]) -> Indices:
    """The entries, in pcalg's order, with marks at owner and neighbour that are `wanted`, bool (4, 4)."""
    kind = graph.entry[KIND]
    return np.flatnonzero(wanted.take(4 * kind + kind.take(graph.entry[MIRROR])))  # quicker than two indices
