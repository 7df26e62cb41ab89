"""What the CPU engine does for the GPU engine: levels whose tests the device cannot count, the smallest |z|, checks.

The CPU engine is imported where it is needed: it loads Numba, which most runs on the GPU do without.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pycupc.engines.base import Floats, Ints, ProgressHook
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.graph import DeviceGraph
from pycupc.engines.gpu.records import PendingLevel
from pycupc.engines.gpu.structures import Filter, Graph, Level
from pycupc.gaussian.suffstat import SuffStat
from pycupc.system.machine import available_cores
from pycupc.system.message import Message, Variable

if TYPE_CHECKING:
    from pycupc.engines.cpu import CpuEngine
    from pycupc.engines.cpu.pruning.minimum import PrunedTests

#: Rank of a pair that no set separates (kernels/common/structures.cuh).
NOT_SEPARATED = 2**64 - 1


def take_over(data: SuffStat, graph: DeviceGraph, level: int, progress: ProgressHook | None) -> CpuEngine:
    """The CPU engine, started in the middle of a run: `level` will be its first."""
    from pycupc.engines.cpu import CpuEngine

    warnings.warn(
        Message(
            "level {level} may need more than 2^62 tests (variable {x} has {d} neighbours), which the device cannot "
            "count: the CPU takes over from this level on",
            level=level,
            x=Variable(graph.outlook.busiest),
            d=graph.outlook.widest,
        ),
        stacklevel=6,
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


def check(dev: Device, data: SuffStat, at: tuple[Graph, Level, int], found: Filter) -> None:
    """Make tests of some pairs that a filter has decided, on the CPU: the mode "checked".

    Parameters
    ----------
    dev : Device
    data : SuffStat
    at : tuple
        Graph and level of the filter, and the number of ordered pairs.
    found : Filter

    Raises
    ------
    EngineError
        If a test contradicts what the filter has found.
    """
    from pycupc.engines.cpu import threads
    from pycupc.engines.cpu.certainty import Cutoff
    from pycupc.engines.cpu.gaussian import GaussianTests
    from pycupc.engines.cpu.graph import Graph as GraphOnCpu

    graph, level, pairs = at
    pieces = ((graph.start, np.int64, graph.p + 1), (graph.column, np.int32, pairs), (found.decided, np.uint8, pairs))
    more = ((found.rank, np.uint64, pairs), (found.spares, np.int64, pairs))
    arrays = dev.transfers.download(*((address, dtype, (size,)) for address, dtype, size in (*pieces, *more)))
    dev.wait()
    offsets, neighbours, decided, rank, tests_up_to_it = arrays
    of_level = GraphOnCpu.of_lists(offsets, neighbours)
    findings, separated = of_level.no_findings(), (decided == 1) & (rank != NOT_SEPARATED)
    findings.rank[separated] = tests_up_to_it[separated] - 1  # the CPU engine numbers the subsets without y
    tests = GaussianTests(data.C, data.n, pruning=False)
    cutoff = Cutoff.around(level.cutoff)
    for tasks, size in tests.check(of_level, decided == 1, level.level, cutoff, findings):
        threads.run(tasks, available_cores(), size)


def _levels(pending: list[PendingLevel]) -> list[PrunedTests]:
    from pycupc.engines.cpu.pruning.minimum import PrunedTests

    return [PrunedTests.whole(v.level, v.cutoff, v.offsets, v.neighbours, v.unknown) for v in pending]
