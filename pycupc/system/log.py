"""The package's log, line by line, to whoever wants to see it during a run; text of users, such as labels, in files."""

from __future__ import annotations

import inspect
import logging
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

_CONTROL = re.compile("[\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    """`text` with a question mark for each control character, newlines included, and each that XML does not allow."""
    return _CONTROL.sub("?", text)


def counted(n: int | float, noun: str) -> str:
    """A number of things: "1 edge", "3,000 edges"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def distinct(labels: Sequence[str], replace: Callable[[str], str]) -> list[str]:
    """``replace(label)`` of different labels; where that makes two of them equal, their positions are added."""
    texts = list(map(replace, labels))
    taken = {text for text, label in zip(texts, labels, strict=True) if text == label}
    for k, (text, label) in enumerate(zip(texts, labels, strict=True)):
        if text == label:
            continue
        while text in taken:
            text = f"{text} [{k}]"
        taken.add(text)
        texts[k] = text
    return texts


def explained_as(other: Callable[..., object]) -> Callable[[Function], Function]:
    """Let the docstring of a function explain in full the entries for which it says "See `other`."

    That line stands below a list of names, each of which has an entry in the docstring of `other`. So the text exists
    once, and `help` shows all of it.
    """
    entries: dict[str, str] = {}
    for head, body in re.findall(r"^(\S.*)\n((?:(?:    .*)?\n)*    .*)", inspect.getdoc(other) or "", re.MULTILINE):
        entries |= dict.fromkeys(re.split(", ", head.partition(" : ")[0]), f"{head}\n{body}")

    def explained(function: Function) -> Function:
        see = rf"^((?:\w[\w, ]*,\n)*\w[\w, ]*)\n    See `{other.__name__}`\."
        function.__doc__ = re.sub(
            see,
            lambda found: "\n".join(dict.fromkeys(entries[name] for name in re.split(r",\s", found[1]))),
            inspect.getdoc(function) or "",
            flags=re.MULTILINE,
        )
        return function

    return explained


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


def level_log(verbose: bool) -> AbstractContextManager[None]:
    """With `verbose`, show the package's log lines, even if logging is not configured."""
    if not verbose or sys.stderr is None:
        return nullcontext()
    return lines_to(None if logger.hasHandlers() else lambda line: sys.stderr.write(f"pycupc: {line}\n"))
