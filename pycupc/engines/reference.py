"""The reference engine: a literal PC-stable in plain Python. It is slow, and the oracle of the tests.

It runs any test and follows pcalg's loop pair by pair and set by set (docs/contracts/contract.md, section 1). With the
Gaussian test it uses pcalg's formulas literally, pseudoinverse included (section 2). It imports nothing that it checks:
neither the fast engines nor the canonical formula nor their counting of subsets.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np

from pycupc.engines.protocol import (
    Answers,
    CountHook,
    Counts,
    Engine,
    Finished,
    Floats,
    LevelResult,
    Lists,
    Mask,
    Questions,
    State,
)
from pycupc.independence.base import IndependenceTest, Search, no_p_value
from pycupc.independence.gaussian.fisher_z import z_to_p
from pycupc.independence.gaussian.gauss_ci_test import partial_correlations
from pycupc.independence.gaussian.suffstat import MatrixFacts
from pycupc.independence.gaussian.test import compares_r
from pycupc.system.machine import free_memory

Set = tuple[int, ...]
#: Seconds that a `PairTest` should take at a time, so that progress is seen.
AT_ONCE = 0.05
#: Bytes for each of p^2 pairs: the largest p-value, the graph now and before the level, fixed edges.
PAIR_BYTES = 11


class Made(NamedTuple):
    """One test: its set, whether it separates the pair, r or p, and the p-value or minus |z|."""

    S: Set
    independent: bool
    value: float
    weight: float


class Searched(NamedTuple):
    """The tests of one pair: their number, the last one if it separates the pair, and the largest p-value or -|z|.

    open: sets were left when the allowed number of tests had been made.
    """

    n_tests: int
    separating: Made | None
    largest: float
    open: bool = False


class ReferenceEngine(Engine):
    """The literal algorithm, one pair after the other."""

    name = "reference"

    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        computes_C = compares_r(test) and not test.data.has_C
        return (PAIR_BYTES + 8 * computes_C) * test.p**2, free_memory()

    def _begin(self, names: Sequence[str]) -> None:
        test, p = self._test, self._test.p
        if compares_r(test):
            test.data.check(MatrixFacts.of(test.data.C), names)
        self._graph = ~np.eye(p, dtype=bool)
        if self._gaps is not None:
            self._graph &= ~self._gaps.dense()
        self._untested = np.zeros((p, p), dtype=bool) if self._fixed is None else self._fixed.dense()
        # for ordered pairs, as in pcalg: the largest p-value, or minus the smallest |z|
        self._largest = np.full((p, p), -math.inf)

    def state(self) -> State:
        x, y = (ends.astype(np.int32) for ends in np.nonzero(np.triu(self._graph)))
        z = -np.maximum(self._largest[x, y], self._largest[y, x])
        if self._test.has_r:
            return State(x, y, z)
        p_max: Floats = np.maximum(self._largest, self._largest.T)
        np.fill_diagonal(p_max, 1.0)
        return State(x, y, z, None, p_max)

    def resume(self, levels: Sequence[Finished]) -> None:
        if (last := levels[-1]).p_max is None:
            super().resume(levels)
            return
        self._graph[:] = False
        self._graph[last.x, last.y] = self._graph[last.y, last.x] = True
        self._largest = last.p_max.copy()

    # ---------------------------------------------------------------- one pair

    def _tests(self, x: int, y: int, sets: Iterable[Set], na_p: float) -> Iterator[Made]:
        """The tests given one set after the other, all of one size; Gaussian ones are computed a few at a time."""
        test, sets, at_once = self._test, iter(sets), 4
        if not compares_r(test):
            for S in sets:
                p = test.p_value(x, y, S)
                p = na_p if math.isnan(p) else p
                yield Made(S, p >= test.alpha, p, p)
            return
        while some := list(islice(sets, at_once)):
            size = len(some[0])
            cutoff, root_df = test.cutoff(size), math.sqrt(max(test.data.n - size - 3, 0))
            for S, r in zip(some, partial_correlations(test.data.C, x, y, some).tolist(), strict=True):
                yield Made(S, abs(r) <= cutoff, r, -root_df * math.atanh(abs(r)))
            at_once = min(2 * at_once, 256)

    def _search(self, x: int, y: int, sets: Iterable[Set], most: int = sys.maxsize) -> Searched:
        """Test the pair until a set separates it or `most` tests are made."""
        n_tests, largest, sets = 0, -math.inf, iter(sets)
        for made in self._tests(x, y, islice(sets, most), self._test.na_p):
            n_tests, largest = n_tests + 1, max(largest, made.weight)
            if made.independent:
                return Searched(n_tests, made, largest)
        return Searched(n_tests, None, largest, open=n_tests == most and next(sets, None) is not None)

    # ---------------------------------------------------------------- a level

    def _run(self, level: int) -> LevelResult:
        before = self._graph.copy()  # the snapshot that makes it "stable"
        found: list[tuple[int, int, Made]] = []
        degree = before.sum(axis=1)
        n_tests, n_pairs, more = 0, int(degree.sum()), False
        for number, x, y, searched in self._searched(level, before):
            more = more or bool(degree[x] - 1 > level)
            n_tests += searched.n_tests
            self._largest[x, y] = max(self._largest[x, y], searched.largest)
            if searched.separating is not None:
                self._graph[x, y] = self._graph[y, x] = False
                found.append((x, y, searched.separating))
            if self._progress is not None and number % 100 == 0:
                self._progress(level, number, n_pairs, int(self._graph.sum()) // 2)
        # At level 0 the empty set of a cell x < y is implied; a test that is not symmetric may separate on side B.
        stored = [f for f in found if level or f[0] > f[1]]
        pairs = np.array([f[:2] for f in stored], dtype=np.int32).reshape(-1, 2).T.copy()
        S = np.array([made.S for _, _, made in stored], dtype=np.int32).reshape(len(stored), level)
        r = np.array([made.value for _, _, made in stored])
        return LevelResult(level, pairs[0], pairs[1], S, r, n_tests, len(found), n_careful=0, more=more)

    def _searched(self, level: int, before: Mask) -> Iterator[tuple[int, int, int, Searched]]:
        """The pairs that are tested, with their numbers, in order; a pair that has been removed before is left out."""
        wanted = self._wanted(level, before)
        users = self._test.of_pairs
        if users is None:
            for number, (x, y, candidates) in wanted:
                yield number, x, y, self._search(x, y, combinations(candidates, level))
            return
        at_once = 1
        while part := list(islice(wanted, at_once)):
            begin = time.perf_counter()
            made = users.search(level, [search for _, search in part], self._test.alpha, self._test.na_p)
            for (number, (x, y, candidates)), outcome in zip(part, made, strict=True):
                if outcome[0]:
                    yield number, x, y, _as_searched(level, candidates, outcome)
            at_once = 2 * at_once if time.perf_counter() - begin < AT_ONCE else max(1, at_once // 2)

    def _wanted(self, level: int, before: Mask) -> Iterator[tuple[int, Search]]:
        """The pairs to test, with their numbers among all pairs, as the graph is when each of them is asked for."""
        number = -1
        for x in range(len(before)):
            neighbours = np.flatnonzero(before[x]).tolist()
            for y in neighbours:
                number += 1
                if self._graph[x, y] and not self._untested[x, y] and len(neighbours) > level:
                    yield number, (x, y, [v for v in neighbours if v != y])

    # ---------------------------------------------------------------- questions

    def first_separating(self, questions: Questions, progress: CountHook | None = None) -> Answers:
        m, sizes, most = len(questions.x), questions.sizes(), questions.most_tests(self._test.has_r)
        n_tests, open_ = np.zeros((m, sizes.stop), dtype=np.int64), np.zeros(m, dtype=bool)
        value, largest, found, together = np.full(m, math.nan), np.full(m, -math.inf), [], self._together(questions)
        for i, (x, y) in enumerate(zip(questions.x.tolist(), questions.y.tolist(), strict=True)):
            S: Set | None = None
            for size in sizes:
                searched = (
                    self._search(x, y, _sets(questions, i, size), most - int(n_tests[i].sum()))
                    if together is None
                    else together[i]
                )
                n_tests[i, size], largest[i] = searched.n_tests, max(largest[i], searched.largest)
                open_[i] = searched.open
                if searched.separating is not None:
                    S, value[i] = searched.separating.S, searched.separating.value
                    break
                if searched.open:
                    break
            found.append(S)
            if progress is not None:
                progress(i + 1, m)
        p = np.where(np.isinf(largest), largest, z_to_p(largest)) if self._test.has_r else largest
        separated = np.array([S is not None for S in found], dtype=bool)
        p = p if questions.largest_p else np.where(separated, p, math.nan)
        return Answers(separated, Lists.of([S or () for S in found]), value, p, n_tests, open_)

    def _together(self, questions: Questions) -> list[Searched] | None:
        """The searches of all pairs in one call of a `PairTest`; None for other tests, and where it cannot be."""
        users, level = self._test.of_pairs, questions.smallest
        limited = questions.skip is not None or questions.budget is not None or questions.largest != level
        if limited or users is None:
            return None
        pairs = list(zip(questions.x.tolist(), questions.y.tolist(), strict=True))
        wanted = [(x, y, questions.candidates.of_one(i)) for i, (x, y) in enumerate(pairs)]
        if not {(y, x) for x, y in pairs}.isdisjoint(pairs) or any(len(v) < level for _, _, v in wanted):
            return None  # it would leave out reversed pairs
        made = users.search(level, wanted, self._test.alpha, self._test.na_p)
        return [_as_searched(level, v, outcome) for (_, _, v), outcome in zip(wanted, made, strict=True)]

    def count_separating(self, questions: Questions) -> Counts:
        m, offsets = len(questions.x), questions.candidates.offsets
        found, containing = np.zeros(m, dtype=np.int64), np.zeros(offsets[-1], dtype=np.int64)
        for i, (x, y) in enumerate(zip(questions.x.tolist(), questions.y.tolist(), strict=True)):
            place = {v: offsets[i] + k for k, v in enumerate(questions.candidates.of_one(i))}
            for sets in self._sets_to_count(questions, i):
                for made in self._tests(x, y, sets, self._test.na_in_rules):
                    if math.isnan(made.value):
                        raise no_p_value(x, y, made.S)
                    if made.independent:
                        found[i] += 1
                        containing[[place[v] for v in made.S]] += 1
        return Counts(found, containing)

    def _sets_to_count(self, questions: Questions, i: int) -> Iterator[Iterable[Set]]:
        """The sets of a pair; for a user's function in pcalg's order, in which candidate k stands for bit k."""
        sizes = questions.sizes()
        if self._test.has_r:
            yield from (_sets(questions, i, size) for size in sizes)
            return
        candidates = questions.candidates.of_one(i)
        sets = (tuple(v for k, v in enumerate(candidates) if bits >> k & 1) for bits in range(2 ** len(candidates)))
        yield (S for S in sets if len(S) in sizes and not _skipped(questions, i, S))


def _as_searched(level: int, candidates: list[int], outcome: tuple[int, bool, float]) -> Searched:
    """What `PairTest.search` has found out about a pair, of which it made a test at least."""
    n_tests, separated, p = outcome
    S = next(islice(combinations(candidates, level), n_tests - 1, None))
    return Searched(n_tests, Made(S, True, p, p) if separated else None, p)


def _sets(questions: Questions, i: int, size: int) -> Iterator[Set]:
    """The sets of pair i that have this size, in lexicographic order of their positions."""
    candidates = questions.candidates.of_one(i)
    return (S for S in combinations(candidates, size) if not _skipped(questions, i, S))


def _skipped(questions: Questions, i: int, S: Set) -> bool:
    return questions.skip is not None and set(S) <= set(questions.skip.of_one(i))
