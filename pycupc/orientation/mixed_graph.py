"""A partially directed graph on sorted neighbour sets, with the reason of every arrow.

Sets instead of a p x p matrix: the orientation rules look at neighbours only, so their cost follows the edges, not p^2.
"""

from __future__ import annotations

import numpy as np


class MixedGraph:
    """Skeleton whose edges are undirected, directed or bidirected (a conflict).

    Attributes
    ----------
    p : int
        Number of nodes.
    adjacent : list of set of int
        The skeleton; never changes.
    undirected, parents, children : list of set of int
        The present state. A bidirected edge is in none of the three.
    arrows : list of (int, int)
        Every arrow ever set, in order; rules read on from where they last stopped.
    trace : dict of (int, int) to tuple
        For an arrowhead at b on edge a, b, key (a, b): what set it last.
    """

    def __init__(self, p: int, adjacent: list[set[int]]) -> None:
        self.p = p
        self.adjacent = adjacent
        self.undirected = [set(s) for s in adjacent]
        self.parents: list[set[int]] = [set() for _ in range(p)]
        self.children: list[set[int]] = [set() for _ in range(p)]
        self.arrows: list[tuple[int, int]] = []
        self.trace: dict[tuple[int, int], tuple] = {}

    def direct(self, a: int, b: int, reason: tuple) -> None:
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

    def point(self, a: int, b: int, reason: tuple) -> None:
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

    def to_array(self) -> np.ndarray:
        """int8 (p, p): [a, b] = 1 and [b, a] = 0 is a -> b, 1/1 undirected, 2/2 bidirected, 0/0 no edge."""
        out = np.zeros((self.p, self.p), dtype=np.int8)
        flat = out.reshape(-1)
        for ends, value in ((self.adjacent, 2), (self.undirected, 1), (self.children, 1), (self.parents, 0)):
            flat[[a * self.p + b for a in range(self.p) for b in ends[a]]] = value
        return out


def neighbour_sets(skeleton: np.ndarray) -> list[set[int]]:
    """Neighbours of each node of a checked skeleton.

    Parameters
    ----------
    skeleton : bool (p, p)

    Raises
    ------
    TypeError, ValueError
        If it is not a square, symmetric bool array with an empty diagonal.
    """
    skeleton = np.asarray(skeleton)
    if skeleton.ndim != 2 or skeleton.shape[0] != skeleton.shape[1]:
        raise ValueError(f"skeleton must be a square matrix, got shape {skeleton.shape}")
    if skeleton.dtype != np.bool_:
        raise TypeError(f"skeleton must be a bool array, got dtype {skeleton.dtype}")
    p = skeleton.shape[0]
    flat = np.flatnonzero(skeleton)
    x, y = np.divmod(flat, max(p, 1))
    if (x == y).any():
        raise ValueError(f"skeleton must have an empty diagonal, got an edge of node {x[x == y][0]} to itself")
    if not np.array_equal(np.sort(y * p + x), flat):
        odd = np.setdiff1d(flat, y * p + x)[0]
        raise ValueError(
            f"skeleton must be symmetric, got an edge at [{odd // p}, {odd % p}] and none at [{odd % p}, {odd // p}]"
        )
    columns = y.tolist()
    starts = np.searchsorted(x, np.arange(p + 1)).tolist()
    return [set(columns[starts[a] : starts[a + 1]]) for a in range(p)]
