"""The effects of some causes on all variables asked about, and the numbers that sum them up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pycupc.effects.regression import Floats, Ints


class Block(NamedTuple):
    """The effects of some causes: values (k, number of effects), and where those of each cause begin."""

    causes: slice
    values: Floats
    start: Ints

    def smallest(self) -> Floats:
        """The smallest absolute effect of each pair, float64 (causes, effects); NaN if one is, or there is none."""
        return _reduced(np.minimum, np.abs(self.values), self.start)

    def summary(self, how: str) -> Floats:
        """`Effects.smallest`, `mean` or `sign_agreement` of each pair, float64 (causes, effects)."""
        if how == "smallest":
            return self.smallest()
        values = self.values if how == "mean" else np.sign(self.values)
        mean: Floats = _reduced(np.add, values, self.start) / np.maximum(np.diff(self.start), 1)[:, None]
        return mean if how == "mean" else np.abs(mean)


def may_lead(size: Floats, k: int, floor: float) -> Ints:
    """Flat positions of the sizes from `floor` on; of more than k of them, those that may be among the k largest."""
    flat = size.ravel()
    at = np.flatnonzero(flat >= floor)
    return at[flat[at] >= np.partition(flat[at], -k)[-k]] if len(at) > k > 0 else at


def _reduced(how: np.ufunc, values: Floats, start: Ints) -> Floats:
    """`how` over the rows of each cause, float64 (causes, effects); NaN for a cause without rows."""
    out = np.full((len(start) - 1, values.shape[1]), np.nan)
    there = np.flatnonzero(np.diff(start))
    if len(there):
        out[there] = how.reduceat(values, start[there], axis=0)
    return out
