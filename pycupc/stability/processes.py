"""Resamples in this process, or on any executor of `concurrent.futures`.

A task of an executor computes one resample, or a few if they are quick. The data are not sent with every task: a task
names the study by its hash, and a worker that does not have it replies so, whereupon the task is sent again with the
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
from queue import SimpleQueue

from pycupc.machine import available_cores
from pycupc.stability.study import Outcome, Study

#: Seconds that a task should take, in which several resamples are computed if they are quick: an executor needs
#: milliseconds for each task, and a worker that dies loses what the task had done.
_SECONDS_PER_TASK = 0.25

#: A task gets at most this share of what is left for its worker, so that all workers end at about the same time.
_SHARE_OF_THE_REST = 0.25

#: Workers that are supposed before any has answered, at most.
_FIRST_WORKERS = 8

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
    """What a task of an executor returns.

    Attributes
    ----------
    worker : str
        Its host and process.
    outcomes : tuple of Outcome, or None
        None if the worker does not have the study. Of several resamples those that were computed before one failed.
    seconds : float
        What computing them took.
    """

    worker: str
    outcomes: tuple[Outcome, ...] | None = None
    seconds: float = 0.0


def work(key: str, resamples: tuple[int, ...], study: Study | None = None) -> Reply:
    """One task of an executor: these resamples of the study with this key, if this process has it.

    The exception of a resample is raised if that was the task's only one.
    """
    if study is not None:
        _remember(study)
        known: Study | None = study
    else:
        with _lock:
            known = _studies.get(key)
    worker = f"{platform.node()} {os.getpid()}"
    if known is None:
        return Reply(worker)
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    if len(resamples) == 1:
        outcomes.append(known.outcome(resamples[0]))
    else:
        with suppress(ResampleFailed):  # the others are sent again, one to a task
            outcomes.extend(outcomes_here(known, resamples, known.at_once()))
    return Reply(worker, tuple(outcomes), time.perf_counter() - began)


class _Tasks:
    """The tasks of an executor, and what is known of its workers."""

    def __init__(self, executor: Executor, study: Study, wanted: Sequence[int]) -> None:
        self._executor, self._study = executor, study
        self._waiting = deque(wanted)
        self._alone: set[int] = set()  # resamples that get a task to themselves
        self._running: dict[Future[Reply], tuple[int, ...]] = {}
        self._finished: SimpleQueue[Future[Reply]] = SimpleQueue()
        self._workers: set[str] = set()
        self._lacking: set[str] = set()  # workers without the study
        self._carrying: set[Future[Reply]] = set()  # tasks that bring it
        self._held = 0  # tasks that came back because their worker waits for the study
        self._seconds = _SECONDS_PER_TASK  # for one resample

    def submit_more(self) -> bool:
        """Submit two tasks for each worker, so that none waits for work; False if all have been done."""
        supposed = min(available_cores(), _FIRST_WORKERS)
        while self._waiting and len(self._running) + self._held < 2 * (supposed + len(self._workers)):
            self._submit(self._batch())
        return bool(self._running)

    def next_outcomes(self) -> tuple[Outcome, ...]:
        """Wait for a task, and return its outcomes."""
        future = self._finished.get()
        batch = self._running.pop(future)
        self._carrying.discard(future)
        with _naming(batch[0]):
            reply = future.result()
        self._workers.add(reply.worker)
        if reply.outcomes is None:
            self._send_again(batch, reply.worker)
            return ()
        self._lacking.discard(reply.worker)
        self._held = 0
        if reply.outcomes:
            self._seconds = reply.seconds / len(reply.outcomes)
        left = set(batch).difference(outcome.index for outcome in reply.outcomes)
        self._alone |= left
        self._waiting.extendleft(sorted(left, reverse=True))
        return reply.outcomes

    def cancel(self) -> None:
        """Cancel the tasks that have not begun."""
        for future in self._running:
            future.cancel()

    def _batch(self) -> tuple[int, ...]:
        """The resamples of the next task."""
        rest = _SHARE_OF_THE_REST * len(self._waiting) / max(len(self._workers), 1)
        most = max(1, int(min(rest, _SECONDS_PER_TASK / max(self._seconds, 1e-6))))
        batch = [self._waiting.popleft()]
        while len(batch) < most and self._waiting and self._alone.isdisjoint((batch[0], self._waiting[0])):
            batch.append(self._waiting.popleft())
        return tuple(batch)

    def _send_again(self, batch: tuple[int, ...], worker: str) -> None:
        """Send the study along, unless it is on its way to every worker that is known to lack it."""
        self._lacking.add(worker)
        if len(self._carrying) < len(self._lacking):
            self._submit(batch, self._study)
        else:
            self._waiting.extendleft(reversed(batch))
            self._held += 1

    def _submit(self, batch: tuple[int, ...], *study: Study) -> None:
        with _naming(batch[0]):
            future = self._executor.submit(work, self._study.key, batch, *study)
        self._running[future] = batch
        if study:
            self._carrying.add(future)
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
