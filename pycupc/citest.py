"""The Gaussian conditional-independence test of pcalg: correlations to p-values, significance level to cutoff.

One place for the numerical rules that every engine shares. Source: the contract of pcalg's ``gaussCItest``
(Kalisch et al. 2012, J. Stat. Softw. 47(11)): Fisher's z of the partial correlation, two-sided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

#: pcalg clips a partial correlation to +-R_MAX before Fisher's z.
R_MAX = 0.9999999

#: A fast (Schur complement) test may decide alone only while every pivot it met, i.e. the conditional variance of each
#: variable given the earlier ones and 1 - r^2, is above this. Rounding in r is then below about 1e-6, well inside
#: CUTOFF_BAND; anything else goes to `engines.canonical.partial_correlation`.
PIVOT_FLOOR = 1e-9

#: Relative distance of r^2 from the squared cutoff inside which the canonical formula decides, so that engines whose
#: rounding differs cannot disagree.
CUTOFF_BAND = 1e-5

#: Below this pivot the canonical formula itself leaves plain elimination for the pseudoinverse, as pcalg does always:
#: elimination and pseudoinverse agree above it, and a singular value that pcalg would drop shows as a pivot below it.
PINV_PIVOT = 1e-11

#: Singular values up to dim * max(sv) * EPS are dropped by the pseudoinverse (R's .Machine$double.eps).
EPS = 2.220446049250313e-16


def _p_value(r: float, df: int) -> float:
    """Two-sided p-value of one correlation, `df` = n - level - 3."""
    if df <= 0 or math.isnan(r):
        return 1.0
    r = min(max(r, -R_MAX), R_MAX)
    return math.erfc(math.sqrt(df) * abs(math.atanh(r)) * math.sqrt(0.5))


def cutoff(alpha: float, n: int, level: int) -> float:
    """Largest ``|r|`` that pcalg's test calls independent at this level.

    Parameters
    ----------
    alpha : float in [0, 1]
        Significance level; a pair is independent when p >= alpha.
    n : int
        Number of observations.
    level : int
        Size of the conditioning set, from 0.

    Returns
    -------
    float
        T such that p(r) >= alpha exactly when ``|r| <= T``; ``inf`` when every r is independent
        (alpha 0, n - level - 3 <= 0, or a cutoff above the clip at 0.9999999).

    Notes
    -----
    ``tanh(q / sqrt(n - level - 3))`` with ``q`` the normal quantile at 1 - alpha / 2, then moved to the very
    floating-point number at which the p-value crosses alpha, so that the comparison of correlations and the
    comparison of p-values can never differ (contract, section 2).
    """
    df = n - level - 3
    if df <= 0 or alpha <= 0 or _p_value(R_MAX, df) >= alpha:
        return math.inf
    low, high = 0.0, R_MAX  # p(low) = 1 >= alpha > p(high): bisect to neighbouring floats, starting close by
    if alpha < 1:
        guess = math.tanh(-NormalDist().inv_cdf(alpha / 2) / math.sqrt(df)) if alpha > 1e-300 else 0.5
        for width in (1e-14, 1e-9, 1e-3):
            a, b = guess * (1 - width), min(guess * (1 + width), R_MAX)
            if _p_value(a, df) >= alpha > _p_value(b, df):
                low, high = a, b
                break
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return low
        if _p_value(middle, df) >= alpha:
            low = middle
        else:
            high = middle


def fisher_z(r: np.ndarray | float, n: int, level: int) -> np.ndarray:
    """``|z|`` = sqrt(n - level - 3) * atanh(|r|) as pcalg computes it: r clipped, NaN and df <= 0 give 0."""
    df = n - level - 3
    r = np.abs(np.asarray(r, dtype=np.float64))
    if df <= 0:
        return np.zeros_like(r)
    z = math.sqrt(df) * np.arctanh(np.minimum(r, R_MAX))
    return np.where(np.isnan(z), 0.0, z)


def z_to_p(z: np.ndarray | float) -> np.ndarray:
    """Two-sided normal p-value 2 * (1 - Phi(|z|)) of an array of z."""
    from scipy.special import erfc

    return erfc(np.abs(z) * math.sqrt(0.5))


def p_value(r: np.ndarray | float, n: int, level: int) -> np.ndarray:
    """P-value of partial correlations `r` given conditioning sets of size `level` (array in, array out)."""
    return z_to_p(fisher_z(r, n, level))


def partial_correlation(C: np.ndarray, x: int, y: int, S: Sequence[int]) -> float:
    """Partial correlation of x and y given S, literally as pcalg computes it (contract, section 2).

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


def gaussCItest(x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
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
    Given as `indepTest` to `pc` or `skeleton` it is recognised, and the engines run it in their own way.
    """
    if isinstance(suffStat, dict):
        C, n = np.asarray(suffStat["C"], dtype=np.float64), int(suffStat["n"])
    else:
        C, n = suffStat.C, suffStat.n
    return _p_value(partial_correlation(C, x, y, S), n - len(S) - 3)
