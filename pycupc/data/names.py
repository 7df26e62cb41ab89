"""Checks of the names of variables, and lists of names for messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pycupc.data.errors import DataError


def check_names(source: str, names: Sequence[str], drop: Sequence[str]) -> None:
    """Raise `DataError` if a column has no name or that of another, or if a column to be dropped does not exist."""
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if name in first:
            raise DataError(
                f"{source}: columns {first[name] + 1} and {k + 1} are both named {name!r}; names must differ"
            )
        if not name:
            raise DataError(
                f"{source}: column {k + 1} has no name; name it, or remove it if it is empty (does each line end with "
                "a delimiter?)"
            )
        first[name] = k
    for name in drop:
        if name not in first:
            raise DataError(f"{source}: no column to drop is named {name!r}; the first are {', '.join(names[:8])}")


def listed(names: Sequence[str], separator: str = ", ", most: int = 8) -> str:
    """The first `most` names, and the number of the others, as text."""
    shown = separator.join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def check_labels(labels: Any, p: int) -> tuple[str, ...]:
    """`p` distinct names."""
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
