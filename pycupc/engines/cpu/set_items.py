"""Tests without bounds, given all sets of one size, in compiled code: pairs with the same x take turns.

All pairs of x that are tested given a set take their turn then, as the work on the set is done; and no pair is tested
again after the test that separates it. A family makes one test in compiled code, its decision:

    independent, p = decide(data, x, y, S, space, careful)

`data` are shared by all threads, `space` is the work space of one. p is not NaN. It is negative where the code at the
address `careful` is needed, which is 0 then (`partial_correlation.careful_address`): the item begins again with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pycupc.engines.cpu.combinations import next_subset
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.row_items import take_item
from pycupc.engines.cpu.setwise_walk import (
    Found,
    Pairs,
    Window,
    close_pair,
    enter_test,
    is_skipped,
    open_pair,
    tests_of_sets,
)
from pycupc.engines.cpu.threads import AGAIN, CAREFUL, STOP, WANTED, State
from pycupc.engines.cpu.tuning import OPEN_PAIRS, SHARES
from pycupc.engines.cpu.walk_arrays import work_space
from pycupc.graph.lists import starts
from pycupc.independence.gaussian.partial_correlation import careful_address
from pycupc.system.jit import jit_inlined


class SetItems:
    """The work of a thread (`threads.Work`): items are pairs that follow each other and have the same x.

    `take`: a compiled function that calls `take_turns` with the family's decision, and takes its other arguments.
    `make_space`: makes the work space of a thread.
    """

    def __init__(
        self, take: Callable[..., None], data: Any, make_space: Callable[[], Any], pairs: Pairs, size: int,
        found: Found, n_threads: int,
    ) -> None:  # fmt: skip
        self._take, self._data, self._make_space, self._size, self._found = take, data, make_space, size, found
        self._following = np.zeros(1, dtype=np.int64)
        self._pairs = pairs.taken(np.argsort(pairs.x, kind="stable"))
        self._items = _items(self._pairs, size, SHARES * n_threads if n_threads > 1 else 1)

    def __call__(self, state: State) -> None:
        most = int((self._items[:, 1] - self._items[:, 0]).max(initial=0))
        window = work_space(Window, k=most, s=self._size)
        S, space = np.empty(self._size, dtype=np.int64), self._make_space()
        given = self._data, self._pairs, self._items, self._following, window, S, space, self._found, state
        self._take(*given)
        while state[WANTED]:  # for the first time: load it and begin the item again
            state[CAREFUL], state[WANTED] = careful_address(), 0
            self._take(*given)


def _items(pairs: Pairs, size: int, shares: int) -> Indices:
    """The first pair of each item, and the pair after the last, int64 (m, 2): of one x, and no more than a share of
    all tests where several pairs have more; the largest items come first.
    """
    m = len(pairs.x)
    if not m:
        return np.zeros((0, 2), dtype=np.int64)
    inner = (pairs.x[1:] != pairs.x[:-1]).nonzero()[0] + 1
    rows = np.concatenate([[0], inner, [m]])
    number = rows[1:] - rows[:-1]
    if shares == 1 and number.max() <= OPEN_PAIRS:
        return np.array([rows[:-1], rows[1:]]).T.copy()
    tests = tests_of_sets(pairs.number, size)
    work = np.add.reduceat(tests, rows[:-1])
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
def _take_turn(decide, data, pairs, window, n, S, space, found, careful):  # noqa: PLR0913 - compiled code
    """Test the open pairs whose next set is S, unless the set is skipped or there is no room.

    False if `careful` is needed.
    """
    for k in range(n):
        if not (_is_open(window, k) and _compared(pairs, window, k, S) == 0):
            continue
        i = window.pair[k]
        skipped = is_skipped(pairs.skip, pairs.start[i], window.chosen[k])
        window.full[k] = not skipped and window.made[k] == pairs.room[i]
        if not skipped and not window.full[k]:
            independent, p = decide(data, pairs.x[i], pairs.y[i], S, space, careful)
            if p < 0.0:
                return False
            enter_test(pairs, window, k, window.chosen[k], independent, p, found, True)
        window.more[k] = window.full[k] or next_subset(window.chosen[k], len(S), pairs.number[i]) >= 0
    return True


@jit_inlined
def take_turns(decide, data, pairs, items, following, window, S, space, found, state):  # noqa: PLR0913 - compiled code
    """Test the pairs of one item after the other: of those that are open, the smallest next sets first."""
    while state[STOP] == 0:
        q = take_item(following, state)
        if q >= len(items):
            break
        n, more = items[q, 1] - items[q, 0], True
        for k in range(n):
            open_pair(window, k, items[q, 0] + k)
        while more:
            if state[STOP] != 0:
                return
            more = False
            for k in range(n):
                if _is_open(window, k) and (not more or _compared(pairs, window, k, S) < 0):
                    more = True
                    for t in range(len(S)):
                        S[t] = _member(pairs, window.pair[k], window.chosen[k, t])
            if more and not _take_turn(decide, data, pairs, window, n, S, space, found, state[CAREFUL]):
                state[AGAIN], state[WANTED] = q + 1, 1
                return
        for k in range(n):
            close_pair(pairs, window, k, found, state)
