"""Data whose correlation matrix does not fit the device: level 0 as a sieve, then a matrix for each row.

The sieve looks at the products of all columns in half precision and keeps the pairs that may be dependent; their
correlations, by the definition, decide. Levels >= 1 read the correlations among a variable and its neighbours after
level 0, the matrix of its row. So r has the same bits as ever, and so have all results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning, hubs
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.device_correlation import KERNELS, centred
from pycupc.engines.gpu.device_graph import LISTS, DeviceGraph, Running
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import LevelTests, degrees_of, level_of
from pycupc.engines.gpu.sharing import Meeting, Member
from pycupc.engines.gpu.structures import Graph, Level, Records, RowCounts, f32, f64, i32, i64, ptr, u64
from pycupc.engines.protocol import Finished, Floats, Ints, Pairs
from pycupc.independence.gaussian import fisher_z

#: As in kernels/sieve/pick.cu and halves.cuh.
SIDE, WORDS, STRETCH = 128, 8, 1024
#: Bytes of SIDE columns in a part.
PART = 16 * WORDS * SIDE
ROUND: KernelName = ("sieve/pick", "round_columns")
PICK: dict[bool, KernelName] = {long: ("sieve/pick", f"pick_pairs<{str(long).lower()}>") for long in (False, True)}
CORRELATE, COUNT, ENTER, SORT = (
    ("sieve/lists", name) for name in ("correlate_pairs", "count_pairs", "enter_pairs", "sort_rows")
)
#: As in kernels/sieve/lists.cu.
NO_PAIR = 2**64 - 1
#: No pairs.
NOTHING = np.zeros(0, dtype=np.int64)
Ints64 = NDArray[np.int64]
#: Blocks of a launch, at most.
MOST_BLOCKS = 2**31 - 1


class TooManyEntries(Exception):
    """The matrices of the rows have more entries than the caller wants."""


def margin_of(n: int) -> float:
    """Most by which a sum of the sieve may differ from r; kernels/sieve/halves.cuh proves it."""
    of_column = 2.0**-11 * (1 + 2.0**-12) + 2.0**-25 * math.sqrt(n)
    of_sums = min(STRETCH, -(-n // 16) * 16) * 2.0**-21 + (n / STRETCH + 1) * 2.0**-23
    return 2 * of_column + of_column**2 + 1.01 * of_sums + (n + 8) * 2.0**-52


class _Sieve:
    """The columns in half precision, and the search for pairs among them; `stop`: address of the stop flag."""

    def __init__(self, dev: Device, columns: tuple[Any, Any], stop: Any) -> None:
        self._dev, (p, n), self._stop = dev, columns[0].shape, stop
        words, padded = -(-n // 16) * 2, (-(-p // SIDE) + 1) * SIDE
        self._p, self._n, self._words = p, n, words
        self._halves, self._count = dev.cp.empty(4 * padded * words, dtype=np.uint32), dev.cp.empty(1, dtype=np.uint64)
        total = padded * words
        args: tuple[Any, ...] = (*map(ptr, (*columns, self._halves)), i32(words), i32(n), i32(p), i64(total))
        dev.launch(*ROUND, (dev.blocks(total),), (256,), args)

    def find(
        self, cutoff: float, squares: tuple[int, int], pairs: Any = None, before: int = 0, room: int = 0
    ) -> int:  # fmt: skip
        """Append the pairs of some squares that may be beyond the cutoff to `pairs`; returns the number of all pairs.

        Pairs beyond `room` are only counted.
        """
        dev, n, group = self._dev, self._n, squares_of(self._p)[0]
        threshold = np.nextafter(np.float32(cutoff - margin_of(n)), np.float32(-np.inf))
        dev.cp.cuda.runtime.memsetAsync(self._count.data.ptr, 0, 8, dev.stream.ptr)
        at_a_time, there = MOST_BLOCKS // group, None if pairs is None else pairs.data.ptr + 8 * before
        long, slots = n > STRETCH or dev.shared_block < 6 * PART, -(-self._words // WORDS)
        if (shared := (2 if long else 4) * PART + slots * PART) > dev.shared_block:
            shared, slots = shared - (slots - 2) * PART, 2
        for first in range(*squares, at_a_time):
            grid = (group * min(at_a_time, squares[1] - first),)
            args: tuple[Any, ...] = (ptr(self._halves), i32(self._words), i32(self._p), f32(float(threshold)))
            args += (i64(first), i32(group), i32(slots), u64(room - before), ptr(self._count), ptr(there))
            dev.launch(*PICK[long], grid, (256,), (*args, ptr(self._stop)), shared)
        (found,) = dev.fetch((self._count.data.ptr, np.uint64, (1,)))
        return before + int(found[0])


class RowGraph(DeviceGraph):
    """The graph of one run whose correlations are computed from data when they are needed.

    `X`, float64 (n, p): the observations, finite; see `correlation.correlation`. `gaps`, `fixed`: pairs without an
    edge; edges that are never tested. `tests`: the tests of levels >= 1. `most_entries`: entries of the matrices of all
    rows; if there are more, level 0 ends with `TooManyEntries`.
    """

    lists = LISTS | {"place": 4, "G": 1}

    def __init__(
        self, dev: Device, X: Floats, gaps: Pairs | None, fixed: Pairs | None, tests: LevelTests,
        most_entries: float = math.inf,
    ) -> None:  # fmt: skip
        n, p = X.shape
        super().__init__(dev, p, n, gaps, fixed, tests, None)
        self._columns: Any = centred(dev, X, by_column=True)  # Z and the sums of squares, until the lists are made
        self._matrix, self._width = dev.cp.empty(p + 1, dtype=np.int64), dev.cp.empty(p, dtype=np.int32)
        for graph in self._graphs:
            graph.matrix, graph.width = self._matrix.data.ptr, self._width.data.ptr
        lists = [None if pairs is None or not len(pairs) else pairs.keys for pairs in (gaps, fixed and fixed - gaps)]
        self._keys: list[Any] = [None if keys is None else dev.transfers.copied(keys) for keys in lists]
        self._n_keys = [0 if keys is None else len(keys) for keys in lists]
        self.some_squares: tuple[int, int] | None = None  # the squares that the sieve goes through, instead of all
        self._picked: Any = None  # pairs, their r, and how many the sieve has picked, from level 0 to the lists
        self._cutoff, self._most_entries = 0.0, most_entries  # the cutoff of level 0
        self._hubs: hubs.HubTests | None = None  # until level 1 has ended
        self._of_rows = tests
        self._known: NDArray[np.int64] | None = None  # keys of the pairs that level 0 has left in an earlier run

    @classmethod
    def first_kernels(cls) -> list[KernelName]:
        return [*KERNELS[:2], ROUND, *PICK.values(), CORRELATE, COUNT, ENTER, SORT, hubs.MATRICES]

    @staticmethod
    def memory(n: int, p: int) -> int:
        """Bytes that a run needs at its start: the data, twice, the unit columns, and the pairs that are picked."""
        return 16 * n * p + 2 * (n + 16) * (p + 2 * SIDE) + 16 * first_room(p) + 110 * p + device_tuning.FIXED_BYTES

    def launch_level0(self, cutoff: float) -> Running:
        """Sieve, which takes a wait, and launch level 0 of the pairs that are left."""
        dev, p, n = self._dev, self.p, int(self._n)
        dev.scratch.reset()
        self._cutoff = cutoff
        level, kept = level_of(dev, 0, self._counters, 0, cutoff), dev.scratch.take(8 * p)
        pairs, picked = self._pick(level)
        n_gaps, n_fixed = self._n_keys
        total = picked + n_fixed
        if n_fixed:
            dev.transfers.duplicate(self._keys[1].data.ptr, pairs[picked:total])
        r = dev.cp.empty(max(1, total))
        dev.cp.cuda.runtime.memsetAsync(kept, 0, 8 * p, dev.stream.ptr)
        args: tuple[Any, ...] = (*map(ptr, (*self._columns, pairs, r, kept, *self._keys)), i64(n_gaps), i64(n_fixed))
        args += (i64(picked), i64(total), f64(cutoff), i32(n), i64(p))
        dev.launch(*CORRELATE, (dev.blocks(total),), (256,), args)
        tested = u64(int(self._first.tested().sum()))
        args = (self._graphs[0], level, RowCounts(kept, None), self._classes, ptr(self._matrix), ptr(self._width))
        args += (tested, u64(n_fixed), ptr(dev.answer))
        dev.launch(*COUNT, (1,), (1024,), args)
        self._picked = pairs, r, picked
        return Running(0)

    def _pick(self, level: Level) -> tuple[Any, int]:
        """Keys of the pairs that may be dependent, with room for the keys of fixed edges; and the number of pairs."""
        dev, p, member = self._dev, self.p, self.member or Member(Meeting(1), 0)
        sieve, on_side = _Sieve(dev, self._columns, level.stop), squares_of(p)[1]
        squares = on_side * (on_side + 1) // 2  # of the upper triangle
        number, n_devices, kept = member.number, member.count, member.kept
        share = self.some_squares or (squares * number // n_devices, squares * (number + 1) // n_devices)

        def left(cutoff: float) -> int:
            return sieve.find(cutoff, share) * n_devices

        parts, keys, cut = {0: share}, NOTHING, ""
        if self._known is not None:
            parts, keys = {}, NOTHING if number else self._known
        elif kept is not None:
            size = max(1, int(device_tuning.PART_PRODUCTS / (self._n * (device_tuning.TILES_ON_SIDE * SIDE) ** 2)))
            cut = f"{size} of {squares} squares"
            missing, keys = self._missing(kept.read(cut), size, squares)
            parts, keys = dict(list(missing.items())[number::n_devices]), NOTHING if number else keys
        picked, room = len(keys), max(len(keys), first_room(p))
        pairs = self._room_for(room, left)
        dev.transfers.write(pairs.data.ptr, keys) if picked else None
        for part in parts:
            while (found := sieve.find(level.cutoff, parts[part], pairs, picked, room)) > room:
                room, before = max(found, 2 * room) if kept else found, pairs
                pairs = self._room_for(room, left)
                dev.transfers.duplicate(before.data.ptr, pairs[:picked])  # then the same part once more
            if kept is not None:
                (keys,) = dev.fetch((pairs.data.ptr + 8 * picked, np.int64, (found - picked,)))
                kept.add(cut, part, (*np.divmod(keys, p), NOTHING))
            picked = found
        if n_devices > 1:
            pairs, picked = member.gather(dev, pairs, picked, self._room_for)
        return pairs, picked

    def _missing(
        self, found: Iterator[tuple[Ints64, list[Ints64]]], size: int, squares: int
    ) -> tuple[dict[int, tuple[int, int]], Ints64]:
        """The squares of the parts, of `size` squares, that an earlier run has not finished, and keys of its pairs."""
        starts, keys = range(0, squares, size), [NOTHING]
        missing = {number: (start, min(start + size, squares)) for number, start in enumerate(starts)}
        for numbers, (x, y, _) in found:
            if all(number in missing for number in numbers.tolist()):
                missing = {number: part for number, part in missing.items() if number not in numbers}
                keys.append(x * self.p + y)
        return missing, np.concatenate(keys)

    def know_level0(self, left: Finished) -> None:
        """Take the edges after level 0 from a run that has finished it; call it before level 0."""
        keys = left.x.astype(np.int64) * self.p + left.y
        self._known = keys if self._fixed is None else keys[~self._fixed.holds(left.x, left.y)]

    def _put_states(self, source: Ints, column: Ints, state: NDArray[np.uint8]) -> None:
        self._dev.transfers.write(self.present.G, state)

    def _room_for(self, picked: int, left: Callable[[float], int] | None = None) -> Any:
        """Memory for `picked` pairs and the fixed edges; EngineError unless there is as much for their correlations."""
        count = picked + self._n_keys[1]
        self._check_memory(16 * count, f"{picked:,} pairs may be dependent at level 0", left)
        return self._dev.cp.empty(max(1, count), dtype=np.uint64)

    def _remedy(self, left: Callable[[float], int] | None = None) -> str:
        """As `DeviceGraph._remedy`, with a significance level; `left` counts the pairs that a larger cutoff leaves."""
        dev, n, room = self._dev, self._n, self._dev.free_memory()
        if self._current:
            return super()._remedy()
        if left is None:
            _, of_device, picked = self._picked
            (r,) = dev.fetch((of_device.data.ptr, np.float64, (picked,)))

            def left(cutoff: float) -> int:
                return int((np.abs(r) > cutoff).sum())

        alpha = fisher_z.p_value_of(self._cutoff, n - 3)
        for k in range(1, device_tuning.SMALLER_ALPHAS):
            smaller = alpha * 10.0**-k
            count = left(fisher_z.cutoff(smaller, n, 0))
            if device_tuning.BYTES_PER_PICKED * count <= room:
                return f"alpha = {smaller:.1g} would leave about {count:,}"
        return "use fewer variables"

    def pairs_left(self) -> NDArray[np.uint64]:
        """Keys of the pairs that `launch_level0` has left."""
        pairs, _, picked = self._picked
        (keys,) = self._dev.fetch((pairs.data.ptr, np.uint64, (picked,)))
        left: NDArray[np.uint64] = keys[keys != NO_PAIR]
        return left

    def _list_pairs(self) -> None:
        """Launch the kernels that make the neighbour lists of the first graph, and the matrices of its rows."""
        dev, p = self._dev, self.p
        (graph, other), (pairs, r, picked) = self._graphs, self._picked
        filled, total = dev.scratch.take(8 * p), picked + self._n_keys[1]
        dev.cp.cuda.runtime.memsetAsync(filled, 0, 8 * p, dev.stream.ptr)
        unsorted = ptr(other.column), ptr(other.z)  # of the graph after level 1, which nobody has made yet
        args: tuple[Any, ...] = (graph, ptr(pairs), ptr(r), ptr(filled), *unsorted, i64(picked), i64(total))
        dev.launch(*ENTER, (dev.blocks(total),), (256,), (*args, self._root_df(0)))
        of_pairs = i64(self.outlook.pairs), self._root_df(1)
        dev.launch(*SORT, (dev.blocks(self.outlook.pairs),), (256,), (graph, *unsorted, *of_pairs))
        # With degrees d, sum (d + 1)^2 = sum d (d - 1) + 3 sum d + p, and the first sum is exact in a double.
        cells = int(self.outlook.tests_at_most) + 3 * self.outlook.pairs + p
        if cells > self._most_entries:
            raise TooManyEntries
        self._picked = pairs = r = None
        room = dev.free_memory() if 8 * cells > device_tuning.UNCHECKED_BYTES else math.inf
        if self.outlook.widest > device_tuning.HUB or 8 * cells > room:
            degrees = degrees_of(dev, graph)
            rows = hubs.hubs_among(degrees, room if 8 * cells > room else math.inf)
            self.tests = self._hubs = hubs.HubTests(dev, self.tests, self._columns, rows, degrees)
            cells = self._lay_out(degrees, rows)
        self._make_matrices(cells)

    def _lay_out(self, degrees: Ints64, without: Ints64 = NOTHING) -> int:
        """Write the layout of the matrices of the present graph; see `hubs.layout`. Returns the cells of all."""
        graph, (matrix, width, place) = self.present, hubs.layout(degrees, without)
        for address, array in ((graph.matrix, matrix), (graph.width, width), (graph.place, place)):
            self._dev.transfers.write(address, array)
        return int(matrix[-1])

    def _make_matrices(self, cells: int) -> None:
        """Launch the kernel that makes the matrices of the rows; `cells`: of all matrices together."""
        self._C = self._dev.cp.empty(max(1, cells))
        for graph in self._graphs:
            graph.C = self._C.data.ptr
        hubs.launch_matrices(self._dev, self.present, self._columns, self._C, int(self._n))
        if self._hubs is None:
            self._columns = None

    def begin(self, level: int, cutoff: float) -> tuple[Graph, Level]:
        if self._hubs is not None and self._current:  # the graph is no longer the one after level 0
            self._hubs = self._C = None
            self.tests = self._of_rows
            cells, edges = self._lay_out(degrees_of(self._dev, self.present)), self.outlook.pairs // 2
            self._check_memory(8 * cells, f"the {edges:,} edges left after level 1 have {cells:,} correlations")
            self._make_matrices(cells)
        return super().begin(level, cutoff)

    def _finish(self, graph: Graph, level: Level, records: Records, most: int) -> None:
        super()._finish(graph, level, records, most)
        if self._hubs is not None and level.level == 1:
            self._hubs.correlate_records(self._dev, graph, records, most)


def squares_of(p: int) -> tuple[int, int]:
    """Tiles on a side of a square, and squares on a side of the matrix."""
    tiles = -(-p // SIDE)
    group = min(device_tuning.TILES_ON_SIDE, tiles)
    return group, -(-tiles // group)


def first_room(p: int) -> int:
    """Pairs for which there is room at first; if more are picked, the sieve runs again."""
    return min(p * (p - 1) // 2, max(1 << 20, device_tuning.PICKED_PER_VARIABLE * p))
