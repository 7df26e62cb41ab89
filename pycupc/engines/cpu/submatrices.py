"""Where the tests of a level read their correlations: in a matrix, or in matrices of single rows, from the data.

A test of row x reads the correlations of x and its neighbours. So the tests of some rows are a problem of their own, a
`Part`: a matrix, in which each of these rows has a block for x and its neighbours, and neighbour lists in the numbers
of that matrix. Compiled code takes it as it takes the problem as a whole, where the matrix of all variables is known.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu.graph import Graph, Indices
from pycupc.engines.cpu.tuning import EXTRACT_WIDTH, HUB_PART, LEAST_WIDTH, PART_ENTRIES
from pycupc.engines.cpu.walk_arrays import AT, DEGREE, ROW, Part, X
from pycupc.engines.protocol import Floats, Ints
from pycupc.independence.gaussian.centred_columns import Columns, correlate_group, group_space
from pycupc.independence.gaussian.partial_correlation import canonical_space, partial_correlation
from pycupc.system.jit import compiled, frozen
from pycupc.system.machine import run_in_threads
from pycupc.system.numba_names import uint64


def of_width(widths: Indices) -> Iterator[slice]:
    """Consecutive parts with a sum of widths of up to `EXTRACT_WIDTH`, or of one element."""
    ends, first, before = np.cumsum(widths), 0, 0
    while first < len(ends):
        end = max(first + 1, int(ends.searchsorted(before + EXTRACT_WIDTH, side="right")))
        yield slice(first, end)
        first, before = end, int(ends[end - 1])


def by_width(widths: Indices) -> Iterator[Indices]:
    """The positions of elements of similar width, the wide ones first, each time in order."""
    kind = np.ceil(np.log2(np.maximum(widths, LEAST_WIDTH)))
    return (np.flatnonzero(kind == k) for k in np.unique(kind)[::-1])


class MatrixSource:
    """The matrix of the correlations of p variables: the one submatrix is the whole graph."""

    def __init__(self, C: Floats) -> None:
        self.C, self.p = frozen(C), len(C)

    def __reduce__(self) -> tuple[type[MatrixSource], tuple[Floats]]:
        return MatrixSource, (self.C,)  # a C that may be written is of another type, for which all is compiled anew

    def among(self, members: NDArray[np.integer]) -> Floats:
        """The correlations of k variables with each other, float64 (k, k)."""
        some: Floats = self.C[np.ix_(members, members)]
        return some

    def tests(self, nodes: Indices) -> tuple[Floats, Indices]:
        """A matrix with the correlations of the variables of m tests, and their positions in it, int64 (m, k)."""
        return self.C, nodes

    def parts(self, graph: Graph, items: Indices) -> Iterable[Part]:
        """Parts of items, which threads do; here all threads do all parts, each with rows of similar size."""
        return [
            Part(self.C, graph.neighbours, items[some], np.zeros(1, dtype=np.int64), int(items[some, DEGREE].max()))
            for some in by_width(items[:, DEGREE])
        ]


class ColumnSource:
    """The columns of a table of p variables: the matrix of a row is computed when its tests are made."""

    def __init__(self, columns: Columns) -> None:
        self.columns, self.p = columns, len(columns)

    def among(self, members: NDArray[np.integer]) -> Floats:
        return self.columns.among(members)

    def tests(self, nodes: Indices) -> tuple[Floats, Indices]:
        C, own = np.empty((nodes.size, nodes.size)), np.arange(nodes.size).reshape(nodes.shape)
        self.columns.put_groups(nodes.ravel(), np.append(own[:, 0], nodes.size), C)
        return frozen(C), own

    def parts(self, graph: Graph, items: Indices) -> Iterable[Part]:
        """Parts of items, which threads do; here a thread makes the matrix of its part."""
        rows, first, at = np.unique(items[:, ROW], return_index=True, return_inverse=True)
        order = np.argsort(first[at], kind="stable")  # all items of a row together
        rows, items = rows[np.argsort(first)], items[order]
        ends = np.searchsorted(first[at][order], np.sort(first), side="right")
        return _Drawn(
            partial(
                self._part, graph, rows[some], items[(ends[some.start - 1] if some.start else 0) : ends[some.stop - 1]]
            )
            for some in of_width(graph.degrees[rows] + 1)
        )

    def _part(self, graph: Graph, rows: Indices, items: Indices) -> Part:
        """A part of these items, whose rows are given in the same order."""
        d = graph.degrees[rows]
        widest, width = int(d.max()), int(d.sum()) + len(rows)
        C, neighbours = np.empty((width, width)), np.empty(width - len(rows), dtype=np.int32)
        members, (space, sums) = np.empty(width, dtype=np.int64), group_space(widest + 1)
        lists = graph.offsets, graph.neighbours, rows, items
        _make_part(*self.columns.frozen(), *lists, members, neighbours, space, sums, C)
        return Part(frozen(C), neighbours, items, np.zeros(1, dtype=np.int64), widest)

    @staticmethod
    def parts_of_hub(graph: Graph, x: int) -> Iterator[Indices]:
        """Entries of row x, a hub: any two of them are together in one part."""
        starts = range(int(graph.offsets[x]), int(graph.offsets[x + 1]), HUB_PART)
        parts = [np.arange(v, min(v + HUB_PART, starts.stop)) for v in starts]
        return map(np.concatenate, combinations(parts, 2))


@compiled
def _make_part(centred, squares, offsets, listed, rows, items, members, neighbours, space, sums, C):  # noqa: PLR0913
    """Fill C and the lists of a part, row after row a block, the neighbours and, last, the row; enter it in the items.

    `listed`: the neighbours of all rows. Cells of C for variables of different rows stay as they are.
    """
    at, n, q = 0, 0, 0
    for x in rows:
        start, d = offsets[x], offsets[x + 1] - offsets[x]
        for k in range(d):
            members[at + k], neighbours[n + k] = listed[start + k], at + k
        members[at + d] = x
        correlate_group(centred, squares, members, uint64(at), uint64(d + 1), space, sums, C)
        while q < len(items) and items[q, ROW] == x:
            items[q, X], items[q, AT] = at + d, n
            q += 1
        at += d + 1
        n += d


class _Drawn:
    """Parts, each made by the thread that takes it; in the end threads join parts whose items are not all taken."""

    def __init__(self, parts: Iterator[Callable[[], Part]]) -> None:
        self._parts, self._changed = parts, threading.Condition()
        self._open: list[Part] = []
        self._in_the_making = 0

    def __iter__(self) -> Iterator[Part]:
        while (part := self._next()) is not None:
            yield part

    def _next(self) -> Part | None:
        with self._changed:
            while (make := next(self._parts, None)) is None:
                self._open = [part for part in self._open if part.following[0] < len(part.items)]
                if self._open:
                    return self._open[0]
                if not self._in_the_making:
                    return None
                self._changed.wait()
            self._in_the_making += 1
            self._open = [part for part in self._open if part.following[0] < len(part.items)]
        try:
            part = make()
            with self._changed:
                self._open.append(part)
            return part
        finally:
            with self._changed:
                self._in_the_making -= 1
                self._changed.notify_all()


#: Correlations for the tests of a level.
CorrelationSource = MatrixSource | ColumnSource


def canonical_of(source: CorrelationSource, x: Ints, y: Ints, S: Ints, n_threads: int) -> Floats:
    """The canonical r of tests of x[i] and y[i] given S[i], ascending and of two members or more, float64 (m,)."""
    nodes, r = np.column_stack([S, x, y]).astype(np.int64), np.empty(len(x))
    step = PART_ENTRIES if isinstance(source, MatrixSource) else EXTRACT_WIDTH
    step = max(1, step // nodes.shape[1])

    def fill(first: int) -> None:
        part = slice(first, first + step)
        _fill(*source.tests(nodes[part]), canonical_space(S.shape[1]), r[part])

    run_in_threads(fill, range(0, len(r), step), n_threads)
    return r


@compiled
def _fill(C, nodes, space, r):
    m, width = nodes.shape
    for i in range(m):
        r[i] = partial_correlation(C, nodes[i], width - 2, space)
