"""Threads that take tasks one after the other, while the calling thread reports progress and handles Ctrl-C.

The findings of a task do not depend on any other task and are merged by smallest rank, so neither the number of threads
nor the schedule can affect the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu.tuning import INLINE_TESTS, TICK
from pycupc.system.limits import start_another
from pycupc.system.machine import single_products

#: A thread's doubtful tests so far; a flag that compiled code polls: stop; the address of `careful_address`, 0 until it
#: is needed; and a flag of compiled code that it is needed.
State = NDArray[np.int64]
DOUBTFUL, STOP, CAREFUL, WANTED = 0, 1, 2, 3

#: A task takes the state of the thread that runs it and returns how many tests it has dealt with.
Task = Callable[[State], int]


class Progress:
    """The number of tests dealt with in a level; ``report(tests)`` is called several times per second."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self.tests = 0
        self.report = report


def run(tasks: Iterable[Task], n_threads: int, tests: int, progress: Progress | None = None) -> int:
    """Run all tasks, which are drawn by one thread at a time; returns the number of doubtful tests.

    `tests` is the size of the whole work, to judge whether threads pay. The exception of a task, or KeyboardInterrupt,
    is raised after all threads have ended.
    """
    states = np.zeros((n_threads, 4), dtype=np.int64)
    queue, lock = iter(tasks), threading.Lock()
    errors: list[BaseException] = []

    def work(state: State) -> None:
        try:
            _work(queue, lock, state, progress)
        except BaseException as error:  # handed to the calling thread
            errors.append(error)
            states[:, STOP] = 1

    if tests < INLINE_TESTS:
        work(states[0])
    else:
        threads: list[threading.Thread] = []
        try:
            with single_products():
                for state in states:
                    if not start_another(threading.Thread(target=work, args=(state,), daemon=True), threads):
                        break
                _wait(threads, progress)
        except BaseException:
            states[:, STOP] = 1
            for thread in threads:
                if thread.ident is not None:
                    thread.join()
            raise
    if errors:
        raise errors[0]
    return int(states[:, DOUBTFUL].sum())


def _work(queue: Iterator[Task], lock: threading.Lock, state: State, progress: Progress | None) -> None:
    while not state[STOP]:
        with lock:
            task = next(queue, None)
        if task is None:
            return
        tests = task(state)
        if progress is not None:
            with lock:
                progress.tests += tests


def _wait(threads: list[threading.Thread], progress: Progress | None) -> None:
    for thread in threads:
        while thread.is_alive():
            if progress is not None:
                progress.report(progress.tests)
            thread.join(TICK)
