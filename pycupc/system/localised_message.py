"""Messages that keep the facts they state, so that they can be stated in the terms of another language as well.

An error or a warning takes a `Message` where it would take a text, and is raised, caught, compared and pickled as with
a text. `pycupc.r.messages` states the facts as R users know them; no text is ever searched for a fact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

__all__ = ["Argument", "Cell", "Message", "Setting", "Value", "Variable", "Variables", "Words"]


class Message(str):
    """A text made of a `template` of `str.format`, whose fields are names of facts, and the `facts`.

    They are of classes of this module, other messages, exceptions, numbers and texts.
    """

    template: str
    facts: dict[str, Any]

    def __new__(cls, template: str, **facts: Any) -> Message:
        self = super().__new__(cls, template.format(**facts))
        self.template, self.facts = template, facts
        return self

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.template,), self.facts

    def stated(self, state: Callable[[Any], Any]) -> str:
        """The text with each fact replaced by ``state(fact)``."""
        return self.template.format(**{name: state(fact) for name, fact in self.facts.items()})


class _Fact:
    """Something that a language states in its own way; `_in_python` is a template of `str.format` for Python's way."""

    _in_python = ""

    def __str__(self) -> str:
        return self._in_python.format(self)


@dataclass(frozen=True)
class Variable(_Fact):
    """A variable by its position, from 0."""

    position: int
    _in_python = "{0.position}"


@dataclass(frozen=True)
class Variables(_Fact):
    """Several variables by their positions, from 0."""

    positions: tuple[int, ...]
    _in_python = "{0.positions}"


@dataclass(frozen=True)
class Cell(_Fact):
    """Row and column of a matrix, from 0."""

    row: int
    column: int
    _in_python = "[{0.row}, {0.column}]"


@dataclass(frozen=True)
class Argument(_Fact):
    """An argument by its name in Python."""

    name: str
    _in_python = "{0.name}"


@dataclass(frozen=True)
class Setting(_Fact):
    """An argument with a value to choose, or one that was given."""

    name: str
    value: Any
    _in_python = "{0.name}={0.value!r}"


class Value:
    """Values as they are written in a program, separated by commas."""

    def __init__(self, *values: Any) -> None:
        self.values = values

    def __str__(self) -> str:
        return ", ".join(map(repr, self.values))


_ON_THE_COMMAND_LINE = ContextVar("_ON_THE_COMMAND_LINE", default=False)


@contextmanager
def on_the_command_line() -> Iterator[None]:
    """Inside, texts are in the words of the command line."""
    token = _ON_THE_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _ON_THE_COMMAND_LINE.reset(token)


@dataclass(frozen=True)
class Words:
    """Words that differ between Python, R and the command line; by default the last two are the same as Python's."""

    in_python: str
    in_r: str | None = None
    in_shell: str | None = None

    def __str__(self) -> str:
        in_shell = self.in_shell if _ON_THE_COMMAND_LINE.get() else None
        return self.in_python if in_shell is None else in_shell
