"""The possible effects of many causes given their parents, a block of causes at a time, and the largest of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from pycupc.effects.orientations import Ints
from pycupc.effects.parent_sets import ParentSets
from pycupc.effects.regression import Floats, weights_of
from pycupc.graph.lists import spans
from pycupc.system.machine import available_cores, in_threads

#: Effects of a block that is computed at once: 16 MB.
BLOCK = 1 << 21
#: A size that no effect of 0 reaches.
LEAST = float(np.nextafter(0.0, 1.0))

#: Causes, effects, values of some pairs.
Pairs = tuple[Ints, Ints, Floats]
_T = TypeVar("_T")


class Block(NamedTuple):
    """The effects of some causes: values (k, number of effects), and the row where the values of each cause begin."""

    causes: Ints
    values: Floats
    start: Ints

    def summary(self, how: str) -> Floats:
        """`Effects.smallest`, `mean` or `sign_agreement` of each pair, float64 (causes, effects)."""
        reduce = np.minimum if how == "smallest" else np.add
        values = self.values
        if how != "mean":
            values = np.abs(values) if how == "smallest" else np.sign(values)
        out, there = np.full((len(self.start) - 1, values.shape[1]), np.nan), np.flatnonzero(np.diff(self.start))
        if len(there):
            out[there] = reduce.reduceat(values, self.start[there], axis=0)
        if how == "smallest":
            return out
        mean: Floats = out / np.maximum(np.diff(self.start), 1)[:, None]
        return mean if how == "mean" else np.abs(mean)


class InBlocks:
    """The effects of `causes` on `effects` given each of the parent sets `sets`, a block of causes at a time."""

    causes: Ints
    effects: Ints
    sets: ParentSets

    def rows(self, causes: slice) -> Floats:
        """See `Effects.values`: of several causes, the rows of one after the rows of the other."""
        raise NotImplementedError

    def in_blocks(self, work: Callable[[Block], _T]) -> Iterator[_T]:
        """Yield ``work(block)`` for the effects of some causes at a time, in order; several threads call `work`."""

        def of_block(causes: slice) -> _T:
            start = self.sets.first[causes.start : causes.stop + 1] - self.sets.first[causes.start]
            return work(Block(self.causes[causes], self.rows(causes), start))

        most, bounds, n, first = max(1, BLOCK // max(1, len(self.effects))), [0], len(self.causes), self.sets.first
        while bounds[-1] < n:
            last = int(np.searchsorted(first, first[bounds[-1]] + most, "right")) - 1
            bounds.append(min(n, max(last, bounds[-1] + 1)))
        slices = [slice(a, b) for a, b in pairwise(bounds)]
        yield from in_threads(of_block, slices, min(available_cores(), len(slices)))


@dataclass(frozen=True)
class LocalEffects(InBlocks):
    """Effects given the parents of the causes.

    `weights` are as `weights_of` returns them; `columns`, float64 (p, number of effects), are the covariances of all
    variables with the effects.
    """

    causes: Ints
    effects: Ints
    sets: ParentSets
    weights: Floats
    columns: Floats

    @classmethod
    def of(cls, C: Floats, sets: ParentSets, causes: Ints, effects: Ints) -> LocalEffects:
        """The effects in a covariance matrix C (p, p)."""
        columns = C if len(effects) == len(C) else C[:, effects]
        return cls(causes, effects, sets, weights_of(C[sets.pairs()], sets), columns)

    def rows(self, causes: slice) -> Floats:
        from scipy.sparse import csr_array

        first, last = int(self.sets.first[causes.start]), int(self.sets.first[causes.stop])
        start, entries = self.sets.start[first : last + 1], slice(self.sets.start[first], self.sets.start[last])
        members, own = self.sets.members[entries], start - start[0]
        shape = (last - first, len(self.columns))
        values: Floats = csr_array((self.weights[entries], members, own), shape=shape) @ self.columns
        place = np.full(len(self.columns), -1, dtype=np.int64)
        place[self.effects] = np.arange(len(self.effects))
        column, row = place[members], np.repeat(np.arange(last - first), np.diff(own))
        column[own[1:] - 1] = -1  # the cause itself
        values[row[column >= 0], column[column >= 0]] = 0.0
        return values


def largest(of: InBlocks, k: int, least: float = LEAST) -> Pairs:
    """The k pairs with the largest smallest absolute effect, in this order: causes, effects, and the smallest effects.

    A pair counts if all its possible effects are defined, none is smaller than `least`, and its variables differ, so
    that there may be fewer than k. Of equal sizes the pair with the lower cause comes first, then the one with the
    lower effect.

    Returns `causes, effects`, int64 (m,): positions of the variables; `values`, float64 (m,): the possible effect of
    smallest absolute value, with its sign; if several have this value, the effect given the first parent set.
    """
    floors = [least]  # sizes that at least k pairs reach: one list for all threads, whose order does not matter
    parts = zip(*of.in_blocks(lambda block: _largest(block, of.effects, k, floors)), strict=True)
    x, y, values = (np.concatenate(part) for part in parts)
    return first_pairs(x, y, values, k)


def _largest(block: Block, effects: Ints, k: int, floors: list[float]) -> Pairs:
    """The pairs of a block that may be among the k largest of all, in any order; `floors` gets a higher one."""
    size = block.summary("smallest")
    size[block.causes[:, None] == effects] = np.nan
    flat, of_columns = size.ravel(), np.fmax.reduce(size, axis=0, initial=-1.0)
    if len(of_columns) >= k > 0:  # the largest of each column: at least k different pairs
        floors.append(float(np.partition(of_columns, -k)[-k]))
    at = np.flatnonzero(flat >= max(floors))
    if len(at) >= k > 0:
        floors.append(float(np.partition(flat[at], -k)[-k]))
        at = at[flat[at] >= floors[-1]]
    row, column = np.divmod(at, len(effects))
    sizes = np.diff(block.start)[row]
    pair = np.repeat(np.arange(len(row)), sizes)
    values = block.values[spans(block.start[row], sizes), column[pair]]
    hits = np.flatnonzero(np.abs(values) == flat[at[pair]])
    first = hits[np.unique(pair[hits], return_index=True)[1]]
    return block.causes[row], effects[column], values[first]


def first_pairs(x: Ints, y: Ints, values: Floats, k: int) -> Pairs:
    """The k pairs of largest size: of equal sizes the lower cause comes first, then the lower effect."""
    order = np.lexsort((y, x, -np.abs(values)))[:k]
    return x[order], y[order], values[order]
