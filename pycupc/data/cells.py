"""From the cells of a table of text to numbers.

`careful` is the definition: it looks at one cell after the other and explains the first invalid one. NumPy's parser,
about ten times as fast, is tried first, but only in a way in which it accepts nothing that `careful` would refuse. (The
parser of pandas is faster where lines are short, but reads numbers exactly and faster than NumPy only from 3.1 on.)
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.findings import ends_of, has_infinite
from pycupc.data.names import DataError, listed
from pycupc.data.text_layout import NUMBER, Layout, ReadOptions, like_a_number, option
from pycupc.system.message import Words

Floats = NDArray[np.float64]
#: The rows of a table from its beginning: line number and cells.
Rows = Callable[[], Iterator[tuple[int, list[str]]]]

#: About the most cells that are read again to list the columns that are not of numbers.
MOST_CELLS = 10_000_000


def fast(content: bytes, delimiter: str, layout: Layout, options: ReadOptions) -> Floats | None:
    """The table by NumPy's parser; None where that might accept a cell or a row that `careful` refuses."""
    if options.comment is not None:
        content = re.sub(re.escape(options.comment.encode()) + rb"[^\r\n]*", b"", content)
    if layout.has_row_names and b'"' in content:
        content = re.sub(rb'(^|[\r\n])"[^"\r\n]*"(?=%s)' % re.escape(delimiter.encode()), rb"\g<1>0", content)
    begin = _below_header(content, layout)
    if begin is None or len(layout.names) < 2 or content.find(b'"', begin) >= 0:
        return None
    if re.compile(rb"\S").search(content, begin) is None:  # no rows, of which NumPy warns
        return None
    if options.decimal != ".":
        if content.find(b".", begin) >= 0:
            return None
        content = content.replace(options.decimal.encode(), b".")
    skipped: dict[int | str, Callable[[str], Any]] = {k: lambda _: 0.0 for k in layout.text_columns}
    for missing in (False, True):
        if missing:
            lines = content[begin:].strip(b"\r\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            content, begin = _missing_cell(delimiter, options).sub(b"nan", lines), 0
        stream = BytesIO(content)
        stream.seek(begin)
        try:
            X: Floats = np.loadtxt(
                TextIOWrapper(stream, encoding="utf-8"),
                delimiter=None if delimiter == " " else delimiter,
                comments=None,
                converters=skipped or None,
                ndmin=2,
            )
        except ValueError:
            continue
        if X.shape[1] != len(layout.names) or has_infinite(X, ends_of(X)):
            return None
        X = X[:, layout.columns] if skipped else X
        return np.where(np.isin(X, options.missing_numbers), np.nan, X) if options.missing_numbers else X
    return None


def _below_header(content: bytes, layout: Layout) -> int | None:
    """Where the rows of data begin; None if a name stretches over several lines."""
    begin = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
    if not layout.has_header:
        return begin
    header = re.compile(rb"(?:[ \t]*[\r\n])*([^\r\n]*)").match(content, begin)
    return None if header is None or header[1].count(b'"') % 2 else header.end()


def _missing_cell(delimiter: str, options: ReadOptions) -> re.Pattern[bytes]:
    """A cell that means "no value", with the blanks around it."""
    by_length = sorted(options.missing_cells, key=len, reverse=True)
    words = b"|".join(re.escape(cell.encode()) for cell in by_length if cell)
    if delimiter == " ":
        return re.compile(rb"(?<!\S)(?:%s)(?!\S)" % words, re.IGNORECASE)
    around, end = rb"[^\S\t\n]*" if delimiter == "\t" else rb"[^\S\n]*", re.escape(delimiter.encode())
    cell = rb"(?:^|(?<=%s))%s(?:(?:%s)%s)?(?=%s|$)" % (end, around, words, around, end)
    return re.compile(cell, re.IGNORECASE | re.MULTILINE)


def careful(name: str, rows: Rows, layout: Layout, options: ReadOptions) -> Floats:
    """The numeric columns of a table of cells, float64 (n, p); NaN where a value is missing.

    `DataError` names line and column of the first row of wrong length or the first cell that is not a finite number.
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
        discrete = Words("pc(DiscreteSuffStat.from_data(path or table), disCItest)", in_shell="--test discrete")
        mixed = Words("pc(MixedTable.of(path or table), mixCItest)", in_shell="--test mixed")
        out += f" Words and measurements together: {mixed}. Every value a category: {discrete}"
    return out
