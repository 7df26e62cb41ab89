"""The tests of rfci that remove edges: those of unshielded triples, and those of discriminating paths.

Both need a minimal separating set of a pair that is not adjacent, and remove edges that a subset of that set separates
(docs/LATENT.md, section 5). A removal never changes the set of another pair, so the tests of all triples are made at
once, and only those that find an independence are looked at one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.questions import Answers, Lists, Questions
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import Ints, SparseGraph, look_up, pair_keys
from pycupc.orientation.mixed_graph import NEIGHBOUR, MixedGraph, find, maybe_adjacent, plain, undirected
from pycupc.system.compiled import announced, compiled

Indices = NDArray[np.int64]
Pair = tuple[int, int]
Triple = tuple[int, int, int]
#: The common neighbours of x and y, all or some.
CommonNeighbours = Callable[[int, int], Iterable[int]]
#: So many triples have their sets looked up one by one, rather than all sets be put into one list.
FEW_TRIPLES = 100


class Removed(NamedTuple):
    """An edge that a test of rfci removed: the pair in the order of the test, the set, r (or p), and p."""

    x: int
    y: int
    S: tuple[int, ...]
    value: float
    p: float


def unshielded(graph: MixedGraph) -> Ints:
    """The unshielded triples x - y - z, x < z, sorted by (y, x, z): pcalg's order of scan, int32 (k, 3)."""
    degree = np.diff(graph.start)
    out = np.empty((int((degree * (degree - 1) // 2).sum()), 3), dtype=np.int32)
    return out[: _write_triples(*graph[:2], graph.near, out)]


@compiled
def _write_triples(start, entry, near, out):
    n = 0
    for y in range(len(start) - 1):
        for i in range(start[y], start[y + 1]):
            x = entry[NEIGHBOUR, i]
            for j in range(i + 1, start[y + 1]):
                z = entry[NEIGHBOUR, j]
                if maybe_adjacent(near, x, z) == 0 or find(start, entry, x, z) < 0:
                    out[n, 0] = x
                    out[n, 1] = y
                    out[n, 2] = z
                    n += 1
    return n


@compiled
def _find_cells(triples, row, column, at):
    """Write the positions of the cells (x, z) and (z, x) of each triple, -1 for none; row x begins at ``row[x]``."""
    for t in range(len(triples)):
        for turn in range(2):
            x, z = triples[t, 2 * turn], triples[t, 2 - 2 * turn]
            low, high = row[x], row[x + 1]
            while low < high:
                middle = (low + high) >> 1
                if column[middle] < z:
                    low = middle + 1
                else:
                    high = middle
            at[t, turn] = low if low < row[x + 1] and column[low] == z else -1


@compiled
def _write_sets(triples, at, begin, members, length, out):
    """Write the set of each triple one after the other: its cells, each member once, without y; and their lengths.

    The members of cell k begin at ``begin[k]``. Returns how many were written.
    """
    n = 0
    for t in range(len(triples)):
        first = n
        for turn in range(2):
            if at[t, turn] < 0:
                continue
            written = n
            for k in range(begin[at[t, turn]], begin[at[t, turn] + 1]):
                known = members[k] == triples[t, 1]
                for m in range(first, written):
                    known = known or out[m] == members[k]
                if not known:
                    out[n] = members[k]
                    n += 1
        length[t] = n - first
    return n


class Dependence:
    """The skeleton and its separating sets, as the skeleton phase left them, while tests of rfci change them.

    Attributes: `removed`, in the order of removal; `n_tests` by the size of the set, without those made ahead for
    triples that a removal has broken.

    `ask`: `Engine.first_separating` of an engine that has taken the test. `in_order`: whether the test is to be asked
    one set after the other, in pcalg's order. `kept`, set of (int, int): pairs x < y whose edge must not be tested.
    `quirks`: leave triples that removals make untested, as pcalg does.
    """

    def __init__(
        self,
        skeleton: SparseGraph,
        sepset: SepSets,
        ask: Callable[[Questions], Answers],
        *,
        in_order: bool = False,
        kept: frozenset[Pair] = frozenset(),
        quirks: bool = False,
    ) -> None:
        self._skeleton, self._sepset, self._ask = skeleton, sepset, ask
        self._in_order, self._kept, self._quirks = in_order, kept, quirks
        self._lists = undirected(skeleton)
        self._cells: dict[Pair, tuple[int, ...]] = {}  # written by these tests, or by a rule for triples
        self._gone: set[int] = set()
        self.removed: list[Removed] = []
        self.n_tests: list[int] = []

    # -- the present state --------------------------------------------------------------------------------------------

    def adjacent(self, x: int, y: int) -> bool:
        """Is there an edge between x and y now?"""
        return bool(self._skeleton.adjacent(x, y)) and self._key(x, y) not in self._gone

    def neighbours(self, v: int) -> list[int]:
        """The neighbours of v now, ascending."""
        start, entry = self._lists[:2]
        near = entry[NEIGHBOUR, start[v] : start[v + 1]].tolist()
        return [w for w in near if self._key(v, w) not in self._gone] if self._gone else near

    def cell(self, x: int, y: int) -> tuple[int, ...]:
        """The set in cell (x, y) now; empty where there is none."""
        return self._cells[x, y] if (x, y) in self._cells else self._sepset.get(x, y) or ()

    def set_of(self, x: int, z: int, *without: int) -> list[int]:
        """The members of cell (x, z), then those of cell (z, x), each once."""
        return [v for v in dict.fromkeys((*self.cell(x, z), *self.cell(z, x))) if v not in without]

    def _key(self, x: int, y: int) -> int:
        return min(x, y) * self._skeleton.p + max(x, y)

    def skeleton(self) -> SparseGraph:
        """The edges that are left."""
        gone = np.array(sorted(self._gone), dtype=np.int64)
        return self._skeleton.with_edges(np.flatnonzero(look_up(gone, self._skeleton.keys) < 0))

    def sepset(self, skeleton: SparseGraph) -> SepSets:
        """The separating sets now, of the skeleton that is left."""
        if not self._cells:
            return self._sepset
        x, y = np.array(list(self._cells), dtype=np.int32).T
        sets = Lists.of(self._cells.values())
        new = FlatCells(x, y, np.diff(sets.offsets).astype(np.int32), sets.members)
        return self._sepset.changed(new).of_skeleton(skeleton)

    def changed_cells(self) -> frozenset[tuple[Pair, tuple[int, ...]]]:
        """The cells that have changed since the skeleton, with their sets; each edge removed is among them."""
        return frozenset(self._cells.items())

    def write(self, cells: FlatCells) -> None:
        """Enter the sets of these cells, which a rule for triples has changed."""
        sets = Lists(np.append(0, np.cumsum(cells.length, dtype=np.int64)), cells.members)
        for i, cell in enumerate(zip(cells.x.tolist(), cells.y.tolist(), strict=True)):
            self._cells[cell] = tuple(sets.of_question(i))

    # -- triples ------------------------------------------------------------------------------------------------------

    def examine_all(self) -> None:
        """`examine` every unshielded triple."""
        with announced("compiling for the tests of rfci, once per machine"):
            self.examine(unshielded(self._lists))

    def examine(self, triples: Ints, common: CommonNeighbours | None = None) -> list[Triple]:
        """Test both edges of these triples given the set of its ends, and remove those that are independent.

        `triples`, int32 (k, 3), are unshielded; one that has lost an edge before its turn is not tested. A removal
        makes new triples over the neighbours of `common`, by default all common ones. They are returned, and examined
        after the others except with quirks.
        """
        made: list[Triple] = []
        while len(triples):
            new = self._examine_once(triples, common or self.common_neighbours)
            made += new
            triples = np.array([] if self._quirks else new, dtype=np.int32).reshape(-1, 3)
        return made

    def _examine_once(self, triples: Ints, common: CommonNeighbours) -> list[Triple]:
        sets, made = self._sets(triples), []
        separated = None if self._in_order else self._separated(triples, sets)
        turns = np.flatnonzero(np.diff(sets.offsets) if separated is None else separated.any(axis=1))
        when = [-1] * len(self.removed)  # the turn of each removal
        for t in turns.tolist():
            x, y, z = map(int, triples[t])
            if not (self.adjacent(x, y) and self.adjacent(z, y)):
                continue
            S = sets.of_question(t)
            for side, end in enumerate((x, z)):
                if self._is_kept(end, y):
                    continue
                independent = self._search(end, y, S, len(S)) if separated is None else separated[t, side]
                if independent and (found := self._search(end, y, S)):
                    self._remove(found)
                    when.append(t)
                    made += triples_over(end, y, common(end, y))
        if separated is not None:
            self._count_first_tests(triples, np.diff(sets.offsets), when)
        return made

    def _sets(self, triples: Ints) -> Lists:
        """The set of each triple: both cells of its ends without its middle."""
        if len(triples) < FEW_TRIPLES or self._cells:
            return Lists.of([self.set_of(x, z, y) for x, y, z in triples.tolist()])
        cells, triples = self._sepset.flat(), plain(triples)
        at = np.empty((len(triples), 2), dtype=np.int64)
        _find_cells(triples, np.searchsorted(cells.x, np.arange(self._skeleton.p + 1)), plain(cells.y), at)
        length = np.empty(len(triples), dtype=np.int64)
        out = np.empty(int(cells.length[at[at >= 0]].sum()), dtype=np.int32)
        begin = np.concatenate(([0], np.cumsum(cells.length, dtype=np.int64)))
        n = _write_sets(triples, at, begin, plain(cells.members), length, out)
        return Lists(np.concatenate(([0], np.cumsum(length))), out[:n])

    def _separated(self, triples: Ints, sets: Lists) -> NDArray[np.bool_]:
        """Whether the set of each triple separates x and y, and z and y, bool (k, 2); False where it is empty."""
        size, out = np.diff(sets.offsets), np.zeros((len(triples), 2), dtype=np.bool_)
        for n in np.unique(size[size > 0]).tolist():
            at = np.flatnonzero(size == n)
            members = np.tile(sets.members[sets.offsets[at, None] + np.arange(n)].ravel(), 2)
            candidates = Lists(np.arange(2 * len(at) + 1) * n, members)
            x, y = triples[at][:, [0, 2]].T.ravel(), np.tile(triples[at, 1], 2)
            out[at] = self._ask(Questions(x, y, candidates, n, n, largest_p=False)).found.reshape(2, -1).T
        return out

    def _count_first_tests(self, triples: Ints, size: Indices, when: list[int]) -> None:
        """Count the tests of `_separated` of triples that were whole at their turn, in each of which one set is tested.

        `when` is the turn of each removal, -1 for those before.
        """
        p, turn = self._skeleton.p, np.arange(len(triples))
        keys = [pair_keys(triples[:, end], triples[:, 1], p) for end in (0, 2)]
        tested = size > 0
        if when:
            gone = np.array([self._key(edge.x, edge.y) for edge in self.removed], dtype=np.int64)
            order = np.argsort(gone)
            for key in keys:
                at = look_up(gone[order], key)
                tested &= (at < 0) | (np.array(when)[order[at]] >= turn)
        kept = np.array(sorted(self._key(*pair) for pair in self._kept), dtype=np.int64)
        for key in keys:
            self._count(np.bincount(size[tested & (look_up(kept, key) < 0)]))

    # -- paths --------------------------------------------------------------------------------------------------------

    def cut(self, path: Sequence[int]) -> Removed | None:
        """Test the edges of a discriminating path given subsets of the set of its ends; remove the first independent.

        None if all edges stay. Of a path that pcalg has cut short, two neighbours need not be adjacent. With quirks
        they are tested all the same, and their set is entered if they are independent.
        """
        for x, y in pairwise(path):
            S = self.set_of(path[0], path[-1], x, y)
            if not S or self._is_kept(x, y) or not (self._quirks or self.adjacent(x, y)):
                continue
            if found := self._search(x, y, S):
                self._remove(found)
                return found
        return None

    # -- single pairs -------------------------------------------------------------------------------------------------

    def common_neighbours(self, x: int, y: int) -> list[int]:
        """The common neighbours of x and y now, ascending."""
        return sorted({*self.neighbours(x)} & {*self.neighbours(y)})

    def _search(self, x: int, y: int, S: Sequence[int], smallest: int = 1) -> Removed | None:
        """The first subset of S, by size, that separates x and y."""
        question = Questions(np.array([x]), np.array([y]), Lists.of([S]), smallest, len(S), largest_p=False)
        answer = self._ask(question)
        self._count(answer.n_tests[0])
        if not answer.found[0]:
            return None
        return Removed(x, y, tuple(answer.S.of_question(0)), float(answer.value[0]), float(answer.p[0]))

    def _is_kept(self, x: int, y: int) -> bool:
        return (min(x, y), max(x, y)) in self._kept

    def _remove(self, edge: Removed) -> None:
        self._cells[edge.x, edge.y] = self._cells[edge.y, edge.x] = edge.S
        if self.adjacent(edge.x, edge.y):
            self._gone.add(self._key(edge.x, edge.y))
            self.removed.append(edge)

    def _count(self, by_size: Iterable[int]) -> None:
        """Add numbers of tests by the size of the set."""
        pairs = zip_longest(self.n_tests, map(int, by_size), fillvalue=0)
        self.n_tests = [had + more for had, more in pairs]


def triples_over(x: int, y: int, middles: Iterable[int]) -> list[Triple]:
    """The triples x - m - y over these middles, the smaller end first."""
    return [(min(x, y), m, max(x, y)) for m in middles]
