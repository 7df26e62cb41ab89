"""Resamples in this process, or on any executor of `concurrent.futures`.

A task of an executor computes one resample, or several if they are quick. The data come with the first task; the others
name the study by its hash, and a worker that does not have it replies so, whereupon the task is sent again with the
study. So each worker gets the data about once, whatever the kind of executor, and a restarted worker gets them again.
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from pycupc.stability.study import Outcome, Study
from pycupc.system.machine import available_cores

#: Seconds that a task of several resamples should take, at least and at most: an executor needs milliseconds for each
#: task, at whose end resamples no longer run side by side; a worker that dies loses what the task had done.
_LEAST_SECONDS, _MOST_SECONDS = 0.05, 1.0

#: Tasks at any time: two for each worker that has replied, so that none waits for work, and this many more, which find
#: the others. Each gets an equal share of the rest, so that all workers end at about the same time.
_MORE_TASKS = 2

#: Seconds after which, if no worker has replied, resamples are regarded as slow, and each core is given one.
_PATIENCE = 0.1

#: Number of studies that a worker keeps.
_MOST_STUDIES = 2

_studies: OrderedDict[str, Study] = OrderedDict()
_lock = threading.Lock()


class ResampleFailed(Exception):
    """A resample could not be computed; `__cause__` is the reason."""

    def __init__(self, index: int) -> None:
        super().__init__(f"resample {index}")
        self.index = index


def outcomes_here(study: Study, wanted: Sequence[int], at_once: int = 1) -> Iterator[Outcome]:
    """Yield the outcomes of the resamples `wanted`, computed in this process, `at_once` at a time; in any order.

    An engine that uses all cores is as fast with one resample after the other as with several at once.

    Raises
    ------
    ResampleFailed, KeyboardInterrupt
    """
    if at_once == 1:
        for i in wanted:
            with _naming(i):
                outcome = study.outcome(i)
            yield outcome
        return
    stopped = threading.Event()

    def stop_early(*_: object) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt

    with ThreadPoolExecutor(at_once) as pool:
        waiting = deque(wanted)
        running: dict[Future[Outcome], int] = {}
        try:
            while waiting or running:
                while waiting and len(running) < at_once:
                    i = waiting.popleft()
                    running[pool.submit(study.outcome, i, stop_early)] = i
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    with _naming(running.pop(future)):
                        outcome = future.result()
                    yield outcome
        finally:
            stopped.set()
            for future in running:
                future.cancel()


def outcomes_on(executor: Executor, study: Study, wanted: Sequence[int]) -> Iterator[Outcome]:
    """Yield the outcomes of the resamples `wanted`, computed by the workers of an executor, as they finish.

    Raises
    ------
    ResampleFailed, KeyboardInterrupt
    """
    _remember(study)  # for workers that are threads of this process, or forked from it
    tasks = _Tasks(executor, study, wanted)
    try:
        while tasks.submit_more():
            yield from tasks.next_outcomes()
    finally:
        tasks.cancel()


@dataclass(frozen=True)
class Reply:
    """The result of a task of an executor.

    Attributes
    ----------
    worker : str
        Its host and process.
    thread : int
    outcomes : tuple of Outcome, or None
        None if the worker does not have the study. Of several resamples those that were computed before one failed.
    seconds : float
        What computing them took.
    """

    worker: str
    thread: int
    outcomes: tuple[Outcome, ...] | None = None
    seconds: float = 0.0


def work(key: str, number: int, resamples: tuple[int, ...], study: Study | None = None) -> Reply:
    """One task of an executor: these resamples of the study with this key, if this process has it.

    The exception of a resample is raised if that was the task's only one. The number makes the call different from all
    others: Dask answers a call that equals an earlier one with the earlier reply, if it still has it.
    """
    if study is not None:
        _remember(study)
        known: Study | None = study
    else:
        with _lock:
            known = _studies.get(key)
    worker = f"{platform.node()} {os.getpid()}", threading.get_ident()
    if known is None:
        return Reply(*worker)
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    if len(resamples) == 1:
        outcomes.append(known.outcome(resamples[0]))
    else:
        with suppress(ResampleFailed):  # the others are sent again, one to a task
            outcomes.extend(outcomes_here(known, resamples, known.at_once()))
    return Reply(*worker, tuple(outcomes), time.perf_counter() - began)


class _Tasks:
    """The tasks of an executor, and the state of its workers."""

    def __init__(self, executor: Executor, study: Study, wanted: Sequence[int]) -> None:
        self._executor, self._study = executor, study
        self._waiting = deque(wanted)
        self._alone: set[int] = set()  # resamples that get a task to themselves
        self._submitted = 0
        self._running: dict[Future[Reply], tuple[int, tuple[int, ...]]] = {}  # number of the task, its resamples
        self._finished: SimpleQueue[Future[Reply]] = SimpleQueue()
        self._brought: dict[str, int] = {}  # workers that lacked the study: the last task that was to bring it
        self._threads: set[tuple[str, int]] = set()  # of all workers, that have replied
        self._supposed = 1  # threads, before any has replied
        self._seconds = _MOST_SECONDS  # for one resample

    def submit_more(self) -> bool:
        """Submit as many tasks as the workers need; False if all have been done."""
        most = 2 * (len(self._threads) or self._supposed) + _MORE_TASKS
        while self._waiting and len(self._running) < most:
            self._submit(self._batch(len(self._waiting) / most), with_study=self._submitted == 0)
        return bool(self._running)

    def next_outcomes(self) -> tuple[Outcome, ...]:
        """Wait for a task, and return its outcomes; none if nothing has happened for a while."""
        try:
            future = self._finished.get(timeout=None if self._threads else _PATIENCE)
        except Empty:
            self._supposed = available_cores()
            return ()
        number, batch = self._running.pop(future)
        with _naming(batch[0]):
            reply = future.result()
        self._threads.add((reply.worker, reply.thread))
        if reply.outcomes is None:
            self._send_again(number, batch, reply.worker)
            return ()
        if reply.outcomes:
            self._seconds = max(reply.seconds / len(reply.outcomes), 1e-6)
        left = set(batch).difference(outcome.index for outcome in reply.outcomes)
        self._alone |= left
        self._waiting.extendleft(sorted(left, reverse=True))
        return reply.outcomes

    def cancel(self) -> None:
        """Cancel the tasks that have not begun."""
        for future in self._running:
            future.cancel()

    def _batch(self, share: float) -> tuple[int, ...]:
        """The resamples of the next task: about `share`, if that takes neither too little time nor too much."""
        most = max(1, round(min(max(share, _LEAST_SECONDS / self._seconds), _MOST_SECONDS / self._seconds)))
        batch = [self._waiting.popleft()]
        while len(batch) < most and self._waiting and self._alone.isdisjoint((batch[0], self._waiting[0])):
            batch.append(self._waiting.popleft())
        return tuple(batch)

    def _send_again(self, number: int, batch: tuple[int, ...], worker: str) -> None:
        """Send the study along, unless that was done for this worker after task `number` was submitted.

        If a later task comes back as well, another worker took the one that brought the study.
        """
        if number > self._brought.get(worker, 0):
            self._brought[worker] = self._submitted
            self._submit(batch, with_study=True)
        else:
            self._waiting.extendleft(reversed(batch))

    def _submit(self, batch: tuple[int, ...], *, with_study: bool) -> None:
        study = (self._study,) if with_study else ()
        with _naming(batch[0]):
            future = self._executor.submit(work, self._study.key, self._submitted, batch, *study)
        self._running[future] = self._submitted, batch
        self._submitted += 1
        future.add_done_callback(self._finished.put)


def _remember(study: Study) -> None:
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
