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
def interrupting() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt, so that no half-written folder remains.

    After it, the program (see `pycupc.__main__`) ignores them: what ends late must not change the exit code.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, then_ignored=signal.getsignal(signal.SIGINT) is signal.SIG_DFL):
        yield


@contextmanager
def only_once(answer: str) -> Iterator[Callable[[], None]]:
    """Interrupt at the first signal only; later ones print `answer`, as do all after a call of the yielded function."""
    interrupted = False

    def no_more() -> None:
        nonlocal interrupted
        interrupted = True

    def interrupt(*_: object) -> None:
        if interrupted:
            print(f"pycupc: {answer}", file=sys.stderr, flush=True)
            return
        no_more()
        raise KeyboardInterrupt

    with _handled(interrupt):
        yield no_more


@contextmanager
def _handled(handler: Callable[..., Any], *, then_ignored: bool = False) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # no other thread may set a handler
        yield
        return
    # A signal that is ignored, as SIGINT of a job in the background, stays ignored.
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: old for number, old in before.items() if old not in (None, signal.SIG_IGN)}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, signal.SIG_IGN if then_ignored else old)
