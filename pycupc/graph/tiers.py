"""Tiers of variables, and which neighbours they leave as candidates for a conditioning set
(docs/contracts/tiers.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.lists import Indices, Integers, Lists, starts
from pycupc.graph.sparse import Ints, SparseGraph

#: Counts the candidates of the ordered pairs of two arrays.
Counter = Callable[[Integers, Integers], Indices]

#: Candidates of all pairs that an engine is asked about at a time: 4 bytes each, in all the size of a level of a dense
#: graph.
CANDIDATES_AT_ONCE = 1 << 24


#: The number of a variable without a tier.
NO_TIER = -1


def first_tier(tier: Indices) -> Indices:
    """The first tier in which each variable may be."""
    return np.maximum(tier, 0)


def last_tier(tier: Indices) -> Indices:
    """The last tier in which each variable may be."""
    return np.where(tier == NO_TIER, tier.max(initial=0), tier)


def earlier(tier: Indices, x: Integers, y: Integers) -> NDArray[np.bool_]:
    """Whether both variables of a pair have a tier, and the first variable has the earlier one."""
    return np.asarray((tier[x] != NO_TIER) & (tier[x] < tier[y]))


class Tiers(NamedTuple):
    """The tier of each variable, int64 (p,), the earliest 0, -1 without a tier; and whether there may be hidden causes.

    A variable without a tier may be in any: it counts as one of the first tier where it is a member of a set, and as
    one of the last tier where sets are drawn for it. With hidden causes the sets of an ordered pair are drawn from the
    tiers up to the later tier of the two variables, without hidden causes from the tiers up to the tier of the first.
    `lost`, int32 (k, 2), are edges of the skeleton, x < y, of which both directions are impossible; the graph lacks
    them.
    """

    tier: Indices
    latent: bool = False
    lost: Ints = np.zeros((0, 2), dtype=np.int32)

    @property
    def first(self) -> Indices:
        """The first tier in which each variable may be."""
        return first_tier(self.tier)

    @property
    def last(self) -> Indices:
        """The last tier in which each variable may be."""
        return last_tier(self.tier)

    def limit(self, x: Integers, y: Integers) -> Indices:
        """The last tier from which the sets of the ordered pairs are drawn."""
        last = self.last
        return np.asarray(np.maximum(last[x], last[y]) if self.latent else last[x])

    def may_be_given(self, x: Integers, y: Integers, members: Integers) -> NDArray[np.bool_]:
        """Whether tests of the ordered pair may be given each of the members."""
        return np.asarray(self.first[members] <= self.limit(x, y))

    def same(self, other: Tiers | None) -> bool:
        """Whether the other tiers limit the tests in the same way."""
        return other is not None and self.latent == other.latent and np.array_equal(self.tier, other.tier)

    def arrowheads(self, skeleton: SparseGraph) -> list[tuple[int, int]]:
        """The edges a *-> b whose b is in the later tier: with hidden common causes their arrowhead is known."""
        low, high = skeleton.low, skeleton.high
        turned = earlier(self.tier, high, low)
        between = turned | earlier(self.tier, low, high)
        ends = (np.where(turned, *pair)[between].tolist() for pair in ((high, low), (low, high)))
        return list(zip(*ends, strict=True))


class NearLists:
    """The neighbours of each variable by tier.

    An entry is an ordered pair of neighbours, `owner` and `neighbour`, int32 (2 m,), by owner, then by neighbour.
    `edge` is the position of the pair in the list of edges, `start` where the entries of each owner begin.
    """

    def __init__(self, low: Integers, high: Integers, tiers: Tiers) -> None:
        self.tiers, self._first, p = tiers, tiers.first, len(tiers.tier)
        owner, neighbour = np.concatenate([low, high], dtype=np.int32), np.concatenate([high, low], dtype=np.int32)
        order = np.argsort(owner * np.int64(p) + neighbour)
        self.owner, self.neighbour, self.edge = owner[order], neighbour[order], order % max(len(low), 1)
        self._degree = np.bincount(self.owner, minlength=p)
        self.start = starts(self._degree)
        self._n_tiers = int(self._first.max(initial=0)) + 1
        self._by_tier = np.sort(self.owner.astype(np.int64) * self._n_tiers + self._first[self.neighbour])

    @cached_property
    def number(self) -> Indices:
        """The number of candidates of each entry."""
        return self.n_candidates(self.owner, self.neighbour)

    def n_candidates(self, x: Integers, y: Integers) -> Indices:
        """The number of candidates of ordered pairs of neighbours."""
        limit = self.tiers.limit(x, y)
        return self.n_near(x, limit) - (self._first[y] <= limit)

    def n_near(self, x: Integers, limit: Indices) -> Indices:
        """The number of neighbours of x in tiers up to `limit`."""
        last = self._by_tier.searchsorted(x.astype(np.int64) * self._n_tiers + limit, side="right")
        return np.asarray(last - self.start[x])

    def parts(self, entries: Indices) -> Iterator[Indices]:
        """The entries in parts, whose owners have about `CANDIDATES_AT_ONCE` neighbours together."""
        part = np.cumsum(self._degree[self.owner[entries]]) // CANDIDATES_AT_ONCE
        yield from np.split(entries, np.flatnonzero(np.diff(part)) + 1) if len(entries) else ()

    @cached_property
    def _near(self) -> Lists:
        """The neighbours of each owner that may be candidates for its entries."""
        if self.tiers.latent:
            return Lists(self.start, self.neighbour)
        near = self._first[self.neighbour] <= self.tiers.last[self.owner]
        return Lists.by_owner(self.owner[near], self.neighbour[near], len(self._degree))

    def candidates(self, entries: Indices) -> Lists:
        """The candidates of these entries, ascending."""
        owner, neighbour = self.owner[entries], self.neighbour[entries]
        entry, members = self._near.of_each(owner)
        kept = members != neighbour[entry]
        if self.tiers.latent:
            kept &= self._first[members] <= self.tiers.limit(owner, neighbour)[entry]
        return Lists(starts(self.number[entries]), members[kept])


def counter(tiers: Tiers | None, pairs: Sequence[tuple[Integers, Integers]], p: int) -> Counter:
    """The function that counts the candidates of ordered pairs of neighbours, in the graph with these edges."""
    x, y = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    if tiers is None:
        degree = np.bincount(np.concatenate([x, y]), minlength=p)
        return lambda v, _: degree[v] - 1
    lists = NearLists(np.minimum(x, y), np.maximum(x, y), tiers)
    return lists.n_candidates
