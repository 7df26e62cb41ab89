"""Levels from 5 on: a search for the first separating set of each ordered pair; kernels/README.md explains it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.pruning import outcome
from pycupc.engines.gpu.structures import Graph, Level, Pruning, i32

DELTA: KernelName = ("pruning/delta", "find_delta")
SHARED: KernelName = ("pruning/decided", "settle_shared")
#: Launches of search_pairs: largest degree, candidates per lane, threads per block. The tests take wider rows. With 227
#: KiB of shared memory per block, 156 and 215 are the largest degrees with both words, and one word, of R in it.
CLASSES = ((64, 2, 256), (96, 3, 256), (155, 5, 512), (215, 7, 512), (256, 8, 512), (384, 12, 512))
PAIRS: list[KernelName] = [("pruning/search_pairs", f"search_pairs<{slots}>") for _, slots, _ in CLASSES]
#: As in kernels/common/structures.cuh and kernels/pruning/: members taken; a stack of nodes and a FirstSet, in doubles.
MOST_TAKEN, STACK_DOUBLES, FIRST_DOUBLES, DEPTH_DOUBLES = 40, 2048 * 13, 24, 128 * 13
#: Bytes of an Exchange (kernels/pruning/exchange.cuh), and of all before its parts.
EXCHANGE_BYTES, EXCHANGE_ZEROS = 24 + 8192 * (8 + 120), 24 + 8192 * 8


@dataclass(frozen=True)
class Tuning:
    """Numbers that never change an answer; kernels/log.md says what they were tuned on."""

    first_level: int = 5
    least_tests: float = 2e9  # tests of a level: fewer take less time than the search
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
    few_nodes: int = 64  # nodes for a first set after which a block gives others to blocks that have no work


TUNING = Tuning()


def space_doubles(width: int, level: int) -> int:
    """As in kernels/common/structures.cuh."""
    return (min(level, MOST_TAKEN) + 3) * (width + 1)


def pairs_shared(width: int, warps: int, words: int) -> int:
    """Dynamic shared memory per block of search_pairs, in bytes; same layout as the kernel."""
    matrix = (words * (width + 1) ** 2 + 1) // 2
    return 8 * (matrix + width * (1 + warps)) + 2 * warps * (width + 2) + 16


def kernels(level: int, widest: int = CLASSES[-1][0]) -> list[KernelName]:
    """Kernels that the search needs, the same at all levels, for rows of up to `widest` neighbours."""
    lows = (0, *(high for high, _, _ in CLASSES))
    pairs = [kernel for kernel, low in zip(PAIRS, lows, strict=False) if low < widest]
    return [DELTA, *pairs, SHARED, outcome.COUNT, outcome.ENTER]


def worthwhile(level: int, outlook: Outlook) -> bool:
    """Whether the search may pay at a level; search_pairs ends early if it does not."""
    least = max(TUNING.least_tests, TUNING.tests_per_pair * outlook.pairs) * _falling(level)
    enough = outlook.tests_at_most >= least
    return level >= TUNING.first_level and outlook.pairs > 0 and enough and not outlook.ill_conditioned


def launch(
    dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None, *, minimum: bool = False,
    ends_early: bool = True,
) -> Pruning:  # fmt: skip
    """Launch the search; the pairs that it decides are no targets of the tests until `outcome.enter_ranks`.

    With `minimum` it looks for the smallest r^2 of each pair, see search_pairs in kernels/pruning/search_pairs.cu.
    Then it does not end early where it saves no time, nor without `ends_early`. `rows`: see `LevelTests.launch`.
    """
    found = outcome.no_outcome(dev, graph.p, outlook.pairs, rows)
    tests, slower = outlook.tests_at_most, _falling(level.level)
    found.least_sets, found.sets_per_node = TUNING.least_sets, TUNING.sets_per_node * slower
    found.trial = max(TUNING.trial[0], TUNING.trial[1] * tests / found.sets_per_node) if ends_early else math.inf
    found.minimum, found.few_nodes = minimum, TUNING.few_nodes
    found.most_nodes = _clamped(tests / TUNING.tests_per_node, TUNING.nodes)
    found.most_questions = _clamped(tests / (TUNING.tests_per_question * slower), TUNING.questions)
    widest = CLASSES[-1][0]
    cells = min(outlook.widest, widest) ** 2
    outcome.launch_on_rows(dev, DELTA, graph, level, found, widest=widest, cells=cells)
    lows = [0, *(high for high, _, _ in CLASSES)]
    for i, (high, _, _) in enumerate(CLASSES):
        high = min(high, outlook.widest)
        if high > lows[i]:
            _search_pairs(dev, graph, level, found, (i, lows[i], high))
    outcome.launch_on_pairs(dev, SHARED, graph, level, found, outlook.pairs)
    outcome.count_left(dev, graph, found)
    return found


def _falling(level: int) -> float:
    above, factor = TUNING.falling
    return factor ** max(level - above, 0)


def _clamped(value: float, limits: tuple[int, int]) -> int:
    low, high = limits
    return int(min(max(value, low), high))


def _search_pairs(dev: Device, graph: Graph, level: Level, found: Pruning, launch: tuple[int, int, int]) -> None:
    i, low, high = launch
    block = CLASSES[i][2]
    kernel, warps = dev.kernels.get(*PAIRS[i], graph.in_rows), block // 32
    room = dev.shared_block - outcome.STATIC_SHARED
    words = next((n for n in (2, 1) if pairs_shared(high, warps, n) <= room), 0)
    shared = pairs_shared(high, warps, words)
    grid = dev.processors * kernel.blocks_per_processor(block, shared)
    per_warp = FIRST_DOUBLES + DEPTH_DOUBLES + space_doubles(high, level.level)
    own = outcome.with_space(dev, found, grid, STACK_DOUBLES + warps * per_warp + (high + 1) ** 2)
    own.exchange = dev.scratch.take(EXCHANGE_BYTES)
    dev.cp.cuda.runtime.memsetAsync(own.exchange, 0, EXCHANGE_ZEROS, dev.stream.ptr)
    args = (graph, level, own, i32(low), i32(high), i32(i), i32(words))
    kernel((grid,), (block,), args, stream=dev.stream.ptr, shared=shared)
