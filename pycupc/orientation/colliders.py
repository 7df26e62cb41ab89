"""Unshielded colliders x -> y <- z: the arrows that the separating sets imply (tests/CONTRACT.md, section 4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.orientation.mixed_graph import MixedGraph, Reason

Triple = tuple[int, int, int]

#: Unshielded triples looked up together; bounds the memory of a hub.
PAIRS_AT_ONCE = 2_000_000


def is_ambiguous(ambiguous: Collection[Triple], a: int, b: int, c: int) -> bool:
    """Is the triple a - b - c, read from either end, in `ambiguous`?"""
    return bool(ambiguous) and ((a, b, c) in ambiguous or (c, b, a) in ambiguous)


class ContainsMany(Protocol):
    """Separating sets, as far as colliders need them: `SepSets`."""

    def contains_many(self, x: ArrayLike, y: ArrayLike, b: ArrayLike) -> NDArray[np.bool_]:
        """Is b in the set of cell (x, y)? False where a cell holds no set."""


def orient_colliders(graph: MixedGraph, sepset: ContainsMany, ambiguous: Collection[Triple], solve_confl: bool) -> None:
    """Set x -> y <- z for every unshielded x - y - z with y in no separating set of x and z.

    Nodes y ascending, as pcalg goes: without conflict solving a later collider overwrites the arrow of an earlier one,
    with it the edge becomes bidirected. All arrows into one y come one after the other, so their own order is free:
    an arrow needs one collider, the one with the smallest partner. Triples are looked up in the sepsets all at once.
    """
    for y, smallest in _candidates(graph, sepset, ambiguous):
        partner: dict[int, int] = {}
        for x, z in smallest:
            if x not in partner:
                partner[x] = z
                partner.setdefault(z, x)
        for x, z in partner.items():
            reason = ("collider", min(x, z), y, max(x, z))
            if solve_confl:
                graph.point(x, y, reason)
            else:
                graph.direct(x, y, reason)


def _candidates(
    graph: MixedGraph, sepset: ContainsMany, ambiguous: Collection[Triple]
) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Each y, ascending, that is a collider somewhere, with each x of x -> y <- z, ascending, and its smallest z."""
    nodes = [y for y in range(graph.p) if len(graph.adjacent[y]) > 1]
    if not nodes:
        return
    chunk: list[int] = []
    size = 0
    for i, y in enumerate(nodes):
        chunk.append(y)
        size += len(graph.adjacent[y]) ** 2
        if size < PAIRS_AT_ONCE and i + 1 < len(nodes):
            continue
        pairs = [np.array(sorted(graph.adjacent[c]), dtype=np.int64) for c in chunk]
        upper = [_pairs_of(len(row)) for row in pairs]
        x = np.concatenate([row[u[0]] for row, u in zip(pairs, upper, strict=True)])
        z = np.concatenate([row[u[1]] for row, u in zip(pairs, upper, strict=True)])
        at = np.repeat(np.array(chunk, dtype=np.int64), [len(u[0]) for u in upper])
        open_ = ~graph.skeleton.adjacent(x, z)
        x, z, at = x[open_], z[open_], at[open_]
        collider = ~(sepset.contains_many(x, z, at) | sepset.contains_many(z, x, at))
        x, z, at = x[collider], z[collider], at[collider]
        if ambiguous:
            triples = zip(x.tolist(), at.tolist(), z.tolist(), strict=True)
            clear = np.array([not is_ambiguous(ambiguous, *t) for t in triples], dtype=bool)
            x, z, at = x[clear], z[clear], at[clear]
        x, z, at = np.concatenate((x, z)), np.concatenate((z, x)), np.concatenate((at, at))
        order = np.lexsort((z, x, at))
        x, z, at = x[order], z[order], at[order]
        first = np.ones(len(x), dtype=bool)
        first[1:] = (x[1:] != x[:-1]) | (at[1:] != at[:-1])
        found: dict[int, list[tuple[int, int]]] = {}
        for a, c, b in zip(x[first].tolist(), at[first].tolist(), z[first].tolist(), strict=True):
            found.setdefault(c, []).append((a, b))
        yield from found.items()
        chunk, size = [], 0


@lru_cache(maxsize=1024)
def _pairs_of(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs i < j of range(d)."""
    return np.triu_indices(d, 1)


def conflicts(graph: MixedGraph, sepset: ContainsMany) -> dict[tuple[int, int], tuple[Reason, Reason]]:
    """Edges (a, b), a < b, ascending, that colliders want both ways, with a reason for a -> b and one for b -> a."""
    heads = MixedGraph(graph.skeleton, graph.adjacent)
    orient_colliders(heads, sepset, (), solve_confl=True)
    both = sorted((a, b) for a, b in heads.trace if a < b and (b, a) in heads.trace)
    return {(a, b): (heads.trace[a, b], heads.trace[b, a]) for a, b in both}
