"""Unshielded colliders x -> y <- z: the arrows that the separating sets imply (contract, section 4)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pycupc.orientation.graph import MixedGraph

Triple = tuple[int, int, int]


def is_ambiguous(ambiguous: Collection[Triple], a: int, b: int, c: int) -> bool:
    """Is the triple a - b - c, read from either end, in `ambiguous`?"""
    return bool(ambiguous) and ((a, b, c) in ambiguous or (c, b, a) in ambiguous)


def orient_colliders(graph: MixedGraph, sepset: Any, ambiguous: Collection[Triple], solve_confl: bool) -> None:
    """Set x -> y <- z for every unshielded x - y - z with y in no separating set of x and z.

    Nodes y ascending, as pcalg goes: without conflict solving a later collider overwrites the arrow of an earlier one,
    with it the edge becomes bidirected. All arrows into one y come one after the other, so their own order is free:
    an arrow needs one collider, and the search for x stops at the first.
    """
    for y in range(graph.p):
        neighbours = graph.adjacent[y]
        if len(neighbours) < 2:
            continue
        partner: dict[int, int] = {}
        for x in sorted(neighbours):
            if x in partner:
                continue
            for z in sorted(neighbours - graph.adjacent[x]):
                if z == x or is_ambiguous(ambiguous, x, y, z):
                    continue
                if not (sepset.contains(x, z, y) or sepset.contains(z, x, y)):
                    partner[x] = z
                    partner.setdefault(z, x)
                    break
        for x, z in partner.items():
            reason = ("collider", min(x, z), y, max(x, z))
            if solve_confl:
                graph.point(x, y, reason)
            else:
                graph.direct(x, y, reason)


def conflicts(graph: MixedGraph, sepset: Any) -> dict[tuple[int, int], tuple[tuple, tuple]]:
    """Edges (a, b), a < b, ascending, that colliders want both ways, with a reason for a -> b and one for b -> a."""
    heads = MixedGraph(graph.p, graph.adjacent)
    orient_colliders(heads, sepset, (), solve_confl=True)
    both = sorted((a, b) for a, b in heads.trace if a < b and (b, a) in heads.trace)
    return {(a, b): (heads.trace[a, b], heads.trace[b, a]) for a, b in both}
