"""pcalg's ``gaussCItest``, written out literally: the pseudoinverse of the correlation matrix of x, y and S.

In NumPy, and slow. The reference engine and the comparison of two results use it; the other engines do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.gaussian.fisher_z import EPS, R_MAX, p_value_of
from pycupc.gaussian.suffstat import SuffStat


def partial_correlations(C: NDArray[np.float64], x: int, y: int, sets: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Partial correlations of x and y given each of several sets of one size, as pcalg computes them.

    Closed formulas for up to one conditioning variable, the pseudoinverse of ``C[{x, y, S}]`` beyond
    (tests/CONTRACT.md, section 2). NaN becomes 0 and the results lie in [-0.9999999, 0.9999999].
    """
    S = np.array(sets, dtype=np.intp).reshape(len(sets), -1)
    size = S.shape[1]
    with np.errstate(all="ignore"):
        if size == 0:
            r = np.full(len(S), C[x, y])
        elif size == 1:
            xk, yk = C[x, S[:, 0]], C[y, S[:, 0]]
            r = (C[x, y] - xk * yk) / np.sqrt((1 - yk**2) * (1 - xk**2))
        else:
            index = np.empty((len(S), size + 2), dtype=np.intp)
            index[:, 0], index[:, 1], index[:, 2:] = x, y, S
            sub = C[index[:, :, None], index[:, None, :]]
            sub[~np.isfinite(sub).all(axis=(1, 2))] = 0.0  # without a singular value, so that r is NaN
            u, sv, vt = np.linalg.svd(sub)
            keep = sv > (size + 2) * sv[:, :1] * EPS
            P = u[:, :2] @ np.where(keep[:, :, None], vt[:, :, :2] / sv[:, :, None], 0.0)
            r = -P[:, 1, 0] / np.sqrt(P[:, 0, 0] * P[:, 1, 1])
    clipped: NDArray[np.float64] = np.clip(np.nan_to_num(r), -R_MAX, R_MAX)
    return clipped


def partial_correlation(C: NDArray[np.float64], x: int, y: int, S: Sequence[int]) -> float:
    """As `partial_correlations`, given one set."""
    return float(partial_correlations(C, x, y, [S])[0])


def gaussCItest(x: int, y: int, S: Sequence[int], suffStat: SuffStat | Mapping[str, Any]) -> float:
    """p-value of pcalg's ``gaussCItest``: are x and y independent given S in a Gaussian model?

    Parameters
    ----------
    x, y : int
        0-based, different variables.
    S : sequence of int
        Conditioning set, 0-based, without x and y; may be empty.
    suffStat : SuffStat or mapping with keys "C" and "n"
        Correlation matrix, float64 of shape (p, p), and number of observations.

    Returns
    -------
    float in [0, 1]

    Notes
    -----
    `pc` and `skeleton` recognise this function as their `indepTest`: the engines then run their own form of the test.
    """
    if isinstance(suffStat, Mapping):
        C, n = np.asarray(suffStat["C"], dtype=np.float64), float(suffStat["n"])
    else:
        C, n = suffStat.C, suffStat.n
    return p_value_of(partial_correlation(C, x, y, S), n - len(S) - 3)
