"""What a table holds: numbers, categories, or both; complete, or with gaps. From it follows which tests take it."""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.data.categories import (
    are_kept,
    is_measured,
    is_missing,
    look_categorical,
    may_be_numbers,
    read_categories,
    values_of,
)
from pycupc.data.clean_columns import Decisions, is_identifier, numbers_the_rows, with_doubts
from pycupc.data.in_memory import RawTable, chosen_columns, is_frame, rows_of, with_columns
from pycupc.data.mixed import MixedTable
from pycupc.data.names import DataError, listed
from pycupc.data.readers import complete_rows
from pycupc.data.source import STDIN
from pycupc.data.table import Table
from pycupc.data.text_columns import MANY_TEXTS, NotNumbersError, TextColumn
from pycupc.data.text_layout import MISSING, ReadOptions
from pycupc.data.units import numbers_in, unit_of
from pycupc.system.localised_message import Message

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
    is_matrix: bool = False  # of correlations
    decided: str | Message = ""  # what was decided about columns, see `pycupc.data.clean_columns.Decisions`

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

    def after(self, decisions: Decisions) -> Content:
        """This content, of a table that was read after these decisions about its columns."""
        facts = {name: str(part) for name, part in decisions.parts.items()}
        decided: str | Message = decisions.said
        if self.decided:
            decided = Message("{first}; {second}", first=decided, second=self.decided)
        facts |= {name: f"{facts[name]}; {said}" for name, said in self.table.facts.items() if name in facts}
        return replace(self, table=replace(self.table, facts={**self.table.facts, **facts}), decided=decided)


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

    def after(self, decisions: Decisions) -> tuple[Any, dict[str, Any]]:
        """The data and the options with which they are read after these decisions about columns."""
        columns = {}
        if decisions.units or decisions.marks:
            by_name = {str(name): name for name in self.data.columns}
            for name in {**decisions.units, **decisions.marks}:
                missing = MISSING | {decisions.marks.get(name, "").casefold()}
                columns[name] = numbers_in(self.data[by_name[name]].to_numpy().tolist(), missing)
        data = with_columns(self.data, columns) if columns else self.data
        return data, {**self.options, "drop": [*self.options.get("drop", ()), *decisions.out]}

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
        if not self.typed_columns or not Path(self.data).is_file():
            return {}
        table = self.cells()
        columns = zip(table.names, table.types, table.values.T.tolist(), strict=True)
        return {name: TextColumn.of(cells) for name, kind, cells in columns if _TEXTS.match(kind)}

    def after(self, decisions: Decisions) -> tuple[Any, dict[str, Any]]:
        more = {"drop": decisions.out, "na": dict.fromkeys(decisions.marks.values()), "units": decisions.units}
        if self.typed_columns:  # in which also texts of numbers have to be named
            more["units"] = {**decisions.units, **decisions.marks}
        return self.data, self.options | {name: [*self.options.get(name, ()), *own] for name, own in more.items()}

    @property
    def typed_columns(self) -> bool:
        """Whether the file says the types of the columns."""
        return PurePath(self.data).suffix.lower() in (".parquet", ".feather")

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

    Columns of a file or of a DataFrame that are no variables, as `TextColumn.no_variable` says, are left out, numbers
    with a unit are read without it, and a mark beside numbers is a missing value, unless the columns are to be kept.

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
        columns: Mapping[str, TextColumn] = {} if source.typed or not source.rereadable else _texts(content)
    else:
        try:
            table = source.numbers()
            content, columns = Content("numbers", table, table.ends.incomplete()), {}
        except (DataError, TypeError) as wrong:
            if not source.rereadable or options.get("drop_non_numeric"):
                raise
            error = wrong
            columns = wrong.columns if isinstance(wrong, NotNumbersError) else source.text_columns()
    decisions = Decisions.of(columns, keep, decimal=options.get("decimal", "."), numbers=kind != "categories")
    if content is not None and source.rereadable and not source.typed:
        decisions = replace(decisions, out={**_no_values(content, keep), **decisions.out})
    if decisions:
        width = len(content.table.names) if content is not None else getattr(error, "width", 0)
        return _again(source, decisions, width, kind, together=together, keep=keep)
    if content is not None:
        return content
    assert error is not None
    content = _of_words(source, together=together) if kind is None else None
    if content is None:
        raise with_doubts(data, error, columns) if kind is None else error
    if out := {} if source.typed else _no_values(content, keep):
        return _again(source, Decisions(out), len(content.table.names), kind, together=together, keep=keep)
    return content


def complete_in_memory(data: Any, missing: str, kind: Columns | None, **how: Any) -> Any:
    """A table in memory; with "drop-rows" without its incomplete rows, with "error" DataError if it has any."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they come when the rest is read
        table = content_of(data, kind, **how).table
    words = table.values.dtype == object
    holes = np.frompyfunc(is_missing, 1, 1)(table.values).astype(bool) if words else np.isnan(table.values)
    complete_rows("data", RawTable(holes, list(table.names)), holes, missing)
    return rows_of(data, np.flatnonzero(~holes.any(axis=1))) if holes.any() else data


def _again(source: _Memory, decisions: Decisions, width: int, kind: Columns | None, **how: Any) -> Content:
    """The content of a table of `width` columns, 0 if that is not known, after these decisions about them."""
    if 0 < width < len(decisions.out) + 2:
        text = "{path}a graph needs at least 2 columns, the variables, and {left} left; {said}"
        left = "1 is" if width > len(decisions.out) else "none is"
        path = f"{os.fspath(source.data)}: " if isinstance(source.data, (str, os.PathLike)) else ""
        raise DataError(Message(text, path=path, left=left, said=decisions.said))
    data, options = source.after(decisions)
    try:
        return content_of(data, kind, **how, **options).after(decisions)
    except (TypeError, ValueError) as wrong:
        raise DataError(Message("{wrong}; {said}", wrong=wrong.args[0], said=decisions.said)) from wrong


def _no_values(content: Content, keep: Sequence[str]) -> dict[str, str]:
    """Columns with a name that hold nothing, or numbers of the rows; each with what it is."""
    table, found = content.table, dict[str, str]()
    if table.labels is None:
        return {}
    if isinstance(table, Table | MixedTable) and len(content.gaps):
        empty = content.gaps[np.isnan(table.values[:, content.gaps]).all(axis=0)].tolist()
        found = {table.labels[j]: "has no values" for j in empty if table.labels[j] not in keep}
    for j, name in enumerate(table.labels):
        if (j == 0 or is_identifier(name)) and name not in keep and (what := _of_rows(table, j)):
            found[name] = what
    return found


def _of_rows(table: Table | RawTable | MixedTable, j: int) -> str:
    """What a column is in a clause if it holds numbers of the rows, else ""."""
    assert table.labels is not None
    own = None if isinstance(table, RawTable) or table.categories is None else table.categories[j]
    cells = table.values[:, j].tolist()
    try:
        cells = cells if own is None else [own[int(code)] for code in cells]
        return numbers_the_rows(table.labels[j], cells, first=j == 0)
    except (TypeError, ValueError):  # a text, or a gap
        return ""


def _texts(content: Content) -> dict[str, TextColumn]:
    """The columns of categories, or of texts; of those with few different ones only these, as coming again."""
    table = content.table
    if isinstance(table, RawTable):
        return {name: TextColumn.of(column.tolist()) for name, column in zip(table.names, table.values.T, strict=True)}
    found = {}
    for name, codes, own in zip(table.names, table.values.T, table.categories or (), strict=False):
        if own is not None and len(own) > MANY_TEXTS:
            found[name] = TextColumn.of([own[int(code)] for code in codes[~np.isnan(codes)].tolist()])
        elif own is not None:
            found[name] = replace(TextColumn.of(own), comes_again=True)
    return found


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
            if look_categorical(known) and not _name_rows(table.names[0], known[0], len(table.values)):
                return Content("categories", table, np.zeros(0, dtype=np.int64), "holds categories")
    try:
        mixed = source.mixed()
    except source.no_words:
        return None
    words = {j: list(map(str, own)) for j, own in enumerate(mixed.categories) if own is not None}
    if not words:
        return None
    if not source.typed:
        doubtful = [mixed.names[j] for j, own in words.items() if may_be_numbers(mixed.values[:, j], own)]
        if [name for name in doubtful if not are_kept(name)] or _name_rows(mixed.names[0], words.get(0), mixed.n):
            return None
    texts = (map(str, np.unique(column[~np.isnan(column)]).tolist()) for column in mixed.numbers().T)
    if not together and 2 * len(words) >= mixed.p and not any(map(is_measured, texts)):
        return _categories(source, "holds categories")
    names = listed([mixed.names[j] for j in words], most=3)
    return _both(mixed, f"{len(words)} of {mixed.p} columns hold words ({names})")


def _name_rows(name: str, first: Sequence[str] | None, n: int) -> bool:
    """Whether the different texts of the first column of n rows may be the names of the rows."""
    return first is not None and len(first) == n and not unit_of(first) and not are_kept(name)
