"""Subsets of range(n) in lexicographic order, (0, 1), (0, 2), ..., (0, n - 1), (1, 2), ...: which has a rank, and back.

`binomials` is `subsets.binomial_table`. Method: Buckles and Lybanon (1977), ACM TOMS 3(2), 180-182, algorithm 515.
"""

from __future__ import annotations

from pycupc.compiled import part


@part
def unrank(binomials, n, size, rank, members):
    """Write the subset of range(n) with `size` members that has this rank (from 0) to `members`."""
    low = 0
    for i in range(size - 1):
        while rank >= binomials[n - 1 - low, size - 1 - i]:  # the subsets that go on with `low`
            rank -= binomials[n - 1 - low, size - 1 - i]
            low += 1
        members[i] = low
        low += 1
    members[size - 1] = low + rank


@part
def rank_without(binomials, n, size, positions, skipped):
    """Rank of the ascending positions 0..n without `skipped` among the subsets of the n positions that remain."""
    rank = 0
    low = 0
    for i in range(size):
        member = positions[i]
        if member > skipped:
            member -= 1
        left = size - i
        # the sum of C(n - 1 - j, left - 1) over j = low..member - 1, telescoped
        rank += binomials[n - low, left] - binomials[n - member, left]
        low = member + 1
    return rank


@part
def next_subset(chosen, size, n):
    """The next subset of range(n) in lexicographic order; returns its first member that differs, -1 after the last."""
    i = size - 1
    while i >= 0 and chosen[i] == n - size + i:
        i -= 1
    if i >= 0:
        chosen[i] += 1
        for q in range(i + 1, size):
            chosen[q] = chosen[q - 1] + 1
    return i
