"""Options of reading in messages: as flags on the command line, as arguments of `read_data` in Python."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_FLAGS = ContextVar("_FLAGS", default=False)


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """Inside, messages recommend flags."""
    token = _FLAGS.set(True)
    try:
        yield
    finally:
        _FLAGS.reset(token)


def option(name: str, value: str | Sequence[str] | bool, python: str | None = None) -> str:
    """An option of `pycupc.data.read_data`: ``read_data(path, drop=['id'])``, or ``--drop id`` as a flag.

    `python`: what to recommend in Python instead, where the table may come from no file.
    """
    if not _FLAGS.get():
        return python or f"read_data(path, {name}={value!r})"
    words = [] if isinstance(value, bool) else [value] if isinstance(value, str) else value
    return " ".join([f"--{name.replace('_', '-')}", *map(shlex.quote, words)])


def as_categories() -> str:
    """How to test all columns as categories."""
    return "--test discrete" if _FLAGS.get() else "pc(DiscreteSuffStat.from_data(path or table), disCItest)"
