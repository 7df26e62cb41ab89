"""Which paths x - b - z of the final graph are no colliders, found on the device, where the separating sets still lie.

The host would read every set, or search for a set for each path, which takes most of the time of an orientation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Graph, i32, i64, ptr, u64
from pycupc.engines.protocol import Ints

NONCOLLIDERS: KernelName = ("graph/noncolliders", "noncolliders")


class KeptRecords:
    """The records of the levels of a run, which stay on the device unless they take much of its memory."""

    def __init__(self) -> None:
        self._levels: list[tuple[int, Any, int]] | None = []

    def keep(self, level: int, found: Any, count: int) -> None:
        """Keep the `count` records of a level, a device array as of `Records`."""
        if self._levels is not None and count:
            self._levels.append((level, found, count))
            if sum(int(found.nbytes) for _, found, _ in self._levels) > device_tuning.KEPT_RECORDS:
                self.forget()

    def forget(self) -> None:
        """Nothing is known of this run any more."""
        self._levels = None

    def noncolliders(self, dev: Device, graph: Graph) -> Ints | None:
        """As of `State.noncolliders`; `graph` is the final one. Waits for the device."""
        if self._levels is None:
            return None
        if not self._levels:
            return np.empty((0, 3), dtype=np.int32)
        room = min(sum(level * count for level, _, count in self._levels), device_tuning.MOST_PATHS)
        number = dev.scratch.take(8 + 12 * room)
        paths = number + 8
        dev.cp.cuda.runtime.memsetAsync(number, 0, 8, dev.stream.ptr)
        for level, found, count in self._levels:
            args: tuple[Any, ...] = (graph, ptr(found), i64(count), i32(level), ptr(paths), u64(room), ptr(number))
            dev.launch(*NONCOLLIDERS, (dev.blocks(level * count),), (256,), args)
        (n,) = dev.fetch((number, np.uint64, (1,)))
        if n[0] > room:
            return None
        (out,) = dev.fetch((paths, np.int32, (int(n[0]), 3)))
        return out
