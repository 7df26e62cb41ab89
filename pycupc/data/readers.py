"""Readers of data and of correlation matrices: text (CSV, TSV, ...), Parquet, Feather and Excel."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data import binary, cells
from pycupc.data.names import DataError, check_names, kept_names, listed
from pycupc.data.remedies import option
from pycupc.data.source import Source, open_text, read_source
from pycupc.data.text_layout import HEAD, Layout, ReadOptions, find_delimiter, find_layout, rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DataError", "FileTable", "ReadOptions", "read_correlation", "read_data", "read_table"]

Floats = NDArray[np.float64]

#: From this number of rows on, a first column that counts is regarded as row numbers.
COUNTING_ROWS = 3


@dataclass(frozen=True)
class FileTable:
    """A table as it was read from a file.

    Attributes
    ----------
    X : float64 (n, p)
        Rows are observations, columns variables.
    labels : list of p str
    row_names : list of n str, or None
        The column of row names, which is not part of `X`; kept for correlation matrices only.
    layout : str
        How the file was read, in words.
    facts : dict
        Path, sha256 and number of bytes.
    """

    X: Floats
    labels: list[str]
    row_names: list[str] | None
    layout: str
    facts: dict[str, Any]


def read_table(path: str | PurePath, options: ReadOptions | None = None) -> FileTable:
    """Read a table of observations: rows are observations, columns are variables; see `read_data`.

    Warns
    -----
    UserWarning
        If the header or the row names were decided without certainty, or columns or rows were left out as `options`
        say; the message says how and which.
    """
    options = options or ReadOptions()
    source = read_source(path)
    table = _without_counter(source.name, _read(source, options), options)
    check_size(source.name, *table.X.shape)
    if options.missing == "keep":
        return table
    X, dropped = complete_rows(source.name, table.X, np.isnan(table.X), table.labels, options.missing)
    return replace(table, X=X, facts=table.facts | dropped)


def read_data(path: str | PurePath, **options: Any) -> pd.DataFrame:
    """Read a table of observations: rows are observations, columns are variables.

    Parameters
    ----------
    path : str or Path
        Text (.csv, .tsv, .tab, .txt, also compressed: .gz, .bz2, .xz), .parquet, .feather, .xlsx, or "-" for standard
        input.
    **options
        The attributes of `pycupc.data.readers.ReadOptions`: header, index, delimiter, decimal, na, comment, sheet,
        only, drop, drop_non_numeric, missing. ``--header yes`` of the command line is ``header="yes"`` here.

    Returns
    -------
    pandas.DataFrame
        float64, one column per variable. A first column of row names, as R writes it, is left out.

    Raises
    ------
    DataError
        If the file cannot be read as such a table; the message names the row and the column.
    TypeError
        For an unknown option.
    """
    import pandas as pd

    table = read_table(path, ReadOptions(**options))
    return pd.DataFrame(table.X, columns=table.labels, copy=False)


def read_correlation(path: str | PurePath, options: ReadOptions | None = None) -> FileTable:
    """Read a correlation matrix; NaN cells stay NaN.

    Returns
    -------
    FileTable
        `X` float64 (p, p) as in the file; `SuffStat` checks the values.

    Raises
    ------
    DataError
        If the file cannot be read, the table is not square, or its row names differ from its column names.
    """
    source = read_source(path)
    table = _read(source, options or ReadOptions(), matrix=True)
    n, p = table.X.shape
    if n != p:
        raise DataError(f"{source.name}: a correlation matrix must be square, this has {n} rows and {p} columns")
    for k, (name, label) in enumerate(zip(table.row_names or table.labels, table.labels, strict=True)):
        if name != label:
            raise DataError(f"{source.name}: row {k + 1} is named {name!r} but column {k + 1} is named {label!r}")
    return table


def _read(source: Source, options: ReadOptions, *, matrix: bool = False) -> FileTable:
    """The table in a file; each cell is a finite number or NaN."""
    if options.sheet is not None and source.kind != "excel":
        raise DataError(f"{source.name}: is not an Excel file and has no sheet {options.sheet!r}")
    if source.kind in ("parquet", "feather"):
        return _from_arrow(source, options)
    if source.kind == "excel":
        grid = binary.read_sheet(source, options.sheet)
        return _from_cells(source, lambda: iter(grid), options, matrix)
    with open_text(source) as text:
        first_line = text.readline()
        while options.comment is not None and first_line and not first_line.partition(options.comment)[0].strip():
            first_line = text.readline()
        if not first_line.strip():
            what = "the first line is empty" if first_line else "the file is empty"
            raise DataError(f"{source.name}: {what}")
        delimiter = options.delimiter or find_delimiter(source.ending, first_line, options.decimal)
        if options.decimal == delimiter:
            raise DataError(f"{source.name}: {delimiter!r} cannot be delimiter and decimal point at once")
        return _from_cells(
            source, lambda: rows(source.name, text, delimiter, options.comment), options, matrix, (text, delimiter)
        )


def _from_cells(
    source: Source, all_rows: cells.Rows, options: ReadOptions, matrix: bool, text: tuple[Any, str] | None = None
) -> FileTable:
    """A table of cells; `text` and delimiter where the cells are those of a text."""
    head = [row for _, row in islice(all_rows(), HEAD)]
    if not head:
        raise DataError(f"{source.name}: the file is empty")
    layout = find_layout(source.name, head, options, matrix=matrix)
    if options.drop_non_numeric:
        body = islice(all_rows(), int(layout.has_header), None)
        if of_text := cells.columns_of_text(body, layout, options):
            _warn_left_out(source.name, [f"{layout.names[k]}{kind}" for k, kind in of_text.items()])
            layout = replace(layout, text_columns=layout.text_columns.union(of_text))
    if text is None:
        X = cells.careful(source.name, all_rows, layout, options)
    else:
        X = cells.parse(source.name, *text, all_rows, layout, options)
    for guess in layout.guesses:
        warnings.warn(guess, stacklevel=5)
    labels = [layout.names[k] for k in layout.columns]
    _warn_of_rounding(X, labels, layout, all_rows)
    row_names = None
    if matrix and layout.has_row_names:
        row_names = [row[0].strip() for _, row in islice(all_rows(), 1 if layout.has_header else 0, None)]
    words = ["line 1 holds the names" if layout.has_header else "no names; the variables are V1, V2, ..."]
    words += ["column 1 holds row names"] if layout.has_row_names else []
    return FileTable(X, labels, row_names, "; ".join(words), facts_of(source))


def _warn_of_rounding(X: Floats, labels: Sequence[str], layout: Layout, all_rows: cells.Rows) -> None:
    """Warn about columns of whole numbers, written as such, that float64 does not hold exactly."""
    if not X.size or np.fmax.reduce(np.fmax.reduce(X), initial=-np.inf) < binary.EXACT:  # identifiers are positive
        return
    body = [row for _, row in islice(all_rows(), int(layout.has_header), None)]
    types = ["int64" if all(row[k].strip().isdecimal() for row in body) else "float64" for k in layout.columns]
    binary.warn_of_rounding(X, types, labels)


def _warn_left_out(name: str, columns: Sequence[str]) -> None:
    warnings.warn(
        f"{name}: left out, since they hold other cells than numbers: {listed(columns, most=50)}", stacklevel=6
    )


def _from_arrow(source: Source, options: ReadOptions) -> FileTable:
    table = binary.read_arrow(source)
    names = [str(name) for name in table.column_names]
    check_names(source.name, names)
    kept = kept_names(source.name, names, options.only, options.drop)
    types = dict(zip(names, table.schema.types, strict=True))
    text = {name: cells.TextColumn(words=1) for name in kept if not binary.NUMERIC.match(str(types[name]))}
    if text and options.drop_non_numeric:
        _warn_left_out(source.name, list(text))
        kept = [name for name in kept if name not in text]
    elif text:
        first = next(iter(text))
        column = table.column(first)
        row = column.is_valid().index(True).as_py()
        place = f": row {row + 1} holds {column[row].as_py()!r}" if row >= 0 else f" but {column.type}"
        numbers = [name for name in kept if name not in text]
        raise DataError(f"{source.name}: column {first!r} is not numeric{place}.{cells.mixed(text, numbers)}")
    table = table.select(kept)
    X = binary.arrow_values(table)
    infinite = np.argwhere(np.isinf(X))
    if len(infinite):
        row, k = infinite[0].tolist()
        raise DataError(f"{source.name}: row {row + 1}, column {kept[k]!r}: infinite value")
    return FileTable(X, kept, None, f"the names of {source.kind}", facts_of(source))


def _without_counter(name: str, table: FileTable, options: ReadOptions) -> FileTable:
    """A table without header whose first column counts 0, 1, ..., as the index of pandas does: without that column."""
    X = table.X
    if options.index != "auto" or not table.layout.startswith("no names") or "row names" in table.layout:
        return table
    if len(X) < COUNTING_ROWS or X.shape[1] < 3 or not np.array_equal(X[:, 0], np.arange(len(X)) + (start := X[0, 0])):
        return table
    if start == 1:
        raise DataError(
            f"{name}: column 1 counts 1, 2, 3, ... and has no name: say whether it numbers the rows "
            f"({option('index', 'yes')}) or is a variable ({option('index', 'no')})"
        )
    if start != 0:
        return table
    warnings.warn(
        f"{name}: column 1 counts 0, 1, 2, ... and was left out as the number of the row; if it is a variable: "
        f"{option('index', 'no')}",
        stacklevel=4,
    )
    words = f"{table.layout}; column 1 holds row names"
    return replace(table, X=X[:, 1:], labels=table.labels[:-1], layout=words)


def check_size(name: str, n: int, p: int) -> None:
    """Raise `DataError` for a table without rows, or with fewer than two columns."""
    if n == 0:
        raise DataError(f"{name}: no rows of data")
    if p < 2:
        raise DataError(f"{name}: needs at least 2 columns (variables), has {p}; is the delimiter right?")


def complete_rows(
    name: str, table: NDArray[Any], holes: NDArray[np.bool_], labels: Sequence[str], missing: str
) -> tuple[NDArray[Any], dict[str, str]]:
    """The rows of a table (n, p) without missing values, which are where `holes` is True, and a fact about the others.

    Raises
    ------
    DataError
        A value is missing and `missing` is not "drop-rows", or no row is complete.
    """
    if not holes.any():
        return table, {}
    incomplete = holes.any(axis=1)
    if missing == "drop-rows":
        if incomplete.all():
            raise DataError(f"{name}: every row has a missing value, so that no row is left")
        by_column = holes.sum(axis=0)
        because = [
            f"{by_column[k]:,} because of {labels[k]}" for k in np.argsort(-by_column, kind="stable") if by_column[k]
        ]
        text = f"{incomplete.sum():,} of {len(table):,} rows dropped, {listed(because, most=3)}"
        warnings.warn(f"{name}: {text}", stacklevel=4)
        return table[~incomplete], {"rows_dropped": text}
    row, column = np.argwhere(holes)[0].tolist()
    columns = [labels[k] for k in np.flatnonzero(holes.any(axis=0)).tolist()]
    raise DataError(
        f"{name}: missing values: {int(holes.sum())}, rows with any: {int(incomplete.sum())}, columns with any: "
        f"{len(columns)} ({listed(columns, most=5)}); the first in row {row + 1}, column {labels[column]!r}. "
        f"Drop those rows ({option('missing', 'drop-rows')}) or columns ({option('drop', columns[:3])}), or impute the "
        "values"
    )


def facts_of(source: Source) -> dict[str, Any]:
    """Path, sha256 and number of bytes."""
    return {"path": source.name, "sha256": hashlib.sha256(source.raw).hexdigest(), "bytes": len(source.raw)}
