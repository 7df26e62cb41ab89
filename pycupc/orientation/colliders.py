"""Unshielded colliders x -> y <- z: the arrows that the separating sets imply (contract, section 4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from pycupc.orientation.mixed_graph import MixedGraph

Triple = tuple[int, int, int]

#: Unshielded triples looked up together; bounds the memory of a hub.
PAIRS_AT_ONCE = 2_000_000


def is_ambiguous(ambiguous: Collection[Triple], a: int, b: int, c: int) -> bool:
    """Is the triple a - b - c, read from either end, in `ambiguous`?"""
    return bool(ambiguous) and ((a, b, c) in ambiguous or (c, b, a) in ambiguous)


def orient_colliders(graph: MixedGraph, sepset: Any, ambiguous: Collection[Triple], solve_confl: bool) -> None:
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
    graph: MixedGraph, sepset: Any, ambiguous: Collection[Triple]
) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Each y, ascending, that is a collider somewhere, with each x of x -> y <- z, ascending, and its smallest z."""
    p = graph.p
    nodes = [y for y in range(p) if len(graph.adjacent[y]) > 1]
    if not nodes:
        return
    keys = np.array(sorted(a * p + b for a in range(p) for b in graph.adjacent[a]), dtype=np.int64)
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
        edge = x * p + z
        open_ = keys[np.minimum(keys.searchsorted(edge), len(keys) - 1)] != edge
        x, z, at = x[open_], z[open_], at[open_]
        collider = ~(_contains(sepset, x, z, at) | _contains(sepset, z, x, at))
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
def _pairs_of(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs i < j of range(d)."""
    return np.triu_indices(d, 1)


def _contains(sepset: Any, x: np.ndarray, z: np.ndarray, y: np.ndarray) -> np.ndarray:
    many = getattr(sepset, "contains_many", None)
    if many is not None:
        return many(x, z, y)
    triples = zip(x.tolist(), z.tolist(), y.tolist(), strict=True)
    return np.fromiter((sepset.contains(*t) for t in triples), dtype=bool, count=len(x))


def conflicts(graph: MixedGraph, sepset: Any) -> dict[tuple[int, int], tuple[tuple, tuple]]:
    """Edges (a, b), a < b, ascending, that colliders want both ways, with a reason for a -> b and one for b -> a."""
    heads = MixedGraph(graph.p, graph.adjacent)
    orient_colliders(heads, sepset, (), solve_confl=True)
    both = sorted((a, b) for a, b in heads.trace if a < b and (b, a) in heads.trace)
    return {(a, b): (heads.trace[a, b], heads.trace[b, a]) for a, b in both}
