"""Which paths x - b - z of the final graph are no colliders, found on the device, where the separating sets still lie.

The host would have to look at each set or, for each path, search for the set of x and z: most of the time of an
orientation. The device finds the few sets that matter in a fraction of a millisecond.
"""

from __future__ import annotations

import numpy as np

from pycupc.engines.base import Ints
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.records import Kept
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
