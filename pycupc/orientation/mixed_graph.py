"""A partially directed graph on sorted neighbour sets, with the reason of every arrow.

Sets instead of a p x p matrix: the orientation rules look at neighbours only, so their cost follows the edges, not p^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pycupc.sparse_graph import SparseGraph

#: What set an arrowhead: the name of the rule and the variables it took part in, see `Orientation.trace`.
Reason = tuple[Any, ...]


class MixedGraph:
    """Skeleton whose edges are undirected, directed or bidirected (a conflict).

    Parameters
    ----------
    skeleton : SparseGraph
    adjacent : list of set of int, optional
        The neighbours of each variable, where they are known already.

    Attributes
    ----------
    p : int
        Number of variables.
    skeleton : SparseGraph
        The edges; never changes.
    adjacent : list of set of int
        The neighbours of each variable; never changes.
    undirected, parents, children : list of set of int
        The present state; a bidirected edge is in none of the three.
    arrows : list of (int, int)
        Every arrow ever set, in order; a rule reads on from where it last stopped.
    trace : dict of (int, int) to tuple
        For an arrowhead at b on edge a, b, key (a, b): what set it last.
    """

    def __init__(self, skeleton: SparseGraph, adjacent: list[set[int]] | None = None) -> None:
        p = skeleton.p
        self.p, self.skeleton = p, skeleton
        self.adjacent = neighbour_sets(skeleton) if adjacent is None else adjacent
        self.undirected = [set(s) for s in self.adjacent]
        self.parents: list[set[int]] = [set() for _ in range(p)]
        self.children: list[set[int]] = [set() for _ in range(p)]
        self.arrows: list[tuple[int, int]] = []
        self.trace: dict[tuple[int, int], Reason] = {}

    def direct(self, a: int, b: int, reason: Reason) -> None:
        """Make the edge a -> b, whatever it was."""
        if a not in self.parents[b]:
            self.undirected[a].discard(b)
            self.undirected[b].discard(a)
            self.parents[a].discard(b)
            self.children[b].discard(a)
            self.parents[b].add(a)
            self.children[a].add(b)
            self.arrows.append((a, b))
            self.trace.pop((b, a), None)
        self.trace[a, b] = reason

    def point(self, a: int, b: int, reason: Reason) -> None:
        """Put an arrowhead at b: a - b becomes a -> b, a <- b becomes bidirected, the rest stays."""
        if b in self.undirected[a]:
            self.direct(a, b, reason)
        elif b in self.parents[a]:
            self.parents[a].discard(b)
            self.children[b].discard(a)
            self.trace[a, b] = reason

    def directed(self) -> list[tuple[int, int]]:
        """All arrows a -> b there are now."""
        return [(a, b) for b in range(self.p) for a in self.parents[b]]

    def to_sparse(self) -> SparseGraph:
        """The graph as it is now."""
        skeleton, p = self.skeleton, self.p
        forward, backward = np.full((2, len(skeleton)), 2, dtype=np.int8)  # bidirected, unless in one of the lists
        undirected = np.array([a * p + b for a in range(p) for b in self.undirected[a] if a < b], dtype=np.int64)
        up = np.array([a * p + b for a in range(p) for b in self.children[a] if a < b], dtype=np.int64)
        down = np.array([b * p + a for a in range(p) for b in self.children[a] if b < a], dtype=np.int64)
        for keys, marks in ((undirected, (1, 1)), (up, (1, 0)), (down, (0, 1))):
            at = skeleton.keys.searchsorted(keys)
            forward[at], backward[at] = marks
        return SparseGraph(p, skeleton.low, skeleton.high, forward, backward)


def neighbour_sets(skeleton: SparseGraph) -> list[set[int]]:
    """Neighbours of each variable."""
    start, neighbours = skeleton.neighbour_lists()
    columns, bounds = neighbours.tolist(), start.tolist()
    return [set(columns[bounds[a] : bounds[a + 1]]) for a in range(skeleton.p)]
