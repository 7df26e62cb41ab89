"""What this machine refuses: address space beyond a limit, further threads, and all that an engine would need."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

Value = TypeVar("Value")

#: Stands for the bytes of an address space without a limit.
UNLIMITED = 2**62
#: Seconds after which a thread that is waited for is looked at again.
TICK = 0.1
#: Seconds that a thread waits for the next function before it ends: the steps between two rounds take less.
WAITING = 1.0


class EngineError(RuntimeError):
    """An engine cannot run on this machine: no device, no driver, not enough memory, or a kernel that failed."""


class NoThreadError(RuntimeError):
    """The system starts no further thread."""

    def __init__(self) -> None:
        super().__init__(
            "the system starts no further thread; raise the limit on memory (ulimit -v), on processes (ulimit -u) or "
            "of the container, or take fewer threads (numCores, --threads)"
        )


def left_of_address_space() -> int:
    """Bytes left of the limit on the address space, ``ulimit -v``; UNLIMITED without a limit."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return UNLIMITED
        with open("/proc/self/statm") as file:
            return limit - int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):  # Windows, macOS
        return UNLIMITED


def start(thread: threading.Thread) -> None:
    """Start a thread; NoThreadError if the system refuses it."""
    try:
        thread.start()
    except RuntimeError as error:  # "can't start new thread"
        raise NoThreadError from error


def in_a_thread(work: Callable[[], Value], name: str, waiting: Callable[[float], object] = lambda _: None) -> Value:
    """The value of ``work()``, which a daemon thread computes: an interrupt ends the wait here, and not the work.

    ``waiting(seconds)`` is called several times per second meanwhile, with the seconds since the call before.
    """
    from concurrent.futures import Future

    outcome: Future[Value] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # raised in the calling thread
            outcome.set_exception(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    start(thread)
    while thread.is_alive():
        thread.join(TICK)
        waiting(TICK if thread.is_alive() else 0.0)
    return outcome.result()


def start_unawaited(function: Callable[[], None]) -> None:
    """Let a daemon thread call a function, which raises nothing; NoThreadError if the system refuses it.

    `start` returns when the thread runs, which takes long where all cores work already; this returns before. The thread
    is one that has ended such a function a moment ago, if there is one: to wake it takes a tenth of the time.
    """
    with suppress(IndexError):
        while (waiting := _waiting.pop()).process != os.getpid():  # a fork has no threads but its own
            pass
        waiting.call(function)
        return
    try:
        _thread.start_new_thread(_Waiting().serve, (function,))
    except RuntimeError as error:  # "can't start new thread"
        raise NoThreadError from error


class _Waiting:
    """A thread of `start_unawaited`, which waits for a second for the next function."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._function: Callable[[], None] | None = None
        self._called = _thread.allocate_lock()
        self._called.acquire()

    def call(self, function: Callable[[], None]) -> None:
        """Let the thread call a function; it is not in the list of those that wait."""
        self._function = function
        self._called.release()

    def serve(self, function: Callable[[], None] | None) -> None:
        """What the thread does."""
        while function is not None:
            function()
            function = None  # nothing that it holds lives on
            function = self._next()

    def _next(self) -> Callable[[], None] | None:
        _waiting.append(self)
        if not self._called.acquire(timeout=WAITING):
            try:
                _waiting.remove(self)
            except ValueError:  # it was taken from the list this moment, and the function comes
                self._called.acquire()
        function, self._function = self._function, None
        return function


#: Threads that wait, the one that came last at the end. A fork of the process finds the threads of the other one here:
#: Python is not told of a fork by another language, such as R's.
_waiting: list[_Waiting] = []


def start_another(thread: threading.Thread, threads: list[threading.Thread]) -> bool:
    """Start a thread that shares the tasks of the `threads`, and append it to them.

    False if the system refuses it, so that the other threads do its part; NoThreadError if there is no other.
    """
    threads.append(thread)  # before it runs: an interrupt may come at any moment
    try:
        start(thread)
    except NoThreadError:
        threads.remove(thread)
        if not threads:
            raise
        return False
    return True
