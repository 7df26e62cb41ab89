"""Unshielded colliders x -> y <- z: the arrows that the separating sets imply (tests/CONTRACT.md, section 4)."""

from __future__ import annotations

import numpy as np

from pycupc.compiled import compiled_for_large, part
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
)
from pycupc.orientation.trace import COLLIDER
from pycupc.results.sepset import SepSets

#: Costs of looking at one member of a set and at one cell, relative to one step to a neighbour's neighbour and to one
#: search among the cells of a row; see `_mark_members`.
STEPS_PER_MEMBER, CELLS_PER_SEARCH = 3, 100


def mark_triples(graph: MixedGraph, sepset: SepSets, ambiguous: Indices) -> None:
    """Mark the triples that are not colliders by their separating sets, and the `ambiguous` triples, int64 (k, 3)."""
    degree = np.diff(graph.start)
    beyond = np.concatenate(([0], np.cumsum(degree[graph.entry[NEIGHBOUR]] - 1)))
    reach = np.diff(beyond[graph.start])  # paths of two edges that start at each variable
    for block in sepset.blocks:
        members, place = plain(block.members), np.full(len(degree), -1)
        _mark_members(*graph, plain(block.x), plain(block.y), members.reshape(-1), members.shape[1], reach, place)
    if len(ambiguous):
        _mark_ambiguous(*graph[:3], ambiguous)


def orient_colliders(graph: MixedGraph, solve_confl: bool) -> None:
    """Set x -> y <- z for every unshielded x - y - z that is not marked.

    Nodes y ascending, as pcalg goes: without conflict solving a later collider overwrites the arrow of an earlier one,
    with it the edge becomes bidirected. All arrows into one y are set one after the other, so their order does not
    matter.
    """
    _orient_colliders(*graph, np.full(graph.entry.shape[1], -1), solve_confl)


@compiled_for_large
def _mark_members(  # noqa: C901, PLR0913 - in one piece, because pieces take longer to compile
    start, entry, triple, near, x, y, members, size, reach, place
):
    """Mark each x - b - z whose b is in the set of cell (x, z), for all cells of one block, row by row.

    The fastest of three ways is taken: from the members of the sets, if there are few; from the paths x - b - z, whose
    cells are searched for, if there are few of them; or from these paths, all cells entered by z in `place`, int64
    (p,), which is -1 at first.
    """
    end = 0
    while end < len(x):
        begin = end
        v = x[begin] + 0  # + 0 makes an int64, so that `find` and others are not compiled for int32 as well
        step = 1
        while end + step < len(x) and x[end + step] == v:
            end += step
            step *= 2
        end = _position(x, end, end + step if end + step < len(x) else len(x), v + 1)
        if (end - begin) * size * STEPS_PER_MEMBER < reach[v]:
            for k in range(begin, end):
                z = y[k] + 0
                for s in range(k * size, (k + 1) * size):
                    b = members[s] + 0
                    if maybe_adjacent(near, b, z) and maybe_adjacent(near, b, v):
                        i = find(start, entry, b, v)
                        j = find(start, entry, b, z)
                        if i >= 0 and j >= 0:
                            triple[triple_number(entry, i, j)] |= NO_COLLIDER
        elif reach[v] > 0:
            entered = reach[v] * CELLS_PER_SEARCH > end - begin
            for k in range(begin, end if entered else begin):
                place[y[k]] = k
            for e in range(start[v], start[v + 1]):
                b = entry[NEIGHBOUR, e]
                for j in range(start[b], start[b + 1]):
                    z = entry[NEIGHBOUR, j]
                    k = place[z] if entered else _position(y, begin, end, z)
                    if k >= begin and k < end and (entered or y[k] == z):  # else entered for an earlier row
                        for s in range(k * size, (k + 1) * size):
                            if members[s] == b:
                                triple[triple_number(entry, entry[MIRROR, e], j)] |= NO_COLLIDER


@part
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
def _mark_ambiguous(start, entry, triple, triples):
    for t in range(len(triples)):
        i = find(start, entry, triples[t, 1], triples[t, 0])
        j = find(start, entry, triples[t, 1], triples[t, 2])
        if i >= 0 and j >= 0:
            triple[triple_number(entry, i, j)] |= AMBIGUOUS


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
                if partner[i] < 0 and i != j:
                    t = triple_number(entry, i, j)
                    z = entry[NEIGHBOUR, j]
                    if triple[t] != 0:
                        continue
                    if maybe_adjacent(near, x, z) and find(start, entry, x, z) >= 0:
                        triple[t] = NO_COLLIDER
                        continue
                    partner[i] = z
                    if partner[j] < 0:
                        partner[j] = x
        for i in range(start[y], start[y + 1]):
            if partner[i] >= 0:
                put_arrowhead(entry, i, COLLIDER, partner[i], partner[i], solve_confl)
