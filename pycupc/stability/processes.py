"""Resamples in this process, or on any executor of `concurrent.futures`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

from pycupc.stability.study import Outcome, Resampled
from pycupc.system.executors import ItemFailed, Shared, Workers
from pycupc.system.machine import in_threads


class ResampleFailed(Exception):
    """A resample could not be computed; `__cause__` is the reason."""

    def __init__(self, index: int) -> None:
        super().__init__(f"resample {index}")
        self.index = index


def outcomes_here(study: Resampled[Any], wanted: Sequence[int], at_once: int = 1) -> Iterator[Outcome]:
    """Yield the outcomes of the resamples `wanted`, computed in this process, `at_once` at a time; in order.

    An engine that uses all cores is as fast with one resample after the other as with several at once. ResampleFailed
    or KeyboardInterrupt may end it, after the resamples that are running in threads.
    """

    def outcome(i: int) -> Outcome:
        try:
            return study.outcome(i)
        except Exception as error:
            raise ResampleFailed(i) from error

    yield from in_threads(outcome, wanted, at_once)


def outcomes_on(executor: Executor, study: Resampled[Any], wanted: Sequence[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the resamples `wanted`, each a task of an executor, as its workers finish them.

    ResampleFailed or KeyboardInterrupt may end it.
    """
    items = ((i, (i,)) for i in wanted)
    try:
        for _, outcome in Workers(executor).results(outcome_of, items, [Shared(study.key, study)]):
            yield outcome
    except ItemFailed as failed:
        raise ResampleFailed(failed.key) from failed.__cause__


def outcome_of(study: Resampled[Any], i: int) -> Outcome:
    """The work of a task."""
    return study.outcome(i)
