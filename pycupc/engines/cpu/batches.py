"""Tests without bounds, given all sets of one size: in rounds, of the next sets of each pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from pycupc.engines.cpu.combinations import next_subset
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.tuning import CAUTIOUS, COSTLY, FIRST_ROUND, GROWTH, PART_SETS, ROUND_SETS, ROUND_WORK
from pycupc.engines.protocol import Floats, Mask, Questions
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.jit import compiled, jit_inlined
from pycupc.system.machine import in_threads


def rounds(
    test: SetwiseTest, questions: Questions, size: int, asked: Mask, room: Indices, over: Mask, n_threads: int
) -> Iterator[tuple[Indices, Indices, Indices, Mask, Floats]]:
    """Tests of all sets of one size: the number of the pair, the positions of the set, its members, the outcome, p.

    Each pair meets its sets in order, up to the number `room` of the pair; a pair with further sets is `over` then. A
    pair that is not `asked` any more after a round meets no further sets.
    """
    (offsets, candidates), skip = questions.candidates, skipped(questions)
    degree = questions.candidates.sizes
    chosen = np.tile(np.arange(size), (len(degree), 1))
    left = asked & ~over & (degree >= size)
    x, y = questions.x.astype(np.int64), questions.y.astype(np.int64)
    at_once, growth = (FIRST_ROUND, GROWTH) if test.cost < COSTLY else CAUTIOUS
    most = ROUND_SETS if test.cost < COSTLY else max(1, test.together, int(ROUND_WORK / test.cost))
    tests, limit = test.single_tests, test.at_once
    step = limit or PART_SETS
    while (pairs := np.flatnonzero(left)).size:
        at_once = min(max(at_once, test.together // 2 // len(pairs)), max(1, most // len(pairs)))
        owner = np.empty(at_once * len(pairs), dtype=np.int64)
        positions = np.empty((len(owner), size), dtype=np.int64)
        n = _next_sets(offsets, skip, pairs, chosen, left, room, over, at_once, owner, positions)
        owner, positions = owner[:n], positions[:n]
        members = candidates[offsets[owner, None] + positions].astype(np.int64)
        asking, cuts = (x[owner], y[owner], members), range(step, n, step)
        if cuts:
            parts = zip(*(np.split(values, cuts) for values in asking), strict=True)
            made = in_threads(lambda part: tests(*part), parts, 1 if limit else n_threads)
            yield owner, positions, members, *map(np.concatenate, zip(*made, strict=True))
        else:  # most rounds are small, and so is their time
            yield owner, positions, members, *tests(*asking)
        left &= asked
        at_once *= growth


class Found(NamedTuple):
    """What the tests have found out about m pairs; fields as in `answers._Run`, with `inside` by candidate."""

    n_tests: Indices
    weight: Floats
    value: Floats
    separated: Mask
    inside: Mask
    room: Indices
    over: Mask


@compiled
def take_round(offsets, owner, positions, independent, p, na_p, found):
    """Count the tests of each pair up to the first that separates it, whose set and p-value are kept."""
    for i in range(len(owner)):
        pair = owner[i]
        if not found.separated[pair]:
            weight = p[i] if p[i] == p[i] else na_p
            take_test(offsets[pair], pair, positions[i], independent[i], weight, found)


@jit_inlined
def take_test(start, pair, positions, independent, p, found):
    """Count a test of a pair whose candidates begin at `start`, given the set at these positions."""
    size = len(positions)
    found.n_tests[pair, size] += 1
    found.weight[pair] = max(found.weight[pair], p)
    if independent:
        found.separated[pair], found.value[pair] = True, p
        for t in range(size):
            found.inside[start + positions[t]] = True


def skipped(questions: Questions) -> Mask:
    """Which candidates are in the list of `skip` of their pair; empty if there are no such lists."""
    if questions.skip is None:
        return np.zeros(0, dtype=np.bool_)
    both = questions.candidates, questions.skip
    most = max(int(lists.members.max(initial=0)) for lists in both) + 1
    keys = (np.repeat(np.arange(len(lists.sizes)), lists.sizes) * most + lists.members for lists in both)
    return np.isin(*keys)


@jit_inlined
def is_skipped(skipped, start, positions):
    """Whether a set of the candidates that begin at `start` lies wholly in the list of `skip`."""
    inside = len(skipped) > 0
    for t in range(len(positions)):
        inside = inside and skipped[start + positions[t]]
    return inside


@compiled
def _next_sets(offsets, skipped, pairs, chosen, left, room, over, at_once, owner, positions):  # noqa: PLR0913
    """Write the next sets of each pair, at most `at_once` that are tested; returns how many there are.

    A pair without further sets is left no longer, nor one without room for a further set, which is `over`.
    """
    n, size = 0, chosen.shape[1]
    for pair in pairs:
        start, d = offsets[pair], offsets[pair + 1] - offsets[pair]
        made = 0
        while made < at_once and left[pair]:
            inside = is_skipped(skipped, start, chosen[pair])
            if not inside and room[pair] == 0:
                over[pair] = True
            elif not inside:
                for t in range(size):
                    positions[n, t] = chosen[pair, t]
                owner[n] = pair
                n += 1
                made += 1
                room[pair] -= 1
            left[pair] = not over[pair] and next_subset(chosen[pair], size, d) >= 0
    return n
