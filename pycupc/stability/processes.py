"""Resamples in this process, or on any executor of `concurrent.futures`.

An executor is given one task per resample. The data are not sent with every task: a task names the study by its hash,
and a worker that does not have it replies so, whereupon the task is sent again with the study. So each worker gets the
data about once, whatever the kind of executor, and a restarted worker gets them again.
"""

from __future__ import annotations

import os
import platform
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager

from pycupc.machine import available_cores
from pycupc.stability.study import Outcome, Study

#: Worker (host and process), and its outcome; None if the worker does not have the study.
Reply = tuple[str, Outcome | None]

#: From this number of variables on, `Engine.side_by_side` resamples run at the same time in this process. With fewer,
#: their threads wait longer for the interpreter than the device would wait for them.
SIDE_BY_SIDE_FROM = 1500

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
    waiting, workers = deque(wanted), set[str]()
    running: dict[Future[Reply], int] = {}
    try:
        while waiting or running:
            # Two for each worker, so that none waits for work; few at first, as each may have to be sent again with
            # the data. Every new worker that answers is given its share at once.
            while waiting and len(running) < 2 * (available_cores() + len(workers)):
                i = waiting.popleft()
                with _naming(i):
                    running[executor.submit(work, study.key, i)] = i
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                i = running.pop(future)
                with _naming(i):
                    worker, outcome = future.result()
                    workers.add(worker)
                    if outcome is None:
                        running[executor.submit(work, study.key, i, study)] = i
                if outcome is not None:
                    yield outcome
    finally:
        for future in running:
            future.cancel()


def work(key: str, i: int, study: Study | None = None) -> Reply:
    """One task of an executor: resample `i` of the study with this key, if this process has it."""
    if study is not None:
        _remember(study)
    with _lock:
        known = _studies.get(key)
    return f"{platform.node()} {os.getpid()}", None if known is None else known.outcome(i)


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
