"""Fisher's z: partial correlations to p-values, and the significance level to a cutoff on the correlation.

Source: section 2 of ``docs/contracts/contract.md``, and Kalisch et al. (2012), J. Stat. Softw. 47(11): the two-sided
test of Fisher's z of the partial correlation.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.independence.gaussian.tolerances import R_MAX

#: Up to this many p-values, computing them one by one is faster than loading compiled code.
_FEW = 100_000


def p_value_of(r: float, df: float) -> float:
    """Two-sided p-value of one correlation, `df` = n - level - 3; 1 where r is NaN or df <= 0."""
    if df <= 0 or math.isnan(r):
        return 1.0
    r = min(max(r, -R_MAX), R_MAX)
    return math.erfc(math.sqrt(df) * abs(math.atanh(r)) * math.sqrt(0.5))


@functools.lru_cache(maxsize=1024)
def cutoff(alpha: float, n: float, level: int) -> float:
    """Largest ``|r|`` that the test calls independent at this level: pcalg's cutoff, within 3 units in the last place.

    `alpha`, in [0, 1]: a pair is independent when p >= alpha. `n`: number of observations; an effective sample size
    need not be a whole number. `level`: size of the conditioning set, from 0. Returns T such that p(r) >= alpha exactly
    when ``|r| <= T``; ``inf`` when every r is independent (alpha 0, n - level - 3 <= 0, or a cutoff above the clip at
    0.9999999).

    It is ``tanh(q / sqrt(n - level - 3))`` with ``q`` the normal quantile at 1 - alpha / 2, moved to the floating-point
    number at which `p_value_of` crosses alpha, so that comparing correlations with the cutoff decides as comparing
    p-values with alpha does. `p_value`, which computes arrays with another library's erfc and arctanh, may differ from
    `p_value_of` in the last bits, and so on the other side of alpha where p equals alpha to rounding.
    """
    df = n - level - 3
    if df <= 0 or alpha <= 0 or p_value_of(R_MAX, df) >= alpha:
        return math.inf
    low, high = 0.0, R_MAX  # p(low) = 1 >= alpha > p(high): bisect to neighbouring floats, starting close by
    if alpha < 1:
        guess = math.tanh(-NormalDist().inv_cdf(alpha / 2) / math.sqrt(df)) if alpha > 1e-300 else 0.5
        for width in (1e-14, 1e-9, 1e-3):
            a, b = guess * (1 - width), min(guess * (1 + width), R_MAX)
            if p_value_of(a, df) >= alpha > p_value_of(b, df):
                low, high = a, b
                break
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return low
        if p_value_of(middle, df) >= alpha:
            low = middle
        else:
            high = middle


def z_score(r: ArrayLike, n: float, level: ArrayLike) -> NDArray[np.float64]:
    """``|z|`` = sqrt(n - level - 3) * atanh(|r|) as pcalg computes it: r clipped; 0 where r is NaN or df <= 0.

    `level` is one number, or one for each r.
    """
    root = np.sqrt(np.maximum(n - 3.0 - np.asarray(level), 0.0))
    with np.errstate(invalid="ignore"):  # some builds of NumPy warn of NaN
        z = root * np.arctanh(np.minimum(np.abs(np.asarray(r, dtype=np.float64)), R_MAX))
    return np.where(np.isnan(z), 0.0, z)


def z_to_p(z: ArrayLike) -> NDArray[np.float64]:
    """Two-sided normal p-value 2 * (1 - Phi(|z|)) of an array of z."""
    scaled = np.abs(np.asarray(z, dtype=np.float64)) * math.sqrt(0.5)
    if scaled.size <= _FEW:
        return np.fromiter(map(math.erfc, scaled.ravel().tolist()), np.float64, scaled.size).reshape(scaled.shape)
    from pycupc.independence.gaussian.compiled_p_values import erfc

    p = np.empty(scaled.shape)
    erfc(scaled.ravel(), p.reshape(-1))
    return p


def p_value(r: ArrayLike, n: float, level: ArrayLike) -> NDArray[np.float64]:
    """P-value of partial correlations `r` given conditioning sets of size `level` (array in, array out)."""
    return z_to_p(z_score(r, n, level))
