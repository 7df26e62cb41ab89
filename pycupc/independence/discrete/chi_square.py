"""From a contingency table to a p-value: the exact sum behind G^2, the upper tail of chi-square, and its cutoffs.

With f(m) = m ln m, f(0) = 0,

    G^2 / 2 = sum f(n_ijk) - sum f(n_ik) - sum f(n_jk) + sum f(n_k)

where f is needed only for whole numbers 0 .. n. In fixed point the sum is exact in any order of the additions, so that
all engines agree. Source: docs/contracts/contract.md, section 12.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pycupc.system.jit import jit_part

#: Cutoffs are kept for at most this many degrees of freedom; beyond, the p-value itself is compared with alpha.
MOST_CUTOFFS = 1 << 16


@lru_cache(maxsize=4)
def entropy(n: int) -> tuple[NDArray[np.int64], float, float]:
    """`f`, `unit` and `band` of `contingency.Data`, f for m = 0 .. n. Sums of up to 4 n ln n fit 64 bits."""
    m = np.arange(n + 1, dtype=np.float64)
    f = m * np.log(np.maximum(m, 1.0))
    largest = 4 * max(f[-1], 1.0)
    unit = 2.0 ** (math.ceil(math.log2(largest)) - 61)
    # an entry of f is wrong by 2 units of its last place and half a unit of the fixed point, pcalg's terms, which are
    # no larger than n ln n^3 together, by some 8 units of their last place; there are at most 4 n entries
    return np.rint(f / unit).astype(np.int64), unit, 64 * largest * 2.0**-52 + 8 * n * unit


@lru_cache(maxsize=4)
def cutoffs(alpha: float, most: int) -> NDArray[np.float64]:
    """Largest G^2 that is judged independent, float64 (most + 1,), by degrees of freedom; entry 0 is unused.

    Empty for an alpha so close to 1 that rounding decides which p-values reach it.
    """
    if alpha > 1 - 1e-6:
        return np.zeros(1)
    from scipy.special import chdtri  # takes a quarter of a second to import, and every engine imports this module

    df = np.arange(min(most, MOST_CUTOFFS) + 1, dtype=np.float64)
    df[0] = 1.0
    return np.asarray(chdtri(df, alpha), dtype=np.float64)


@jit_part
def upper_tail(g2, df):
    """P(chi-square with df degrees of freedom > g2), by its finite series; df a whole number >= 1.

    With h = g2 / 2 and a = 0 or 1/2 for even and odd df, it is the sum of h^(i + a) e^-h / Gamma(i + a + 1) over
    i = 0 .. (df - 2) / 2 - a, and for odd df erfc(sqrt(h)) as well (Abramowitz and Stegun, 26.4.4 and 26.4.5). The sum
    starts at its largest term, so that nothing overflows, and nothing that counts underflows.
    """
    h = 0.5 * g2
    if not h > 0.0:
        return 1.0
    odd = df % 2
    a = 0.5 * odd
    tail = math.erfc(math.sqrt(h)) if odd else 0.0
    last = df // 2 - 1
    if last < 0:
        return tail
    i0 = int(h) if h < last else last
    largest = math.exp((i0 + a) * math.log(h) - h - math.lgamma(i0 + a + 1.0))
    total, term = largest, largest
    for i in range(i0, 0, -1):
        term *= (i + a) / h
        total += term
        if term < 1e-18 * total:
            break
    term = largest
    for i in range(i0 + 1, last + 1):
        term *= h / (i + a)
        total += term
        if term < 1e-18 * total:
            break
    return min(tail + total, 1.0)
