"""What the CPU engine does for the GPU engine: levels whose tests the device cannot count, and the smallest |z|.

The CPU engine is imported where it is needed: it loads Numba, which most runs on the GPU do without.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from pycupc.engines.base import Floats, Ints, ProgressHook
from pycupc.engines.gpu.graph import DeviceGraph
from pycupc.engines.gpu.records import PendingLevel
from pycupc.gaussian.suffstat import SuffStat

if TYPE_CHECKING:
    from pycupc.engines.cpu import CpuEngine
    from pycupc.engines.cpu.pruning.minimum import PrunedTests


def take_over(data: SuffStat, graph: DeviceGraph, level: int, progress: ProgressHook | None) -> CpuEngine:
    """The CPU engine, started in the middle of a run: `level` will be its first."""
    from pycupc.engines.cpu import CpuEngine

    warnings.warn(
        f"level {level} may need more than 2^62 tests (variable {graph.outlook.busiest} has {graph.outlook.widest} "
        "neighbours), which the device cannot count: the CPU takes over from this level on",
        stacklevel=5,
    )
    engine = CpuEngine()
    engine.resume(data, graph.edges(), graph.fixed, _levels(graph.pending), progress)
    return engine


def smallest_z(data: SuffStat, pending: list[PendingLevel], x: Ints, y: Ints, z: Floats) -> Floats:
    """The smallest |z| of all tests of each edge; `z` holds the smallest that is known."""
    from pycupc.engines.cpu.pruning.minimum import SmallestZ

    C = data.C.view()
    C.flags.writeable = False
    return SmallestZ.on_all_cores(C, data.n, _levels(pending), x, y, z)()


def _levels(pending: list[PendingLevel]) -> list[PrunedTests]:
    from pycupc.engines.cpu.pruning.minimum import PrunedTests

    return [PrunedTests.whole(v.level, v.cutoff, v.offsets, v.neighbours, v.unknown) for v in pending]
