"""A mixed graph as a sorted list of edges with a mark at each end.

Engines, orientation, results, exports and pictures share this form: memory and time follow the edges, not p^2. A mark
is a circle, an arrowhead or a tail, and any two of them make an edge:

    a --> b    directed           a <-> b    bidirected            a o-o b    nondirected
    a --- b    undirected         a o-> b    partially directed    a o-- b    partially undirected

Two of pcalg's matrices hold such a graph:

    amat.pag      of any graph: [i, j] is the mark at j; 0 without an edge, 1 circle, 2 arrowhead, 3 tail
    graph matrix  of a graph without circles, such as a CPDAG, row to column: [i, j] = 1 and [j, i] = 0 is i --> j, both
                  1 is i --- j, both 2 is i <-> j; R's ``as(fit@graph, "matrix")``, the transpose of amat.cpdag
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.lists import Lists, starts
from pycupc.system.localised_message import Message, Variable
from pycupc.system.machine import check_room

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Ints = NDArray[np.int32]
Marks = NDArray[np.int8]
#: The ends of pairs low < high, and their cells [low, high] and [high, low] of a matrix.
Cells = tuple[Ints, Ints, NDArray[Any], NDArray[Any]]

#: The marks at an end of an edge, with their codes in pcalg's amat.pag.
CIRCLE, ARROW, TAIL = 1, 2, 3

DIRECTED, UNDIRECTED, BIDIRECTED = "directed", "undirected", "bidirected"

#: The marks at both ends of each kind of edge, in the order in which its ends are listed (Zhang 2008, J. Mach. Learn.
#: Res. 9). A graph without circles has the first three kinds only.
KINDS = {
    DIRECTED: (TAIL, ARROW),
    UNDIRECTED: (TAIL, TAIL),
    BIDIRECTED: (ARROW, ARROW),
    "partially directed": (CIRCLE, ARROW),
    "nondirected": (CIRCLE, CIRCLE),
    "partially undirected": (CIRCLE, TAIL),
}

#: The position in `KINDS` of an edge with these marks at its two ends, and whether it is listed from the second one.
_NUMBER, _TURNED = np.zeros((4, 4), dtype=np.int8), np.zeros((4, 4), dtype=np.bool_)
for _number, (_from, _to) in enumerate(KINDS.values()):
    _NUMBER[_from, _to] = _NUMBER[_to, _from] = _number
    _TURNED[_to, _from] = _from != _to


def symbol(first: int, second: int) -> str:
    """An edge between its two ends, as text: ``o->`` has a circle at the first and an arrowhead at the second."""
    return f"{'?o<-'[first]}-{'?o>-'[second]}"


@dataclass(frozen=True, eq=False)
class SparseGraph:
    """Edges of a graph on the variables 0 to p - 1, sorted by (low, high).

    `low` and `high`, int32 (m,), are their two ends, ``low < high``; `low_mark` and `high_mark`, int8 (m,), are the
    marks at these ends: `CIRCLE`, `ARROW` or `TAIL`.
    """

    p: int
    low: Ints
    high: Ints
    low_mark: Marks
    high_mark: Marks

    @classmethod
    def undirected(cls, p: int, low: ArrayLike, high: ArrayLike) -> SparseGraph:
        """A skeleton: undirected edges, given as ``low < high`` and sorted."""
        low, high = np.asarray(low, dtype=np.int32), np.asarray(high, dtype=np.int32)
        tails = np.full(len(low), TAIL, dtype=np.int8)
        return cls(p, low, high, tails, tails)

    @classmethod
    def from_cells(cls, p: int, row: ArrayLike, column: ArrayLike, cell: ArrayLike) -> SparseGraph:
        """From the nonzero cells of the graph matrix, in any order, each at most once.

        ValueError if a pair of cells is none of the three forms of an edge, or a cell is on the diagonal or outside.
        """
        low, high, forward, backward = _pairs_of_cells(p, row, column, cell)
        most, least = np.maximum(forward, backward), np.minimum(forward, backward)
        valid = (most == 1) & np.isin(least, (0, 1)) | (most == 2) & (least == 2)
        _check((low, high, forward, backward), valid, "1 and 0, 0 and 1, 1 and 1, or 2 and 2")
        marks = (np.where(cells == 1, TAIL, ARROW).astype(np.int8) for cells in (forward, backward))
        return cls(p, low, high, *marks)

    @classmethod
    def from_dense(cls, matrix: ArrayLike) -> SparseGraph:
        """From a graph matrix (p, p), or a symmetric bool matrix for a skeleton.

        ValueError if the matrix is not square, has an entry on its diagonal, or a pair of cells that is no edge.
        """
        dense = _square(matrix)
        row, column = np.nonzero(dense)
        if dense.dtype == np.bool_ and not dense[column, row].all():
            k = int(np.argmin(dense[column, row]))
            i, j = int(row[k]), int(column[k])
            raise ValueError(f"a skeleton must be symmetric, got an edge at [{i}, {j}] and none at [{j}, {i}]")
        return cls.from_cells(len(dense), row, column, dense[row, column])

    @classmethod
    def from_amat_pag(cls, matrix: ArrayLike) -> SparseGraph:
        """From pcalg's amat.pag (p, p): [i, j] is the mark at j; 0 without an edge, 1 circle, 2 arrowhead, 3 tail.

        ValueError if the matrix is not square, has an entry on its diagonal, another number, or a mark at one end only.
        """
        dense = _square(matrix)
        row, column = np.nonzero(dense)
        low, high, forward, backward = _pairs_of_cells(len(dense), row, column, dense[row, column])
        valid = np.isin(forward, (CIRCLE, ARROW, TAIL)) & np.isin(backward, (CIRCLE, ARROW, TAIL))
        _check((low, high, forward, backward), valid, "1 (circle), 2 (arrowhead) or 3 (tail) in both")
        return cls(len(dense), low, high, backward.astype(np.int8), forward.astype(np.int8))

    # -- size and look-up -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.low)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseGraph):
            return NotImplemented
        same_ends = np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)
        same_marks = np.array_equal(self.low_mark, other.low_mark) and np.array_equal(self.high_mark, other.high_mark)
        return self.p == other.p and same_ends and same_marks

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

    def neighbour_lists(self) -> Lists:
        """The neighbours of each variable, ascending, int32."""
        keys = np.concatenate((self.keys, self.high.astype(np.int64) * self.p + self.low))
        keys.sort()
        return Lists(starts(self.degrees()), (keys % max(self.p, 1)).astype(np.int32))

    def adjacency(self) -> csr_array:
        """The matrix (p, p) with a 1 for each pair of neighbours."""
        from scipy.sparse import csr_array

        start, neighbours = self.neighbour_lists()
        return csr_array((np.ones(len(neighbours)), neighbours, start), shape=(self.p, self.p))

    def around(self, centres: ArrayLike, radius: int) -> NDArray[np.int64]:
        """Variables at most `radius` edges from one of `centres`, the nearest first; ValueError if there is none."""
        from scipy.sparse.csgraph import dijkstra

        found = np.unique(np.asarray(centres, dtype=np.int64))
        if len(found) and (found[0] < 0 or found[-1] >= self.p):
            raise ValueError(f"centres must be variables 0 to {self.p - 1}, got {found.tolist()[:10]}")
        distance = dijkstra(self.adjacency(), unweighted=True, indices=found, limit=radius, min_only=True)
        near = np.flatnonzero(np.isfinite(distance))
        return near[np.argsort(distance[near], kind="stable")]

    def subgraph(self, nodes: ArrayLike) -> SparseGraph:
        """The edges among `nodes`, renumbered 0, 1, ... in this order; ValueError unless they are different."""
        nodes = np.asarray(nodes, dtype=np.int64).reshape(-1)
        if len(np.unique(nodes)) != len(nodes) or (len(nodes) and (nodes.min() < 0 or nodes.max() >= self.p)):
            raise ValueError(f"nodes must be different variables 0 to {self.p - 1}, got {nodes.tolist()[:10]}")
        place = np.full(self.p, -1, dtype=np.int32)
        place[nodes] = np.arange(len(nodes))
        part = self.with_edges(np.flatnonzero((place[self.low] >= 0) & (place[self.high] >= 0)))
        one, two, turned = place[part.low], place[part.high], place[part.low] > place[part.high]
        low, high = np.minimum(one, two), np.maximum(one, two)
        marks = np.where(turned, (part.high_mark, part.low_mark), (part.low_mark, part.high_mark))
        order = np.lexsort((high, low))
        return SparseGraph(len(nodes), low[order], high[order], *marks[:, order])

    def with_edges(self, edges: NDArray[np.int64]) -> SparseGraph:
        """All variables, and the edges of these numbers, which ascend."""
        return SparseGraph(self.p, self.low[edges], self.high[edges], self.low_mark[edges], self.high_mark[edges])

    # -- edges by kind ----------------------------------------------------------------------------------------------

    def kind_numbers(self) -> NDArray[np.int8]:
        """The kind of each edge as its position in `KINDS`, int8 (m,)."""
        return _NUMBER[self.low_mark, self.high_mark]

    def edge_list(self) -> tuple[Ints, Ints, NDArray[np.str_]]:
        """Edges, sorted by (low, high): tail and head, int32 (m,), and the kind, one of `KINDS`, str (m,).

        Tail and head are in the order of the marks in `KINDS`: ``tail --> head``, ``tail o-> head``, ``tail o-- head``;
        ``tail < head`` where both ends have the same mark.
        """
        number, turned = self.kind_numbers(), _TURNED[self.low_mark, self.high_mark]
        names = np.array([*KINDS][: max(3, int(number.max(initial=0)) + 1)])
        return np.where(turned, self.high, self.low), np.where(turned, self.low, self.high), names[number]

    def counts(self) -> dict[str, int]:
        """Number of edges of each kind: directed, undirected, bidirected, and of the kinds with circles that occur."""
        found = np.bincount(self.kind_numbers(), minlength=len(KINDS)).tolist()
        return {kind: n for i, (kind, n) in enumerate(zip(KINDS, found, strict=True)) if i < 3 or n}

    # -- as a matrix ------------------------------------------------------------------------------------------------

    def _forth_and_back(self) -> tuple[Marks, Marks]:
        """Cells [low, high] and [high, low] of the graph matrix, which raises ValueError for a circle."""
        circle = (self.low_mark == CIRCLE) | (self.high_mark == CIRCLE)
        if circle.any():
            k = int(np.argmax(circle))
            edge = f"{int(self.low[k])} {symbol(self.low_mark[k], self.high_mark[k])} {int(self.high[k])}"
            raise ValueError(
                f"the matrix of a CPDAG has no circles, which {int(circle.sum()):,} edges of this graph have, first "
                f"{edge}; amat_pag() gives pcalg's matrix for them"
            )
        both = (self.low_mark == ARROW) & (self.high_mark == ARROW)
        forward, backward = (np.where(mark == TAIL, 1, 2 * both) for mark in (self.low_mark, self.high_mark))
        return forward.astype(np.int8), backward.astype(np.int8)

    def cells(self) -> tuple[Ints, Ints, Marks]:
        """The nonzero cells of the graph matrix, in row order: row, column, cell. ValueError if there is a circle."""
        row, column = np.concatenate((self.low, self.high)), np.concatenate((self.high, self.low))
        cell = np.concatenate(self._forth_and_back())
        there = np.flatnonzero(cell)
        order = there[np.lexsort((column[there], row[there]))]
        return row[order], column[order], cell[order]

    def dense(self) -> NDArray[np.int8]:
        """The graph matrix, int8 (p, p). ValueError if there is a circle."""
        return self._filled(*self._forth_and_back())

    def amat_pag(self) -> NDArray[np.int8]:
        """pcalg's amat.pag, int8 (p, p): [i, j] is the mark at j; 0 without an edge, 1 circle, 2 arrowhead, 3 tail."""
        return self._filled(self.high_mark, self.low_mark)

    def _filled(self, forward: Marks | bool, backward: Marks | bool) -> NDArray[Any]:
        """A matrix with these cells [low, high] and [high, low], and 0 elsewhere."""
        check_room(self.p, 1, "the graph as a matrix")
        out = np.zeros((self.p, self.p), dtype=np.asarray(forward).dtype)
        out[self.low, self.high], out[self.high, self.low] = forward, backward
        return out

    def skeleton(self) -> NDArray[np.bool_]:
        """Which pairs are adjacent, bool (p, p)."""
        return self._filled(True, True)


def _square(matrix: ArrayLike) -> NDArray[Any]:
    dense = np.asarray(matrix)
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        given = f"shape {dense.shape}" if dense.ndim else type(matrix).__name__
        raise ValueError(f"graph must be a square matrix, got {given}")
    return dense


def _pairs_of_cells(p: int, row: ArrayLike, column: ArrayLike, cell: ArrayLike) -> Cells:
    """The pairs that have cells, in order; a cell that is not given is 0."""
    row, column, cell = np.asarray(row, dtype=np.int64), np.asarray(column, dtype=np.int64), np.asarray(cell)
    if len(row) and (min(row.min(), column.min()) < 0 or max(row.max(), column.max()) >= p):
        raise ValueError(f"graph must have its edges among the variables 0 to {p - 1}")
    if (row == column).any():
        k = Variable(int(row[row == column][0]))
        raise ValueError(Message("graph must have an empty diagonal, got an edge of variable {k} to itself", k=k))
    keys, edge = np.unique(pair_keys(row, column, p), return_inverse=True)
    forward, backward = np.zeros((2, len(keys)), dtype=cell.dtype)
    upper = row < column
    forward[edge[upper]], backward[edge[~upper]] = cell[upper], cell[~upper]
    low, high = np.divmod(keys, max(p, 1))
    return low.astype(np.int32), high.astype(np.int32), forward, backward


def _check(pairs: Cells, valid: NDArray[np.bool_], form: str) -> None:
    """Raise ValueError for the first pair whose cells are not `valid`."""
    if not valid.all():
        k = int(np.argmin(valid))
        i, j, forward, backward = (values[k] for values in pairs)
        raise ValueError(
            f"graph[{i}, {j}] = {forward:g} with graph[{j}, {i}] = {backward:g} is no edge: expected {form}"
        )


def pair_keys(x: ArrayLike, y: ArrayLike, p: int) -> NDArray[np.int64]:
    """One number for each unordered pair of variables: ``low * p + high``."""
    x, y = np.asarray(x, dtype=np.int64), np.asarray(y, dtype=np.int64)
    keys: NDArray[np.int64] = np.minimum(x, y) * p + np.maximum(x, y)
    return keys


def look_up(ascending: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each number in a sorted array, or -1 if it is not there. Fast if that array is short."""
    if not len(ascending):
        return np.full(wanted.shape, -1, dtype=np.int64)
    at = np.minimum(ascending.searchsorted(wanted), len(ascending) - 1)
    return np.where(ascending[at] == wanted, at, -1)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """`array`, which can no longer be written to: for views that are computed once and handed out again."""
    array.flags.writeable = False
    return array
