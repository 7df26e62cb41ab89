"""How several devices share the work of a level: each tests some rows, then all have the findings of all.

Each device is driven by a thread, and all threads run the same code on the same graph. They meet where findings are
joined: the smallest rank of a separating set, and the smallest r^2, are minima, whichever device found them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import LevelTests, Outlook
from pycupc.engines.gpu.structures import Counters, Graph, Level, i64, ptr

#: The kernels.
CHOOSE, JOIN, STATES = "choose_rows", "join_findings", "join_states"
#: Counts of a level that the tests of each device add to.
OF_TESTS = ("doubtful", "decided", "bounds", "spared")

#: Called while the host waits.
Tick = Callable[[], None]
_T = TypeVar("_T")


class Meeting:
    """Where the threads of `count` devices wait for each other and exchange values."""

    def __init__(self, count: int) -> None:
        self.count, self.barrier, self.values = count, threading.Barrier(count), [None] * count


class Member:
    """One device of several; the thread that drives it calls the methods when the others call them too."""

    def __init__(self, meeting: Meeting, number: int) -> None:
        self._meeting, self.number = meeting, number
        self._mine: Any = None

    @property
    def count(self) -> int:
        return self._meeting.count

    def exchange(self, value: _T) -> list[_T]:
        """The values of all members, in the order of their numbers."""
        values: list[Any] = self._meeting.values
        values[self.number] = value
        self._meeting.barrier.wait()
        out = list(values)
        self._meeting.barrier.wait()
        return out

    def kernels(self, graph: Graph) -> list[KernelName]:
        """Kernels that a level needs besides."""
        return [(_file(graph), name) for name in (CHOOSE, JOIN, STATES)]

    def run(self, dev: Device, tests: LevelTests, of_level: tuple[Graph, Level, Outlook], tick: Tick) -> None:
        """Make the tests of some rows, and join the findings of all devices.

        The rows are dealt out by their degrees, hence by the number of their tests, in turns from the first device to
        the last and back. Further rows for a device that is done would have to be kept back for it: on two devices that
        took longer (docs/KERNELS_LOG.md).
        """
        graph, level, outlook = of_level
        (start,) = dev.transfers.download((graph.start, np.int64, (graph.p + 1,)))
        dev.wait(tick)
        degrees = np.diff(start)
        fewer = degrees.max(initial=0) - degrees  # than the widest row; 16 bits are sorted ten times as fast
        order = np.argsort(fewer.astype(np.uint16) if outlook.widest < 1 << 16 else fewer, kind="stable")
        turn = np.arange(graph.p) % (2 * self.count)
        self._mine = mine = np.zeros(graph.p, dtype=np.int32)  # kept until it is copied
        mine[order[(turn == self.number) | (turn == 2 * self.count - 1 - self.number)]] = 1
        dev.scratch.reset()
        on_device = dev.scratch.take(mine.nbytes)
        dev.cp.cuda.runtime.memcpyAsync(on_device, mine.ctypes.data, mine.nbytes, 1, dev.stream.ptr)
        args = (graph, ptr(on_device), i64(outlook.pairs))
        dev.launch(_file(graph), CHOOSE, (dev.blocks(outlook.pairs),), (256,), args)
        tests.launch(dev, graph, level, outlook, on_device)
        dev.wait(tick)
        self._join(dev, graph, outlook.pairs)

    def _join(self, dev: Device, graph: Graph, pairs: int) -> None:
        grid, file, size = (dev.blocks(pairs),), _file(graph), 8 * pairs
        found = self.exchange((dev.index, graph.best, graph.least))
        dev.scratch.reset()
        copies = []
        for number, (index, *arrays) in enumerate(found):
            if number != self.number:
                copies.append([dev.scratch.take(size) for _ in arrays])
                for to, source in zip(copies[-1], arrays, strict=True):
                    dev.cp.cuda.runtime.memcpyPeerAsync(to, dev.index, source, index, size, dev.stream.ptr)
        dev.wait()
        self._meeting.barrier.wait()  # all have copied, so that all may change theirs
        for best, least in copies:
            dev.launch(file, JOIN, grid, (256,), (graph, ptr(best), ptr(least), i64(pairs)))
        dev.launch(file, STATES, grid, (256,), (graph, i64(pairs)))

    def total(self, counters: Counters) -> None:
        """Add up the counts of the tests that each device has made."""
        for name, *of_all in zip(OF_TESTS, *self.exchange([getattr(counters, name) for name in OF_TESTS]), strict=True):
            setattr(counters, name, sum(of_all))

    def gather(self, dev: Device, keys: Any, count: int, room_for: Callable[[int], Any]) -> tuple[Any, int]:
        """The first `count` numbers, uint64, of each device's array, in an array of `room_for`; how many they are."""
        found = self.exchange((dev.index, int(keys.data.ptr), count))
        total = sum(n for _, _, n in found)
        out, at = room_for(total), 0
        for index, source, n in found:
            if n:
                to = int(out.data.ptr) + 8 * at
                dev.cp.cuda.runtime.memcpyPeerAsync(to, dev.index, source, index, 8 * n, dev.stream.ptr)
            at += n
        dev.wait()
        self._meeting.barrier.wait()  # all have copied, so that all may release theirs
        return out, total


def _file(graph: Graph) -> str:
    """The file of the kernels, by whether each row has a matrix."""
    return "rows/share" if graph.matrix else "graph/share"
