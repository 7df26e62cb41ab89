"""Gaussian tests of single pairs given subsets of their candidates, one after the other, in one compiled walk."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from pycupc.engines.cpu import threads
from pycupc.engines.cpu.combinations import put_in_order
from pycupc.engines.cpu.conditional_covariances import ConditionalCovariances, Sizes, choose, give, space_for_sets
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.row_items import RowWork, count_tests, take_item
from pycupc.engines.cpu.submatrices import by_width
from pycupc.engines.cpu.threads import AGAIN, CAREFUL, STOP, WANTED
from pycupc.engines.cpu.tuning import INLINE_TESTS
from pycupc.engines.cpu.walk_arrays import Part, work_space
from pycupc.engines.protocol import Answers, Floats, Lists, Mask, Questions
from pycupc.engines.subsets import about
from pycupc.graph.lists import starts
from pycupc.graph.tiers import NearLists
from pycupc.independence.gaussian.fisher_z import z_to_p
from pycupc.independence.gaussian.partial_correlation import canonical_space, given_set
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.independence.gaussian.tolerances import PIVOT_FLOOR, R_MAX
from pycupc.system.jit import compiled, frozen, jit_fma, jit_inlined, jit_part
from pycupc.system.numba_names import uint64

#: Up to this number of candidates, all sets with four members or more are tested in one descent instead of one descent
#: per size; tests given sets larger than a separating set are then made in vain. Measured.
ONE_DESCENT = 16


class Asked(NamedTuple):
    """Pairs x, y, (m,), and the sizes of their sets, first to last.

    The candidates of pair i begin at offsets[i], int64 (m + 1,). `skipped` says which are in its list of `skip`; it is
    empty if there are no such lists. `room`, which is lowered, is the number of tests that a pair may still have.
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
    """The outcomes of m pairs with c candidates in all."""

    # (m,): number of separating sets found; if only the first is wanted, each was the first when it was found.
    found: Annotated[Indices, "m"]
    containing: Annotated[Indices, "c"]  # number of the pair's separating sets that contain a candidate
    n_tests: Annotated[Indices, "m k"]  # tests by the size of the set
    r: Annotated[Floats, "m"]  # the canonical r of the first separating set, if only this is wanted
    z: Annotated[Floats, "m"]  # smallest |z| of the other tests; inf if there are none, or if it is not wanted
    open: Annotated[Mask, "m"]  # there is a set for which no room was left


class SubsetWork(NamedTuple):
    """Work space of a walk, beside `Sets`."""

    sound: Annotated[Mask, "t"]  # by depth: every pivot was above the floor
    skipped: Annotated[Mask, "t"]  # all members are in the list of `skip`
    separating: Annotated[Indices, "t"]  # number of separating sets among the sets of the depth and below
    bound: Annotated[Floats, "t"]  # by size: tests with an r^2 above it need no look
    nodes: Annotated[Indices, "t+1"]  # for the canonical formula
    elimination: Annotated[Floats, "given"]


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
    m, sizes, d = len(asked.x), questions.sizes(), questions.candidates.sizes
    last = reach = np.minimum(asked.last, d)
    r, z = np.full(m, math.nan), np.full(m, math.inf)
    made = work_space(Made, m=m, c=len(asked.candidates), k=sizes.stop, r=r, z=z)
    limits = Sizes.of(test, range(sizes.stop))
    pairs, tests = np.flatnonzero(asked.first <= last), m * sum(about(int(d.max(initial=0)), k) for k in sizes)
    if tests >= INLINE_TESTS:  # an upper bound: there may be work for several threads
        load, reach = _loads(asked.first, last, d)
        pairs, tests = pairs[np.argsort(-load[pairs], kind="stable")], load.sum()
    largest_p = only_first and questions.largest_p
    work = _PairWalk(test, asked, pairs, limits, made, (reach, last), only_first=only_first, largest_p=largest_p)
    threads.run(work, n_threads, int(tests), progress)
    return made


def walk_entries(test: GaussianTest, lists: NearLists, entries: Indices, level: int) -> Answers:
    """See `Engine.first_separating_entries`."""
    m, number, edge, tiers = len(entries), lists.number[entries], lists.edge[entries], lists.tiers
    x, y = (ends[entries].astype(np.int64) for ends in (lists.owner, lists.neighbour))
    offsets, size, skipped = starts(number), np.full(m, level), np.zeros(0, dtype=np.bool_)
    asked = Asked(x, y, offsets, np.empty(offsets[-1], np.int64), skipped, size, size, np.full(m, 2**62))
    _list(asked, tiers.limit(x, y), lists.start, lists.neighbour, tiers.first)
    r, z, separated = np.full(m, math.nan), np.full(m, math.inf), np.zeros(len(lists.edge), dtype=np.bool_)
    made = work_space(Made, m=m, c=len(asked.candidates), k=level + 1, r=r, z=z)
    limits, state = Sizes.of(test, range(level + 1)), threads.new_state()[0]
    for side in (x < y, x > y):
        pairs = np.flatnonzero(side & ~separated[edge])
        _PairWalk(test, asked, pairs, limits, made, (size, size), only_first=True, largest_p=True)(state)
        separated[edge[made.found > 0]] = True
    found, p = made.found > 0, np.full(m, -math.inf)
    left = ~found & (z < math.inf)
    p[left] = z_to_p(z[left])
    S = Lists(starts(found * level), asked.candidates[made.containing > 0].astype(np.int32))
    return Answers(found, S, r, p, made.n_tests, made.open)


class _PairWalk(RowWork):
    """The walk over the sets of pairs, each of which is an item; those with most candidates come first."""

    def __init__(
        self, test: GaussianTest, asked: Asked, pairs: Indices, limits: Sizes, made: Made,
        most: tuple[Indices, Indices], *, only_first: bool, largest_p: bool,
    ) -> None:  # fmt: skip
        """`most`: of each pair the largest size that is reached, and the largest one of all."""
        widths = np.diff(asked.offsets)[pairs]
        none, C = np.zeros(0, np.int32), frozen(test.data.C)
        super().__init__([
            Part(C, none, pairs[some], np.zeros(1, dtype=np.int64), int(widths[some].max()))
            for some in by_width(widths)
        ])  # fmt: skip
        self._deepest, self._largest = (int(sizes[pairs].max(initial=0)) for sizes in most)
        self._asked, self._limits, self._made = asked, limits, made
        self._only_first, self._largest_p = only_first, largest_p

    def _make_space(self, d: int) -> tuple[ConditionalCovariances, SubsetWork]:
        size = min(self._largest, d)
        work = work_space(SubsetWork, t=size + 1, elimination=canonical_space(size))
        return space_for_sets(min(self._deepest, d), d), work

    def _walk(self, part: Part, space: tuple[ConditionalCovariances, SubsetWork], state: threads.State) -> None:
        given, how = (self._limits, self._made), (self._only_first, self._largest_p)
        walk_pairs(part.C, self._asked, part.items, part.following, *given, *space, *how, state)


def _loads(first: Indices, last: Indices, d: Indices) -> tuple[Floats, Indices]:
    """Of each pair about how many tests it may have, and the largest size that they reach."""
    endless = 2.0**50  # this number of tests takes weeks
    load, sets, reach = (first == 0) * 1.0, np.ones(len(d)), np.zeros(len(d), dtype=np.int64)
    for size in range(1, int(last.max(initial=0)) + 1):
        reach += (load < endless) & (size <= last)
        sets *= (d - size + 1) / size
        load += sets * ((first <= size) & (size <= last))
    return np.minimum(load, endless), reach


@compiled
def _list(asked, limit, start, neighbours, tier):
    """List the candidates of each pair: the neighbours of x, which begin at start[x], in tiers up to `limit`."""
    for i in range(len(asked.x)):
        c = asked.offsets[i]
        for e in range(start[asked.x[i]], start[asked.x[i] + 1]):
            v = neighbours[e]
            if v != asked.y[i] and tier[v] <= limit[i]:
                asked.candidates[c] = v
                c += 1


@jit_inlined
def _start(C, asked, i, sets, work, q):
    """Fill depth 0 with pair i, which has q candidates."""
    x, y, begin = asked.x[i], asked.y[i], asked.offsets[i]
    sets.xx[0], sets.yy[0], sets.xy[0] = 1.0, 1.0, C[x, y]
    work.sound[0], work.skipped[0] = True, len(asked.skipped) > 0
    for c in range(q):
        v = asked.candidates[begin + c]
        sets.x[0, c], sets.y[0, c], sets.kk[0, c] = C[v, x], C[v, y], 1.0


@jit_inlined
def _gather(C, candidates, begin, sets, q):
    """Fill depth 0 with the covariances of the candidates."""
    for a in range(q):
        v = candidates[begin + a]
        for b in range(a + 1, q):
            sets.C[0, a, b] = C[v, candidates[begin + b]]


@jit_fma
def _to_look_at(sets, t, first, q, bound):
    """How many last members from `first` on have a test that is not certainly dependent with r^2 above the bound."""
    xx, yy, xy, n = sets.xx[t], sets.yy[t], sets.xy[t], 0
    for c in range(uint64(first), uint64(q)):
        kk, x, y = sets.kk[t, c], sets.x[t, c], sets.y[t, c]
        vx, vy, cov, least = xx * kk - x * x, yy * kk - y * y, xy * kk - x * y, PIVOT_FLOOR * kk
        both, square = vx * vy, cov * cov
        certain = (square > bound * both) & (both - square > PIVOT_FLOOR * both) & (vx > least) & (vy > least)
        n += not (certain & (kk > PIVOT_FLOOR))
    return n


@jit_part
def _canonical(C, nodes, size, space, state):
    """The canonical r of nodes as of `given_set`; NaN if it needs code that is not loaded."""
    r = given_set(C, nodes, size, space, state[CAREFUL])
    state[WANTED] = r != r
    return r


@jit_inlined
def _test(C, asked, i, sizes, made, sets, work, t, c, only_first, state):  # noqa: PLR0913 - compiled code
    """Make the test given the t members chosen and, unless it is -1, candidate c; returns whether the walk goes on."""
    begin, size, kk, x, y = asked.offsets[i], t, 1.0, 0.0, 0.0
    if c >= 0:
        size, kk, x, y = t + 1, sets.kk[t, c], sets.x[t, c], sets.y[t, c]
        sets.chosen[t] = c
    if asked.room[i] == 0:
        made.open[i] = True
        return False
    asked.room[i] -= 1
    made.n_tests[i, size] += 1
    vx, vy, cov, least = sets.xx[t] * kk - x * x, sets.yy[t] * kk - y * y, sets.xy[t] * kk - x * y, PIVOT_FLOOR * kk
    both, r, square = vx * vy, math.nan, cov * cov
    sound = work.sound[t] and kk > PIVOT_FLOOR and vx > least and vy > least and both - square > PIVOT_FLOOR * both
    square /= both
    certain = sound and not sizes.low[size] <= square <= sizes.high[size]
    separated = square < sizes.low[size]
    if not certain or (separated and only_first):
        for s in range(size):
            put_in_order(work.nodes, s, asked.candidates[begin + sets.chosen[s]])
        work.nodes[size], work.nodes[size + 1] = asked.x[i], asked.y[i]
        r = _canonical(C, work.nodes, size, work.elimination, state)
        if not certain:
            separated, square = abs(r) <= sizes.value[size], r * r
    if not separated:
        work.bound[size] = min(work.bound[size], square)
        return state[WANTED] == 0
    made.found[i] += 1
    work.separating[t] += 1
    if c >= 0:
        made.containing[begin + c] += 1
    made.r[i] = r
    return not only_first


@jit_inlined
def _test_last(C, asked, i, sizes, made, sets, work, t, first, q, only_first, state):  # noqa: PLR0913 - compiled code
    """Make the tests with the last members from `first` on; returns whether the walk goes on."""
    begin, n, bound = asked.offsets[i], q - first, max(work.bound[t + 1], sizes.high[t + 1])
    if work.skipped[t]:
        for c in range(first, q):
            n -= asked.skipped[begin + c]
    fast = asked.room[i] >= n and work.sound[t]
    if fast and bound < math.inf and _to_look_at(sets, t, first, q, bound) == 0:
        asked.room[i] -= n
        made.n_tests[i, t + 1] += n
        return state[STOP] == 0
    fast &= only_first  # where all sets are asked for, most separate
    for c in range(first, q):
        if work.skipped[t] and asked.skipped[begin + c]:
            continue
        if fast and _to_look_at(sets, t, c, c + 1, max(work.bound[t + 1], sizes.high[t + 1])) == 0:
            asked.room[i] -= 1
            made.n_tests[i, t + 1] += 1
        elif not _test(C, asked, i, sizes, made, sets, work, t, c, only_first, state):
            return False
    return state[STOP] == 0


@jit_inlined
def _visit(C, asked, i, sizes, made, sets, work, low, high, q, only_first, state):  # noqa: PLR0913 - compiled code
    """Make the tests of sets with low to high members, depth first; returns whether there may be more.

    If only the first separating set is wanted, one that is found leaves the smaller sets to be tested.
    """
    begin, t, go, new, most = asked.offsets[i], 0, True, True, high
    sets.following[0] = work.separating[0] = 0
    while t >= 0:
        if new and t + 1 >= low:
            found = made.found[i]
            go = _test_last(C, asked, i, sizes, made, sets, work, t, sets.following[t], q, only_first, state)
            if only_first and made.found[i] > found:
                for c in range(q):
                    made.containing[begin + c] = 0
                for s in range(t + 1):
                    made.containing[begin + sets.chosen[s]], work.separating[s] = 1, 0
                for size in range(t + 2, most + 1):
                    made.n_tests[i, size] = 0
                high, go = t, t >= low
        new = go and choose(sets, t, low, high, q)
        if new:
            k = sets.chosen[t]
            work.sound[t + 1] = work.sound[t] and sets.kk[t, k] > PIVOT_FLOOR
            work.skipped[t + 1] = work.skipped[t] and asked.skipped[begin + k]
            give(sets, t, high, q)
            t += 1
            work.separating[t] = 0
        else:
            t -= 1
            if t >= 0:
                made.containing[begin + sets.chosen[t]] += work.separating[t + 1]
                work.separating[t] += work.separating[t + 1]
    return go


@compiled
def walk_pairs(C, asked, pairs, following, sizes, made, sets, work, only_first, largest_p, state):  # noqa: PLR0913
    """Write the outcomes of one pair after the other, until none is left, or it is stopped or WANTED."""
    while state[STOP] == 0:
        n = take_item(following, state)
        if n >= len(pairs):
            break
        i = pairs[n]
        q = asked.offsets[i + 1] - asked.offsets[i]
        last = min(asked.last[i], q)
        made.found[i] = 0
        for c in range(q):
            made.containing[asked.offsets[i] + c] = 0
        for size in range(asked.first[i], last + 1):
            asked.room[i] += made.n_tests[i, size]  # of a walk that was broken off
            made.n_tests[i, size] = 0
            work.bound[size] = math.inf if largest_p else sizes.high[size]
        _start(C, asked, i, sets, work, q)
        low, go = max(asked.first[i], 1), True
        if asked.first[i] == 0 and not work.skipped[0]:
            go = _test(C, asked, i, sizes, made, sets, work, 0, -1, only_first, state)
        gathered = False
        while go and low <= last:
            high = last
            if only_first and (low < 4 or q > ONE_DESCENT or asked.room[i] < 1 << ONE_DESCENT):
                high = low
            if high > 1 and not gathered:
                _gather(C, asked.candidates, asked.offsets[i], sets, q)
                gathered = True
            go = _visit(C, asked, i, sizes, made, sets, work, low, high, q, only_first, state)
            low = high + 1
        if state[WANTED] or state[STOP]:
            state[AGAIN] = n + 1
            break
        for size in range(asked.first[i], last + 1):
            if largest_p and work.bound[size] < math.inf:
                z = sizes.root[size] * math.atanh(min(math.sqrt(work.bound[size]), R_MAX))
                made.z[i] = min(made.z[i], z)
        count_tests(state, 1.0)
