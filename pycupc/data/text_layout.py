"""The layout of a table of cells: delimiter, header line and row names.

If the first rows leave the layout open, an error names both readings. If they make one reading likely but not certain,
it is taken and a warning says so. Nothing is guessed silently.
"""

from __future__ import annotations

import csv
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TextIO

from pycupc.data.names import DataError, kept_names, listed
from pycupc.system.localised_message import Words

Choice = Literal["auto", "yes", "no"]

#: Cells that mean "no value", whatever their case; ``na`` of `ReadOptions` adds others.
MISSING = frozenset(("", "na", "nan", "+nan", "-nan", "n/a", "#n/a", "null", "none"))

#: The form of a number: digits 0 to 9, without separators.
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"\d+", re.ASCII)
#: A whole number in groups of three digits, as 1.234 may be one.
IN_GROUPS = re.compile(r"[+-]?(?:0|[1-9]\d{0,2}(?:\.\d{3})*)", re.ASCII)

_POINTS_IN_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?\s*%?")

#: Characters of numbers that are written in another form, but not of a genotype (0/1, 0|1) or a range (18-25).
_OTHER_FORMS = re.compile(r"[\s,._'\u2019\u2212%]")

#: Number of rows from which the layout is determined.
HEAD = 12

_CHOICES = {
    "header": ("auto", "yes", "no"),
    "index": ("auto", "yes", "no"),
    "decimal": (".", ","),
    "missing": ("error", "drop-rows", "keep"),
}
_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file: the options of the command line, as keyword arguments of `read_data`.

    Attributes
    ----------
    header : {"auto", "yes", "no"}
        Whether the first line holds the names of the variables. Without a header they are named V1, V2, ...
    index : {"auto", "yes", "no"}
        Whether the first column holds the names of the rows, and is left out.
    delimiter : str, optional
        One character, a blank for any run of blanks and tabs; by default found in the first line (comma, semicolon,
        tab, bar, blanks).
    decimal : str
        The decimal point: "." or ",".
    na : sequence of str
        Cells that mean "no value", in addition to empty ones, NA, NaN, N/A, null and None. A number is meant by value:
        "-999" is also -999.0.
    comment : str, optional
        One character; what follows it on a line is left out.
    sheet : str, optional
        Sheet of an Excel file; needed where there are several.
    only, drop : sequence of str
        Columns to read, by default all, and columns among them to leave out, for example an identifier.
    drop_non_numeric : bool
        Leave out every column that holds anything but numbers and missing values; a warning names them.
    missing : {"error", "drop-rows", "keep"}
        Treatment of missing values. "keep" leaves NaN in the data.
    units : sequence of str
        Columns of numbers with a unit, as 5.2 mg, $5 or 1,200 kg, which are read without it.
    transpose : bool
        Rows are variables, as genes often are, and columns observations; the first column, if it holds no numbers,
        names the variables, and other columns of text are left out. `only` and `drop` name variables then.
    """

    header: Choice = "auto"
    index: Choice = "auto"
    delimiter: str | None = None
    decimal: str = "."
    na: Sequence[str] = ()
    comment: str | None = None
    sheet: str | None = None
    only: Sequence[str] = ()
    drop: Sequence[str] = ()
    drop_non_numeric: bool = False
    missing: Literal["error", "drop-rows", "keep"] = "error"
    units: Sequence[str] = ()
    transpose: bool = False

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
        for name in ("delimiter", "comment"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or len(value) != 1 or value in '"\r\n'):
                raise ValueError(f"{name} must be one character, no quotation mark and no end of line, got {value!r}")
        for name in ("na", "only", "drop", "units"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a sequence of texts, got {getattr(self, name)!r}")

    @property
    def missing_cells(self) -> frozenset[str]:
        """The cells that mean "no value", in lower case."""
        return MISSING | {cell.strip().casefold() for cell in self.na}

    @property
    def missing_numbers(self) -> list[float]:
        """The numbers that mean "no value"."""
        return [float(cell) for cell in self.na if NUMBER.fullmatch(cell.strip())]


def option(name: str, value: str | Sequence[str] | bool, python: str | None = None) -> str:
    """An option in a message: ``read_data(path, drop=['id'])``, on the command line ``--drop id``.

    `python`: what to recommend in Python instead, where the table may come from no file.
    """
    words = [] if isinstance(value, bool) else [value] if isinstance(value, str) else value
    flags = " ".join([f"--{name.replace('_', '-')}", *map(shlex.quote, words)])
    return str(Words(python or f"read_data(path, {name}={value!r})", in_shell=flags))


@dataclass(frozen=True)
class Layout:
    """The layout of a table of cells."""

    has_header: bool  #: whether the first row holds the column names
    has_row_names: bool  #: whether the first column holds row names, as written by R's write.csv and write.table
    names: list[str]  #: the name of each column, "" for the column of the row names
    text_columns: frozenset[int]  #: columns that need not be numeric: the row names and those to be left out

    @property
    def columns(self) -> list[int]:
        """Positions of the columns of numbers."""
        return [k for k in range(len(self.names)) if k not in self.text_columns]

    @property
    def words(self) -> str:
        """The layout in words."""
        names = "line 1 holds the names" if self.has_header else "no names; the variables are V1, V2, ..."
        return names + "; column 1 holds row names" * self.has_row_names


def find_layout(name: str, head: Sequence[Sequence[str]], options: ReadOptions, *, matrix: bool = False) -> Layout:
    """Determine the layout from the first rows of a table; `matrix` if it is one of correlations."""
    head = [[cell.strip() for cell in row] for row in head]
    first, body = head[0], head[1:]
    if options.header != "auto":
        has_header = options.header == "yes"
    else:
        has_header = _words_are_names(name, first) or _numbers_are_names(name, first, body, matrix)
    if has_header:
        names, has_row_names = _names_of_columns(name, first, body, options.index)
    else:
        has_row_names = options.index == "yes"
        names = [f"V{k + 1}" for k in range(len(first) - has_row_names)]
    kept = set(kept_names(name, names, options.only, options.drop))
    names = [""] * has_row_names + names
    text_columns = frozenset(k for k, n in enumerate(names) if n not in kept)
    return Layout(has_header, has_row_names, names, text_columns)


def _words_are_names(name: str, first: Sequence[str]) -> bool:
    """Whether a first row holds names because some cell is no number; an error if that may be a damaged number."""
    words = [cell for cell in first if not is_number(cell)]
    numbers = [cell for cell in first if NUMBER.fullmatch(cell)]
    if words and numbers:
        names, observation = option("header", "yes"), option("header", "no")
        if not _distinct_whole(numbers) or not any(word[0].isalpha() for word in words):
            raise DataError(
                f"{name}: line 1 holds numbers ({listed(numbers, most=4)}) beside {listed(words, most=4)}: say whether "
                f"these are names ({names}) or an observation with damaged cells ({observation}, after correcting them)"
            )
        warnings.warn(
            f"{name}: line 1 holds whole numbers ({listed(numbers, most=4)}) beside words ({listed(words, most=4)}) "
            f"and was read as names; if it is an observation: {observation}",
            stacklevel=2,
        )
    return bool(words)


def _numbers_are_names(name: str, first: Sequence[str], body: Sequence[Sequence[str]], matrix: bool) -> bool:
    """Whether a first row of nothing but numbers holds names, such as years or the columns 0, 1, 2, ... of pandas."""
    unnamed = first[0] == "" and len(first) > 1
    names = first[1:] if unnamed else first
    if not body or not _distinct_whole(names):
        return False
    width = len(body[0])
    if matrix and not unnamed and width == len(first) and float(first[0]) == 1:
        return False  # the first row of a matrix with a diagonal of 1
    if not unnamed and width != len(first) + 1 and not matrix:
        complete = [row for row in body if len(row) == len(first)]
        fractions = sum(not any(_WHOLE.fullmatch(row[k]) for row in complete) for k in range(len(first)))
        numbered = [int(cell) for cell in names] in (list(range(len(names))), list(range(1, len(names) + 1)))
        if 2 * fractions < len(first) and not (numbered and len(names) > 3):
            raise DataError(
                f"{name}: line 1 holds distinct whole numbers ({listed(names, most=4)}), and so does the table: say "
                f"whether they are names ({option('header', 'yes')}) or an observation ({option('header', 'no')})"
            )
    warnings.warn(
        f"{name}: line 1 holds whole numbers only ({listed(names, most=4)}) and was read as names; if it is an "
        f"observation: {option('header', 'no')}",
        stacklevel=2,
    )
    return True


def _distinct_whole(cells: Sequence[str]) -> bool:
    return all(map(_WHOLE.fullmatch, cells)) and len(set(cells)) == len(cells)


def _names_of_columns(
    name: str, first: Sequence[str], body: Sequence[Sequence[str]], index: Choice
) -> tuple[list[str], bool]:
    """Names of the columns if there is a header, and whether a column of row names precedes them."""
    names = list(first)
    if index != "no" and body and len(body[0]) == len(names) + 1:
        first_column = [row[0] for row in body if row]
        if index == "auto" and any(map(is_number, first_column)):
            short = f"{name}: line 1 has {len(names)} names and the next row {len(body[0])} cells"
            if not counts(first_column):
                raise DataError(
                    f"{short}. Either column 1 holds row names ({option('index', 'yes')}), or line 1 lacks the name of "
                    "a column: then add it, since every later name stands one column too far to the left"
                )
            warnings.warn(
                f"{short}: column 1, which counts {first_column[0]}, {int(first_column[0]) + 1}, ..., was read as row "
                f"names; if line 1 lacks the name of a column, add it ({option('index', 'yes')} if not)",
                stacklevel=2,
            )
        return names, True
    if len(names) > 1 and ((index == "auto" and names[0] == "") or index == "yes"):
        return names[1:], True
    return names, False


def counts(cells: Sequence[str]) -> bool:
    """Whether cells count 0, 1, 2, ... or 1, 2, 3, ..."""
    start = cells[0] if cells else ""
    return start in ("0", "1") and list(cells) == [str(int(start) + k) for k in range(len(cells))]


def find_delimiter(ending: str, first_line: str, decimal: str = ".") -> str:
    """The delimiter in use in the first line; the ending of the file decides if there are several candidates."""
    usual = _DELIMITERS.get(ending, ",")
    for candidate in dict.fromkeys((usual, "\t", ";", ",", "|")):
        if candidate in first_line and candidate != decimal:
            return candidate
    return " " if len(first_line.split()) > 1 else usual


def rows(name: str, text: TextIO, delimiter: str, comment: str | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row, without empty lines; `DataError` if quotation marks do not match."""
    text.seek(0)
    lines: Iterable[str] = text if comment is None else (line.partition(comment)[0] for line in text)
    if delimiter == " ":
        lines = (" ".join(line.split()) for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield reader.line_num, cells
    except csv.Error as error:
        raise DataError(
            f"{name}, line {reader.line_num}: cannot be split into cells ({error}); do the quotation marks match?"
        ) from error


def is_number(cell: str) -> bool:
    """Whether a cell holds a number or means "no value"."""
    cell = cell.strip()
    return NUMBER.fullmatch(cell) is not None or cell.casefold() in MISSING


def are_names(cells: Sequence[str]) -> bool:
    """Whether cells are different texts, and none a number."""
    return len(set(cells)) == len(cells) and not any(cell == "" or like_a_number(cell) for cell in cells)


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet takes a cell of text for a formula."""
    return cell.startswith(("=", "+", "-", "@")) and not like_a_number(cell)


def is_mark(cell: str) -> bool:
    """Whether a text that is no number may mark a missing value: up to three signs, such as ?, * or --, or a word.

    The sign + does not: it is a category, as in -, 0, +.
    """
    cell = cell.strip()
    return cell.casefold() in MISSING or (len(cell) <= 3 and not any(c.isalnum() or c == "+" for c in cell))


def like_a_number(cell: str) -> bool:
    """Whether a cell holds a number, also in another form: 0,5, 1 000, 1_000, 5 %, other digits; not 1.2.1."""
    if cell.count(".") > 1 and _POINTS_IN_GROUPS.fullmatch(cell.strip()) is None:
        return False
    try:
        float(_OTHER_FORMS.sub("", cell))
    except ValueError:
        return False
    return True
