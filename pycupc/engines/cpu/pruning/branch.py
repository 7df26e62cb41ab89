"""The outcome of a node: no set of it separates the pair, one does, or there are one or two smaller nodes.

A bound dismisses the whole node (`bound.excess`), or shows that some candidates are in none or in all of the sets that
may separate the pair. A node with many sets left is divided in two; the sets of a small node are tested.
"""

from __future__ import annotations

import math

from pycupc.engines.cpu.combinations import put_in_order
from pycupc.engines.cpu.conditional_covariances import choose, give
from pycupc.engines.cpu.pruning.bound import ANY, excess, largest_sum
from pycupc.engines.cpu.pruning.bounded_walk_arrays import TESTS
from pycupc.engines.cpu.pruning.node import child
from pycupc.engines.cpu.threads import DOUBTFUL
from pycupc.engines.cpu.tuning import LEAST_SCORE, LEAST_SHARE, NODE_TIME, TEST_TIME
from pycupc.independence.gaussian.partial_correlation import given_several
from pycupc.system.jit import jit_fma, jit_part
from pycupc.system.numba_names import uint64

#: Outcomes: no set of the node separates the pair; one does; there is one smaller node, or there are two.
NONE, SEPARATED, DIVIDED, DIVIDED_IN_TWO = 0, 1, 2, 3


@jit_part
def _few_sets(q, m, sets_per_pair):
    """Whether the sets of a node are to be tested. Sets of more than half of the candidates take the longest ways."""
    sets, limit = 1.0, sets_per_pair * q * q
    size = m
    if 2 * m > q:
        size, sets = q - m, (q + 1.0) / (q - m + 1.0)
    for t in range(size):
        sets *= (q - t) / (t + 1.0)
        if sets > limit:
            return False
    return True


@jit_fma
def last_members(sets, t, first, q, bound):
    """How many last members k >= first are not certainly above the bound."""
    count = 0
    xx, yy, xy = sets.xx[t], sets.yy[t], sets.xy[t]
    for k in range(uint64(first), uint64(q)):
        kk, xk, yk = sets.kk[t, k], sets.x[t, k], sets.y[t, k]
        num = xy * kk - xk * yk
        count += not num * num > bound * (xx * kk - xk * xk) * (yy * kk - yk * yk)
    return count


@jit_part
def start(nodes, slot, sets, q):
    """The node as depth 0."""
    for a in range(q):
        sets.x[0, a], sets.y[0, a], sets.kk[0, a] = nodes.x[slot, a], nodes.y[slot, a], 1.0
        for b in range(a + 1, q):
            sets.C[0, a, b] = nodes.C[slot, a, b]
    sets.xx[0], sets.yy[0], sets.xy[0], sets.following[0] = 1.0, 1.0, nodes.rho[slot], 0


@jit_part
def _write_found(nodes, slot, sets, w, level):
    """The positions of the taken members and of those chosen, ascending."""
    n = nodes.taken[slot]
    for q in range(level):
        put_in_order(w.found, q, nodes.members[slot, q] if q < n else nodes.position[slot, sets.chosen[q - n]])


@jit_part
def _canonical(side, nodes, slot, sets, w, state):
    """The canonical partial correlation given the set that sets.chosen completes."""
    state[DOUBTFUL] += 1
    level, at = side.level, w.list[0]
    _write_found(nodes, slot, sets, w, level)
    for u in range(level):
        put_in_order(w.variables, u, side.neighbours[at + w.found[u]])
    return given_several(side.C, w.variables, level, w.elimination, 0)


@jit_part
def counts(nodes, slot, chosen, n, w):
    """Whether the members taken and the first n of the candidates in `chosen` include one that a set must have."""
    for t in range(nodes.taken[slot]):
        if w.asked[nodes.members[slot, t]]:
            return True
    for t in range(n):  # noqa: SIM110 - compiled code has no generators
        if w.asked[nodes.position[slot, chosen[t]]]:
            return True
    return False


@jit_part
def _look(side, nodes, slot, sets, t, first, w, state):
    """Look at the last members one by one until a test separates the pair."""
    cutoff, q = side.cutoff, nodes.q[slot]
    for k in range(first, q):
        kk, xk, yk = sets.kk[t, k], sets.x[t, k], sets.y[t, k]
        num = sets.xy[t] * kk - xk * yk
        r2 = num * num / ((sets.xx[t] * kk - xk * xk) * (sets.yy[t] * kk - yk * yk))
        sets.chosen[t] = k
        if (r2 >= w.smallest[0] and r2 > cutoff.high) or not counts(nodes, slot, sets.chosen, t + 1, w):
            continue
        if r2 < w.smallest[0]:
            w.smallest[0] = r2
        if w.minimum[0]:
            w.bound[0] = r2 if cutoff.high < r2 < w.bound[0] else w.bound[0]
        elif r2 < cutoff.low or (
            r2 <= cutoff.high and abs(_canonical(side, nodes, slot, sets, w, state)) <= cutoff.value
        ):
            return SEPARATED
    return NONE


@jit_part
def _test_all(side, nodes, slot, sets, w, state):
    """Test all sets of a node in lexicographic order until one separates the pair, which is left in w.found."""
    q, m, t, found = nodes.q[slot], nodes.m[slot], 0, NONE
    start(nodes, slot, sets, q)
    w.spent[0] += NODE_TIME
    while t >= 0 and found == NONE:
        if choose(sets, t, m, m, q):
            give(sets, t, m, q)
            t += 1
            continue
        if t == m - 1:
            k = sets.following[t]
            w.counts[TESTS] += q - k
            w.spent[0] += TEST_TIME * (q - k)
            if last_members(sets, t, k, q, w.bound[0]):
                found = _look(side, nodes, slot, sets, t, k, w, state)
        t -= 1
    if found == SEPARATED:
        _write_found(nodes, slot, sets, w, side.level)
    return found


@jit_part
def divide(nodes, slot, w, q, m, over, floor):
    """Replace a node that is not dismissed by smaller nodes, in slot `slot` and in the next, which is examined first.

    A set with candidate k, which is not among the m largest scores, has a bound of at most `over` with the score of k
    in place of the smallest of the m scores; a set without a candidate among the m, with the next score in its place.
    This may show that no set that separates the pair has k, or that all such sets have k. Otherwise the least decided
    candidate divides the node: its score is large, and the relaxation weighs it neither by 0 nor by 1.
    """
    if over == math.inf:
        for k in range(q):
            w.best[k] = abs(nodes.x[slot, k] * nodes.y[slot, k])
    largest_sum(w.best, q, m, w.top, floor)
    n, forced, best, least = 0, -1, 0, -w.margin[0]
    last, following = max(w.top[m - 1], floor), max(w.top[m], floor)
    most = 0.0
    for k in range(q):
        s = w.best[k]
        if s >= last or over - last + s >= least:
            w.keep[n] = k
            n += 1
            weight = nodes.weight[slot, k]
            undecided = s if over == math.inf else (abs(s) + LEAST_SCORE) * (weight * (1.0 - weight) + LEAST_SHARE)
            if undecided > most or n == 1:
                best, most = k, undecided
        if forced < 0 and s >= last and over - s + following < least:
            forced = k
    exact = floor == ANY
    if exact and n < m:
        return NONE
    if n == 0:
        child(nodes, slot, slot, w, 0, -1, False)
        return DIVIDED
    if forced >= 0 or (exact and n == m):
        child(nodes, slot, slot, w, n, forced if forced >= 0 else best, True)
        return DIVIDED
    child(nodes, slot, slot + 1, w, n, best, True)
    child(nodes, slot, slot, w, n - 1, -1, False)
    return DIVIDED_IN_TWO


@jit_part
def examine(side, nodes, slot, sets, w, state):
    """The outcome of a node: NONE, SEPARATED with the set in w.found, or as `divide`."""
    q, m = nodes.q[slot], nodes.m[slot]
    for k in range(q):
        w.keep[k] = k
    if q < m or not counts(nodes, slot, w.keep, q, w):
        return NONE
    if m <= 1 or q == m or _few_sets(q, m, w.sets_per_pair[0]):
        return _test_all(side, nodes, slot, sets, w, state)
    over = excess(nodes, slot, w, q, m, math.sqrt(w.bound[0]), 0.0, ANY)
    return NONE if over < -w.margin[0] else divide(nodes, slot, w, q, m, over, ANY)
