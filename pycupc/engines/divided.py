"""An engine whose levels and questions the workers of an executor compute, where they are large.

The workers have engines of the same kind. Neither their number nor the loss of one can change an answer: a piece of
work depends on its arguments alone, and each piece is entered once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.elsewhere import WorkersOfEngine
from pycupc.engines.protocol import (
    UNDIVIDED,
    Answers,
    AnyEngine,
    CountHook,
    Counts,
    Finished,
    Floats,
    How,
    LevelResult,
    Lists,
    Mask,
    Questions,
    Sampled,
    State,
)
from pycupc.graph.lists import spans, starts
from pycupc.graph.tiers import NearLists
from pycupc.independence.base import IndependenceTest
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.test import compares_r

if TYPE_CHECKING:
    from typing import Unpack

#: Estimated seconds of a part of some questions; questions of less than two parts are answered at home. At most
#: `MOST_PARTS` of them.
PART_SECONDS, MOST_PARTS = 0.1, 64


class DividedEngine(AnyEngine):
    """An engine with workers.

    `engine`: makes small work at home. `again`: makes another one of its kind, at a worker, so it must be picklable.
    """

    def __init__(self, engine: AnyEngine, again: Callable[[], AnyEngine], executor: Executor) -> None:
        self.name, self._engine, self._again, self._executor = engine.name, engine, again, executor
        self.side_by_side, self.correlates_on_device = engine.side_by_side, engine.correlates_on_device
        self.compiles_beside, self.divides = engine.compiles_beside, engine.divides
        self.keeps_levels = engine.keeps_levels

    def correlation(self, X: Floats) -> Floats:
        return self._engine.correlation(X)

    def runs(self, test: IndependenceTest) -> bool:
        return self._engine.runs(test)

    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        return self._engine.memory(test)

    def take(self, test: IndependenceTest, names: Sequence[str], **how: Unpack[How]) -> None:
        self._test, self._names = test, names
        self._workers = WorkersOfEngine(self._executor, self._make_there)
        how["division"] = (how.get("division") or UNDIVIDED)._replace(elsewhere=self._workers)
        self._engine.take(test, names, **how)

    def _make_there(self) -> Callable[[], AnyEngine]:
        return partial(_taken, self._again, _without_callbacks(self._test), list(self._names))

    def run_level(self, level: int) -> LevelResult:
        return self._engine.run_level(level)

    def state(self) -> State:
        return self._engine.state()

    def answered(self, level: int) -> Mask | None:
        return self._engine.answered(level)

    def sample(self) -> Sampled | None:
        return self._engine.sample()

    def resume(self, levels: Sequence[Finished]) -> None:
        self._engine.resume(levels)

    def close(self) -> None:
        self._engine.close()

    def first_separating(self, questions: Questions, progress: CountHook | None = None) -> Answers:
        if len(parts := self._parts(questions)) < 2:
            return self._engine.first_separating(questions, progress)
        m, width, done = len(questions.x), questions.sizes().stop, 0
        found, value, p = np.zeros(m, dtype=np.bool_), np.full(m, np.nan), np.full(m, -np.inf)
        open_, n_tests = np.zeros(m, dtype=np.bool_), np.zeros((m, width), dtype=np.int64)
        more, sets = np.zeros(m, dtype=np.bool_), cast("list[list[int]]", [[] for _ in range(m)])
        for part, (answers, unfinished) in self._answers(_first_separating, questions, parts, not self.divides):
            found[part], value[part], p[part], open_[part] = answers.found, answers.value, answers.p, answers.open
            more[part] = unfinished
            if answers.n_tests.dtype == object:
                n_tests = n_tests.astype(object)
            n_tests[part, : answers.n_tests.shape[1]] = answers.n_tests
            for k in np.flatnonzero(answers.found).tolist():
                sets[part[k]] = answers.S.of_one(k)
            done += len(part)
            if progress is not None:
                progress(done, m)

        def largest_p(pairs: NDArray[np.int64]) -> Floats:  # asked for once in a while, and then of few pairs
            out, again = p[pairs], more[pairs]
            if again.any():
                out[again] = self._engine.first_separating(_part_of(questions, pairs[again])).finished().p
            return out

        return Answers(found, Lists.of(sets), value, p, n_tests, open_, largest_p if more.any() else None)

    def first_separating_entries(self, lists: NearLists, entries: NDArray[np.int64], level: int) -> Answers | None:
        return self._engine.first_separating_entries(lists, entries, level)

    def count_separating(self, questions: Questions) -> Counts:
        if len(parts := self._parts(questions)) < 2:
            return self._engine.count_separating(questions)
        offsets, members = questions.candidates
        found, containing = np.zeros(len(questions.x), np.int64), np.zeros(len(members), np.int64)
        for part, counts in self._answers(_count_separating, questions, parts):
            found[part] = counts.found
            containing[spans(offsets[part], questions.candidates.sizes[part])] = counts.containing
        return Counts(found, containing)

    def _parts(self, questions: Questions) -> list[NDArray[np.int64]]:
        """The numbers of the pairs in each part, of about equal work."""
        sizes, test = questions.sizes(), self._test
        seconds = subsets.by_degree(lambda d: sum(subsets.about(d, k) for k in sizes), questions.candidates.sizes)
        seconds = np.minimum(seconds, float(questions.most_tests(test.has_r))) * test.seconds
        number = int(min(seconds.sum() / PART_SECONDS, MOST_PARTS, len(seconds)))
        order = np.argsort(-seconds, kind="stable")
        return [np.sort(order[k::number]) for k in range(number)] if number > 1 else [order]

    def _answers(
        self, work: Callable[..., Any], questions: Questions, parts: Sequence[NDArray[np.int64]], *arguments: Any
    ) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """The parts with the results of ``work(engine, questions of the part, *arguments)``."""
        items = ((k, (_part_of(questions, part), *arguments)) for k, part in enumerate(parts))
        for k, result in self._workers.results_of_engines(work, items, len(parts), "parts of the questions"):
            yield parts[k], result


def _taken(make: Callable[[], AnyEngine], test: IndependenceTest, names: Sequence[str]) -> AnyEngine:
    """An engine that has taken the test, at a worker."""
    engine = make().for_test(test)
    engine.take(test, names)
    return engine


def _first_separating(engine: AnyEngine, questions: Questions, finish: bool) -> tuple[Answers, Mask | bool]:
    """The answers; and of which pairs a larger p-value may be found, unless they are to `finish`."""
    answers = engine.first_separating(questions)
    if finish or answers.unfinished is None:
        return answers.finished(), False
    return answers._replace(unfinished=None), ~answers.found


def _count_separating(engine: AnyEngine, questions: Questions) -> Counts:
    return engine.count_separating(questions)


def _part_of(questions: Questions, pairs: NDArray[np.int64]) -> Questions:
    """The questions about some of the pairs."""

    def some(lists: Lists) -> Lists:
        return Lists(starts(lists.sizes[pairs]), lists.of_each(pairs)[1])

    skip = None if questions.skip is None else some(questions.skip)
    return questions._replace(
        x=questions.x[pairs], y=questions.y[pairs], candidates=some(questions.candidates), skip=skip
    )


def _without_callbacks(test: IndependenceTest) -> IndependenceTest:
    """The test as it is sent: with correlations or the data from which they are computed, not with both."""
    if not compares_r(test):
        return test
    sent, data = copy.copy(test), copy.copy(test.data)
    of = data.correlations
    data.correlations = Correlations(of.dense()) if of.has_dense else Correlations(data=of.data)
    data.quiet, sent.data = True, data
    return sent
