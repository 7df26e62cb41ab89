"""A computation in a thread of its own, of which R hears step by step, so that Ctrl-C stays R's.

R asks again and again for the next event and waits for it a tenth of a second at most. Between two questions R runs,
sees its own interrupts, and calls its own functions, a user's `indepTest` among them. Python calls no function of R:
R leaves functions by jumping, and must not jump over frames of Python.
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
#: Seconds after which a thread that has not stopped is told again.
PATIENCE = 5.0

Event = dict[str, Any]


class Background:
    """One computation in a thread.

    Ctrl-C is R's alone from the making of this object until `close`. reticulate would ask R about it in the middle of
    Python's code; a handler that does nothing takes the place of its own.
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
        """Begin; what `compute` returns is the last event. It must not raise."""
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

    def tell(self, event: Event) -> None:
        """Give R an event; for the thread."""
        self._events.put(event)

    def ask(self, event: Event) -> Any:
        """Give R an event and wait for its answer; for the thread."""
        self._events.put(event)
        answer = self._answers.get()
        if self._closing:
            raise KeyboardInterrupt
        return answer

    def answer(self, value: Any) -> None:
        """Answer the last `ask`; for R."""
        self._answers.put(value)

    def next_event(self) -> Event | None:
        """The next event; None if there is none yet. For R."""
        try:
            return self._events.get(timeout=TICK)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Stop the computation if it still runs, wait until it has stopped, and give Ctrl-C back. For R."""
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
    """The one thread of all computations.

    An interrupt may leave a lock taken, of an import or of Numba's compiler. Such locks let their own thread in again,
    but would stop any other for ever.
    """

    def work() -> None:
        while True:
            _tasks.get()()

    if not _threads:
        _threads.append(threading.Thread(target=work, name="pycupc", daemon=True))
        _threads[0].start()
    return _threads[0]


def _raise_interrupt(thread: threading.Thread) -> bool:
    """Raise KeyboardInterrupt in a thread, as soon as it runs Python code; False if it is no moment for that.

    While a thread starts another one, CPython would take the new one for it, and it would wait for ever for the start.
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
    """As signal.signal for Ctrl-C, but the handler in C stays: reticulate's, which tells R of Ctrl-C as well."""
    if os.name == "nt":  # there, reticulate's is no signal handler
        signal.signal(signal.SIGINT, handler)
        return
    sigaction, in_c = ctypes.CDLL(None).sigaction, ctypes.create_string_buffer(512)  # larger than on any system
    sigaction(signal.SIGINT, None, in_c)
    signal.signal(signal.SIGINT, handler)
    sigaction(signal.SIGINT, in_c, None)
