"""Questions about single pairs: one test for each set, by the canonical formula or from a contingency table.

Threads take the pairs, which are items: `gaussian_questions`, `setwise_walk`, `pruning/pair_search`.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu import threads
from pycupc.engines.cpu.gaussian_questions import Asked, walk_sets
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.largest_p_values import say_unsure
from pycupc.engines.cpu.pruning.pair_search import Outcome, PairSearch, Reached, first_searched
from pycupc.engines.cpu.pruning.plan import PruningMode
from pycupc.engines.cpu.row_items import MOST_COUNTED
from pycupc.engines.cpu.setwise_walk import FULL, Found, pairs_of_questions, skipped, tests_of_sets
from pycupc.engines.cpu.tuning import INLINE_TESTS, WORTH_A_WARNING
from pycupc.engines.cpu.turn_walk import work_on_sets
from pycupc.engines.protocol import Answers, CountHook, Counts, Floats, Lists, Mask, Questions
from pycupc.engines.subsets import about
from pycupc.graph.lists import starts
from pycupc.graph.questions import TEST_SECONDS
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.partial_correlation import canonical_r
from pycupc.independence.gaussian.test import GaussianTest, compares_r
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.logging import logger

#: Searches pairs of the questions, given the sets of some size or more of each: how far they get, by pair.
OnDevice = Callable[[GaussianTest, Questions, Indices, Indices], dict[int, Reached]]


def first_separating(
    test: IndependenceTest,
    questions: Questions,
    n_threads: int,
    progress: CountHook | None = None,
    pruning: PruningMode = True,
    device: OnDevice | None = None,
) -> Answers:
    """See `Engine.first_separating`; `device` searches before the CPU does."""
    run, m = _Run(test, questions, n_threads, progress), len(questions.x)
    sizes = run.sizes
    first = first_searched(questions, pruning) if pruning and compares_r(test) else np.full(m, sizes.stop)
    run.enumerate(np.full(m, sizes.start), first)
    if compares_r(test) and (first < sizes.stop).any():
        unsound = run.search(test, first, device)
        run.enumerate(first, np.where(unsound, sizes.stop, 0))
    return run.answers()


class _Run:
    """The search for the first separating set of each pair."""

    def __init__(
        self, test: IndependenceTest, questions: Questions, n_threads: int, progress: CountHook | None
    ) -> None:
        self._test, self._questions, self._n_threads, self._progress = test, questions, n_threads, progress
        self.sizes = questions.sizes()
        m, self._room = len(questions.x), np.full(len(questions.x), questions.most_tests(test.has_r))
        self._left = np.ones(m, dtype=np.bool_)  # pairs not separated, and not over
        self._over = np.zeros(m, dtype=np.bool_)  # pairs whose work exceeded the budget
        self._n_tests: NDArray[Any] = np.zeros((m, self.sizes.stop), dtype=np.int64)
        self._value, self._weight = np.full(m, math.nan), np.full(m, -math.inf)
        self._separated = np.zeros(m, dtype=np.bool_)
        self._inside = np.zeros(len(questions.candidates.members), dtype=np.bool_)  # members of the separating sets
        self._searched: dict[int, tuple[PairSearch, int, int]] = {}  # not separated: search, first size, its tests

    def _ends(self, i: int) -> tuple[int, int]:
        return int(self._questions.x[i]), int(self._questions.y[i])

    def _report(self, undecided: int) -> None:
        if self._progress is not None:
            self._progress(len(self._left) - undecided, len(self._left))

    def _report_decided(self, left: int, decided: int) -> None:
        """Report that some of the `left` pairs are decided; at least one of them is not final."""
        self._report(max(left - decided, 1))

    def enumerate(self, begin: Indices, end: Indices) -> None:
        """Test the pairs that are left given their sets of begin[i] to end[i] - 1 members."""
        if compares_r(self._test):
            self._walk(self._test, begin, end)
            return
        test, degree = cast("SetwiseTest", self._test), self._questions.candidates.sizes
        for size in self.sizes:
            asked = np.flatnonzero(self._left & (begin <= size) & (size < end) & (degree >= size))
            if not len(asked):
                continue
            found = Found.of_questions(len(self._left), len(self._inside))
            report = partial(self._report_decided, int(self._left.sum()))
            _test_sets(test, self._questions, asked, size, self._room, found, self._n_threads, report)
            separated = found.rank >= 0
            self._n_tests[:, size] += found.made
            self._room -= found.made
            self._weight = np.maximum(self._weight, -found.smallest)
            self._value[separated], self._separated[separated] = found.r[separated], True
            self._inside |= found.containing > 0
            self._over |= found.done == FULL
            self._left &= ~self._over & ~separated

    def _walk(self, test: GaussianTest, begin: Indices, end: Indices) -> None:
        """`enumerate` Gaussian tests."""
        ask = _asked(self._questions, begin, np.where(self._left, end - 1, -1), self._room)
        progress = threads.Progress(lambda decided: self._report(max(len(self._left) - decided, 1)))
        made = walk_sets(test, self._questions, ask, self._n_threads, progress, only_first=True)
        self._n_tests += made.n_tests
        self._over |= made.open
        self._weight = np.maximum(self._weight, -made.z)
        self._enter(test, np.flatnonzero(made.found), made.r)
        self._inside |= made.containing > 0
        self._left &= ~self._over & ~self._separated

    def search(self, test: GaussianTest, first: Indices, device: OnDevice | None) -> Mask:
        """Search the sets of first[i] members or more of the pairs left; returns which pairs allow no search."""
        degree = self._questions.candidates.sizes
        pairs = np.flatnonzero(self._left & (first <= np.minimum(degree, self._questions.largest)))
        unsound = np.zeros(len(first), dtype=np.bool_)
        if not len(pairs):
            return unsound
        reached = device(test, self._questions, pairs, first[pairs]) if device else None
        skip = skipped(self._questions)
        asked = ~skip if len(skip) else np.ones(degree.sum(), dtype=np.bool_)
        search = PairSearch(test, self._questions, asked, reached)
        progress = threads.Progress(lambda decided: self._report(len(pairs) - decided))
        spent = TEST_SECONDS * self._n_tests[pairs].sum(axis=1).astype(np.float64)
        outcomes = search.decide(pairs, first[pairs], -self._weight[pairs], spent, self._n_threads, progress)
        unsound[[i for i, outcome in outcomes.items() if not outcome.sound]] = True
        outcomes = {i: outcome for i, outcome in outcomes.items() if outcome.sound}
        self._take(test, first, outcomes)
        if self._questions.largest_p:
            kept = {i: v for i, v in outcomes.items() if v.positions is None and not v.open}
            self._searched = {i: (search, int(first[i]), sum(v.n_tests)) for i, v in kept.items()}
        self._warn_of(unsound, degree)
        return unsound

    def largest_p(self, pairs: Indices) -> Floats:
        """`Answers.unfinished`."""
        begin, unsure = time.perf_counter(), []
        waiting = pairs[[i in self._searched for i in pairs.tolist()]]

        def find(i: int, state: threads.State) -> int:
            search, first, n_tests = self._searched[i]
            spent = TEST_SECONDS * int(self._n_tests[i, :first].sum())
            z, sure = search.smallest(i, first, n_tests, -float(self._weight[i]), spent, state)
            self._weight[i] = -z
            if not sure:
                unsure.append(i)
            return 1

        if len(waiting):
            degree = self._questions.candidates.sizes[waiting]  # those with the most candidates come first
            tasks = (partial(find, i) for i in waiting[np.argsort(-degree, kind="stable")].tolist())
            threads.run(threads.drawing(tasks), self._n_threads, INLINE_TESTS)
            for i in waiting.tolist():
                del self._searched[i]
            logger.info("smallest |z| of %d pairs, for pMax: %.3f s", len(waiting), time.perf_counter() - begin)
            say_unsure(len(unsure))
        return self._p()[pairs]

    def _warn_of(self, unsound: Mask, degree: Indices) -> None:
        """Warn of pairs that allow no search, if testing them given all sets takes long."""
        tests = sum(about(d, size) for d in degree[unsound & self._left].tolist() for size in self.sizes)
        most = min(tests, float(self._room[unsound].sum()))
        if TEST_SECONDS * most > WORTH_A_WARNING:
            x, y = self._ends(int(unsound.argmax()))
            warnings.warn(
                f"{int(unsound.sum())} pairs of variables, {x} and {y} first, are tested given one set after the "
                f"other, up to {most:.0e} tests, as bounds do not hold for nearly collinear candidates; a limit on the "
                "size of the sets, or a budget, makes this shorter",
                stacklevel=2,
            )

    def _take(self, test: GaussianTest, first: Indices, outcomes: dict[int, Outcome]) -> None:
        if any(n > 2**62 for outcome in outcomes.values() for n in outcome.n_tests):
            self._n_tests = self._n_tests.astype(object)
        found, r = [i for i, outcome in outcomes.items() if outcome.positions is not None], np.zeros(len(first))
        for i, outcome in outcomes.items():
            self._n_tests[i, first[i] : first[i] + len(outcome.n_tests)] = outcome.n_tests
            self._left[i], self._over[i], self._weight[i] = False, outcome.open, -outcome.z
            if outcome.positions is not None:
                x, y, candidates = *self._ends(i), self._questions.candidates.of_one(i)
                r[i] = canonical_r(test.data.C, x, y, sorted(candidates[k] for k in outcome.positions))
                self._inside[self._questions.candidates.offsets[i] + np.array(outcome.positions)] = True
        self._enter(test, np.array(found, dtype=np.int64), r)

    def _enter(self, test: GaussianTest, pairs: Indices, r: Floats) -> None:
        """Record that `pairs` are separated, with the canonical r; the last test of each pair has separated it."""
        if not len(pairs):
            return
        size = ((self._n_tests[pairs] > 0) * np.arange(self.sizes.stop)).max(axis=1, initial=0)
        self._separated[pairs], self._value[pairs] = True, r[pairs]
        assert test.n is not None
        self._weight[pairs] = -fisher_z.z_score(r[pairs], test.n, size)

    def answers(self) -> Answers:
        self._report(0)
        offsets, members = self._questions.candidates
        sets = Lists(starts(self._inside)[offsets], members[self._inside])
        unfinished = self.largest_p if self._searched else None
        return Answers(self._separated, sets, self._value, self._p(), self._n_tests, self._over, unfinished)

    def _p(self) -> Floats:
        p = np.where(self._questions.largest_p | self._separated, self._weight, math.nan)
        if self._test.has_r:
            known = np.isfinite(p)
            p[known] = fisher_z.z_to_p(p[known])
        return p


def count_separating(test: IndependenceTest, questions: Questions, n_threads: int) -> Counts:
    """See `Engine.count_separating`."""
    m, candidates, sizes = len(questions.x), questions.candidates, questions.sizes()
    room = np.full(m, 2**62)
    if compares_r(test):
        ask = _asked(questions, np.full(m, sizes.start), np.full(m, sizes.stop - 1), room)
        made = walk_sets(test, questions, ask, n_threads, only_first=False)
        return Counts(made.found, made.containing)
    found = Found.of_questions(m, len(candidates.members), rank=0)
    for size in sizes:
        asked = np.flatnonzero(candidates.sizes >= size)
        _test_sets(cast("SetwiseTest", test), questions, asked, size, room, found, n_threads)
    return Counts(found.rank, found.containing)


def _test_sets(
    test: SetwiseTest, questions: Questions, asked: Indices, size: int, room: Indices, found: Found, n_threads: int,
    report: Callable[[int], None] | None = None,
) -> None:  # fmt: skip
    """Test the pairs `asked` given their sets of one size: all of them without `report`, which takes the number of
    pairs decided, else up to the first that separates the pair.
    """
    pairs, total = pairs_of_questions(questions, asked, room), 0.0
    if not test.at_once:
        total = min(float(tests_of_sets(pairs.number, size).sum()) * max(test.cost, 1.0), MOST_COUNTED)
    n_threads = n_threads if total >= INLINE_TESTS else 1
    work = work_on_sets(test, pairs, size, found, n_threads, report, only_first=report is not None)
    threads.run(work, n_threads, int(total), threads.Progress(report) if report else None)


def _asked(questions: Questions, first: Indices, last: Indices, room: Indices) -> Asked:
    """The questions about sets of first[i] to last[i] members."""
    (offsets, members), ends = questions.candidates, (questions.x, questions.y)
    x, y, candidates = (np.ascontiguousarray(values, dtype=np.int64) for values in (*ends, members))
    return Asked(x, y, offsets, candidates, skipped(questions), first, last, room)
