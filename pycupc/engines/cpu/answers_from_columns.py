"""Questions about pairs without the matrix of all variables: some pairs at a time, with a matrix of their variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from pycupc.engines.cpu.graph import Indices
from pycupc.engines.cpu.submatrices import of_width
from pycupc.engines.protocol import Answers, CountHook, Counts, Lists, Questions
from pycupc.graph.lists import starts
from pycupc.independence.gaussian.centred_columns import Columns
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.test import GaussianTest
from pycupc.system.machine import in_threads

Answer = TypeVar("Answer", Answers, Counts)
#: Answers questions about a test, in one thread.
Ask = Callable[[GaussianTest, Questions], Answer]


def first_separating(
    columns: Columns, test: GaussianTest, questions: Questions, ask: Ask[Answers], n_threads: int,
    progress: CountHook | None = None,
) -> Answers:  # fmt: skip
    """`Engine.first_separating`, where `ask` answers the questions of a part."""
    parts, done, m = [], 0, len(questions.x)
    for members, answers in _answered(columns, test, questions, lambda *asked: ask(*asked).finished(), n_threads):
        parts.append(answers._replace(S=Lists(answers.S.offsets, members[answers.S.members].astype(np.int32))))
        done += len(answers.found)
        if progress is not None:
            progress(done, m)
    found, S, value, p, n_tests, is_open, _ = zip(*parts, strict=True)
    width, lengths = max(part.shape[1] for part in n_tests), np.concatenate([part.sizes for part in S])
    return Answers(
        np.concatenate(found),
        Lists(starts(lengths), np.concatenate([part.members for part in S])),
        np.concatenate(value),
        np.concatenate(p),
        np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in n_tests]),
        np.concatenate(is_open),
    )


def count_separating(
    columns: Columns, test: GaussianTest, questions: Questions, ask: Ask[Counts], n_threads: int
) -> Counts:
    """`Engine.count_separating`, where `ask` answers the questions of a part."""
    parts = [counts for _, counts in _answered(columns, test, questions, ask, n_threads)]
    return Counts(*(np.concatenate(values) for values in zip(*parts, strict=True)))


def _answered(
    columns: Columns, test: GaussianTest, questions: Questions, ask: Ask[Answer], n_threads: int
) -> Iterator[tuple[Indices, Answer]]:
    """The answers of `ask` about one part of the questions after the other, at least one, and the part's variables."""

    def answer(part: slice) -> tuple[Indices, Answer]:
        own, members = _part(questions, part.start, part.stop)
        data = SuffStat(columns.among(members), test.data.n)
        return members, ask(GaussianTest(data, test.alpha), own)

    parts = list(of_width(questions.candidates.sizes + 2))
    return in_threads(answer, parts or [slice(0, 0)], n_threads)


def _part(questions: Questions, first: int, end: int) -> tuple[Questions, Indices]:
    """Some of the questions in the numbers of their own variables, and these variables."""
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
    return questions._replace(x=x, y=y, candidates=own[0], skip=skip), members.astype(np.int64)
