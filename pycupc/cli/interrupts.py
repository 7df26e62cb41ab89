"""Ctrl-C and SIGTERM during a command; warnings, as the command line shows them."""

from __future__ import annotations

import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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

    With an `answer`, only the first signal does; later ones print it, as do all after a call of the yielded function.
    After the block of a whole command, the program (see `pycupc.__main__`) ignores signals: what ends late must not
    change the exit code.
    """
    interrupted = False

    def no_more() -> None:
        nonlocal interrupted
        interrupted = True

    def interrupt(*_: object) -> None:
        if interrupted and answer is not None:
            print(f"pycupc: {answer}", file=sys.stderr, flush=True)
            return
        no_more()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # no other thread may set a handler
        yield no_more
        return
    # A signal that is ignored, as SIGINT of a job in the background, stays ignored.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: old for number, old in before.items() if old not in (None, signal.SIG_IGN)}
    of_program = before.get(signal.SIGINT) is signal.SIG_DFL
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield no_more
    finally:
        for number, old in before.items():
            signal.signal(number, signal.SIG_IGN if of_program else old)
