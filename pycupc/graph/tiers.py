"""Tiers of variables, and which neighbours they leave as candidates for a conditioning set (docs/TIERS.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.questions import Lists
from pycupc.graph.sparse import Ints, SparseGraph

Indices = NDArray[np.int64]
Integers = NDArray[np.integer]
#: Counts the candidates of the ordered pairs of two arrays.
Counter = Callable[[Integers, Integers], Indices]

#: Candidates of all pairs that an engine is asked about at a time: 4 bytes each, as much as a level of a dense graph.
CANDIDATES_AT_ONCE = 1 << 24


class Tiers(NamedTuple):
    """The tier of each variable, int64 (p,), the earliest 0, and whether there may be hidden common causes.

    With them the sets of an ordered pair are drawn from the tiers up to the later one of both, without them from those
    up to the tier of the first. `lost`, int32 (k, 2), are edges of the skeleton, x < y, of which both directions are
    impossible; the graph lacks them.
    """

    tier: Indices
    latent: bool = False
    lost: Ints = np.zeros((0, 2), dtype=np.int32)

    def limit(self, x: Integers, y: Integers) -> Indices:
        """The last tier from which the sets of the ordered pairs are drawn."""
        return np.asarray(np.maximum(self.tier[x], self.tier[y]) if self.latent else self.tier[x])


class NearLists:
    """The neighbours of each variable by tier.

    An entry is an ordered pair of neighbours, `owner` and `neighbour`, int32 (2 m,), by owner, then by neighbour.
    `edge` is the position of the pair in the list of edges.
    """

    def __init__(self, low: Integers, high: Integers, tier: Indices) -> None:
        self._graph = SparseGraph.undirected(len(tier), low, high)
        self._start, self.neighbour = self._graph.neighbour_lists()
        self._degree = np.diff(self._start)
        self.owner = np.repeat(np.arange(len(tier), dtype=np.int32), self._degree)
        self._tier, self._n_tiers = tier, int(tier.max(initial=0)) + 1
        self._by_tier = np.sort(self.owner.astype(np.int64) * self._n_tiers + tier[self.neighbour])

    @cached_property
    def edge(self) -> Indices:
        return self._graph.edge_number(self.owner, self.neighbour)

    def n_candidates(self, x: Integers, y: Integers, limit: Indices) -> Indices:
        """The number of neighbours of x in tiers up to `limit`, without its neighbour y."""
        return self.n_near(x, limit) - (self._tier[y] <= limit)

    def n_near(self, x: Integers, limit: Indices) -> Indices:
        """The number of neighbours of x in tiers up to `limit`."""
        last = self._by_tier.searchsorted(x.astype(np.int64) * self._n_tiers + limit, side="right")
        return np.asarray(last - self._start[x])

    def by_side(self) -> Iterator[Indices]:
        """The entries of side A, then those of side B."""
        yield np.flatnonzero(self.owner < self.neighbour)
        yield np.flatnonzero(self.owner > self.neighbour)

    def in_order(self) -> Iterator[Indices]:
        """The entries row by row, as pcalg visits them."""
        for begin, end in zip(self._start[:-1].tolist(), self._start[1:].tolist(), strict=True):
            yield np.arange(begin, end)

    def parts(self, entries: Indices) -> Iterator[Indices]:
        """The entries in parts, whose owners have about `CANDIDATES_AT_ONCE` neighbours together."""
        part = np.cumsum(self._degree[self.owner[entries]]) // CANDIDATES_AT_ONCE
        yield from np.split(entries, np.flatnonzero(np.diff(part)) + 1) if len(entries) else ()

    def candidates(self, entries: Indices, limit: Indices) -> Lists:
        """The owner's neighbours in tiers up to the `limit` of each entry, without the neighbour of the entry."""
        owner = self.owner[entries]
        degree = self._degree[owner]
        ends = np.cumsum(degree)
        members = self.neighbour[np.arange(ends[-1]) + np.repeat(self._start[owner] - ends + degree, degree)]
        entry = np.repeat(np.arange(len(entries)), degree)
        kept = (self._tier[members] <= limit[entry]) & (members != self.neighbour[entries[entry]])
        number = np.bincount(entry[kept], minlength=len(entries))
        return Lists(np.concatenate(([0], np.cumsum(number))), members[kept])


def counter(tiers: Tiers | None, pairs: Sequence[tuple[Integers, Integers]], p: int) -> Counter:
    """The function that counts the candidates of ordered pairs of neighbours, in the graph with these edges."""
    x, y = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    if tiers is None:
        degree = np.bincount(np.concatenate([x, y]), minlength=p)
        return lambda v, _: degree[v] - 1
    lists = NearLists(np.minimum(x, y), np.maximum(x, y), tiers.tier)
    return lambda v, other: lists.n_candidates(v, other, tiers.limit(v, other))
