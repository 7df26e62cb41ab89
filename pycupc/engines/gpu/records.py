"""A running level, the records of levels that have ended, and levels at which the smallest |z| is found later.

Also which paths x - b - z of the final graph are no colliders. The host would have to look at each set or, for each
path, search for the set of x and z: most of the time of an orientation. The device, where the separating sets still
lie, finds the few sets that matter in a fraction of a millisecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import Floats, Ints
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Graph, Recorded, i32, ptr, u64

NONCOLLIDERS: KernelName = ("graph/final", "noncolliders")
#: Most paths that the device lists; a graph with more of them takes so long that the host may as well find them.
MOST_PATHS = 1 << 22
#: Paths that are copied to the host at once, before their number is known there.
AT_ONCE = 1 << 13


def find(dev: Device, graph: Graph, kept: list[Kept]) -> Ints | None:
    """The paths as `Engine.noncolliders` gives them; `graph` is the final one. Waits for the device."""
    members = sum(records.count * records.level for records in kept)
    if not members:
        return np.empty((0, 2), dtype=np.int32)
    dev.scratch.reset()
    room = min(members, MOST_PATHS)
    levels = np.array([(k.found.data.ptr, k.count, k.level) for k in kept], dtype=np.dtype(Recorded))
    on_device = dev.cp.empty(levels.nbytes, dtype=np.uint8)
    dev.transfers.upload(levels.view(np.uint8), on_device)
    count = dev.scratch.take(8 + 8 * room)
    pairs = count + 8
    dev.cp.cuda.runtime.memsetAsync(count, 0, 8, dev.stream.ptr)
    args = (graph, ptr(on_device), i32(len(kept)), ptr(pairs), u64(room), ptr(count))
    dev.launch(*NONCOLLIDERS, (dev.blocks(members),), (256,), args)
    (found,) = dev.transfers.download((count, np.uint64, (1 + min(room, AT_ONCE),)))
    dev.wait()
    n_paths = int(found[0])
    if n_paths > room:
        return None
    if n_paths <= AT_ONCE:
        return found[1 : 1 + n_paths].view(np.int32).reshape(n_paths, 2)
    (paths,) = dev.transfers.download((pairs, np.int32, (n_paths, 2)))
    dev.wait()
    return paths


#: Most bytes of records that the device keeps after their levels.
MOST_KEPT = 1 << 30


@dataclass(frozen=True)
class PendingLevel:
    """A level at which a filter decided pairs without all their tests.

    Attributes
    ----------
    level : int
    cutoff : float
        Largest |r| that a test of the level calls independent.
    offsets : int64 (p + 1,)
    neighbours : int32 (E,)
        The graph that the level tested: the neighbours of x are neighbours[offsets[x] : offsets[x + 1]], ascending.
    unknown : bool (E,) or None
        Ordered pairs whose smallest |z| at this level is still to be found; None: all.
    """

    level: int
    cutoff: float
    offsets: NDArray[np.int64]
    neighbours: Ints
    unknown: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Kept:
    """Records of a level that are still on the device.

    Attributes
    ----------
    found : device array uint8
        The records; see `Found` in kernels/graph/record.cuh.
    count, level : int
    """

    found: Any
    count: int
    level: int


@dataclass(frozen=True)
class Running:
    """A level that has been launched.

    Attributes
    ----------
    level : int
    cutoff : float
        Largest |r| that a test of the level calls independent.
    pairs : int
        Ordered pairs of the graph that it tests.
    found : device array uint8, or None at level 0
        Room for its records.
    """

    level: int
    cutoff: float
    pairs: int
    found: Any


def record_bytes(level: int) -> int:
    """Bytes per record: r, x, y, S; see `Found` in kernels/graph/record.cuh."""
    return 16 + 4 * level


def no_records(level: int) -> tuple[Ints, Ints, Ints, Floats]:
    """x, y, S and r of a level without records."""
    none = np.empty(0, np.int32)
    return none, none, np.empty((0, level), np.int32), np.empty(0)


class RecordCopies:
    """Copies of records to the host, which go on while the next levels run.

    Attributes
    ----------
    kept : list of Kept, or None
        The records of all levels, unless they are too many for the device to keep (`MOST_KEPT`).
    """

    def __init__(self, dev: Device) -> None:
        self._dev = dev
        self.kept: list[Kept] | None = []
        self._bytes = 0  # of the arrays of all levels
        self._copying: list[tuple[Any, Any]] = []  # event at the end of a copy, and the memory to keep until then

    def download(self, found: Any, m: int, level: int) -> tuple[Ints, Ints, Ints, Floats]:
        """Start copying the m records in a device array; returns x, y, S and r, which are complete after `wait`."""
        if not m:
            return no_records(level)
        raw = self._dev.transfers.download_bytes(found.data.ptr, m * record_bytes(level), self._dev.copies)
        self._keep(Kept(found, m, level))
        x, y = np.frombuffer(raw, np.int32, m, 8 * m), np.frombuffer(raw, np.int32, m, 12 * m)
        S = np.frombuffer(raw, np.int32, m * level, 16 * m).reshape(m, level)
        return x, y, S, np.frombuffer(raw, np.float64, m)

    def _keep(self, records: Kept) -> None:
        """Keep the records that are being copied: all, or until the copy ends."""
        self._bytes += records.found.nbytes
        if self.kept is not None:
            self.kept.append(records)
            if self._bytes <= MOST_KEPT:
                return
        event = self._dev.cp.cuda.Event(disable_timing=True)
        event.record(self._dev.copies)
        self._copying = [copying for copying in self._copying if not copying[0].done]
        self._copying.append((event, self.kept or records))
        self.kept = None

    def wait(self) -> None:
        """Wait for all copies."""
        self._dev.copies.synchronize()
        self._copying = []
