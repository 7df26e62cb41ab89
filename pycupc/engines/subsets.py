"""How many conditioning sets there are: binomial coefficients, exact in Python and saturated in tables of 64 bits."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

#: Ranks are signed 64-bit integers; a level with a row beyond this cannot be enumerated by any machine.
MAX_RANK = 2**63 - 1


def binomial_table(d: int, size: int) -> Counts:
    """int64 (d + 1, size + 1) table of C(i, j), saturated at MAX_RANK."""
    table = np.zeros((d + 1, size + 1), dtype=np.int64)
    table[:, 0] = 1
    for j in range(1, size + 1):  # C(i, j) = C(0, j-1) + ... + C(i-1, j-1)
        too_large = np.cumsum(table[:-1, j - 1].astype(np.float64)) >= 2.0**62
        table[1:, j] = np.where(too_large, MAX_RANK, np.cumsum(table[:-1, j - 1]))
    return table


def level_tests(degrees: Counts, targets: Counts, level: int) -> int:
    """Most tests that a level can need: sum over rows of targets * C(degree - 1, level), an exact Python integer.

    Parameters
    ----------
    degrees : int (p,)
        Neighbours of each variable.
    targets : int (p,)
        Those neighbours whose edge is tested (all but fixed edges).
    level : int
    """
    total = 0
    for d in np.unique(degrees[degrees > level]):
        total += int(targets[degrees == d].sum()) * comb(int(d) - 1, level)
    return total
