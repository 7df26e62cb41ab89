"""A computation in its own thread that reports to R event by event, so that R keeps control of Ctrl-C.

R polls for the next event, waiting at most a tenth of a second each time. In between, R runs, handles its own
interrupts, and calls its own functions, including a user's `indepTest`. Python calls no R function: R may leave a
function by a long jump, which must not skip Python frames.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Background"]

#: Seconds that R waits for an event before it looks for an interrupt.
TICK = 0.1
#: Seconds after which a thread that has not stopped is interrupted again.
PATIENCE = 5.0

Event = dict[str, Any]


class Background:
    """One computation in a thread.

    From the creation of this object until `close`, only R handles Ctrl-C. reticulate's Python handler, which would call
    R in the middle of Python code, is replaced by one that does nothing.
    """

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._finished = threading.Event()
        self._finished.set()
        self._lock = threading.Lock()
        self._begun = self._done = self._closing = False
        self._handler = signal.getsignal(signal.SIGINT)
        _set_python_handler(lambda *_: None)

    def start(self, compute: Callable[[], Event]) -> None:
        """Start the computation. The value that `compute` returns is the last event; `compute` must not raise."""
        self._finished.clear()
        self._thread = _the_thread()
        _tasks.put(lambda: self._work(compute))

    def _work(self, compute: Callable[[], Event]) -> None:
        try:
            try:
                self._begun = True  # from here on an interrupt is caught
                event = compute()
                with self._lock:
                    self._done = True
                self._events.put(event)
            except KeyboardInterrupt:  # from `close`; nobody waits for an event any more
                self._done = True
            self._finished.set()
        except KeyboardInterrupt:  # the same, a moment later
            self._done = True
            self._finished.set()

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

    def answer(self, value: Any) -> None:
        """Answer the last `request`. Called by R."""
        self._answers.put(value)

    def next_event(self) -> Event | None:
        """The next event; None if there is none yet. Called by R."""
        try:
            return self._events.get(timeout=TICK)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Stop the computation if it runs, wait for its end, and restore the handler of Ctrl-C. Called by R."""
        self._closing = True
        while not self._finished.is_set():
            with self._lock:
                told = self._done or (self._begun and _raise_interrupt(self._thread))
            self._answers.put(None)
            self._finished.wait(PATIENCE if told else 0.005)
        if self._handler is not None:
            _set_python_handler(self._handler)
            self._handler = None


_tasks: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
_threads: list[threading.Thread] = []


def _the_thread() -> threading.Thread:
    """The single thread that runs all computations.

    An interrupt may leave a lock of an import or of Numba's compiler acquired. Such locks are reentrant: their own
    thread can acquire them again, but any other thread would wait forever.
    """

    def work() -> None:
        while True:
            _tasks.get()()

    if not _threads:
        _threads.append(threading.Thread(target=work, name="pycupc", daemon=True))
        _threads[0].start()
    return _threads[0]


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


def _set_python_handler(handler: Any) -> None:
    """Set Python's handler of Ctrl-C, but keep the one in C: that of reticulate, which also notifies R."""
    if os.name == "nt":  # there, reticulate does not use a signal handler
        signal.signal(signal.SIGINT, handler)
        return
    sigaction, in_c = ctypes.CDLL(None).sigaction, ctypes.create_string_buffer(512)  # larger than on any system
    sigaction(signal.SIGINT, None, in_c)
    signal.signal(signal.SIGINT, handler)
    sigaction(signal.SIGINT, in_c, None)
