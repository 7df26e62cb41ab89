"""Levels >= 2 of the cpu engine: one row's tests in O(1) each, by Schur complements (design: "schur").

Vocabulary. Entry e = offsets[x] + i of the neighbour lists is the ordered pair (x, nbr[e]), i its *position*. The
*lanes* of a row are the positions whose edge is tested here and still alive. A *prefix* is a conditioning set without
its last member. For a prefix P the row's correlation matrix conditioned on P, M|P, is kept; adding k to P gives every
test of lane y given P and k from entries of M|P alone:

    r^2 = (M_xy M_kk - M_xk M_yk)^2 / ((M_xx M_kk - M_xk^2) (M_yy M_kk - M_yk^2))

The walk visits prefixes in lexicographic order, so each lane meets its conditioning sets in pcalg's order and can stop
at its first separating one. Each lane has a *bound*: the smallest r^2 met so far, but no less than the upper edge of
the doubtful band around the squared cutoff. A test above its bound (nearly all) changes nothing; all others, and all
tests whose pivots are doubtful, go one by one through `decide`.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, uint64

from pycupc.engines.cpu.decide import NEAR_ONE, band_high, decide
from pycupc.gaussian.fisher_z import PIVOT_FLOOR

BLOCK = 8  # lanes are padded to whole blocks, so that few are left to scalar instructions


@njit(cache=True, nogil=True)
def _rank(binomials, d, positions, size, skip):
    """Rank of ascending `positions` among the size-subsets of d - 1 candidates: the d positions without `skip`."""
    rank = 0
    low = 0
    for i in range(size):
        m = positions[i] - (1 if positions[i] > skip else 0)
        left = size - i - 1
        # sum of C(d - 2 - j, left) for j in low..m-1, telescoped
        rank += binomials[d - 1 - low, left + 1] - binomials[d - 1 - m, left + 1]
        low = m + 1
    return rank


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _sweep(W, t, k, s, a, v_k, m_xk, dxx, txy, tyy, bound, lanes):
    """Tests of all lanes given P and k that are not certainly above their bound; lanes is a multiple of BLOCK."""
    hits = 0
    floor = PIVOT_FLOOR * v_k
    for j in range(lanes):
        w = W[t, k, j] - a * W[t, s, j]
        num = txy[j] * v_k - m_xk * w
        dyy = tyy[j] * v_k - w * w
        den = dxx * dyy
        q = num * num
        hits += not (q > bound[t, j] * den) or not (q < NEAR_ONE * den) or not (dyy > floor)  # NaN hits
    return hits


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _push(W, t, rows, s, s_column, pivot, runs, n_runs, lanes, width):
    """W[t + 1] = W[t] given s for rows s+1..rows-1; runs = (from, to, length) pieces of columns that stay."""
    for k in range(s + 1, rows):
        a = W[t, k, s_column] / pivot
        for j in range(lanes, width):
            W[t + 1, k, j] = 0.0
        for q in range(n_runs):
            source, target = uint64(runs[q, 0]), uint64(runs[q, 1])
            for j in range(runs[q, 2]):
                W[t + 1, k, target + uint64(j)] = W[t, k, source + uint64(j)] - a * W[t, s, source + uint64(j)]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _push_lanes(W, t, s, pivot, f, runs, n_runs, lanes, padded, m_xy, m_yy, bound):
    """What belongs to lanes, moved on from depth t to t + 1 in the same way; padding can never be below its bound."""
    for j in range(lanes, padded):
        m_xy[t + 1, j], m_yy[t + 1, j], bound[t + 1, j] = 0.0, 1.0, -1.0
    for q in range(n_runs):
        source, target = uint64(runs[q, 0]), uint64(runs[q, 1])
        if target >= lanes:
            break
        for j in range(runs[q, 2]):
            to, fro = target + uint64(j), source + uint64(j)
            u = W[t, s, fro]
            m_xy[t + 1, to] = m_xy[t, fro] - f * u
            m_yy[t + 1, to] = m_yy[t, fro] - u * u / pivot
            bound[t + 1, to] = bound[t, fro]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _last(W, t, s, pivot, f, m_xy, m_yy, txy, tyy, lanes):
    """Covariances with x and variances of all lanes given the prefix with its last member s."""
    g = 1.0 / pivot
    for j in range(lanes):
        u = W[t, s, j]
        txy[j] = m_xy[t, j] - f * u
        tyy[j] = m_yy[t, j] - u * u * g


@njit(cache=True, nogil=True)
def _layout(columns, of, t, lanes, ncol, s, alive, d, runs):
    """Columns of depth t + 1, after s: live lanes but s, padding, then the other positions beyond s.

    Returns (lanes, padded, columns, runs).
    """
    n = 0
    n_runs = 0
    for j in range(d):
        of[t + 1, j] = -1
    last = -2
    for j in range(lanes):
        pos = columns[t, j]
        if pos >= 0 and pos != s and alive[pos]:
            if j == last + 1:
                runs[n_runs - 1, 2] += 1
            else:
                runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2] = j, n, 1
                n_runs += 1
            last = j
            columns[t + 1, n] = pos
            of[t + 1, pos] = n
            n += 1
    padded = (n + BLOCK - 1) // BLOCK * BLOCK
    for j in range(n, padded):
        columns[t + 1, j] = -1
    m = padded
    last = -2
    for j in range(ncol):
        pos = columns[t, j]
        if pos > s and of[t + 1, pos] < 0:
            if j == last + 1 and m > padded:
                runs[n_runs - 1, 2] += 1
            else:
                runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2] = j, m, 1
                n_runs += 1
            last = j
            columns[t + 1, m] = pos
            of[t + 1, pos] = m
            m += 1
    return n, padded, m, n_runs


@njit(cache=True, nogil=True, error_model="numpy")
def _base(C, x, nb, alive, bounds, first, W, of, columns, m_xy, m_yy, bound, m_xk, v):
    """Depth 0: the row's own correlations, rows `first`.., live lanes first. Returns (lanes, padded, ncol)."""
    d = nb.shape[0]
    n = 0
    for i in range(d):
        of[i] = -1
        if alive[i]:
            columns[n] = i
            of[i] = n
            n += 1
    lanes = n
    padded = (n + BLOCK - 1) // BLOCK * BLOCK
    for j in range(n, padded):
        columns[j] = -1
    n = padded
    for i in range(first, d):
        if of[i] < 0:
            columns[n] = i
            of[i] = n
            n += 1
    for k in range(first, d):
        row = C[nb[k]]
        for j in range(n):
            pos = columns[j]
            W[k, j] = row[nb[pos]] if pos >= 0 else 0.0
        m_xk[k] = C[x, nb[k]]
        v[k] = row[nb[k]]
    for j in range(padded):
        pos = columns[j]
        m_xy[j] = C[x, nb[pos]] if pos >= 0 else 0.0
        m_yy[j] = C[nb[pos], nb[pos]] if pos >= 0 else 1.0
        bound[j] = bounds[pos] if pos >= 0 else -1.0
    return lanes, padded, n


@njit(cache=True, nogil=True, error_model="numpy")
def _walk(
    C, x, nb, alive, T, level, first, count, binomials, state, W, of, columns, m_xy, m_yy, m_xk, v, hint, rank, r, best
):
    """Walk `count` prefixes of row x from number `first`; see the module's text. Outcomes go to rank, r and best.

    alive, hint, rank, r, best are by position. hint is the number of a prefix that is known to separate the lane: a
    walk that is beyond it drops the lane.
    """
    d = nb.shape[0]
    cut2 = T * T
    high = band_high(cut2)
    depth = level - 2  # matrices are stored for prefixes of size 0..depth; the last member is folded into the sweep
    size = level - 1
    A, V = np.empty((level + 2, level + 2)), np.empty((2, level + 2))
    S = np.empty(level, dtype=np.int64)
    chosen = np.empty(level, dtype=np.int64)  # positions of the conditioning set
    n_lanes = np.zeros(level, dtype=np.int64)
    padded = np.zeros(level, dtype=np.int64)
    ncol = np.zeros(level, dtype=np.int64)
    m_xx = np.zeros(level)
    sound = np.zeros(level, dtype=np.bool_)  # every pivot up to here is above the floor
    runs = np.empty((d + 2, 3), dtype=np.int64)
    bounds = np.full(d, math.inf)  # by position; bound has them by lane, for each depth
    width = W.shape[2]
    bound = np.empty((depth + 1, width))
    txy, tyy = np.empty(width), np.empty(width)

    # the first prefix, by its number
    left_over = first
    low = 0
    for i in range(size):
        while True:
            block = binomials[d - 2 - low, size - i - 1]
            if left_over < block:
                break
            left_over -= block
            low += 1
        chosen[i] = low
        low += 1
    n_alive = 0
    for i in range(d):
        n_alive += alive[i]
    m_xx[0] = C[x, x]
    sound[0] = True

    changed = 0  # first index of the prefix that differs from the stored matrices
    for step in range(count):
        if state[1] != 0 or n_alive == 0:
            return
        if changed < depth or step % 64 == 0:
            for i in range(d):
                if alive[i] and 0 <= hint[i] < first + step:
                    alive[i] = 0
                    n_alive -= 1
                    bounds[i] = -1.0
            if n_alive == 0:
                return
        if step == 0 or (changed == 0 and _mostly_dead(columns, 0, n_lanes[0], alive)):
            changed = 0
            n_lanes[0], padded[0], ncol[0] = _base(
                C, x, nb, alive, bounds, chosen[0], W[0], of[0], columns[0], m_xy[0], m_yy[0], bound[0], m_xk[0], v[0]
            )
        for t in range(changed, depth):  # condition on chosen[t]: matrices of depth t -> t + 1
            s = chosen[t]
            pivot = v[t, s]
            sound[t + 1] = sound[t] and pivot > PIVOT_FLOOR
            if not sound[t + 1]:
                continue
            s_column = of[t, s]
            n_lanes[t + 1], padded[t + 1], ncol[t + 1], n_runs = _layout(
                columns, of, t, n_lanes[t], ncol[t], s, alive, d, runs
            )
            _push(W, t, d, s, s_column, pivot, runs, n_runs, n_lanes[t + 1], padded[t + 1])
            f = m_xk[t, s] / pivot
            m_xx[t + 1] = m_xx[t] - f * m_xk[t, s]
            for k in range(s + 1, d):
                m_xk[t + 1, k] = m_xk[t, k] - f * W[t, k, s_column]
                v[t + 1, k] = v[t, k] - W[t, k, s_column] * W[t, k, s_column] / pivot
            _push_lanes(W, t, s, pivot, f, runs, n_runs, n_lanes[t + 1], padded[t + 1], m_xy, m_yy, bound)

        # condition on the last member s of the prefix while sweeping the candidates k beyond it
        t = depth
        s = chosen[size - 1]
        ok = sound[t]
        lanes = n_lanes[t]
        wide = padded[t]
        s_column = of[t, s]
        pivot = v[t, s]
        v_x = 0.0
        f = 0.0
        if ok and pivot > PIVOT_FLOOR:
            f = m_xk[t, s] / pivot
            v_x = m_xx[t] - f * m_xk[t, s]
        ok = ok and pivot > PIVOT_FLOOR and v_x > PIVOT_FLOOR
        if ok:
            _last(W, t, s, pivot, f, m_xy, m_yy, txy, tyy, wide)
            if s_column < wide:  # s itself can never be below its bound
                txy[s_column], tyy[s_column] = 0.0, 1.0
                bound[t, s_column] = -1.0
        for i in range(size):
            S[i] = nb[chosen[i]]
        for k in range(s + 1, d):
            dxx = 0.0
            v_k = 0.0
            x_k = 0.0
            a = 0.0
            sure = ok
            if ok:
                a = W[t, k, s_column] / pivot
                v_k = v[t, k] - a * W[t, k, s_column]
                x_k = m_xk[t, k] - f * W[t, k, s_column]
                dxx = v_x * v_k - x_k * x_k
                sure = v_k > PIVOT_FLOOR and dxx > PIVOT_FLOOR * v_k
                if sure:
                    expected = 1 if of[t, k] < wide else 0  # lane y = k always hits: no variance given itself
                    if _sweep(W, t, k, s, a, v_k, x_k, dxx, txy, tyy, bound, wide) <= expected:
                        continue
            # the rare way: one lane after the other
            S[size] = nb[k]
            chosen[size] = k
            for i in range(lanes if sure else d):
                pos = columns[t, i] if sure else i
                if pos < 0 or pos == k or not alive[pos]:
                    continue
                inside = False
                for q in range(size):
                    inside = inside or chosen[q] == pos
                if inside:
                    continue
                r2 = 0.0
                certain = False
                if sure:
                    w = W[t, k, i] - a * W[t, s, i]
                    num = txy[i] * v_k - x_k * w
                    dyy = tyy[i] * v_k - w * w
                    certain = dyy > PIVOT_FLOOR * v_k and num * num < NEAR_ONE * (dxx * dyy)
                    r2 = num * num / (dxx * dyy)
                    if certain and r2 > bounds[pos]:
                        continue
                independent, r2, rc = decide(C, x, nb[pos], S, level, r2, certain, T, cut2, A, V, state)
                if independent:
                    rank[pos] = _rank(binomials, d, chosen, level, pos)
                    r[pos] = rc
                    if hint[pos] < 0 or first + step < hint[pos]:
                        hint[pos] = first + step
                    alive[pos] = 0
                    n_alive -= 1
                    bounds[pos] = -1.0
                    if n_alive == 0:
                        return
                else:
                    best[pos] = min(best[pos], r2)
                    bounds[pos] = max(best[pos], high)
                for q in range(depth + 1):
                    if 0 <= of[q, pos] < padded[q]:
                        bound[q, of[q, pos]] = bounds[pos]
        if ok and s_column < wide:
            bound[t, s_column] = bounds[s]

        # the next prefix in lexicographic order, over positions 0..d-2
        i = size - 1
        while i >= 0 and chosen[i] == d - 2 - (size - 1 - i):
            i -= 1
        if i < 0:
            return
        chosen[i] += 1
        for q in range(i + 1, size):
            chosen[q] = chosen[q - 1] + 1
        changed = i
        # lanes that died stay in the stored matrices; once a quarter of the level's own are dead, rebuild from there
        if depth > 0 and changed == depth and _mostly_dead(columns, depth, n_lanes[depth], alive):
            changed = depth - 1


@njit(cache=True, nogil=True)
def _mostly_dead(columns, t, lanes, alive):
    dead = 0
    for j in range(lanes):
        dead += not alive[columns[t, j]]
    return dead >= BLOCK and 4 * dead >= lanes


@njit(cache=True, nogil=True, error_model="numpy")
def run_items(
    C,
    offsets,
    nbr,
    live,
    side_b,
    T,
    level,
    rows,
    firsts,
    counts,
    binomials,
    state,
    hint,
    out_entry,
    out_rank,
    out_r,
    out_best,
):
    """Work through items (row, first prefix, number of prefixes) of a level >= 2; returns the number of outcomes.

    An outcome is one lane of one item: its entry, rank and r of its first separating set here (rank -1 if none), and
    its smallest r^2 here. hint (E,) holds prefixes that separate, from any item, -1 if none is known: it only serves to
    stop early, never as an answer, so that it does not matter which thread wrote it when.
    """
    d_max = 0
    for q in range(rows.shape[0]):
        d_max = max(d_max, offsets[rows[q] + 1] - offsets[rows[q]])
    stored = level - 1
    width = d_max + BLOCK
    W = np.empty((stored, d_max, width))
    of = np.empty((stored, d_max), dtype=np.int64)
    columns = np.empty((stored, width), dtype=np.int64)
    m_xy, m_yy = np.empty((stored, width)), np.empty((stored, width))
    m_xk, v = np.empty((stored, d_max)), np.empty((stored, d_max))
    alive = np.empty(d_max, dtype=np.uint8)
    rank = np.empty(d_max, dtype=np.int64)
    r, best = np.empty(d_max), np.empty(d_max)
    n_out = 0
    for q in range(rows.shape[0]):
        x = rows[q]
        start = offsets[x]
        d = offsets[x + 1] - start
        some = False
        for i in range(d):
            e = start + i
            alive[i] = live[e] and (nbr[e] < x) == side_b and not 0 <= hint[e] < firsts[q]
            some = some or alive[i]
            rank[i] = -1 if alive[i] else -2
            best[i] = math.inf
        if not some:
            continue
        _walk(
            C,
            x,
            nbr[start : start + d],
            alive[:d],
            T,
            level,
            firsts[q],
            counts[q],
            binomials,
            state,
            W,
            of,
            columns,
            m_xy,
            m_yy,
            m_xk,
            v,
            hint[start : start + d],
            rank[:d],
            r[:d],
            best[:d],
        )
        for i in range(d):
            if rank[i] != -2:
                out_entry[n_out] = start + i
                out_rank[n_out] = rank[i]
                out_r[n_out] = r[i]
                out_best[n_out] = best[i]
                n_out += 1
    return n_out
