"""A filter before the tests of a long level 3 or 4: a walk over the conditioning sets of each row, with bounds.

See kernels/pruning/walk.cuh. The walk goes through the prefixes of a row, all members of a set but the last two. For
each target and each last but one member, a bound nearly always shows that no last member separates the pair; otherwise
every last member is tested. The kernels serve levels 2 to 5; `Tuning` says where the walk is worth its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from pycupc.engines.gpu import pruning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook
from pycupc.engines.gpu.structures import Pruning, Graph, Level, Queue, RowClass, i32, i64

SOUND: KernelName = ("pruning/walk", "sound_rows")
SETTLE: KernelName = ("pruning/walk", "settle_walked")
PLAN: KernelName = ("schur/plan", "plan_phases")
LEVELS = range(2, 6)
TRY: dict[int, KernelName] = {l: ("pruning/walk", f"try_walk<{l - 2}>") for l in LEVELS}
ROWS: dict[int, KernelName] = {l: ("pruning/walk", f"walk_rows<{l - 2}>") for l in LEVELS}
#: As in kernels/pruning/walk.cu: largest degree of a row, most warps per block. Index of the counters of work items.
MOST_WALKED, WARPS, ITEMS = 1024, 16, 6


@dataclass(frozen=True)
class Tuning:
    """Numbers that never change an answer; docs/KERNELS_LOG.md says what they were tuned on."""

    first_level: int = 3
    last_level: int = 4
    least_tests: float = 2e10  # tests of a level: fewer take 0.1 s, and making them all yields the largest p-values
    most_left: float = 0.4  # largest share of the tests that the bounds may leave in the trial
    prefixes_per_warp: float = 2.0  # prefixes per work item, for each warp of the block


TUNING = Tuning()


def kernels(level: int) -> list[KernelName]:
    """Kernels that the filter of a level needs."""
    return [SOUND, TRY[level], ROWS[level], SETTLE, PLAN, pruning.COUNT, pruning.LIFT]


def all_kernels() -> list[KernelName]:
    """Kernels that a run may need."""
    return [SOUND, *TRY.values(), *ROWS.values(), SETTLE, PLAN, pruning.COUNT, pruning.LIFT]


def worthwhile(level: int, outlook: Outlook) -> bool:
    """Whether the filter may pay at a level; a trial on the device gives up early if it does not."""
    in_range = TUNING.first_level <= level <= TUNING.last_level
    return in_range and outlook.tests_at_most >= TUNING.least_tests and not outlook.ill_conditioned


def shared_of_block(width: int) -> int:
    """Dynamic shared memory per block without its warps' part, in bytes; as lay_out in kernels/pruning/walk.cu."""
    return 8 * ((width + 1) // 2 + 1 + (width + 7) // 8)


def shared_of_warp(width: int, q: int) -> int:
    """Dynamic shared memory per warp, in bytes; as lay_out in kernels/pruning/walk.cu."""
    return 8 * ((q + 5) * width + (width + 1) // 2)


def certify(dev: Device, graph: Graph, level: Level, outlook: Outlook) -> Pruning:
    """Launch the filter; the pairs that it decides are no targets of the tests until `pruning.lift`."""
    l, q, p, pairs = level.level, level.level - 2, graph.p, outlook.pairs
    width, warps = _fitting(dev.shared_block - pruning.STATIC_SHARED, min(outlook.widest, MOST_WALKED), q)
    shared, block = shared_of_block(width) + warps * shared_of_warp(width, q), 32 * warps
    found = pruning.new_filter(dev, p, pairs)
    found.most_left = TUNING.most_left
    pruning.launch_on_rows(dev, SOUND, graph, level, found, widest=width, cells=(width + 1) ** 2)
    grid = dev.processors * min(dev.kernels.get(*k).blocks_per_processor(block, shared) for k in (TRY[l], ROWS[l]))
    own = Pruning.from_buffer_copy(found)
    own.work_doubles = (width + 1) ** 2
    own.work = dev.scratch.take(8 * grid * own.work_doubles)
    phases = min(62, comb(width - 2, q).bit_length())
    queue = Queue(dev.scratch.take(8 * phases * (p + 1)), dev.scratch.take(8 * p), phases, p, ITEMS)
    sets = TUNING.prefixes_per_warp * warps * width**2 / (l * (l - 1))
    dev.launch(*PLAN, (phases,), (1024,), (graph, level, queue, RowClass(None, sets, 2, l, width, 0)))
    dev.launch(*TRY[l], (min(grid, p),), (block,), (graph, level, own, i32(width)), shared)
    dev.launch(*ROWS[l], (grid,), (block,), (graph, level, own, queue, i32(width)), shared)
    dev.launch(*SETTLE, (min(4096, -(-pairs // 256)),), (256,), (graph, level, found, i64(pairs)))
    dev.launch(*pruning.COUNT, (p,), (32,), (graph, found))
    return found


def _fitting(room: int, width: int, q: int) -> tuple[int, int]:
    """The largest degree of a row, at most `width`, and warps per block, for which `room` bytes suffice."""
    while shared_of_block(width) + shared_of_warp(width, q) > room:
        width -= 1
    return width, min(WARPS, (room - shared_of_block(width)) // shared_of_warp(width, q))
