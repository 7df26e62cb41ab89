"""The cells of a table of text, and from cells to numbers.

`Cells.one_by_one` is the definition: it looks at one cell after the other and explains the first invalid one. NumPy's
parser, about twice as fast, is tried first, but only in a way in which it accepts nothing that the definition would
refuse.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from pycupc.data import binary
from pycupc.data.column_checks import MANY_ROWS, NAMES_READ
from pycupc.data.names import DataError, listed
from pycupc.data.source import Source, open_text
from pycupc.data.text_columns import NotNumbersError, TextColumn, mixed
from pycupc.data.text_layout import (
    HEAD,
    IN_GROUPS,
    NUMBER,
    Layout,
    ReadOptions,
    are_names,
    find_delimiter,
    find_layout,
    is_mark,
    is_number,
    option,
    rows,
)
from pycupc.data.units import unit_of, without_unit

Floats = NDArray[np.float64]

#: About the most cells that are read again to list the columns that are not of numbers.
MOST_CELLS = 10_000_000


@dataclass
class Cells:
    """The cells of a text or of a sheet, and their layout."""

    name: str  # of the file, for messages
    options: ReadOptions
    layout: Layout
    text: TextIO | None  # None of a sheet
    delimiter: str = ""
    sheet: Sequence[tuple[int, list[str]]] = field(default=())  # numbers and cells of its rows
    text_columns: dict[int, TextColumn] = field(default_factory=dict)  # by an error, see `columns_of_text`

    @classmethod
    def of(cls, source: Source, options: ReadOptions, *, matrix: bool = False) -> Cells:
        """The cells of a file; `DataError` if it is empty, or its layout is open; `matrix` if it is of correlations."""
        out = cls(source.name, options, Layout(False, False, [], frozenset()), None)
        if source.kind == "excel":
            out.sheet = binary.read_sheet(source, options.sheet)
        else:
            out.text = open_text(source)
            out.delimiter = _delimiter(source, out.text, options)
        head = [row for _, row in islice(out.rows(), HEAD)]
        if not head:
            raise DataError(f"{source.name}: the file is empty")
        out.layout = find_layout(source.name, head, options, matrix=matrix)
        return out

    def with_row_names(self) -> Cells:
        """These cells, whose first column names the rows, unless it holds a number."""
        cells = [row[0].strip() for _, row in self.below_header(1)]
        if self.layout.has_row_names or self.options.index == "no" or not cells or is_number(cells[0]):
            return self
        head = [row for _, row in islice(self.rows(), HEAD)]
        options = replace(self.options, index="yes")
        return replace(self, options=options, layout=find_layout(self.name, head, options))

    def first_column(self) -> list[str]:
        """The cells of the first column, without the header."""
        return [row[0].strip() for _, row in self.body()]

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of each row, from the beginning."""
        if self.text is None:
            return iter(self.sheet)
        return rows(self.name, self.text, self.delimiter, self.options.comment)

    def below_header(self, most: int | None = None) -> Iterator[tuple[int, list[str]]]:
        """The first `most` rows of data, or all, of whatever length."""
        begin = int(self.layout.has_header)
        found = islice(self.rows(), begin, None if most is None else begin + most)
        return self._without_units(found) if self.options.units else found

    def _without_units(self, found: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
        columns = [k for k, name in enumerate(self.layout.names) if name in self.options.units]
        for line, row in found:
            for k in columns:
                row[k : k + 1] = [without_unit(cell, self.options.decimal) for cell in row[k : k + 1]]
            yield line, row

    def body(self) -> Iterator[tuple[str, list[str]]]:
        """The place in words and the cells of each row of data; `DataError` for one of wrong length."""
        width = len(self.layout.names)
        for number, (line, row) in enumerate(self.below_header(), start=1):
            place = f"{self.name}, line {line} (row {number} of the data)"
            if len(row) != width:
                raise DataError(f"{place}: expected {width} cells, got {len(row)}")
            yield place, row

    def rows_have_names(self, n: int) -> bool:
        """Whether the first column, which is left out, names each of n rows, which are many."""
        named = 0 in self.layout.text_columns and n >= MANY_ROWS * len(self.layout.columns)
        return named and are_names([row[0].strip() for _, row in self.below_header(NAMES_READ)])

    def numbers(self) -> Floats:
        """The numeric columns, float64 (n, p); NaN where a value is missing; errors as of `one_by_one`."""
        if self.options.drop_non_numeric and (found := self.columns_of_text()):
            warn_left_out(self.name, [f"{self.layout.names[k]}{kind}" for k, kind in found.items()])
            self.layout = replace(self.layout, text_columns=self.layout.text_columns.union(found))
        X = self.by_numpy()
        X = self.one_by_one() if X is None else X
        self.warn_of_groups(X)
        of_missing = self.options.missing_numbers
        return np.where(np.isin(X, of_missing), np.nan, X) if of_missing else X

    def warn_of_groups(self, X: Floats | None = None) -> None:
        """Warn of columns whose points may separate thousands; `X`, their numbers, spares most columns the search.

        Cells are delimited by semicolons where the decimal point is a comma.
        """
        if self.delimiter != ";" or self.options.decimal != ".":
            return
        some = slice(None) if X is None else (X % 1 > 0).any(axis=0)
        # of each column that may have groups of digits, a number that has some
        found = dict.fromkeys(np.array(self.layout.columns)[some].tolist(), "")
        for _, row in self.body():
            if not found:
                return
            for k in list(found):
                cell = row[k].strip()
                if IN_GROUPS.fullmatch(cell):
                    found[k] = found[k] or cell * ("." in cell)
                elif cell.casefold() not in self.options.missing_cells:
                    del found[k]
        if names := [f"{self.layout.names[k]} ({cell})" for k, cell in found.items() if cell]:
            text = "three digits follow each point, which counts as a decimal point; if it separates thousands, write "
            warnings.warn(f"{self.name}: {text}the numbers without it: {listed(names)}", stacklevel=2)

    def by_numpy(self) -> Floats | None:
        """As `one_by_one`, by NumPy's parser; None where that might accept a cell or a row that is refused there."""
        options = self.options
        plain = options.decimal == "." and options.comment is None and not options.units
        if self.text is None or not plain or len(self.layout.names) < 2:
            return None
        if next(self.below_header(), None) is None:  # no rows, of which NumPy warns
            return None
        self.text.seek(0)
        if self.layout.has_header:
            next(self.rows())
        try:
            X: Floats = np.loadtxt(
                self.text,
                delimiter=None if self.delimiter == " " else self.delimiter,
                comments=None,
                converters=dict.fromkeys(self.layout.text_columns, _skipped) or None,
                ndmin=2,
            )
        except ValueError:
            return None
        if X.shape[1] != len(self.layout.names) or np.isinf(X).any():
            return None
        return X[:, self.layout.columns] if self.layout.text_columns else X

    def one_by_one(self) -> Floats:
        """The numeric columns, float64 (n, p); NaN where a value is missing.

        `DataError` names line and column of the first row of wrong length or the first cell that is not a finite
        number.
        """
        missing, columns = self.options.missing_cells, self.layout.columns
        table: list[Floats] = []
        for place, row in self.body():
            cells = [row[k] for k in columns]
            values = _plain(cells, self.options.decimal, missing)
            if values is None:
                values = np.full(len(columns), np.nan)
                for k, (column, cell) in enumerate(zip(columns, cells, strict=True)):
                    if (value := number_in(cell.strip(), self.options.decimal)) is not None:
                        values[k] = value
                    elif cell.strip().casefold() not in missing:
                        where = f"{place}, column {column + 1} ({self.layout.names[column]!r})"
                        text = f"{where}: {self._explained(cell, column, first=not table)}"
                        of_text = {self.layout.names[k]: kind for k, kind in self.text_columns.items()}
                        raise NotNumbersError(text, of_text, len(columns))
            table.append(values)
        return np.array(table).reshape(len(table), len(columns))

    def _explained(self, cell: str, column: int, *, first: bool) -> str:
        """Why a cell, of the `first` row or not, is not a finite number, with the remedy."""
        text, decimal = cell.strip(), self.options.decimal
        plain = text.translate({ord("."): "x", ord(decimal): "."})
        if text.casefold().lstrip("+-") in ("inf", "infinity") or NUMBER.fullmatch(plain):
            return f"infinite value {cell!r}"
        if first and not self.layout.has_header:
            hint = f"; is it a header? ({option('header', 'yes')})"
        elif NUMBER.fullmatch(text.replace(",", ".", 1)) and decimal == ".":
            hint = f"; if the comma is the decimal point: {option('decimal', ',')}; else write it without the comma"
        elif "." in text and decimal != ".":
            hint = f"; with {option('decimal', decimal)} no number may hold a point"
        elif NUMBER.fullmatch(re.sub("[_', ]", "", text)):
            hint = "; write it without separators"
        elif IN_GROUPS.fullmatch(text):
            hint = "; if the points separate thousands, write all numbers of the column without them"
        elif first and self.layout.names[0].startswith("#"):
            hint = f"; is line 1 a comment? ({option('comment', '#')})"
        elif any(c.isdigit() and not c.isascii() for c in text) or "\u2212" in text:
            hint = "; write it with the characters 0 to 9 and -"
        elif is_mark(text):
            hint = f"; {option('na', [text])} if it means a missing value"
        elif (unit := unit_of([text])) and not set(";|\t") & set(text):
            hint = f"; if it is one, write it without {unit!r}"
        else:
            hint = next((f"; is the delimiter {c!r}? ({option('delimiter', c)})" for c in ";|\t" if c in text), "")
        return f"{cell!r} is not a number{hint}.{self._remedy(column)}"

    def _remedy(self, column: int) -> str:
        """The remedy for a column, and for every other one, that is not of numbers."""
        names = self.layout.names
        most = max(1000, MOST_CELLS // len(names))
        self.text_columns = found = self.columns_of_text(most)
        if column not in found or (len(found) == 1 and found[column].numbers):
            return f" If the column is not a variable, drop it ({option('drop', [names[column]])})"
        hint = ""
        if column == 0 and len(names) > 2 and not found[0].numbers:
            cells = [row[0] for _, row in self.below_header(most)]
            hint = f" If it names the rows: {option('index', 'yes')}." if len(set(cells)) == len(cells) else ""
        numbers = [names[k] for k in self.layout.columns if k not in found]
        return hint + mixed({names[k]: kind for k, kind in found.items()}, numbers)

    def columns_of_text(self, most: int | None = None) -> dict[int, TextColumn]:
        """The columns that hold anything but numbers and missing values in the first `most` rows, or all, ascending."""
        found = {column: TextColumn() for column in self.layout.columns}
        missing = self.options.missing_cells
        for _, cells in self.below_header(most):
            for column, kind in found.items():
                cell = cells[column].strip() if column < len(cells) else ""
                if number_in(cell, self.options.decimal) is not None:
                    kind.numbers += 1
                elif cell.casefold() not in missing:
                    kind.add(cell)
        return {column: kind for column, kind in found.items() if kind.words or kind.other_forms}


def _delimiter(source: Source, text: TextIO, options: ReadOptions) -> str:
    first_line = text.readline()
    if source.delimiter is not None:  # what is left of the line that names it
        first_line = text.readline()
    while options.comment is not None and first_line and not first_line.partition(options.comment)[0].strip():
        first_line = text.readline()
    if not first_line.strip():
        what = "the first line is empty" if first_line else "the file is empty"
        raise DataError(f"{source.name}: {what}")
    delimiter = options.delimiter or source.delimiter
    if first_line.startswith("#"):
        _refuse_comment(source, text, delimiter or find_delimiter(source.ending, text.readline(), options.decimal))
    delimiter = delimiter or find_delimiter(source.ending, first_line, options.decimal)
    if options.decimal == delimiter:
        raise DataError(f"{source.name}: {delimiter!r} cannot be delimiter and decimal point at once")
    return delimiter


def _refuse_comment(source: Source, text: TextIO, delimiter: str) -> None:
    """Raise `DataError` if a first line that begins with # is no header of the next, which may have row names."""
    first, second = [row for _, row in islice(chain(rows(source.name, text, delimiter), [(0, [""])]), 2)]
    names, width = len(first), len(second)
    if second[0].startswith("#") or (names != width > 1 and not 1 < names == width - 1):
        line = delimiter.join(first)
        where = f"{source.name}, line 1: {line!r} is a comment, and no names of columns"
        raise DataError(f"{where}: {option('comment', '#')}")


def _skipped(cell: str) -> float:
    """0 for a cell of a column that is left out; ValueError where quotation marks may hold more than this cell."""
    if '"' in cell and re.fullmatch(r'\s*"[^"]*"', cell) is None:
        raise ValueError(cell)
    return 0.0


def _plain(cells: Sequence[str], decimal: str, missing: Set[str]) -> Floats | None:
    """The numbers of a row; None if Python may take a cell for a number that is none here."""
    text = "".join(cells)
    if not text.isascii() or "_" in text or (decimal != "." and "." in text):
        return None
    if decimal != ".":
        cells = [cell.replace(decimal, ".", 1) for cell in cells]
    with suppress(ValueError):
        return _finite(map(float, cells))
    with suppress(ValueError):
        return _finite(float("nan" if cell.strip().casefold() in missing else cell) for cell in cells)
    return None


def _finite(numbers: Iterable[float]) -> Floats:
    values = np.array(list(numbers))
    if np.isinf(values).any():
        raise ValueError
    return values


def number_in(cell: str, decimal: str) -> float | None:
    """The finite number that a cell holds, or None."""
    if decimal != ".":
        if "." in cell:  # a separator of thousands
            return None
        cell = cell.replace(decimal, ".", 1)
    if NUMBER.fullmatch(cell) is None:
        return None
    value = float(cell)
    return value if math.isfinite(value) else None


def warn_left_out(name: str, columns: Sequence[str]) -> None:
    """Warn of columns that `drop_non_numeric` leaves out."""
    text = f"{name}: left out, since they hold other cells than numbers: {listed(columns, most=50)}"
    warnings.warn(text, stacklevel=2)
