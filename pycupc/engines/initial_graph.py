"""The graph before level 0: all pairs of variables but the gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycupc.data.pairs import Pairs
from pycupc.engines.protocol import Floats, Ints


@dataclass(frozen=True)
class FirstGraph:
    """The complete graph of p variables without `gaps`, in which the edges of `fixed` are never tested."""

    p: int
    gaps: Pairs | None
    fixed: Pairs | None

    def edges(self) -> tuple[Ints, Ints, Floats]:
        """x, y and z of `State`: no test has been made."""
        low, high = np.triu_indices(self.p, 1)
        left = np.ones(len(low), dtype=np.bool_) if self.gaps is None else ~self.gaps.holds(low, high)
        x, y = low[left].astype(np.int32), high[left].astype(np.int32)
        return x, y, np.full(len(x), np.inf)

    def tested(self) -> NDArray[np.int64]:
        """The number of pairs x < y that level 0 tests, of each x, int64 (p,)."""
        untested = self.fixed if self.gaps is None else self.gaps | self.fixed
        out = np.arange(self.p)[::-1]
        return out.copy() if untested is None else out - np.bincount(untested.low, minlength=self.p)

    def has_candidates(self, kept: NDArray[np.integer]) -> bool:
        """Whether a tested pair (x, y) has a candidate, another neighbour of x: then pcalg runs level 1.

        `kept`: y of the pairs x < y, without fixed ones, whose edge side A has kept; side B tests (y, x).
        """
        degree = np.full(self.p, self.p - 1) if self.gaps is None else self.p - 1 - self.gaps.degrees()
        return bool((degree[self.tested() > 0] > 1).any() or (degree[kept] > 1).any())
