"""The graph between levels, on the device: level 0, neighbour lists, and what the tests of a level removed."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import EngineError, Floats, Ints, LevelResult, Mask
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Classes, Counters, Graph, Level, Records, RowCounts, f64, i32, i64, ptr
from pycupc.gaussian.fisher_z import CUTOFF_BAND

#: Share of doubtful tests at a level from which on the next level runs in kernels made for ill-conditioned data.
ILL_SHARE = 0.05
#: Counts of conditioning sets saturate here (BINOM_MAX of kernels/common/subsets.cuh).
MOST_SETS = 2.0**62
#: Work space of finish_records.
FINISH_BYTES = 64 << 20

#: Neighbour lists: what goes with each ordered pair.
_LISTS = {"column": np.int32, "source": np.int32, "best": np.uint64, "least": np.uint64, "z": np.float64}

#: Called while the host waits for a level.
Tick = Callable[[], None]


def canonical_doubles(level: int) -> int:
    """As in kernels/common/structures.cuh."""
    return (level + 2) ** 2 + 3 * (level + 2)


@dataclass(frozen=True)
class Outlook:
    """The next level, as far as the host plans it.

    Attributes
    ----------
    pairs, widest, busiest : int
        Ordered pairs of the graph; the largest degree, and the first variable that has it.
    rows : tuple of 6 int
        Rows with tests, in each class of degrees.
    sets, tests_at_most : float
        Conditioning sets over all rows; tests, if none of them separates an edge.
    ill_conditioned : bool
        Many tests of the last level were doubtful.
    """

    pairs: int
    widest: int
    busiest: int
    rows: tuple[int, ...]
    sets: float
    tests_at_most: float
    ill_conditioned: bool

    @classmethod
    def after(cls, c: Counters) -> Outlook:
        """From the counters of the level before."""
        ill = c.doubtful > ILL_SHARE * c.tests
        busiest = 0xFFFFFFFF - (c.widest & 0xFFFFFFFF)
        return cls(c.pairs, c.widest >> 32, busiest, tuple(c.rows), c.sets, c.tests_at_most, ill)


@dataclass(frozen=True)
class PendingLevel:
    """A level at which pairs were decided without all their tests.

    level : int
    cutoff : float
        Largest |r| that was independent.
    offsets : int64 (p + 1,)
    neighbours : int32 (E,)
        The graph that the level tested: the neighbours of x are neighbours[offsets[x] : offsets[x + 1]], ascending.
    """

    level: int
    cutoff: float
    offsets: NDArray[np.int64]
    neighbours: Ints


class DeviceGraph:
    """State of one run.

    Parameters
    ----------
    dev : Device
    C : device array float64 (p, p)
    n : float
        Number of observations.
    gaps, fixed : bool (p, p) or None
        Pairs without an edge; edges that are never tested.
    bounds : tuple of 5 int
        Upper bounds of the first five classes of degrees.
    """

    def __init__(
        self, dev: Device, C: Any, n: float, gaps: Mask | None, fixed: Mask | None, bounds: tuple[int, ...]
    ) -> None:
        cp, p = dev.cp, int(C.shape[0])
        self._dev, self._C, self._n, self.p = dev, C, n, p
        self._gaps, self._fixed = gaps, fixed
        self._masks = [self._upload(mask) for mask in (gaps, fixed)]
        self._G = cp.empty((p, p), dtype=np.uint8)
        self._counters = cp.zeros(ctypes.sizeof(Counters), dtype=np.uint8)
        self._start = [cp.empty(p + 1, dtype=np.int64) for _ in range(2)]
        self._lists: list[dict[str, Any]] = []  # from level 0 on: those of the graph, and those of the next
        self._current = 0
        self._classes = Classes((ctypes.c_int * 5)(*bounds))
        self._edges: tuple[Ints, Ints, Floats] | None = None
        self._pending: list[tuple[int, float, Any, Any]] = []  # level, cutoff, start, column
        tests = float(p * (p - 1))
        self.outlook = Outlook(p * (p - 1), p - 1, 0, (0,) * 6, 1.0, tests, False)

    def _upload(self, mask: Mask | None) -> Any:
        if mask is None:
            return None
        out = self._dev.cp.empty(mask.shape, dtype=np.uint8)
        self._dev.transfers.upload(np.ascontiguousarray(mask, dtype=bool).view(np.uint8), out)
        return out

    @staticmethod
    def kernels(level: int) -> list[KernelName]:
        """Kernels that a level needs beside its tests."""
        if level == 0:
            names = [("graph/neighbours", n) for n in ("level0", "count_neighbours", "scan_rows", "list_neighbours")]
            return [*names, ("common/binomials", "binomial_table")]
        finish = "finish_level1" if level == 1 else "finish_records"
        return [("graph/removals", n) for n in ("mark_side_b", "count_rows", "compact_rows", finish)]

    # ---------------------------------------------------------------- structures of the kernels

    def _graph(self, which: int) -> Graph:
        lists = self._lists[which] if self._lists else None
        pointers = [None if lists is None else lists[k].data.ptr for k in _LISTS]
        return Graph(self._C.data.ptr, self._G.data.ptr, self._start[which].data.ptr, *pointers, self.p)

    def _level(self, level: int, cutoff: float) -> Level:
        self._counters.data.memset_async(0, self._counters.nbytes, self._dev.stream)
        square = cutoff * cutoff
        thresholds = (cutoff, square * (1 - CUTOFF_BAND), square * (1 + CUTOFF_BAND))
        binom = self._dev.binomials(self.p, level + 3)
        return Level(binom, self._counters.data.ptr, None, self._dev.stop.data.ptr, *thresholds, level, 0)

    def _root_df(self, level: int) -> ctypes.c_double:
        return f64(math.sqrt(max(0.0, self._n - level - 3)))

    # ---------------------------------------------------------------- level 0

    def run_level0(self, cutoff: float, tick: Tick) -> LevelResult:
        """Drop the edges whose correlation is at most `cutoff`, and list the neighbours that are left."""
        dev, p = self._dev, self.p
        dev.scratch.reset()
        level = self._level(0, cutoff)
        graph, rows = self._graph(0), RowCounts(dev.scratch.take(8 * p), None)
        self._test_pairs(graph, level, tick)
        dev.launch("graph/neighbours", "count_neighbours", (p,), (128,), (graph, rows))
        dev.launch("graph/neighbours", "scan_rows", (1,), (1024,), (graph, level, rows, Records(), self._classes))
        counters = self._read_counters(tick)
        self._allocate()
        self._list_pairs()
        more = self._more_after_level0(counters.tests)
        return LevelResult(0, *self._no_records(0), counters.tests, counters.removed, 0, more)

    def _test_pairs(self, graph: Graph, level: Level, tick: Tick) -> None:
        """The tests of level 0: G, and the counters."""
        tiles, masks = -(-self.p // 32), (ptr(mask) for mask in self._masks)
        self._dev.launch("graph/neighbours", "level0", (tiles, tiles), (32, 32), (graph, level, *masks))

    def _list_pairs(self) -> None:
        """The neighbour lists of the first graph."""
        args = (self._graph(0), self._root_df(0), self._root_df(1))
        self._dev.launch("graph/neighbours", "list_neighbours", (self.p,), (32,), args)

    def _allocate(self) -> None:
        """Neighbour lists, twice: a level reads one and writes the other."""
        dev, pairs = self._dev, self.outlook.pairs
        need = 2 * 32 * pairs
        free = dev.free_memory() if need > 1 << 30 else need
        if need > free:
            raise EngineError(
                f"{pairs // 2} edges are left after level 0 and need {need / 2**30:.2f} GiB on {dev.name}, where "
                f"{free / 2**30:.2f} GiB are free; use a smaller alpha or fewer variables"
            )
        self._lists = [{k: dev.cp.empty(max(1, pairs), dtype=t) for k, t in _LISTS.items()} for _ in range(2)]

    def _first_graph(self) -> Mask:
        gaps = np.zeros((self.p, self.p), dtype=np.bool_) if self._gaps is None else np.asarray(self._gaps, np.bool_)
        return ~gaps & ~np.eye(self.p, dtype=np.bool_)

    def _more_after_level0(self, tests: int) -> bool:
        """Whether a tested pair (x, y) had a candidate, another neighbour of x in the graph before level 0."""
        if self._gaps is None:
            return tests > 0 and self.p > 2
        first = self._first_graph()
        candidates = first.sum(axis=1) > 1
        tested = first if self._fixed is None else first & ~np.asarray(self._fixed, dtype=np.bool_)
        x, y, _ = self.edges()  # side B tests (y, x) where side A kept the edge
        return bool((np.triu(tested).any(axis=1) & candidates).any() or (tested[y, x] & candidates[y]).any())

    # ---------------------------------------------------------------- levels from 1 on

    def begin(self, level: int, cutoff: float) -> tuple[Graph, Level]:
        """What the tests of a level work on.

        Raises
        ------
        EngineError
            If no machine can enumerate the level.
        """
        if self.outlook.sets >= MOST_SETS:
            raise EngineError(
                f"level {level} has more than 2^62 conditioning sets (variable {self.outlook.busiest} has "
                f"{self.outlook.widest} neighbours): no machine can test them; set m_max below this level or use a "
                "smaller alpha"
            )
        self._dev.scratch.reset()
        return self._graph(self._current), self._level(level, cutoff)

    def finish(self, graph: Graph, level: Level, tick: Tick) -> LevelResult:
        """Wait for the tests of the level, take over what they removed, and go on to the next graph."""
        dev, p, l, pairs = self._dev, self.p, level.level, self.outlook.pairs
        if pairs:
            dev.launch("graph/removals", "mark_side_b", (min(4096, -(-pairs // 256)),), (256,), (graph, i64(pairs)))
        take, most = dev.scratch.take, max(1, pairs // 2)
        rows = RowCounts(take(8 * p), take(8 * p))
        sizes = (8 * p + 8, 4 * most, 4 * most, 8 * most, 4 * l * most, 8 * most)
        records = Records(*(take(size) for size in sizes))
        following = self._graph(1 - self._current)
        dev.launch("graph/removals", "count_rows", (p,), (64,), (graph, level, rows))
        dev.launch("graph/neighbours", "scan_rows", (1,), (1024,), (following, level, rows, records, self._classes))
        args = (graph, following, records, self._root_df(l), self._root_df(l + 1))
        dev.launch("graph/removals", "compact_rows", (p,), (32,), args)
        self._finish_records(graph, level, records, most)
        c = self._read_counters(tick)
        if c.decided:
            lists = self._lists[self._current]
            start, column = self._start[self._current].copy(), lists["column"][:pairs].copy()
            self._pending.append((l, level.cutoff, start, column))
        self._current, self._edges = 1 - self._current, None
        numbers = (c.tests, c.records, c.doubtful, bool(c.more), c.tests - c.spared, c.bounds)
        if not c.records:
            return LevelResult(l, *self._no_records(l), *numbers)
        x, y, S, r = dev.transfers.download(
            (records.x, np.int32, (c.records,)),
            (records.y, np.int32, (c.records,)),
            (records.S, np.int32, (c.records, l)),
            (records.r, np.float64, (c.records,)),
        )
        dev.wait()
        return LevelResult(l, x, y, S, r, *numbers)

    @staticmethod
    def _no_records(level: int) -> tuple[Ints, Ints, Ints, Floats]:
        none = np.empty(0, np.int32)
        return none, none, np.empty((0, level), np.int32), np.empty(0)

    def _finish_records(self, graph: Graph, level: Level, records: Records, most: int) -> None:
        l = level.level
        if l == 1:
            grid = (min(8192, -(-most // 256)),)
            self._dev.launch("graph/removals", "finish_level1", grid, (256,), (graph, level, records))
            return
        shared = 4 * 8 * (l + 2) ** 2
        fits = shared <= 48 << 10
        block_bytes = 4 * 8 * canonical_doubles(l)
        blocks = max(1, min(2048, -(-most // 4), FINISH_BYTES // block_bytes))
        level.work = self._dev.scratch.take(blocks * block_bytes)
        args = (graph, level, records, i32(fits))
        self._dev.launch("graph/removals", "finish_records", (blocks,), (128,), args, shared if fits else 0)

    def _read_counters(self, tick: Tick) -> Counters:
        (raw,) = self._dev.transfers.download((self._counters.data.ptr, np.uint8, (self._counters.nbytes,)))
        self._dev.wait(tick)
        counters = Counters.from_buffer_copy(raw.tobytes())
        self.outlook = Outlook.after(counters)
        return counters

    def tests_done(self) -> int:
        """Tests of the running level so far, as its share of work items that have been handed out."""
        c = Counters.from_buffer_copy(self._dev.peek(self._counters.data.ptr, self._counters.nbytes))
        done = sum(min(n, items) for n, items in zip(c.handed_out, c.items, strict=True))
        return int(self.outlook.tests_at_most * done / max(1, sum(c.items)))

    @property
    def pending(self) -> list[PendingLevel]:
        """Levels whose tests were not all made; `edges` gives the smallest |z| of those that were."""
        out = []
        for level, cutoff, start, column in self._pending:
            pieces = ((start.data.ptr, np.int64, start.shape), (column.data.ptr, np.int32, column.shape))
            offsets, neighbours = self._dev.transfers.download(*pieces)
            self._dev.wait()
            out.append(PendingLevel(level, cutoff, offsets, neighbours))
        return out

    # ---------------------------------------------------------------- the graph now

    def degrees(self) -> NDArray[np.int64]:
        """Neighbours of each variable, int64 (p,)."""
        if not self._lists:
            return self._first_graph().sum(axis=1) if self._gaps is not None else np.full(self.p, self.p - 1)
        (start,) = self._dev.transfers.download((self._start[self._current].data.ptr, np.int64, (self.p + 1,)))
        self._dev.wait()
        return np.diff(start)

    def edges(self) -> tuple[Ints, Ints, Floats]:
        """Edges x < y and the smallest |z| of their tests, fetched once per level; see `Engine.edges`."""
        if not self._lists:
            x, y = (v.astype(np.int32) for v in np.nonzero(np.triu(self._first_graph())))
            return x, y, np.full(len(x), np.inf)
        if self._edges is None:
            lists = self._lists[self._current]
            names, pairs = ("source", "column", "z"), (self.outlook.pairs,)
            x, y, z = self._dev.transfers.download(*((lists[k].data.ptr, _LISTS[k], pairs) for k in names))
            self._dev.wait()
            a, b = x < y, x > y
            mirrored = np.argsort(y[b], kind="stable")  # the pairs of side B in the order of side A's
            self._edges = x[a], y[a], np.minimum(z[a], z[b][mirrored])
        return self._edges
