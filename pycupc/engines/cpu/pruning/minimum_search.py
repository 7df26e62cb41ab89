"""The smallest |z| of the tests of a pair: nodes with sets of all sizes, which one bound dismisses together.

A node holds the sets that consist of the members taken and of any of its q candidates, up to m of them. Sets with fewer
members than the smallest size, or without a candidate that a set must have, do not count. Source:
docs/contracts/pruning.md, section 7.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pycupc.engines.cpu.conditional_covariances import choose, give
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.bound import excess
from pycupc.engines.cpu.pruning.bounded_walk_arrays import TESTS
from pycupc.engines.cpu.pruning.branch import DIVIDED_IN_TWO, NONE, counts, divide, last_members, start
from pycupc.engines.cpu.pruning.node import ROOT, child, root
from pycupc.engines.cpu.threads import STOP
from pycupc.engines.cpu.tuning import NODE_TIME, PER_SQUARE, SUBSETS_OF, TEST_TIME
from pycupc.engines.protocol import Floats
from pycupc.system.jit import compiled, jit_part

#: By which the |z| of a set that was met by sweeps is raised, so that rounding does not hide the set from the search.
ROUNDED_UP = 1e-9


class Descent(NamedTuple):
    """Work space of the search for a small |z|, of d candidates and k sizes."""

    A: Floats  # (d + 2, d + 2) covariances of the candidates, y and x, swept by the present set; at first correlations
    inside: Indices  # (d,) 1 for the members of the set
    limits: Floats  # (k,) see `_limits`


@jit_part
def _limits(sizes, z, limits):
    """For each size the r^2 below which a test has a smaller |z|; not below the doubtful band, as all are dependent."""
    for k in range(len(sizes.level)):
        r = 1.0 if z[0] > 0.0 else 0.0
        if sizes.root[k] > 0.0:
            r = math.tanh(z[0] / sizes.root[k])
        limits[k] = r * r if r * r > sizes.high[k] else sizes.high[k]


@jit_part
def _line(limits, at, m):
    """c >= 0 and rise such that the limits of |r| of size number at + n are at most c + rise n, for n up to m."""
    first = 0 if at < 0 else at
    low, high = math.sqrt(limits[first]), math.sqrt(limits[at + m])
    rise, above = (high - low) / (at + m - first) if at + m > first else 0.0, 0.0
    for k in range(first + 1, at + m):
        over = math.sqrt(limits[k]) - low - rise * (k - first)
        above = over if over > above else above
    least = low + above - rise * (first - at)
    return least if least > 0.0 else 0.0, rise


@jit_part
def _meet(sizes, k, r2, z, limits):
    """Lower z[0] to the |z| of a test of size number k."""
    if r2 < limits[k] and r2 < 1.0:
        met = sizes.root[k] * math.atanh(math.sqrt(r2))
        if met < z[0]:
            z[0] = met
            _limits(sizes, z, limits)


@jit_part
def _test_last(nodes, slot, t, first, sizes, z, limits, sets, w):  # noqa: PLR0913 - compiled code
    """Test the sets of t members given and one more, `first` or a candidate after it."""
    q, k = nodes.q[slot], nodes.taken[slot] + t + 1 - sizes.level[0]
    if k < 0 or first >= q:
        return
    w.counts[TESTS] += q - first
    w.spent[0] += TEST_TIME * (q - first)
    if last_members(sets, t, first, q, limits[k]):
        for c in range(first, q):
            kk, xk, yk = sets.kk[t, c], sets.x[t, c], sets.y[t, c]
            num, sets.chosen[t] = sets.xy[t] * kk - xk * yk, c
            if counts(nodes, slot, sets.chosen, t + 1, w):
                r2 = num * num / ((sets.xx[t] * kk - xk * xk) * (sets.yy[t] * kk - yk * yk))
                _meet(sizes, k, r2, z, limits)


@jit_part
def _test_subsets(nodes, slot, m, sizes, z, limits, sets, w):
    """Test all sets of a node."""
    q, t, alone = nodes.q[slot], 0, nodes.taken[slot] - sizes.level[0]
    start(nodes, slot, sets, q)
    w.spent[0] += NODE_TIME
    if alone >= 0 and counts(nodes, slot, sets.chosen, 0, w):
        _meet(sizes, alone, nodes.rho[slot] * nodes.rho[slot], z, limits)
    if m > 0:
        _test_last(nodes, slot, 0, 0, sizes, z, limits, sets, w)
    while t >= 0:
        if choose(sets, t, 1, m, q):
            give(sets, t, m, q)
            t += 1
            _test_last(nodes, slot, t, sets.following[t], sizes, z, limits, sets, w)
        else:
            t -= 1


@jit_part
def _turn(space, k, d):
    """Take candidate k into the set, or out of it: a sweep of the covariances."""
    A = space.A
    pivot = A[k, k]
    for i in range(d + 2):
        if i != k:
            f = A[i, k] / pivot
            for j in range(d + 2):
                if j != k:
                    A[i, j] -= f * A[k, j]
    for i in range(d + 2):
        A[i, k] /= pivot
        A[k, i] = A[i, k]
    A[k, k] = -1.0 / pivot
    space.inside[k] = 1 - space.inside[k]


@jit_part
def _descend(space, d, sizes, z, w):
    """Change the set by one candidate at a time while that lowers |z|; enters |z| of a set that counts, rounded up."""
    A, inside = space.A, space.inside
    size, smallest, present, k = 0, sizes.level[0], math.inf, 0
    for i in range(d):
        size += inside[i]
    while k >= 0:
        k = -1
        w.spent[0] += PER_SQUARE * d * d
        for i in range(d):
            n = size + 1 - 2 * inside[i]
            xx, yy = A[d + 1, d + 1] - A[i, d + 1] ** 2 / A[i, i], A[d, d] - A[i, d] ** 2 / A[i, i]
            xy = A[d, d + 1] - A[i, d] * A[i, d + 1] / A[i, i]
            r2 = xy * xy / (xx * yy)
            if n <= sizes.level[-1] and r2 < 1.0:
                met = sizes.root[n - smallest if n > smallest else 0] * math.atanh(math.sqrt(r2))
                if met < present:
                    present, k = met, i
        if k >= 0:
            size += 1 - 2 * inside[k]
            _turn(space, k, d)
            counting = False
            for i in range(d):
                counting = counting or (inside[i] == 1 and w.asked[i])
            if counting and size >= smallest and present * (1.0 + ROUNDED_UP) < z[0]:
                z[0] = present * (1.0 + ROUNDED_UP)


@jit_part
def _examine(nodes, slot, sizes, z, limits, sets, w):
    """The outcome of a node: NONE if |z| of its sets are met or not below z[0], or as `divide`."""
    q, taken, smallest = nodes.q[slot], nodes.taken[slot], sizes.level[0]
    m = nodes.m[slot] if nodes.m[slot] < q else q
    for k in range(q):
        w.keep[k] = k
    if taken + m < smallest or not counts(nodes, slot, w.keep, q, w):
        return NONE
    if m == 0 or q <= SUBSETS_OF:
        _test_subsets(nodes, slot, m, sizes, z, limits, sets, w)
        return NONE
    least, rise = _line(limits, taken - smallest, m)
    over = excess(nodes, slot, w, q, m, least, rise, 0.0)
    return NONE if over < -w.margin[0] else divide(nodes, slot, w, q, m, over, 0.0)


@compiled
def search_smallest(sizes, z, space, allowance, R, delta, nodes, sets, w, state):  # noqa: PLR0913 - the hot loop
    """Lower z[0] to the smallest |z| of a pair that no set separates; returns whether the search came to its end.

    Arguments as of `search_pair`. Two descents to a set with a small |z|, from none and from all candidates, come
    first.
    """
    d, limits = len(space.inside), space.limits
    w.spent[0] = 0.0
    _descend(space, d, sizes, z, w)
    if d == sizes.level[-1]:
        for k in range(d):
            if space.inside[k] == 0:
                _turn(space, k, d)
        _descend(space, d, sizes, z, w)
    _limits(sizes, z, limits)
    root(R, delta, d + 1, d, sizes.level[-1], nodes)
    for k in range(d):
        w.keep[k] = k
    child(nodes, 0, ROOT, w, d, -1, False)
    slot = ROOT
    while slot >= ROOT and state[STOP] == 0 and w.spent[0] <= allowance:
        outcome = _examine(nodes, slot, sizes, z, limits, sets, w)
        slot += (outcome == DIVIDED_IN_TWO) - (outcome == NONE)
    return slot < ROOT
