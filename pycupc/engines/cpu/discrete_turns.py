"""G^2 tests of questions, given all sets of one size: pairs with the same x take turns, in compiled code.

All pairs of x that are tested given a set take their turn then, as its configurations are there; and no pair is tested
again after the test that separates it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pycupc.engines.cpu.batches import Found, is_skipped, skipped, take_test
from pycupc.engines.cpu.combinations import next_subset
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.tuning import INLINE_TESTS, WORK_AT_ONCE
from pycupc.engines.protocol import Ints, Mask, Questions
from pycupc.independence.discrete.contingency import run_test_given, work_space
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.system.jit import compiled, jit_inlined, jit_part
from pycupc.system.machine import run_in_threads


class _Turns(NamedTuple):
    """What the turns of m pairs read and change."""

    x: Indices
    y: Indices
    offsets: Indices
    candidates: Ints
    skip: Mask  # see `skipped`
    chosen: Indices  # (m, size): positions of the next set among the candidates
    left: Mask  # pairs that have a next set to be tested


def tests_in_turn(
    test: DiscreteTest, questions: Questions, size: int, asked: Mask, found: Found, n_threads: int
) -> Iterator[None]:
    """Make the tests that `rounds` describes and enter what they find; yields about ten times a second."""
    (offsets, candidates), degree, data = questions.candidates, questions.candidates.sizes, test.prepared
    x, y = questions.x.astype(np.int64), questions.y.astype(np.int64)
    chosen, left = np.tile(np.arange(size), (len(degree), 1)), asked & (degree >= size)
    turns = _Turns(x, y, offsets, candidates, skipped(questions), chosen, left)
    widest = candidates[data.levels[candidates].argmax()] if size else 0
    most = max(1, int(WORK_AT_ONCE / test.cost))

    def take_turns(pairs: Indices) -> None:
        counting = work_space(data, x[pairs], y[pairs], np.full((1, size), widest))
        _take_turns(data, turns, pairs, most, np.empty(size, dtype=np.int64), counting, found)

    while (pairs := np.flatnonzero(left)).size:
        threads = n_threads if len(pairs) * test.cost > INLINE_TESTS else 1
        run_in_threads(take_turns, np.array_split(pairs, threads), threads)
        yield


@compiled
def _take_turns(data, turns, pairs, most, S, counting, found):
    """Test the pairs given their next sets, about `most` in all: of those with one x, the smallest next sets first."""
    made, end = 0, len(pairs)
    while end > 0 and made < most:
        begin, more = end - 1, True
        while begin > 0 and turns.x[pairs[begin - 1]] == turns.x[pairs[begin]]:
            begin -= 1
        while more and made < most:
            more = False
            for k in range(begin, end):
                if turns.left[pairs[k]] and (not more or _compared(turns, pairs[k], S) < 0):
                    more = True
                    for t in range(len(S)):
                        S[t] = turns.candidates[turns.offsets[pairs[k]] + turns.chosen[pairs[k], t]]
            for k in range(begin, end):
                if turns.left[pairs[k]] and _compared(turns, pairs[k], S) == 0:
                    made += _take_turn(data, turns, pairs[k], S, counting, found)
        end = begin


@jit_inlined
def _compared(turns, pair, S):
    """Negative if the next set of the pair is before S in lexicographic order, 0 if it is S."""
    start, difference, t = turns.offsets[pair], 0, 0
    while difference == 0 and t < len(S):
        difference = turns.candidates[start + turns.chosen[pair, t]] - S[t]
        t += 1
    return difference


@jit_part
def _take_turn(data, turns, pair, S, counting, found):
    """Test a pair given its next set S; returns the number of tests, 0 if the set is skipped or there is no room."""
    start, chosen, made = turns.offsets[pair], turns.chosen[pair], 0
    if not is_skipped(turns.skip, start, chosen):
        if found.room[pair] == 0:
            found.over[pair], turns.left[pair] = True, False
            return 0
        independent, p = run_test_given(data, turns.x[pair], turns.y[pair], S, counting)
        take_test(start, pair, chosen, independent, p, found)
        found.room[pair] -= 1
        made = 1
    more = next_subset(chosen, len(S), turns.offsets[pair + 1] - start) >= 0
    turns.left[pair] = more and not found.separated[pair]
    return made
