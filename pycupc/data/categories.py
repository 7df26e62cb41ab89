"""Reader of tables of categories, for the tests of discrete data: any text in a cell is a value."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data import binary
from pycupc.data.names import DataError, check_names, kept_names, listed
from pycupc.data.readers import check_size, complete_rows, facts_of
from pycupc.data.remedies import option
from pycupc.data.source import Source, open_text, read_source
from pycupc.data.text_layout import ReadOptions, find_delimiter, is_number, like_a_number, rows

#: Cells that mean "no value". "none" and "null" do not: they may be categories.
MISSING = frozenset(("", "na", "nan", "n/a", "#n/a"))

#: Largest number of different values of a categorical column, since the tests store the code of a value in one byte.
MOST_LEVELS = 255
#: Up to this number of different whole numbers, a column beside columns of words is taken for codes of categories.
MOST_CODES = 20


@dataclass(frozen=True)
class CategoryTable:
    """A table of categories as it was read from a file.

    Attributes
    ----------
    cells : object (n, p)
        Texts; rows are observations, columns variables.
    labels : list of p str
    layout : str
        How the file was read, in words.
    facts : dict
        Path, sha256 and number of bytes.
    """

    cells: NDArray[np.object_]
    labels: list[str]
    layout: str
    facts: dict[str, Any]

    def looks_categorical(self) -> bool:
        """Whether half of the columns hold nothing like a number, none measurements or too many different values."""
        different = [set(column) for column in self.cells.T.tolist()]
        words = sum(not any(map(like_a_number, values)) for values in different)
        return (
            2 * words >= len(different)
            and max(map(len, different)) <= MOST_LEVELS
            and not any(map(_measured, different))
        )

    def warn_of_measurements(self) -> None:
        """Warn of columns with numbers that are not whole, or with too many whole ones for codes."""
        different = zip(self.labels, map(set, self.cells.T.tolist()), strict=True)
        if found := [f"{label} ({len(values)})" for label, values in different if _measured(values)]:
            text = f"{self.facts['path']}: each number counts as a category, which suits codes but no measurements"
            warnings.warn(f"{text}; numbers of categories: {listed(found)}", stacklevel=3)


def _measured(values: set[str]) -> bool:
    """Whether some of the values are numbers that are not whole, or too many whole ones for codes."""
    numbers = {cell for cell in values if like_a_number(cell)}
    return len(numbers) > MOST_CODES or not all(is_number(cell) and float(cell).is_integer() for cell in numbers)


def read_categories(path: str | PurePath, options: ReadOptions | None = None) -> CategoryTable:
    """Read a table of categories: rows are observations, columns are variables.

    Parameters
    ----------
    path : str or Path
        As for `read_data`.
    options : ReadOptions, optional
        Without ``header="no"`` the first line holds the names.

    Raises
    ------
    DataError
        If the file cannot be read as such a table.
    """
    options = options or ReadOptions()
    source = read_source(path)
    names, body, layout = _from_arrow(source) if source.kind in ("parquet", "feather") else _from_cells(source, options)
    if options.drop_non_numeric:
        raise DataError(f"{source.name}: {option('drop_non_numeric', value=True)} leaves no categories; name columns")
    check_names(source.name, names)
    labels = kept_names(source.name, names, options.only, options.drop)
    columns = {name: k for k, name in enumerate(names)}
    kept = [columns[label] for label in labels]
    check_size(source.name, len(body), len(labels))
    cells = np.array(body, dtype=object).reshape(len(body), len(names))[:, kept]
    no_value = MISSING | {cell.strip().casefold() for cell in options.na}
    holes = np.array([[cell.casefold() in no_value for cell in row] for row in cells.tolist()])
    complete, dropped = complete_rows(source.name, cells, holes, labels, options.missing)
    return CategoryTable(complete, labels, layout, facts_of(source) | dropped)


def _from_arrow(source: Source) -> tuple[list[str], list[tuple[str, ...]], str]:
    table = binary.read_arrow(source)
    columns = [["" if v is None else str(v) for v in column.to_pylist()] for column in table.columns]
    return [str(name) for name in table.column_names], list(zip(*columns, strict=True)), f"the names of {source.kind}"


def _from_cells(source: Source, options: ReadOptions) -> tuple[list[str], list[list[str]], str]:
    if source.kind == "excel":
        numbered = binary.read_sheet(source, options.sheet)
    else:
        with open_text(source) as text:
            first_line = text.readline()
            text.seek(0)
            delimiter = options.delimiter or find_delimiter(source.ending, first_line)
            numbered = list(rows(source.name, text, delimiter, options.comment))
    grid = [[cell.strip() for cell in row] for _, row in numbered]
    if not grid:
        raise DataError(f"{source.name}: the file is empty")
    width = len(grid[-1])
    if options.header == "no":
        names, body, layout = [f"V{k + 1}" for k in range(width)], grid, "no names; the variables are V1, V2, ..."
    else:
        names, body, layout = grid[0], grid[1:], "line 1 holds the names"
    has_row_names = options.index == "yes" or (options.index == "auto" and (len(names) == width - 1 or names[0] == ""))
    if has_row_names:
        names, body = names[len(names) - width + 1 :], [row[1:] for row in body]
        layout += "; column 1 holds row names"
    for (line, _), row in zip(numbered[len(grid) - len(body) :], body, strict=True):
        if len(row) != len(names):
            raise DataError(f"{source.name}: line {line} has {len(row)} cells, the names are {len(names)}")
    return names, body, layout
