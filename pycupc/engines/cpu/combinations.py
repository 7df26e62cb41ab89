"""Subsets of range(n) in lexicographic order, (0, 1), (0, 2), ..., (0, n - 1), (1, 2), ...: which has a rank, and back.

`binomials` is `subsets.binomial_table`. Method: Buckles and Lybanon (1977), ACM TOMS 3(2), 180-182, algorithm 515.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pycupc.system.jit import jit_inlined

Indices = NDArray[np.int64]


@jit_inlined
def unrank(binomials, n, size, rank, members):
    """Write the subset of range(n) with `size` members that has this rank (from 0) to `members`."""
    behind = binomials[n, size] - 1 - rank  # subsets that come after it
    low = -1
    for i in range(size - 1):
        low += 1
        while binomials[n - 1 - low, size - i] > behind:
            low += 1
        members[i] = low
        behind -= binomials[n - 1 - low, size - i]
    members[size - 1] = n - 1 - behind


def ranked(binomials: Indices, n: int, members: Indices) -> Indices:
    """The ranks of subsets of range(n), int64 (m, size), each ascending: int64 (m,)."""
    size = members.shape[1]
    return np.asarray(binomials[n, size] - 1 - binomials[n - 1 - members, size - np.arange(size)].sum(axis=1))


@jit_inlined
def rank_without(binomials, n, size, positions, skipped):
    """Rank of the ascending positions 0..n without `skipped` among the subsets of the n positions that remain."""
    rank = binomials[n, size] - 1
    for i in range(size):
        member = positions[i] - 1 if positions[i] > skipped else positions[i]
        rank -= binomials[n - 1 - member, size - i]
    return rank


@jit_inlined
def put_in_order(members, n, v):
    """Put v into its place among the first n members, which ascend."""
    t = n
    while t > 0 and members[t - 1] > v:
        members[t] = members[t - 1]
        t -= 1
    members[t] = v


@jit_inlined
def next_subset(chosen, size, n):
    """The next subset of range(n) in lexicographic order; returns its first member that differs, -1 after the last."""
    i = size - 1
    while i >= 0 and chosen[i] == n - size + i:
        i -= 1
    if i >= 0:
        member = chosen[i] + 1
        for q in range(i, size):
            chosen[q] = member + q - i
    return i
