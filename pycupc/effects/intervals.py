"""Confidence intervals of effects, by the formula of linear regression with an intercept, given the graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pycupc.effects.regression import Floats, Ints, Regressions


def half_widths(C: Floats, n: float | None, members: Sequence[int], ys: Ints, level: float) -> Floats:
    """Half the intervals of the coefficients of the last member in regressions of each of `ys` on all members.

    `C`, float64 (p, p): covariances, not singular among the members. `n`: number of observations; NaN is returned if it
    is not known or too small.
    """
    free = (n or 0.0) - len(members) - 1
    if free <= 0:
        return np.full(len(ys), np.nan)
    from scipy.stats import t

    at = np.array(members)
    c = C[np.ix_(at, ys)]
    inverse = np.linalg.inv(C[np.ix_(at, at)])
    left = np.maximum(0.0, C[ys, ys] - (c * (inverse @ c)).sum(axis=0))
    half: Floats = float(t.ppf((1 + level) / 2, free)) * np.sqrt(left * inverse[-1, -1] / free)
    return half


def of_smallest(
    C: Floats, n: float | None, regressions: Regressions, sets: range, values: Floats, effects: Ints, level: float
) -> tuple[Floats, Floats]:
    """Of one cause, the value of smallest size on each of `effects`, and half its interval: 0 on a parent.

    `values`, float64 (sets, effects), are those of these regressions, at least one.
    """
    halves = np.full(values.shape, np.nan)
    for row, r in zip(halves, sets, strict=True):
        entries = slice(regressions.start[r], regressions.start[r + 1])
        members = regressions.members[entries]
        if n is not None and not np.isnan(regressions.weights[entries]).any():
            row[:] = half_widths(C, n, members.tolist(), effects, level)
            row[np.isin(effects, members)] = 0.0
    at = np.abs(values).argmin(axis=0)[None]
    value, half = (np.take_along_axis(array, at, axis=0)[0] for array in (values, halves))
    return value, half
