"""How a text table is laid out: compression, delimiter, header line and row names."""

from __future__ import annotations

import csv
import importlib
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, TextIO, cast

from pycupc.data.errors import DataError, check_names

#: Cells that mean "no value".
MISSING = ("", "NA", "NaN", "nan", "N/A", "null", "NULL", "None")

Header = Literal["auto", "yes", "no"]

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}


@dataclass(frozen=True)
class Layout:
    """The layout of a text table."""

    delimiter: str  #: one character; a blank stands for any run of blanks and tabs
    has_header: bool  #: whether the first line holds the column names
    has_row_names: bool  #: whether the first column holds row names, as written by R's write.csv and write.table
    names: list[str]  #: the name of each column, "" for that of the row names
    text_columns: frozenset[int]  #: columns that need not be numeric: the row names and those to be dropped


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a file as UTF-8, decompressed as its ending requires; errors of reading it become `DataError`."""
    module = _COMPRESSION.get(path.suffix.lower())
    package = importlib.import_module(module or "io")
    damaged = (OSError, EOFError, zlib.error, getattr(package, "LZMAError", OSError))
    try:
        with package.open(path, "rt", encoding="utf-8-sig", newline="") as text:
            yield cast(TextIO, text)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not UTF-8 text (byte {error.start}); is it really a {path.suffix or 'text'} file?"
        ) from error
    except damaged as error:
        raise DataError(f"{path}: cannot be read ({error})") from error


def find_layout(path: Path, text: TextIO, header: Header, delimiter: str | None, drop: Sequence[str]) -> Layout:
    """Determine the layout from the name of the file and its first two rows."""
    first_line = text.readline()
    if not first_line.strip():
        raise DataError(f"{path}: the first line is empty" if first_line else f"{path}: the file is empty")
    delimiter = delimiter or find_delimiter(path, first_line)
    text.seek(0)
    head = [cells for _, cells in islice(rows(text, delimiter), 2)]
    has_header = header == "yes" or (header == "auto" and not all(map(is_number, head[0])))
    names, has_row_names = _column_names(head, has_header)
    check_names(path, names, drop)
    if has_row_names:
        names = ["", *names]
    text_columns = frozenset(k for k, name in enumerate(names) if name in drop or (has_row_names and k == 0))
    return Layout(delimiter, has_header, has_row_names, names, text_columns)


def find_delimiter(path: Path, first_line: str) -> str:
    """The delimiter in use in the first line; the ending of the file decides if there are several candidates."""
    ending = Path(path.stem).suffix.lower() if path.suffix.lower() in _COMPRESSION else path.suffix.lower()
    usual = _DELIMITERS.get(ending, ",")
    for candidate in dict.fromkeys((usual, "\t", ";", ",")):
        if candidate in first_line:
            return candidate
    return " " if len(first_line.split()) > 1 else usual


def rows(text: TextIO, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of each row; empty lines are skipped, as pandas does."""
    if delimiter == " ":
        for line, content in enumerate(text, start=1):
            if content.strip():
                yield line, next(csv.reader([" ".join(content.split())], delimiter=" "))
        return
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
    for cells in reader:
        if cells and (len(cells) > 1 or cells[0].strip()):
            yield reader.line_num, cells


def is_number(cell: str) -> bool:
    """Whether a cell holds a number or means "no value"."""
    try:
        float(cell)
    except ValueError:
        return cell.strip() in MISSING
    return True


def _column_names(head: list[list[str]], has_header: bool) -> tuple[list[str], bool]:
    """Names of the columns, and whether a column of row names precedes them."""
    if not has_header:
        return [f"V{k + 1}" for k in range(len(head[0]))], False
    names = [cell.strip() for cell in head[0]]
    if len(head) > 1 and len(head[1]) == len(names) + 1:
        return names, True
    if names[0] == "" and len(names) > 1:
        return names[1:], True
    return names, False
