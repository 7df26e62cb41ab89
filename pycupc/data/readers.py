"""Readers of data and of correlation matrices: text (CSV, TSV, ...), Parquet, Feather, Excel, .npy and .h5ad."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data import binary
from pycupc.data.column_checks import ends_of, rounded
from pycupc.data.csv_cells import Cells, warn_left_out
from pycupc.data.in_memory import RawTable, converted
from pycupc.data.names import DataError, kept_names, listed
from pycupc.data.source import Source, read_source
from pycupc.data.text_columns import TextColumn, mixed
from pycupc.data.text_layout import ReadOptions, option
from pycupc.data.units import numbers_in
from pycupc.system.extras import data_frame, needed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DataError", "ReadOptions", "read_correlation", "read_data", "read_table"]


def read_table(path: str | PurePath, options: ReadOptions | None = None) -> RawTable:
    """Read a table of observations: rows are observations, columns are variables; see `read_data`.

    Warns
    -----
    UserWarning
        If the header or the row names were decided without certainty, or columns or rows were left out as `options`
        say; the message says how and which.
    """
    options = options or ReadOptions()
    name, table, _ = _read(path, options)
    check_size(name, *table.values.shape)
    ends = table.ends or ends_of(table.values)
    if not len(ends.incomplete()):
        return replace(table, ends=ends)
    if len(infinite := np.argwhere(np.isinf(table.values))):
        row, k = infinite[0].tolist()
        raise DataError(f"{name}: row {row + 1}, column {table.names[k]!r}: infinite value")
    return complete_rows(name, replace(table, ends=ends), np.isnan(table.values), options.missing)


def read_data(path: str | PurePath, **options: Any) -> pd.DataFrame:
    """Read a table of observations: rows are observations, columns are variables.

    Parameters
    ----------
    path : str or Path
        Text (.csv, .tsv, .tab, .txt, also compressed: .gz, .bz2, .xz), .parquet, .feather, .xlsx, .npy (the variables
        are V1, V2, ...), .h5ad, or "-" for standard input.
    **options
        The attributes of `pycupc.data.readers.ReadOptions`: header, index, delimiter, decimal, na, comment, sheet,
        only, drop, drop_non_numeric, missing. ``--header yes`` of the command line is ``header="yes"`` here.

    Returns
    -------
    pandas.DataFrame
        Numbers, one column per variable. A first column of row names, as R writes it, is left out.

    Raises
    ------
    DataError
        If the file cannot be read as such a table; the message names the row and the column.
    TypeError
        For an unknown option.
    """
    table = read_table(path, ReadOptions(**options))
    table.warn_of_rounding()
    return data_frame(table.values, columns=table.labels, copy=False)


def read_correlation(path: str | PurePath, options: ReadOptions | None = None) -> RawTable:
    """Read a correlation matrix, float64 (p, p), as it is in the file, with NaN; `SuffStat` checks the values.

    `DataError` if the file cannot be read, the table is not square, or its row names differ from its column names.
    """
    name, table, rows = _read(path, options or ReadOptions(), matrix=True)
    n, p = table.values.shape
    if n != p:
        raise DataError(f"{name}: a correlation matrix must be square, this has {n} rows and {p} columns")
    for k, (row, label) in enumerate(zip(rows or table.names, table.names, strict=True)):
        if row != label:
            raise DataError(f"{name}: row {k + 1} is named {row!r} but column {k + 1} is named {label!r}")
    return table


def _read(
    path: str | PurePath, options: ReadOptions, *, matrix: bool = False, named: bool = False
) -> tuple[str, RawTable, list[str]]:
    """The name of a file, its table, and the names of the rows if it is a correlation `matrix` or they are `named`."""
    if options.transpose:
        as_it_stands = replace(options, transpose=False, only=(), drop=(), drop_non_numeric=True)
        name, table, rows = _read(path, as_it_stands, named=True)
        return name, _transposed(name, table, rows, options), []
    source = None if PurePath(path).suffix.lower() in (".npy", ".h5ad") else read_source(path)
    name, kind = (str(path), "array") if source is None else (source.name, source.kind)
    if options.sheet is not None and kind != "excel":
        raise DataError(f"{name}: is not an Excel file and has no sheet {options.sheet!r}")
    if source is not None and kind not in ("parquet", "feather"):
        cells = Cells.of(source, options, matrix=matrix)
        cells = cells.with_row_names() if named else cells
        if named and len(cells.columns_of_text()) == len(cells.layout.columns):
            raise DataError(f"{name}: no column holds numbers alone")
        rows = cells.first_column() if (matrix or named) and cells.layout.has_row_names else []
        return name, _from_cells(source, cells), rows
    for of_text in ("header", "index", "delimiter", "decimal", "comment"):
        if (value := getattr(options, of_text)) != getattr(ReadOptions, of_text):
            raise DataError(f"{name}: {option(of_text, value)} is an option of text and sheets, this is no such file")
    rows = []
    if named and source is not None and (first := binary.text_in_front(source)):
        rows, options = first[1], replace(options, drop=first[:1])
    table = read_array(path, options) if source is None else _from_arrow(source, options)
    numbers = np.array(options.missing_numbers, dtype=table.values.dtype)
    holes = np.isin(table.values, numbers) if len(numbers) else np.zeros(0, dtype=np.bool_)
    return name, replace(table, values=np.where(holes, np.nan, table.values)) if holes.any() else table, rows


def _transposed(name: str, table: RawTable, rows: list[str], options: ReadOptions) -> RawTable:
    """The table with its `rows` as columns, of which the options `only` and `drop` choose some."""
    names = rows or [f"V{k + 1}" for k in range(len(table.values))]
    kept = kept_names(name, names, options.only, options.drop)
    place = {one: k for k, one in enumerate(names)}
    values = np.ascontiguousarray(table.values[[place[one] for one in kept]].T)
    return RawTable(values, kept, layout=f"{table.layout}; transposed: rows are variables", facts=table.facts)


def _from_cells(source: Source, cells: Cells) -> RawTable:
    X = cells.numbers()
    columns, types = cells.layout.columns, list[str]()
    if len(rounded(X)):
        texts = [row for _, row in cells.body()]
        types = ["int64" if all(row[k].strip().isdecimal() for row in texts) else "float64" for k in columns]
    names, rows_have_names = [cells.layout.names[k] for k in columns], cells.rows_have_names(len(X))
    return RawTable(X, names, types, cells.layout.words, source.facts, rows_have_names=rows_have_names)


def _from_arrow(source: Source, options: ReadOptions) -> RawTable:
    schema = binary.arrow_schema(source)
    kept, text = binary.numeric_columns(source.name, schema.names, schema.types, options)
    read = [name for name in text if name in options.units]
    text = [name for name in text if name not in read]
    if text and options.drop_non_numeric:
        warn_left_out(source.name, text)
    elif text:
        column = binary.read_arrow(source, text[:1]).column(0)
        row = column.is_valid().index(True).as_py()
        place = f": row {row + 1} holds {column[row].as_py()!r}" if row >= 0 else f" but {column.type}"
        ways_out = mixed({name: TextColumn(words=1) for name in text}, kept)
        raise DataError(f"{source.name}: column {text[0]!r} is not numeric{place}.{ways_out}")
    types = [str(schema.field(name).type) for name in kept]
    X = binary.arrow_columns(source, kept, types)
    if read:
        columns = dict(zip(kept, X.T, strict=True)) | {
            name: np.array(numbers_in(column.to_pylist(), options.missing_cells))
            for name, column in zip(read, binary.read_arrow(source, read).columns, strict=True)
        }
        names = [name for name in map(str, schema.names) if name in columns]
        X, kept, types = np.column_stack([columns[name] for name in names]), names, []
    return RawTable(X, kept, types, f"the names of {source.kind}", source.facts)


def check_size(name: str, n: int, p: int) -> None:
    """Raise `DataError` for a table without rows, or with fewer than two columns."""
    if n == 0:
        raise DataError(f"{name}: no rows of data")
    if p < 2:
        raise DataError(f"{name}: needs at least 2 columns (variables), has {p}; is the delimiter right?")


def complete_rows(name: str, table: RawTable, holes: NDArray[np.bool_], missing: str) -> RawTable:
    """The rows without missing values, which are where `holes`, bool (n, p), is True, and a fact about the others.

    With `missing` "keep", the table as it is. `DataError` if a value is missing and `missing` is "error", or if no row
    is complete.
    """
    if missing == "keep" or not holes.any():
        return table
    incomplete, by_column, labels = holes.any(axis=1), holes.sum(axis=0), table.names
    if missing == "drop-rows":
        if incomplete.all():
            raise DataError(f"{name}: every row has a missing value, so that no row is left")
        because = [
            f"{by_column[k]:,} because of {labels[k]}" for k in np.argsort(-by_column, kind="stable") if by_column[k]
        ]
        text = f"{incomplete.sum():,} of {len(holes):,} rows dropped, {listed(because, most=3)}"
        warnings.warn(f"{name}: {text}", stacklevel=4)
        values, facts = table.values[~incomplete], table.facts | {"rows_dropped": text}
        return replace(table, values=values, facts=facts, ends=ends_of(values) if table.ends else None)
    row, column = np.argwhere(holes)[0].tolist()
    columns = [labels[k] for k in np.flatnonzero(by_column).tolist()]
    raise DataError(
        f"{name}: missing values: {int(holes.sum())}, rows with any: {int(incomplete.sum())}, columns with any: "
        f"{len(columns)} ({listed(columns, most=5)}); the first in row {row + 1}, column {labels[column]!r}. "
        f"Drop those rows ({option('missing', 'drop-rows')}) or columns ({option('drop', columns[:3])}), or impute the "
        "values"
    )


def read_array(path: str | PurePath, options: ReadOptions) -> RawTable:
    """The array in a file, of which an array of float32 or float64 in a .npy file stays there, as a memory map.

    `DataError` if the file does not hold a table of numbers.
    """
    name = str(path)
    if not Path(path).is_file():
        raise DataError(f"{name}: no such file")
    try:
        table = _h5ad(path) if PurePath(path).suffix.lower() == ".h5ad" else _npy(path)
    except DataError:
        raise
    except Exception as error:  # h5py and NumPy have many of their own
        raise DataError(f"{name}: cannot be read as an array ({type(error).__name__}: {error})") from error
    X, names = table.values, list(table.names)
    kept = kept_names(name, names, options.only, options.drop)
    if len(kept) < len(names):
        X = X[:, [names.index(column) for column in kept]]
    content = np.memmap(path, mode="r")
    facts = {"path": name, "sha256": hashlib.sha256(content.data).hexdigest(), "bytes": len(content)}
    return RawTable(X, kept, layout=f"an array of {X.dtype}", facts=facts)


def _npy(path: str | PurePath) -> RawTable:
    X = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        raise DataError(f"{path}: must hold a table (n, p), got {getattr(X, 'shape', 'several arrays')}")
    return RawTable(converted(X, str(path)).values, [f"V{k + 1}" for k in range(X.shape[1])])


def _h5ad(path: str | PurePath) -> RawTable:
    data = needed("anndata", f"{path}: reading .h5ad", None, DataError).read_h5ad(path, backed="r")
    try:
        return converted(data, str(path))
    finally:
        data.file.close()
