"""What a table holds: numbers, categories, or both; complete, or with gaps. From it follows which tests take it."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import is_measured, is_missing, look_categorical, read_categories, values_of
from pycupc.data.in_memory import RawTable, chosen_columns, is_frame
from pycupc.data.mixed import MixedTable
from pycupc.data.names import DataError, listed
from pycupc.data.source import STDIN
from pycupc.data.table import Table
from pycupc.data.text_columns import MANY_TEXTS, NotNumbersError, TextColumn, marks_of_missing, no_variables
from pycupc.data.text_layout import ReadOptions, like_a_number, unit_of
from pycupc.system.localised_message import Message, Words

Columns = Literal["numbers", "categories", "both"]
#: Types of columns of text and of dates.
_TEXTS = re.compile("object|str|large_str|utf8|date|time", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Content:
    """A table with the kind of its columns."""

    kind: Columns
    table: Table | RawTable | MixedTable
    gaps: NDArray[np.int64]  # the columns with missing values, ascending
    found: str = ""  # of a table that holds words, how the kind was found out, in a clause
    decided: str | Message = ""  # which columns were left out, and which marks taken for missing values

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

    def after(self, out: Mapping[str, str], marks: Mapping[str, str], columns: Mapping[str, TextColumn]) -> Content:
        """This content, of a table from which columns were left `out`, each with the reason, and in which `marks`, by
        column, were taken for missing values; `columns` as they were before."""
        parts, facts = [], dict[str, str]()
        if out:
            names = list(out)
            said = listed([f"{name} {why}" for name, why in out.items()], "; ")
            keep = Words(f"keep={names}", in_shell=" ".join(["--keep", *map(shlex.quote, names)]))
            parts.append(Message("left out, since no variables: {said} (to keep: {keep})", said=said, keep=keep))
            facts["columns_left_out"] = str(parts[-1])
        if marks:
            said = listed([f"{mark!r} in {name} ({columns[name].words:,} rows)" for name, mark in marks.items()])
            parts.append(Message("taken for missing values, beside numbers: {said}", said=said))
            facts["marks_of_missing"] = str(parts[-1])
        table = replace(self.table, facts={**self.table.facts, **facts})
        decided = parts[0] if len(parts) == 1 else Message("{first}; {second}", first=parts[0], second=parts[1])
        return replace(self, table=table, decided=decided)


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

    def text_columns(self) -> dict[str, TextColumn]:
        """The columns of text of a DataFrame, but those whose type says that they hold categories."""
        frame = chosen_columns(self.data, **self.options) if self.options else self.data
        if not is_frame(frame):
            return {}
        kinds = [str(kind) for kind in frame.dtypes]
        texts = [name for name, kind in zip(frame.columns, kinds, strict=True) if _TEXTS.match(kind)]
        return {str(name): TextColumn.of(frame[name].to_numpy().tolist()) for name in texts}

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

    def text_columns(self) -> dict[str, TextColumn]:
        """The columns of text of a file with types; of other files the error about their numbers has them."""
        if PurePath(self.data).suffix.lower() not in (".parquet", ".feather") or not Path(self.data).is_file():
            return {}
        table = self.cells()
        columns = zip(table.names, table.types, table.values.T.tolist(), strict=True)
        return {name: TextColumn.of(cells) for name, kind, cells in columns if _TEXTS.match(kind)}

    def cells(self) -> RawTable:
        return read_categories(os.fsdecode(self.data), ReadOptions(**self.options))


class _Typed(_Memory):
    """A `MixedTable`."""

    typed = True

    def text_columns(self) -> dict[str, TextColumn]:
        return {}

    def numbers(self) -> Table:
        if self.data.categorical.any():
            of_texts = [(name, own) for name, own in zip(self.data.names, self.data.categories, strict=True) if own]
            shown = listed([f"{name} ({len(own)} categories, such as {str(own[0])!r})" for name, own in of_texts])
            raise TypeError(
                f"data must be numeric, but these columns are not: {shown}; leave them out, or take a test of numbers "
                "and categories: mixCItest"
            )
        return Table.of_values(self.data.values, self.data.labels)

    def mixed(self) -> MixedTable:
        mixed: MixedTable = self.data
        return mixed

    def codes(self) -> Table:
        return Table.of(self.data.cells(), self.data.labels, categories=True)

    def cells(self) -> RawTable:
        return RawTable(self.data.cells(), None if self.data.labels is None else list(self.data.labels))


def content_of(
    data: Any, kind: Columns | None = None, *, together: bool = False, keep: Sequence[str] = (), **options: Any
) -> Content:
    """Read a table, and find out its kind unless it is given; values may be missing.

    Columns of a file or of a DataFrame that are no variables, as `TextColumn.no_variable` says, are left out unless
    they are to be kept.

    `data`: a table in memory, a `MixedTable`, or the path of a file. `together`: whether a table that holds words is of
    both kinds even if they are in all columns. `keep`: names of columns. `options`: as of `Table.of`. DataError,
    TypeError or ValueError if it is no table, or of another kind.
    """
    if isinstance(data, (str, os.PathLike)):
        source: _Memory = _File(data, {"missing": "keep", **options})
    else:
        source = (_Typed if isinstance(data, MixedTable) else _Memory)(data, options)
    content, error = None, None
    if kind in ("both", "categories"):
        content = _both(source.mixed()) if kind == "both" else _categories(source)
        columns: Mapping[str, TextColumn] = {} if source.typed or not source.rereadable else _many_texts(content)
    else:
        try:
            table = source.numbers()
            return Content("numbers", table, table.ends.incomplete())
        except (DataError, TypeError) as wrong:
            if not source.rereadable or options.get("drop_non_numeric"):
                raise
            error = wrong
            columns = wrong.columns if isinstance(wrong, NotNumbersError) else source.text_columns()
    out, marks = no_variables(columns, keep), dict[str, str]()
    if error is not None and isinstance(data, (str, os.PathLike)):  # a test of categories may mean the mark itself
        marks = marks_of_missing(columns)
    if out or marks:
        left = {**options, "drop": [*options.get("drop", ()), *out]}
        left |= {"na": [*options.get("na", ()), *dict.fromkeys(marks.values())]} if marks else {}
        with contextlib.suppress(TypeError, ValueError):  # too few columns are left, or there are other errors
            return content_of(data, kind, together=together, keep=keep, **left).after(out, marks, columns)
    if content is None and kind is None:
        content = _of_words(source, together=together)
    if content is None:
        assert error is not None
        raise error
    return content


def _many_texts(content: Content) -> dict[str, TextColumn]:
    """The columns of categories, or of texts, with many different ones."""
    table = content.table
    columns = []
    if isinstance(table, RawTable):
        columns = [column.tolist() for column in table.values.T]
    else:
        for codes, own in zip(table.values.T, table.categories or (), strict=False):
            many = own is not None and len(own) > MANY_TEXTS
            columns.append([own[int(code)] for code in codes[~np.isnan(codes)].tolist()] if many and own else [])
    return {name: TextColumn.of(cells) for name, cells in zip(table.names, columns, strict=False)}


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
