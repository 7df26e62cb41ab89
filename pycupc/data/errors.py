"""The error that every reader of files raises, and the checks of column names that they share."""

from __future__ import annotations

from collections.abc import Sequence


class DataError(ValueError):
    """A file cannot be read, or its content is not what was expected; the message names the file and the place."""


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


def some(names: Sequence[str], separator: str = ", ", most: int = 8) -> str:
    """The first `most` names, and the number of the others."""
    shown = separator.join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
