"""Levels from 5 on: for one pair, is there a conditioning set that separates it? By bounds, without trying them all.

A node is a family of conditioning sets: the members taken, and m more to be chosen from q candidates. A bound dismisses
the whole family (`bound.excess`), or shows that some candidates are in none or in all of the remaining sets. A family
that is still too large is divided in two, and small families are enumerated.
"""

from __future__ import annotations

import math

from numba import uint64

from pycupc.engines.cpu.pruning.bound import excess, largest_sum
from pycupc.engines.cpu.pruning.row_work import TESTS
from pycupc.engines.cpu.threads import DOUBTFUL, STOP
from pycupc.independence.gaussian.partial_correlation import given_several
from pycupc.system.compiled import fused_part, part

#: Nanoseconds that it takes to enumerate a family, without its tests, and nanoseconds of one test.
FAMILY_TIME, TEST_TIME = 1250.0, 7.7
#: Outcomes of a search: no set separates the pair, one does, or the search used up its allowance undecided.
NONE, SEPARATED, UNDECIDED = 0, 1, -1


@part
def _few_sets(q, m, sets_per_pair):
    """Whether the family is to be enumerated. Sets of more than half of the candidates take the longest ways there."""
    sets, limit = 1.0, sets_per_pair * q * q
    size = m
    if 2 * m > q:
        size, sets = q - m, (q + 1.0) / (q - m + 1.0)
    for t in range(size):
        sets *= (q - t) / (t + 1.0)
        if sets > limit:
            return False
    return True


@fused_part
def _last_members(leaf, t, first, q, bound):
    """How many last members k >= first are not certainly above the bound."""
    count = 0
    xx, yy, xy = leaf.xx[t], leaf.yy[t], leaf.xy[t]
    for k in range(uint64(first), uint64(q)):
        kk, xk, yk = leaf.kk[t, k], leaf.x[t, k], leaf.y[t, k]
        num = xy * kk - xk * yk
        count += not num * num > bound * (xx * kk - xk * xk) * (yy * kk - yk * yk)
    return count


@fused_part
def _give(leaf, t, k, q):
    """Write the covariances of depth t + 1: as at depth t, given candidate k as well."""
    u, inverse = t + 1, 1.0 / leaf.kk[t, k]
    xk, yk = leaf.x[t, k] * inverse, leaf.y[t, k] * inverse
    leaf.xx[u] = leaf.xx[t] - xk * leaf.x[t, k]
    leaf.yy[u] = leaf.yy[t] - yk * leaf.y[t, k]
    leaf.xy[u] = leaf.xy[t] - xk * leaf.y[t, k]
    for a in range(uint64(k + 1), uint64(q)):
        c = leaf.C[t, k, a]
        leaf.x[u, a] = leaf.x[t, a] - xk * c
        leaf.y[u, a] = leaf.y[t, a] - yk * c
        leaf.kk[u, a] = leaf.kk[t, a] - c * c * inverse
    for a in range(k + 1, q):
        f = leaf.C[t, k, a] * inverse
        for b in range(uint64(a + 1), uint64(q)):
            leaf.C[u, a, b] = leaf.C[t, a, b] - f * leaf.C[t, k, b]


@part
def _open_leaf(nodes, slot, leaf, q):
    """The node as depth 0."""
    for a in range(q):
        leaf.x[0, a], leaf.y[0, a], leaf.kk[0, a] = nodes.x[slot, a], nodes.y[slot, a], 1.0
        for b in range(a + 1, q):
            leaf.C[0, a, b] = nodes.C[slot, a, b]
    leaf.xx[0], leaf.yy[0], leaf.xy[0] = 1.0, 1.0, nodes.rho[slot]


@part
def _write_set(nodes, slot, leaf, level):
    """The positions of the taken members and of those chosen, ascending."""
    n = nodes.taken[slot]
    for q in range(level):
        v, u = nodes.members[slot, q] if q < n else nodes.position[slot, leaf.chosen[q - n]], q
        while u > 0 and leaf.set[u - 1] > v:
            leaf.set[u] = leaf.set[u - 1]
            u -= 1
        leaf.set[u] = v


@part
def _canonical(side, nodes, slot, leaf, f, state):
    """The canonical partial correlation given the set that leaf.chosen completes."""
    state[DOUBTFUL] += 1
    level, start = side.level, side.offsets[f.nodes[side.level]]
    _write_set(nodes, slot, leaf, level)
    for u in range(level):
        f.nodes[u] = side.neighbours[start + leaf.set[u]]
    return given_several(side.C, f.nodes, level, f.elimination, 0)


@part
def _examine(side, nodes, slot, leaf, t, first, f, state):
    """Look at the last members one by one until a test separates the pair."""
    cutoff, q = side.cutoff, nodes.q[slot]
    for k in range(first, q):
        kk, xk, yk = leaf.kk[t, k], leaf.x[t, k], leaf.y[t, k]
        num = leaf.xy[t] * kk - xk * yk
        r2 = num * num / ((leaf.xx[t] * kk - xk * xk) * (leaf.yy[t] * kk - yk * yk))
        if r2 < f.smallest[0]:
            f.smallest[0] = r2
        if f.minimum[0] != 0:
            f.bound[0] = r2 if cutoff.high < r2 < f.bound[0] else f.bound[0]
        elif r2 <= cutoff.high:
            leaf.chosen[t] = k
            if r2 < cutoff.low or abs(_canonical(side, nodes, slot, leaf, f, state)) <= cutoff.value:
                return SEPARATED
    return NONE


@part
def _enumerate(side, nodes, slot, leaf, f, state):
    """Try all sets of the family in lexicographic order, until one separates the pair."""
    q, m, t, found = nodes.q[slot], nodes.m[slot], 0, NONE
    _open_leaf(nodes, slot, leaf, q)
    f.spent[0] += FAMILY_TIME
    leaf.following[0] = 0
    while t >= 0 and found == NONE:
        k = leaf.following[t]
        if t == m - 1:
            f.counts[TESTS] += q - k
            f.spent[0] += TEST_TIME * (q - k)
            if _last_members(leaf, t, k, q, f.bound[0]):
                found = _examine(side, nodes, slot, leaf, t, k, f, state)
            t -= 1
        elif k > q - m + t:
            t -= 1
        else:
            leaf.following[t] = k + 1
            leaf.chosen[t] = k
            _give(leaf, t, k, q)
            t += 1
            leaf.following[t] = k + 1
    return found


@part
def _copy_without(nodes, slot, to, f, n, left_out, given):
    """Write the child of a node to slot `to`: the n candidates in f.keep without one, given that one or not."""
    size, inverse, position = 0, 1.0, nodes.position[slot, left_out]
    xs, ys = nodes.x[slot, left_out], nodes.y[slot, left_out]
    if given:
        inverse = 1.0 / math.sqrt((1.0 - xs * xs) * (1.0 - ys * ys))
    for u in range(n):
        k = f.keep[u]
        if k != left_out:
            f.source[size] = k
            r = nodes.C[slot, left_out, k] if given else 0.0
            f.row[size] = r
            f.scale[size] = 1.0 / math.sqrt(1.0 - r * r)
            size += 1
    x_scale, y_scale = (1.0 / math.sqrt(1.0 - xs * xs), 1.0 / math.sqrt(1.0 - ys * ys)) if given else (1.0, 1.0)
    xs, ys = (xs, ys) if given else (0.0, 0.0)
    rho = (nodes.rho[slot] - xs * ys) * inverse
    # `to` may be `slot`: nothing is read from where something was written before
    for u in range(size):
        k = f.source[u]
        ru, su = f.row[u], f.scale[u]
        for v in range(size):
            nodes.C[to, u, v] = (nodes.C[slot, k, f.source[v]] - ru * f.row[v]) * su * f.scale[v]
        nodes.C[to, u, u] = 1.0
        nodes.x[to, u] = (nodes.x[slot, k] - xs * ru) * su * x_scale
        nodes.y[to, u] = (nodes.y[slot, k] - ys * ru) * su * y_scale
        delta = nodes.delta[slot, k] * su * su
        nodes.delta[to, u] = delta if delta < 0.999999 else 0.999999
        nodes.weight[to, u] = nodes.weight[slot, k]
        nodes.position[to, u] = nodes.position[slot, k]
    n_taken = nodes.taken[slot]
    for q in range(n_taken):
        nodes.members[to, q] = nodes.members[slot, q]
    if given:
        nodes.members[to, n_taken] = position
        n_taken += 1
    nodes.taken[to] = n_taken
    nodes.rho[to], nodes.q[to], nodes.m[to] = rho, size, nodes.m[slot] - (1 if given else 0)
    total = 0.0
    for u in range(size):
        total += nodes.weight[to, u]
    m = nodes.m[to]
    for u in range(size):
        nodes.weight[to, u] = 0.7 * nodes.weight[to, u] * m / total + 0.3 * m / size


@part
def _fix(nodes, slot, f, q, m, over):
    """Keep the candidates that some set not dismissed may have; returns their number, and one that all have, or -1.

    If a set contains k, which is not among the m largest scores, its bound is at most `over` with k in place of the
    smallest of those; if it lacks one of the m largest, with the next one in place of that.
    """
    n, forced, least = 0, -1, -f.margin[0]
    if over == math.inf:
        for k in range(q):
            f.keep[k] = k
            f.best[k] = abs(nodes.x[slot, k] * nodes.y[slot, k])
        return q, forced
    largest_sum(f.best, q, m, f.top)
    last, following = f.top[m - 1], f.top[m]
    for k in range(q):
        s = f.best[k]
        if s >= last or over - last + s >= least:
            f.keep[n] = k
            n += 1
        if forced < 0 and s >= last and over - s + following < least:
            forced = k
    return n, forced


@part
def _divide(nodes, slot, f, n, forced):
    """Replace a node by its children, the one to visit first on top; returns the slot of that one."""
    m, branch = nodes.m[slot], forced
    if forced < 0:
        branch = f.keep[0]
        for u in range(1, n):
            if f.best[f.keep[u]] > f.best[branch]:
                branch = f.keep[u]
    both = forced < 0 and n > m
    _copy_without(nodes, slot, slot + 1 if both else slot, f, n, branch, True)
    if both:
        _copy_without(nodes, slot, slot, f, n, branch, False)
        return slot + 1
    return slot


@part
def search(side, nodes, leaf, f, allowance, state):
    """Is there a set in the family of slot 0 that separates the pair? If so it is written to leaf.set.

    `allowance` is the limit of f.spent.
    """
    slot, found = 0, NONE
    while slot >= 0 and found == NONE and state[STOP] == 0:
        q, m = nodes.q[slot], nodes.m[slot]
        if q < m:
            slot -= 1
        elif m <= 1 or q == m or _few_sets(q, m, f.sets_per_pair[0]):
            found = _enumerate(side, nodes, slot, leaf, f, state)
            if found == SEPARATED:
                _write_set(nodes, slot, leaf, side.level)
            slot -= 1
        else:
            over = excess(nodes, slot, f, q, m, nodes.rho[slot], math.sqrt(f.bound[0]))
            if over < -f.margin[0]:
                slot -= 1
            elif f.spent[0] > allowance:
                found = UNDECIDED
            else:
                n, forced = _fix(nodes, slot, f, q, m, over)
                slot = _divide(nodes, slot, f, n, forced) if n >= m else slot - 1
    return found
