"""One test decided exactly: the fast r^2 where it is certain, else the canonical partial correlation."""

from __future__ import annotations

from numba import njit

from pycupc.gaussian.fisher_z import CUTOFF_BAND, PIVOT_FLOOR
from pycupc.gaussian.partial_correlation import partial_correlation

NEAR_ONE = 1.0 - PIVOT_FLOOR
TINY = 1e-12  # r^2 below which rounding, not data, decides about a cutoff at zero (alpha = 1)


@njit(cache=True, nogil=True, error_model="numpy")
def band_low(cut2):
    return cut2 * (1.0 - CUTOFF_BAND) - TINY


@njit(cache=True, nogil=True, error_model="numpy")
def band_high(cut2):
    return cut2 * (1.0 + CUTOFF_BAND) + TINY


@njit(cache=True, nogil=True, error_model="numpy")
def decide(C, x, y, S, size, r2, certain, cutoff, cut2, A, V, state):
    """One test, exactly. Returns (independent, r^2, canonical r or 2.0); counts canonical decisions in state[0]."""
    if certain and (r2 < band_low(cut2) or r2 > band_high(cut2)) and r2 <= 1.0:
        if r2 > cut2:
            return False, r2, 2.0
        return True, r2, partial_correlation(C, x, y, S, size, A, V)
    state[0] += 1
    r = partial_correlation(C, x, y, S, size, A, V)
    return abs(r) <= cutoff, r * r, r
