"""Names of variables: checks, looking them up, and lists of names for messages. Numbers as arguments.

Numbers of Python and of NumPy are accepted, True and False are not.
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from pycupc.system.localised_message import Argument, Message, Value


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


def check_count(name: str, value: Any) -> None:
    """Raise TypeError or ValueError unless `value` is a whole number of at least 0."""
    check_real(name, "a whole number of at least 0", value, lambda number: is_whole(number) and number >= 0)


def _refusal(name: str, expected: str, value: Any) -> Message:
    return Message("{name} must be {expected}, got {value}", name=Argument(name), expected=expected, value=Value(value))


class DataError(ValueError):
    """A file cannot be read, or its content is not what was expected; the message names the file and the place."""


def kept_names(source: str, names: Sequence[str], only: Sequence[str], drop: Sequence[str]) -> list[str]:
    """The `names` of columns in `only`, or all if that is empty, without those in `drop`.

    `DataError` if a name in `only` or `drop` does not exist, names are empty or equal, or no column is left.
    """
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if name in first:
            raise DataError(
                f"{source}: columns {first[name] + 1} and {k + 1} are both named {name!r}; names must differ"
            )
        if not name:
            remedy = "name it, or remove it if it is empty (does each line end with a delimiter?)"
            raise DataError(f"{source}: column {k + 1} has no name; {remedy}")
        first[name] = k
    for what, chosen in (("keep", only), ("drop", drop)):
        if absent := [name for name in chosen if name not in first]:
            there = f"the columns are {listed(names)}"
            raise DataError(f"{source}: no column to {what} is named {listed(list(map(repr, absent)))}; {there}")
    wanted = set(only or names).difference(drop)
    if not wanted:
        raise DataError(f"{source}: no column is left; the columns are {listed(names)}")
    return [name for name in names if name in wanted]


def listed(names: Sequence[str], separator: str = ", ", most: int = 8) -> str:
    """The first `most` names, and the number of the others, as text."""
    shown = separator.join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def listed_at(names: Sequence[str], columns: Any) -> str:
    """As `listed`, the names of the columns at these positions, or where a mask is True."""
    return listed([names[j] for j in (np.flatnonzero(columns) if columns.dtype == np.bool_ else columns).tolist()])


def warn_of_constants(constant: NDArray[np.bool_], names: Sequence[str], stacklevel: int = 4) -> None:
    """Warn of constant columns, bool (p,), if there are any."""
    if constant.any():
        text = "constant columns are independent of all others, hence no edges"
        warnings.warn(f"{text}: {listed_at(names, constant)}", stacklevel=stacklevel)


def names_for(labels: Sequence[str] | None, p: int) -> Sequence[str]:
    """The labels, or without them names for messages: "column 0", "column 1", ..."""
    return labels or _Numbered(p)


class _Numbered(Sequence[str]):
    """Names of `p` columns without labels, made when they are read: there may be millions."""

    def __init__(self, p: int) -> None:
        self._numbers = range(p)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, j: Any) -> Any:
        return f"column {self._numbers[j]}"


@functools.lru_cache(maxsize=8)
def default_labels(p: int) -> tuple[str, ...]:
    """Names for variables without names: "1", "2", ..."""
    return tuple(map(str, range(1, p + 1)))


def check_labels(labels: Any, p: int) -> tuple[str, ...]:
    """`labels` as a tuple; TypeError or ValueError unless they are `p` distinct names."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable):
        raise TypeError(f"labels must be a sequence of {p} names, got {labels!r}")
    labels = list(labels)
    if not all(isinstance(label, str) for label in labels):
        wrong = next(label for label in labels if not isinstance(label, str))
        raise TypeError(f"labels must be strings, got {wrong!r}")
    if len(labels) != p:
        raise ValueError(f"labels must name all {p} variables, got {len(labels)}")
    if len(set(labels)) != p:
        twice = sorted(label for label, times in Counter(labels).items() if times > 1)
        raise ValueError(f"labels must be distinct, but these occur more than once: {listed(twice)}")
    return tuple(labels)


def position(variable: str | int, labels: Sequence[str]) -> int:
    """Position of a variable that is given by its label or its position.

    Raises TypeError, ValueError or IndexError if it is neither; there is no variable of this label (the message lists
    similar ones), or at this position.
    """
    if isinstance(variable, str):
        if variable not in labels:
            raise unknown(variable, labels)
        return labels.index(variable)
    if isinstance(variable, bool) or not isinstance(variable, SupportsIndex):
        raise TypeError(f"a variable is named by its label or its number, got {variable!r}")
    if not 0 <= variable < len(labels):
        raise IndexError(f"variables are 0 to {len(labels) - 1}, got {variable}")
    return int(variable)


def positions(variables: Any, labels: Sequence[str]) -> list[int]:
    """Positions of one variable or several, each as of `position`."""
    several = variables if np.iterable(variables) and not isinstance(variables, str) else [variables]
    return [position(v, labels) for v in several]


def unknown(label: str, labels: Sequence[str]) -> ValueError:
    """The error about a label that does not exist; it lists similar ones, or the first."""
    import difflib

    wanted, lower = label.lower(), {name.lower(): name for name in reversed(labels)}
    close = [lower[name] for name in difflib.get_close_matches(wanted, list(lower), n=5, cutoff=0.6)]
    close += [name for name in labels if wanted in name.lower() and name not in close][: 5 - len(close)]
    others = f"similar: {', '.join(close)}" if close else f"labels are {listed(labels, most=5)}"
    return ValueError(f"there is no variable {label!r}; {others}")
