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
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import uint64

from pycupc.compiled import compiled, fused_part, part
from pycupc.engines.base import Floats, Ints, Mask
from pycupc.engines.cpu.certainty import NEAR_ONE, Cutoff
from pycupc.engines.cpu.combinations import rank_without, unrank
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.threads import DOUBTFUL, STOP
from pycupc.gaussian.fisher_z import PIVOT_FLOOR
from pycupc.gaussian.partial_correlation import given_several

#: Targets are filled up to whole blocks, so that few are left to scalar instructions.
BLOCK = 8

#: First index of `Matrices.target`, of `Matrices.member` and of `Matrices.size`.
COVARIANCE, VARIANCE, BOUND = 0, 1, 2
TARGETS, PADDED, COLUMNS = 0, 1, 2


class Side(NamedTuple):
    """What all walks of one side of a level share.

    C : float64 (p, p)
    offsets, neighbours : int64 (p + 1,), int32 (E,)
        The neighbour lists.
    chosen : bool (E,)
        Targets.
    hint : int64 (E,)
        Number of a prefix that is known to separate the entry, -1 if none is: a walk beyond it drops the target. It
        serves only to stop early, never as an answer, so it does not matter which thread wrote it when.
    binomials : int64
        `subsets.binomial_table` of the largest degree and the level.
    cutoff : Cutoff
    level : int
    """

    C: Floats
    offsets: Indices
    neighbours: Ints
    chosen: Mask
    hint: Indices
    binomials: Indices
    cutoff: Cutoff
    level: int


class Items(NamedTuple):
    """Work items, int64 (m,) each: a row, the number of its first prefix, and the number of prefixes."""

    row: Indices
    first: Indices
    count: Indices


class Outcomes(NamedTuple):
    """What the walks of a task found for a target of an item: its entry, and the fields of `Findings`; (m,) each."""

    entry: Indices
    rank: Indices
    r: Floats
    smallest: Floats


class Row(NamedTuple):
    """The row of an item, by position, (d,) each.

    node : the variable. open : a target that is not separated yet. bound, rank, r, smallest : see above and `Findings`.
    """

    node: Indices
    open: Mask
    bound: Floats
    rank: Indices
    r: Floats
    smallest: Floats


class Matrices(NamedTuple):
    """The matrices M|P for the prefixes of size t.

    pair : float64 (t, position k, column)
        M_kj.
    target : float64 (t, 3, column)
        M_xj, M_jj and the bound of the targets.
    member : float64 (t, 2, position k)
        M_xk and M_kk.
    variance : float64 (t,)
        M_xx, NaN where a pivot on the way is not above the floor; nothing else is valid then.
    position : int64 (t, column)
        -1 for filling.
    column : int64 (t, position)
        -1 where there is none.
    size : int64 (t, 3)
        Targets, the same with filling, all columns.
    """

    pair: Floats
    target: Floats
    member: Floats
    variance: Floats
    position: Indices
    column: Indices
    size: Indices


class Work(NamedTuple):
    """Work space of a walk.

    chosen : int64 (level,)
        Positions of the prefix and of the last member.
    nodes : int64 (level + 2,)
        Their variables, x and y: for the canonical formula, as is `elimination`, float64 (level + 4, level + 4).
    last : float64 (2, column)
        M_xj and M_jj of the targets given the whole prefix.
    runs : int64 (d + 2, 3)
        Pieces of consecutive columns that stay, as (from, to, length).
    """

    chosen: Indices
    nodes: Indices
    elimination: Floats
    last: Floats
    runs: Indices


class Candidate(NamedTuple):
    """A last member k with the prefix ending in s: what its tests need given all of the prefix.

    factor : M_ks / M_ss. covariance, variance : M_xk and M_kk, the variance NaN if it is doubtful. determinant : M_xx
    M_kk - M_xk^2.
    """

    s: int
    k: int
    factor: float
    covariance: float
    variance: float
    determinant: float


class Place(NamedTuple):
    """Where a walk is: row x, which starts at entry `start` and has d neighbours, and the number of the prefix."""

    x: int
    start: int
    d: int
    number: int


def work_space(level: int, d: int) -> tuple[Row, Matrices, Work]:
    """Arrays for walks over rows of up to d neighbours."""
    t, width = level - 1, d + BLOCK
    row = Row(
        np.empty(d, np.int64), np.empty(d, np.bool_), np.empty(d), np.empty(d, np.int64), np.empty(d), np.empty(d)
    )
    matrices = Matrices(
        np.empty((t, d, width)),
        np.empty((t, 3, width)),
        np.empty((t, 2, d)),
        np.empty(t),
        np.empty((t, width), np.int64),
        np.empty((t, d), np.int64),
        np.empty((t, 3), np.int64),
    )
    work = Work(
        np.empty(level, np.int64),
        np.empty(level + 2, np.int64),
        np.empty((level + 4, level + 4)),
        np.empty((2, width)),
        np.empty((d + 2, 3), np.int64),
    )
    return row, matrices, work


@part
def _start_row(side, x, first, row, matrices):
    """Set up for a walk over row x from prefix `first` on; returns the number of targets."""
    start = side.offsets[x]
    for t in range(side.level - 1):
        matrices.size[t, TARGETS] = matrices.size[t, PADDED] = 0
    n_open = 0
    for i in range(side.offsets[x + 1] - start):
        known = side.hint[start + i]
        row.node[i] = side.neighbours[start + i]
        row.open[i] = side.chosen[start + i] and not 0 <= known < first
        row.bound[i] = math.inf
        row.rank[i] = -1 if row.open[i] else -2
        row.smallest[i] = math.inf
        n_open += row.open[i]
    return n_open


@part
def _drop_separated(hint, start, d, number, row):
    """Drop the targets that an earlier prefix than this number is known to separate; returns how many."""
    dropped = 0
    for i in range(d):
        if row.open[i] and 0 <= hint[start + i] < number:
            row.open[i] = False
            row.bound[i] = -1.0
            dropped += 1
    return dropped


@part
def _mostly_separated(matrices, t, row):
    """Whether at least a block and a quarter of the targets at depth t are separated by now."""
    separated = 0
    n = matrices.size[t, TARGETS]
    for j in range(n):
        separated += not row.open[matrices.position[t, j]]
    return separated >= BLOCK and 4 * separated >= n


@part
def _gather(C, x, d, low, row, matrices):
    """Depth 0: the correlations of the open targets, and of the positions from `low` on, with the latter."""
    n = 0
    for i in range(d):
        matrices.column[0, i] = -1
        if row.open[i]:
            matrices.column[0, i] = n
            matrices.position[0, n] = i
            n += 1
    matrices.size[0, TARGETS] = n
    while n % BLOCK != 0:
        matrices.position[0, n] = -1
        n += 1
    matrices.size[0, PADDED] = n
    for i in range(low, d):
        if matrices.column[0, i] < 0:
            matrices.column[0, i] = n
            matrices.position[0, n] = i
            n += 1
    matrices.size[0, COLUMNS] = n
    matrices.variance[0] = C[x, x]
    for k in range(low, d):
        node = row.node[k]
        matrices.member[0, COVARIANCE, k] = C[x, node]
        matrices.member[0, VARIANCE, k] = C[node, node]
        for j in range(n):
            i = matrices.position[0, j]
            matrices.pair[0, k, j] = C[node, row.node[i]] if i >= 0 else 0.0
    for j in range(matrices.size[0, PADDED]):
        i = matrices.position[0, j]
        node = row.node[i] if i >= 0 else 0
        matrices.target[0, COVARIANCE, j] = C[x, node] if i >= 0 else 0.0
        matrices.target[0, VARIANCE, j] = C[node, node] if i >= 0 else 1.0
        matrices.target[0, BOUND, j] = row.bound[i] if i >= 0 else -1.0


@part
def _keep_column(matrices, runs, n_runs, t, j, n):
    """Make column j of depth t the n-th of depth t + 1; returns the number of runs, to which it belongs now."""
    position = matrices.position[t, j]
    matrices.position[t + 1, n] = position
    matrices.column[t + 1, position] = n
    if n_runs > 0 and runs[n_runs - 1, 0] + runs[n_runs - 1, 2] == j and runs[n_runs - 1, 1] + runs[n_runs - 1, 2] == n:
        runs[n_runs - 1, 2] += 1
        return n_runs
    runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2] = j, n, 1
    return n_runs + 1


@part
def _select_columns(matrices, runs, t, s, d, row):
    """Lay out depth t + 1: the open targets but s, filling, then the other positions beyond s. Returns the runs."""
    n, n_runs = 0, 0
    for i in range(d):
        matrices.column[t + 1, i] = -1
    for j in range(matrices.size[t, TARGETS]):
        i = matrices.position[t, j]
        if i != s and row.open[i]:
            n_runs = _keep_column(matrices, runs, n_runs, t, j, n)
            n += 1
    matrices.size[t + 1, TARGETS] = n
    while n % BLOCK != 0:
        matrices.position[t + 1, n] = -1
        n += 1
    matrices.size[t + 1, PADDED] = n
    for j in range(matrices.size[t, COLUMNS]):
        i = matrices.position[t, j]
        if i > s and matrices.column[t + 1, i] < 0:
            n_runs = _keep_column(matrices, runs, n_runs, t, j, n)
            n += 1
    matrices.size[t + 1, COLUMNS] = n
    return n_runs


@fused_part
def _condition_pairs(matrices, runs, n_runs, t, s, d):
    """M_kj given s as well, of the rows beyond s and the columns that stay."""
    pair = matrices.pair
    pivot, column = matrices.member[t, VARIANCE, s], matrices.column[t, s]
    targets, padded = matrices.size[t + 1, TARGETS], matrices.size[t + 1, PADDED]
    for k in range(s + 1, d):
        factor = pair[t, k, column] / pivot
        for j in range(targets, padded):
            pair[t + 1, k, j] = 0.0
        for q in range(n_runs):
            source, to = uint64(runs[q, 0]), uint64(runs[q, 1])
            for j in range(runs[q, 2]):
                pair[t + 1, k, to + uint64(j)] = (
                    pair[t, k, source + uint64(j)] - factor * pair[t, s, source + uint64(j)]
                )


@fused_part
def _condition_targets(matrices, runs, n_runs, t, s):
    """M_xj, M_jj and the bound given s as well, of the targets that stay; filling can never be below its bound."""
    target = matrices.target
    pivot = matrices.member[t, VARIANCE, s]
    factor = matrices.member[t, COVARIANCE, s] / pivot
    targets = matrices.size[t + 1, TARGETS]
    for j in range(targets, matrices.size[t + 1, PADDED]):
        target[t + 1, COVARIANCE, j], target[t + 1, VARIANCE, j], target[t + 1, BOUND, j] = 0.0, 1.0, -1.0
    for q in range(n_runs):
        source, to = uint64(runs[q, 0]), uint64(runs[q, 1])
        for j in range(runs[q, 2] if runs[q, 1] + runs[q, 2] <= targets else targets - runs[q, 1]):
            u = matrices.pair[t, s, source + uint64(j)]
            target[t + 1, COVARIANCE, to + uint64(j)] = target[t, COVARIANCE, source + uint64(j)] - factor * u
            target[t + 1, VARIANCE, to + uint64(j)] = target[t, VARIANCE, source + uint64(j)] - u * u / pivot
            target[t + 1, BOUND, to + uint64(j)] = target[t, BOUND, source + uint64(j)]


@part
def _condition(matrices, runs, t, s, d, row):
    """From depth t to depth t + 1: the matrices given s as well."""
    member = matrices.member
    pivot = member[t, VARIANCE, s]
    if not (pivot > PIVOT_FLOOR and matrices.variance[t] == matrices.variance[t]):
        matrices.variance[t + 1] = math.nan
        return
    n_runs = _select_columns(matrices, runs, t, s, d, row)
    _condition_pairs(matrices, runs, n_runs, t, s, d)
    _condition_targets(matrices, runs, n_runs, t, s)
    factor, column = member[t, COVARIANCE, s] / pivot, matrices.column[t, s]
    matrices.variance[t + 1] = matrices.variance[t] - factor * member[t, COVARIANCE, s]
    for k in range(s + 1, d):
        c = matrices.pair[t, k, column]
        member[t + 1, COVARIANCE, k] = member[t, COVARIANCE, k] - factor * c
        member[t + 1, VARIANCE, k] = member[t, VARIANCE, k] - c * c / pivot


@fused_part
def _condition_last(pair, target, last, t, s, factor, pivot, n):
    """M_xj and M_jj of n targets given the whole prefix, whose last member is s."""
    g = 1.0 / pivot
    for j in range(n):
        u = pair[t, s, j]
        last[COVARIANCE, j] = target[t, COVARIANCE, j] - factor * u
        last[VARIANCE, j] = target[t, VARIANCE, j] - u * u * g


@fused_part
def _n_possible(pair, target, last, t, candidate, n):
    """How many of n targets are not certainly above their bound given the prefix and k; n is a multiple of BLOCK."""
    count = 0
    s, k, factor = candidate.s, candidate.k, candidate.factor
    floor = PIVOT_FLOOR * candidate.variance
    for j in range(n):
        w = pair[t, k, j] - factor * pair[t, s, j]
        num = last[COVARIANCE, j] * candidate.variance - candidate.covariance * w
        vy = last[VARIANCE, j] * candidate.variance - w * w
        den = candidate.determinant * vy
        square = num * num
        count += not (square > target[t, BOUND, j] * den) or not (square < NEAR_ONE * den) or not (vy > floor)  # or NaN
    return count


@part
def _fast_ratio(matrices, last, t, candidate, i):
    """r^2 of the target at position i given the prefix and k; NaN if it is doubtful."""
    j = matrices.column[t, i]
    w = matrices.pair[t, candidate.k, j] - candidate.factor * matrices.pair[t, candidate.s, j]
    num = last[COVARIANCE, j] * candidate.variance - candidate.covariance * w
    vy = last[VARIANCE, j] * candidate.variance - w * w
    den = candidate.determinant * vy
    if vy > PIVOT_FLOOR * candidate.variance and num * num < NEAR_ONE * den:
        return num * num / den
    return math.nan


@part
def _decide(C, nodes, level, r2, cutoff, elimination, state):
    """(independent, r^2, r if independent): by the fast r^2 where it is certain, else by the canonical formula."""
    if r2 > cutoff.high and r2 <= 1.0:
        return False, r2, 0.0
    r = given_several(C, nodes, level, elimination)
    if r2 < cutoff.low and r2 <= 1.0:
        return True, r2, r
    state[DOUBTFUL] += 1
    return abs(r) <= cutoff.value, r * r, r


@part
def _holds(members, size, i):
    for q in range(size):
        if members[q] == i:
            return True
    return False


@part
def _examine(side, place, candidate, row, matrices, work, state):
    """Test all open targets given the prefix and k, one after the other; returns how many of them are separated."""
    level, nodes = side.level, work.nodes
    work.chosen[level - 1] = candidate.k
    for q in range(level):
        nodes[q] = row.node[work.chosen[q]]
    nodes[level] = place.x
    separated = 0
    for i in range(place.d):
        if not row.open[i] or _holds(work.chosen, level, i):
            continue
        r2 = math.nan
        if candidate.variance == candidate.variance:
            r2 = _fast_ratio(matrices, work.last, level - 2, candidate, i)
            if r2 > row.bound[i]:
                continue
        nodes[level + 1] = row.node[i]
        independent, r2, r = _decide(side.C, nodes, level, r2, side.cutoff, work.elimination, state)
        if independent:
            row.rank[i] = rank_without(side.binomials, place.d - 1, level, work.chosen, i)
            row.r[i] = r
            if side.hint[place.start + i] < 0 or place.number < side.hint[place.start + i]:
                side.hint[place.start + i] = place.number
            row.open[i] = False
            row.bound[i] = -1.0
            separated += 1
        else:
            if r2 < row.smallest[i]:
                row.smallest[i] = r2
            row.bound[i] = row.smallest[i] if row.smallest[i] > side.cutoff.high else side.cutoff.high
        for t in range(level - 1):
            if 0 <= matrices.column[t, i] < matrices.size[t, PADDED]:
                matrices.target[t, BOUND, matrices.column[t, i]] = row.bound[i]
    return separated


@part
def _next_prefix(chosen, size, n):
    """The next subset of range(n) in lexicographic order; returns its first member that differs, -1 after the last."""
    i = size - 1
    while i >= 0 and chosen[i] == n - size + i:
        i -= 1
    if i >= 0:
        chosen[i] += 1
        for q in range(i + 1, size):
            chosen[q] = chosen[q - 1] + 1
    return i


@part
def _report(row, start, d, outcomes, n):
    """Add the outcomes of a row to the n of earlier rows; returns how many there are now."""
    for i in range(d):
        if row.rank[i] != -2:
            outcomes.entry[n] = start + i
            outcomes.rank[n] = row.rank[i]
            outcomes.r[n] = row.r[i]
            outcomes.smallest[n] = row.smallest[i]
            n += 1
    return n


@compiled
def walk_items(side, items, row, matrices, work, outcomes, state):  # noqa: C901 - the hot loop
    """Walk through the prefixes of each item; returns the number of outcomes."""
    level, chosen = side.level, work.chosen
    pair, target, member, last = matrices.pair, matrices.target, matrices.member, work.last
    t = level - 2  # depth of the last stored matrices
    n_outcomes = 0
    for q in range(items.row.shape[0]):
        x, first = items.row[q], items.first[q]
        start = side.offsets[x]
        d = side.offsets[x + 1] - start
        n_open = _start_row(side, x, first, row, matrices)
        if n_open == 0:
            continue
        unrank(side.binomials, d - 1, level - 1, first, chosen)
        changed = 0  # first member of the prefix that the stored matrices do not have
        for number in range(first, first + items.count[q]):
            if changed < t or number % 64 == 0:
                n_open -= _drop_separated(side.hint, start, d, number, row)
            if n_open == 0 or state[STOP] != 0:
                break
            if number == first or (changed == 0 and _mostly_separated(matrices, 0, row)):
                changed = 0
                _gather(side.C, x, d, chosen[0], row, matrices)
            for depth in range(changed, t):
                _condition(matrices, work.runs, depth, chosen[depth], d, row)

            s = chosen[t]
            pivot, column, n_padded = member[t, VARIANCE, s], matrices.column[t, s], matrices.size[t, PADDED]
            factor = member[t, COVARIANCE, s] / pivot
            variance = matrices.variance[t] - factor * member[t, COVARIANCE, s]
            sound = pivot > PIVOT_FLOOR and variance > PIVOT_FLOOR
            if sound:
                _condition_last(pair, target, last, t, s, factor, pivot, n_padded)
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
                        itself = (column < n_padded) + (matrices.column[t, k] < n_padded)
                        if _n_possible(pair, target, last, t, candidate, n_padded) <= itself:
                            continue
                n_open -= _examine(side, Place(x, start, d, number), candidate, row, matrices, work, state)
                if n_open == 0:
                    break

            changed = _next_prefix(chosen, level - 1, d - 1)
            if changed < 0:
                break
            # targets that are separated stay in the stored matrices until a quarter of them are
            if t > 0 and changed == t and _mostly_separated(matrices, t, row):
                changed = t - 1
        n_outcomes = _report(row, start, d, outcomes, n_outcomes)
    return n_outcomes
