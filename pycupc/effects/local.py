"""The possible effects of many causes given their parents, a block of causes at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np

from pycupc.effects.blocks import Block
from pycupc.effects.regression import Floats, Ints, Regressions
from pycupc.effects.regressors import Regressors
from pycupc.system.machine import available_cores, in_threads

#: Effects of a block that is computed at once: 16 MB.
BLOCK = 1 << 21

_T = TypeVar("_T")


@dataclass(frozen=True)
class LocalEffects:
    """`columns`, float64 (p, number of effects): the covariances of all variables with the effects."""

    causes: Ints
    effects: Ints
    first: Ints  # (causes + 1,) the first regression of each cause
    regressions: Regressions
    columns: Floats

    @classmethod
    def of(cls, C: Floats, regressors: Regressors, causes: Ints, effects: Ints) -> LocalEffects:
        """The effects in a covariance matrix C (p, p)."""
        columns = C if len(effects) == len(C) else C[:, effects]
        return cls(causes, effects, regressors.first, Regressions.of(C[regressors.pairs()], *regressors[1:]), columns)

    def values(self, causes: slice) -> Floats:
        """See `Effects.values`: of several causes, the rows of one after those of the other."""
        first, last = int(self.first[causes.start]), int(self.first[causes.stop])
        start, values = self.regressions.start, self.regressions.effects(self.columns, first, last)
        place = np.full(len(self.columns), -1, dtype=np.int64)
        place[self.effects] = np.arange(len(self.effects))
        member = place[self.regressions.members[start[first] : start[last]]]
        row = np.repeat(np.arange(last - first), np.diff(start[first : last + 1]))
        cause = np.zeros(len(row), dtype=np.bool_)
        cause[start[first + 1 : last + 1] - start[first] - 1] = True
        parent = (member >= 0) & ~cause
        values[row[parent], member[parent]] = 0.0
        return values

    def in_blocks(self, work: Callable[[Block], _T]) -> Iterator[_T]:
        """Yield ``work(block)`` for the effects of some causes at a time, in order; several threads call `work`."""

        def of_block(causes: slice) -> _T:
            start = self.first[causes.start : causes.stop + 1] - self.first[causes.start]
            return work(Block(causes, self.values(causes), start))

        slices = self._slices()
        yield from in_threads(of_block, slices, min(available_cores(), len(slices)))

    def _slices(self) -> list[slice]:  # of causes whose effects are computed at once
        most, bounds, n = max(1, BLOCK // max(1, len(self.effects))), [0], len(self.causes)
        while bounds[-1] < n:
            last = int(np.searchsorted(self.first, self.first[bounds[-1]] + most, "right")) - 1
            bounds.append(min(n, max(last, bounds[-1] + 1)))
        return [slice(a, b) for a, b in pairwise(bounds)]
