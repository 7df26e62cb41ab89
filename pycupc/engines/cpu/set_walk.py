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
The arrays are described in `walk_arrays`.
"""

from __future__ import annotations

import math

from pycupc.engines.cpu.combinations import next_subset, rank_without, unrank
from pycupc.engines.cpu.graph import TESTED
from pycupc.engines.cpu.row_items import count_tests, merge, start_row, take_item
from pycupc.engines.cpu.threads import AGAIN, CAREFUL, DOUBTFUL, STOP, WANTED
from pycupc.engines.cpu.tuning import BLOCK
from pycupc.engines.cpu.walk_arrays import AT, DEGREE, END, FIRST, LARGE, NEAR_ONE, START, WORK, Candidate, Place, X
from pycupc.independence.gaussian.partial_correlation import given_several
from pycupc.independence.gaussian.tolerances import PIVOT_FLOOR
from pycupc.system.jit import compiled, jit_fma, jit_inlined, jit_part
from pycupc.system.numba_names import uint64


@jit_inlined
def _enter_row(side, mirror, start, d):
    """With both sides, the targets y < x that row y has separated become none."""
    for e in range(start, start + d if len(mirror) > 0 else start):
        if mirror[e] < e and side.hint[mirror[e]] >= 0:
            side.chosen[e] = False


@jit_inlined
def drop_separated(hint, place, bound):
    """Drop the targets that an earlier prefix is known to separate; returns how many."""
    n = 0
    for i in range(place.d):
        known = hint[place.start + i]
        if (bound[i] >= 0.0) & (known >= 0) & (known < place.number):
            bound[i] = -1.0
            n += 1
    return n


@jit_inlined
def _fill(m, t, n):
    """Fill up n targets of depth t to whole blocks; returns the number of columns."""
    m.targets[t] = n
    while n % BLOCK != 0:
        m.position[t, n] = 0
        m.xj[t, n] = 0.0
        m.jj[t, n] = LARGE
        m.bound[t, n] = -1.0
        n += 1
    m.padded[t] = n
    return n


@jit_part
def _gather(side, place, low, bound, m):
    """Depth 0: the correlations of targets and of positions from `low` on, all with the positions from `low` on."""
    C, node, x, start = side.C, side.neighbours, place.x, place.at
    n = 0
    for i in range(place.d):
        m.column[0, i] = -1
        if bound[i] >= 0.0:
            m.column[0, i] = n
            m.position[0, n] = i
            n += 1
    n = _fill(m, 0, n)
    for i in range(low, place.d):
        if m.column[0, i] < 0:
            m.column[0, i] = n
            m.position[0, n] = i
            n += 1
    m.columns[0] = n
    m.xx[0] = C[x, x]
    for i in range(low, place.d):
        k = node[start + i]
        m.xk[0, i] = C[x, k]
        m.kk[0, i] = C[k, k]
        for j in range(n):
            m.kj[0, i, j] = C[k, node[start + m.position[0, j]]]
    for j in range(m.targets[0]):
        i = m.position[0, j]
        m.bound[0, j] = bound[i]
        m.xj[0, j] = C[x, node[start + i]]
        m.jj[0, j] = C[node[start + i], node[start + i]]


@jit_part
def _extend(m, t, s, d, bound, runs):
    """Lay out depth t + 1, which is given s as well: targets but s, filling, other positions beyond s.

    Returns the number of runs of columns that stay, -1 if the pivot is doubtful.
    """
    u = t + 1
    pivot = m.kk[t, s]
    factor = m.xk[t, s] / pivot
    m.xx[u] = m.xx[t] - factor * m.xk[t, s] if pivot > PIVOT_FLOOR else math.nan
    if m.xx[u] != m.xx[u]:
        return -1
    for i in range(d):
        m.column[u, i] = -1
    for k in range(s + 1, d):
        c = m.kj[t, k, m.column[t, s]]
        m.xk[u, k] = m.xk[t, k] - factor * c
        m.kk[u, k] = m.kk[t, k] - c * c / pivot
    n, n_runs = 0, 0
    for others in range(2):
        following = -1
        for j in range(m.columns[t] if others else m.targets[t]):
            i = m.position[t, j]
            stays = (i > s) & (m.column[u, i] < 0) if others else (i != s) & (bound[i] >= 0.0)
            if stays:
                if j != following:
                    runs[n_runs, 0] = j
                    runs[n_runs, 1] = n
                    runs[n_runs, 2] = 0
                    n_runs += 1
                runs[n_runs - 1, 2] += 1
                following = j + 1
                m.position[u, n] = i
                m.column[u, i] = n
                n += 1
        if not others:
            n = _fill(m, u, n)
    m.columns[u] = n
    return n_runs


@jit_fma
def _condition(m, runs, n_runs, t, s, d):
    """Write the matrix of depth t + 1: the matrix of depth t given s as well."""
    u = t + 1
    pivot, column = m.kk[t, s], m.column[t, s]
    for k in range(s + 1, d):
        factor = m.kj[t, k, column] / pivot
        for q in range(n_runs):
            source, to = uint64(runs[q, 0]), uint64(runs[q, 1])
            for j in range(uint64(runs[q, 2])):
                m.kj[u, k, to + j] = m.kj[t, k, source + j] - factor * m.kj[t, s, source + j]
    factor = m.xk[t, s] / pivot
    for q in range(n_runs):
        source, to = uint64(runs[q, 0]), uint64(runs[q, 1])
        if runs[q, 1] >= m.targets[u]:
            break
        for j in range(uint64(runs[q, 2])):
            a, b = source + j, to + j
            c = m.kj[t, s, a]
            m.xj[u, b] = m.xj[t, a] - factor * c
            m.jj[u, b] = m.jj[t, a] - c * c / pivot
            m.bound[u, b] = m.bound[t, a]


@jit_fma
def _condition_last(m, work, t, s, factor):
    """M_xj and M_jj of the targets given the whole prefix, whose last member is s."""
    g = 1.0 / m.kk[t, s]
    for j in range(m.padded[t]):
        c = m.kj[t, s, j]
        work.xj[j] = m.xj[t, j] - factor * c
        work.jj[j] = m.jj[t, j] - c * c * g


@jit_fma
def _n_possible(kj, bound, xj, jj, t, candidate, n):
    """How many of n targets are not certainly above their bound given the prefix and k; n is a multiple of BLOCK."""
    count = 0
    s, k, factor, kk = candidate.s, candidate.k, candidate.factor, candidate.kk
    floor = PIVOT_FLOOR * kk
    for j in range(n):
        w = kj[t, k, j] - factor * kj[t, s, j]
        num = xj[j] * kk - candidate.xk * w
        vy = jj[j] * kk - w * w
        den = candidate.determinant * vy
        square = num * num
        count += not (square > bound[t, j] * den) or not (square < NEAR_ONE * den) or not (vy > floor)  # or NaN
    return count


@jit_inlined
def _fast_ratio(m, work, t, i, candidate):
    """r^2 of the target at position i given the prefix and k, NaN where it is doubtful."""
    j, kk = m.column[t, i], candidate.kk
    w = m.kj[t, candidate.k, j] - candidate.factor * m.kj[t, candidate.s, j]
    num = work.xj[j] * kk - candidate.xk * w
    vy = work.jj[j] * kk - w * w
    den = candidate.determinant * vy
    if (vy > PIVOT_FLOOR * kk) & (num * num < NEAR_ONE * den):
        return num * num / den
    return math.nan


@jit_part
def _examine(side, place, candidate, outcomes, m, work, state):  # noqa: C901 - one test, all its outcomes
    """Test all targets given the prefix and k, one after the other; returns how many of them are separated.

    All of them, if the code at `careful_address` is needed and not there: the findings are void then.
    """
    level, nodes, cutoff = side.level, work.nodes, side.cutoff
    work.chosen[level - 1] = candidate.k
    for q in range(level):
        nodes[q] = side.neighbours[place.at + work.chosen[q]]
    nodes[level] = place.x
    separated = 0
    for i in range(place.d):
        bound = work.bound[i]
        for q in range(level):
            if work.chosen[q] == i:
                bound = -1.0
        if bound < 0.0:
            continue
        r, r2 = 0.0, _fast_ratio(m, work, level - 2, i, candidate) if candidate.sure else math.nan
        if r2 > bound:
            continue
        out = place.out + i
        independent = r2 < cutoff.low
        doubtful = not ((independent | (r2 > cutoff.high)) & (r2 <= 1.0))
        if independent | doubtful:
            nodes[level + 1] = side.neighbours[place.at + i]
            r = given_several(side.C, nodes, level, work.elimination, state[CAREFUL])
            if r != r:
                state[WANTED] = 1
                return place.d
        if doubtful:
            state[DOUBTFUL] += 1
            independent = abs(r) <= cutoff.value
            r2 = r * r
        if independent:
            separated += 1
            bound = -1.0
            outcomes.rank[out] = rank_without(side.binomials, place.d - 1, level, work.chosen, i)
            outcomes.r[out] = r
            known = side.hint[place.start + i]
            if (known < 0) | (place.number < known):
                side.hint[place.start + i] = place.number
        else:
            bound = cutoff.high
            if r2 < outcomes.smallest[out]:
                outcomes.smallest[out] = r2
            if outcomes.smallest[out] > bound:
                bound = outcomes.smallest[out]
        work.bound[i] = bound
        for t in range(level - 1):
            j = m.column[t, i]
            if (j >= 0) & (j < m.padded[t]):
                m.bound[t, j] = bound
    return separated


@compiled
def walk_items(side, items, following, mirror, merged, outcomes, m, work, state):  # noqa: C901, PLR0913, PLR0915 - hot
    """Walk through the prefixes of one item after the other, and write the findings to `merged`.

    With `mirror`, `NeighbourLists.mirror` of the graph, the items are all rows, ascending, with the targets of both
    sides, for one thread, and the outcomes, one for each entry, are the findings themselves.
    """
    level, chosen, t = side.level, work.chosen, side.level - 2  # t: depth of the last stored matrices
    while state[STOP] == 0 and state[WANTED] == 0:
        q = take_item(following, state)
        if q >= len(items):
            break
        x, at, d, start, first = items[q, X], items[q, AT], items[q, DEGREE], items[q, START], items[q, FIRST]
        doubtful = state[DOUBTFUL]
        out = start if len(mirror) > 0 else 0
        _enter_row(side, mirror, start, d)
        n_open = start_row(side, Place(x, d, start, at, out, first), outcomes, work.bound)
        for depth in range(level - 1):
            m.padded[depth] = 0
        unrank(side.binomials, d - 1, level - 1, first, chosen)
        changed = 0  # first member of the prefix that the stored matrices do not have
        for number in range(first, items[q, END]):
            place = Place(x, d, start, at, out, number)
            if changed < t or number % 64 == 0:
                n_open -= drop_separated(side.hint, place, work.bound)
            if n_open <= 0 or state[STOP] != 0 or state[WANTED] != 0:
                break
            # separated targets stay in the stored matrices until they are a block and a quarter of the targets there
            gone = work.open_before[changed] - n_open
            mostly_gone = (gone >= BLOCK) & (4 * gone >= m.targets[changed])
            if number == first or (changed == 0 and mostly_gone):
                changed = 0
                _gather(side, place, chosen[0], work.bound, m)
                work.open_before[0] = n_open
            elif changed == t and mostly_gone:
                changed = t - 1
            for depth in range(changed, t):
                n_runs = _extend(m, depth, chosen[depth], d, work.bound, work.runs)
                work.open_before[depth + 1] = n_open
                if n_runs >= 0:
                    _condition(m, work.runs, n_runs, depth, chosen[depth], d)

            s, padded = chosen[t], m.padded[t]
            pivot = m.kk[t, s]
            factor = m.xk[t, s] / pivot
            xx = m.xx[t] - factor * m.xk[t, s]
            sound = (pivot > PIVOT_FLOOR) & (xx > PIVOT_FLOOR)
            column = m.column[t, s] if sound else 0
            if sound:
                _condition_last(m, work, t, s, factor)
            for k in range(s + 1, d):
                c = m.kj[t, k, column]
                kk = m.kk[t, k] - c / pivot * c
                xk = m.xk[t, k] - factor * c
                determinant = xx * kk - xk * xk
                sure = sound & (kk > PIVOT_FLOOR) & (determinant > PIVOT_FLOOR * kk)
                candidate = Candidate(s, k, c / pivot, xk, kk, determinant, sure)
                # s and k themselves are always counted: they have no variance given themselves
                itself = (column < padded) + (m.column[t, k] < padded)
                if not sure or _n_possible(m.kj, m.bound, work.xj, work.jj, t, candidate, padded) > itself:
                    n_open -= _examine(side, place, candidate, outcomes, m, work, state)
                    if n_open <= 0:
                        break

            changed = next_subset(chosen, level - 1, d - 1)
            if changed < 0:
                break
        if state[WANTED] != 0:
            state[DOUBTFUL], state[AGAIN] = doubtful, q + 1
        elif state[STOP] == 0 and len(mirror) == 0:
            merge(side.chosen, items, q, outcomes, TESTED, merged)
            count_tests(state, float(items[q, WORK]))
