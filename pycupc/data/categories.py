"""Reader of tables of categories, for the tests of discrete data: any text in a cell is a value."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from pycupc.data import binary
from pycupc.data.names import DataError, kept_names
from pycupc.data.readers import FileTable, check_size, complete_rows, rows_of
from pycupc.data.source import Source, read_source
from pycupc.data.text_layout import ReadOptions, option

#: Cells that mean "no value". "none" and "null" do not: they may be categories.
MISSING = frozenset(("", "na", "nan", "n/a", "#n/a"))


def read_categories(path: str | PurePath, options: ReadOptions | None = None) -> FileTable:
    """Read a table of categories, as texts: rows are observations, columns are variables.

    Path and options are as for `read_data`; without ``header="no"`` the first line holds the names. With
    ``missing="keep"`` a missing value is None. `DataError` if the file cannot be read as such a table.
    """
    options = options or ReadOptions()
    source = read_source(path)
    names, body, layout = _from_arrow(source) if source.kind in ("parquet", "feather") else _from_cells(source, options)
    if options.drop_non_numeric:
        raise DataError(f"{source.name}: {option('drop_non_numeric', value=True)} leaves no categories; name columns")
    labels = kept_names(source.name, names, options.only, options.drop)
    kept = [names.index(label) for label in labels]
    check_size(source.name, len(body), len(labels))
    cells = np.array(body, dtype=object).reshape(len(body), len(names))[:, kept]
    no_value = MISSING | {cell.strip().casefold() for cell in options.na}
    holes = np.array([[cell.casefold() in no_value for cell in row] for row in cells.tolist()])
    if options.missing == "keep":
        cells[holes] = None
    return complete_rows(source.name, FileTable(cells, labels, layout, source.facts), holes, options.missing)


def _from_arrow(source: Source) -> tuple[list[str], list[tuple[str, ...]], str]:
    table = binary.read_arrow(source, list(map(str, binary.arrow_schema(source).names)))
    columns = [["" if v is None else str(v) for v in column.to_pylist()] for column in table.columns]
    return [str(name) for name in table.column_names], list(zip(*columns, strict=True)), f"the names of {source.kind}"


def _from_cells(source: Source, options: ReadOptions) -> tuple[list[str], list[list[str]], str]:
    numbered = list(rows_of(source, options)[0]())
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
