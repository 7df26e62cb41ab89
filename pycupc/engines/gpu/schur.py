"""The tests of a level by the Schur walk: how rows are grouped by degree, cut into work items and launched.

kernels/schur/sweep.cuh describes the walk.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook, canonical_doubles
from pycupc.engines.gpu.pruning import device_bounded_walk, device_branch_and_bound, outcome
from pycupc.engines.gpu.structures import Graph, Level, Pruning, Queue, RowClass, i32, i64, ptr

#: The kernels of level 1, with one matrix and with a matrix for each row; the kernel that plans levels above;
#: schur_sets by suffix size and by whether it is made for ill-conditioned data; schur_tiles by whether it is.
LEVEL1: KernelName = ("schur/level1", "level1")
LEVEL1_ROWS: KernelName = ("schur/level1_rows", "level1_rows")
PLAN: KernelName = ("schur/plan", "plan_phases")
SETS = {
    (suffix, ill): ("schur/sets", f"schur_sets<{suffix}, {str(ill).lower()}>")
    for suffix, ill in ((2, False), (3, False), (4, False), (2, True), (3, True))
}
TILES = {ill: ("schur/tiles", f"schur_tiles<{str(ill).lower()}>") for ill in (False, True)}
#: Those of levels 1 and 2 in most runs.
LIKELY = [LEVEL1, PLAN, *(SETS[suffix, False] for suffix in (2, 3, 4)), TILES[False]]
#: Columns of the table of suffixes by suffix size: the number of neighbours of the widest row of a class that uses it.
TABLE_COLUMNS = {2: 160, 3: 160, 4: 64}
#: Most bytes of static shared memory of schur_sets and schur_tiles.
STATIC_SHARED = 256
#: As in kernels/schur/tiles.cu.
TILE, SLICE = 32, 128
#: As in kernels/schur/targets.cuh.
PADDING = 3
#: From this cutoff on, the last bits of C matter for close tests only (`mirrored` in kernels/schur/level1.cu).
LEAST_CUTOFF = 1e-4


def w_pitch(q: int) -> int:
    """As in kernels/common/structures.cuh."""
    even = q + (q & 1)
    return 0 if q == 0 else (even if even & 2 else even + 2)


def suffix_size(level: int, width: int, most: int, enough: float) -> int:
    """Members of S after the prefix, 2 to `most`: a prefix has `enough` suffixes; `width`: largest degree."""
    degree = max(level + 1, 0.7 * width)
    for t in range(2, most):
        if t == level or (degree / level) ** t >= enough:
            return t
    return min(level, most)


def sets_shared(level: int, suffix: int, width: int) -> int:
    """Dynamic shared memory per block of schur_sets, in bytes; as lay_out in kernels/schur/sets.cu."""
    q = level - suffix
    doubles = width * (2 + 2 + 1 + 1) + 2 * PADDING + w_pitch(q) * (width + 1) + (width + 1) * (width | 1)
    ints = (width + 1) + 4 * width + (width + 1) + (q + 1)
    return 8 * doubles + 4 * ints + q + 16


def tiles_shared(level: int, ptile: int) -> int:
    """Dynamic shared memory per block of schur_tiles, in bytes; as lay_out in kernels/schur/tiles.cu."""
    doubles = SLICE * (2 + 2 + 1) + 2 * PADDING + SLICE * (ptile + TILE + 1)
    doubles += device_tuning.THREADS[-1] // 32 * SLICE * 2 + 3 * (ptile + TILE)
    return 8 * doubles + 4 * (2 * SLICE + level) + level + 16


@dataclass(frozen=True)
class Choice:
    """How one class of rows runs at a level >= 2."""

    index: int  # of the class
    kernel: KernelName
    block: int  # threads
    shared: int  # dynamic shared memory per block, in bytes
    ptile: int  # columns per tile of the last but one member; 0: no tiles
    suffix: int  # members of S after the prefix
    low: int  # the class has the rows with low < degree <= high
    high: int
    items_at_most: int  # work items per row
    sets_per_item: float  # conditioning sets per item, where there are no tiles

    def suffixes(self, dev: Device) -> Any:
        """The table of suffixes, a device array; None for tiles."""
        return None if self.ptile else dev.subsets(self.suffix, TABLE_COLUMNS[self.suffix])


@functools.lru_cache(maxsize=1024)
def choose(
    level: int, index: int, bounds: tuple[int, ...], widest: int, room: int, ill: bool, many: bool, plenty: bool
) -> Choice:
    """Choose kernel and geometry for the rows of class `index`, with `room` bytes of dynamic shared memory per block.

    With `ill`, many tests will take the canonical formula, which takes a hundred times longer. They run in kernels that
    hold its matrices in registers, which costs the other tests up to a sixth of their speed, and in small work items.
    The suffix then has two members, so that a prefix has few sets, unless the level has `many` sets, where full warps
    matter more. Otherwise, where a level has `plenty` of sets, a prefix gets enough sets for all warps of its block;
    where a level has fewer, that would leave some blocks with much more work than others.
    """
    low, high = bounds[index - 1] if index else 0, min(widest, [*bounds, widest][index])
    block = device_tuning.THREADS[index]
    most = 2 if ill and not many else 3 if ill or high > TABLE_COLUMNS[4] else 4
    enough = device_tuning.PLENTY_PER_PREFIX * (block // 32) if plenty and not ill else device_tuning.SETS_PER_PREFIX
    suffix = suffix_size(level, high, most, enough)
    shared, items = sets_shared(level, suffix, high), comb(high - suffix, level - suffix)
    if index == len(bounds) or shared > room:
        return _in_tiles(level, index, (low, high), room, ill)
    sets = (device_tuning.SETS_PER_ITEM if block == 32 else device_tuning.SETS_PER_LARGE_ITEM) * (
        device_tuning.ILL_ITEM if ill else 1.0
    )
    return Choice(index, SETS[suffix, ill], block, shared, 0, suffix, low, high, items, sets)


def _in_tiles(level: int, index: int, degrees: tuple[int, int], room: int, ill: bool) -> Choice:
    """The choice for rows whose covariances do not fit shared memory."""
    ptile = device_tuning.ILL_TILE_COLUMNS if ill else device_tuning.TILE_COLUMNS[level > 2]
    while tiles_shared(level, ptile) > room and ptile > 1:
        ptile //= 2
    items = comb(degrees[1] - 2, level - 2) * -(-degrees[1] // ptile)
    return Choice(
        index, TILES[ill], device_tuning.THREADS[-1], tiles_shared(level, ptile), ptile, 2, *degrees, items, 0.0
    )


#: Called with the outcome of pruning for a number of pairs of a level.
Check = Callable[[Graph, Level, int, Pruning], None]


class SchurTests:
    """Tests of a level by the Schur walk; see `LevelTests`.

    For a device with `processors` multiprocessors, whose blocks can have `shared_block` bytes of shared memory. With
    `prune`, pruning decides pairs where it can before the tests; then `check`, if there is one, is called.
    """

    def __init__(self, processors: int, shared_block: int, *, prune: bool = True, check: Check | None = None) -> None:
        self._processors, self._room = processors, shared_block - STATIC_SHARED
        self._prune, self._check = prune, check
        self._decided: tuple[int, Outlook | None, Any, list[Choice]] = (0, None, None, [])

    def _decide(self, level: int, outlook: Outlook) -> tuple[Any, list[Choice]]:
        """The code for a level >= 2: the module of pruning, which runs first if it pays, and `choices`."""
        if self._decided[0] != level or self._decided[1] is not outlook:
            ways = (device_bounded_walk, device_branch_and_bound) if self._prune else ()
            found = next((way for way in ways if way.worthwhile(level, outlook)), None)
            self._decided = level, outlook, found, self.choices(level, outlook)
        return self._decided[2:]

    def choices(self, level: int, outlook: Outlook) -> list[Choice]:
        """The launches of the tests of a level >= 2: one for each class that has rows."""
        many, plenty = (
            outlook.sets > n * self._processors for n in (device_tuning.MANY_SETS, device_tuning.PLENTY_OF_SETS)
        )
        common = device_tuning.BOUNDS, outlook.widest, self._room, outlook.ill_conditioned, many, plenty
        return [choose(level, i, *common) for i, rows in enumerate(outlook.rows) if rows]

    def kernels(self, level: int, outlook: Outlook) -> list[KernelName]:
        if level == 1:
            return [LEVEL1_ROWS if outlook.rough is None else LEVEL1]
        chosen, choices = self._decide(level, outlook)
        first = chosen.kernels(level, outlook.widest) if chosen else []
        return [*first, PLAN, *(c.kernel for c in choices)]

    def launch(self, dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None) -> None:
        if level.level == 1:
            _launch_level1(dev, graph, level, outlook)
            return
        chosen, choices = self._decide(level.level, outlook)
        for choice in choices:
            choice.suffixes(dev)  # whose copy would wait for the kernels
        found = chosen.launch(dev, graph, level, outlook, rows) if chosen else None
        self.launch_walk(dev, graph, level, outlook, found.left if found else rows)
        if found:
            if self._check:
                self._check(graph, level, outlook.pairs, found)
            outcome.enter_ranks(dev, graph, level, found, outlook.pairs)

    def launch_walk(self, dev: Device, graph: Graph, level: Level, outlook: Outlook, open_pairs: int | None) -> None:
        """Launch the tests of a level >= 2 that pruning has not answered; `open_pairs`: see RowClass.open, or None.

        Classes of rows run side by side, each on a stream of its own, the widest rows first: they take longest.
        """
        choices = self._decide(level.level, outlook)[1]
        if len(choices) == 1:
            _launch_class(dev, graph, level, choices[0], outlook.sets, open_pairs, dev.stream)
            return
        try:
            for choice, stream in zip(reversed(choices), dev.side, strict=False):
                _launch_class(dev, graph, level, choice, outlook.sets, open_pairs, stream)
        finally:  # also after Ctrl-C, since the next run takes the same memory
            for _, stream in zip(choices, dev.side, strict=False):
                dev.stream.wait_event(stream.record())


def _launch_level1(dev: Device, graph: Graph, level: Level, outlook: Outlook) -> None:
    if graph.in_rows:
        of_pairs = (graph, level, i64(0), i64(outlook.pairs), ptr(None))
        dev.launch(*LEVEL1_ROWS, (dev.blocks(32 * outlook.pairs),), (256,), of_pairs)
        return
    mirrored = outlook.mirrored and level.cutoff >= LEAST_CUTOFF
    args = (graph, level, ptr(outlook.adjacent), ptr(outlook.rough), i64(outlook.pairs), i32(mirrored))
    resident = dev.processors * dev.kernels.get(*LEVEL1).blocks_per_processor(256, 0)
    dev.launch(*LEVEL1, (min(resident, -(-outlook.pairs // 256)),), (256,), args)


def _launch_class(
    dev: Device, graph: Graph, level: Level, choice: Choice, sets: float, open_pairs: int | None, stream: Any
) -> None:
    """Launch the kernel that fills the queue of a class of rows, and their tests, on a stream behind the main one.

    `sets`: conditioning sets of all rows at this level; `open_pairs`: address of RowClass.open, or None.
    """
    l, p, take = level.level, graph.p, dev.scratch.take
    kernel = dev.kernels.get(*choice.kernel, graph.in_rows)
    grid = dev.processors * kernel.blocks_per_processor(choice.block, choice.shared)
    sets_per_item = choice.sets_per_item
    if choice.block == 32:  # on small levels fewer sets per item, so that all multiprocessors get some
        sets_per_item = min(sets_per_item, sets / (2.0 * grid))
    phases = min(62, max(1, choice.items_at_most.bit_length()))
    offsets = take(8 * phases * (p + 1) + 8 * p)
    queue = Queue(offsets, offsets + 8 * phases * (p + 1), phases, p, choice.index)
    rows = RowClass(open_pairs, sets_per_item, choice.suffix, choice.low, choice.high, choice.ptile)
    own = Level.from_buffer_copy(level)
    bytes_per_slot = 8 * grid * (choice.block // 32) * canonical_doubles(l)
    own.slots = max(1, min(32, device_tuning.SCHUR_WORK_BYTES // bytes_per_slot))
    own.work = take(own.slots * bytes_per_slot)
    args: tuple[Any, ...]
    if choice.ptile:
        w_doubles = w_pitch(l - choice.suffix) * (choice.high + 1) + 2 * (choice.high // 4 + 1)
        args = (ptr(take(8 * grid * w_doubles)), i64(w_doubles), i32(choice.ptile))
    else:
        args = (ptr(choice.suffixes(dev)), i32(choice.high))
    if stream is not dev.stream:
        stream.wait_event(dev.stream.record())
    dev.kernels.get(*PLAN)((phases,), (1024,), (graph, level, queue, rows), stream=stream.ptr)
    kernel((grid,), (choice.block,), (graph, own, queue, *args), stream=stream.ptr, shared=choice.shared)
