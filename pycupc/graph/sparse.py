"""A mixed graph as a sorted list of edges with a mark at each end.

Engines, orientation, results, exports and pictures share this form: memory and time follow the edges, not p^2. The
marks are the cells of pcalg's ``as(fit@graph, "matrix")``, row to column:

    [i, j] = 1, [j, i] = 0    i --> j    directed
    [i, j] = 1, [j, i] = 1    i --- j    undirected
    [i, j] = 2, [j, i] = 2    i <-> j    bidirected (two colliders, or two rules, disagree)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int32]
Marks = NDArray[np.int8]

DIRECTED, UNDIRECTED, BIDIRECTED = "directed", "undirected", "bidirected"


@dataclass(frozen=True, eq=False)
class SparseGraph:
    """Edges of a graph on the variables 0 to p - 1.

    Attributes
    ----------
    p : int
        Number of variables.
    low, high : int32 (m,)
        The two ends of each edge, ``low < high``; sorted by (low, high).
    forward, backward : int8 (m,)
        The marks: cell [low, high] and cell [high, low] of the matrix described at the head of this module.
    """

    p: int
    low: Ints
    high: Ints
    forward: Marks
    backward: Marks

    @classmethod
    def undirected(cls, p: int, low: ArrayLike, high: ArrayLike) -> SparseGraph:
        """A skeleton: undirected edges, given as ``low < high`` and sorted."""
        low, high = np.asarray(low, dtype=np.int32), np.asarray(high, dtype=np.int32)
        ones = np.ones(len(low), dtype=np.int8)
        return cls(p, low, high, ones, ones)

    @classmethod
    def from_cells(cls, p: int, row: ArrayLike, column: ArrayLike, mark: ArrayLike) -> SparseGraph:
        """From the nonzero cells of the matrix, in any order, each at most once.

        Raises
        ------
        ValueError
            If the two cells of a pair are none of the three forms of an edge, or a cell lies on the diagonal or outside
            the matrix.
        """
        row, column = np.asarray(row, dtype=np.int64), np.asarray(column, dtype=np.int64)
        mark = np.asarray(mark)
        if len(row) and (min(row.min(), column.min()) < 0 or max(row.max(), column.max()) >= p):
            raise ValueError(f"graph must have its edges among the variables 0 to {p - 1}")
        if (row == column).any():
            k = int(row[row == column][0])
            raise ValueError(f"graph must have an empty diagonal, got an edge of variable {k} to itself")
        keys, edge = np.unique(np.minimum(row, column) * p + np.maximum(row, column), return_inverse=True)
        forward, backward = np.zeros(len(keys), dtype=np.int8), np.zeros(len(keys), dtype=np.int8)
        upper = row < column
        forward[edge[upper]], backward[edge[~upper]] = mark[upper], mark[~upper]
        low, high = np.divmod(keys, max(p, 1))
        graph = cls(p, low.astype(np.int32), high.astype(np.int32), forward, backward)
        graph.edge_list()  # raises where the marks are no edge
        return graph

    @classmethod
    def from_dense(cls, matrix: ArrayLike) -> SparseGraph:
        """From a matrix (p, p) of marks, or a symmetric bool matrix for a skeleton.

        Raises
        ------
        ValueError
            If the matrix is not square, has an entry on its diagonal, or a pair of cells that is no edge.
        """
        dense = np.asarray(matrix)
        if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
            raise ValueError(f"graph must be a square matrix, got shape {dense.shape}")
        row, column = np.nonzero(dense)
        if dense.dtype == np.bool_ and not dense[column, row].all():
            k = int(np.argmin(dense[column, row]))
            i, j = int(row[k]), int(column[k])
            raise ValueError(f"a skeleton must be symmetric, got an edge at [{i}, {j}] and none at [{j}, {i}]")
        return cls.from_cells(len(dense), row, column, dense[row, column])

    # -- size and look-up -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of edges."""
        return len(self.low)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseGraph):
            return NotImplemented
        same_ends = np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)
        same_marks = np.array_equal(self.forward, other.forward) and np.array_equal(self.backward, other.backward)
        return self.p == other.p and same_ends and same_marks

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """`pair_keys` of the edges, ascending."""
        return pair_keys(self.low, self.high, self.p)

    def edge_number(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
        """Position in the list of edges of each pair, whichever end comes first; -1 for pairs that are not adjacent."""
        return look_up(self.keys, pair_keys(x, y, self.p))

    def adjacent(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.bool_]:
        """Is there an edge between x and y? Arrays of pairs in, bool out."""
        return self.edge_number(x, y) >= 0

    def degrees(self) -> NDArray[np.int64]:
        """Number of neighbours of each variable, int64 (p,)."""
        ends = np.concatenate((self.low, self.high))
        return np.bincount(ends, minlength=self.p).astype(np.int64, copy=False)

    def neighbour_lists(self) -> tuple[NDArray[np.int64], Ints]:
        """Neighbours of each variable: the neighbours of v are ``neighbours[start[v]:start[v + 1]]``, ascending.

        Returns
        -------
        start : int64 (p + 1,)
        neighbours : int32 (2 m,)
        """
        start = np.concatenate(([0], np.cumsum(self.degrees())))
        keys = np.concatenate((self.keys, self.high.astype(np.int64) * self.p + self.low))
        keys.sort()
        return start, (keys % max(self.p, 1)).astype(np.int32)

    def around(self, centres: ArrayLike, radius: int) -> NDArray[np.int64]:
        """Variables at most `radius` edges, of whatever direction, from one of `centres`; the nearest come first.

        Raises
        ------
        ValueError
            If a centre is no variable of the graph.
        """
        found = np.unique(np.asarray(centres, dtype=np.int64))
        if len(found) and (found[0] < 0 or found[-1] >= self.p):
            raise ValueError(f"centres must be variables 0 to {self.p - 1}, got {found.tolist()[:10]}")
        rings, reached = [found], np.zeros(self.p, dtype=np.bool_)
        reached[found] = True
        start, neighbours = self.neighbour_lists()
        for _ in range(radius):
            ends = [neighbours[start[v] : start[v + 1]] for v in rings[-1].tolist()]
            ring = np.unique(np.concatenate(ends)) if ends else rings[-1]
            rings.append(ring[~reached[ring]].astype(np.int64))
            reached[ring] = True
            if not len(rings[-1]):
                break
        return np.concatenate(rings)

    def subgraph(self, nodes: ArrayLike) -> SparseGraph:
        """The edges among some variables, which are renumbered 0, 1, ... in the order given.

        Raises
        ------
        ValueError
            If a variable is named twice, or there is no such variable.
        """
        nodes = np.asarray(nodes, dtype=np.int64).reshape(-1)
        if len(np.unique(nodes)) != len(nodes) or (len(nodes) and (nodes.min() < 0 or nodes.max() >= self.p)):
            raise ValueError(f"nodes must be different variables 0 to {self.p - 1}, got {nodes.tolist()[:10]}")
        place = np.full(self.p, -1, dtype=np.int32)
        place[nodes] = np.arange(len(nodes))
        inside = np.flatnonzero((place[self.low] >= 0) & (place[self.high] >= 0))
        one, two = place[self.low[inside]], place[self.high[inside]]
        forward, backward = self.forward[inside], self.backward[inside]
        turned = one > two
        low, high = np.minimum(one, two), np.maximum(one, two)
        forward, backward = np.where(turned, backward, forward), np.where(turned, forward, backward)
        order = np.lexsort((high, low))
        return SparseGraph(len(nodes), low[order], high[order], forward[order], backward[order])

    # -- edges by kind ----------------------------------------------------------------------------------------------

    def edge_list(self) -> tuple[Ints, Ints, NDArray[np.str_]]:
        """Edges with their kinds, sorted by (low, high).

        Returns
        -------
        tail, head : int32 (m,)
            ``tail --> head`` where directed, else ``tail < head``.
        kind : str (m,)
            "directed", "undirected" or "bidirected".

        Raises
        ------
        ValueError
            If the marks of an edge are none of the three forms.
        """
        forward, backward = self.forward, self.backward
        kind = np.full(len(self), DIRECTED, dtype="<U10")
        kind[(forward == 1) & (backward == 1)] = UNDIRECTED
        kind[(forward == 2) & (backward == 2)] = BIDIRECTED
        wrong = (kind == DIRECTED) & ((np.minimum(forward, backward) != 0) | (np.maximum(forward, backward) != 1))
        if wrong.any():
            k = int(np.argmax(wrong))
            i, j = int(self.low[k]), int(self.high[k])
            raise ValueError(
                f"graph[{i}, {j}] = {int(forward[k])} with graph[{j}, {i}] = {int(backward[k])} is no edge: "
                "expected 1 and 0, 0 and 1, 1 and 1, or 2 and 2"
            )
        turned = (kind == DIRECTED) & (backward == 1)
        return np.where(turned, self.high, self.low), np.where(turned, self.low, self.high), kind

    def counts(self) -> tuple[int, int, int]:
        """Number of edges that are directed, undirected, bidirected."""
        undirected = int(((self.forward == 1) & (self.backward == 1)).sum())
        bidirected = int((self.forward == 2).sum())
        return len(self) - undirected - bidirected, undirected, bidirected

    def cycle(self) -> tuple[int, ...] | None:
        """The variables of a directed cycle in the order of its arrows, from the lowest on; None if there is none.

        Of the cycles through its first variable it is a shortest one.
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order, connected_components

        tail, head, kind = self.edge_list()
        tail, head = tail[kind == DIRECTED], head[kind == DIRECTED]
        arrows = csr_array((np.ones(len(tail)), (tail, head)), shape=(self.p, self.p))
        _, component = connected_components(arrows, connection="strong")
        inside = component[tail] == component[head]
        if not inside.any():
            return None
        first = min(tail[inside].min(), head[inside].min())
        order, before = breadth_first_order(arrows, first)
        found = [int(order[np.isin(order, tail[head == first])][0])]
        while found[0] != first:
            found.insert(0, int(before[found[0]]))
        return tuple(found)

    # -- as a matrix ------------------------------------------------------------------------------------------------

    def cells(self) -> tuple[Ints, Ints, Marks]:
        """The nonzero cells of the matrix, in row order: row, column, mark."""
        row, column = np.concatenate((self.low, self.high)), np.concatenate((self.high, self.low))
        mark = np.concatenate((self.forward, self.backward))
        there = np.flatnonzero(mark)
        order = there[np.lexsort((column[there], row[there]))]
        return row[order], column[order], mark[order]

    def dense(self) -> NDArray[np.int8]:
        """The matrix of marks, int8 (p, p)."""
        out = np.zeros((self.p, self.p), dtype=np.int8)
        out[self.low, self.high], out[self.high, self.low] = self.forward, self.backward
        return out

    def skeleton(self) -> NDArray[np.bool_]:
        """Which pairs are adjacent, bool (p, p)."""
        out = np.zeros((self.p, self.p), dtype=np.bool_)
        out[self.low, self.high] = out[self.high, self.low] = True
        return out


def pair_keys(x: ArrayLike, y: ArrayLike, p: int) -> NDArray[np.int64]:
    """One number for each unordered pair of variables: ``low * p + high``."""
    x, y = np.asarray(x, dtype=np.int64), np.asarray(y, dtype=np.int64)
    keys: NDArray[np.int64] = np.minimum(x, y) * p + np.maximum(x, y)
    return keys


def look_up(ascending: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each number occurs in a sorted array; -1 for those that do not. Fast if that array is short."""
    if not len(ascending):
        return np.full(wanted.shape, -1, dtype=np.int64)
    at = np.minimum(ascending.searchsorted(wanted), len(ascending) - 1)
    return np.where(ascending[at] == wanted, at, -1)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """`array`, which can no longer be written to: for views that are computed once and handed out again."""
    array.flags.writeable = False
    return array
