"""What a table holds: numbers, categories, or both; complete, or with gaps. From it follows which tests take it."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import is_measured, is_missing, look_categorical, read_categories, values_of
from pycupc.data.in_memory import RawTable, chosen_columns
from pycupc.data.mixed import MixedTable
from pycupc.data.names import DataError, listed, listed_at
from pycupc.data.source import STDIN
from pycupc.data.table import Table
from pycupc.data.text_layout import ReadOptions, like_a_number, unit_of

Kind = Literal["numbers", "categories", "both"]


@dataclass(frozen=True, eq=False)
class Content:
    """A table with the kind of its columns."""

    kind: Kind
    table: Table | RawTable | MixedTable
    gaps: NDArray[np.int64]  # the columns with missing values, ascending
    found: str = ""  # of a table that holds words, how the kind was found out, in a clause

    @property
    def source(self) -> str:
        """The path of the file, "" of a table in memory."""
        return str(self.table.facts.get("path", ""))

    @property
    def where(self) -> str:
        """The clause about the gaps."""
        return f"values are missing in {len(self.gaps)} of {len(self.table.names)} columns"

    def __str__(self) -> str:
        if self.kind == "both":
            return "numbers and categories"
        name = "data" if self.kind == "numbers" else "categories"
        return f"{name} with gaps" if len(self.gaps) else name


def content_of(data: Any, kind: Kind | None = None, *, together: bool = False, **options: Any) -> Content:
    """Read a table, and find out its kind unless it is given; values may be missing.

    `data`: a table in memory, a `MixedTable`, or the path of a file. `together`: whether a table that holds words is of
    both kinds even if they are in all columns. `options`: as of `Table.of`. DataError, TypeError or ValueError if it is
    no table, or of another kind.
    """
    if _in_file(data):
        options = {"missing": "keep", **options}
    if kind == "both":
        return _both(_mixed(data, options))
    if kind == "categories":
        return _categories(data, options)
    try:
        return _numbers(data, options)
    except (DataError, TypeError):
        once = _in_file(data) and os.fspath(data) == STDIN
        if kind == "numbers" or once or options.get("drop_non_numeric"):
            raise
        if (found := _of_words(data, options, together=together)) is None:
            raise
        return found


def _in_file(data: Any) -> bool:
    return isinstance(data, (str, os.PathLike))


def _mixed(data: Any, options: dict[str, Any]) -> MixedTable:
    return data if isinstance(data, MixedTable) else MixedTable.of(data, **options)


def _numbers(data: Any, options: dict[str, Any]) -> Content:
    if isinstance(data, MixedTable):
        if data.categorical.any():
            raise TypeError(
                f"data must be numeric, but these columns are not: {listed_at(data.names, data.categorical)}"
            )
        table = Table.of_values(data.values, data.labels)
    else:
        table = Table.of(data, **options)
    return Content("numbers", table, table.ends.incomplete())


def _categories(data: Any, options: dict[str, Any], found: str = "") -> Content:
    """A table of categories: codes if it is complete, else texts and other values, None where one is missing."""
    keep = options.get("missing") == "keep" and os.fspath(data) != STDIN  # which is read only once
    if keep or not _in_file(data):
        raw = _values(data, options)
        gaps = np.flatnonzero([any(map(is_missing, column)) for column in raw.values.T])
        if len(gaps):
            return Content("categories", raw, gaps, found)
    return Content("categories", _codes(data, options), np.zeros(0, dtype=np.int64), found)


def _values(data: Any, options: dict[str, Any]) -> RawTable:
    """The cells of a table of categories, None or NaN where a value is missing."""
    if _in_file(data):
        return read_categories(os.fspath(data), ReadOptions(**options))
    if isinstance(data, MixedTable):
        return RawTable(data.cells(), None if data.labels is None else list(data.labels))
    return values_of(chosen_columns(data, **options) if options else data, "data")


def _codes(data: Any, options: dict[str, Any]) -> Table:
    """A table of categories; ValueError where a value is missing."""
    if isinstance(data, MixedTable):
        return Table.of(data.cells(), data.labels, categories=True)
    if options.get("missing") == "keep":
        options = options | {"missing": "error"}
    return Table.of(data, categories=True, **options)


def _both(mixed: MixedTable, found: str = "") -> Content:
    return Content("both", mixed, np.flatnonzero(np.isnan(mixed.values).any(axis=0)), found)


def _of_words(data: Any, options: dict[str, Any], *, together: bool) -> Content | None:
    """The content of a table that holds words; None if they are damaged numbers or names of rows."""
    if not together:
        with contextlib.suppress(DataError if _in_file(data) else ValueError):
            table = _codes(data, options)
            known = [list(map(str, own)) for own in table.categories or ()]
            if look_categorical(known) and not _name_rows(known[0], len(table.values)):
                return Content("categories", table, np.zeros(0, dtype=np.int64), "holds categories")
    unfit = ValueError if _in_file(data) else TypeError  # of a file the error about numbers knows more
    try:
        mixed = _mixed(data, options)
    except unfit:
        return None
    words = [list(map(str, own)) for own in mixed.categories if own is not None]
    if not words:
        return None
    if not isinstance(data, MixedTable):  # whose types say which columns are categories
        first = mixed.categories[0]
        if any(map(like_a_number, itertools.chain(*words))) or _name_rows(first and list(map(str, first)), mixed.n):
            return None
    texts = (map(str, np.unique(column[~np.isnan(column)]).tolist()) for column in mixed.numbers().T)
    if not together and 2 * len(words) >= mixed.p and not any(map(is_measured, texts)):
        return _categories(data, options, "holds categories")
    names = listed([mixed.names[j] for j in np.flatnonzero(mixed.categorical).tolist()], most=3)
    return _both(mixed, f"{len(words)} of {mixed.p} columns hold words ({names})")


def _name_rows(first: Sequence[str] | None, n: int) -> bool:
    """Whether the different texts of the first column of n rows may be the names of the rows."""
    return first is not None and len(first) == n and not unit_of(first)
