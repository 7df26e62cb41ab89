"""Launch geometry of the schur kernels: classes of rows by degree, leaf sizes, shared memory, the queue."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

from pycupc.engines.gpu.launch import Device, Graph, Level, Queue, f64, i32, i64, ptr

#: Rows are grouped by degree; the last class (wider than all bounds) goes through tiles.
BOUNDS = (24, 32, 64, 96, 160)
#: Threads a block of each class: one warp where a warp alone has enough lanes to fill, more where M|Q is large.
THREADS = (32, 32, 128, 256, 512, 256)
#: Kernels by file: sound tests with 2 to 4 members in the leaf, and singular ones (see `plan_class`).
KERNELS = {
    "level1": ("level1",),
    "schur_sets": tuple(f"schur_sets<{t}>" for t in ("2, false", "3, false", "4, false", "2, true", "3, true")),
    "schur_tiles": ("schur_tiles<false>", "schur_tiles<true>"),
}
#: Leaf tables reach as far as the classes that use them: T = 4 up to 64 columns.
TABLE_COLUMNS = {2: 160, 3: 160, 4: 64}
TILE, SLICE = 32, 128
#: Work space of the canonical formula, all warps of a class together: fewer lanes of a warp at a time on deep levels.
WORK_BYTES = 128 << 20


@dataclass
class Tuning:
    """Knobs that never change an answer (see kernels/NOTES.md for what they were tuned on)."""

    sets_a_base: float = 40.0
    sets_an_item: float = 512.0
    wide_item: float = 4096.0
    ptile: tuple[int, int] = (16, 32)  # columns of the last but one member: level 2, levels above
    singular_ptile: int = 8
    singular_part: float = 1 / 8  # of the sets an item, where tests are singular


TUNING = Tuning()


def canonical_doubles(level: int) -> int:
    """As in kernels/engine.cuh."""
    return (level + 2) ** 2 + 3 * (level + 2)


def w_pitch(q: int) -> int:
    """As in kernels/schur.cuh."""
    even = q + (q & 1)
    return 0 if q == 0 else (even if even & 2 else even + 2)


def leaf_size(level: int, width: int, most: int) -> int:
    """Members of S below the base, 2 to `most`: enough leaves a base to pay for conditioning on it, no more."""
    degree = max(level + 1, 0.7 * width)
    for t in range(2, most):
        if t == level or (degree / level) ** t >= TUNING.sets_a_base:
            return t
    return min(level, most)


def sets_shared(level: int, leaf: int, width: int) -> int:
    """Dynamic shared memory of schur_sets in bytes; same layout as the kernel."""
    q = level - leaf
    doubles = width * (2 + 1 + 1 + 1 + 1) + w_pitch(q) * (width + 1) + (width + 1) * (width | 1)
    ints = (width + 1) + 4 * width + (width + 1) + (q + 1)
    return 8 * doubles + 4 * ints + q + 16


def tiles_shared(level: int, ptile: int) -> int:
    """Dynamic shared memory of schur_tiles in bytes."""
    doubles = SLICE * (2 + 1 + 1 + 1) + SLICE * (ptile + TILE + 1)
    return 8 * doubles + 4 * (2 * SLICE + level) + level + 16


@dataclass
class Plan:
    """One launch: what plan_class prepared and run_class starts."""

    kernel: Any
    grid: int
    block: int
    shared: int
    args: tuple


def plan_class(
    dev: Device, graph: Graph, level: Level, start: Any, p: int, index: int, widest: int, sets: float, singular: bool
) -> Plan:
    """Queue and launch of one class of rows at a level >= 2; `widest` is the largest degree of all rows.

    `singular`: many tests will take the canonical formula, a hundred times longer than the others. They run in kernels
    that hold its matrices in registers, which costs the other tests a sixth of their speed, and in small items: two
    members in the leaf, so that a base has few, unless there are so many sets that full warps matter more.
    """
    l = level.level
    low = BOUNDS[index - 1] if index else 0
    tiled = index == len(BOUNDS)
    high = widest if tiled else min(widest, BOUNDS[index])
    many = sets > 1000.0 * 64 * dev.processors  # a thousand sets and more for each warp that can run at a time
    most = 2 if tiled or (singular and not many) else 3 if singular or high > TABLE_COLUMNS[4] else 4
    leaf = leaf_size(l, high, most)
    block = THREADS[index]
    ptile = TUNING.singular_ptile if singular else TUNING.ptile[l > 2]
    flag = str(singular).lower()
    if tiled:
        kernel, shared = dev.kernel("schur_tiles", f"schur_tiles<{flag}>"), tiles_shared(l, ptile)
        items_most = comb(high - leaf, l - leaf) * -(-high // ptile)
        sets_an_item = 0.0
    else:
        kernel, shared = dev.kernel("schur_sets", f"schur_sets<{leaf}, {flag}>"), sets_shared(l, leaf, high)
        sets_an_item = TUNING.sets_an_item if block == 32 else TUNING.wide_item
        sets_an_item *= TUNING.singular_part if singular else 1.0
        items_most = comb(high - leaf, l - leaf)
    grid = dev.processors * max(1, kernel.blocks_per_processor(block, shared))
    if not tiled and block == 32:  # small levels: fewer sets an item, so that all processors have some
        sets_an_item = min(sets_an_item, sets / (2.0 * grid))
    phases = min(62, max(1, items_most.bit_length()))
    take = dev.scratch.take
    offsets, chunk, ticket = take(8 * phases * (p + 1)), take(8 * p), take(8)
    s = dev.stream.ptr
    args = (
        ptr(start),
        i32(p),
        level_binom(level),
        i32(level.stride),
        i32(l),
        i32(leaf),
        i32(low),
        i32(high),
        i32(ptile if tiled else 0),
        f64(sets_an_item),
        ptr(offsets),
        ptr(chunk),
        ptr(ticket),
    )
    dev.kernel("queue", "plan_phases")((phases,), (1024,), args, stream=s)
    queue = Queue(offsets, chunk, ticket, phases, p)
    own = Level.from_buffer_copy(level)
    warp_bytes = 8 * grid * (block // 32) * canonical_doubles(l)
    own.lanes = max(1, min(32, WORK_BYTES // warp_bytes))
    own.work = take(own.lanes * warp_bytes)
    if tiled:
        w_doubles = w_pitch(l - leaf) * (high + 1) + 2 * (high // 4 + 1)
        W = take(8 * grid * w_doubles)
        return Plan(kernel, grid, block, shared, (graph, own, queue, ptr(W), i64(w_doubles), i32(ptile)))
    table = dev.subsets(leaf, TABLE_COLUMNS[leaf])
    return Plan(kernel, grid, block, shared, (graph, own, queue, ptr(table), i32(high)))


def level_binom(level: Level) -> Any:
    from ctypes import c_void_p

    return c_void_p(level.binom)


def run_level(
    dev: Device,
    graph: Graph,
    level: Level,
    start: Any,
    p: int,
    rows: list[int],
    widest: int,
    sets: float,
    singular: bool,
) -> None:
    """Launch all classes that have rows, side by side."""
    classes = [index for index in range(len(THREADS)) if rows[index]]
    plans = [plan_class(dev, graph, level, start, p, index, widest, sets, singular) for index in classes]
    if len(plans) == 1:
        plan = plans[0]
        plan.kernel((plan.grid,), (plan.block,), plan.args, stream=dev.stream.ptr, shared=plan.shared)
        return
    ready = dev.stream.record()
    for plan, stream in zip(reversed(plans), dev.side, strict=False):  # widest rows first: they take longest
        stream.wait_event(ready)
        plan.kernel((plan.grid,), (plan.block,), plan.args, stream=stream.ptr, shared=plan.shared)
        dev.stream.wait_event(stream.record())
