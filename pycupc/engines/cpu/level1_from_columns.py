"""Level 1 without the matrix of all variables: a row's matrix is computed from the columns, for its tests alone."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu import level1, threads
from pycupc.engines.cpu.graph import TESTED, Findings, Graph, Indices, Targets
from pycupc.engines.cpu.level1 import run_block, tile_of
from pycupc.engines.cpu.row_items import take_item
from pycupc.engines.cpu.submatrices import ColumnSource, by_width
from pycupc.engines.cpu.threads import STOP, State, Task, Work
from pycupc.engines.cpu.tuning import HUB, PRODUCTS_OF_TEST, TASK_TESTS
from pycupc.engines.cpu.walk_arrays import NO_MIRROR, Cutoff, work_space
from pycupc.engines.protocol import Floats, Ints, Mask
from pycupc.independence.gaussian.blocked_products import BLOCK
from pycupc.independence.gaussian.centred_columns import correlate_group
from pycupc.system.jit import compiled, frozen
from pycupc.system.numba_names import uint64


class Own(NamedTuple):
    """The problem of one row x with d neighbours: its own matrix and lists, in which x is variable d."""

    C: Annotated[Floats, "d+1 d+1"]
    space: Annotated[Floats, "k d+1"]  # with `sums` as of `centred_columns.group_space`
    sums: Annotated[Floats, "d+1 d+1"]
    members: Annotated[Indices, "d+1"]  # the variables: the neighbours and x
    offsets: Annotated[Indices, "d+2"]  # of the lists; only x has one
    neighbours: Annotated[Ints, "d"]  # 0, 1, 2, ...
    chosen: Annotated[Mask, "d"]  # the targets
    # By neighbour, as of `Findings`:
    rank: Annotated[Indices, "d"]
    r: Annotated[Floats, "d"]
    smallest: Annotated[Floats, "d"]
    done: Annotated[NDArray[np.int8], "d"]
    block: Annotated[Indices, "3"]  # as of `level1.work_on_blocks`, of the row

    @classmethod
    def of(cls, d: int) -> Own:
        """For up to d neighbours."""
        return work_space(cls, d=d, k=BLOCK, neighbours=np.arange(d, dtype=np.int32))


def work_on_rows(source: ColumnSource, graph: Graph, targets: Targets, cutoff: Cutoff, findings: Findings) -> Work:
    """The tests of all targets of a side: blocks of rows, which threads take in turn, and then parts of hubs."""
    centred, squares = source.columns.frozen()
    hubs = (graph.degrees > HUB) & (targets.per_row > 0)
    d = np.where(hubs | (targets.per_row == 0), 0, graph.degrees)
    work = (targets.per_row + d * centred.shape[1] / (2 * PRODUCTS_OF_TEST)) * d
    blocks = level1.row_blocks(work.astype(np.int64), TASK_TESTS, np.flatnonzero(hubs))
    widest = np.maximum.reduceat(d, blocks[:, 0])
    blocks, widest = blocks[widest > 0], widest[widest > 0]
    parts = [(blocks[some], int(widest[some].max()), np.zeros(1, np.int64)) for some in by_width(widest)]
    of_hubs = threads.drawing(_tasks_of_hubs(source, graph, targets, cutoff, findings, np.flatnonzero(hubs)))

    def run(state: State) -> None:
        for some, width, following in parts:
            if state[STOP] == 0 and following[0] < len(some):
                own = Own.of(width)
                tile = tile_of(own.C, own.neighbours, width, 1)
                given = centred, squares, graph.offsets, graph.neighbours, targets.chosen, NO_MIRROR, cutoff
                _run_rows(*given, some, following, findings[:3], findings.done, tile, own, state)
        of_hubs(state)

    return run


@compiled
def _run_rows(  # noqa: PLR0913 - compiled code
    centred, squares, offsets, neighbours, chosen, mirror, cutoff, blocks, following, findings, done, tile, own, state
):
    """Test the rows of one block after the other."""
    rank, r, smallest = findings
    while state[STOP] == 0:
        q = take_item(following, state)
        if q >= len(blocks):
            break
        for x in range(blocks[q, 0], blocks[q, 1]):
            start, d, n = offsets[x], offsets[x + 1] - offsets[x], 0
            for k in range(d):
                n += chosen[start + k]
            if n == 0:  # there may be no room for the row
                continue
            for k in range(d):
                own.members[k], own.chosen[k] = neighbours[start + k], chosen[start + k]
                own.rank[k], own.smallest[k] = -1, math.inf
            own.members[d] = x
            correlate_group(centred, squares, own.members, uint64(0), uint64(d + 1), own.space, own.sums, own.C)
            own.offsets[d], own.offsets[d + 1] = 0, d
            own.block[0], own.block[1], own.block[2] = d, d + 1, n * (d - 1)
            found = own.rank, own.r, own.smallest
            run_block(tile, own.offsets, own.chosen, mirror, cutoff, own.block, found, own.done, state)
            if state[STOP] != 0:
                break
            for k in range(d):
                if own.chosen[k]:
                    e = start + k
                    rank[e], r[e], smallest[e], done[e] = own.rank[k], own.r[k], own.smallest[k], TESTED


def _tasks_of_hubs(
    source: ColumnSource, graph: Graph, targets: Targets, cutoff: Cutoff, findings: Findings, hubs: Indices
) -> Iterator[Task]:
    """The tests of rows with so many neighbours that there is no room for their matrix."""
    lock = threading.Lock()
    for x in hubs.tolist():
        for entries in source.parts_of_hub(graph, x):
            yield partial(_run_part_of_hub, source, graph, entries, targets, cutoff, findings, lock)


def _run_part_of_hub(
    source: ColumnSource, graph: Graph, entries: Indices, targets: Targets, cutoff: Cutoff, findings: Findings,
    lock: threading.Lock, state: State,
) -> int:  # fmt: skip
    """Test the targets among these entries of a row, given the others; returns the number of pairs of them.

    For each target, one of the parts of the row has its first separating set: the smallest rank is found.
    """
    x, n = int(np.searchsorted(graph.offsets, entries[0], side="right")) - 1, len(entries)
    at = entries - graph.offsets[x]
    C = frozen(source.among(np.append(graph.neighbours[entries], x)))
    rank, r, smallest = np.full(n, -1), np.zeros(n), np.full(n, math.inf)
    lists = np.append(np.zeros(n + 1, dtype=np.int64), n), targets.chosen[entries]
    block, following, done = np.array([[n, n + 1, 0]]), np.zeros(1, np.int64), np.zeros(n, np.int8)
    tile, found = tile_of(C, np.arange(n, dtype=np.int32), n, 1), (rank, r, smallest)
    level1.run_blocks(tile, *lists, NO_MIRROR, cutoff, block, following, found, done, state)
    separated = np.flatnonzero(rank >= 0)
    z = at[rank[separated] + (rank[separated] >= separated)]
    rank[separated] = z - (z > at[separated])
    with lock:
        findings.add(entries, rank, r, smallest)
    return n * (n - 1) // 2
