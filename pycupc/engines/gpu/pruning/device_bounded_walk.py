"""Levels 3 and 4: a walk over the conditioning sets of each row, with bounds; see kernels/pruning/bounded_walk.cuh."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.pruning import outcome
from pycupc.engines.gpu.structures import Graph, Level, Pruning, Queue, RowClass, i32

SOUND: KernelName = ("pruning/bounded_walk", "sound_rows")
SETTLE: KernelName = ("pruning/bounded_walk", "settle_walked")
PLAN: KernelName = ("schur/plan", "plan_phases")
#: At level 2 a row has one prefix, hence one warp; from level 5 on the search is quicker (kernels/log.md).
LEVELS = (3, 4)
TRY: dict[int, KernelName] = {l: ("pruning/bounded_walk", f"try_walk<{l - 2}>") for l in LEVELS}
ROWS: dict[int, KernelName] = {l: ("pruning/bounded_walk", f"walk_rows<{l - 2}>") for l in LEVELS}
#: As in kernels/pruning/bounded_walk.cu: largest degree of a row, most warps per block. Index of the counters of work
#: items.
MOST_WALKED, WARPS, ITEMS = 1024, 16, 6


@dataclass(frozen=True)
class Tuning:
    """Numbers that never change an answer; kernels/log.md says what they were tuned on."""

    least_tests: float = 2e10  # tests of a level: fewer take 0.1 s, and making them all yields the largest p-values
    most_left: float = 0.4  # largest share of the tests that the bounds may leave in the trial
    prefixes_per_warp: float = 2.0  # prefixes per work item, for each warp of the block


TUNING = Tuning()


def kernels(level: int, _widest: int) -> list[KernelName]:
    """Kernels that the walk of a level needs, for rows of any width."""
    return [SOUND, TRY[level], ROWS[level], SETTLE, PLAN, outcome.COUNT, outcome.ENTER]


def worthwhile(level: int, outlook: Outlook) -> bool:
    """Whether the walk may pay at a level; a trial on the device ends it early if it does not."""
    return level in LEVELS and outlook.tests_at_most >= TUNING.least_tests and not outlook.ill_conditioned


def shared_of_block(width: int) -> int:
    """Dynamic shared memory per block without its warps' part, in bytes; as lay_out in bounded_walk.cu."""
    return 8 * ((width + 1) // 2 + 1 + (width + 7) // 8)


def shared_of_warp(width: int, q: int) -> int:
    """Dynamic shared memory per warp, in bytes; as lay_out in bounded_walk.cu."""
    return 8 * ((q + 5) * width + (width + 1) // 2)


def launch(dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None) -> Pruning:
    """Launch the walk; the pairs it decides are no targets until `outcome.enter_ranks`; `rows` as of `LevelTests`."""
    l, q, p = level.level, level.level - 2, graph.p
    width, warps = _fitting(dev.shared_block - outcome.STATIC_SHARED, min(outlook.widest, MOST_WALKED), q)
    shared, block = shared_of_block(width) + warps * shared_of_warp(width, q), 32 * warps
    found = outcome.no_outcome(dev, p, outlook.pairs, rows)
    found.most_left = TUNING.most_left
    outcome.launch_on_rows(dev, SOUND, graph, level, found, widest=width, cells=(width + 1) ** 2)
    loaded = [dev.kernels.get(*kernel, graph.in_rows) for kernel in (TRY[l], ROWS[l])]
    grid = dev.processors * min(kernel.blocks_per_processor(block, shared) for kernel in loaded)
    own = outcome.with_space(dev, found, grid, (width + 1) ** 2)
    phases = min(62, comb(width - 2, q).bit_length())
    queue = Queue(dev.scratch.take(8 * phases * (p + 1)), dev.scratch.take(8 * p), phases, p, ITEMS)
    sets = TUNING.prefixes_per_warp * warps * width**2 / (l * (l - 1))
    dev.launch(*PLAN, (phases,), (1024,), (graph, level, queue, RowClass(rows, sets, 2, l, width, 0)))
    dev.launch(*TRY[l], (min(grid, p),), (block,), (graph, level, own, i32(width)), shared)
    dev.launch(*ROWS[l], (grid,), (block,), (graph, level, own, queue, i32(width)), shared)
    outcome.launch_on_pairs(dev, SETTLE, graph, level, found, outlook.pairs)
    outcome.count_left(dev, graph, found)
    return found


def _fitting(room: int, width: int, q: int) -> tuple[int, int]:
    """The largest degree of a row, at most `width`, and warps per block, for which `room` bytes suffice."""
    while shared_of_block(width) + shared_of_warp(width, q) > room:
        width -= 1
    return width, min(WARPS, (room - shared_of_block(width)) // shared_of_warp(width, q))
