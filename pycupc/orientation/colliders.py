"""Unshielded colliders x -> y <- z: the arrows that the separating sets imply (docs/CONTRACT.md, section 4)."""

from __future__ import annotations

import numpy as np

from pycupc.graph.sepset import SepSets
from pycupc.orientation.mixed_graph import (
    AMBIGUOUS,
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
)
from pycupc.orientation.trace import COLLIDER
from pycupc.system.compiled import compiled_for_large


def mark_triples(graph: MixedGraph, sepset: SepSets, ambiguous: Indices | None) -> None:
    """Mark the triples that are not colliders by their separating sets, and the `ambiguous` triples, int64 (k, 3)."""
    for block in sepset.blocks:
        for members in block.members.T:
            _mark_members(*graph, plain(block.x), plain(block.y), plain(members))
    if ambiguous is not None and len(ambiguous):
        graph.triple[triple_numbers(graph, ambiguous)] |= AMBIGUOUS


def orient_colliders(graph: MixedGraph, solve_confl: bool) -> None:
    """Set x -> y <- z for every unshielded x - y - z that is not marked.

    Nodes y ascending, as pcalg goes: without conflict solving a later collider overwrites the arrow of an earlier one,
    with it the edge becomes bidirected. All arrows into one y are set one after the other, so their order does not
    matter.
    """
    _orient_colliders(*graph, np.full(graph.entry.shape[1], -1), solve_confl)


@compiled_for_large
def _mark_members(start, entry, triple, near, x, y, members):
    """Mark each x - b - z whose b is the given member of the set of cell (x, z)."""
    for k in range(len(x)):
        b = np.int64(members[k])  # so that `find` and others are not compiled for int32 as well
        v, w = np.int64(x[k]), np.int64(y[k])
        if maybe_adjacent(near, b, v) & maybe_adjacent(near, b, w) != 0:
            j = find(start, entry, b, w)
            if j >= 0:
                i = find(start, entry, b, v)
                if i >= 0:
                    triple[triple_number(entry, i, j)] |= NO_COLLIDER


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
