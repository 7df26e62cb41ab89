"""Unshielded colliders x -> y <- z: the arrows that the separating sets imply (tests/CONTRACT.md, section 4)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from pycupc.compiled import compiled, part
from pycupc.orientation.conservative import Triple
from pycupc.orientation.mixed_graph import (
    AMBIGUOUS,
    MIRROR,
    NEIGHBOUR,
    NO_COLLIDER,
    MixedGraph,
    find,
    plain,
    put_arrowhead,
    triple_number,
)
from pycupc.orientation.trace import COLLIDER
from pycupc.results.sepset import SepSets

#: As many cells are entered in the time of one search.
CELLS_PER_SEARCH = 16


def mark_triples(graph: MixedGraph, sepset: SepSets, ambiguous: Collection[Triple]) -> None:
    """Mark the triples that are no colliders, because of a separating set, and those that are ambiguous."""
    variables = np.arange(len(graph.start), dtype=np.int32)
    for block in sepset.blocks:
        rows, members = np.searchsorted(block.x, variables), plain(block.members)
        cell = np.full(len(variables) - 1, -1)
        _mark_members(*graph, rows, plain(block.y), members.reshape(-1), members.shape[1], cell)
    if ambiguous:
        _mark_ambiguous(*graph, np.array(list(ambiguous), dtype=np.int64))


def orient_colliders(graph: MixedGraph, solve_confl: bool) -> None:
    """Set x -> y <- z for every unshielded x - y - z that is not marked.

    Nodes y ascending, as pcalg goes: without conflict solving a later collider overwrites the arrow of an earlier one,
    with it the edge becomes bidirected. All arrows into one y come one after the other, so their own order is free.
    """
    _orient_colliders(*graph, np.full(graph.entry.shape[1], -1), solve_confl)


@compiled
def _mark_members(start, entry, triple, rows, y, members, size, cell):
    """Mark y of each x - y - z that is in the set of cell (x, z), for all cells of one block.

    The cells of x are ``rows[x]`` to ``rows[x + 1] - 1``, ascending in z. The cells of the neighbours z of its
    neighbours are searched for one by one, or, where that pays, all cells of x entered by z in `cell`, int64 (p,).
    """
    for x in range(len(cell)):
        begin = rows[x]
        end = rows[x + 1]
        searches = 0
        if begin < end:
            for e in range(start[x], start[x + 1]):
                searches += start[entry[NEIGHBOUR, e] + 1] - start[entry[NEIGHBOUR, e]] - 1
        if searches == 0:
            continue
        enter = searches * CELLS_PER_SEARCH > end - begin
        if enter:
            for k in range(begin, end):
                cell[y[k]] = k
        for e in range(start[x], start[x + 1]):
            b = entry[NEIGHBOUR, e]
            i = entry[MIRROR, e]
            for j in range(start[b], start[b + 1]):
                z = entry[NEIGHBOUR, j]
                k = cell[z] if enter else _position(y, begin, end, z)
                if k >= begin and k < end and y[k] == z:  # else left by an earlier x, or the place where it would be
                    for s in range(k * size, (k + 1) * size):
                        if members[s] == b:
                            triple[triple_number(entry, i, j)] |= NO_COLLIDER


@part
def _position(y, low, high, z):
    """The first position from `low` on, and before `high`, with ``y >= z``, else `high`."""
    while low < high:
        middle = (low + high) >> 1
        if y[middle] < z:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _mark_ambiguous(start, entry, triple, triples):
    for t in range(len(triples)):
        i = find(start, entry, triples[t, 1], triples[t, 0])
        j = find(start, entry, triples[t, 1], triples[t, 2])
        if i >= 0 and j >= 0:
            triple[triple_number(entry, i, j)] |= AMBIGUOUS


@compiled
def _orient_colliders(start, entry, triple, partner, solve_confl):
    """`partner`, int64 (2 m,), at first -1, receives z for each entry x of y with a collider x -> y <- z.

    An arrow needs one collider: x takes its smallest z, and so does z take x, unless it has a partner by then.
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
                    if find(start, entry, x, z) >= 0:
                        triple[t] = NO_COLLIDER
                        continue
                    partner[i] = z
                    if partner[j] < 0:
                        partner[j] = x
        for i in range(start[y], start[y + 1]):
            if partner[i] >= 0:
                put_arrowhead(entry, i, COLLIDER, partner[i], partner[i], solve_confl)
