"""Questions about pairs without the matrix of all variables: some pairs at a time, with a matrix of their variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pycupc.engines.base import Answers, CountHook, Counts, Lists, Questions
from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.tuning import EXTRACT_WIDTH
from pycupc.independence.gaussian.columns import Columns
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.system.machine import in_threads

Answer = TypeVar("Answer")
#: Answers questions about a test, in one thread.
Ask = Callable[[GaussianTest, Questions], Answer]


class _Part(NamedTuple):
    """Some of the questions, in the numbers of their own variables, `members`."""

    questions: Questions
    members: Indices


def first_separating(
    columns: Columns, test: GaussianTest, questions: Questions, ask: Ask[Answers], n_threads: int,
    progress: CountHook | None = None,
) -> Answers:  # fmt: skip
    """`Engine.first_separating`, where `ask` answers the questions of a part."""
    parts, done, m = [], 0, len(questions.x)
    for part, answers in _answered(columns, test, questions, lambda *asked: ask(*asked).finished(), n_threads):
        parts.append(answers._replace(S=Lists(answers.S.offsets, part.members[answers.S.members].astype(np.int32))))
        done += len(part.questions.x)
        if progress is not None:
            progress(done, m)
    width = max(part.n_tests.shape[1] for part in parts)
    lengths = np.concatenate([np.diff(part.S.offsets) for part in parts])
    sets = Lists(np.concatenate(([0], np.cumsum(lengths))), np.concatenate([part.S.members for part in parts]))
    n_tests = [np.pad(part.n_tests, ((0, 0), (0, width - part.n_tests.shape[1]))) for part in parts]
    others: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in Answers._fields
        if name not in ("S", "n_tests", "unfinished")
    }
    return Answers(S=sets, n_tests=np.concatenate(n_tests), **others)


def count_separating(
    columns: Columns, test: GaussianTest, questions: Questions, ask: Ask[Counts], n_threads: int
) -> Counts:
    """`Engine.count_separating`, where `ask` answers the questions of a part."""
    parts = [counts for _, counts in _answered(columns, test, questions, ask, n_threads)]
    return Counts(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _answered(
    columns: Columns, test: GaussianTest, questions: Questions, ask: Ask[Answer], n_threads: int
) -> Iterator[tuple[_Part, Answer]]:
    """The parts of the questions, in order, and what `ask` says."""

    def answer(part: _Part) -> tuple[_Part, Answer]:
        data = SuffStat(columns.among(part.members), test.data.n)
        return part, ask(GaussianTest(data, test.alpha), part.questions)

    return in_threads(answer, _parts(questions), n_threads)


def _parts(questions: Questions) -> Iterator[_Part]:
    """Consecutive pairs, whose variables are not many more than `EXTRACT_WIDTH`; at least one part."""
    ends = np.cumsum(np.diff(questions.candidates.offsets) + 2)
    first, before = 0, 0
    while first < len(ends) or first == 0:
        end = max(first + 1, int(ends.searchsorted(before + EXTRACT_WIDTH, side="right")))
        yield _part(questions, first, min(end, len(ends)))
        first, before = end, int(ends[min(end, len(ends)) - 1]) if len(ends) else 0


def _part(questions: Questions, first: int, end: int) -> _Part:
    lists = [questions.candidates, *([] if questions.skip is None else [questions.skip])]
    names = [v.members[v.offsets[first] : v.offsets[end]] for v in lists]
    x, y = questions.x[first:end], questions.y[first:end]
    everything = [np.arange(2), x, y, *names]  # a matrix has two variables or more
    members, at = np.unique(np.concatenate(everything), return_inverse=True)
    _, x, y, *numbers = np.split(at, np.cumsum([len(values) for values in everything[:-1]]))
    own = [
        Lists(v.offsets[first : end + 1] - v.offsets[first], values.astype(np.int32))
        for v, values in zip(lists, numbers, strict=True)
    ]
    skip = own[1] if len(own) > 1 else None
    return _Part(questions._replace(x=x, y=y, candidates=own[0], skip=skip), members.astype(np.int64))
