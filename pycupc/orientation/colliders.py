"""Unshielded colliders x -> y <- z: the arrows that the separating sets imply
(docs/contracts/contract.md, section 4).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from pycupc.graph.lists import starts
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import Ints
from pycupc.orientation.mixed_graph import (
    AMBIGUOUS,
    MIRROR,
    NEIGHBOUR,
    NO_COLLIDER,
    Indices,
    MixedGraph,
    find,
    maybe_adjacent,
    plain,
    put_arrowhead,
    triple_number,
    triple_numbers,
    unsigned,
)
from pycupc.orientation.trace import COLLIDER
from pycupc.system.jit import compiled_for_large, jit_part
from pycupc.system.machine import available_cores, run_in_threads

#: Number of cells of a row that are read in the time in which one cell is searched for.
CELLS_PER_SEARCH = 50
#: What is done with a row of cells: nothing, as no path begins there; cells are searched for; all cells are read.
SKIPPED, SEARCHED, READ = range(3)
#: Cells to be read for which a further thread pays; beyond so many threads, all wait for memory.
CELLS_OF_THREAD, MOST_THREADS = 1 << 19, 4


def mark_triples(graph: MixedGraph, sepset: SepSets, ambiguous: Indices | None) -> None:
    """Mark the triples that are not colliders by their separating sets, and the `ambiguous` triples, int64 (k, 3)."""
    if sepset.noncolliders is not None:
        graph.triple[triple_numbers(graph, sepset.noncolliders)] |= NO_COLLIDER
    else:
        _mark_by_sets(graph, sepset)
    if ambiguous is not None and len(ambiguous):
        graph.triple[triple_numbers(graph, ambiguous)] |= AMBIGUOUS


def _mark_by_sets(graph: MixedGraph, sepset: SepSets) -> None:
    degree = np.diff(graph.start)
    beyond = starts(degree[graph.entry[NEIGHBOUR]] - 1)
    reach = np.diff(beyond[graph.start])  # paths of two edges that start at each variable
    for block in sepset.blocks:
        if block.members.shape[1]:
            _mark_by_block(graph, plain(block.x), plain(block.y), plain(block.members), reach)


def _mark_by_block(graph: MixedGraph, x: Ints, y: Ints, members: Ints, reach: Indices) -> None:
    """Mark triples by sets of one size: of cells (x, y), sorted by x; `members`, int32 (k, size).

    Several threads divide the rows. All write the same mark, so it does not matter which of them comes last.
    """
    (k, size), p, read = members.shape, len(reach), len(x)
    if by_paths := size == 1 and k > reach.sum():
        way = np.where(reach == 0, SKIPPED, np.where(reach * CELLS_PER_SEARCH < k // p, SEARCHED, READ))
        read = k * int(np.count_nonzero(way == READ)) // p

    def mark(part: tuple[int, int]) -> None:
        some = slice(*part)
        cells = x[some], y[some], members[some].reshape(-1)
        if by_paths:
            _mark_by_paths(*graph[:3], *cells, way, np.full(p, -1))
        else:
            _mark_by_members(*graph, *cells, size)

    if read <= CELLS_OF_THREAD:
        mark((0, k))
        return
    threads = min(available_cores(), MOST_THREADS, 1 + read // CELLS_OF_THREAD)
    inner = [int(np.searchsorted(x, x[k * i // threads])) for i in range(1, threads)]
    run_in_threads(mark, pairwise([0, *inner, k]), threads)


def orient_colliders(graph: MixedGraph, solve_confl: bool) -> None:
    """Set x -> y <- z for every unshielded x - y - z that is not marked.

    Nodes y ascending, as pcalg goes: without conflict solving a later collider overwrites the arrow of an earlier one,
    with it the edge becomes bidirected. All arrows into one y are set one after the other, so their order does not
    matter.
    """
    _orient_colliders(*graph, np.full(graph.entry.shape[1], -1), solve_confl)


@compiled_for_large
def _mark_by_members(start, entry, triple, near, x, y, members, size):
    """Mark each x - b - z whose b is in the set of cell (x, z): by the first members of all cells, then by the second.

    A loop over the few members of each cell inside the loop over the cells would take longer.
    """
    for s in range(size):
        for k in range(len(x)):
            b = np.int64(members[k * size + s])  # so that `find` and others are not compiled for int32 as well
            v, w = np.int64(x[k]), np.int64(y[k])
            if maybe_adjacent(near, b, v) & maybe_adjacent(near, b, w) != 0:
                j = find(start, entry, b, w)
                if j >= 0:
                    i = find(start, entry, b, v)
                    if i >= 0:
                        triple[triple_number(entry, i, j)] |= NO_COLLIDER


@compiled_for_large
def _mark_by_paths(start, entry, triple, x, y, member, way, place):
    """`_mark_by_members` for sets of one member that outnumber the paths x - b - z, row by row and path by path.

    `way`, int64 (p,): what is done with each row. Waiting for memory takes most of the time, so the cells of a row that
    is read are read once and in their order: x and the member are entered as one number by z in `place`, int64 (p,),
    where an entry of another row has another x.
    """
    p, usual = len(place), len(x) // len(place) + 1
    end = 0
    for v in range(len(place)):
        if way[v] == SKIPPED:
            continue
        begin = _leap(x, end, usual, v)
        end = _position(x, begin, begin + p if begin + p < len(x) else len(x), v + 1)
        if way[v] == READ:
            for k in range(begin, end):
                place[unsigned(y[k])] = v * p + member[k]
        for e in range(start[v], start[v + 1]):
            b = entry[NEIGHBOUR, e]
            if way[v] == SEARCHED:
                for j in range(start[b], start[b + 1]):
                    z = entry[NEIGHBOUR, j]
                    k = _position(y, begin, end, z)
                    if k < end and y[k] == z and member[k] == b:
                        triple[triple_number(entry, entry[MIRROR, e], j)] |= NO_COLLIDER
            else:
                for j in range(start[b], start[b + 1]):
                    if place[unsigned(entry[NEIGHBOUR, unsigned(j)])] == v * p + b:
                        triple[triple_number(entry, entry[MIRROR, e], j)] |= NO_COLLIDER


@jit_part
def _leap(values, low, step, wanted):
    """As `_position` with the length as `high`: steps that grow until they have passed the position."""
    high = low
    while high < len(values) and values[high] < wanted:
        low = high + 1
        high += step
        step += step
    return _position(values, low, high if high < len(values) else len(values), wanted)


@jit_part
def _position(values, low, high, wanted):
    """The first position from `low` on, and before `high`, with a value of at least `wanted`, else `high`."""
    while low < high:
        middle = (low + high) >> 1
        if values[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@compiled_for_large
def _orient_colliders(start, entry, triple, near, partner, solve_confl):
    """`partner`, int64 (2 m,), at first -1, receives z for each entry x of y with a collider x -> y <- z.

    One collider is enough for an arrow: x takes its smallest z as partner, and z takes x unless it already has a
    partner.
    """
    for y in range(len(start) - 1):
        for i in range(start[y], start[y + 1]):
            x = entry[NEIGHBOUR, i]
            for j in range(start[y], start[y + 1]):
                if partner[i] >= 0:
                    break
                if i != j:
                    t = triple_number(entry, i, j)
                    z = entry[NEIGHBOUR, j]
                    if triple[t] != 0:
                        continue
                    if maybe_adjacent(near, x, z) != 0 and find(start, entry, x, z) >= 0:
                        triple[t] = NO_COLLIDER
                        continue
                    partner[i] = z
                    if partner[j] < 0:
                        partner[j] = x
        for i in range(start[y], start[y + 1]):
            if partner[i] >= 0:
                put_arrowhead(entry, i, COLLIDER, partner[i], partner[i], solve_confl)
