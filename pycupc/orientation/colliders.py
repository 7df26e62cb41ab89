"""Unshielded colliders x -> y <- z: the arrows that the separating sets imply (tests/CONTRACT.md, section 4)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from pycupc.compiled import compiled, part
from pycupc.orientation.mixed_graph import (
    AMBIGUOUS,
    MIRROR,
    NEIGHBOUR,
    NO_COLLIDER,
    MixedGraph,
    find,
    put_arrowhead,
    triple_number,
)
from pycupc.orientation.conservative import Triple
from pycupc.orientation.trace import COLLIDER
from pycupc.results.sepset import SepSets


def mark_triples(graph: MixedGraph, sepset: SepSets, ambiguous: Collection[Triple]) -> None:
    """Mark the triples that are no colliders, because of a separating set, and those that are ambiguous."""
    for block in sepset.blocks:
        x, y, members = (np.require(values, np.int32, "CW") for values in (block.x, block.y, block.members))
        _mark_members(*graph, x, y, members, np.full(len(graph.start) - 1, -1))
    if ambiguous:
        _mark_ambiguous(*graph, np.array(list(ambiguous), dtype=np.int64))


def orient_colliders(graph: MixedGraph, solve_confl: bool) -> None:
    """Set x -> y <- z for every unshielded x - y - z that is not marked.

    Nodes y ascending, as pcalg goes: without conflict solving a later collider overwrites the arrow of an earlier one,
    with it the edge becomes bidirected. All arrows into one y come one after the other, so their own order is free.
    """
    _orient_colliders(*graph, np.full(graph.entry.shape[1], -1), solve_confl)


@compiled
def _mark_members(start, entry, triple, x, y, members, cell):
    """Mark y of each x - y - z that is in the set of cell (x, z), for all cells of one block."""
    end = 0
    for a in range(len(cell)):
        if start[a] < start[a + 1]:
            begin = _first_from(x, end, a)
            end = _first_from(x, begin, a + 1)
            if begin < end:
                _mark_row(start, entry, triple, a, begin, end, y, members, cell)


@part
def _first_from(x, at, value):
    """The first position from `at` on, where x is ascending, with ``x >= value``: found in steps that double."""
    step = 1
    while at + step <= len(x) and x[at + step - 1] < value:
        at += step
        step *= 2
    while step > 1:
        step >>= 1
        if at + step <= len(x) and x[at + step - 1] < value:
            at += step
    return at


@part
def _mark_row(start, entry, triple, a, begin, end, y, members, cell):  # noqa: PLR0913 - a hot loop, without named tuples
    """The cells (a, y), numbers `begin` to `end` - 1, entered in `cell` by y and found by a's neighbours' neighbours."""
    for k in range(begin, end):
        cell[y[k]] = k
    for i in range(start[a], start[a + 1]):
        b = entry[NEIGHBOUR, i]
        for j in range(start[b], start[b + 1]):
            k = cell[entry[NEIGHBOUR, j]]
            if k >= begin and k < end:  # else left by an earlier row
                for s in range(members.shape[1]):
                    if members[k, s] == b:
                        triple[triple_number(entry, entry[MIRROR, i], j)] |= NO_COLLIDER


@compiled
def _mark_ambiguous(start, entry, triple, triples):
    for t in range(len(triples)):
        i = find(start, entry, triples[t, 1], triples[t, 0])
        j = find(start, entry, triples[t, 1], triples[t, 2])
        if i >= 0 and j >= 0:
            triple[triple_number(entry, i, j)] |= AMBIGUOUS


@compiled
def _orient_colliders(start, entry, triple, partner, solve_confl):
    for y in range(len(start) - 1):
        _orient_into(start, entry, triple, partner, y, solve_confl)


@part
def _orient_into(start, entry, triple, partner, y, solve_confl):
    """The arrows into y. `partner`, int64 (2 m,), at first -1, receives z for each entry x with a collider x -> y <- z.

    An arrow needs one collider: x takes its smallest z, and so does z take x, unless it has a partner by then.
    """
    begin = start[y]
    end = start[y + 1]
    for i in range(begin, end):
        x = entry[NEIGHBOUR, i]
        for j in range(begin, end):
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
    for i in range(begin, end):
        if partner[i] >= 0:
            put_arrowhead(entry, i, COLLIDER, partner[i], partner[i], solve_confl)
