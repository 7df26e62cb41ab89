"""The graph that the rules for PAGs change: the lists of `MixedGraph`, with a mark at the owner of each entry.

In this room the row KIND of the lists holds the mark at the owner, `NONE` where the edge has been removed, so that the
mark at the neighbour is the one of the mirror entry. RULE, FIRST and SECOND say what set the mark: the number of the
rule, and the variables besides the two ends. Entries are ordered by owner, then by neighbour, which is the order of
pcalg's scans: ``which(M, arr.ind = TRUE)`` runs down the columns of amat.pag, where cell [i, j] is the mark at j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import CIRCLE, SparseGraph
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
    undirected,
)
from pycupc.orientation.trace import Reason
from pycupc.system.compiled import part

#: The mark of an edge that has been removed.
NONE = 0
#: What set a mark, beside the rules 1 to 10.
COLLIDER, JCI, KNOWN = 11, 12, 13


def all_circles(skeleton: SparseGraph, degrees: Indices) -> MixedGraph:
    """A skeleton with circles at all ends."""
    graph = undirected(skeleton, degrees)
    graph.entry[KIND] = CIRCLE
    return graph


def to_sparse(graph: MixedGraph, p: int) -> SparseGraph:
    """The edges left, with their marks."""
    entry = graph.entry
    owner, neighbour = owners(entry), entry[NEIGHBOUR]
    at = np.flatnonzero((owner < neighbour) & (entry[KIND] != NONE))
    low, high = owner[at].astype(np.int32), neighbour[at].astype(np.int32)
    low_mark, high_mark = (entry[KIND, e].astype(np.int8) for e in (at, entry[MIRROR, at]))
    return SparseGraph(p, low, high, low_mark, high_mark)


def reasons(graph: MixedGraph, paths: dict[int, Reason]) -> dict[tuple[int, int], Reason]:
    """What set each mark that is no circle, by (neighbour, owner); `paths` are the reasons of entries by a path."""
    entry = graph.entry
    at = np.flatnonzero((entry[KIND] != NONE) & (entry[KIND] != CIRCLE) & (entry[RULE] > 0))
    found: dict[tuple[int, int], Reason] = {}
    rows = (at, entry[NEIGHBOUR, at], owners(entry)[at], entry[RULE, at], entry[FIRST, at], entry[SECOND, at])
    for e, a, b, rule, first, second in zip(*(row.tolist() for row in rows), strict=True):
        found[a, b] = paths[e] if e in paths else _reason(a, b, rule, first, second)
    return found


def _reason(a: int, b: int, rule: int, first: int, second: int) -> Reason:
    """The reason of the mark at b on a - b."""
    if rule == COLLIDER:
        return "collider", min(a, first), b, max(a, first)
    if rule == JCI:
        return "JCI", a, b
    if rule == KNOWN:
        return "tier", a, b
    if rule == 1:
        return ("R1", first, a, b) if second == 0 else ("R1", first, b, a)
    if rule == 2:
        return "R2", a, first, b
    if rule == 3:
        return "R3", first, b, second, a
    if rule in (6, 7):
        return f"R{rule}", first, b, a
    return ("R8", b, first, a) if rule == 8 else ("R10", b, first, a, second)


@part
def edge(start, entry, near, v, w):
    """The entry of w in the list of v; -1 if they are not adjacent, or not any more."""
    if maybe_adjacent(near, v, w) == 0:
        return -1
    e = find(start, entry, v, w)
    if e >= 0 and entry[KIND, e] == NONE:
        return -1
    return e


@part
def is_ambiguous(entry, triple, i, j):
    """Whether the triple of the neighbours in entries i and j of one list is ambiguous."""
    return triple[triple_number(entry, i, j)] & AMBIGUOUS != 0


@part
def put(entry, e, mark, rule, first, second):
    """Set the mark at the owner of entry e."""
    entry[KIND, e] = mark
    entry[RULE, e] = rule
    entry[FIRST, e] = first
    entry[SECOND, e] = second


def scan(graph: MixedGraph, own: tuple[int, ...], other: tuple[int, ...]) -> NDArray[np.int64]:
    """The entries with one of the marks `own` at the owner and one of `other` at the neighbour, in pcalg's order."""
    entry = graph.entry
    there = np.isin(entry[KIND], own) & np.isin(entry[KIND, entry[MIRROR]], other)
    return np.flatnonzero(there)
