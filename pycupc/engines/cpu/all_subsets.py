"""Gaussian tests of single pairs given subsets of their candidates, one after the other, in one compiled walk.

The sets are visited depth first. A set shares the covariances given all its members but the last one with the sets
before and after it, so that a test costs a handful of operations; and so do the covariances given these members.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import uint64

from pycupc.engines.base import Floats, Mask, Questions
from pycupc.engines.cpu import threads
from pycupc.engines.cpu.combinations import put_in_order
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.search import Sizes
from pycupc.engines.cpu.threads import CAREFUL, STOP, WANTED
from pycupc.engines.cpu.tuning import TASK_TESTS
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.limits import PIVOT_FLOOR, R_MAX
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set
from pycupc.system.compiled import announced, compiled, copied_part, frozen, fused_part, part

#: So many tests of a pair take weeks: sets of the sizes after them are out of reach.
ENDLESS = 2.0**50


class Asked(NamedTuple):
    """Pairs x, y, (m,), and the sizes of their sets, first to last.

    The candidates of pair i begin at offsets[i], int64 (m + 1,). `skipped` are those in its list of `skip`, and empty
    if there are no such lists. `room`, which is lowered, is the number of tests that a pair may still have.
    """

    x: Indices
    y: Indices
    offsets: Indices
    candidates: Indices
    skipped: Mask
    first: Indices
    last: Indices
    room: Indices


class Made(NamedTuple):
    """The outcomes of m pairs.

    found : int64 (m,)
        Separating sets: at most 1 if only the first is wanted.
    containing : int64
        For each candidate how many of them contain it.
    n_tests : int64 (m, k)
        Tests by the size of the set.
    r : float64 (m,)
        The canonical r of the first separating set, if only this is wanted.
    z : float64 (m,)
        Smallest |z| of the other tests; inf if there are none, or if it is not wanted.
    open : bool (m,)
        There is a set for which no room was left.
    """

    found: Indices
    containing: Indices
    n_tests: Indices
    r: Floats
    z: Floats
    open: Mask


class Walk(NamedTuple):
    """Work space of a walk. Depth t belongs to the sets that consist of the t members chosen and one more.

    x, y, kk : float64 (t, d)
        Given the members, covariances of each candidate after them with x and with y, and its variance.
    among : float64 (t, d, d)
        From depth 1 on, covariances of each candidate with those after it.
    f : float64 (d,)
        Covariances of the member chosen last with the candidates after it, divided by its standard deviation.
    xx, yy, xy : float64 (t,)
        Variances of x and y, and their covariance.
    sound, skipped : bool (t,)
        Every pivot was above the floor; all members are in the list of `skip`.
    chosen, following, separating : int64 (t,)
        Position of the member; of the next one to choose; separating sets among those of the depth and below.
    bound : float64 (k,)
        By size: tests with an r^2 above it need no look.
    nodes, elimination
        Work space of the canonical formula.
    """

    x: Floats
    y: Floats
    kk: Floats
    among: Floats
    f: Floats
    xx: Floats
    yy: Floats
    xy: Floats
    sound: Mask
    skipped: Mask
    chosen: Indices
    following: Indices
    separating: Indices
    bound: Floats
    nodes: Indices
    elimination: Floats


def _work_space(d: int, size: int, largest: int) -> Walk:
    """For sets of up to `size` of d candidates; `largest`: of the sizes asked for, which may be out of reach."""
    depths = size + 1
    x, y, kk = (np.empty((depths, d)) for _ in range(3))
    among, f, bound = np.empty((max(size - 1, 1), d, d)), np.empty(d), np.empty(largest + 1)
    xx, yy, xy = (np.empty(depths) for _ in range(3))
    sound, skipped = (np.empty(depths, np.bool_) for _ in range(2))
    chosen, following, separating = (np.empty(depths, np.int64) for _ in range(3))
    nodes = np.empty(size + 2, np.int64)
    of_walk = sound, skipped, chosen, following, separating
    return Walk(x, y, kk, among, f, xx, yy, xy, *of_walk, bound, nodes, canonical_space(size))


def walk_sets(
    test: GaussianTest,
    questions: Questions,
    asked: Asked,
    n_threads: int,
    progress: threads.Progress | None = None,
    *,
    only_first: bool,
) -> Made:
    """Test each pair given its sets: by size until one separates it, or all of them.

    Each test is decided by the canonical formula, or certainly as by that.
    """
    m, width, (d, load, reach) = len(asked.x), questions.sizes().stop, _loads(asked)
    made = Made(
        np.zeros(m, np.int64), np.zeros(len(asked.candidates), np.int64), np.zeros((m, width), np.int64),
        np.full(m, math.nan), np.full(m, math.inf), np.zeros(m, np.bool_),
    )  # fmt: skip
    C, sizes = frozen(test.data.C), Sizes.of(test, range(width))
    pairs = np.flatnonzero(load > 0)
    pairs = pairs[np.argsort(-load[pairs], kind="stable")]
    number = np.cumsum(load[pairs]) // TASK_TESTS
    cuts = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(pairs)]
    largest_p = only_first and questions.largest_p

    def task(ends: tuple[int, int]) -> threads.Task:
        def run(state: threads.State) -> int:
            mine, done = pairs[slice(*ends)], 0
            space = _work_space(int(d[mine].max()), int(reach[mine].max()), width)
            while done < len(mine) and not state[STOP]:
                if state[WANTED]:  # for the first time: load it and begin the pair again
                    state[[CAREFUL, WANTED]] = careful_address(), 0
                done += _walk_pairs(C, asked, mine[done:], sizes, made, space, only_first, largest_p, state)
            return len(mine)

        return run

    with announced("compiling for tests of single pairs, once per machine"):
        threads.run(map(task, pairwise(cuts)) if len(pairs) else (), n_threads, int(load.sum()), progress)
    return made


def _loads(asked: Asked) -> tuple[Indices, Floats, Indices]:
    """Of each pair the number of candidates, about how many tests it may have, and the largest size that they reach."""
    d = np.diff(asked.offsets)
    last = np.minimum(asked.last, d)
    load, sets, reach = (asked.first == 0) * 1.0, np.ones(len(d)), np.zeros(len(d), dtype=np.int64)
    for size in range(1, int(last.max(initial=0)) + 1):
        reach[(load < ENDLESS) & (size <= last)] = size
        sets *= (d - size + 1) / size
        load += sets * ((asked.first <= size) & (size <= last))
    return d, np.minimum(load, ENDLESS), reach


@part
def _start(C, asked, i, walk, q):
    """Fill depth 0 with pair i, which has q candidates."""
    x, y, begin = asked.x[i], asked.y[i], asked.offsets[i]
    walk.xx[0], walk.yy[0], walk.xy[0] = 1.0, 1.0, C[x, y]
    walk.sound[0], walk.skipped[0] = True, len(asked.skipped) > 0
    for c in range(q):
        v = asked.candidates[begin + c]
        walk.x[0, c], walk.y[0, c], walk.kk[0, c] = C[v, x], C[v, y], 1.0


@fused_part
def _give(C, asked, begin, walk, t, k, q, among):
    """Fill depth t + 1: as depth t, given candidate k as well; with the covariances `among` the candidates, or not."""
    u, v, inverse = t + 1, asked.candidates[begin + k], 1.0 / math.sqrt(walk.kk[t, k])
    x, y = walk.x[t, k] * inverse, walk.y[t, k] * inverse
    walk.xx[u], walk.yy[u], walk.xy[u] = walk.xx[t] - x * x, walk.yy[t] - y * y, walk.xy[t] - x * y
    for c in range(uint64(k + 1), uint64(q)):
        g = (C[v, asked.candidates[begin + c]] if t == 0 else walk.among[t - 1, k, c]) * inverse
        walk.f[c] = g
        walk.x[u, c] = walk.x[t, c] - x * g
        walk.y[u, c] = walk.y[t, c] - y * g
        walk.kk[u, c] = walk.kk[t, c] - g * g
    for a in range(k + 1, q if among else 0):
        v, g = asked.candidates[begin + a], walk.f[a]
        for c in range(uint64(a + 1), uint64(q)):
            known = C[v, asked.candidates[begin + c]] if t == 0 else walk.among[t - 1, a, c]
            walk.among[t, a, c] = known - g * walk.f[c]


@fused_part
def _to_look_at(walk, t, first, q, bound):
    """How many last members from `first` on have a test that is not certainly dependent with r^2 above the bound."""
    xx, yy, xy, n = walk.xx[t], walk.yy[t], walk.xy[t], 0
    for c in range(uint64(first), uint64(q)):
        kk, x, y = walk.kk[t, c], walk.x[t, c], walk.y[t, c]
        vx, vy, cov, least = xx * kk - x * x, yy * kk - y * y, xy * kk - x * y, PIVOT_FLOOR * kk
        both, square = vx * vy, cov * cov
        certain = (square > bound * both) & (both - square > PIVOT_FLOOR * both) & (vx > least) & (vy > least)
        n += not (certain & (kk > PIVOT_FLOOR))
    return n


@part
def _canonical(C, asked, i, walk, size, state):
    """The canonical r given the first `size` members of `chosen`; NaN if it needs code that is not loaded."""
    begin = asked.offsets[i]
    for s in range(size):
        put_in_order(walk.nodes, s, asked.candidates[begin + walk.chosen[s]])
    walk.nodes[size], walk.nodes[size + 1] = asked.x[i], asked.y[i]
    r = given_set(C, walk.nodes, size, walk.elimination, state[CAREFUL])
    state[WANTED] = r != r
    return r


@part
def _test(C, asked, i, sizes, made, walk, t, c, only_first, state):  # noqa: PLR0913 - compiled code
    """Make the test given the t members chosen and, unless it is -1, candidate c; returns whether the walk goes on."""
    begin, size, kk, x, y = asked.offsets[i], t, 1.0, 0.0, 0.0
    if c >= 0:
        size, kk, x, y = t + 1, walk.kk[t, c], walk.x[t, c], walk.y[t, c]
        walk.chosen[t] = c
        if walk.skipped[t] and asked.skipped[begin + c]:
            return True
    if asked.room[i] == 0:
        made.open[i] = True
        return False
    asked.room[i] -= 1
    made.n_tests[i, size] += 1
    vx, vy, cov, least = walk.xx[t] * kk - x * x, walk.yy[t] * kk - y * y, walk.xy[t] * kk - x * y, PIVOT_FLOOR * kk
    both, r, square = vx * vy, math.nan, cov * cov
    sound = walk.sound[t] and kk > PIVOT_FLOOR and vx > least and vy > least and both - square > PIVOT_FLOOR * both
    square /= both
    if sound and not sizes.low[size] <= square <= sizes.high[size]:
        separated = square < sizes.low[size]
    else:
        r = _canonical(C, asked, i, walk, size, state)
        separated, square = abs(r) <= sizes.value[size], r * r
    if not separated:
        walk.bound[size] = min(walk.bound[size], square)
        return state[WANTED] == 0
    made.found[i] += 1
    walk.separating[t] += 1
    if c >= 0:
        made.containing[begin + c] += 1
    if only_first:
        made.r[i] = r if r == r else _canonical(C, asked, i, walk, size, state)
    return not only_first


@copied_part
def _test_last(C, asked, i, sizes, made, walk, t, first, q, only_first, state):  # noqa: PLR0913 - compiled code
    """Make the tests with the last members from `first` on; returns whether the walk goes on."""
    begin, n, bound = asked.offsets[i], q - first, max(walk.bound[t + 1], sizes.high[t + 1])
    if walk.skipped[t]:
        for c in range(first, q):
            n -= asked.skipped[begin + c]
    if asked.room[i] >= n and walk.sound[t] and _to_look_at(walk, t, first, q, bound) == 0:
        asked.room[i] -= n
        made.n_tests[i, t + 1] += n
        return state[STOP] == 0
    for c in range(first, q):
        if not _test(C, asked, i, sizes, made, walk, t, c, only_first, state):
            return False
    return state[STOP] == 0


@part
def _visit(C, asked, i, sizes, made, walk, low, high, q, only_first, state):  # noqa: PLR0913 - compiled code
    """Make the tests of sets with low to high members, depth first; returns whether there may be more."""
    begin, t, go, new = asked.offsets[i], 0, True, True
    walk.following[0] = walk.separating[0] = 0
    while t >= 0:
        k, missing = walk.following[t], max(low - t - 1, 1)
        if new and t + 1 >= low:
            go = _test_last(C, asked, i, sizes, made, walk, t, k, q, only_first, state)
        new = go and t + 1 < high and k + missing < q
        if new:
            walk.chosen[t], walk.following[t], walk.following[t + 1] = k, k + 1, k + 1
            walk.sound[t + 1] = walk.sound[t] and walk.kk[t, k] > PIVOT_FLOOR
            walk.skipped[t + 1] = walk.skipped[t] and asked.skipped[begin + k]
            _give(C, asked, begin, walk, t, k, q, t + 2 < high)
            t += 1
            walk.separating[t] = 0
        else:
            t -= 1
            if t >= 0:
                made.containing[begin + walk.chosen[t]] += walk.separating[t + 1]
                walk.separating[t] += walk.separating[t + 1]
    return go


@compiled
def _walk_pairs(C, asked, pairs, sizes, made, walk, only_first, largest_p, state):  # noqa: PLR0913 - compiled code
    """Write the outcomes of these pairs; returns how many, fewer than all if it is stopped or WANTED."""
    for n in range(len(pairs)):
        i = pairs[n]
        q = asked.offsets[i + 1] - asked.offsets[i]
        last = min(asked.last[i], q)
        made.found[i] = 0
        for c in range(q):
            made.containing[asked.offsets[i] + c] = 0
        for size in range(asked.first[i], last + 1):
            asked.room[i] += made.n_tests[i, size]  # of a walk that was broken off
            made.n_tests[i, size] = 0
            walk.bound[size] = math.inf if largest_p else sizes.high[size]
        _start(C, asked, i, walk, q)
        low, go = max(asked.first[i], 1), True
        if asked.first[i] == 0 and not walk.skipped[0]:
            go = _test(C, asked, i, sizes, made, walk, 0, -1, only_first, state)
        while go and low <= last:
            high = low if only_first else last
            go = _visit(C, asked, i, sizes, made, walk, low, high, q, only_first, state)
            low = high + 1
        if state[WANTED] or state[STOP]:
            return n
        for size in range(asked.first[i], last + 1):
            if largest_p and walk.bound[size] < math.inf:
                z = sizes.root[size] * math.atanh(min(math.sqrt(walk.bound[size]), R_MAX))
                made.z[i] = min(made.z[i], z)
    return len(pairs)
