"""Subsets of a sorted list in lexicographic order: how many, which comes at a rank, which rank one has.

The order is pcalg's: (0, 1), (0, 2), ..., (0, d - 1), (1, 2), ... . Counts are exact Python integers; ranks fit 64 bits
or are refused. Method of `unrank`: Buckles and Lybanon (1977), ACM TOMS 3(2), algorithm 515.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

#: Ranks are signed 64-bit; a level with a row beyond this cannot be enumerated by any machine.
MAX_RANK = 2**63 - 1


def unrank(d: int, size: int, rank: int) -> tuple[int, ...]:
    """The `rank`-th (0-based) subset of ``range(d)`` with `size` members.

    Raises
    ------
    ValueError
        If `rank` is not in [0, C(d, size)).
    """
    if not 0 <= rank < comb(d, size):
        raise ValueError(f"rank must be in [0, {comb(d, size)}) for {size} of {d}, got {rank}")
    members, low = [], 0
    for left in range(size, 0, -1):
        while rank >= (block := comb(d - low - 1, left - 1)):  # subsets that start with `low`
            rank -= block
            low += 1
        members.append(low)
        low += 1
    return tuple(members)


def rank_of(d: int, members: Sequence[int]) -> int:
    """0-based rank of an ascending subset of ``range(d)``; the inverse of `unrank`."""
    rank, low = 0, 0
    for i, m in enumerate(members):
        left = len(members) - i - 1
        rank += sum(comb(d - j - 1, left) for j in range(low, m))
        low = m + 1
    return rank


def binomial_table(d: int, size: int) -> np.ndarray:
    """int64 (d + 1, size + 1) table of C(i, j), saturated at MAX_RANK."""
    table = np.zeros((d + 1, size + 1), dtype=np.int64)
    table[:, 0] = 1
    for j in range(1, size + 1):  # C(i, j) = C(0, j-1) + ... + C(i-1, j-1)
        too_large = np.cumsum(table[:-1, j - 1].astype(np.float64)) >= 2.0**62
        table[1:, j] = np.where(too_large, MAX_RANK, np.cumsum(table[:-1, j - 1]))
    return table


def level_tests(degrees: np.ndarray, targets: np.ndarray, level: int) -> int:
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
