"""The G^2 tests of discrete data on the device: the data, level 0, the tests of a level, the graph between levels."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
from collections.abc import Callable
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import EngineError, Floats, LevelResult, Mask, Pairs
from pycupc.engines.gpu import tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.graph import SETTLE, DeviceGraph, Tick
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.records import Running
from pycupc.engines.gpu.structures import (
    Codes,
    Counters,
    Doubtful,
    Graph,
    Level,
    Queue,
    Records,
    SetRange,
    TableSpace,
    f64,
    i32,
    i64,
    ptr,
)
from pycupc.system.message import Message, Setting

if TYPE_CHECKING:
    from pycupc.independence.discrete.contingency import Data

#: As in kernels/common/structures.cuh.
THREADS, MOST_OFFSETS = 256, 1536
STATE_BYTES = 30 * THREADS + 256
#: Index of the counter of the tickets of a launch; the counters of the sides, 0 and 1, count sets to report progress.
TICKETS = 5

PACK, ENTER = ("discrete/data", "pack_codes"), ("discrete/data", "enter_results")
PAIRS = [("discrete/pairs", name) for name in ("contingency_pairs", "tally_pairs")]
SETS = [("discrete/sets", name) for name in ("count_targets", "plan_sets", "contingency_sets")]
RECORDS = [("discrete/sets", name) for name in ("contingency_records", "p_values")]
KERNELS: list[KernelName] = [PACK, ENTER, *PAIRS, *SETS, *RECORDS]


def shared_bytes(level: int) -> int:
    """Dynamic shared memory per block, in bytes; as lay_out in kernels/discrete/block_state.cuh."""
    words = tuning.MASK_WORDS + tuning.CELLS + MOST_OFFSETS
    return STATE_BYTES + 4 * (words + 2 * level + 2)


class DeviceCodes:
    """The data of a run on the device: codes, bit planes, and the tables of a test."""

    def __init__(self, dev: Device, data: Data) -> None:
        cp, (p, n) = dev.cp, data.codes.shape
        self.p, self.n, self.data = p, n, data
        pitch, words = -(-n // 16) * 16, -(-n // 512) * 16
        planes = 1 + int(data.levels.sum())
        fits = 4 * planes * words <= tuning.PLANE_BYTES
        #: Tensor cores count bits from compute capability 8.0 on.
        self.by_planes = fits and int(cp.cuda.Device(dev.index).compute_capability) >= 80
        first = 1 + np.cumsum(data.levels) - data.levels
        self._levels, self._first = (dev.transfers.copied(v.astype(np.int32)) for v in (data.levels, first))
        self._f, self._cutoff = dev.transfers.copied(data.f), dev.transfers.copied(data.cutoff)
        self._code = cp.empty(p * pitch, dtype=np.uint8)
        self._plane = cp.empty(planes * words if self.by_planes else 4, dtype=np.uint32)
        arrays = (self._code, self._plane, self._levels, self._first, self._f, self._cutoff)
        self.on_device = Codes(
            *(a.data.ptr for a in arrays),
            data.unit,
            data.band,
            n,
            pitch,
            words,
            len(data.cutoff),
            data.adapt,
            data.quirks,
            data.observed,
        )
        codes = dev.transfers.copied(data.codes)
        plane = self._plane if self.by_planes else None
        args = (self.on_device, ptr(codes), ptr(self._code), ptr(plane))
        dev.launch(*PACK, (p, -(-words // 8)), (256,), args)

    @staticmethod
    def memory(p: int, n: int, levels: int) -> int:
        """Bytes of the data, and of the p-values and states of all pairs; `levels` is summed over all variables."""
        return 9 * p * p + 2 * p * (n + 16) + min(tuning.PLANE_BYTES, (levels + 1) * (n // 8 + 64)) + 8 * n


class ContingencyTests:
    """G^2 tests of a level; see `LevelTests`."""

    def __init__(self, codes: DeviceCodes) -> None:
        self._codes = codes
        self._room_for_doubtful = tuning.DOUBTFUL
        self._list: Doubtful

    def kernels(self, level: int, outlook: Outlook) -> list[KernelName]:
        return [*SETS, *RECORDS]

    def _space(self, dev: Device, kernel: KernelName, level: int) -> tuple[int, TableSpace]:
        """Number of blocks of a persistent grid, and where they count."""
        # A test is made only if n >= 10 (kx - 1)(ky - 1) q; its table and the margin then take at most 6/10 n cells.
        cells = 6 * self._codes.n // 10 + 8
        if self._codes.data.observed:  # any table may be tested: the host tests those that do not fit
            cells = tuning.OBSERVED_CELLS_PER_OBSERVATION * self._codes.n + tuning.OBSERVED_CELLS
        grid = dev.processors * dev.kernels.get(*kernel).blocks_per_processor(THREADS, shared_bytes(level))
        large = cells > tuning.CELLS
        if large:
            grid = max(1, min(grid, tuning.LARGE_TABLE_BYTES // (4 * cells)))
        tables = dev.scratch.take(4 * cells * grid) if large else None
        configurations = tuning.CONFIGURATIONS if self._codes.by_planes else 0
        return grid, TableSpace(tables, cells, tuning.CELLS, tuning.MASK_WORDS, configurations)

    def _new_list(self, dev: Device, level: int) -> Doubtful:
        take, room = dev.scratch.take, self._room_for_doubtful
        addresses = (take(size) for size in (8, 8 * room, 8 * room, 4 * room, 4 * room, 4 * room * max(1, level)))
        self._list = Doubtful(*addresses, room)
        dev.cp.cuda.runtime.memsetAsync(self._list.count, 0, 8, dev.stream.ptr)
        return self._list

    def test_pairs(self, dev: Device, graph: Graph, level: Level, gaps: Any, fixed: Any) -> None:
        """Launch the tests of level 0: they write graph.G, which is zero before, and the upper triangle of graph.C."""
        grid, space = self._space(dev, PAIRS[0], 0)
        largest = ctypes.c_void_p(graph.C)
        args = (graph, level, self._codes.on_device, space, self._new_list(dev, 0), largest, ptr(gaps), ptr(fixed))
        dev.launch(*PAIRS[0], (grid,), (THREADS,), args, shared_bytes(0))

    def launch(
        self, dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None, *, again: bool = False
    ) -> None:
        """Launch the tests of a level >= 1, side A before side B.

        `again`: once more, because the list of doubtful tests was too short.
        """
        l, p, most = level.level, graph.p, comb(outlook.widest, level.level)
        grid, space = self._space(dev, SETS[2], l)
        doubtful, n_rows = self._new_list(dev, l), max(1, sum(outlook.rows))
        queue = Queue(dev.scratch.take(8 * (p + 1)), None, 1, p, TICKETS)
        opened = dev.scratch.take(4 * p)
        for side in (0, 1):
            args: tuple[Any, ...] = (graph, level, SetRange(opened, 0, 0, 1, side), i32(again))
            dev.launch(*SETS[0], (p,), (32,), args)
            first, end = 0, max(tuning.FIRST_SETS, 2 * grid // n_rows)
            while first < most:
                end = min(end, most)
                chunk = max(1, min(tuning.DISCRETE_SETS_PER_ITEM, n_rows * (end - first) // (8 * grid)))
                sets = SetRange(opened, first, end, chunk, side)
                dev.launch(*SETS[1], (1,), (1024,), (graph, level, queue, sets))
                args = (graph, level, self._codes.on_device, space, doubtful, queue, sets)
                dev.launch(*SETS[2], (grid,), (THREADS,), args, shared_bytes(l))
                first, end = end, (1 + tuning.GROWTH) * end

    def finish_records(self, dev: Device, graph: Graph, level: Level, records: Records, most: int) -> None:
        """Launch the kernels that find the sets and p-values of the records, at most `most`."""
        grid, space = self._space(dev, RECORDS[0], level.level)
        df = ctypes.c_void_p(dev.scratch.take(8 * most))
        args: tuple[Any, ...] = (graph, level, self._codes.on_device, space, records, df)
        dev.launch(*RECORDS[0], (min(grid, most),), (THREADS,), args, shared_bytes(level.level))
        args = (graph, level, records, df, ptr(dev.answer))
        dev.launch(*RECORDS[1], (min(2048, -(-most // 64)),), (64,), args)

    def complete(self, dev: Device, graph: Graph, level: int, launch: Callable[[], None], tick: Tick) -> int:
        """Make the doubtful ones of the launched tests on the host, as the engine "cpu" does; returns their number.

        If the list was too short for them, `launch` first launches the tests once more.
        """
        count = self._count(dev, tick)
        if count > self._list.room:  # removals stay; the second run meets the same doubtful tests, or fewer
            self._room_for_doubtful = count + count // 8
            launch()
            count = self._count(dev, tick)
        if count:
            self._settle(dev, graph, level, count)
        return count

    def _count(self, dev: Device, tick: Tick) -> int:
        (count,) = dev.transfers.download((self._list.count, np.uint64, (1,)))
        dev.wait(tick)
        return int(count[0])

    def _settle(self, dev: Device, graph: Graph, level: int, count: int) -> None:
        found = self._list
        pieces = ((found.x, np.int32, (count,)), (found.y, np.int32, (count,)), (found.S, np.int32, (count, level)))
        x, y, sets = dev.transfers.download(*pieces)
        dev.wait()
        independent, p_value = self.on_host(x, y, sets)
        outcome, value = dev.transfers.copied(independent.view(np.uint8)), dev.transfers.copied(p_value)
        args = (graph, found, i64(count), ptr(None if level else graph.C), ptr(outcome), ptr(value))
        dev.launch(*ENTER, (min(1024, -(-count // 256)),), (256,), args)
        dev.wait()

    def on_host(self, *tests: NDArray[Any]) -> tuple[Mask, Floats]:
        """Whether x and y are independent given their sets, and the p-values."""
        from pycupc.independence.discrete.contingency import single_tests  # loads Numba, which most runs do without

        return single_tests(self._codes.data, *tests)


class DiscreteGraph(DeviceGraph):
    """The graph between levels of discrete data; `Graph.z` is minus the largest p-value of each pair."""

    tests: ContingencyTests
    needs_host = True

    def __init__(self, dev: Device, codes: DeviceCodes, gaps: Pairs | None, fixed: Pairs | None) -> None:
        # With n = 0 there are no degrees of freedom for a correlation, so that `settle` leaves z as it is.
        p_values = dev.cp.empty((codes.p, codes.p), dtype=np.float64)
        super().__init__(dev, codes.p, 0, gaps, fixed, ContingencyTests(codes), p_values)
        self._n_doubtful = 0

    @classmethod
    def kernels(cls, level: int) -> list[KernelName]:
        """Kernels that a level needs besides its tests."""
        return [SETTLE] if level else super().kernels(0)

    @classmethod
    def first_kernels(cls) -> list[KernelName]:
        """Kernels of level 0 and of the first neighbour lists."""
        return [*PAIRS, *(("graph/neighbours", name) for name in ("count_neighbours", "list_neighbours"))]

    def launch_level0(self, cutoff: float) -> Running:
        """Make the tests of level 0, the doubtful ones on the host, and launch the next steps; no `cutoff`."""
        self._dev.scratch.reset()
        return super().launch_level0(cutoff)

    def _test_pairs(self, graph: Graph, level: Level) -> None:
        dev = self._dev

        def launch() -> None:
            self.tests.test_pairs(dev, graph, level, *self._masks)

        self._G.data.memset_async(0, self._G.nbytes, dev.stream)
        launch()
        self.tests.complete(dev, graph, 0, launch, lambda: None)
        dev.launch("discrete/pairs", "tally_pairs", (self.p,), (128,), (graph, level, *map(ptr, self._masks)))

    def _list_pairs(self) -> None:
        args = (self._graphs[0], ptr(None), i32(False), f64(0.0), f64(0.0))
        self._dev.launch("graph/neighbours", "list_neighbours", (-(-self.p // 4),), (128,), args)

    def settle(self, graph: Graph, level: Level, tick: Tick) -> Running:
        """As `DeviceGraph.settle`, once the tests have ended and the host has made the doubtful ones."""
        self._n_doubtful = 0
        if any(self.outlook.rows):
            again = functools.partial(self.tests.launch, self._dev, graph, level, self.outlook, again=True)
            self._n_doubtful = self.tests.complete(self._dev, graph, level.level, again, tick)
        return super().settle(graph, level, tick)

    def _finish(self, graph: Graph, level: Level, records: Records, most: int) -> None:
        self.tests.finish_records(self._dev, graph, level, records, most)

    def result(self, running: Running, c: Counters) -> LevelResult:
        """As `DeviceGraph.result`."""
        found = dataclasses.replace(super().result(running, c), n_careful=self._n_doubtful)
        if not self._n_doubtful:
            return found
        self.wait()
        r, of_host = found.r.copy(), np.isnan(found.r)  # the tests whose tables had no room on the device
        r[of_host] = self.tests.on_host(*(values[of_host] for values in (found.x, found.y, found.S)))[1]
        return dataclasses.replace(found, r=r)


def start(dev: Device, data: Data, gaps: Pairs | None, fixed: Pairs | None) -> DiscreteGraph:
    """Copy the problem to the device.

    Raises
    ------
    EngineError
        If blocks have too little shared memory on the device (compute capability 7.5).
    """
    if shared_bytes(0) > dev.shared_block:
        raise EngineError(
            Message(
                "tests of discrete data need {need} KiB of shared memory per block, and {device} has {has} KiB; use "
                "another device, or {cpu}",
                need=shared_bytes(0) >> 10,
                device=dev.name,
                has=dev.shared_block >> 10,
                cpu=Setting("engine", "cpu"),
            )
        )
    return DiscreteGraph(dev, DeviceCodes(dev, data), gaps, fixed)
