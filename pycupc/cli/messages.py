"""Warnings, as the command line shows them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
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
