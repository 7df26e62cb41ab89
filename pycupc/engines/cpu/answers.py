"""Questions about single pairs: one test for each set, by the canonical formula or from a contingency table.

The sets of all pairs are made and tested in rounds: a few sets of each open pair at first, more in each round.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu import threads
from pycupc.engines.cpu.batches import Found, rounds, skipped, take_round
from pycupc.engines.cpu.discrete_turns import tests_in_turn
from pycupc.engines.cpu.gaussian_questions import Asked, walk_sets
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.pruning.largest_p_values import say_unsure
from pycupc.engines.cpu.pruning.pair_search import Outcome, PairSearch, Reached, first_searched
from pycupc.engines.cpu.pruning.plan import PruningMode
from pycupc.engines.cpu.tuning import INLINE_TESTS, WORTH_A_WARNING
from pycupc.engines.protocol import Answers, CountHook, Counts, Floats, Lists, Mask, Questions
from pycupc.engines.subsets import about
from pycupc.graph.lists import starts
from pycupc.graph.questions import TEST_SECONDS
from pycupc.independence.base import IndependenceTest, no_p_value
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.partial_correlation import canonical_r
from pycupc.independence.gaussian.test import GaussianTest, compares_r
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.logging import logger

#: Searches pairs of the questions, given the sets of some size or more of each: how far they get, by pair.
OnDevice = Callable[[GaussianTest, Questions, Indices, Indices], dict[int, Reached]]
#: What makes the tests of a class whose sets are tested in turns.
_IN_TURN: dict[type[IndependenceTest], Callable[..., Iterator[None]]] = {DiscreteTest: tests_in_turn}


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

    def enumerate(self, begin: Indices, end: Indices) -> None:
        """Test the pairs that are left given their sets of begin[i] to end[i] - 1 members."""
        if compares_r(self._test):
            self._walk(self._test, begin, end)
            return
        for size in self.sizes:
            asked = self._left & (begin <= size) & (size < end)
            if not asked.any():
                continue
            for _ in self._tests_of(size, asked):
                asked &= ~self._separated
                self._over &= ~self._separated
                self._left &= ~self._over & ~self._separated
                self._report(int(self._left.sum()))

    def _tests_of(self, size: int, asked: Mask) -> Iterator[None]:
        """Make the tests of the pairs that are `asked` given their sets of one size, some at a time."""
        test, over, separated = self._test, self._over, self._separated
        found = Found(self._n_tests, self._weight, self._value, separated, self._inside, self._room, over)
        if (in_turn := _IN_TURN.get(type(test))) is not None:
            yield from in_turn(test, self._questions, size, asked, found, self._n_threads)
            return
        made = rounds(cast("SetwiseTest", test), self._questions, size, asked, self._room, over, self._n_threads)
        for owner, positions, _, independent, p in made:
            take_round(self._questions.candidates.offsets, owner, positions, independent, p, test.na_p, found)
            yield

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
    m, (offsets, candidates), sizes = len(questions.x), questions.candidates, questions.sizes()
    room = np.full(m, 2**62)
    if compares_r(test):
        ask = _asked(questions, np.full(m, sizes.start), np.full(m, sizes.stop - 1), room)
        made = walk_sets(test, questions, ask, n_threads, only_first=False)
        return Counts(made.found, made.containing)
    found, containing = np.zeros(m, dtype=np.int64), np.zeros(len(candidates), dtype=np.int64)
    asked, over = np.ones(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    for size in sizes:
        made_of_size = rounds(cast("SetwiseTest", test), questions, size, asked, room, over, n_threads)
        for owner, positions, sets, independent, p in made_of_size:
            if (undefined := np.flatnonzero(np.isnan(p))).size:
                independent[undefined], i = True, undefined[0]
                if np.isnan(test.na_in_rules):
                    raise no_p_value(int(questions.x[owner[i]]), int(questions.y[owner[i]]), tuple(sets[i].tolist()))
            found += np.bincount(owner[independent], minlength=m)
            at = (offsets[owner, None] + positions)[independent]
            containing += np.bincount(at.ravel(), minlength=len(candidates))
    return Counts(found, containing)


def _asked(questions: Questions, first: Indices, last: Indices, room: Indices) -> Asked:
    """The questions about sets of first[i] to last[i] members."""
    (offsets, members), ends = questions.candidates, (questions.x, questions.y)
    x, y, candidates = (np.ascontiguousarray(values, dtype=np.int64) for values in (*ends, members))
    return Asked(x, y, offsets, candidates, skipped(questions), first, last, room)
