"""A computation in its own thread that reports to R event by event, so that R keeps control of Ctrl-C.

R polls for the next event, waiting at most a tenth of a second each time. In between, R runs, handles its own
interrupts, and calls its own functions, including a user's `indepTest`. Python calls no R function: R may leave a
function by a long jump, which must not skip Python frames.

A user's `indepTest` in R is called for many pairs at a time: a round trip for each test would take longer than most
tests.
"""

from __future__ import annotations

import ctypes
import math
import os
import queue
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from pycupc.independence.base import Floats, Indices, Search
from pycupc.system.ignored_interrupts import when_ignored
from pycupc.system.limits import start

#: Seconds that R waits for an event before it looks for an interrupt.
TICK = 0.1
#: Seconds after which a thread that has not stopped is interrupted again, and after which R goes on without it.
PATIENCE, LONGEST = 5.0, 60.0

Event = dict[str, Any]


class Background:
    """One computation in a thread.

    From the creation of this object until `close`, only R handles Ctrl-C, see `_OfPython`.
    """

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._worker: _Worker | None = None
        #: True: the computation has ended; False: its thread has ignored an interrupt.
        self._ends: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._begun = self._done = self._closing = False
        self._handler = _OfPython.installed()
        self._handler.silenced_by.add(self)

    def begin(self, compute: Callable[[], Event]) -> None:
        """Start the computation. The value that `compute` returns is the last event."""
        self._worker = _worker()
        self._worker.tasks.put(lambda: self._work(compute))

    def _work(self, compute: Callable[[], Event]) -> None:
        try:
            try:
                self._begun = True  # from here on an interrupt is caught
                try:
                    event = compute()
                except Exception as error:
                    event = _failure(error)
                with self._lock:
                    self._done = True
                self._events.put(event)
            except KeyboardInterrupt:  # from `close`; nobody waits for an event any more
                self._done = True
            self._ends.put(True)
        except KeyboardInterrupt:  # the same, a moment later
            self._done = True
            self._ends.put(True)

    def send(self, event: Event) -> None:
        """Send an event to R. Called by the computing thread."""
        self._events.put(event)

    def request(self, event: Event) -> Any:
        """Send an event to R and wait for its answer. Called by the computing thread."""
        self._events.put(event)
        answer = self._answers.get()
        if self._closing:
            raise KeyboardInterrupt
        return answer

    def answer(self, value: Any) -> Event | None:
        """Answer the last `request`; returns the next event, as `step`. Called by R."""
        self._answers.put(value)
        return self.step()

    def step(self) -> Event | None:
        """The next event; None if there is none yet. Called by R. Its `kind` says how R has to answer:

        "tests" and "batch": as `UsersTest` and `UsersBatch` say, and `answer`; "progress": level, done, at_most, edges,
        as floats; "count": resamples done, total, as floats; "line": text, a line of the log; "reply": the
        computation has ended.
        """
        try:
            return self._events.get(timeout=TICK)
        except queue.Empty:
            if (self._worker is not None and self._worker.exists()) or not self._events.empty():
                return None
            return _failure(RuntimeError("the thread of the computation ended without an answer; call again"))

    def close(self) -> bool:
        """Stop the computation if it runs, wait for its end, and let Python handle Ctrl-C again. Called by R.

        False if it could not be stopped in time; it may then go on for a while, with the arrays that it was given.
        """
        self._closing = True
        stopped = self._stop()
        self._handler.silenced_by.discard(self)
        return stopped

    def _stop(self) -> bool:
        worker, interrupted, ended, last = self._worker, False, False, time.monotonic() + LONGEST
        if worker is None:
            return True
        with when_ignored(lambda: self._ends.put(False), worker):
            while worker.exists() and not ended:
                with self._lock:
                    told = not self._done and self._begun and worker.exists() and _raise_interrupt(worker)
                    interrupted |= told
                    wait = PATIENCE if self._done or told else 0.005
                self._answers.put(None)
                if time.monotonic() > last:
                    worker.tasks.put(None)
                    return False
                with suppress(queue.Empty):
                    ended = self._ends.get(timeout=min(wait, LONGEST))
        if worker.exists():
            worker.leave(keep=interrupted)
        self._worker = None
        return True


def _failure(error: Exception) -> Event:
    return {"kind": "reply", "error": type(error).__name__, "message": str(error), "notices": []}


class _Worker(threading.Thread):
    """A thread that runs one computation, or several one after the other if one of them was interrupted.

    An interrupt may leave a lock of an import or of Numba's compiler acquired. Such locks are reentrant: their own
    thread can acquire them again, but any other thread would wait forever. So that thread is kept for the next
    computation. Otherwise no thread is left when R goes on: R may fork, in C, and would copy none of them, but would
    copy the demand of a thread for Python's lock, for which the copy would wait forever.
    """

    kept: ClassVar[list[_Worker]] = []

    def __init__(self) -> None:
        super().__init__(name="pycupc", daemon=True)
        self.tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._process, self._keep = os.getpid(), False

    def run(self) -> None:
        while (task := self.tasks.get()) is not None:
            task()

    def exists(self) -> bool:
        """Whether the thread runs in this process: a fork has copied this object, but no thread."""
        return self._process == os.getpid() and self.is_alive()

    def leave(self, keep: bool) -> None:
        """Keep the thread, which has nothing to do, for the next computation, or else end it."""
        self._keep |= keep
        if self._keep:
            self.kept.append(self)
        else:
            self.tasks.put(None)
            self.join(LONGEST)


def _worker() -> _Worker:
    """A thread for a computation. One that runs inside another, in a user's `indepTest`, gets a thread of its own."""
    while _Worker.kept:
        worker = _Worker.kept.pop()
        if worker.exists():
            return worker
    worker = _Worker()
    start(worker)
    return worker


def _raise_interrupt(thread: threading.Thread) -> bool:
    """Raise KeyboardInterrupt in a thread, as soon as it runs Python code; False if that is not possible now.

    While a thread starts another one, CPython would interrupt the new thread instead, and the first would wait forever
    for its start.
    """
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        if frame.f_code is threading.Thread.start.__code__:
            return False
        frame = frame.f_back
    identity = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(identity, ctypes.py_object(KeyboardInterrupt))
    return True


class _OfPython:
    """Python's handler of Ctrl-C in R's process. It is installed at the first computation, and stays.

    While a computation is open it does nothing; reticulate's, which would call R in the middle of Python code, has its
    turn at other times. The handler in C is still reticulate's, which notifies R and Python.

    No Ctrl-C is lost. Computations begin and end without a change of handlers. Installing this one puts Python's
    handler in C, which does not notify R, into the place of reticulate's for some microseconds: a Ctrl-C that reaches
    it is sent again afterwards.
    """

    def __init__(self, before: Any) -> None:
        self._before, self._installing, self._reached = before, True, False
        #: The open computations. R may forget one that it never closed, after an error.
        self.silenced_by: weakref.WeakSet[Background] = weakref.WeakSet()

    def __call__(self, number: int, frame: Any) -> None:
        if self._installing:
            self._reached = True
        elif not self.silenced_by and callable(self._before):
            self._before(number, frame)

    @classmethod
    def installed(cls) -> _OfPython:
        """The handler, which is installed if another one is there. Called by R, in which interrupts are suspended."""
        before = signal.getsignal(signal.SIGINT)
        if isinstance(before, cls):
            return before
        handler = cls(before)
        if os.name == "nt":  # there, reticulate does not use a signal handler
            signal.signal(signal.SIGINT, handler)
        else:
            sigaction, in_c = ctypes.CDLL(None).sigaction, ctypes.create_string_buffer(512)  # larger than anywhere
            sigaction(signal.SIGINT, None, in_c)
            signal.signal(signal.SIGINT, handler)
            sigaction(signal.SIGINT, in_c, None)
            ctypes.pythonapi.PyErr_CheckSignals()  # calls the handler now, if Ctrl-C reached Python meanwhile
        handler._installing = False
        if handler._reached:
            signal.raise_signal(signal.SIGINT)
        return handler


class UsersTest:
    """A user's `indepTest`, which R calls: a `pycupc.independence.base.PairTest`.

    It sends events "tests" with the level, alpha, the p-value that stands for NA, and for each pair x, y, the number of
    candidates, and the candidates one after the other, all from 0; `reverse` is the place from 1 of the reversed pair
    if that comes earlier, else 0. R answers with one vector: for each pair the number of tests, then for each pair
    whether the last of them separates it, then for each pair the largest p-value.
    """

    def __init__(self, background: Background) -> None:
        self._background = background

    def __call__(self, x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
        """The p-value of one test; NaN where R has NA."""
        members = [int(s) for s in S]
        ((_, _, p),) = self.search(len(members), [(int(x), int(y), members)], math.inf, math.nan)
        return p

    def search(self, level: int, wanted: list[Search], alpha: float, na_p: float) -> list[tuple[int, bool, float]]:
        place: dict[tuple[int, int], int] = {}
        reverse = []
        for k, (x, y, _) in enumerate(wanted, 1):
            reverse.append(place.get((y, x), 0))
            place[x, y] = k
        event = {"kind": "tests", "level": level, "alpha": alpha, "na_p": na_p, "reverse": reverse}
        event |= {"x": [x for x, _, _ in wanted], "y": [y for _, y, _ in wanted]}
        event["length"] = [len(candidates) for _, _, candidates in wanted]
        event["candidates"] = [v for _, _, candidates in wanted for v in candidates]
        answer, n = self._background.request(event), len(wanted)
        made = zip(answer[:n], answer[n : 2 * n], answer[2 * n :], strict=True)
        return [(int(tests), bool(separated), float(p)) for tests, separated, p in made]


class UsersBatch:
    """A user's `indepTest` in R that answers many tests per call: a `pycupc.independence.custom.Batch`.

    It sends events "batch" with x, y and S, row by row, from 0; R answers with the p-values, NaN where R has NA.
    """

    def __init__(self, background: Background) -> None:
        self._background = background

    def batch(self, x: Indices, y: Indices, S: Indices) -> Floats:
        event = {"kind": "batch", "x": x.tolist(), "y": y.tolist(), "S": S.ravel().tolist()}
        return np.array(self._background.request(event), dtype=np.float64)
