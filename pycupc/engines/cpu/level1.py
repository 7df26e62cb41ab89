"""Level 1 of the cpu engine: for each pair the first single variable that separates it, straight from C."""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from pycupc.engines.cpu.decide import band_high, decide
from pycupc.gaussian.fisher_z import PIVOT_FLOOR

FIRST_BLOCK, BLOCK = 16, 64  # sets looked at together: few at first, where a separating set is most likely
TILE = 16  # rows of C that a tile holds in the cache, twice


@njit(cache=True, nogil=True, error_model="numpy")
def _hits(C, y, nbr, start, cx, vx, t, k0, n, cxy, bound):
    """How many of the n sets from position k0 on are not certainly above the bound; vx is NaN where it is doubtful."""
    hits = 0
    # unsigned: what may be negative is not compiled to vector instructions
    first, base = uint64(k0), uint64(start)
    for q in range(n):
        k = first + uint64(q)
        cyk = C[y, uint64(nbr[base + k])]
        vy = 1.0 - cyk * cyk
        num = cxy - cx[t, k] * cyk
        hits += not (num * num > bound * (vx[t, k] * vy)) or not (vy > PIVOT_FLOOR)
    return hits


@njit(cache=True, nogil=True, error_model="numpy")
def _ratios(C, y, nbr, start, cx, vx, t, k0, n, cxy, ratio):
    """r^2 given each of the n sets from position k0 on, NaN where doubtful; returns the smallest, NaN left out."""
    first, base = uint64(k0), uint64(start)
    for q in range(n):
        k = first + uint64(q)
        cyk = C[y, uint64(nbr[base + k])]
        vy = 1.0 - cyk * cyk
        num = cxy - cx[t, k] * cyk
        ratio[q] = num * num / (vx[t, k] * vy) if vy > PIVOT_FLOOR else math.nan
    smallest = math.inf
    for q in range(n):
        smallest = ratio[q] if ratio[q] < smallest else smallest
    return smallest


@njit(cache=True, nogil=True, error_model="numpy")
def _pair(C, x, y, i, nbr, start, d, cx, vx, t, cutoff, cut2, high, ratio, S, A, V, state):
    """(position of the first k that separates x and y = nbr[start + i], its r) or (-1, the smallest r^2)."""
    best = math.inf
    cxy = cx[t, i]
    block = FIRST_BLOCK
    k0 = 0
    while k0 < d:
        if k0 == i:  # y itself
            k0 += 1
            continue
        n = min(block, (i if k0 < i else d) - k0)
        if _hits(C, y, nbr, start, cx, vx, t, k0, n, cxy, max(best, high)) > 0:
            best = min(best, _ratios(C, y, nbr, start, cx, vx, t, k0, n, cxy, ratio))
            for q in range(n):
                r2 = ratio[q]
                if r2 > high:
                    continue
                S[0] = nbr[start + k0 + q]
                independent, r2, r = decide(C, x, y, S, 1, r2, r2 == r2, cutoff, cut2, A, V, state)
                if independent:
                    return k0 + q, r
                best = min(best, r2)
        k0 += n
        block = min(2 * block, BLOCK)
    return -1, best


@njit(cache=True, nogil=True, error_model="numpy")
def level1_rows(C, offsets, nbr, live, side_b, cutoff, lo, hi, state, rank_out, r_out, best_out):
    """Level 1 of rows lo..hi: for each live pair the first k that separates it.

    live : uint8 (E,), 1 = test this entry. side_b : test entries with x > nbr (else x < nbr).
    rank_out, r_out : written for separated entries; rank_out is -1 on entry.
    best_out : smallest r^2 of the tests of an entry that stays. state[1] != 0 stops.

    Pairs are taken in tiles of TILE rows x by as many rows y, whose rows of C stay in the cache meanwhile.
    """
    cut2 = cutoff * cutoff
    high = band_high(cut2)
    A, V = np.empty((3, 3)), np.empty((3, 3))
    S = np.empty(1, dtype=np.int64)
    ratio = np.empty(BLOCK)
    cursor = np.empty(TILE, dtype=np.int64)
    d_max = 0
    for x in range(lo, hi):
        d_max = max(d_max, offsets[x + 1] - offsets[x])
    cx, vx = np.empty((TILE, d_max)), np.empty((TILE, d_max))
    for x0 in range(lo, hi, TILE):
        x1 = min(x0 + TILE, hi)
        for x in range(x0, x1):
            start = offsets[x]
            for k in range(offsets[x + 1] - start):
                c = C[x, nbr[start + k]]
                v = 1.0 - c * c
                cx[x - x0, k] = c
                vx[x - x0, k] = v if v > PIVOT_FLOOR else math.nan
            cursor[x - x0] = start
        for y0 in range(0, C.shape[0], TILE):
            if state[1] != 0:
                return
            for x in range(x0, x1):
                t = x - x0
                start, end = offsets[x], offsets[x + 1]
                e = cursor[t]
                while e < end and nbr[e] < y0 + TILE:
                    if live[e] and (nbr[e] < x) == side_b:
                        i, d = e - start, end - start
                        k, value = _pair(
                            C, x, nbr[e], i, nbr, start, d, cx, vx, t, cutoff, cut2, high, ratio, S, A, V, state
                        )
                        if k >= 0:
                            rank_out[e] = k - (1 if k > i else 0)
                            r_out[e] = value
                        else:
                            best_out[e] = value
                    e += 1
                cursor[t] = e
