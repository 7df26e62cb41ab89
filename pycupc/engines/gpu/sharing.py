"""A level in parts: several devices test some rows each, or one a slice of the rows after the other.

Each device is driven by a thread, and all threads run the same code on the same graph. They meet where findings are
joined: the smallest rank of a separating set, and the smallest r^2, are minima, whichever device found them. If the
findings of a run are kept, a long level is cut into slices, and its findings are kept after each.
"""

from __future__ import annotations

import ctypes
import functools
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import LevelTests, Outlook, degrees_of
from pycupc.engines.gpu.structures import Counters, Graph, Level, i64, ptr
from pycupc.engines.protocol import PartsKept

KERNELS: list[KernelName] = [("graph/share", name) for name in ("choose_rows", "join_findings", "join_states")]
CHOOSE, JOIN, STATES = KERNELS
#: Counts of a level that the tests of each device add to.
OF_TESTS = ("doubtful", "decided", "bounds", "spared")
#: The arrays that are kept of a level: `best` and `least` of its graph, and its counts, with the rows that are tested.
KEPT = ("best", "least", "counts")

_T = TypeVar("_T")


class Meeting:
    """Where the threads of `count` devices wait for each other and exchange values."""

    def __init__(self, count: int) -> None:
        self.count, self.barrier, self.values = count, threading.Barrier(count), [None] * count


class Member:
    """One device of several, or of one; the thread that drives it calls the methods when the others call them too.

    `kept`: keeps the findings of the run, or None. `stretch`: shares of the running level's tests that were made before
    the present slice, and that the slice has.
    """

    def __init__(self, meeting: Meeting, number: int, kept: PartsKept | None = None) -> None:
        self._meeting, self.number, self.kept, self.stretch = meeting, number, kept, (0.0, 1.0)
        self._counts = np.zeros(len(OF_TESTS), dtype=np.int64)  # of the slices of the running level

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

    def run(self, dev: Device, tests: LevelTests, of_level: tuple[Graph, Level, Outlook]) -> None:
        """Make the tests of a level, and join the findings of all devices.

        Slices are consecutive rows: side B then knows the removals of the slices before.
        """
        graph, level, outlook = of_level
        sliced = self.kept is not None and outlook.tests_at_most >= device_tuning.SLICED_FROM
        if not sliced and self.count == 1:
            if any(outlook.rows):
                tests.launch(dev, graph, level, outlook)
            return
        degrees = degrees_of(dev, graph)
        if not sliced:
            self._run_rows(dev, tests, of_level, degrees)
            return
        before = np.append(0.0, np.cumsum(degrees * comb(degrees - 1, level.level)))  # tests of the rows before each
        done, size = self._resume(dev, graph, level, outlook.pairs), device_tuning.SLICED_FROM
        while done < graph.p:
            began, end = time.perf_counter(), int(np.searchsorted(before, before[done] + size, side="right")) - 1
            end = graph.p if before[end] == before[-1] else max(done + 1, end)
            self.stretch = before[done] / before[-1], (before[end] - before[done]) / before[-1]
            rows = np.zeros_like(degrees)
            rows[done:end] = degrees[done:end]
            self._run_rows(dev, tests, of_level, rows)
            done = end
            self._count(dev, level)
            if self.number == 0 and self.kept is not None and done < graph.p:
                self.kept.keep_some(level.level, functools.partial(self._findings, dev, graph, outlook.pairs, done))
            size *= min(
                device_tuning.SLICE_GROWTH,
                device_tuning.SLICE_SECONDS / max(self.exchange(time.perf_counter() - began)),
            )
        self.stretch = 0.0, 1.0

    def _resume(self, dev: Device, graph: Graph, level: Level, pairs: int) -> int:
        """Take the findings of a run that was killed; returns the number of rows whose tests it has made."""
        done = 0

        def take(found: dict[str, NDArray[Any]]) -> bool:
            nonlocal done
            best, least, counts = (found[name] for name in KEPT)
            if not (len(best) == len(least) == pairs and len(counts) == len(OF_TESTS) + 1 and counts[-1] <= graph.p):
                return False
            self._counts, done = counts[:-1] if self.number == 0 else self._counts, int(counts[-1])
            for address, array in ((graph.best, best), (graph.least, least)):
                dev.transfers.write(address, np.ascontiguousarray(array))
            dev.launch(*STATES, (dev.blocks(pairs),), (256,), (graph, i64(pairs)))
            return True

        assert self.kept is not None
        self.kept.begin(level.level, take, *KEPT)
        return done

    def _findings(self, dev: Device, graph: Graph, pairs: int, done: int) -> dict[str, NDArray[Any]]:
        """The findings so far, after the tests of the first `done` rows."""
        best, least = dev.fetch(*((address, np.int64, (pairs,)) for address in (graph.best, graph.least)))
        return dict(zip(KEPT, (best, least, np.append(self._counts, done)), strict=True))

    def _count(self, dev: Device, level: Level) -> None:
        """Add the counts of a slice to the counts of the level, and clear them for the next slice."""
        address, size = level.counters, ctypes.sizeof(Counters)
        counters = Counters.from_buffer_copy(dev.peek(address, size))
        dev.cp.cuda.runtime.memsetAsync(address, 0, size, dev.stream.ptr)
        of_all = self.exchange([getattr(counters, name) for name in OF_TESTS])
        if self.number == 0:
            self._counts = self._counts + np.sum(of_all, axis=0, dtype=np.int64)

    def _run_rows(
        self, dev: Device, tests: LevelTests, of_level: tuple[Graph, Level, Outlook], degrees: NDArray[np.int64]
    ) -> None:
        """Make the tests of some rows; `degrees`: of these rows, 0 for the others.

        The rows are dealt out by their degrees, hence by the number of their tests, in turns from the first device to
        the last and back. Further rows for a device that is done would have to be kept back for it: on two devices that
        took longer (kernels/log.md).
        """
        graph, level, outlook = of_level
        fewer = degrees.max(initial=0) - degrees  # than the widest row; 16 bits are sorted ten times as fast
        order = np.argsort(fewer.astype(np.uint16) if outlook.widest < 1 << 16 else fewer, kind="stable")
        turn = np.arange(graph.p) % (2 * self.count)
        own = order[(turn == self.number) | (turn == 2 * self.count - 1 - self.number)]
        mine = np.zeros(graph.p, dtype=np.int32)
        mine[own[degrees[own] > 0]] = 1
        dev.scratch.reset()
        on_device = dev.scratch.take(mine.nbytes)
        dev.cp.cuda.runtime.memcpyAsync(on_device, mine.ctypes.data, mine.nbytes, 1, dev.stream.ptr)
        args = (graph, ptr(on_device), i64(outlook.pairs))
        dev.launch(*CHOOSE, (dev.blocks(outlook.pairs),), (256,), args)
        tests.launch(dev, self._with_peers(dev, graph), level, outlook, on_device)
        dev.wait()
        self._join(dev, graph, outlook.pairs)

    def _with_peers(self, dev: Device, graph: Graph) -> Graph:
        """The graph for the tests, which remove a pair on all devices whose memory this one can write to.

        So another device does not test the pair on side B. It may do so before it is told, as without access.
        """
        others = [other for other in self.exchange((dev.index, graph.G)) if other[0] != dev.index]
        addresses = [G for index, G in others if can_write(dev.cp, dev.index, index)]
        out = Graph.from_buffer_copy(graph)
        if addresses:
            out.peers, out.n_peers = dev.scratch.take(8 * len(addresses)), len(addresses)
            dev.transfers.write(out.peers, np.array(addresses, dtype=np.uint64))
        return out

    def _join(self, dev: Device, graph: Graph, pairs: int) -> None:
        grid, size = (dev.blocks(pairs),), 8 * pairs
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
            dev.launch(*JOIN, grid, (256,), (graph, ptr(best), ptr(least), i64(pairs)))
        dev.launch(*STATES, grid, (256,), (graph, i64(pairs)))

    def total(self, counters: Counters) -> None:
        """Add up the counts of the tests that each device has made, slice after slice."""
        own = self._counts + [getattr(counters, name) for name in OF_TESTS]
        self._counts = np.zeros_like(own)
        for name, count in zip(OF_TESTS, sum(self.exchange(own)).tolist(), strict=True):
            setattr(counters, name, count)

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


@functools.cache
def can_write(cp: Any, device: int, other: int) -> bool:
    """Whether kernels of the current device, number `device`, can write to memory of another; allows it."""
    usual = cp.cuda.get_allocator() == cp.get_default_memory_pool().malloc  # memory that this access extends to
    if not usual or not cp.cuda.runtime.deviceCanAccessPeer(device, other):
        return False
    with suppress(cp.cuda.runtime.CUDARuntimeError):  # it has been allowed already
        cp.cuda.runtime.deviceEnablePeerAccess(other)
    return True
