"""pcalg's ``gaussCItest``, written out literally: the pseudoinverse of the correlation matrix of x, y and S.

One test per call, and slow. The reference engine and the comparison of two results use it; the other engines do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.gaussian.fisher_z import EPS, R_MAX, p_value_of
from pycupc.gaussian.suffstat import SuffStat


def partial_correlation(C: NDArray[np.float64], x: int, y: int, S: Sequence[int]) -> float:
    """Partial correlation of x and y given S, as pcalg computes it (tests/CONTRACT.md, section 2).

    Closed formulas for up to one conditioning variable, the pseudoinverse of ``C[{x, y, S}]`` beyond. NaN becomes 0
    and the result lies in [-0.9999999, 0.9999999].
    """
    S = list(S)
    with np.errstate(all="ignore"):
        if not S:
            r = C[x, y]
        elif len(S) == 1:
            k = S[0]
            r = (C[x, y] - C[x, k] * C[y, k]) / np.sqrt((1 - C[y, k] ** 2) * (1 - C[x, k] ** 2))
        else:
            index = [x, y, *S]
            sub = C[np.ix_(index, index)]
            if not np.isfinite(sub).all():
                return 0.0
            u, sv, vt = np.linalg.svd(sub)
            keep = sv > len(index) * sv[0] * EPS
            P = (vt[keep].T / sv[keep]) @ u[:, keep].T
            r = -P[0, 1] / np.sqrt(P[0, 0] * P[1, 1])
    return 0.0 if np.isnan(r) else float(min(max(r, -R_MAX), R_MAX))


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
