"""Checks of an argument by itself: each raises TypeError or ValueError, with its name, unless its value is valid."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from pycupc.data.names import check_real, is_real, is_whole
from pycupc.orientation.pag import ALL_RULES
from pycupc.system.localised_message import Argument, Message, Value


def switch(name: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def verbosity(name: str, value: Any) -> None:
    """True or False, or as a number, 0 or more."""
    if not isinstance(value, (bool, np.bool_)) and not (is_whole(value) and value >= 0):
        raise TypeError(f"{name} must be True or False, or a whole number of at least 0, got {value!r}")


def number(expected: str, valid: Callable[[Any], object], *, none: bool = False) -> Callable[[str, Any], None]:
    """The check of a number, described by `expected`; with `none`, None is valid too."""

    def check(name: str, value: Any) -> None:
        if value is not None or not none:
            check_real(name, expected, value, valid)

    return check


def method(_: str, value: Any) -> None:
    """A name of the stable method."""
    if value == "original":
        raise ValueError("method 'original' depends on the order of the variables: use 'stable', or call pcalg::pc()")
    if value not in ("stable", "stable.fast"):
        raise ValueError(f"method (of pc: skel_method) must be 'stable' or 'stable.fast', got {value!r}")


def cores(name: str, value: Any) -> None:
    """A number of threads, or None."""
    if value is not None and (not isinstance(value, (int, np.integer)) or value < 1):
        text = "{name} must be a whole number of at least 1, or {none} for all, got {given}"
        raise ValueError(Message(text, name=Argument(name), none=Value(None), given=Value(value)))


def folder(name: str, value: Any) -> None:
    """The path of a folder, or None."""
    if value is not None and not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} must be the path of a folder, got {value!r}")


def executor(name: str, value: Any) -> None:
    """A concurrent.futures.Executor, a number of processes, the address of a Dask scheduler, or None."""
    processes = is_real(value) and value >= 1 and value == int(value)
    if value is None or processes or isinstance(value, str) or callable(getattr(value, "submit", None)):
        return
    expected = "a concurrent.futures.Executor, a number of processes or the address of a Dask scheduler"
    error = ValueError if is_real(value) else TypeError
    raise error(Message(f"{{name}} must be {expected}, got {{given}}", name=Argument(name), given=Value(value)))


def seed(_: str, value: Any) -> None:
    """A seed, a generator, or None; with the errors of NumPy."""
    if value is not None:
        np.random.default_rng(value)  # NumPy's errors, before the tests


def rules(name: str, value: Any) -> None:
    """A switch for each of the rules for PAGs."""
    n = len(ALL_RULES)
    if np.ndim(value) != 1 or len(value) != n or not all(rule in (True, False) for rule in value):
        raise ValueError(f"{name} must be {n} values True or False, for the rules 1 to {n}, got {value!r}")
