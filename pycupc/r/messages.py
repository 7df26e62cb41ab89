"""Errors and warnings of the package in the terms of R users."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pycupc.algorithm.parameters import PARAMETERS
from pycupc.system.localised_message import Argument, Cell, Message, Setting, Value, Variable, Variables, Words

#: R's names of arguments, where they differ.
R_NAMES = {
    "all_pasets": "all.pasets",
    "data": "`x`",
    "y_notparent": "y.notparent",
    **{name: row.in_r for name, row in PARAMETERS.items() if row.in_r},
}


@contextmanager
def failures_in_reply(labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield a reply that collects exceptions and the package's own warnings, which R then shows as its own.

    Warnings of NumPy are left out: R's NA is a signalling NaN, about which NumPy warns in every computation.
    """
    reply: dict[str, Any] = {"error": None, "message": "", "notices": []}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield reply
        except Exception as error:
            reply |= {"error": type(error).__name__, "message": in_r(error, labels)}
    reply["notices"] = [in_r(w.message, labels) for w in caught if issubclass(w.category, UserWarning)]


def in_r(said: str | BaseException, labels: Sequence[str]) -> str:
    """A text, an error or a warning in R's terms: R's names of arguments, and positions from 1 with their labels."""
    if isinstance(said, BaseException):
        said = said.args[0] if said.args and isinstance(said.args[0], Message) else str(said)
    return said.stated(lambda fact: _stated(fact, labels)) if isinstance(said, Message) else said


def _stated(fact: Any, labels: Sequence[str]) -> Any:
    """A fact in R's terms; numbers and texts as they are."""
    match fact:
        case Variable(k):
            number = str(k + 1)
            return f"{number} ({labels[k]})" if k < len(labels) and labels[k] != number else number
        case Variables(positions):
            return f"({', '.join(labels[k] if k < len(labels) else str(k + 1) for k in positions)})"
        case Cell(i, j):
            return f"[{i + 1}, {j + 1}]"
        case Argument(name):
            return R_NAMES.get(name, name)
        case Setting(name, value):
            return f"{R_NAMES.get(name, name)} = {_literal(value)}"
        case Value():
            return ", ".join(map(_literal, fact.values))
        case Words():
            return fact.in_python if fact.in_r is None else fact.in_r
        case Message() | BaseException():
            return in_r(fact, labels)
    return fact


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool() | np.bool_():
            return "TRUE" if value else "FALSE"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case list() | tuple() if len(value) == 1:
            return _literal(value[0])
        case list() | tuple():
            return f"c({', '.join(map(_literal, value))})"
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
    return repr(value)
