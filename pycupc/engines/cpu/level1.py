"""Level 1: for each target the first single variable that separates it, straight from the correlations.

`level1_from_columns` has the rows whose correlations are computed when their tests are made.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.engines.cpu.graph import TESTED, Findings, Graph, Indices, Targets
from pycupc.engines.cpu.row_items import count_tests, take_item
from pycupc.engines.cpu.threads import DOUBTFUL, STOP, State, Work
from pycupc.engines.cpu.tuning import FIRST_SETS, LEVEL1_TILE, NEXT_SETS, SPARSE
from pycupc.engines.cpu.walk_arrays import NO_MIRROR, Cutoff
from pycupc.engines.protocol import Floats, Ints
from pycupc.graph.lists import starts
from pycupc.independence.gaussian.partial_correlation import given_one
from pycupc.independence.gaussian.tolerances import PIVOT_FLOOR
from pycupc.system.jit import compiled, jit_inlined, jit_part, plain_if_small
from pycupc.system.numba_names import uint64


class Tile(NamedTuple):
    """Up to LEVEL1_TILE rows x, t in all, and the numbers that their tests read."""

    C: Floats  # (p, p)
    neighbours: Ints  # (E,)
    correlation: Floats  # (t, d): correlation of x and its k-th neighbour
    variance: Floats  # (t, d): variance of x given its k-th neighbour, NaN where it is not above the floor
    # (t, p): `variance` by variable, -inf for variables that are no neighbours. Between tiles it is -inf everywhere.
    spread: Floats
    following: Indices  # (t,): the entry of each row x that comes next


class Pair(NamedTuple):
    """One target: the rows x and y, the row of x in the tile, the entry at which row x starts, position of y."""

    x: int
    y: int
    t: int
    start: int
    i: int


def work_on_blocks(
    C: Floats, graph: Graph, targets: Targets, cutoff: Cutoff, blocks: Indices, findings: Findings
) -> Work:
    """The tests of all targets of a side, the correlations given as a matrix.

    `blocks`, int64 (m, 3): consecutive rows low .. high - 1, and the number of their tests. Threads take them in turn.
    """
    lists, found, following = (graph.offsets, targets.chosen), findings[:3], np.zeros(1, np.int64)

    def work(state: State) -> None:
        tile = tile_of(C, graph.neighbours, graph.widest, len(C))
        run_blocks(tile, *lists, NO_MIRROR, cutoff, blocks, following, found, findings.done, state)

    return work


def row_blocks(tests: Indices, least: int, alone: Indices) -> Indices:
    """Consecutive rows low .. high - 1 of about `least` tests each; the rows `alone` are blocks of their own.

    int64 (m, 3): low, high, and the number of tests.
    """
    before = starts(tests)
    cuts = np.flatnonzero(np.diff(before[1:] // least)) + 1
    cuts = np.unique(np.concatenate([[0, len(tests)], cuts, alone, alone + 1]))
    return np.column_stack([cuts[:-1], cuts[1:], np.diff(before[cuts])])


def test_both_sides(C: Floats, graph: Graph, cutoff: Cutoff, findings: Findings, state: State) -> None:
    """The tests of both sides by one thread; by plain Python if they are few."""
    d = graph.degrees
    with plain_if_small(int((d * d).sum()) // 3, "level 1") as plain, np.errstate(divide="ignore", invalid="ignore"):
        block, tile = np.array([0, len(C), 0]), tile_of(C, graph.neighbours, graph.widest, len(C))
        given = tile, graph.offsets, ~graph.fixed, graph.lists.mirror, cutoff
        if plain:
            run_block(*given, block, findings[:3], findings.done, state)
        else:
            run_blocks(*given, block[None], np.zeros(1, np.int64), findings[:3], findings.done, state)


def tile_of(C: Floats, neighbours: Ints, widest: int, rows: int) -> Tile:
    """Work space for rows with up to `widest` neighbours, of which there are this number."""
    height = min(LEVEL1_TILE, rows)
    correlation, variance = np.empty((height, widest)), np.empty((height, widest))
    spread = np.full((height, len(C)), -math.inf)
    return Tile(C, neighbours, correlation, variance, spread, np.empty(height, np.int64))


@jit_inlined
def _n_possible(tile, pair, k0, n, bound):
    """How many of the n sets from k0 on are perhaps below the bound; those hardly distinct from y may count, too."""
    # unsigned: an index that may be negative is not compiled to vector instructions
    first, entry, x, y = uint64(k0), uint64(pair.start + k0), uint64(pair.x), uint64(pair.y)
    xy = tile.correlation[pair.t, pair.i]
    count = 0
    z0 = tile.neighbours[pair.start + k0]
    span = tile.neighbours[pair.start + k0 + n - 1] - z0 + 1
    if span <= SPARSE * n:
        start = uint64(z0)
        for q in range(span):
            yz = tile.C[y, start + uint64(q)]
            vy = 1.0 - yz * yz
            num = xy - tile.C[x, start + uint64(q)] * yz
            certain = num * num > bound * (tile.spread[pair.t, start + uint64(q)] * vy)
            count += certain & (vy > PIVOT_FLOOR)
        return span - count
    for q in range(n):
        yk = tile.C[y, uint64(tile.neighbours[entry + uint64(q)])]
        vy = 1.0 - yk * yk
        num = xy - tile.correlation[pair.t, first + uint64(q)] * yk
        certain = num * num > bound * (tile.variance[pair.t, first + uint64(q)] * vy)
        count += certain & (vy > PIVOT_FLOOR)
    return n - count


@jit_part
def _test_pair(tile, pair, d, cutoff, state):
    """(position of the first set that separates the pair, its r), or (-1, the smallest r^2)."""
    smallest = math.inf
    block = FIRST_SETS
    low = 0
    while low < d:
        if low == pair.i:  # y itself
            low += 1
        high = low + block if low + block < d else d
        if low < pair.i < high:
            high = pair.i
        bound = smallest if smallest > cutoff.high else cutoff.high
        if smallest == math.inf or (low < high and _n_possible(tile, pair, low, high - low, bound) > 0):
            for k in range(low, high):
                z = tile.neighbours[pair.start + k]
                yz = tile.C[pair.y, z]
                vy = 1.0 - yz * yz
                num = tile.correlation[pair.t, pair.i] - tile.correlation[pair.t, k] * yz
                ratio = num * num / (tile.variance[pair.t, k] * vy) if vy > PIVOT_FLOOR else math.nan
                if ratio < smallest:
                    smallest = ratio
                if ratio > cutoff.high:
                    continue
                r = given_one(tile.C, pair.x, pair.y, z)
                if not (ratio < cutoff.low and ratio <= 1.0):
                    state[DOUBTFUL] += 1
                    if abs(r) > cutoff.value:
                        if r * r < smallest:
                            smallest = r * r
                        continue
                return k, r
        low = high
        block = NEXT_SETS if 2 * block > NEXT_SETS else 2 * block
    return -1, smallest


@jit_inlined
def _load_tile(tile, offsets, x0, x1):
    for x in range(x0, x1):
        t, start = x - x0, offsets[x]
        tile.following[t] = start
        for k in range(offsets[x + 1] - start):
            c = tile.C[x, tile.neighbours[start + k]]
            v = 1.0 - c * c
            tile.correlation[t, k] = c
            tile.variance[t, k] = v if v > PIVOT_FLOOR else math.nan
            tile.spread[t, tile.neighbours[start + k]] = tile.variance[t, k]


@jit_inlined
def _clear_tile(tile, offsets, x0, x1):
    # only where something was written: with few neighbours, whole rows would take longer than the tests
    for x in range(x0, x1):
        for e in range(offsets[x], offsets[x + 1]):
            tile.spread[x - x0, tile.neighbours[e]] = -math.inf


@compiled
def run_blocks(tile, offsets, chosen, mirror, cutoff, blocks, following, findings, done, state):  # noqa: PLR0913
    """Test the rows of one block after the other."""
    while state[STOP] == 0:
        q = take_item(following, state)
        if q >= len(blocks):
            break
        run_block(tile, offsets, chosen, mirror, cutoff, blocks[q], findings, done, state)


@jit_inlined
def run_block(tile, offsets, chosen, mirror, cutoff, block, findings, done, state):  # noqa: PLR0913
    """Test the rows of a block, in tiles of LEVEL1_TILE rows x by as many rows y.

    `findings` are those that are arrays, but for `done`, which becomes TESTED.
    """
    for x0 in range(block[0], block[1], LEVEL1_TILE):
        x1 = x0 + LEVEL1_TILE if x0 + LEVEL1_TILE < block[1] else block[1]
        _load_tile(tile, offsets, x0, x1)
        for y0 in range(0, len(tile.C), LEVEL1_TILE):
            if state[STOP] != 0:
                return
            for x in range(x0, x1):
                _test_row(tile, offsets, chosen, mirror, cutoff, x, x - x0, y0, findings, state)
        _clear_tile(tile, offsets, x0, x1)
    for e in range(offsets[block[0]], offsets[block[1]]):
        if chosen[e]:
            done[e] = TESTED
    count_tests(state, float(block[2]))


@jit_inlined
def _test_row(tile, offsets, chosen, mirror, cutoff, x, t, y0, findings, state):  # noqa: PLR0913 - compiled code
    """Test the targets y of row x, row t of the tile, in the LEVEL1_TILE variables from y0 on."""
    rank, r, smallest = findings
    start, end, both = offsets[x], offsets[x + 1], len(mirror) > 0
    e = tile.following[t]
    while e < end and tile.neighbours[e] < y0 + LEVEL1_TILE:
        if chosen[e] and not (both and mirror[e] < e and rank[mirror[e]] >= 0):
            pair = Pair(x, tile.neighbours[e], t, start, e - start)
            k, value = _test_pair(tile, pair, end - start, cutoff, state)
            if k >= 0:
                rank[e] = k - 1 if k > pair.i else k
                r[e] = value
            else:
                smallest[e] = value
        e += 1
    tile.following[t] = e
