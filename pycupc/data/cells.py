"""From the cells of a table of text to numbers.

`careful` is the definition: it looks at one cell after the other and explains the first invalid one. NumPy's parser,
about ten times as fast, is tried first, but only in a way in which it accepts nothing that `careful` would refuse.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import DataError, listed
from pycupc.data.remedies import as_categories, option
from pycupc.data.text_layout import NUMBER, Layout, ReadOptions, like_a_number

Floats = NDArray[np.float64]
#: The rows of a table from its beginning: line number and cells.
Rows = Callable[[], Iterator[tuple[int, list[str]]]]


#: About the most cells that are read again to list the columns that are not of numbers.
MOST_CELLS = 10_000_000


class _Unusual(ValueError):
    """A line that NumPy's parser might read differently from `careful`."""


def parse(name: str, text: TextIO, delimiter: str, rows: Rows, layout: Layout, options: ReadOptions) -> Floats:
    """The numeric columns of a text, float64 (n, p), NaN where a value is missing; errors as in `careful`."""
    for missing in (False, True):
        try:
            X = _fast(text, delimiter, layout, options, missing=missing)
        except ValueError:
            continue
        if np.isinf(X).any():
            break
        X[np.isin(X, options.missing_numbers)] = np.nan
        return X
    return careful(name, rows, layout, options)


def careful(name: str, rows: Rows, layout: Layout, options: ReadOptions) -> Floats:
    """The numeric columns of a table of cells, float64 (n, p); NaN where a value is missing.

    Raises
    ------
    DataError
        For the first row of wrong length or the first cell that is not a finite number; the message names line and
        column.
    """
    width = len(layout.names)
    missing, values, columns = options.missing_cells, options.missing_numbers, layout.columns
    table = []
    for number, (line, cells) in enumerate(islice(rows(), 1 if layout.has_header else 0, None), start=1):
        if len(cells) != width:
            raise DataError(f"{name}, line {line} (row {number} of the data): expected {width} cells, got {len(cells)}")
        row = []
        for column in columns:
            cell = cells[column].strip()
            value = _number(cell, options.decimal)
            if value is None and cell.casefold() not in missing:
                place = (
                    f"{name}, line {line} (row {number} of the data), column {column + 1} ({layout.names[column]!r})"
                )
                raise DataError(f"{place}: {_explained(cells[column], column, number, rows, layout, options)}")
            row.append(math.nan if value is None or value in values else value)
        table.append(np.array(row))
    return np.array(table).reshape(len(table), len(columns))


def _number(cell: str, decimal: str) -> float | None:
    """The finite number that a cell holds, or None."""
    if decimal != ".":
        if "." in cell:  # a separator of thousands
            return None
        cell = cell.replace(decimal, ".", 1)
    if NUMBER.fullmatch(cell) is None:
        return None
    value = float(cell)
    return value if math.isfinite(value) else None


def _explained(cell: str, column: int, number: int, rows: Rows, layout: Layout, options: ReadOptions) -> str:
    """Why a cell is not a finite number, with the remedy; `number` is the number of its row."""
    text = cell.strip()
    if text.casefold().lstrip("+-") in ("inf", "infinity") or NUMBER.fullmatch(text.replace(options.decimal, ".", 1)):
        return f"infinite value {cell!r}"
    if number == 1 and not layout.has_header:
        hint = f"; is it a header? ({option('header', 'yes')})"
    elif NUMBER.fullmatch(text.replace(",", ".", 1)) and options.decimal == ".":
        hint = f"; if the comma is the decimal point: {option('decimal', ',')}; else write it without the comma"
    elif "." in text and options.decimal != ".":
        hint = f"; with {option('decimal', options.decimal)} no number may hold a point"
    elif NUMBER.fullmatch(text.replace("_", "").replace("'", "").replace(",", "").replace(" ", "")):
        hint = "; write it without separators"
    elif any(c.isdigit() and not c.isascii() for c in text) or "\u2212" in text:
        hint = "; write it with the characters 0 to 9 and -"
    elif len(text) <= 3 and not any(c.isalnum() for c in text):
        hint = f"; if it means a missing value: {option('na', [text])}"
    else:
        hint = next((f"; is the delimiter {c!r}? ({option('delimiter', c)})" for c in ";|\t" if c in text), "")
    return f"{cell!r} is not a number{hint}.{_remedy(column, rows, layout, options)}"


def _remedy(column: int, rows: Rows, layout: Layout, options: ReadOptions) -> str:
    """The remedy for a column, and for every other one, that is not of numbers."""
    begin = int(layout.has_header)
    most = begin + max(1000, MOST_CELLS // len(layout.names))
    found = columns_of_text(islice(rows(), begin, most), layout, options)
    if column not in found or (len(found) == 1 and found[column].numbers):
        return f" If the column is not a variable, drop it ({option('drop', [layout.names[column]])})"
    hint = ""
    if column == 0 and len(layout.names) > 2 and not found[0].numbers:
        cells = [row[0] for _, row in islice(rows(), begin, most)]
        hint = f" If it names the rows: {option('index', 'yes')}." if len(set(cells)) == len(cells) else ""
    return hint + mixed(
        {layout.names[k]: kind for k, kind in found.items()},
        [layout.names[k] for k in layout.columns if k not in found],
    )


@dataclass
class TextColumn:
    """Numbers of cells in a column: numbers, words, and numbers that are written in another form."""

    numbers: int = 0
    words: int = 0
    other_forms: int = 0

    def __str__(self) -> str:
        others = self.words + self.other_forms
        return f" ({others:,} of {others + self.numbers:,} cells)" if self.numbers else ""


def columns_of_text(
    body: Iterable[tuple[int, list[str]]], layout: Layout, options: ReadOptions
) -> dict[int, TextColumn]:
    """The columns that hold anything but numbers and missing values in the rows below the header, ascending."""
    found = {column: TextColumn() for column in layout.columns}
    missing = options.missing_cells
    for _, cells in body:
        for column, kind in found.items():
            cell = cells[column].strip() if column < len(cells) else ""
            if _number(cell, options.decimal) is not None:
                kind.numbers += 1
            elif cell.casefold() not in missing:
                kind.other_forms += (other := like_a_number(cell))
                kind.words += not other
    return {column: kind for column, kind in found.items() if kind.words or kind.other_forms}


def mixed(text: Mapping[str, TextColumn], numbers: Sequence[str]) -> str:
    """The sentences about a table with columns of text, and the ways out."""
    names, most = list(text), 50
    shown = listed([f"{name}{kind}" for name, kind in text.items()], most=most)
    all_numbers = f"; only numbers: {listed(numbers, most=most)}" if numbers else ""
    out = f" {len(text)} of {len(text) + len(numbers)} columns hold other cells than numbers: {shown}{all_numbers}."
    if numbers:
        only = option("only", list(numbers[:3]))
        out += f" Leave the first out ({option('drop_non_numeric', value=True)}), or choose columns ("
        out += f"{option('drop', names[:3])}, {only})."
    if any(kind.words for kind in text.values()):
        out += (
            " No test takes words and measurements together: cut measurements into intervals first, for the G^2 test, "
        )
        out += f"which takes every value for a category: {as_categories()}"
    return out


def _fast(text: TextIO, delimiter: str, layout: Layout, options: ReadOptions, *, missing: bool) -> Floats:
    """NumPy's parser; with `missing`, cells without a value are allowed. ValueError where it may not be used."""
    columns = layout.columns
    text.seek(0)
    lines = _plain_lines(text, delimiter, layout, options)
    if missing:
        pattern = _missing_cell(delimiter, options)
        lines = (pattern.sub("nan", line) for line in lines)
    first = next(lines, None)
    if first is None:
        return np.empty((0, len(columns)))
    X: Floats = np.loadtxt(
        chain([first], lines),
        delimiter=None if delimiter == " " else delimiter,
        usecols=columns if layout.text_columns else None,
        comments=None,
        ndmin=2,
    )
    if X.shape[1] != len(columns):
        raise _Unusual
    return X


def _plain_lines(text: Iterable[str], delimiter: str, layout: Layout, options: ReadOptions) -> Iterator[str]:
    """The lines of data; `_Unusual` if one has the wrong number of cells, or quotation marks except at a row name."""
    width, skip = len(layout.names), layout.has_header
    row_name = re.compile(rf'"[^"]*"{re.escape(delimiter)}[^"]*')
    for line in text:
        if options.comment is not None:
            line = line.partition(options.comment)[0]
        if not line.strip() and (delimiter == " " or delimiter not in line):
            continue
        if skip:  # the header, which may stretch over several lines only in quotation marks
            if line.count('"') % 2:
                raise _Unusual
            skip = False
            continue
        cells = len(line.split()) if delimiter == " " else line.count(delimiter) + 1
        if cells != width or ('"' in line and not (layout.has_row_names and row_name.fullmatch(line))):
            raise _Unusual
        if options.decimal != ".":
            if "." in line:
                raise _Unusual
            line = line.replace(options.decimal, ".")
        yield line


def _missing_cell(delimiter: str, options: ReadOptions) -> re.Pattern[str]:
    """A cell that means "no value", with the blanks around it."""
    words = "|".join(re.escape(cell) for cell in sorted(options.missing_cells, key=len, reverse=True) if cell)
    if delimiter == " ":
        return re.compile(rf"(?<!\S)(?:{words})(?!\S)", re.IGNORECASE)
    around, end = (r"[^\S\t]*", "\t") if delimiter == "\t" else (r"\s*", re.escape(delimiter))
    return re.compile(rf"(?:^|(?<={end})){around}(?:(?:{words}){around})?(?={end}|$)", re.IGNORECASE)
