"""Launch geometry of the schur kernels: classes of rows by degree, leaf sizes, shared memory, the queue."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from pycupc.engines.gpu.launch import Device, Graph, Level, Queue, f64, i32, i64, ptr

#: Rows are grouped by degree; the last class (wider than all bounds) goes through tiles.
BOUNDS = (24, 32, 64, 96)
#: Threads a block of each class: one warp where a warp alone has enough lanes to fill, more where M|Q is large.
THREADS = (32, 32, 128, 256, 256)
#: Leaf tables reach as far as the classes that use them: T = 4 up to 64 columns.
TABLE_COLUMNS = {2: 96, 3: 96, 4: 64}
TILE, SLICE = 32, 128


@dataclass
class Tuning:
    """Knobs that never change an answer (see kernels/NOTES.md for what they were tuned on)."""

    sets_a_base: float = 40.0
    sets_an_item: float = 512.0
    wide_item: float = 4096.0


TUNING = Tuning()


def canonical_doubles(level: int) -> int:
    """As in kernels/engine.cuh."""
    return 2 * (level + 2) ** 2 + level + 2


def w_pitch(q: int) -> int:
    """As in kernels/schur.cu."""
    even = q + (q & 1)
    return 0 if q == 0 else (even if even & 2 else even + 2)


def leaf_size(level: int, width: int, bound: int) -> int:
    """Members of S below the base: enough leaves a base to pay for conditioning on it, no more."""
    degree = max(level + 1, 0.7 * width)
    for t in (2, 3):
        if t == level or (degree / level) ** t >= TUNING.sets_a_base:
            return t
    return min(level, 4) if bound <= TABLE_COLUMNS[4] else 3


def sets_shared(level: int, leaf: int, width: int) -> int:
    """Dynamic shared memory of schur_sets in bytes; same layout as the kernel."""
    q = level - leaf
    doubles = width * (2 + 1 + 1 + 1 + 1) + w_pitch(q) * (width + 1) + (width + 1) * (width | 1)
    ints = (width + 1) + 4 * width + (width + 1) + (q + 1)
    return 8 * doubles + 4 * ints + q + 16


def tiles_shared(level: int) -> int:
    """Dynamic shared memory of schur_tiles in bytes."""
    doubles = SLICE * (2 + 1 + 1 + 1) + SLICE * (2 * TILE + 1)
    return 8 * doubles + 4 * (2 * SLICE + level) + level + 16


@dataclass
class Plan:
    """One launch: what plan_class prepared and run_class starts."""

    kernel: Any
    grid: int
    block: int
    shared: int
    args: tuple
    keep: list[Any]


def plan_class(
    dev: Device, graph: Graph, level: Level, start: Any, p: int, index: int, widest: int, sets: float
) -> Plan:
    """Queue and launch of one class of rows at a level >= 2; `widest` is the largest degree of all rows."""
    cp = dev.cp
    l = level.level
    low = BOUNDS[index - 1] if index else 0
    tiled = index == len(BOUNDS)
    high = widest if tiled else min(widest, BOUNDS[index])
    leaf = 2 if tiled else leaf_size(l, high, BOUNDS[index])
    block = THREADS[index]
    if tiled:
        kernel, shared = dev.kernel("schur", "schur_tiles"), tiles_shared(l)
        items_most = comb(high - leaf, l - leaf) * -(-high // TILE)
        sets_an_item = 0.0
    else:
        kernel, shared = dev.kernel("schur", f"schur_sets<{leaf}>"), sets_shared(l, leaf, high)
        sets_an_item = TUNING.sets_an_item if block == 32 else TUNING.wide_item
        items_most = comb(high - leaf, l - leaf)
    grid = dev.processors * max(1, kernel.blocks_per_processor(block, shared))
    if not tiled and block == 32:  # small levels: fewer sets an item, so that all processors have some
        sets_an_item = min(sets_an_item, sets / (2.0 * grid))
    phases = min(62, max(1, items_most.bit_length()))
    within = cp.empty((phases, p + 1), dtype=np.uint64)
    offsets = cp.empty((phases, p + 1), dtype=np.uint64)
    chunk = cp.empty(p, dtype=np.uint64)
    ticket = cp.empty(1, dtype=np.uint64)
    s = dev.stream.ptr
    args = (ptr(start), i32(p), level_binom(level), i32(level.stride), i32(l), i32(leaf), i32(low), i32(high),
            i32(TILE if tiled else 0), f64(sets_an_item), ptr(within), ptr(chunk))  # fmt: skip
    dev.kernel("graph", "plan_phases")((phases,), (1024,), args, stream=s)
    dev.kernel("graph", "lift_phases")(
        (phases,), (256,), (ptr(within), i32(p), ptr(offsets), ptr(ticket)), stream=s
    )
    queue = Queue(offsets.data.ptr, chunk.data.ptr, ticket.data.ptr, phases, p)
    work = cp.empty(grid * (block // 32) * canonical_doubles(l), dtype=np.float64)
    own = Level.from_buffer_copy(level)
    own.work = work.data.ptr
    keep = [within, offsets, chunk, ticket, work]
    if tiled:
        w_doubles = w_pitch(l - leaf) * (high + 1) + 2 * (high // 4 + 1)
        W = cp.empty(grid * w_doubles, dtype=np.float64)
        keep.append(W)
        return Plan(kernel, grid, block, shared, (graph, own, queue, ptr(W), i64(w_doubles)), keep)
    table = dev.subsets(leaf, TABLE_COLUMNS[leaf])
    return Plan(kernel, grid, block, shared, (graph, own, queue, ptr(table), i32(high)), keep)


def level_binom(level: Level) -> Any:
    from ctypes import c_void_p

    return c_void_p(level.binom)


def run_level(
    dev: Device, graph: Graph, level: Level, start: Any, p: int, rows: list[int], widest: int, sets: float
) -> list[Any]:
    """Launch all classes that have rows, side by side; returns arrays to keep until the level has finished."""
    plans = [
        plan_class(dev, graph, level, start, p, index, widest, sets) for index in range(5) if rows[index]
    ]
    if len(plans) == 1:
        plan = plans[0]
        plan.kernel((plan.grid,), (plan.block,), plan.args, stream=dev.stream.ptr, shared=plan.shared)
        return plan.keep
    ready = dev.stream.record()
    for plan, stream in zip(reversed(plans), dev.side, strict=False):  # widest rows first: they take longest
        stream.wait_event(ready)
        plan.kernel((plan.grid,), (plan.block,), plan.args, stream=stream.ptr, shared=plan.shared)
        dev.stream.wait_event(stream.record())
    return [array for plan in plans for array in plan.keep]
