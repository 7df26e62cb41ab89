"""Coefficients of regressions, solved from a covariance matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def coefficients(C: Floats, xs: Sequence[int], given: Iterable[int], ys: Sequence[int]) -> Floats:
    """Coefficients of `xs` in the regressions of each of `ys` on `xs` and `given`, float64 (len(xs), len(ys)).

    Raises
    ------
    ValueError
        If they are not determined: the covariance matrix of the regressors is singular.
    """
    members = [*xs, *sorted(given)]
    A = C[np.ix_(members, members)]
    try:
        found: Floats = np.linalg.solve(A, C[np.ix_(members, ys)])
    except np.linalg.LinAlgError:
        found = np.full((len(members), len(ys)), np.nan)
    if not np.isfinite(found).all() or np.linalg.cond(A, 1) > 1 / np.finfo(np.float64).eps:
        raise ValueError(
            f"the effect of x = {', '.join(map(str, xs))} given {', '.join(map(str, members[len(xs) :])) or 'nothing'} "
            "is not determined: the covariance matrix of these variables is singular"
        )
    return found[: len(xs)]
