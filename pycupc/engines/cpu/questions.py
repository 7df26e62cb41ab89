"""Questions about single pairs: one test for each set, by the canonical formula or from a contingency table.

The sets of all pairs are made and tested in rounds: a few sets of each open pair at first, more in each round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pycupc.engines.base import Answers, CountHook, Counts, Floats, Lists, Mask, Questions
from pycupc.engines.cpu.all_subsets import count_separating_sets
from pycupc.engines.cpu.combinations import next_subset
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.tuning import FIRST_ROUND, PART_SETS, ROUND_SETS
from pycupc.independence.base import IndependenceTest
from pycupc.independence.discrete import contingency
from pycupc.independence.discrete.family import DiscreteTest
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set
from pycupc.system.compiled import announced, compiled, frozen
from pycupc.system.machine import in_threads


class Made(NamedTuple):
    """Tests: whether they find independence, r or p, and the p-value or minus |z|."""

    independent: Mask
    value: Floats
    weight: Floats


#: Makes the tests of x[i], y[i] given sets[i], int64 (k,), (k,), (k, size).
Tests = Callable[[Indices, Indices, Indices], Made]


def first_separating(
    test: IndependenceTest, questions: Questions, n_threads: int, progress: CountHook | None = None
) -> Answers:
    """See `Engine.first_separating`."""
    m, sizes = len(questions.x), questions.sizes()
    asked, n_tests = np.ones(m, dtype=np.bool_), np.zeros((m, sizes.stop), dtype=np.int64)
    over, room = np.zeros(m, dtype=np.bool_), np.full(m, questions.most_tests(test.has_r))
    value, weight = np.full(m, math.nan), np.full(m, -math.inf)
    length = np.zeros(m, dtype=np.int64)
    parts: list[tuple[Indices, Indices]] = []  # pairs that were separated, and their sets
    for size in sizes:
        for owner, _, members, made in _rounds(test, questions, size, asked, room, over, n_threads):
            hits = np.flatnonzero(made.independent)
            separated, first = np.unique(owner[hits], return_index=True)
            first = hits[first]
            last = np.full(m, len(owner))
            last[separated] = first
            counted = np.arange(len(owner)) <= last[owner]
            n_tests[:, size] += np.bincount(owner[counted], minlength=m)
            np.maximum.at(weight, owner[counted], made.weight[counted])
            asked[separated], value[separated], length[separated] = False, made.value[first], size
            parts.append((separated, members[first]))
            if progress is not None:
                progress(int(m - (asked & ~over).sum()), m)
    if progress is not None:
        progress(m, m)
    offsets = np.concatenate(([0], np.cumsum(length)))
    found = Lists(offsets, np.empty(offsets[-1], dtype=np.int32))
    for separated, sets in parts:
        found.members[offsets[separated, None] + np.arange(sets.shape[1])] = sets
    p = np.where(np.isinf(weight), weight, fisher_z.z_to_p(weight)) if test.has_r else weight
    p = p if questions.largest_p else np.where(asked, math.nan, p)
    return Answers(~asked, found, value, p, n_tests, over & asked)


def count_separating(test: IndependenceTest, questions: Questions, n_threads: int) -> Counts:
    """See `Engine.count_separating`."""
    m, (offsets, candidates) = len(questions.x), questions.candidates
    sizes, widest = questions.sizes(), int(np.diff(offsets).max(initial=0))
    if isinstance(test, GaussianTest) and questions.skip is None and sizes == range(widest + 1):
        return count_separating_sets(frozen(test.data.C), test.cutoff, questions, n_threads)
    found, containing = np.zeros(m, dtype=np.int64), np.zeros(len(candidates), dtype=np.int64)
    asked, over = np.ones(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    room = np.full(m, 2**62)
    for size in sizes:
        for owner, positions, _, made in _rounds(test, questions, size, asked, room, over, n_threads):
            found += np.bincount(owner[made.independent], minlength=m)
            at = (offsets[owner, None] + positions)[made.independent]
            containing += np.bincount(at.ravel(), minlength=len(candidates))
    return Counts(found, containing)


def _rounds(
    test: IndependenceTest, questions: Questions, size: int, asked: Mask, room: Indices, over: Mask, n_threads: int
) -> Iterator[tuple[Indices, Indices, Indices, Made]]:
    """Tests of all sets of one size: the number of the pair, the positions of the set, its members, the outcome.

    Each pair meets its sets in order, as many as it has room; one with further sets is `over` then. One that is `asked`
    no more after a round meets no more.
    """
    (offsets, candidates), skip = questions.candidates, _skipped(questions)
    degree = np.diff(offsets)
    chosen = np.tile(np.arange(size), (len(degree), 1))
    left = asked & ~over & (degree >= size)
    at_once, x, y = FIRST_ROUND, questions.x.astype(np.int64), questions.y.astype(np.int64)
    tests = _gaussian_tests(test) if isinstance(test, GaussianTest) else _discrete_tests(test)
    with announced("compiling for tests of single pairs, once per machine"):
        while (pairs := np.flatnonzero(left)).size:
            at_once = min(at_once, max(1, ROUND_SETS // len(pairs)))
            owner = np.empty(at_once * len(pairs), dtype=np.int64)
            positions = np.empty((len(owner), size), dtype=np.int64)
            n = _next_sets(offsets, skip, pairs, chosen, left, room, over, at_once, owner, positions)
            owner, positions = owner[:n], positions[:n]
            members = candidates[offsets[owner, None] + positions].astype(np.int64)
            cuts = range(PART_SETS, n, PART_SETS)
            parts = zip(*(np.split(values, cuts) for values in (x[owner], y[owner], members)), strict=True)
            made = in_threads(lambda part: tests(*part), parts, n_threads if cuts else 1)
            yield owner, positions, members, Made(*map(np.concatenate, zip(*made, strict=True)))
            left &= asked
            at_once *= 4


def _skipped(questions: Questions) -> Mask:
    """Which candidates are in the list of `skip` of their pair; empty if there are no such lists."""
    if questions.skip is None:
        return np.zeros(0, dtype=np.bool_)
    (offsets, candidates), (starts, members) = questions.candidates, questions.skip
    most = max(int(candidates.max(initial=0)), int(members.max(initial=0))) + 1
    keys = (np.repeat(np.arange(len(v) - 1), np.diff(v)) * most for v in (offsets, starts))
    return np.isin(next(keys) + candidates, next(keys) + members)


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
            inside = len(skipped) > 0
            for t in range(size):
                positions[n, t] = chosen[pair, t]
                inside = inside and skipped[start + chosen[pair, t]]
            if not inside and room[pair] == 0:
                over[pair] = True
            elif not inside:
                owner[n] = pair
                n += 1
                made += 1
                room[pair] -= 1
            left[pair] = not over[pair] and next_subset(chosen[pair], size, d) >= 0
    return n


def _gaussian_tests(test: GaussianTest) -> Tests:
    C = frozen(test.data.C)

    def run(x: Indices, y: Indices, sets: Indices) -> Made:
        r, size = np.empty(len(x)), sets.shape[1]
        nodes = np.column_stack([np.sort(sets, axis=1), x, y])
        _correlations(C, nodes, canonical_space(size), 0, r)
        if np.isnan(r).any():
            _correlations(C, nodes, canonical_space(size), careful_address(), r)
        assert test.n is not None
        return Made(np.abs(r) <= test.cutoff(size), r, -fisher_z.z_score(r, test.n, size))

    return run


@compiled
def _correlations(C, nodes, space, careful, r):
    """Write r of the last two of each row of nodes given the others; NaN where `given_set` needs `careful`."""
    for i in range(len(nodes)):
        r[i] = given_set(C, nodes[i], nodes.shape[1] - 2, space, careful)


def _discrete_tests(test: IndependenceTest) -> Tests:
    assert isinstance(test, DiscreteTest)
    data = test.prepared

    def run(x: Indices, y: Indices, sets: Indices) -> Made:
        independent, p = contingency.single_tests(data, x, y, sets)
        return Made(independent, p, p)

    return run
