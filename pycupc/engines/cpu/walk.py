"""Levels >= 2: the tests of one row in O(1) each, by Schur complements.

For a prefix P of the conditioning set (all members but the last) the row's correlation matrix given P, M|P, is kept.
Adding a last member k to P gives the test of every target y given P and k from entries of M|P alone:

    r^2 = (M_xy M_kk - M_xk M_yk)^2 / ((M_xx M_kk - M_xk^2) (M_yy M_kk - M_yk^2))

The walk visits prefixes in lexicographic order, so each target meets its conditioning sets in pcalg's order and can
stop at its first separating set. Each target has a bound: the smallest r^2 met so far, but no less than the upper edge
of the doubtful band around the squared cutoff. A test above its bound (nearly all are) changes nothing; all others, and
all tests whose pivots are doubtful, are examined one by one.

Everything is indexed by the position of a variable among the neighbours of x. Matrices are stored for the prefixes of
size t = 0 .. level - 2 on the way to the current one, whose own last member s is folded into the sweep over k. Their
columns are a selection: first the targets, filled up to whole blocks, then the other positions that may still join P.
The arrays are described in `walk_state`.
"""

from __future__ import annotations

import math

from numba import uint64

from pycupc.compiled import compiled, fused_part, part
from pycupc.engines.cpu.certainty import NEAR_ONE
from pycupc.engines.cpu.combinations import next_subset, rank_without, unrank
from pycupc.engines.cpu.threads import DOUBTFUL, STOP
from pycupc.engines.cpu.walk_state import (
    BLOCK,
    BOUND,
    COLUMNS,
    COVARIANCE,
    NO_TARGET,
    PADDED,
    TARGETS,
    VARIANCE,
    Candidate,
    Place,
)
from pycupc.gaussian.fisher_z import PIVOT_FLOOR
from pycupc.gaussian.partial_correlation import given_several


@part
def _start_row(side, place, outcomes, bound, size):
    """Set up for a walk over a row; returns the number of targets."""
    for t in range(side.level - 1):
        size[t, TARGETS] = size[t, PADDED] = 0
    n = 0
    for i in range(place.d):
        e, o = place.start + i, place.out + i
        bound[i] = -1.0
        outcomes.rank[o] = NO_TARGET
        if side.chosen[e] and not 0 <= side.hint[e] < place.number:
            bound[i] = math.inf
            outcomes.entry[o], outcomes.rank[o], outcomes.smallest[o] = e, -1, math.inf
            n += 1
    return n


@part
def _drop_separated(hint, place, bound):
    """Drop the targets that an earlier prefix is known to separate; returns how many."""
    n = 0
    for i in range(place.d):
        if bound[i] >= 0.0 and 0 <= hint[place.start + i] < place.number:
            bound[i] = -1.0
            n += 1
    return n


@part
def _mostly_separated(matrices, t, bound):
    """Whether at least a block and a quarter of the targets at depth t are separated by now."""
    n = 0
    for j in range(matrices.size[t, TARGETS]):
        if bound[matrices.position[t, j]] < 0.0:
            n += 1
    return n >= BLOCK and 4 * n >= matrices.size[t, TARGETS]


@part
def _gather(side, place, low, bound, matrices):
    """Depth 0: the correlations of the targets, and of the positions from `low` on, with the latter."""
    position, column, pair, target, member = (
        matrices.position,
        matrices.column,
        matrices.pair,
        matrices.target,
        matrices.member,
    )
    n = 0
    for i in range(place.d):
        column[0, i] = -1
        if bound[i] >= 0.0:
            column[0, i], position[0, n] = n, i
            n += 1
    matrices.size[0, TARGETS] = n
    while n % BLOCK != 0:
        position[0, n] = -1
        n += 1
    matrices.size[0, PADDED] = n
    for i in range(low, place.d):
        if column[0, i] < 0:
            column[0, i], position[0, n] = n, i
            n += 1
    matrices.size[0, COLUMNS] = n
    matrices.variance[0] = side.C[place.x, place.x]
    for k in range(low, place.d):
        node = side.neighbours[place.start + k]
        member[0, COVARIANCE, k], member[0, VARIANCE, k] = side.C[place.x, node], side.C[node, node]
        for j in range(n):
            i = position[0, j]
            pair[0, k, j] = side.C[node, side.neighbours[place.start + i]] if i >= 0 else 0.0
    for j in range(matrices.size[0, PADDED]):
        i = position[0, j]
        target[0, COVARIANCE, j], target[0, VARIANCE, j], target[0, BOUND, j] = 0.0, 1.0, -1.0
        if i >= 0:
            node = side.neighbours[place.start + i]
            target[0, COVARIANCE, j], target[0, VARIANCE, j] = side.C[place.x, node], side.C[node, node]
            target[0, BOUND, j] = bound[i]


@part
def _extend(matrices, t, s, d, bound, runs):
    """Lay out depth t + 1, which is given s as well: targets but s, filling, other positions beyond s.

    Returns the number of runs of columns that stay, -1 if the pivot is doubtful.
    """
    position, column, member, size = matrices.position, matrices.column, matrices.member, matrices.size
    u = t + 1
    pivot = member[t, VARIANCE, s]
    factor = member[t, COVARIANCE, s] / pivot
    matrices.variance[u] = matrices.variance[t] - factor * member[t, COVARIANCE, s]
    if not pivot > PIVOT_FLOOR:
        matrices.variance[u] = math.nan
    if matrices.variance[u] != matrices.variance[u]:
        return -1
    for i in range(d):
        column[u, i] = -1
    for k in range(s + 1, d):
        c = matrices.pair[t, k, column[t, s]]
        member[u, COVARIANCE, k] = member[t, COVARIANCE, k] - factor * c
        member[u, VARIANCE, k] = member[t, VARIANCE, k] - c * c / pivot
    n, n_runs, following = 0, 0, -1
    for kind in (TARGETS, COLUMNS):
        for j in range(size[t, kind]):
            i = position[t, j]
            if kind == TARGETS:
                stays = i != s and bound[i] >= 0.0
            else:
                stays = i > s and column[u, i] < 0
            if stays:
                position[u, n], column[u, i] = i, n
                if j != following:
                    runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2] = j, n, 0
                    n_runs += 1
                runs[n_runs - 1, 2] += 1
                following = j + 1
                n += 1
        following = -1
        size[u, kind] = n
        if kind == TARGETS:
            while n % BLOCK != 0:
                position[u, n] = -1
                n += 1
            size[u, PADDED] = n
    return n_runs


@fused_part
def _condition(matrices, runs, n_runs, t, s, d):
    """The matrix entries of depth t + 1: those of depth t given s as well; filling can never be below its bound."""
    pair, target = matrices.pair, matrices.target
    u = t + 1
    pivot = matrices.member[t, VARIANCE, s]
    targets, padded = matrices.size[u, TARGETS], matrices.size[u, PADDED]
    for k in range(s + 1, d):
        factor = pair[t, k, matrices.column[t, s]] / pivot
        for j in range(targets, padded):
            pair[u, k, j] = 0.0
        for q in range(n_runs):
            source, to = uint64(runs[q, 0]), uint64(runs[q, 1])
            for j in range(runs[q, 2]):
                a, b = source + uint64(j), to + uint64(j)
                pair[u, k, b] = pair[t, k, a] - factor * pair[t, s, a]
    for j in range(targets, padded):
        target[u, COVARIANCE, j], target[u, VARIANCE, j], target[u, BOUND, j] = 0.0, 1.0, -1.0
    factor = matrices.member[t, COVARIANCE, s] / pivot
    for q in range(n_runs):
        source, to = uint64(runs[q, 0]), uint64(runs[q, 1])
        if to >= targets:
            break
        for j in range(runs[q, 2]):
            a, b = source + uint64(j), to + uint64(j)
            c = pair[t, s, a]
            target[u, COVARIANCE, b] = target[t, COVARIANCE, a] - factor * c
            target[u, VARIANCE, b] = target[t, VARIANCE, a] - c * c / pivot
            target[u, BOUND, b] = target[t, BOUND, a]


@fused_part
def _condition_last(pair, target, last, t, s, factor, pivot, n):
    """M_xj and M_jj of n targets given the whole prefix, whose last member is s."""
    g = 1.0 / pivot
    for j in range(n):
        c = pair[t, s, j]
        last[COVARIANCE, j] = target[t, COVARIANCE, j] - factor * c
        last[VARIANCE, j] = target[t, VARIANCE, j] - c * c * g


@fused_part
def _n_possible(pair, target, last, t, candidate, n):
    """How many of n targets are not certainly above their bound given the prefix and k; n is a multiple of BLOCK."""
    count = 0
    s, k, factor, covariance, variance, determinant = candidate
    floor = PIVOT_FLOOR * variance
    for j in range(n):
        w = pair[t, k, j] - factor * pair[t, s, j]
        num = last[COVARIANCE, j] * variance - covariance * w
        vy = last[VARIANCE, j] * variance - w * w
        den = determinant * vy
        square = num * num
        count += not (square > target[t, BOUND, j] * den) or not (square < NEAR_ONE * den) or not (vy > floor)  # or NaN
    return count


@part
def _examine(side, place, candidate, outcomes, matrices, work, state):  # noqa: C901 - one test, all its outcomes
    """Test all targets given the prefix and k, one after the other; returns how many of them are separated."""
    level, nodes, last, cutoff = side.level, work.nodes, work.last, side.cutoff
    s, k, factor, covariance, variance, determinant = candidate
    work.chosen[level - 1] = k
    for q in range(level):
        nodes[q] = side.neighbours[place.start + work.chosen[q]]
    nodes[level] = place.x
    separated = 0
    for i in range(place.d):
        out, bound = place.out + i, work.bound[i]
        for q in range(level):
            if work.chosen[q] == i:
                bound = -1.0
        if bound < 0.0:
            continue
        r, r2 = 0.0, math.nan
        if variance == variance:
            j = matrices.column[level - 2, i]
            w = matrices.pair[level - 2, k, j] - factor * matrices.pair[level - 2, s, j]
            num = last[COVARIANCE, j] * variance - covariance * w
            vy = last[VARIANCE, j] * variance - w * w
            den = determinant * vy
            if vy > PIVOT_FLOOR * variance and num * num < NEAR_ONE * den:
                r2 = num * num / den
            if r2 > bound:
                continue
        independent = r2 < cutoff.low
        doubtful = not r2 <= 1.0 or cutoff.low <= r2 <= cutoff.high
        if independent or doubtful:
            nodes[level + 1] = side.neighbours[place.start + i]
            r = given_several(side.C, nodes, level, work.elimination)
        if doubtful:
            state[DOUBTFUL] += 1
            independent, r2 = abs(r) <= cutoff.value, r * r
        if independent:
            outcomes.rank[out] = rank_without(side.binomials, place.d - 1, level, work.chosen, i)
            outcomes.r[out] = r
            if side.hint[place.start + i] < 0 or place.number < side.hint[place.start + i]:
                side.hint[place.start + i] = place.number
            bound = -1.0
            separated += 1
        else:
            if r2 < outcomes.smallest[out]:
                outcomes.smallest[out] = r2
            bound = outcomes.smallest[out] if outcomes.smallest[out] > cutoff.high else cutoff.high
        work.bound[i] = bound
        for t in range(level - 1):
            if 0 <= matrices.column[t, i] < matrices.size[t, PADDED]:
                matrices.target[t, BOUND, matrices.column[t, i]] = bound
    return separated


@compiled
def walk_items(side, items, outcomes, matrices, work, state):  # noqa: C901 - the hot loop
    """Walk through the prefixes of each item."""
    level, chosen = side.level, work.chosen
    pair, target, member, last = matrices.pair, matrices.target, matrices.member, work.last
    t = level - 2  # depth of the last stored matrices
    out = 0
    for q in range(items.row.shape[0]):
        x, first = items.row[q], items.first[q]
        start = side.offsets[x]
        d = side.offsets[x + 1] - start
        n_open = _start_row(side, Place(x, d, start, out, first), outcomes, work.bound, matrices.size)
        unrank(side.binomials, d - 1, level - 1, first, chosen)
        changed = 0  # first member of the prefix that the stored matrices do not have
        for number in range(first, first + items.prefixes[q]):
            place = Place(x, d, start, out, number)
            if changed < t or number % 64 == 0:
                n_open -= _drop_separated(side.hint, place, work.bound)
            if n_open == 0 or state[STOP] != 0:
                break
            if number == first or (changed == 0 and _mostly_separated(matrices, 0, work.bound)):
                changed = 0
                _gather(side, place, chosen[0], work.bound, matrices)
            for depth in range(changed, t):
                n_runs = _extend(matrices, depth, chosen[depth], d, work.bound, work.runs)
                if n_runs >= 0:
                    _condition(matrices, work.runs, n_runs, depth, chosen[depth], d)

            s = chosen[t]
            pivot, column, padded = member[t, VARIANCE, s], matrices.column[t, s], matrices.size[t, PADDED]
            factor = member[t, COVARIANCE, s] / pivot
            variance = matrices.variance[t] - factor * member[t, COVARIANCE, s]
            sound = pivot > PIVOT_FLOOR and variance > PIVOT_FLOOR
            if sound:
                _condition_last(pair, target, last, t, s, factor, pivot, padded)
            for k in range(s + 1, d):
                candidate = Candidate(s, k, 0.0, 0.0, math.nan, 0.0)
                if sound:
                    a = pair[t, k, column] / pivot
                    kk = member[t, VARIANCE, k] - a * pair[t, k, column]
                    xk = member[t, COVARIANCE, k] - factor * pair[t, k, column]
                    determinant = variance * kk - xk * xk
                    if kk > PIVOT_FLOOR and determinant > PIVOT_FLOOR * kk:
                        candidate = Candidate(s, k, a, xk, kk, determinant)
                        # s and k themselves are always counted: they have no variance given themselves
                        itself = (column < padded) + (matrices.column[t, k] < padded)
                        if _n_possible(pair, target, last, t, candidate, padded) <= itself:
                            continue
                n_open -= _examine(side, place, candidate, outcomes, matrices, work, state)
                if n_open == 0:
                    break

            changed = next_subset(chosen, level - 1, d - 1)
            if changed < 0:
                break
            # targets that are separated stay in the stored matrices until a quarter of them are
            if t > 0 and changed == t and _mostly_separated(matrices, t, work.bound):
                changed = t - 1
        out += d
