"""Interrupts that Python ignores: those that arrive in a `__del__`, or in the callback of a weak reference."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def when_ignored(call: Callable[[], None], thread: threading.Thread) -> Iterator[None]:
    """Call `call`, in place of a message on stderr, when Python ignores a KeyboardInterrupt in this thread.

    Exceptions have no place to go from code that runs when an object is deleted, so Python drops them. An interrupt
    that arrives there must be sent again. `call` runs in this thread and inside that code, so it only tells others.
    """
    before = sys.unraisablehook

    def hook(ignored: Any) -> None:
        if threading.get_ident() == thread.ident and issubclass(ignored.exc_type, KeyboardInterrupt):
            call()
        else:
            before(ignored)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
