"""A filter before the tests of a long level from 5 on: a search for a separating set of each ordered pair.

kernels/README.md explains it. Pairs that provably no set separates, and pairs whose first separating set the search
finds, are no targets of the tests. Removals, separating sets and counts are the same as without the filter.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.structures import Pruning, Graph, Level, i32, i64

ROWS: KernelName = ("pruning/delta", "find_delta")
SHARED: KernelName = ("pruning/decided", "settle_shared")
COUNT: KernelName = ("pruning/decided", "count_left")
LIFT: KernelName = ("pruning/decided", "lift")
#: Launches of search_pairs: largest degree, candidates per lane, threads per block. The tests take wider rows. With 227
#: KiB of shared memory per block, 156 and 215 are the largest degrees with both words, and one word, of R in it.
CLASSES = ((64, 2, 256), (96, 3, 256), (155, 5, 512), (215, 7, 512), (256, 8, 512), (384, 12, 512))
PAIRS: list[KernelName] = [("pruning/search", f"search_pairs<{slots}>") for _, slots, _ in CLASSES]
#: As in kernels/common/structures.cuh and kernels/pruning/: members taken; two stacks of nodes and a quest, in doubles.
MOST_TAKEN, STACK_DOUBLES, FIRST_DOUBLES, DEPTH_DOUBLES = 40, 2048 * 13, 24, 128 * 13
#: Bytes of an Exchange (kernels/pruning/exchange.cuh), and of all before its parts.
EXCHANGE_BYTES, EXCHANGE_ZEROS = 24 + 8192 * (8 + 120), 24 + 8192 * 8
#: Threads per block of `launch_on_rows`; most bytes of static shared memory of any of the filters' kernels.
ROW_BLOCK, STATIC_SHARED = 256, 8192


@dataclass(frozen=True)
class Tuning:
    """Numbers that never change an answer; docs/KERNELS_LOG.md says what they were tuned on."""

    first_level: int = 5
    least_tests: float = 2e9  # tests of a level: fewer take less time than the filter
    tests_per_pair: float = 1.5e5  # average tests per pair of a level: likewise
    # At each level above this one, numbers of tests that stand for a time are multiplied by the factor once more, since
    # tests take longer there.
    falling: tuple[int, float] = (10, 0.75)
    least_sets: float = 4000.0  # conditioning sets of a pair: one with fewer is left to the tests
    sets_per_node: float = 8000.0  # conditioning sets that are tested in the time that a node takes
    # Nodes after which the search is given up unless it has saved time: at least the first number; the second number is
    # a share of the nodes that take as long as all tests of the level.
    trial: tuple[float, float] = (20000.0, 0.02)
    # Most nodes per pair in one block: to decide whether a set separates it, and to find its first set. A long level
    # has time for more, so they are its tests divided by a number, between two limits.
    nodes: tuple[int, int] = (4096, 1 << 20)
    tests_per_node: float = 1e5
    questions: tuple[int, int] = (512, 1 << 17)
    tests_per_question: float = 4e8
    few_nodes: int = 1024  # nodes of a pair after which a block gives others to blocks that have no work


TUNING = Tuning()


def space_doubles(width: int, level: int) -> int:
    """As in kernels/common/structures.cuh."""
    return (min(level, MOST_TAKEN) + 3) * (width + 1)


def pairs_shared(width: int, warps: int, words: int) -> int:
    """Dynamic shared memory per block of search_pairs, in bytes; same layout as the kernel."""
    matrix = (words * (width + 1) ** 2 + 1) // 2
    return 8 * (matrix + width * (1 + warps)) + 2 * warps * (width + 2) + 16


def kernels(level: int) -> list[KernelName]:
    """Kernels that the filter of a level needs."""
    return all_kernels()


def all_kernels() -> list[KernelName]:
    """Kernels that a run may need."""
    return [ROWS, *PAIRS, SHARED, COUNT, LIFT]


def worthwhile(level: int, outlook: Outlook) -> bool:
    """Whether the filter may pay at a level; search_pairs gives up early if it does not."""
    least = max(TUNING.least_tests, TUNING.tests_per_pair * outlook.pairs) * _falling(level)
    enough = outlook.tests_at_most >= least
    return level >= TUNING.first_level and outlook.pairs > 0 and enough and not outlook.ill_conditioned


def new_filter(dev: Device, p: int, pairs: int) -> Pruning:
    """Allocate the arrays of a filter that has decided nothing."""
    take = dev.scratch.take
    decided = take(pairs)
    dev.cp.cuda.runtime.memsetAsync(decided, 0, pairs, dev.stream.ptr)
    return Pruning(take(8 * pairs), take(8 * p), take(4 * p), decided, take(8 * pairs), take(8 * pairs))


def certify(dev: Device, graph: Graph, level: Level, outlook: Outlook, *, minimum: bool = False) -> Pruning:
    """Launch the filter; the pairs that it decides are no targets of the tests until `lift`.

    With `minimum` it looks for the smallest r^2 of each pair, see search_pairs in kernels/pruning/search.cu, and does not
    give up.
    """
    p = graph.p
    found = new_filter(dev, p, outlook.pairs)
    tests, slower = outlook.tests_at_most, _falling(level.level)
    found.least_sets, found.sets_per_node = TUNING.least_sets, TUNING.sets_per_node * slower
    found.trial = max(TUNING.trial[0], TUNING.trial[1] * tests / found.sets_per_node)
    found.minimum, found.few_nodes = minimum, TUNING.few_nodes
    found.most_nodes = _clamped(tests / TUNING.tests_per_node, TUNING.nodes)
    found.most_questions = _clamped(tests / (TUNING.tests_per_question * slower), TUNING.questions)
    widest = CLASSES[-1][0]
    cells = min(outlook.widest, widest) ** 2
    launch_on_rows(dev, ROWS, graph, level, found, widest=widest, cells=cells)
    lows = [0, *(high for high, _, _ in CLASSES)]
    for i, (high, _, _) in enumerate(CLASSES):
        high = min(high, outlook.widest)
        if high > lows[i]:
            _prove_pairs(dev, graph, level, found, (i, lows[i], high))
    dev.launch(*SHARED, (min(4096, -(-outlook.pairs // 256)),), (256,), (graph, level, found, i64(outlook.pairs)))
    dev.launch(*COUNT, (p,), (32,), (graph, found))
    return found


def _falling(level: int) -> float:
    above, factor = TUNING.falling
    return factor ** max(level - above, 0)


def _clamped(value: float, limits: tuple[int, int]) -> int:
    low, high = limits
    return int(min(max(value, low), high))


def lift(dev: Device, graph: Graph, level: Level, found: Pruning, pairs: int) -> None:
    """Launch the kernel that gives decided pairs their ranks, after the tests."""
    dev.launch(*LIFT, (min(4096, -(-pairs // 256)),), (256,), (graph, level, found, i64(pairs)))


def launch_on_rows(
    dev: Device, name: KernelName, graph: Graph, level: Level, found: Pruning, *, widest: int, cells: int
) -> None:
    """Launch a kernel that takes one row at a time per block, with its matrix of up to `cells` doubles.

    The matrix lies in shared memory where that has room, else in global memory. `widest`: largest degree of a row.
    """
    kernel = dev.kernels.get(*name)
    room = min(cells, (dev.shared_block - STATIC_SHARED) // 8)
    grid = min(graph.p, dev.processors * kernel.blocks_per_processor(ROW_BLOCK, 8 * room))
    own = Pruning.from_buffer_copy(found)
    own.work_doubles = 0 if room == cells else cells
    own.work = dev.scratch.take(8 * grid * own.work_doubles)
    args = (graph, level, own, i32(widest), i32(room))
    kernel((grid,), (ROW_BLOCK,), args, stream=dev.stream.ptr, shared=8 * room)


def _prove_pairs(dev: Device, graph: Graph, level: Level, found: Pruning, launch: tuple[int, int, int]) -> None:
    i, low, high = launch
    block = CLASSES[i][2]
    kernel, warps = dev.kernels.get(*PAIRS[i]), block // 32
    room = dev.shared_block - STATIC_SHARED
    words = next((n for n in (2, 1) if pairs_shared(high, warps, n) <= room), 0)
    shared = pairs_shared(high, warps, words)
    grid = dev.processors * kernel.blocks_per_processor(block, shared)
    own = Pruning.from_buffer_copy(found)
    per_warp = FIRST_DOUBLES + DEPTH_DOUBLES + space_doubles(high, level.level)
    own.work_doubles = STACK_DOUBLES + warps * per_warp + (high + 1) ** 2
    own.work, own.exchange = dev.scratch.take(8 * grid * own.work_doubles), dev.scratch.take(EXCHANGE_BYTES)
    dev.cp.cuda.runtime.memsetAsync(own.exchange, 0, EXCHANGE_ZEROS, dev.stream.ptr)
    args = (graph, level, own, i32(low), i32(high), i32(i), i32(words))
    kernel((grid,), (block,), args, stream=dev.stream.ptr, shared=shared)
