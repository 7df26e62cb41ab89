"""The graph between levels: neighbour lists, the pairs that a side tests, and the removals after the tests.

The lists are in CSR form: entry e = offsets[x] + i is the ordered pair (x, neighbours[e]), i the position of that
neighbour. Nothing here knows which family of tests runs: tests are given targets and write `Findings`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.cpu.neighbour_lists import FAR as FAR
from pycupc.engines.cpu.neighbour_lists import Indices as Indices
from pycupc.engines.cpu.neighbour_lists import (
    NeighbourLists,
    choose_targets,
    count_settled,
    find_mirror_entries,
    list_settled,
    look_up,
)
from pycupc.engines.cpu.threads import in_parts
from pycupc.engines.protocol import Floats, Ints, Lists, Mask, Questions
from pycupc.graph.lists import spans, starts

#: The findings about an entry: they may change; all of its tests have been made, or pruning has answered them.
OPEN, TESTED, ANSWERED = 0, 1, 2
#: The fields of `Findings` with a value for each entry, and the names in `Findings.finished`.
_COLUMNS = ("rank", "r", "smallest", "done")
FINISHED = "entries", *_COLUMNS


class Targets(NamedTuple):
    """The entries that one side of a level tests."""

    chosen: Mask  # (E,)
    per_row: Indices  # (p,)


class FarSet(NamedTuple):
    """A separating set in a wide row: its rank, and the positions of its members among the neighbours without y."""

    rank: int
    positions: tuple[int, ...]


class Findings(NamedTuple):
    """The findings of a level about each entry: written by the tests, read by the graph."""

    rank: Indices  # (E,): rank of the first separating set, negative if there is none, `FAR` where `far` has it
    r: Floats  # (E,): canonical partial correlation given that set
    # (E,): smallest squared partial correlation of the tests of an entry that stays, inf where nothing was tested.
    smallest: Floats
    # The first separating sets of entries in wide rows (`subsets.is_wide`).
    far: dict[int, FarSet]
    done: NDArray[np.int8]  # (E,): OPEN, TESTED or ANSWERED

    def first(self, entry: int) -> int:
        """Rank of the first separating set of an entry, -1 if there is none."""
        rank = int(self.rank[entry])
        return self.far[entry].rank if rank == FAR else rank

    def add(self, entry: Indices, rank: Indices, r: Floats, smallest: Floats) -> None:
        """Add the findings of tests about some entries, each listed once; of two ranks the smaller stays."""
        better = (rank >= 0) & ((self.rank[entry] < 0) | (rank < self.rank[entry]))
        self.rank[entry[better]], self.r[entry[better]] = rank[better], r[better]
        self.smallest[entry] = np.minimum(self.smallest[entry], smallest)

    def finished(self) -> dict[str, NDArray[Any]]:
        """The findings that will not change, but for those in wide rows, while threads add others."""
        entries = np.flatnonzero((self.done != OPEN) & (self.rank != FAR))
        return {"entries": entries} | {name: getattr(self, name)[entries] for name in _COLUMNS}

    def take(self, finished: Mapping[str, NDArray[Any]]) -> bool:
        """Enter the findings of a run that was killed, and return True; False if they are out of range."""
        entries = finished["entries"]
        if len({len(v) for v in finished.values()}) > 1 or entries.max(initial=0) >= len(self.rank):
            return False
        for name in _COLUMNS:
            getattr(self, name)[entries] = finished[name]
        return True

    def n_tests(self, entries: Indices) -> int:
        """The number of tests of these entries, counted up to the first separating set of each, which is included."""
        ranks = self.rank[entries]
        if not self.far:
            return subsets.exact_sum(ranks) + len(entries)
        far = ranks == FAR
        return subsets.exact_sum(ranks[~far]) + sum(map(self.first, entries[far].tolist())) + len(entries)


class Settled(NamedTuple):
    """Numbers of entries of each row, (p,) int64, and the sum of the ranks of those that are separated."""

    in_vain: Indices  # tested, but not separated
    stay: Indices
    separated: Indices
    # rank_high, rank_low: sums of the higher and of the lower 32 bits of ranks, without `FAR`.
    rank_high: Indices
    rank_low: Indices


class Separated(NamedTuple):
    """The removals of a level, as in `LevelResult`, and the number of its tests."""

    x: Ints
    y: Ints
    S: Ints
    r: Floats
    n_tests: int


class Graph:
    """The graph that one level finds; the level leaves a new one to the next.

    `offsets`, int64 (p + 1,). `neighbours`, int32 (E,): ascending in each row. `fixed`, bool (E,): edges that are never
    tested. `z`, float64 (E,), or function of entries, int64 (k,): smallest |z| of all tests of each entry so far, inf
    where nothing was tested. A function computes it for these entries: most edges of level 0 do not survive level 1, so
    that nobody asks for theirs.
    """

    def __init__(
        self, offsets: Indices, neighbours: Ints, fixed: Mask, z: Floats | Callable[[Indices], Floats]
    ) -> None:
        self.offsets, self.neighbours, self.fixed, self._z = offsets, neighbours, fixed, z
        self._waits = False  # whether z of several levels has yet to be joined
        self.degrees = offsets[1:] - offsets[:-1]  # int64 (p,): number of neighbours of each variable
        self.widest = int(self.degrees.max(initial=0))

    @classmethod
    def of_lists(cls, offsets: Indices, neighbours: Ints) -> Graph:
        """The graph of these neighbour lists, without fixed edges, of which nothing has been tested."""
        n = len(neighbours)
        return cls(offsets, neighbours, np.zeros(n, dtype=np.bool_), np.full(n, np.inf))

    @classmethod
    def of_edges(cls, p: int, x: Ints, y: Ints, never: Mask, z: Floats | Callable[[Indices], Floats]) -> Graph:
        """The graph of edges, each given once; `never`: not tested; z: of the edges, or a function of their numbers."""
        order = np.lexsort((np.concatenate([y, x]), np.concatenate([x, y])))
        rows, edge = np.concatenate([x, y])[order], order % max(len(x), 1)
        neighbours = np.concatenate([y, x])[order].astype(np.int32, copy=False)
        own = (lambda entries: z(edge[entries])) if callable(z) else z[edge]
        return cls(np.searchsorted(rows, np.arange(p + 1)), neighbours, never[edge], own)

    def without_z(self) -> Graph:
        """The same lists, to be kept or sent: z may need the graph of the level before."""
        return Graph(self.offsets, self.neighbours, self.fixed, np.zeros(0))

    def rows(self) -> Ints:
        """x of every entry."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), self.degrees)

    def later_ends(self) -> Ints:
        """y of the edges x < y that are not fixed."""
        rows = self.rows()
        return rows[(rows > self.neighbours) & ~self.fixed]

    def edges(self) -> tuple[Ints, Ints, Floats]:
        """x, y and z of `State`."""
        x = self.rows()
        upper = np.flatnonzero(x < self.neighbours)
        return x[upper], self.neighbours[upper], self.z(upper)

    def z(self, entries: Indices) -> Floats:
        """Smallest |z| of the tests of these entries so far."""
        return self._z(entries) if callable(self._z) else self._z[entries]

    def entries(self, x: Ints, y: Ints) -> Indices:
        """The entries of ordered pairs (x, y), all of which are edges."""
        p = len(self.offsets) - 1
        keys = self.rows().astype(np.int64) * p + self.neighbours
        return np.searchsorted(keys, x.astype(np.int64) * p + y)

    def questions(self, entries: Indices, level: int) -> Questions:
        """The tests of these entries at a level, as questions: the candidates are the neighbours without y."""
        x = np.searchsorted(self.offsets, entries, side="right") - 1
        first, d = self.offsets[x], self.degrees[x] - 1
        at = spans(first, d)
        at += at >= np.repeat(entries, d)
        return Questions(x, self.neighbours[entries], Lists(starts(d), self.neighbours[at]), level, level)

    def no_findings(self, n_threads: int = 1) -> Findings:
        """Findings of a level of which no test has been made."""
        n = len(self.neighbours)
        rank, smallest = np.empty(n, dtype=np.int64), np.empty(n)

        def fill(first: int, end: int) -> None:
            rank[first:end], smallest[first:end] = -1, np.inf

        in_parts(fill, n, n, n_threads, "neighbour lists")
        return Findings(rank, np.zeros(n), smallest, {}, np.zeros(n, np.int8))

    @cached_property
    def lists(self) -> NeighbourLists:
        return self._find_lists(1)

    def _find_lists(self, n_threads: int) -> NeighbourLists:
        lists = NeighbourLists(self.offsets, self.neighbours, self.fixed, np.empty(len(self.neighbours), np.int64))
        following = self.offsets[:-1].copy()

        def find(first: int, end: int) -> None:
            find_mirror_entries(lists, (first, end), following)

        in_parts(find, len(following), len(self.neighbours), n_threads, "neighbour lists")
        return lists

    def targets(self, level: int, side_b: bool, findings: Findings, n_threads: int = 1) -> Targets:
        """The entries that a side tests: side A pairs x < y, side B pairs x > y that side A has not separated."""
        chosen, per_row = np.zeros(len(self.neighbours), dtype=np.bool_), np.zeros_like(self.offsets[1:])
        if "lists" not in vars(self):
            self.lists = self._find_lists(n_threads)
        lists = self.lists

        def choose(first: int, end: int) -> None:
            choose_targets(lists, findings.rank, level, side_b, (first, end), chosen, per_row)

        in_parts(choose, len(per_row), len(chosen), n_threads, "neighbour lists")
        return Targets(chosen, per_row)

    def targets_at(self, some: Mask | Indices) -> Targets:
        """Some entries as targets."""
        chosen = np.zeros(len(self.neighbours), dtype=np.bool_)
        chosen[some] = True
        return Targets(chosen, np.bincount(self.rows()[chosen], minlength=len(self.offsets) - 1))

    def settle(self, level: int, findings: Findings, n_threads: int = 1) -> tuple[Separated, Indices, bool]:
        """The pairs that the two sides have separated, the entries of the edges that stay, and `LevelResult.more`."""
        lists, degrees, rank = self.lists, self.degrees, findings.rank
        counts = np.zeros((len(degrees), len(Settled._fields)), dtype=np.int64)

        def count(first: int, end: int) -> None:
            count_settled(lists, rank, (first, end), counts)

        in_parts(count, len(degrees), len(rank), n_threads, "neighbour lists")
        number = Settled(*counts.T)
        first_gone, first_kept = starts(number.separated), starts(number.stay)
        entries, stay = (np.empty(first[-1], dtype=np.int64) for first in (first_gone, first_kept))
        x, y, r = np.empty(len(entries), np.int32), np.empty(len(entries), np.int32), np.empty(len(entries))

        def list_them(first: int, end: int) -> None:
            gone = entries, x, y, r
            list_settled(lists, rank, findings.r, (first, end), first_gone, gone, first_kept, stay)

        in_parts(list_them, len(degrees), len(rank), n_threads, "neighbour lists")
        S = self._sets(level, entries, x, findings, n_threads)
        n_tests = (int(number.rank_high.sum()) << 32) + int(number.rank_low.sum()) + len(entries)
        n_tests += sum(far.rank for e, far in findings.far.items() if rank[e] == FAR)
        n_tests += subsets.level_tests(degrees, number.in_vain, level)
        more = self.widest - 1 > level and bool((number.in_vain + number.separated > 0)[degrees - 1 > level].any())
        return Separated(x, y, S, r, n_tests), stay, more

    def _sets(self, level: int, entries: Indices, x: Ints, findings: Findings, n_threads: int) -> Ints:
        """The separating sets of these entries, int32 (m, level)."""
        lists, S = self.lists, np.empty((len(entries), level), dtype=np.int32)
        if not len(entries):
            return S
        binomials = subsets.binomial_table(self.widest, level)

        def look(first: int, end: int) -> None:
            part, members = slice(first, end), np.empty(level, dtype=np.int64)
            look_up(lists, findings.rank, binomials, entries[part], x[part], members, S[part])

        in_parts(look, len(entries), len(entries), n_threads, "neighbour lists")
        for e, found in findings.far.items():
            if findings.rank[e] == FAR:
                k = int(np.searchsorted(entries, e))
                positions = self.offsets[x[k]] + np.array(found.positions)
                S[k] = self.neighbours[positions + (positions >= e)]
        return S

    def smallest(self, findings: Findings, entries: Indices) -> Floats:
        """The smallest squared partial correlation of either side's tests."""
        return np.minimum(findings.smallest[entries], findings.smallest[self.lists.mirror[entries]])

    def restricted(self, entries: Indices, z: Callable[[Indices], Floats]) -> Graph:
        """The graph of these entries alone; `z` of this level joins the z of the earlier levels.

        `z`: a function of entries of the new graph. It is called when somebody asks, or the graph after the new one is
        made: then many edges are gone, whose z nobody has asked for.
        """
        lists = np.searchsorted(entries, self.offsets), self.neighbours[entries], self.fixed[entries]
        known = self.z(entries) if self._waits else None

        def joined(some: Indices) -> Floats:
            return np.minimum(self.z(entries[some]) if known is None else known[some], z(some))

        graph = Graph(*lists, joined)
        graph._waits = True
        return graph
