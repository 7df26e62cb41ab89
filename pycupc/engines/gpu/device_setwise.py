"""Tests without bounds on the device, set by set: the order of a level, level 0, and the graph between levels.

A family of tests brings its data and three kernels. Tests that these cannot decide with certainty are doubtful: the
host makes them, as the engine "cpu" does.
"""

from __future__ import annotations

import ctypes
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.device_graph import SETTLE, DeviceGraph, Running
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.structures import Counters, Doubtful, Graph, Level, Queue, Records, SetRange, f64, i32, i64, ptr
from pycupc.engines.protocol import Floats, LevelResult, Mask, Pairs

#: Index of the counter of the tickets of a launch; the counters of the sides, 0 and 1, count sets to report progress.
TICKETS = 5

#: The kernels that all families share.
ENTER, TALLY = ("discrete/data", "enter_results"), ("discrete/pairs", "tally_pairs")
PLAN = [("discrete/sets", name) for name in ("count_targets", "plan_sets")]


class Shape(NamedTuple):
    """The launch of a kernel: blocks of a persistent grid, dynamic shared memory of each in bytes, the data."""

    grid: int
    shared: int
    data: tuple[Any, ...]


class DeviceSetwiseTests(ABC):
    """Tests of a level; see `LevelTests`."""

    # pairs, sets, records: the kernels of level 0, of the sets of a level, and of its records; `further` are others
    # that a level needs.
    pairs: KernelName
    sets: KernelName
    records: KernelName
    further: tuple[KernelName, ...] = ()
    threads: int  # threads per block of these kernels
    p: int

    @abstractmethod
    def __init__(self, dev: Device, test: Any) -> None:
        """Send the data of a test to a device."""
        self._dev, self._room_for_doubtful = dev, device_tuning.DOUBTFUL
        self._list: Doubtful

    def graph(self, gaps: Pairs | None, fixed: Pairs | None) -> SetwiseGraph:
        return SetwiseGraph(self._dev, self, gaps, fixed)

    @classmethod
    @abstractmethod
    def memory(cls, test: Any) -> int:
        """Bytes that a run needs at its start."""

    @abstractmethod
    def shape(self, dev: Device, kernel: KernelName, level: int) -> Shape:
        """How to launch one of the kernels."""

    @abstractmethod
    def finish_records(self, dev: Device, graph: Graph, level: Level, records: Records, most: int) -> None:
        """Launch the kernels that find the sets and p-values of the records, at most `most`."""

    @abstractmethod
    def on_host(self, *tests: NDArray[Any]) -> tuple[Mask, Floats]:
        """Whether x and y are independent given their sets, and the p-values."""

    def kernels(self, level: int, outlook: Outlook) -> list[KernelName]:
        return [*PLAN, self.sets, self.records, *self.further] if level else [self.pairs]

    def _new_list(self, dev: Device, level: int) -> Doubtful:
        take, room = dev.scratch.take, self._room_for_doubtful
        addresses = (take(size) for size in (8, 8 * room, 8 * room, 4 * room, 4 * room, 4 * room * max(1, level)))
        self._list = Doubtful(*addresses, room)
        dev.cp.cuda.runtime.memsetAsync(self._list.count, 0, 8, dev.stream.ptr)
        return self._list

    def test_pairs(self, dev: Device, graph: Graph, level: Level, gaps: Any, fixed: Any) -> None:
        """Launch the tests of level 0: they write graph.G, which is zero before, and the upper triangle of graph.C."""
        shape = self.shape(dev, self.pairs, 0)
        largest = ctypes.c_void_p(graph.C)
        args = (graph, level, *shape.data, self._new_list(dev, 0), largest, ptr(gaps), ptr(fixed))
        dev.launch(*self.pairs, (shape.grid,), (self.threads,), args, shape.shared)

    def launch(
        self, dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None, *, again: bool = False
    ) -> None:
        """Launch a level >= 1, side A before side B; `again`: once more, as the list of doubtful tests was short."""
        l, p, most = level.level, graph.p, comb(outlook.widest, level.level)
        shape = self.shape(dev, self.sets, l)
        doubtful, n_rows = self._new_list(dev, l), max(1, sum(outlook.rows))
        queue = Queue(dev.scratch.take(8 * (p + 1)), None, 1, p, TICKETS)
        opened = dev.scratch.take(4 * p)
        for side in (0, 1):
            args: tuple[Any, ...] = (graph, level, SetRange(opened, 0, 0, 1, side), i32(again))
            dev.launch(*PLAN[0], (p,), (32,), args)
            first, end = 0, max(device_tuning.FIRST_SETS, 2 * shape.grid // n_rows)
            while first < most:
                end = min(end, most)
                chunk = max(1, min(device_tuning.DISCRETE_SETS_PER_ITEM, n_rows * (end - first) // (8 * shape.grid)))
                sets = SetRange(opened, first, end, chunk, side)
                dev.launch(*PLAN[1], (1,), (1024,), (graph, level, queue, sets))
                args = (graph, level, *shape.data, doubtful, queue, sets)
                dev.launch(*self.sets, (shape.grid,), (self.threads,), args, shape.shared)
                first, end = end, (1 + device_tuning.GROWTH) * end

    def complete(self, dev: Device, graph: Graph, level: int, launch: Callable[[], None]) -> int:
        """Make the doubtful ones of the launched tests on the host, as the engine "cpu" does; returns their number.

        If the list was too short for them, `launch` first launches the tests once more.
        """
        count = self._count(dev)
        if count > self._list.room:  # removals stay; the second run meets the same doubtful tests, or fewer
            self._room_for_doubtful = count + count // 8
            launch()
            count = self._count(dev)
        if count:
            self._settle(dev, graph, level, count)
        return count

    def _count(self, dev: Device) -> int:
        (count,) = dev.fetch((self._list.count, np.uint64, (1,)))
        return int(count[0])

    def _settle(self, dev: Device, graph: Graph, level: int, count: int) -> None:
        found = self._list
        pieces = ((found.x, np.int32, (count,)), (found.y, np.int32, (count,)), (found.S, np.int32, (count, level)))
        x, y, sets = dev.fetch(*pieces)
        independent, p_value = self.on_host(x, y, sets)
        outcome, value = dev.transfers.copied(independent.view(np.uint8)), dev.transfers.copied(p_value)
        args = (graph, found, i64(count), ptr(None if level else graph.C), ptr(outcome), ptr(value))
        dev.launch(*ENTER, (min(1024, -(-count // 256)),), (256,), args)
        dev.wait()


class SetwiseGraph(DeviceGraph):
    """The graph between levels of such tests; `Graph.z` is minus the largest p-value of each pair."""

    tests: DeviceSetwiseTests
    needs_host = True

    def __init__(self, dev: Device, tests: DeviceSetwiseTests, gaps: Pairs | None, fixed: Pairs | None) -> None:
        # With n = 0 there are no degrees of freedom for a correlation, so that `settle` leaves z as it is.
        p_values = dev.cp.empty((tests.p, tests.p), dtype=np.float64)
        super().__init__(dev, tests.p, 0, gaps, fixed, tests, p_values)
        self._n_doubtful = 0

    @classmethod
    def kernels(cls, level: int) -> list[KernelName]:
        return [SETTLE] if level else super().kernels(0)

    @classmethod
    def first_kernels(cls) -> list[KernelName]:
        return [TALLY, *(("graph/neighbours", name) for name in ("count_neighbours", "list_neighbours"))]

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
        self.tests.complete(dev, graph, 0, launch)
        dev.launch(*TALLY, (self.p,), (128,), (graph, level, *map(ptr, self._masks)))

    def _list_pairs(self) -> None:
        args = (self._graphs[0], ptr(None), i32(False), f64(0.0), f64(0.0))
        self._dev.launch("graph/neighbours", "list_neighbours", (-(-self.p // 4),), (128,), args)

    def settle(self, graph: Graph, level: Level) -> Running:
        """As `DeviceGraph.settle`, once the tests have ended and the host has made the doubtful ones."""
        self._n_doubtful = 0
        if any(self.outlook.rows):
            again = functools.partial(self.tests.launch, self._dev, graph, level, self.outlook, again=True)
            self._n_doubtful = self.tests.complete(self._dev, graph, level.level, again)
        return super().settle(graph, level)

    def _finish(self, graph: Graph, level: Level, records: Records, most: int) -> None:
        self.tests.finish_records(self._dev, graph, level, records, most)

    def result(self, running: Running, c: Counters) -> LevelResult:
        found = super().result(running, c)._replace(n_careful=self._n_doubtful)
        if not self._n_doubtful:
            return found
        self.wait()
        r, of_host = found.r.copy(), np.isnan(found.r)  # tests that the device could not make
        r[of_host] = self.tests.on_host(*(values[of_host] for values in (found.x, found.y, found.S)))[1]
        return found._replace(r=r)
