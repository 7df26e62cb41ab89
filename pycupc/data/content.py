"""What a table holds: numbers, categories, or both; complete, or with gaps. From it follows which tests take it."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import is_measured, is_missing, look_categorical, read_categories, values_of
from pycupc.data.in_memory import RawTable, chosen_columns
from pycupc.data.mixed import MixedTable
from pycupc.data.names import DataError, listed, listed_at
from pycupc.data.source import STDIN
from pycupc.data.table import Table
from pycupc.data.text_layout import ReadOptions, like_a_number, unit_of

Columns = Literal["numbers", "categories", "both"]


@dataclass(frozen=True, eq=False)
class Content:
    """A table with the kind of its columns."""

    kind: Columns
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
        name = {"numbers": "data", "categories": "categories", "both": "numbers and categories"}[self.kind]
        return f"{name} with gaps" if len(self.gaps) else name


@dataclass(frozen=True)
class _Memory:
    """A table in memory, as a table of each kind. `options`: as of `Table.of`."""

    data: Any
    options: dict[str, Any]

    typed: ClassVar[bool] = False  # whether types say which columns are categories
    #: The errors of `codes` and `mixed` after which the error of `numbers` says more.
    no_categories: ClassVar[type[Exception]] = ValueError
    no_words: ClassVar[type[Exception]] = TypeError

    @property
    def rereadable(self) -> bool:
        """Whether it can be read more than once."""
        return True

    def numbers(self) -> Table:
        return Table.of(self.data, **self.options)

    def mixed(self) -> MixedTable:
        return MixedTable.of(self.data, **self.options)

    def codes(self) -> Table:
        """ValueError where a value is missing."""
        return Table.of(self.data, categories=True, **self.options)

    def cells(self) -> RawTable:
        """The categories themselves, None or NaN where a value is missing."""
        return values_of(chosen_columns(self.data, **self.options) if self.options else self.data, "data")


class _File(_Memory):
    """A table in a file."""

    no_categories, no_words = DataError, ValueError

    @property
    def rereadable(self) -> bool:
        return str(self.data) != STDIN

    def codes(self) -> Table:
        missing = "drop-rows" if self.options["missing"] == "drop-rows" else "error"
        return Table.of(self.data, categories=True, **self.options | {"missing": missing})

    def cells(self) -> RawTable:
        return read_categories(os.fsdecode(self.data), ReadOptions(**self.options))


class _Typed(_Memory):
    """A `MixedTable`."""

    typed = True

    def numbers(self) -> Table:
        if (words := self.data.categorical).any():
            raise TypeError(f"data must be numeric, but these columns are not: {listed_at(self.data.names, words)}")
        return Table.of_values(self.data.values, self.data.labels)

    def mixed(self) -> MixedTable:
        mixed: MixedTable = self.data
        return mixed

    def codes(self) -> Table:
        return Table.of(self.data.cells(), self.data.labels, categories=True)

    def cells(self) -> RawTable:
        return RawTable(self.data.cells(), None if self.data.labels is None else list(self.data.labels))


def content_of(data: Any, kind: Columns | None = None, *, together: bool = False, **options: Any) -> Content:
    """Read a table, and find out its kind unless it is given; values may be missing.

    `data`: a table in memory, a `MixedTable`, or the path of a file. `together`: whether a table that holds words is of
    both kinds even if they are in all columns. `options`: as of `Table.of`. DataError, TypeError or ValueError if it is
    no table, or of another kind.
    """
    if isinstance(data, (str, os.PathLike)):
        source: _Memory = _File(data, {"missing": "keep", **options})
    else:
        source = (_Typed if isinstance(data, MixedTable) else _Memory)(data, options)
    if kind == "both":
        return _both(source.mixed())
    if kind == "categories":
        return _categories(source)
    try:
        table = source.numbers()
    except (DataError, TypeError):
        if kind == "numbers" or not source.rereadable or options.get("drop_non_numeric"):
            raise
        if (found := _of_words(source, together=together)) is None:
            raise
        return found
    return Content("numbers", table, table.ends.incomplete())


def _categories(source: _Memory, found: str = "") -> Content:
    """A table of categories: codes if it is complete, else texts and other values."""
    if source.rereadable and source.options.get("missing", "keep") == "keep":
        raw = source.cells()
        gaps = np.flatnonzero([any(map(is_missing, column)) for column in raw.values.T])
        if len(gaps):
            return Content("categories", raw, gaps, found)
    return Content("categories", source.codes(), np.zeros(0, dtype=np.int64), found)


def _both(mixed: MixedTable, found: str = "") -> Content:
    return Content("both", mixed, np.flatnonzero(np.isnan(mixed.values).any(axis=0)), found)


def _of_words(source: _Memory, *, together: bool) -> Content | None:
    """The content of a table that holds words; None if they are damaged numbers or names of rows."""
    if not together:
        with contextlib.suppress(source.no_categories):
            table = source.codes()
            known = [list(map(str, own)) for own in table.categories or ()]
            if look_categorical(known) and not _name_rows(known[0], len(table.values)):
                return Content("categories", table, np.zeros(0, dtype=np.int64), "holds categories")
    try:
        mixed = source.mixed()
    except source.no_words:
        return None
    words = {j: list(map(str, own)) for j, own in enumerate(mixed.categories) if own is not None}
    damaged = any(map(like_a_number, itertools.chain(*words.values()))) or _name_rows(words.get(0), mixed.n)
    if not words or (damaged and not source.typed):
        return None
    texts = (map(str, np.unique(column[~np.isnan(column)]).tolist()) for column in mixed.numbers().T)
    if not together and 2 * len(words) >= mixed.p and not any(map(is_measured, texts)):
        return _categories(source, "holds categories")
    names = listed([mixed.names[j] for j in words], most=3)
    return _both(mixed, f"{len(words)} of {mixed.p} columns hold words ({names})")


def _name_rows(first: Sequence[str] | None, n: int) -> bool:
    """Whether the different texts of the first column of n rows may be the names of the rows."""
    return first is not None and len(first) == n and not unit_of(first)
