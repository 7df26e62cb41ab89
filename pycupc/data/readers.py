"""Readers of data and of correlation matrices: text (CSV, TSV, ...), Parquet, Feather, Excel, .npy and .h5ad."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data import binary, cells
from pycupc.data.findings import Ends, counts_rows, ends_of, has_infinite, missing_in, rounded
from pycupc.data.names import DataError, kept_names, listed
from pycupc.data.observations import converted
from pycupc.data.source import Source, open_text, read_source
from pycupc.data.text_layout import HEAD, ReadOptions, find_delimiter, find_layout, option, rows
from pycupc.system.extras import data_frame, needed
from pycupc.system.log import READING, logger

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DataError", "FileTable", "ReadOptions", "read_correlation", "read_data", "read_table"]

Floats = NDArray[np.float64]

#: From this number of rows on, a first column that counts is regarded as row numbers.
COUNTING_ROWS = 3


@dataclass(frozen=True, eq=False)
class FileTable:
    """A table as it was read from a file."""

    # (n, p): rows are observations, columns variables: float64, NaN where a value is missing, or texts of categories,
    # object.
    values: NDArray[Any]
    labels: list[str]
    layout: str  # how the file was read, in words
    facts: dict[str, Any]  # path, sha256 and number of bytes
    ends: Ends | None = None  # of numbers


def read_table(path: str | PurePath, options: ReadOptions | None = None) -> FileTable:
    """Read a table of observations: rows are observations, columns are variables; see `read_data`.

    Warns
    -----
    UserWarning
        If the header or the row names were decided without certainty, or columns or rows were left out as `options`
        say; the message says how and which.
    """
    options = options or ReadOptions()
    if PurePath(path).suffix.lower() in (".npy", ".h5ad"):
        name, (X, labels, facts) = str(path), read_array(path, options)
        table = FileTable(X, labels, f"an array of {X.dtype}", facts, _finite_ends(name, X, labels))
    else:
        source = read_source(path)
        name = source.name
        table = _without_counter(name, _read(source, options)[0], options)
    check_size(name, *table.values.shape)
    assert table.ends is not None
    if not len(table.ends.incomplete()):
        return table
    return complete_rows(name, table, missing_in(table.values, table.ends), options.missing)


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
    return data_frame(table.values, columns=table.labels, copy=False)


def read_correlation(path: str | PurePath, options: ReadOptions | None = None) -> FileTable:
    """Read a correlation matrix, float64 (p, p), as it is in the file, with NaN; `SuffStat` checks the values.

    `DataError` if the file cannot be read, the table is not square, or its row names differ from its column names.
    """
    source = read_source(path)
    table, row_names = _read(source, options or ReadOptions(), matrix=True)
    n, p = table.values.shape
    if n != p:
        raise DataError(f"{source.name}: a correlation matrix must be square, this has {n} rows and {p} columns")
    for k, (name, label) in enumerate(zip(row_names or table.labels, table.labels, strict=True)):
        if name != label:
            raise DataError(f"{source.name}: row {k + 1} is named {name!r} but column {k + 1} is named {label!r}")
    return table


def _read(source: Source, options: ReadOptions, *, matrix: bool = False) -> tuple[FileTable, list[str] | None]:
    """The table in a file, and of a matrix the names of its rows; each cell is a finite number or NaN."""
    if options.sheet is not None and source.kind != "excel":
        raise DataError(f"{source.name}: is not an Excel file and has no sheet {options.sheet!r}")
    if source.kind in ("parquet", "feather"):
        return _from_arrow(source, options), None
    all_rows, delimiter = rows_of(source, options)
    head = [row for _, row in islice(all_rows(), HEAD)]
    if not head:
        raise DataError(f"{source.name}: the file is empty")
    layout = find_layout(source.name, head, options, matrix=matrix)
    begin = int(layout.has_header)
    body = islice(all_rows(), begin, None)
    if options.drop_non_numeric and (of_text := cells.columns_of_text(body, layout, options)):
        _warn_left_out(source.name, [f"{layout.names[k]}{kind}" for k, kind in of_text.items()])
        layout = replace(layout, text_columns=layout.text_columns.union(of_text))
    X = None if delimiter is None else cells.fast(source.content, delimiter, layout, options)
    if X is None:
        X = cells.careful(source.name, all_rows, layout, options)
    for guess in layout.guesses:
        warnings.warn(guess, stacklevel=5)
    labels, ends = [layout.names[k] for k in layout.columns], ends_of(X)
    if len(X) and len(rounded(X, ends)):
        texts = [row for _, row in islice(all_rows(), begin, None)]
        types = ["int64" if all(row[k].strip().isdecimal() for row in texts) else "float64" for k in layout.columns]
        binary.warn_of_rounding(X, ends, types, labels)
    row_names = None
    if matrix and layout.has_row_names:
        row_names = [row[0].strip() for _, row in islice(all_rows(), begin, None)]
    words = ["line 1 holds the names" if layout.has_header else "no names; the variables are V1, V2, ..."]
    words += ["column 1 holds row names"] if layout.has_row_names else []
    return FileTable(X, labels, "; ".join(words), source.facts, ends), row_names


def rows_of(source: Source, options: ReadOptions) -> tuple[cells.Rows, str | None]:
    """The rows of a text or of a sheet, from the beginning at each call, and the delimiter of a text."""
    if source.kind == "excel":
        grid = binary.read_sheet(source, options.sheet)
        return lambda: iter(grid), None
    text = open_text(source)
    first_line = text.readline()
    while options.comment is not None and first_line and not first_line.partition(options.comment)[0].strip():
        first_line = text.readline()
    if not first_line.strip():
        what = "the first line is empty" if first_line else "the file is empty"
        raise DataError(f"{source.name}: {what}")
    delimiter = options.delimiter or find_delimiter(source.ending, first_line, options.decimal)
    if options.decimal == delimiter:
        raise DataError(f"{source.name}: {delimiter!r} cannot be delimiter and decimal point at once")
    return lambda: rows(source.name, text, delimiter, options.comment), delimiter


def _warn_left_out(name: str, columns: Sequence[str]) -> None:
    warnings.warn(
        f"{name}: left out, since they hold other cells than numbers: {listed(columns, most=50)}", stacklevel=6
    )


def _from_arrow(source: Source, options: ReadOptions) -> FileTable:
    schema = binary.arrow_schema(source)
    kept, text = binary.numeric_columns(source.name, schema.names, schema.types, options)
    if text and options.drop_non_numeric:
        _warn_left_out(source.name, text)
    elif text:
        column = binary.read_arrow(source, text[:1]).column(0)
        row = column.is_valid().index(True).as_py()
        place = f": row {row + 1} holds {column[row].as_py()!r}" if row >= 0 else f" but {column.type}"
        ways_out = cells.mixed({name: cells.TextColumn(words=1) for name in text}, kept)
        raise DataError(f"{source.name}: column {text[0]!r} is not numeric{place}.{ways_out}")
    types = [str(schema.field(name).type) for name in kept]
    X = binary.arrow_columns(source, kept, types)
    ends = _finite_ends(source.name, X, kept)
    binary.warn_of_rounding(X, ends, types, kept)
    return FileTable(X, kept, f"the names of {source.kind}", source.facts, ends)


def _finite_ends(name: str, X: Floats, labels: Sequence[str]) -> Ends:
    """The ends of the columns; `DataError` if a value is infinite."""
    ends = ends_of(X)
    if has_infinite(X, ends):
        row, k = np.argwhere(np.isinf(X))[0].tolist()
        raise DataError(f"{name}: row {row + 1}, column {labels[k]!r}: infinite value")
    return ends


def _without_counter(name: str, table: FileTable, options: ReadOptions) -> FileTable:
    """A table without header whose first column counts 0, 1, ..., as the index of pandas does: without that column."""
    X = table.values
    if options.index != "auto" or not table.layout.startswith("no names") or "row names" in table.layout:
        return table
    if X.shape[1] < 3 or (start := counts_rows(X[:, 0], COUNTING_ROWS)) is None:
        return table
    if start == 1:
        raise DataError(
            f"{name}: column 1 counts 1, 2, 3, ... and has no name: say whether it numbers the rows "
            f"({option('index', 'yes')}) or is a variable ({option('index', 'no')})"
        )
    warnings.warn(
        f"{name}: column 1 counts 0, 1, 2, ... and was left out as the number of the row; if it is a variable: "
        f"{option('index', 'no')}",
        stacklevel=4,
    )
    words = f"{table.layout}; column 1 holds row names"
    return replace(table, values=X[:, 1:], labels=table.labels[:-1], layout=words, ends=ends_of(X[:, 1:]))


def check_size(name: str, n: int, p: int) -> None:
    """Raise `DataError` for a table without rows, or with fewer than two columns."""
    if n == 0:
        raise DataError(f"{name}: no rows of data")
    if p < 2:
        raise DataError(f"{name}: needs at least 2 columns (variables), has {p}; is the delimiter right?")


def complete_rows(name: str, table: FileTable, holes: NDArray[np.bool_], missing: str) -> FileTable:
    """The rows without missing values, which are where `holes`, bool (n, p), is True, and a fact about the others.

    With `missing` "keep", the table as it is. `DataError` if a value is missing and `missing` is "error", or if no row
    is complete.
    """
    if missing == "keep" or not holes.any():
        return table
    incomplete, by_column, labels = holes.any(axis=1), holes.sum(axis=0), table.labels
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


#: Bytes that are hashed at a time.
_HASHED = 1 << 24


def read_array(path: str | PurePath, options: ReadOptions) -> tuple[NDArray[Any], list[str], dict[str, Any]]:
    """The values, float32 or float64 (n, p), the names of the columns, and path, sha256 and number of bytes.

    An array of one of these types in a .npy file stays there, as a memory map. `DataError` if the file does not hold a
    table of numbers.
    """
    name = str(path)
    if not Path(path).is_file():
        raise DataError(f"{name}: no such file")
    try:
        X, names = _h5ad(path) if PurePath(path).suffix.lower() == ".h5ad" else _npy(path)
    except DataError:
        raise
    except Exception as error:  # h5py and NumPy have many of their own
        raise DataError(f"{name}: cannot be read as an array ({type(error).__name__}: {error})") from error
    kept = kept_names(name, names, options.only, options.drop)
    if len(kept) < len(names):
        wanted = set(kept)
        X = X[:, [k for k, column in enumerate(names) if column in wanted]]
    return X, kept, {"path": name, "sha256": _digest(path), "bytes": Path(path).stat().st_size}


def _digest(path: str | PurePath) -> str:
    """The file's sha256; of a large file, lines of the log show the progress."""
    found, size, done = hashlib.sha256(), Path(path).stat().st_size, 0
    with open(path, "rb") as file:
        while part := file.read(_HASHED):
            found.update(part)
            if size > 16 * _HASHED and done * 20 // size < (done + len(part)) * 20 // size:
                logger.info(READING, path, 100 * (done + len(part)) // size, size / 1e9)
            done += len(part)
    return found.hexdigest()


def _npy(path: str | PurePath) -> tuple[NDArray[Any], list[str]]:
    X = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        raise DataError(f"{path}: must hold a table (n, p), got {getattr(X, 'shape', 'several arrays')}")
    return converted(X, str(path)).values, [f"V{k + 1}" for k in range(X.shape[1])]


def _h5ad(path: str | PurePath) -> tuple[NDArray[Any], list[str]]:
    data = needed("anndata", f"{path}: reading .h5ad", None, DataError).read_h5ad(path, backed="r")
    try:
        values, names, _ = converted(data, str(path))
    finally:
        data.file.close()
    return values, names or []
