"""Threads that do the work of a level, while the calling thread reports progress and handles Ctrl-C.

Each thread runs compiled code, which takes the next item of the work until there is none, without the lock of the
interpreter. The findings of an item do not depend on any other item, and of several findings about an entry the one
with the smallest rank stays, so neither the number of threads nor the schedule can affect the answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.cpu.tuning import INLINE_TESTS, PART_ENTRIES, TICK
from pycupc.system.jit import plain_if_small
from pycupc.system.limits import NoThreadError, start_unawaited
from pycupc.system.machine import single_products

#: Numbers of a thread: its doubtful tests so far; a flag that compiled code polls: stop; the address of
#: `careful_address`, 0 until it is needed; a flag of compiled code that it is needed; 1 + the number of the item that
#: is to be repeated then; the tests dealt with so far; and 1 + the number of a target of a row that cannot be tested
#: set by set, about which bounds could not decide.
State = NDArray[np.int64]
DOUBTFUL, STOP, CAREFUL, WANTED, AGAIN, TESTS, REFUSED = range(7)
#: Room for these numbers: the threads' numbers share no line of a cache.
WIDTH = 16

#: What a thread does, given its numbers, until nothing is left or it is to stop.
Work = Callable[[State], None]
#: A piece of work that Python does: takes the numbers of the thread and returns how many tests it has dealt with.
Task = Callable[[State], int]


def new_state(n_threads: int = 1) -> State:
    """The numbers of threads that have done nothing yet, int64 (n_threads, WIDTH)."""
    return np.zeros((n_threads, WIDTH), dtype=np.int64)


class Progress:
    """The number of tests dealt with in a level; ``report(tests)`` is called several times per second."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self.tests = 0
        self.report = report


def run(work: Work, n_threads: int, tests: int, progress: Progress | None = None) -> int:
    """Do the work in threads, all of which call `work`; returns the number of doubtful tests.

    `tests` is the size of the whole work, to judge whether threads pay. The exception of a thread, or
    KeyboardInterrupt, is raised after all threads have ended.
    """
    crew = _Crew(work, new_state(n_threads))
    if tests < INLINE_TESTS:
        crew.work_as(0)
    else:
        crew.run(progress)
    if crew.errors:
        raise crew.errors[0]
    done = int(crew.states[:, TESTS].sum())
    if progress is not None:
        progress.tests += done
    return int(crew.states[:, DOUBTFUL].sum())


class _Crew:
    """The threads of `run`, each with a row of `states`."""

    def __init__(self, work: Work, states: NDArray[np.int64]) -> None:
        self._work, self.states = work, states
        self.errors: list[BaseException] = []
        # The threads that run, or have run; and those that have ended.
        self._begun: list[int] = []
        self._ended: list[int] = []
        self._awaited = 0  # number of threads, once no further one is started: the last that ends wakes the caller
        self._wake = threading.Semaphore(0)

    def work_as(self, k: int) -> None:
        """What thread k does."""
        self._begun.append(k)
        try:
            if not self.states[k, STOP]:
                self._work(self.states[k])
        except BaseException as error:  # handed to the calling thread
            self.errors.append(error)
            self.states[:, STOP] = 1
        finally:
            self._ended.append(k)
            if len(self._ended) == self._awaited:
                self._wake.release()

    def run(self, progress: Progress | None) -> None:
        """Start the threads, unless one has ended, as nothing is left to take then, and wait for their ends."""
        started = 0
        try:
            with single_products():
                while started < len(self.states) and not self._ended and self._starts(started):
                    started += 1
                self._awaited = started
                while len(self._ended) < started:
                    if progress is not None:
                        progress.report(progress.tests + int(self.states[:, TESTS].sum()))
                    self._wake.acquire(timeout=TICK)
        except BaseException:
            self.states[:, STOP] = 1
            while len(self._ended) < len(self._begun):  # a thread that begins later ends at once
                self._wake.acquire(timeout=TICK)
            raise

    def _starts(self, k: int) -> bool:
        """Start thread k; False if the system refuses it, so that the others do its part."""
        try:
            start_unawaited(partial(self.work_as, k))
        except NoThreadError:
            if k == 0:
                raise
            return False
        return True


def drawing(tasks: Iterable[Task]) -> Work:
    """Work that consists of tasks, which one thread at a time draws."""
    queue, lock = iter(tasks), threading.Lock()

    def work(state: State) -> None:
        while not state[STOP]:
            with lock:
                task = next(queue, None)
            if task is None:
                return
            state[TESTS] += task(state)

    return work


def in_parts(
    work: Callable[[int, int], None], n: int, n_entries: int, n_threads: int, part: str, entries_of_step: int = 2
) -> None:
    """Call work(first, end) for parts of range(n), which have `n_entries` in all, in threads where it pays.

    A few entries are left to plain Python; `part`: as of `plain_if_small`, of whose steps each takes `entries_of_step`.
    """
    if n_entries < INLINE_TESTS:
        with plain_if_small(n_entries // entries_of_step, part):
            work(0, n)
        return
    size = -(-n // (1 + n_entries // PART_ENTRIES))

    def task(first: int, _: State) -> int:
        work(first, min(first + size, n))
        return 0

    run(drawing(partial(task, first) for first in range(0, n, size)), n_threads, n_entries)
