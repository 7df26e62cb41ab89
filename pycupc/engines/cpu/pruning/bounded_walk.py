"""Levels 2 to 5: the walk over the conditioning sets of a row, where a bound skips most pairs of last members.

A conditioning set is a prefix P of all members but two, and a pair s < k that follows. The walk keeps correlations
given P: B of each candidate k with everything else, h of x. docs/contracts/pruning.md, section 3, derives the bound,
with

    G_s = max |B_sk|,    G_y = max |B_ky|,    X_s = max |h_k - B_sk h_s| / sqrt(1 - B_sk^2)    over k > s.

These maxima are shared by all targets y. The bound therefore costs a few operations per s and y, where the tests of all
k would cost ten operations each. A pair (s, y) that is not skipped is tested with all k > s at once. Prefixes, s and k
ascend, so each target meets its conditioning sets in pcalg's order and stops at its first separating set.

Only rows whose correlation matrix is well conditioned come here (`plan.Pruning.sound`), so no pivot is doubtful.
"""

from __future__ import annotations

import math

from pycupc.engines.cpu.combinations import rank_without
from pycupc.engines.cpu.graph import ANSWERED
from pycupc.engines.cpu.pruning.bounded_walk_arrays import BOUNDS, MARGIN, TESTS, Target
from pycupc.engines.cpu.row_items import count_tests, merge, start_row, take_item
from pycupc.engines.cpu.threads import STOP
from pycupc.engines.cpu.walk_arrays import AT, DEGREE, END, FIRST, LEFT, START, WORK, Place, X
from pycupc.system.jit import compiled, jit_fma, jit_part
from pycupc.system.numba_names import uint64

#: A bound is not tried where correlations given the prefix reach this.
NEAR_ONE = 0.999


@jit_part
def _gather(side, row, w):
    """Correlations of the row, with nothing given: columns are the targets and the positions not before the item."""
    n = 0
    for i in range(row.d):
        if w.bound[i] >= 0.0 or i >= row.number:
            w.position[0, n] = i
            w.column[0, i] = n
            w.h[0, n] = side.C[row.x, side.neighbours[row.at + i]]
            w.live[0, n] = w.bound[i] >= 0.0
            n += 1
    w.columns[0] = n
    for k in range(row.number, row.d):
        a = side.neighbours[row.at + k]
        for c in range(n):
            w.B[0, k, c] = side.C[a, side.neighbours[row.at + w.position[0, c]]]
        w.B[0, k, w.column[0, k]] = 0.0


@jit_fma
def _condition(w, u, s, d):
    """Correlations given one more member, s: columns are the targets not skipped after s and the positions beyond s."""
    at, n = w.column[u, s], 0
    for c in range(at):
        if w.open[u, s, c] and w.bound[w.position[u, c]] >= 0.0:
            w.source[n] = c
            w.live[u + 1, n] = True
            n += 1
    low = n
    for c in range(at + 1, w.columns[u]):
        w.source[n] = c
        w.live[u + 1, n] = w.open[u, s, c]
        n += 1
    w.columns[u + 1] = n
    hs = w.h[u, at]
    rest = 1.0 / math.sqrt(1.0 - hs * hs)
    for c in range(n):
        b, i = w.B[u, s, w.source[c]], w.position[u, w.source[c]]
        w.position[u + 1, c] = i
        w.column[u + 1, i] = c
        w.given[c] = b
        w.scale[c] = 1.0 / math.sqrt(1.0 - b * b)
        w.h[u + 1, c] = (w.h[u, w.source[c]] - hs * b) * rest * w.scale[c]
    shift = uint64(at + 1 - low)
    for k in range(s + 1, d):
        f, own = w.B[u, k, at], w.column[u + 1, k]
        for c in range(low):
            w.B[u + 1, k, c] = (w.B[u, k, w.source[c]] - f * w.given[c]) * w.scale[c] * w.scale[own]
        for c in range(uint64(low), uint64(n)):
            w.B[u + 1, k, c] = (w.B[u, k, uint64(c) + shift] - f * w.given[c]) * w.scale[c] * w.scale[own]
        w.B[u + 1, k, own] = 0.0


@jit_fma
def _raise_maxima(w, u, k, low, at, n):
    """Let k count: in G_c for all columns, in X_c for the candidates c < k."""
    hk = w.h[u, at]
    for c in range(n):
        v = abs(w.B[u, k, c])
        w.G[c] = v if v > w.G[c] else w.G[c]
    for c in range(uint64(low), uint64(at)):
        b = w.B[u, k, c]
        v = hk - b * w.h[u, c]
        v = v * v / (1.0 - b * b)
        w.X[c] = v if v > w.X[c] else w.X[c]


@jit_fma
def _n_open(w, u, s, at, low, high, growth):
    """Find the targets in columns low .. high - 1 that are not skipped after s; returns their number."""
    hs, G, n_open = w.h[u, at], w.G[at], 0
    reach, rest = growth * math.sqrt(w.X[at] / (1.0 - G * G)), math.sqrt(1.0 - hs * hs)
    for c in range(uint64(low), uint64(high)):
        b = w.B[u, s, c]
        need = w.threshold[c] * rest * (1.0 - 0.5 * b * b) + MARGIN
        is_open = abs(w.h[u, c] - hs * b) - reach * (w.G[c] + abs(b) * G) <= need
        w.open[u, s, c] = is_open
        n_open += is_open
    return n_open


@jit_part
def _growth(G, steps):
    """Sum over the steps of the growth of X Y, where no correlation exceeds G at first; inf if there is no bound."""
    total, factor = 1.0, 1.0
    for _ in range(steps - 1):
        if G >= NEAR_ONE:
            return math.inf
        factor *= (1.0 + G) / (1.0 - G)
        total += factor
        G /= 1.0 - G
    return total


@jit_part
def _skip(w, u, row, first, end, left):
    """Find the targets that are not skipped after each s, first <= s < end; `left` members follow s.

    A bound for several members to come is that for one with X Y multiplied by `_growth`.
    """
    n, low, largest = w.columns[u], w.column[u, first], 0.0
    for c in range(n):
        w.G[c] = w.X[c] = 0.0
        bound = w.bound[w.position[u, c]]
        w.threshold[c] = math.sqrt(bound) if w.live[u, c] and bound >= 0.0 else -1e9
    for s in range(row.d - 2, first - 1, -1):
        _raise_maxima(w, u, s + 1, low, w.column[u, s + 1], n)
        at = w.column[u, s]
        G = w.G[at]
        largest = G if largest < G else largest
        if s < end:
            growth = _growth((largest + G * G) / (1.0 - G * G), left) if G < NEAR_ONE else math.inf
            w.counts[BOUNDS] += n
            if growth < math.inf:
                w.n_open[u, s] = _n_open(w, u, s, at, 0, at, growth)
                w.n_open[u, s] += _n_open(w, u, s, at, at + 1, n, growth)
                w.open[u, s, at] = False
            else:
                w.n_open[u, s] = n
                for c in range(n):
                    w.open[u, s, c] = True


@jit_fma
def _give_last(w, u, s, at, n):
    """For all k > s: variance given s, covariance with x, and the determinant of both."""
    hs = w.h[u, at]
    for c in range(uint64(at + 1), uint64(n)):
        b = w.B[u, s, c]
        e, xk = 1.0 - b * b, w.h[u, c] - b * hs
        w.given[c], w.e[c], w.xk[c] = b, e, xk
        w.determinant[c] = (1.0 - hs * hs) * e - xk * xk


@jit_fma
def _n_possible(w, target, at, n):
    """The number of k > s that are not certainly above the bound of the target."""
    count = 0
    for c in range(uint64(at + 1), uint64(n)):
        y = w.T[target.column, c] - target.b * w.given[c]
        num = target.xy * w.e[c] - w.xk[c] * y
        den = w.determinant[c] * (target.yy * w.e[c] - y * y)
        count += not num * num > target.bound * den
    return count


@jit_part
def _transpose(w, u, column, low, n):
    """B of a target with all candidates, in one row."""
    for c in range(low, n):
        w.T[column, c] = w.B[u, w.position[u, c], column]


@jit_part
def _look(side, row, target, s, w, u, outcomes):
    """Look at each k > s until a test separates the target or is doubtful; returns whether one did."""
    i, level = w.position[u, target.column], side.level
    o, at = row.out + i, w.column[u, s]
    for c in range(at + 1, w.columns[u]):
        k = w.position[u, c]
        y = w.T[target.column, c] - target.b * w.given[c]
        num = target.xy * w.e[c] - w.xk[c] * y
        r2 = num * num / (w.determinant[c] * (target.yy * w.e[c] - y * y))
        if k == i or r2 > w.bound[i]:
            continue
        if r2 < outcomes.smallest[o]:
            outcomes.smallest[o] = r2
        if w.minimum[0]:
            w.bound[i] = r2 if r2 > side.cutoff.high else side.cutoff.high
        elif r2 <= side.cutoff.high:
            w.bound[i] = -1.0
            outcomes.rank[o] = LEFT
            if r2 < side.cutoff.low:
                w.chosen[level - 2], w.chosen[level - 1] = s, k
                outcomes.rank[o] = rank_without(side.binomials, row.d - 1, level, w.chosen, i)
                known = side.hint[row.start + i]
                if (known < 0) | (row.number < known):
                    side.hint[row.start + i] = row.number
            return 1
    return 0


@jit_part
def _test_pairs(side, row, first, end, w, u, outcomes):
    """Test the targets not skipped after each s, first <= s < end; returns the number separated or doubtful."""
    n, low, separated = w.columns[u], w.column[u, first], 0
    for c in range(n):
        w.transposed[c] = False
    for s in range(first, end):
        at, left, c, ready = w.column[u, s], w.n_open[u, s], 0, False
        while left > 0:
            while not w.open[u, s, c]:
                c += 1
            left -= 1
            bound = w.bound[w.position[u, c]]
            if bound >= 0.0 and w.live[u, c] and c != at:
                if not ready:
                    _give_last(w, u, s, at, n)
                    ready = True
                if not w.transposed[c]:
                    _transpose(w, u, c, low, n)
                    w.transposed[c] = True
                b = w.B[u, s, c]
                target = Target(c, b, w.h[u, c] - w.h[u, at] * b, 1.0 - b * b, bound)
                w.counts[TESTS] += n - at - 1
                if _n_possible(w, target, at, n):  # k = y itself is no test, but may be counted
                    separated += _look(side, row, target, s, w, u, outcomes)
            c += 1
    return separated


@jit_part
def _walk(side, row, end, outcomes, w, n_open, state):
    """Walk through the prefixes whose first member is in the item, depth first."""
    level, d, u = side.level, row.d, 0
    w.following[0] = row.number
    _skip(w, 0, row, row.number, end, level - 1)
    while u >= 0 and n_open > 0 and state[STOP] == 0:
        s = w.following[u]
        w.following[u] += 1
        if s > d - level + u or (u == 0 and s >= end):
            u -= 1
        elif w.n_open[u, s] > 0:
            w.chosen[u] = s
            _condition(w, u, s, d)
            u += 1
            w.following[u] = s + 1
            _skip(w, u, row, s + 1, d - 1, level - u - 1)
            if u == level - 2:
                n_open -= _test_pairs(side, row, s + 1, d - 1, w, u, outcomes)
                u -= 1


@compiled
def bounded_walk(side, bound, items, following, merged, outcomes, w, state):
    """Walk through the sets of one item after the other, which have their first member in a range.

    `bound`: a threshold of r^2 for each entry instead of the cutoff, for w.minimum.
    """
    while state[STOP] == 0:
        q = take_item(following, state)
        if q >= len(items):
            break
        d, start, first, end = items[q, DEGREE], items[q, START], items[q, FIRST], items[q, END]
        row = Place(items[q, X], d, start, items[q, AT], 0, first)
        n_open = start_row(side, row, outcomes, w.bound)
        for i in range(d):
            outcomes.r[i] = math.nan  # it is computed later
            threshold = bound[start + i] if w.minimum[0] else side.cutoff.high
            w.bound[i] = threshold if w.bound[i] > 0.0 else -1.0
        if n_open > 0:
            _gather(side, row, w)
            if side.level == 2:
                _skip(w, 0, row, first, end, 1)
                _test_pairs(side, row, first, end, w, 0, outcomes)
            else:
                _walk(side, row, end, outcomes, w, n_open, state)
        if state[STOP] == 0:
            merge(side.chosen, items, q, outcomes, ANSWERED, merged)
            count_tests(state, float(items[q, WORK]))
