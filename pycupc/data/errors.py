"""The error that every reader of files raises, and the checks of column names that they share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


class DataError(ValueError):
    """A file cannot be read, or its content is not what was expected; the message names the file and the place."""


def check_file(path: Path) -> None:
    """Raise `DataError` unless `path` is an existing file."""
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if path.is_dir():
        raise DataError(f"{path}: is a directory, expected a file")


def check_names(path: Path, names: Sequence[str], drop: Sequence[str]) -> None:
    """Raise `DataError` if two columns have the same name, or if a column to be dropped does not exist."""
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if name in first:
            raise DataError(f"{path}: columns {first[name] + 1} and {k + 1} are both named {name!r}; names must differ")
        first[name] = k
    for name in drop:
        if name not in first:
            raise DataError(f"{path}: no column to drop is named {name!r}; the first are {', '.join(names[:8])}")
