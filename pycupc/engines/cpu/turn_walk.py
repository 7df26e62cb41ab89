"""Tests given all sets of one size, in compiled code to the end: pairs with the same x take turns.

All pairs of x that are tested given a set take their turn then, as a family keeps the configurations of x and the set,
or the correlations given the set. No pair is tested again after the test that separates it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pycupc.engines.cpu import threads
from pycupc.engines.cpu.combinations import next_subset
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.row_items import take_item, until_careful
from pycupc.engines.cpu.setwise_walk import (
    Found,
    Pairs,
    SetwiseWalk,
    Window,
    close_pair,
    enter_test,
    is_skipped,
    open_pair,
    tests_of_sets,
)
from pycupc.engines.cpu.threads import AGAIN, CAREFUL, STOP, WANTED, State, Work
from pycupc.engines.cpu.tuning import OPEN_PAIRS, SHARES
from pycupc.engines.cpu.walk_arrays import work_space
from pycupc.engines.protocol import Floats, Mask
from pycupc.graph.lists import starts
from pycupc.independence.deciding import Walked, decide
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.jit import compiled, jit_inlined


class TurnWalk:
    """The work of a thread (`threads.Work`): items are pairs that follow each other and have the same x.

    `na_p`: the p-value in place of NaN.
    """

    def __init__(
        self, walked: Walked, na_p: float, pairs: Pairs, size: int, found: Found, n_threads: int
    ) -> None:  # fmt: skip
        self._walked, self._na_p, self._size, self._found = walked, na_p, size, found
        self._following = np.zeros(1, dtype=np.int64)
        order = np.argsort(pairs.x, kind="stable")
        self._pairs = pairs.taken(order)
        self._items = _items(self._pairs, size, SHARES * n_threads if n_threads > 1 else 1)

    def __call__(self, state: State) -> None:
        work = self._walked.work(state[CAREFUL : WANTED + 1])
        window = work_space(Window, k=int((self._items[:, 1] - self._items[:, 0]).max(initial=0)), s=self._size)
        space = window, np.empty(self._size, dtype=np.int64), work
        given = self._walked.data, self._pairs, self._items, self._following, *space, self._na_p, self._found, state
        until_careful(lambda: take_turns(*given), state)


def work_on_sets(
    test: SetwiseTest, pairs: Pairs, size: int, found: Found, n_threads: int,
    report: Callable[[int], None] | None = None, *, only_first: bool = True,
) -> Work:  # fmt: skip
    """The work of threads that test pairs given their sets of one size; `report`, `only_first`: as of `SetwiseWalk`."""
    walked = test.walked(pairs.x, pairs.y, pairs.candidates, size) if only_first else None
    if walked is not None:
        return TurnWalk(walked, test.na_p, pairs, size, found, n_threads)
    return SetwiseWalk(test, pairs, size, found, n_threads, report, only_first=only_first)


def unconditional(test: SetwiseTest, x: Indices, y: Indices) -> tuple[Mask, Floats]:
    """Whether pairs are independent given nothing, and the p-values, `na_p` in place of NaN; in the calling thread."""
    found, none, m = Found.of_questions(len(x), 0), np.zeros(len(x), dtype=np.int64), len(x)
    lists = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.bool_)
    pairs = Pairs(x, y, none, none, none, *lists, none + 2**62, np.arange(m), np.zeros(m))
    if (walked := test.walked(x, y, pairs.candidates, 0)) is None:
        independent, p = test.single_tests(x, y, np.empty((m, 0), np.int64))
        return independent, np.nan_to_num(p, nan=test.na_p)
    threads.run(TurnWalk(walked, test.na_p, pairs, 0, found, 1), 1, 0)
    return found.rank >= 0, -found.smallest


def _items(pairs: Pairs, size: int, shares: int) -> Indices:
    """The first pair of each item, and the pair after the last, int64 (m, 2): of one x, and no more than a share of
    all tests where several pairs have more; the largest items come first.
    """
    if not (m := len(pairs.x)):
        return np.zeros((0, 2), dtype=np.int64)
    rows = np.concatenate([[0], np.flatnonzero(pairs.x[1:] != pairs.x[:-1]) + 1, [m]])
    number = rows[1:] - rows[:-1]
    if shares == 1 and number.max() <= OPEN_PAIRS:
        return np.array([rows[:-1], rows[1:]]).T.copy()
    work = np.add.reduceat(tests_of_sets(pairs.number, size), rows[:-1])
    pieces = np.clip(np.ceil(work * (shares / work.sum())), 1, number).astype(np.int64)
    pieces = np.maximum(pieces, -(-number // OPEN_PAIRS))
    row = np.repeat(np.arange(len(number)), pieces)
    piece = np.arange(len(row)) - np.repeat(starts(pieces)[:-1], pieces)
    ends = rows[row, None] + number[row, None] * (piece[:, None] + [0, 1]) // pieces[row, None]
    return np.ascontiguousarray(ends[np.argsort(-(work / pieces)[row], kind="stable")])


@jit_inlined
def _member(pairs, i, c):
    """Candidate c of pair i."""
    return pairs.candidates[pairs.start[i] + c + (c >= pairs.left_out[i])]


@jit_inlined
def _compared(pairs, window, k, S):
    """Negative if the next set of the pair at place k is before S in lexicographic order, 0 if it is S."""
    difference, t = 0, 0
    while difference == 0 and t < len(S):
        difference = _member(pairs, window.pair[k], window.chosen[k, t]) - S[t]
        t += 1
    return difference


@jit_inlined
def _is_open(window, k):
    return window.more[k] and not window.full[k] and not window.separated[k]


@jit_inlined
def _take_turn(data, pairs, window, k, S, work, na_p, found):
    """Test the pair at place k given its next set S, unless the set is skipped or there is no room."""
    i = window.pair[k]
    if not is_skipped(pairs.skip, pairs.start[i], window.chosen[k]):
        if window.made[k] == pairs.room[i]:
            window.full[k] = True
            return
        independent, p = decide(data, pairs.x[i], pairs.y[i], S, work)
        enter_test(pairs, window, k, window.chosen[k], independent, p if p == p else na_p, found, True)
    window.more[k] = next_subset(window.chosen[k], len(S), pairs.number[i]) >= 0


@compiled
def take_turns(data, pairs, items, following, window, S, work, na_p, found, state):  # noqa: PLR0913 - compiled code
    """Test the pairs of one item after the other: of those that are open, the smallest next sets first.

    Returns where a test has needed code that is WANTED; its item is to be made AGAIN, with the same findings.
    """
    while state[STOP] == 0:
        q = take_item(following, state)
        if q >= len(items):
            break
        n, more = items[q, 1] - items[q, 0], True
        for k in range(n):
            open_pair(window, k, items[q, 0] + k)
        while more:
            if state[STOP] + state[WANTED] != 0:
                state[AGAIN] = q + 1
                return
            more = False
            for k in range(n):
                if _is_open(window, k) and (not more or _compared(pairs, window, k, S) < 0):
                    more = True
                    for t in range(len(S)):
                        S[t] = _member(pairs, window.pair[k], window.chosen[k, t])
            for k in range(n if more else 0):
                if _is_open(window, k) and _compared(pairs, window, k, S) == 0:
                    _take_turn(data, pairs, window, k, S, work, na_p, found)
        for k in range(n):
            close_pair(pairs, window, k, found, state)
