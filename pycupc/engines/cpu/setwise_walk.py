"""Tests without bounds, given all sets of one size: threads take pairs, and test them given their sets in order.

A thread has some pairs open at a time. In rounds it lists the next sets of each, lets the family make these tests, and
enters what they find; the first and the last of these three are compiled code, and so is most of the second. A pair
that is decided gives its place to the next one. `turn_walk` does without rounds, where compiled code makes a test from
beginning to end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu.combinations import next_subset
from pycupc.engines.cpu.graph import TESTED, Findings, Graph, Indices
from pycupc.engines.cpu.row_items import count_tests
from pycupc.engines.cpu.threads import STOP, TESTS, State
from pycupc.engines.cpu.tuning import (
    CAUTIOUS,
    COSTLY,
    FIRST_ROUND,
    GROWTH,
    OPEN_PAIRS,
    OPEN_SHARES,
    PART_SETS,
    ROUND_LEAST,
    ROUND_SETS,
    ROUND_WORK,
)
from pycupc.engines.cpu.walk_arrays import work_space
from pycupc.engines.protocol import Floats, Ints, Mask, Questions
from pycupc.engines.subsets import by_degree
from pycupc.independence.base import no_p_value
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.atomics import atomic_add
from pycupc.system.jit import compiled, jit_inlined

#: `Found.done` of a pair with a set for which no room was left.
FULL = 3


class Pairs(NamedTuple):
    """Pairs x, y, int64 (m,), in the order in which threads take them, and the candidates of each.

    The candidates of pair i are `number`[i] members of a list from `start`[i] on, without the one at place
    `left_out`[i].
    """

    x: Indices
    y: Indices
    start: Indices
    number: Indices
    left_out: Indices
    candidates: Ints
    skip: Mask  # which candidates are in the list of `skip` of their pair; empty if there are no such lists
    room: Indices  # (m,): the most tests of a pair
    place: Indices  # (m,): where its findings are
    counted: Floats  # (m,): the count for progress when it is decided

    def taken(self, order: Indices) -> Pairs:
        """Some of the pairs, in this order."""
        lists = {"candidates": self.candidates, "skip": self.skip}
        return self._replace(**{name: own[order] for name, own in self._asdict().items() if name not in lists})


def pairs_of_level(graph: Graph, entries: Indices, counted: Floats) -> Pairs:
    """The pairs of these entries of a graph, with the neighbours of x as candidates."""
    x = np.searchsorted(graph.offsets, entries, side="right") - 1
    start, y = graph.offsets[x], graph.neighbours[entries].astype(np.int64)
    lists = graph.neighbours, np.zeros(0, dtype=np.bool_)
    return Pairs(x, y, start, graph.degrees[x] - 1, entries - start, *lists, np.full(len(x), 2**62), entries, counted)


def pairs_of_questions(questions: Questions, asked: Indices, room: Indices) -> Pairs:
    """Pairs of questions; `room`, (m,): the most tests of each."""
    x, y, (offsets, candidates) = questions.x[asked], questions.y[asked], questions.candidates
    number = questions.candidates.sizes[asked]
    lists = candidates.astype(np.int32, copy=False), skipped(questions)
    ends = x.astype(np.int64), y.astype(np.int64), offsets[asked]
    return Pairs(*ends, number, number, *lists, room[asked], asked, np.ones(len(asked)))


def skipped(questions: Questions) -> Mask:
    """`Pairs.skip`."""
    if questions.skip is None:
        return np.zeros(0, dtype=np.bool_)
    both = questions.candidates, questions.skip
    most = max(int(lists.members.max(initial=0)) for lists in both) + 1
    keys = (np.repeat(np.arange(len(lists.sizes)), lists.sizes) * most + lists.members for lists in both)
    return np.isin(*keys)


class Found(NamedTuple):
    """The findings about pairs, by place; the findings of a level are fields of `Findings`."""

    rank: Indices  # number of the first test that separates, from 0 on, -1 before; or of all separating sets
    r: Floats  # p-value of that test
    smallest: Floats  # minus the largest p-value
    done: NDArray[np.int8]  # TESTED or FULL, once the pair is decided
    made: Indices  # number of tests; (0,) if it is not asked for
    containing: Indices  # by candidate, the number of separating sets found that contain it; (0,) if not asked for

    @classmethod
    def of_level(cls, findings: Findings) -> Found:
        none = np.zeros(0, dtype=np.int64)
        return cls(*findings[:3], findings.done, none, none)

    @classmethod
    def of_questions(cls, m: int, candidates: int, rank: int = -1) -> Found:
        of_pair = np.full(m, rank), np.full(m, math.nan), np.full(m, math.inf), np.zeros(m, np.int8)
        return cls(*of_pair, np.zeros(m, np.int64), np.zeros(candidates, np.int64))


class Window(NamedTuple):
    """The pairs that a thread has open, k of them, and the n tests of a round, given sets of s members."""

    pair: Annotated[Indices, "k"]  # number of the pair, -1 if the place is free
    chosen: Annotated[Indices, "k s"]  # positions of the next set among the candidates
    more: Annotated[Mask, "k"]  # whether there is a next set
    full: Annotated[Mask, "k"]  # whether it found no room
    made: Annotated[Indices, "k"]  # tests made, and listed
    listed: Annotated[Indices, "k"]
    quota: Annotated[Indices, "k"]  # sets of the next round
    largest: Annotated[Floats, "k"]  # p-value
    separated: Annotated[Mask, "k"]
    owner: Annotated[Indices, "n"]  # place of the pair of a test
    positions: Annotated[Indices, "n s"]
    x: Annotated[Indices, "n"]
    y: Annotated[Indices, "n"]
    S: Annotated[Indices, "n s"]


class Rounds(NamedTuple):
    """The sizes of rounds, see `Setwise`."""

    first: int
    growth: int
    most: int
    least: int


class SetwiseWalk:
    """The work of a thread (`threads.Work`): tests of pairs given their sets of one size.

    `report`: called after each round of a test that is made `at_once`, with the number of pairs decided. `only_first`:
    whether a pair meets no sets after the first round with one that separates it.
    """

    def __init__(
        self, test: SetwiseTest, pairs: Pairs, size: int, found: Found, n_threads: int,
        report: Callable[[int], None] | None = None, *, only_first: bool = True,
    ) -> None:  # fmt: skip
        m, cost = len(pairs.x), max(test.cost, 1.0)
        first, growth = (FIRST_ROUND, GROWTH) if cost < COSTLY else CAUTIOUS
        most = ROUND_SETS if cost < COSTLY else max(1, test.together, int(ROUND_WORK / cost))
        if test.at_once:  # one thread has all pairs open: each call takes as many tests as there are
            self._open, least = m, max(1, test.together // 2)
        else:
            order = np.argsort(-pairs.number, kind="stable")
            shares = OPEN_SHARES * n_threads if n_threads > 1 else 1
            pairs, self._open = pairs.taken(order), max(1, min(m // shares, OPEN_PAIRS))
            least = int(ROUND_LEAST * n_threads / cost) if n_threads > 1 else 1
            most = max(min(most, PART_SETS), least)
        self._test, self._pairs, self._size, self._found = test, pairs, size, found
        self._how, self._following = Rounds(first, growth, most, least), np.zeros(1, dtype=np.int64)
        self._only_first, self._report = only_first, report if test.at_once else None

    def __call__(self, state: State) -> None:
        """Make rounds until no pair is left; the order in which threads take the pairs does not matter to any."""
        pairs, tests, limit = self._pairs, self._test.single_tests, self._test.at_once
        window = work_space(Window, k=self._open, s=self._size, n=max(self._how.most, self._open))
        window.pair[:] = -1
        while not state[STOP] and (n := next_sets(pairs, self._following, self._how, window)) >= 0:
            x, y, S = (values[:n].copy() for values in (window.x, window.y, window.S))  # of which a test may keep some
            if n == 0:  # all sets that are left are skipped
                independent, p = np.zeros(0, dtype=np.bool_), np.zeros(0)
            elif 0 < limit < n:
                parts = [slice(low, low + limit) for low in range(0, n, limit)]
                made = zip(*(tests(x[part], y[part], S[part]) for part in parts), strict=True)
                independent, p = map(np.concatenate, made)
            else:
                independent, p = tests(x, y, S)
            if not self._only_first:
                self._count_undefined(x, y, S, independent, p)
            enter_round(pairs, window, n, independent, p, self._test.na_p, self._found, self._only_first, state)
            if self._report is not None:
                self._report(int(state[TESTS]))

    def _count_undefined(self, x: Indices, y: Indices, S: Indices, independent: Mask, p: Floats) -> None:
        """Where p is not defined, the rules of orientation count the set as one that separates, or refuse it."""
        if (undefined := np.flatnonzero(np.isnan(p))).size:
            independent[undefined], i = True, undefined[0]
            if np.isnan(self._test.na_in_rules):
                raise no_p_value(int(x[i]), int(y[i]), tuple(S[i].tolist()))


@jit_inlined
def is_skipped(skip, start, positions):
    """Whether a set of the candidates that begin at `start` lies wholly in the list of `skip`."""
    inside = len(skip) > 0
    for t in range(len(positions)):
        inside = inside and skip[start + positions[t]]
    return inside


@jit_inlined
def open_pair(window, k, i):
    """Open pair i at place k."""
    window.pair[k], window.more[k], window.full[k], window.separated[k] = i, True, False, False
    window.made[k], window.listed[k], window.largest[k] = 0, 0, -math.inf
    for t in range(window.chosen.shape[1]):
        window.chosen[k, t] = t


@compiled
def next_sets(pairs, following, how, window):
    """List the next sets of the open pairs, after opening others at free places; returns how many, -1 if none is open.

    Each pair lists its quota, but all together about `most` at most and `least` at least; the quota then grows.
    """
    size, n, live = window.chosen.shape[1], 0, 0
    for k in range(len(window.pair)):
        if window.pair[k] < 0 and following[0] < len(pairs.x):
            i = atomic_add(following, 0, 1)
            if i < len(pairs.x):
                open_pair(window, k, i)
                window.quota[k] = how.first
        live += window.pair[k] >= 0
    if live == 0:
        return -1
    most, least = max(1, how.most // live), how.least // live
    for k in range(len(window.pair)):
        i, made = window.pair[k], 0
        if i < 0:
            continue
        quota = max(min(window.quota[k], most), least)
        window.quota[k] = quota * how.growth
        start, left_out = pairs.start[i], pairs.left_out[i]
        while made < quota and window.more[k] and not window.full[k]:
            inside = is_skipped(pairs.skip, start, window.chosen[k])
            if not inside and window.listed[k] == pairs.room[i]:
                window.full[k] = True
            else:
                if not inside:
                    window.owner[n], window.x[n], window.y[n] = k, pairs.x[i], pairs.y[i]
                    for t in range(size):
                        c = window.chosen[k, t]
                        window.positions[n, t] = c
                        window.S[n, t] = pairs.candidates[start + c + (c >= left_out)]
                    n += 1
                    made += 1
                    window.listed[k] += 1
                window.more[k] = next_subset(window.chosen[k], size, pairs.number[i]) >= 0
    return n


@jit_inlined
def enter_test(pairs, window, k, positions, independent, p, found, only_first):
    """Enter a test of the pair at place k, unless an earlier one has separated it."""
    if window.separated[k] and only_first:
        return
    i = window.pair[k]
    window.made[k] += 1
    window.largest[k] = max(window.largest[k], p)
    if not independent:
        return
    place = pairs.place[i]
    window.separated[k] = True
    found.r[place] = p
    if only_first:
        found.rank[place] = window.made[k] - 1
    else:
        found.rank[place] += 1
    if len(found.containing) > 0:
        for t in range(len(positions)):
            found.containing[pairs.start[i] + positions[t]] += 1


@jit_inlined
def close_pair(pairs, window, k, found, state):
    """Enter the pair at place k, which is decided, and leave the place."""
    i = window.pair[k]
    place = pairs.place[i]
    found.smallest[place] = -window.largest[k]
    if len(found.made) > 0:
        found.made[place] = window.made[k]
    found.done[place] = FULL if window.full[k] and not window.separated[k] else TESTED
    window.pair[k] = -1
    count_tests(state, pairs.counted[i])


@compiled
def enter_round(pairs, window, n, independent, p, na_p, found, only_first, state):  # noqa: PLR0913 - compiled code
    """Enter the tests of a round, of each pair up to the first that separates it; `na_p` in place of NaN."""
    for j in range(n):
        weight = p[j] if p[j] == p[j] else na_p
        enter_test(pairs, window, window.owner[j], window.positions[j], independent[j], weight, found, only_first)
    for k in range(len(window.pair)):
        decided = not window.more[k] or window.full[k] or (window.separated[k] and only_first)
        if window.pair[k] >= 0 and decided:
            close_pair(pairs, window, k, found, state)


def tests_of_sets(number: Indices, size: int) -> Floats:
    """Number of sets of one size of each pair, float64 (m,), from the number of its candidates."""
    counted: Floats = by_degree(lambda d: float(math.comb(d, size)), number)
    return counted
