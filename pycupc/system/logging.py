"""The package's log, line by line, to whoever wants to see it during a run."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

logger = logging.getLogger("pycupc")

#: Progress of the search for the largest p-values: its level, the levels before it, and all levels.
LARGEST_P = "largest p-values: level %d, after %d of %d levels"
#: Said once.
FIRST_USE = "compiling pycupc, once per machine; this can take half a minute"
#: Lines that a progress bar shows begin so.
SHOWN = ("compiling ", "largest p-values: ")


class _Lines(logging.Handler):
    def __init__(self, show: Callable[[str], object]) -> None:
        super().__init__(logging.INFO)
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        self._show(record.getMessage())


@contextmanager
def lines_to(show: Callable[[str], object] | None) -> Iterator[None]:
    """Log at INFO level meanwhile, and call `show` with each line; None leaves the lines to the handlers there are."""
    handler = logging.NullHandler() if show is None else _Lines(show)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(min(logging.INFO, logger.getEffectiveLevel()))
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@contextmanager
def unprinted() -> Iterator[None]:
    """Leave the lines to the handlers there are: where there is none, Python would print warnings to stderr."""
    handler = logging.NullHandler()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def level_log() -> AbstractContextManager[None]:
    """Show the package's log lines, even if logging is not configured."""
    if sys.stderr is None:
        return nullcontext()
    return lines_to(None if logger.hasHandlers() else lambda line: sys.stderr.write(f"pycupc: {line}\n"))
