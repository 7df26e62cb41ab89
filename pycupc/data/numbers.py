"""Numbers as arguments: those of Python and of NumPy are accepted, True and False are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pycupc.system.message import Argument, Message, Value


def is_whole(value: Any) -> bool:
    """Whether `value` has a type of whole numbers."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_real(value: Any) -> bool:
    """Whether `value` has a type of numbers, whole or not."""
    return is_whole(value) or isinstance(value, (float, np.floating))


def check_real(name: str, expected: str, value: Any, valid: Callable[[Any], object] = lambda _: True) -> None:
    """Raise TypeError unless `value` is a number, ValueError unless it is `valid`; both say what was `expected`."""
    if not is_real(value):
        raise TypeError(_refusal(name, expected, value))
    if not valid(value):
        raise ValueError(_refusal(name, expected, value))


def _refusal(name: str, expected: str, value: Any) -> Message:
    return Message("{name} must be {expected}, got {value}", name=Argument(name), expected=expected, value=Value(value))
