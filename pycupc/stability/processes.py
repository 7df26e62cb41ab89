"""Resamples in this process, or on any executor of `concurrent.futures`.

A task of an executor computes one resample. The data come with the first task; the others name the study by its hash,
and a worker that does not have it replies so, whereupon the task is sent again with the study. So each worker gets the
data about once, whatever the kind of executor, and a restarted worker gets them again.
"""

from __future__ import annotations

import os
import platform
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from typing import Any

from pycupc.stability.study import Outcome, Resampled
from pycupc.system.machine import available_cores, in_threads

#: Number of studies that a worker keeps.
_MOST_STUDIES = 2

_studies: OrderedDict[str, Resampled[Any]] = OrderedDict()
_lock = threading.Lock()


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
        with _naming(i):
            return study.outcome(i)

    yield from in_threads(outcome, wanted, at_once)


def outcomes_on(executor: Executor, study: Resampled[Any], wanted: Sequence[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the resamples `wanted`, computed by the workers of an executor, as they finish.

    At any time there are two tasks for each worker that has replied, so that none waits for work, and one more for each
    core of this machine, which find the other workers. ResampleFailed or KeyboardInterrupt may end it.
    """
    _remember(study)  # for workers that are threads of this process, or forked from it
    waiting, submitted = deque(wanted), 0
    running: dict[Future[tuple[Worker, Any]], tuple[int, int]] = {}  # number of the task, its resample
    workers: set[Worker] = set()  # of which a reply has come
    brought: dict[tuple[str, int], int] = {}  # processes that lacked the study: the last task that was to bring it
    again: set[int] = set()  # resamples sent once more: Dask may fail a task whose worker dies while it replies

    def submit(i: int, *, with_study: bool) -> None:
        nonlocal submitted
        with _naming(i):
            sent = (study,) if with_study else ()
            running[executor.submit(work, study.key, submitted, i, *sent)] = submitted, i
        submitted += 1

    try:
        while waiting or running:
            while waiting and len(running) < 2 * len(workers) + available_cores():
                submit(waiting.popleft(), with_study=submitted == 0)
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=running.__getitem__):  # one that failed must not hide an earlier outcome
                number, i = running.pop(future)
                if i not in again and not future.cancelled() and isinstance(future.exception(), Exception):
                    again.add(i)
                    waiting.appendleft(i)
                    continue
                with _naming(i):
                    worker, outcome = future.result()
                workers.add(worker)
                process = worker[:2]
                if outcome is not None:
                    yield outcome
                elif number > brought.get(process, -1):
                    brought[process] = submitted
                    submit(i, with_study=True)
                else:  # a task that brings the study is on its way; if a later one comes back, another worker took it
                    waiting.appendleft(i)
    finally:
        for future in running:
            future.cancel()


#: Host, process, thread.
Worker = tuple[str, int, int]


def work(key: str, number: int, i: int, study: Resampled[Any] | None = None) -> tuple[Worker, Any]:
    """One task of an executor: the worker, and the outcome of resample `i`, None if the worker does not have the study.

    The number makes the call different from all others: Dask answers a call that equals an earlier one with the earlier
    reply, if it still has it.
    """
    if study is not None:
        _remember(study)
    else:
        with _lock:
            study = _studies.get(key)
    worker = platform.node(), os.getpid(), threading.get_ident()
    return worker, None if study is None else study.outcome(i)


def _remember(study: Resampled[Any]) -> None:
    with _lock:
        _studies[study.key] = study
        _studies.move_to_end(study.key)
        while len(_studies) > _MOST_STUDIES:
            _studies.popitem(last=False)


@contextmanager
def _naming(i: int) -> Iterator[None]:
    """Turn an exception into `ResampleFailed`, which names the resample."""
    try:
        yield
    except Exception as error:
        raise ResampleFailed(i) from error
