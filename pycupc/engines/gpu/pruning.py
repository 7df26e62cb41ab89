"""The filter of certificates before the tests of a level: pairs that provably no conditioning set separates.

The mathematics is in kernels/pruning/README.md. A certified pair is no target of the tests, so that all removals,
separating sets and counts are those of the tests alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.graph import Outlook
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Filter, Graph, Level, i32, i64

ROWS, PROVE = ("pruning/rows", "bound_rows"), ("pruning/pairs", "prove_pairs")
COUNT, LIFT = ("pruning/pairs", "count_open"), ("pruning/pairs", "lift")
KERNELS: list[KernelName] = [ROWS, PROVE, COUNT, LIFT]
#: Launches of prove_pairs: largest degree, threads per block in each pass. Wider rows are left to the tests.
CLASSES = (
    (32, (128, 256, 64, 64)),
    (64, (128, 256, 64, 64)),
    (96, (256, 256, 128, 128)),
    (160, (512, 512, 256, 256)),
    (256, (512, 512, 256, 256)),
)
#: As in kernels/common/structures.cuh and kernels/pruning/.
PASSES = 4
MOST_TAKEN, STACK_DOUBLES, DEPTH_DOUBLES, ROW_BLOCK = 40, 512 * 9, 128 * 9, 256


@dataclass(frozen=True)
class Tuning:
    """Numbers that never change an answer; kernels/LOG.md says what they were tuned on."""

    first_level: int = 4
    least_tests: float = 5e9  # of a level: fewer take less time than the filter
    tests_per_pair: float = 1e5  # of a level, on average
    least_sets: float = 1000.0  # of a pair
    sets_per_node: float = 1500.0  # sets that are tested in the time of a node, for 32 neighbours


TUNING = Tuning()


def bench_doubles(width: int, level: int) -> int:
    """As in kernels/common/structures.cuh."""
    return (min(level, MOST_TAKEN) + 3) * (width + 1)


def pairs_shared(width: int, warps: int, inside: bool) -> int:
    """Dynamic shared memory of prove_pairs in bytes; same layout as the kernel."""
    doubles = (width + 1) ** 2 * inside + width * (1 + warps)
    return 8 * doubles + 2 * warps * (width + 2) + 16


def worthwhile(level: int, outlook: Outlook) -> bool:
    """Whether the filter may pay at a level: prove_pairs gives up early where it then does not."""
    enough = outlook.tests_at_most >= max(TUNING.least_tests, TUNING.tests_per_pair * outlook.pairs)
    return level >= TUNING.first_level and enough and not outlook.ill_conditioned


def launches(outlook: Outlook) -> list[tuple[int, int, int]]:
    """(class, degrees above, degrees up to) for each launch of prove_pairs."""
    highs = [high for high, _ in CLASSES]
    bounds = zip([0, *highs[:-1]], highs, strict=True)
    return [(i, low, min(high, outlook.widest)) for i, (low, high) in enumerate(bounds) if outlook.widest > low]


def certify(dev: Device, graph: Graph, level: Level, outlook: Outlook) -> Filter:
    """Certify pairs of the level; they are no targets until `lift`."""
    take, p, pairs = dev.scratch.take, graph.p, outlook.pairs
    outcome = take(pairs)
    dev.cp.cuda.runtime.memsetAsync(outcome, 0, pairs, dev.stream.ptr)
    found = Filter(take(8 * pairs), take(8 * p), take(4 * p), outcome, take(8 * pairs), take(8 * pairs))
    found.least_sets, found.sets_per_node = TUNING.least_sets, TUNING.sets_per_node
    _bound_rows(dev, graph, level, found, outlook)
    for turn in range(PASSES):
        ready = dev.stream.record()
        for launch, stream in zip(reversed(launches(outlook)), dev.side, strict=False):  # widest rows first
            stream.wait_event(ready)
            _prove_pairs(dev, graph, level, found, launch, turn, stream)
            dev.stream.wait_event(stream.record())
    dev.launch(*COUNT, (graph.p,), (32,), (graph, found))
    return found


def lift(dev: Device, graph: Graph, level: Level, found: Filter, pairs: int) -> None:
    """Take the mark from certified pairs, after the tests."""
    dev.launch(*LIFT, (min(4096, -(-pairs // 256)),), (256,), (graph, level, found, i64(pairs)))


def _bound_rows(dev: Device, graph: Graph, level: Level, found: Filter, outlook: Outlook) -> None:
    kernel = dev.kernels.get(*ROWS)
    width = min(outlook.widest, CLASSES[-1][0])
    room = min(width**2, (dev.shared_block - 16384) // 8)
    grid = min(graph.p, dev.processors * kernel.blocks_per_processor(ROW_BLOCK, 8 * room))
    own = Filter.from_buffer_copy(found)
    own.work_doubles = 0 if room == width**2 else width**2
    own.work = dev.scratch.take(8 * grid * own.work_doubles)
    kernel((grid,), (ROW_BLOCK,), (graph, level, own, i32(room)), stream=dev.stream.ptr, shared=8 * room)


def _prove_pairs(
    dev: Device, graph: Graph, level: Level, found: Filter, launch: tuple[int, int, int], turn: int, stream: Any
) -> None:
    i, low, high = launch
    block = CLASSES[i][1][turn]
    kernel, warps = dev.kernels.get(*PROVE), block // 32
    inside = pairs_shared(high, warps, True) <= dev.shared_block - 8192
    shared = pairs_shared(high, warps, inside)
    grid = dev.processors * kernel.blocks_per_processor(block, shared)
    own = Filter.from_buffer_copy(found)
    own.sets_per_node *= (high / 32) ** 1.5
    own.work_doubles = STACK_DOUBLES + warps * (DEPTH_DOUBLES + bench_doubles(high, level.level))
    own.work_doubles += 0 if inside else (high + 1) ** 2
    own.work = dev.scratch.take(8 * grid * own.work_doubles)
    args = (graph, level, own, i32(low), i32(high), i32(i), i32(turn), i32(inside))
    kernel((grid,), (block,), args, stream=stream.ptr, shared=shared)
