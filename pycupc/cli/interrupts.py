"""Ctrl-C and SIGTERM during a command; warnings, as the command line shows them."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pycupc.cli.output import INTERRUPTED
from pycupc.system.files import remove_unfinished
from pycupc.system.ignored_interrupts import when_ignored
from pycupc.system.limits import UNLIMITED, NoThreadError, left_of_address_space, start

#: Seconds that a command has to end after Ctrl-C or SIGTERM.
PATIENCE = 5.0
#: Lifts the deadline of `_ending_in_time`, inside its block.
_lift: Callable[[], None] | None = None
_SIGNALS = tuple(signal.Signals[name] for name in ("SIGINT", "SIGTERM"))


@contextmanager
def shown_warnings() -> Iterator[list[str]]:
    """Print each warning on stderr as one line, and collect them."""
    messages: list[str] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        messages.append(str(message))
        print(f"warning: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield messages


@contextmanager
def interrupting(answer: str | None = None) -> Iterator[Callable[[], None]]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt, so that no half-written folder remains.

    A signal that Python ignores, as it arrived in a `__del__`, is sent again. What libraries make of the interrupt, as
    an ImportError or a RuntimeError about a lock, is a KeyboardInterrupt again when it leaves the block. With an
    `answer`, only the first signal raises; later ones print it, as do all after a call of the yielded function.
    Where that does not end the block in time, the process is ended, see `_ending_in_time`; not after a signal that has
    an `answer`. After the block of a whole command, the program (see `pycupc.__main__`) does not heed signals: what
    ends late must not change the exit code.
    """
    interrupted, raised, last = False, False, signal.SIGINT

    def no_more() -> None:
        nonlocal interrupted, raised
        interrupted, raised = True, False

    def again() -> None:
        nonlocal interrupted
        interrupted = False
        with suppress(NoThreadError):  # the user presses Ctrl-C again, then
            start(threading.Timer(0.01, os.kill, (os.getpid(), last)))

    def interrupt(number: int, *_: object) -> None:
        nonlocal last, raised
        last = signal.Signals(number)
        if answer is not None:
            no_deadline()
            if interrupted:
                with suppress(OSError):  # not `print`: the signal may have come while it was printing, which is refused
                    os.write(2, f"pycupc: {answer}\n".encode())
                return
        no_more()
        raised = True
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # no other thread may set a handler
        yield no_more
        return
    # A signal that is ignored, as SIGINT of a job in the background, stays ignored.
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    before = {number: old for number, old in before.items() if old not in (None, signal.SIG_IGN)}
    of_program = before.get(signal.SIGINT) is signal.SIG_DFL
    with when_ignored(again, threading.main_thread()), _ending_in_time() as no_deadline:
        for number in before:
            signal.signal(number, interrupt)
        try:
            yield no_more
        except Exception as error:
            if raised:
                raise KeyboardInterrupt from error
            raise
        finally:
            for number, old in before.items():
                signal.signal(number, signal.SIG_IGN if of_program else old)
            if of_program and signal.SIGTERM in before:  # but a process that does not end at all
                _alarm_at(signal.SIGTERM)


@contextmanager
def _ending_in_time() -> Iterator[Callable[[], None]]:
    """End the process if the block has not ended `PATIENCE` seconds after a signal; yields what lifts this deadline.

    Python's handlers run in the main thread, between two of its steps: never while it waits in a library. But at once
    their part in C writes to a pipe, which a thread reads. Where that thread cannot run either, as the library holds
    Python's lock, the system, which reports what is written to this pipe by another signal, ends the process later.
    Nothing is done for a block inside another one.
    """
    global _lift
    if _lift is not None or os.name == "nt":
        yield _lift or (lambda: None)
        return
    ended = threading.Event()
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def watch() -> None:
        while (number := os.read(reading, 1)) and number[0] not in _SIGNALS:
            pass
        signal.alarm(0)
        if number and not ended.wait(PATIENCE):
            remove_unfinished()
            os.write(2, b"pycupc: interrupted; what was running did not stop, so the process was ended\n")
            os._exit(INTERRUPTED)

    watching = threading.Thread(target=watch, name="pycupc signals", daemon=True)
    if left_of_address_space() == UNLIMITED:  # a thread takes a tenth of what a command needs
        with suppress(NoThreadError):
            start(watching)
    earlier = signal.getsignal(signal.SIGUSR1)
    _report_by_alarm(reading, signal.SIGUSR1)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def no_deadline() -> None:
        ended.set()
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.alarm(0)

    _lift = no_deadline
    try:
        yield no_deadline
    finally:
        _lift = None
        no_deadline()
        signal.set_wakeup_fd(before)
        os.close(writing)
        if watching.ident is not None:
            watching.join()
        os.close(reading)
        signal.signal(signal.SIGUSR1, signal.SIG_DFL if earlier is None else earlier)  # closing a pipe is reported, too


def _report_by_alarm(pipe: int, number: int) -> None:
    """Let the system end the process some seconds after something is written to this pipe, by this signal, on Linux."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(pipe, fcntl.F_SETSIG, int(number))
        _alarm_at(number)
        fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    except AttributeError:  # not Linux
        return


def _alarm_at(number: int) -> None:
    """Let this signal end the process after that number of seconds: its handler is alarm() of the C library."""
    if os.name != "nt":
        library = ctypes.CDLL(None)
        library.signal(int(number), ctypes.cast(library.alarm, ctypes.c_void_p))
