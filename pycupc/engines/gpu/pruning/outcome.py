"""The outcome of pruning on the device, for the walk and the search: which pairs are decided, and their ranks."""

from __future__ import annotations

import numpy as np

from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Graph, Level, Pruning, i32, i64
from pycupc.independence.gaussian.test import GaussianTest

COUNT: KernelName = ("pruning/decided", "count_left")
ENTER: KernelName = ("pruning/decided", "enter_ranks")
#: Threads per block of `launch_on_rows`; most bytes of static shared memory of any kernel of pruning.
ROW_BLOCK, STATIC_SHARED = 256, 8192
#: Rank of a pair that no set separates (kernels/common/structures.cuh).
NOT_SEPARATED = 2**64 - 1


def no_outcome(dev: Device, p: int, pairs: int, rows: int | None) -> Pruning:
    """Allocate the arrays of an outcome in which nothing is decided; `rows`: see Pruning.rows."""
    take = dev.scratch.take
    decided = take(pairs)
    dev.cp.cuda.runtime.memsetAsync(decided, 0, pairs, dev.stream.ptr)
    found = Pruning(take(8 * pairs), take(8 * p), take(4 * p), decided, take(8 * pairs), take(8 * pairs))
    found.rows = rows
    return found


def launch_on_pairs(dev: Device, name: KernelName, graph: Graph, level: Level, found: Pruning, pairs: int) -> None:
    """Launch a kernel that gives each ordered pair a thread."""
    dev.launch(*name, (min(4096, -(-pairs // 256)),), (256,), (graph, level, found, i64(pairs)))


def launch_on_rows(
    dev: Device, name: KernelName, graph: Graph, level: Level, found: Pruning, *, widest: int, cells: int
) -> None:
    """Launch a kernel that takes one row at a time per block, with its matrix of up to `cells` doubles.

    The matrix lies in shared memory where that has room, else in global memory. `widest`: largest degree of a row.
    The rows are counted in `found.left`.
    """
    kernel = dev.kernels.get(*name, graph.in_rows)
    room = min(cells, (dev.shared_block - STATIC_SHARED) // 8)
    grid = min(graph.p, dev.processors * kernel.blocks_per_processor(ROW_BLOCK, 8 * room))
    own = with_space(dev, found, grid, 0 if room == cells else cells)
    dev.cp.cuda.runtime.memsetAsync(found.left, 0, 4, dev.stream.ptr)
    args = (graph, level, own, i32(widest), i32(room))
    kernel((grid,), (ROW_BLOCK,), args, stream=dev.stream.ptr, shared=8 * room)


def with_space(dev: Device, found: Pruning, grid: int, doubles: int) -> Pruning:
    """A copy of `found` with work space of its own: the number `doubles` of doubles for each block of a grid."""
    own = Pruning.from_buffer_copy(found)
    own.work_doubles, own.work = doubles, dev.scratch.take(8 * grid * doubles)
    return own


def count_left(dev: Device, graph: Graph, found: Pruning) -> None:
    """Launch the kernel that counts the pairs of each row that are left to the tests."""
    dev.launch(*COUNT, (graph.p,), (32,), (graph, found))


def enter_ranks(dev: Device, graph: Graph, level: Level, found: Pruning, pairs: int) -> None:
    """Launch the kernel that gives decided pairs their ranks, after the tests."""
    launch_on_pairs(dev, ENTER, graph, level, found, pairs)


def check(dev: Device, test: GaussianTest, at: tuple[Graph, Level, int], found: Pruning) -> None:
    """Mode "checked": make tests of some decided pairs on the CPU; EngineError if one contradicts."""
    from pycupc.engines.cpu.check import check_level  # here: it loads Numba, which most runs on the GPU do without
    from pycupc.engines.cpu.cpu_engine import CpuEngine
    from pycupc.engines.cpu.graph import Graph as GraphOnCpu

    graph, level, pairs = at
    dtypes = ((graph.column, np.int32), (found.decided, np.uint8), (found.rank, np.uint64), (found.spares, np.int64))
    pieces = ((address, dtype, (pairs,)) for address, dtype in dtypes)
    offsets, neighbours, decided, rank, tests_up_to_it = dev.fetch((graph.start, np.int64, (graph.p + 1,)), *pieces)
    of_level = GraphOnCpu.of_lists(offsets, neighbours)
    findings, separated = of_level.no_findings(), (decided == 1) & (rank != NOT_SEPARATED)
    findings.rank[separated] = tests_up_to_it[separated] - 1  # the CPU engine numbers the subsets without y
    engine = CpuEngine(pruning=False)
    engine.take(test, [""] * test.p)
    check_level(of_level, np.flatnonzero(decided == 1), findings, level.level, engine.first_separating)
