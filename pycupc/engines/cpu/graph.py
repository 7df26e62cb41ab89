"""Numba kernels of the cpu engine around the tests: the look at C, level 0, and the rows of neighbour lists.

The graph of a level is in rows of neighbour lists (CSR): entry e = offsets[x] + i is the ordered pair (x, nbr[e]).
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, error_model="numpy")
def scan_rows(C, lo, hi, nan_count, facts):
    """Look over rows lo..hi of C for what `MatrixFacts` holds.

    facts, -1 on entry: [0:2] an asymmetric pair, [2:4] one beyond +-1, [4] a bad diagonal.
    """
    p = C.shape[0]
    tile = 64
    for i0 in range(lo, hi, tile):
        i1 = min(i0 + tile, hi)
        for j0 in range(0, p, tile):
            j1 = min(j0 + tile, p)
            for i in range(i0, i1):
                for j in range(j0, j1):
                    v = C[i, j]
                    if v != v:
                        nan_count[i] += 1
                        if facts[0] < 0 and C[j, i] == C[j, i]:
                            facts[0], facts[1] = i, j
                    elif i == j:
                        if abs(v - 1.0) > 1e-10 and facts[4] < 0:
                            facts[4] = i
                    else:
                        if not abs(v - C[j, i]) <= 1e-8 and facts[0] < 0:
                            facts[0], facts[1] = i, j
                        if abs(v) > 1.0 + 1e-8 and facts[2] < 0:
                            facts[2], facts[3] = i, j


@njit(cache=True, nogil=True, error_model="numpy")
def _level0_row(C, x, cutoff, gaps, fixed, left):
    """left[y] = 1 where the pair x, y keeps its edge at level 0.

    A matrix that is symmetric only up to rounding is read above its diagonal, as pcalg does.
    """
    p = C.shape[0]
    row = C[x]
    close = 0
    for y in range(p):
        r = abs(row[y])
        left[y] = r > cutoff  # NaN goes
        close += abs(r - cutoff) < 2e-8
    if close > 0:
        for y in range(x):
            left[y] = abs(C[y, x]) > cutoff
    left[x] = 0
    if fixed.shape[0] > 0:
        for y in range(p):
            left[y] |= fixed[x, y]
    if gaps.shape[0] > 0:
        for y in range(p):
            left[y] &= not gaps[x, y]


@njit(cache=True, nogil=True, error_model="numpy")
def level0_count(C, cutoff, gaps, fixed, lo, hi, degree, tally):
    """Neighbours left in each row lo..hi; tally[0] += tests, tally[1] += edges removed (both count x < y only)."""
    p = C.shape[0]
    left = np.empty(p, dtype=np.uint8)
    for x in range(lo, hi):
        _level0_row(C, x, cutoff, gaps, fixed, left)
        d = 0
        for y in range(p):
            d += left[y]
        degree[x] = d
        pairs = p - 1 - x
        kept = 0
        for v in left[x + 1 :]:
            kept += v
        for y in range(x + 1, p):  # gaps and fixed edges are not tested
            if fixed.shape[0] > 0 and fixed[x, y] and left[y]:
                pairs -= 1
                kept -= 1
            elif gaps.shape[0] > 0 and gaps[x, y]:
                pairs -= 1
        tally[0] += pairs + kept
        tally[1] += pairs - kept


@njit(cache=True, nogil=True, error_model="numpy")
def level0_fill(C, cutoff, gaps, fixed, lo, hi, offsets, nbr, r, is_fixed):
    """Write the neighbour lists that `level0_count` measured, with r = C[x, y] and which entries are fixed edges."""
    p = C.shape[0]
    left = np.empty(p, dtype=np.uint8)
    found = np.empty(p + 1, dtype=np.int32)
    for x in range(lo, hi):
        _level0_row(C, x, cutoff, gaps, fixed, left)
        d = 0
        for y in range(p):  # without a branch: half of them would be guessed wrong
            found[d] = y
            d += left[y]
        start = offsets[x]
        for k in range(d):
            y = found[k]
            nbr[start + k] = y
            r[start + k] = C[x, y]
            is_fixed[start + k] = fixed.shape[0] > 0 and fixed[x, y]


@njit(cache=True, nogil=True)
def mirror_entries(offsets, nbr):
    """For each entry (x, y) the entry (y, x)."""
    p = offsets.shape[0] - 1
    cursor = offsets[:-1].copy()
    mirror = np.empty(nbr.shape[0], dtype=np.int64)
    for x in range(p):  # rows ascending, so each row y is met by its neighbours in its own order
        for e in range(offsets[x], offsets[x + 1]):
            y = nbr[e]
            mirror[e] = cursor[y]
            cursor[y] += 1
    return mirror


@njit(cache=True, nogil=True)
def choose_lanes(offsets, nbr, is_fixed, mirror, rank, level, side_b, live, lanes):
    """Which entries this side tests: live (E,) and their number in each row, lanes (p,).

    Side B (x > nbr) leaves out the pairs that side A separated. Returns whether pcalg's loop would go on: a pair that
    is visited has more than `level` candidates.
    """
    more = False
    for x in range(offsets.shape[0] - 1):
        d = offsets[x + 1] - offsets[x]
        lanes[x] = 0
        for e in range(offsets[x], offsets[x + 1]):
            live[e] = 0
            if (nbr[e] < x) == side_b and not is_fixed[e] and not (side_b and rank[mirror[e]] >= 0):
                live[e] = d > level
                more = more or d > level + 1
                lanes[x] += live[e]
    return more


@njit(cache=True, nogil=True)
def settle(offsets, is_fixed, mirror, rank, level, unseparated, stays):
    """After both sides: ordered pairs tested in vain per row, entries of edges that stay.

    Returns (separating sets found, tests that finding them took, entries that stay).
    """
    found, tests, n = 0, 0, 0
    for x in range(offsets.shape[0] - 1):
        unseparated[x] = 0
        for e in range(offsets[x], offsets[x + 1]):
            if rank[e] >= 0:
                found += 1
                tests += rank[e] + 1
            elif rank[mirror[e]] < 0:
                stays[n] = e
                n += 1
                unseparated[x] += not is_fixed[e]
            else:  # separated from the other side: tested here only if that was side B, after this one
                unseparated[x] += mirror[e] > e
    return found, tests, n


@njit(cache=True, nogil=True)
def unrank_sets(entries, row, offsets, nbr, rank, level, binomials, out):
    """Members of the separating set of each entry, of which row[q] is x, from its rank (as `subsets.unrank`)."""
    for q in range(entries.shape[0]):
        e = entries[q]
        start = offsets[row[q]]
        d = offsets[row[q] + 1] - start
        skip = e - start
        left_over = rank[e]
        low = 0
        for i in range(level):
            if level > 1:
                while True:
                    block = binomials[d - 2 - low, level - i - 1]
                    if left_over < block:
                        break
                    left_over -= block
                    low += 1
            else:
                low = left_over
            out[q, i] = nbr[start + low + (1 if low >= skip else 0)]
            low += 1
