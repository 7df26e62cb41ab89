"""The graph between levels, on the device: level 0, neighbour lists, and the removals of a level."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import LevelTests, Outlook, canonical_doubles, level_of
from pycupc.engines.gpu.noncolliders import NONCOLLIDERS, KeptRecords
from pycupc.engines.gpu.sharing import Member
from pycupc.engines.gpu.structures import Classes, Counters, Graph, Level, Records, RowCounts, f64, i32, i64, ptr
from pycupc.engines.protocol import EngineError, Finished, Floats, Ints, LevelResult, Pairs
from pycupc.engines.subsets import TOO_MANY
from pycupc.graph.pairs import FirstGraph
from pycupc.system.localised_message import Argument, Message, Setting, Variable

#: Threads per block of settle.
SETTLE_BLOCK = 512

#: Bytes per entry of the neighbour lists, see `Graph` in kernels/common/structures.cuh.
LISTS = {"column": 4, "source": 4, "best": 8, "least": 8, "z": 8}

#: The kernels that end a level.
SETTLE: KernelName = ("graph/removals", "settle")
FINISH: KernelName = ("graph/removals", "finish")
#: The kernel that joins the evidence of both sides.
WEAKEST: KernelName = ("graph/neighbours", "weakest_evidence")
#: Differences between C and its transpose up to this one are taken for rounding: numpy.corrcoef leaves such.
LAST_BITS = 1e-15

#: States of an ordered pair, as in kernels/common/structures.cuh.
GONE_A, LIVE, GONE_B, FIXED = range(4)


class Running(NamedTuple):
    """A level that has been launched."""

    level: int
    found: Any = None  # device array uint8: room for its records


def record_bytes(level: int) -> int:
    """Bytes per record: r, x, y, S; see `Found` in kernels/graph/record.cuh."""
    return 16 + 4 * level


class DeviceGraph:
    """The graph of one run, on the device, and the operations that change it between the tests of two levels.

    The engine calls `begin`, launches the tests of the level, then calls `settle`, which launches the steps that follow
    them, `collect`, which waits, and `result`. For level 0 it calls `launch_level0` and `collect_level0`.

    `p`: number of variables. `n`: number of observations. `gaps`, `fixed`: pairs without an edge; edges that are never
    tested. `tests`: the tests of levels >= 1. `C`, device array float64 (p, p), or None: correlations. Without them,
    nothing is stored for all p^2 pairs; see `device_sieve.RowGraph`.

    `mirrored`: whether C is known to equal its transpose to `LAST_BITS`. `needs_host`: whether the host makes some of
    the tests, so that it waits for a level while it launches it. `lists`: the neighbour lists, arrays of `Graph`, and
    their bytes per entry. `member`: the device's part in the work, if several devices share it, or levels are cut into
    slices.
    """

    needs_host = False
    lists = LISTS

    def __init__(
        self, dev: Device, p: int, n: float, gaps: Pairs | None, fixed: Pairs | None, tests: LevelTests, C: Any
    ) -> None:
        cp = dev.cp
        self._dev, self._C, self._n, self.p, self.tests, self.mirrored = dev, C, n, p, tests, True
        self._gaps, self._fixed, self._first = gaps, fixed, FirstGraph(p, gaps, fixed)
        self.member: Member | None = None
        self._masks: list[Any] = [None, None]
        self._G: Any = None
        if C is not None:
            upload = dev.transfers.copied
            self._masks = [None if pairs is None else upload(pairs.dense().view(np.uint8)) for pairs in (gaps, fixed)]
            self._G = cp.empty((p, p), dtype=np.uint8)
        self._rough: Any = None  # Outlook.rough, from the launch of level 0 until its end
        self._counters = cp.zeros(ctypes.sizeof(Counters), dtype=np.uint8)
        self._start = [cp.empty(p + 1, dtype=np.int64) for _ in range(2)]
        addresses = [(ptr(C), ptr(self._G), start.data.ptr, *5 * [None]) for start in self._start]
        self._graphs = [Graph(*of_graph, p) for of_graph in addresses]
        self._room: Any = None  # the memory of their lists, once level 0 has ended
        self._current = 0  # which set of lists describes the graph
        self._classes = Classes((ctypes.c_int * 5)(*device_tuning.BOUNDS))
        self._edges: tuple[Ints, Ints, Floats] | None = None
        self.results: list[LevelResult] = []  # of the levels from 1 on
        self.pruned: list[int] = []  # the levels at which bounds decided pairs
        self._share = 0.0  # share of the running level's work items that blocks have taken
        self._copying: list[Any] = []  # records that are being copied to the host
        self._records = KeptRecords()
        self.outlook = Outlook(p * (p - 1), p - 1, 0, (0,) * 6, 1.0, float(p * (p - 1)), False)

    @classmethod
    def kernels(cls, level: int) -> list[KernelName]:
        """Kernels that a level needs besides its tests."""
        if level:
            return [SETTLE, FINISH]
        return [*cls.first_kernels(), WEAKEST, NONCOLLIDERS]

    @classmethod
    def first_kernels(cls) -> list[KernelName]:
        """Kernels of level 0 and of the first neighbour lists."""
        return [("graph/neighbours", name) for name in ("level0", "count_neighbours", "list_neighbours")]

    @property
    def present(self) -> Graph:
        """The graph that the next level tests."""
        return self._graphs[self._current]

    def _root_df(self, level: int) -> ctypes.c_double:
        return f64(math.sqrt(max(0.0, self._n - level - 3)))

    # ---------------------------------------------------------------- level 0

    def launch_level0(self, cutoff: float) -> Running:
        """Launch level 0, which removes the edges with |r| <= `cutoff`."""
        dev, p = self._dev, self.p
        level, tiles = level_of(dev, 0, self._counters, 0, cutoff), -(-p // 32)
        graph, rows = self._graphs[0], RowCounts(dev.scratch.take(8 * p), None)
        self._test_pairs(graph, level)
        args: tuple[Any, ...] = (graph, level, rows, self._classes, ptr(dev.answer))
        dev.launch("graph/neighbours", "count_neighbours", (tiles,), (1024,), args)
        return Running(0)

    def collect_level0(self) -> LevelResult:
        """Wait for level 0, and launch the kernel that makes the first neighbour lists."""
        counters = self._read_counters()
        self._allocate()
        self._list_pairs()
        more = self._more_after_level0(counters.tests)
        return LevelResult(0, *self._download(0, 0, 0), counters.tests, counters.removed, 0, more)

    def _test_pairs(self, graph: Graph, level: Level) -> None:
        """Launch the tests of level 0, which write G, the copy of C for level 1 and the counters."""
        self._rough, tiles = self._dev.cp.empty((self.p, self.p), dtype=np.uint16), -(-self.p // 32)
        args = (graph, level, *map(ptr, self._masks), ptr(self._rough))
        self._dev.launch("graph/neighbours", "level0", (tiles, tiles), (32, 32), args)

    def _list_pairs(self) -> None:
        """Launch the kernel that makes the neighbour lists of the first graph."""
        dev, p = self._dev, self.p
        adjacent = dev.cp.empty((p, -(-p // 32)), dtype=np.uint32)
        self.outlook = self.outlook._replace(adjacent=adjacent, rough=self._rough, mirrored=self.mirrored)
        self._rough = None
        args = (self._graphs[0], ptr(adjacent), i32(self.mirrored), self._root_df(0), self._root_df(1))
        dev.launch("graph/neighbours", "list_neighbours", (-(-p // 4),), (128,), args)

    def _allocate(self) -> None:
        """Allocate two sets of neighbour lists: a level reads one and writes the other."""
        dev, pairs = self._dev, self.outlook.pairs
        entry = sum(self.lists.values())
        self._check_memory(2 * entry * pairs, f"{pairs // 2} edges are left after level 0")
        pitch = -(-max(1, pairs) // 64) * 64
        self._room = dev.cp.empty(2 * entry * pitch, dtype=np.uint8)
        address = int(self._room.data.ptr)
        for graph in self._graphs:
            for name, nbytes in self.lists.items():
                setattr(graph, name, address)
                address += nbytes * pitch

    def _check_memory(self, need: int, what: str, left: Callable[[float], int] | None = None) -> None:
        """EngineError if less than `need` bytes are free; `left`: see `_remedy`."""
        free = self._dev.free_memory() if need > device_tuning.UNCHECKED_BYTES else need
        if need > free:
            raise EngineError(
                f"{what} and need {need / 2**30:.2f} GiB on {self._dev.name}, where {free / 2**30:.2f} GiB are free; "
                + self._remedy(left)
            )

    def _remedy(self, left: Callable[[float], int] | None = None) -> str:
        """Advice if too many edges are left; `left` counts the edges that a larger cutoff would leave."""
        return "use a smaller alpha or fewer variables"

    def _more_after_level0(self, tests: int) -> bool:
        """Whether a tested pair (x, y) had a candidate, another neighbour of x in the graph before level 0."""
        if self._gaps is None:
            return tests > 0 and self.p > 2

        def kept() -> NDArray[np.integer]:
            x, y, _ = self.edges()  # side B tests (y, x) where side A kept the edge
            return y if self._fixed is None else y[~self._fixed.holds(x, y)]

        return self._first.has_candidates(kept)

    # ---------------------------------------------------------------- levels from 1 on

    def begin(self, level: int, cutoff: float) -> tuple[Graph, Level]:
        """Prepare a level, whose structures it returns; EngineError from `subsets.TOO_MANY` tests on."""
        if max(self.outlook.sets, self.outlook.tests_at_most) >= TOO_MANY:  # for the 64-bit numbers of the device
            raise EngineError(
                Message(
                    "level {level} may need more than 2^62 tests (variable {x} has {d} neighbours), which the device "
                    "cannot count; use {cpu}, set {m_max} below this level, or use a smaller alpha",
                    level=level,
                    x=Variable(self.outlook.busiest),
                    d=self.outlook.widest,
                    cpu=Setting("engine", "cpu"),
                    m_max=Argument("m_max"),
                )
            )
        self._dev.scratch.reset()
        self._share = 0.0
        return self.present, level_of(self._dev, self.outlook.widest, self._counters, level, cutoff)

    def settle(self, graph: Graph, level: Level) -> Running:
        """Launch the next graph and the records of separating sets."""
        dev, p, l, pairs = self._dev, self.p, level.level, self.outlook.pairs
        take, most = dev.scratch.take, max(1, pairs // 2)
        found, of_rows = dev.cp.empty(most * record_bytes(l), dtype=np.uint8), take(24 * p + 8)
        rows = RowCounts(of_rows, of_rows + 8 * p)
        records = Records(of_rows + 16 * p, take(8 * most), found.data.ptr)
        kernel = dev.kernels.get(*SETTLE, graph.in_rows)
        resident = dev.processors * kernel.blocks_per_processor(SETTLE_BLOCK, 0)
        blocks = max(1, min(resident, max(-(-pairs // device_tuning.SETTLE_PAIRS), -(-p // 32))))
        degrees = self._root_df(l), self._root_df(l + 1)
        args: tuple[Any, ...] = (graph, self._graphs[1 - self._current], level, rows, records, self._classes)
        args += (i64(pairs), *degrees)
        kernel((blocks,), (SETTLE_BLOCK,), args, stream=dev.stream.ptr, cooperative=True)
        self._finish(graph, level, records, most)
        return Running(l, found)

    def _finish(self, graph: Graph, level: Level, records: Records, most: int) -> None:
        l = level.level
        per_block = 128 if l == 1 else 4  # records at a time
        shared, work = 8 * per_block * (l + 2) ** 2, 8 * per_block * canonical_doubles(l)
        blocks = max(1, min(2048, -(-most // per_block), device_tuning.FINISH_BYTES // work))
        fits = l > 1 and shared <= 48 << 10
        if l > 1:
            level.work = self._dev.scratch.take(blocks * work)
        args = (graph, level, records, i32(fits), ptr(self._dev.answer))
        self._dev.launch(*FINISH, (blocks,), (128,), args, shared if fits else 0)

    def collect(self, running: Running) -> Counters:
        """Wait for a running level, and go on to the next graph."""
        c = self._read_counters()
        if c.decided:
            self.pruned.append(running.level)
        self._current, self._edges = 1 - self._current, None
        return c

    def result(self, running: Running, c: Counters) -> LevelResult:
        """The result of a level; its records may still be on their way, see `wait`."""
        numbers = (c.tests, c.records, c.doubtful, bool(c.more), c.tests - c.spared, c.bounds)
        if self._dev.copies.done:
            self._copying.clear()
        self._copying.append(running.found)
        self._records.keep(running.level, running.found, c.records)
        found = self._download(running.level, running.found.data.ptr, c.records)
        self.results.append(LevelResult(running.level, *found, *numbers))
        return self.results[-1]

    def _download(self, level: int, found: int, m: int) -> tuple[Ints, Ints, Ints, Floats]:
        """Start copying m records at an address of the device, through `Device.copies`; returns x, y, S and r."""
        raw = self._dev.transfers.download_bytes(found, m * record_bytes(level), self._dev.copies)
        x, y = np.frombuffer(raw, np.int32, m, 8 * m), np.frombuffer(raw, np.int32, m, 12 * m)
        S = np.frombuffer(raw, np.int32, m * level, 16 * m).reshape(m, level)
        return x, y, S, np.frombuffer(raw, np.float64, m)

    def wait(self) -> None:
        """Wait for the records that are still being copied."""
        self._dev.copies.synchronize()
        self._copying.clear()

    def _read_counters(self) -> Counters:
        """Wait for the counters that the last kernel reports; sets `outlook`."""
        self._dev.wait()
        counters = Counters.from_buffer_copy(Counters.from_address(self._dev.answer))
        if self.member:
            self.member.total(counters)
        self.outlook = Outlook.after(counters)
        return counters

    def tests_done(self) -> int:
        """An estimate of the tests of the running level so far, from the share of work items that blocks have taken."""
        c = Counters.from_buffer_copy(self._dev.peek(self._counters.data.ptr, self._counters.nbytes))
        done = sum(min(n, items) for n, items in zip(c.handed_out, c.items, strict=True))
        share = done / items if (items := sum(c.items)) else 0.0
        before, of_slice = self.member.stretch if self.member else (0.0, 1.0)
        share = before + share * of_slice
        self._share = max(share, self._share)  # at the end of a level its counters are cleared
        return int(self.outlook.tests_at_most * self._share)

    def resume(self, levels: Sequence[Finished], cutoff: Callable[[int], float]) -> None:
        """Turn the graph after level 0 into the graph after `levels`, the first ones of a run."""
        dev, p, (last, x, y, z, *_) = self._dev, self.p, levels[-1]
        self._records.forget()
        self.results = [level.result for level in levels[1:]]
        self.pruned = [level.result.level for level in levels if level.answered is not None]
        if not last.level:
            return
        graph, shape = self.present, (self.outlook.pairs,)
        source, column = dev.fetch((graph.source, np.int32, shape), (graph.column, np.int32, shape))
        here, there = (a.astype(np.int64) * p + b for a, b in ((x, y), (y, x)))
        at = np.searchsorted(source.astype(np.int64) * p + column, np.concatenate([here, there]))
        evidence, state = np.zeros(shape), np.where(source < column, GONE_B, GONE_A)  # removed, without a record
        evidence[at] = np.tile(z, 2)
        state[at] = np.where(np.isinf(evidence[at]), FIXED, LIVE)
        for target, array in ((graph.z, evidence), (graph.least, np.full(shape, np.inf))):
            dev.transfers.write(target, array)
        self._put_states(source, column, state.astype(np.uint8))
        self.collect(self.settle(*self.begin(last.level, cutoff(last.level))))

    def _put_states(self, source: Ints, column: Ints, state: NDArray[np.uint8]) -> None:
        """Write the state of each pair of the lists to G."""
        G = np.zeros((self.p, self.p), dtype=np.uint8)
        G[source, column] = state
        self._dev.transfers.write(self.present.G, G)

    def edges(self) -> tuple[Ints, Ints, Floats]:
        """x, y and z of `State`, fetched once per level."""
        if self._room is None:
            return self._first.edges()
        if self._edges is None:
            dev, graph, pairs = self._dev, self.present, self.outlook.pairs
            weakest, shape = dev.scratch.take(8 * pairs), (pairs,)
            dev.launch(*WEAKEST, (dev.blocks(pairs),), (256,), (graph, ptr(weakest), i64(pairs)))
            ends = (graph.source, np.int32, shape), (graph.column, np.int32, shape)
            x, y, z = dev.fetch(*ends, (weakest, np.float64, shape))
            side_a = np.flatnonzero(x < y)  # by positions: twice as fast as by True and False
            self._edges = x[side_a], y[side_a], z[side_a]
        return self._edges

    def noncolliders(self) -> Ints | None:
        """As of `State`, unless the devices of several share the levels or the graph has not been tested."""
        return None if self.member or self._room is None else self._records.noncolliders(self._dev, self.present)
