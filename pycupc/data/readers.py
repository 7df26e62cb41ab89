"""Readers of data, correlation matrices and pairs of variables: CSV, TSV (plain, gzip, bzip2, xz) and Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.data.errors import DataError, check_file
from pycupc.data.tables import read_parquet, read_text
from pycupc.data.text_layout import Header, find_delimiter, open_text, rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DataError", "Header", "read_correlation", "read_data", "read_pairs"]

Missing = Literal["error", "drop-rows", "keep"]


def read_data(
    path: str | Path,
    *,
    header: Header = "auto",
    delimiter: str | None = None,
    drop: Sequence[str] = (),
    missing: Missing = "error",
) -> pd.DataFrame:
    """Read observations: rows are samples, columns are variables.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv, .tab or .txt, optionally followed by .gz, .bz2 or .xz, or .parquet.
    header : {"auto", "yes", "no"}
        Whether the first line holds the names of the variables. "auto": yes, unless all its cells are numbers.
        Without a header the variables are named V1, V2, ...
    delimiter : str, optional
        One character; by default inferred from the name of the file and its first line (comma, semicolon, tab, blanks).
    drop : sequence of str
        Columns to leave out, for example an identifier.
    missing : {"error", "drop-rows", "keep"}
        Treatment of empty cells and NA. "keep" leaves NaN in the data.

    Returns
    -------
    pandas.DataFrame
        float64, one column per variable. A first column of row names, as R writes it, is left out.

    Raises
    ------
    DataError
        If the file cannot be read as such a table; the message names the row and the column.
    """
    path = Path(path)
    frame, _ = _read(path, header, delimiter, drop)
    if len(frame) == 0:
        raise DataError(f"{path}: no rows of data")
    if frame.shape[1] < 2:
        raise DataError(f"{path}: needs at least 2 columns (variables), has {frame.shape[1]}; is the delimiter right?")
    return _without_missing(path, frame, missing)


def read_correlation(
    path: str | Path, *, header: Header = "auto", delimiter: str | None = None
) -> tuple[NDArray[np.float64], list[str]]:
    """Read a correlation matrix; `header` and `delimiter` as for `read_data`. NaN cells stay NaN.

    Returns
    -------
    C : float64 (p, p)
        As in the file; `SuffStat` checks the values.
    labels : list of p str

    Raises
    ------
    DataError
        If the file cannot be read, the table is not square, or its row names differ from its column names.
    """
    path = Path(path)
    frame, row_names = _read(path, header, delimiter, ())
    labels = [str(name) for name in frame.columns]
    if len(frame) != len(labels):
        raise DataError(
            f"{path}: a correlation matrix must be square, this has {len(frame)} rows and {len(labels)} columns"
        )
    for k, (name, label) in enumerate(zip(row_names or labels, labels, strict=True)):
        if name != label:
            raise DataError(f"{path}: row {k + 1} is named {name!r} but column {k + 1} is named {label!r}")
    return frame.to_numpy(dtype=np.float64, copy=True), labels


def read_pairs(path: str | Path, labels: Sequence[str]) -> NDArray[np.bool_]:
    """Read pairs of variables, for fixed gaps or fixed edges: two names per line, with or without a header line.

    Returns
    -------
    bool (p, p)
        Symmetric; True for the pairs in the file.

    Raises
    ------
    DataError
        If the file cannot be read, or a line does not hold two different names from `labels`.
    """
    path = Path(path)
    check_file(path)
    index = {label: i for i, label in enumerate(labels)}
    out = np.zeros((len(labels), len(labels)), dtype=np.bool_)
    with open_text(path) as text:
        delimiter = find_delimiter(path, text.readline())
        text.seek(0)
        for line, row in rows(text, delimiter):
            cells = [cell.strip() for cell in row]
            if line == 1 and len(cells) >= 2 and not (set(cells[:2]) & index.keys()):
                continue  # a header such as from,to
            if len(cells) < 2:
                raise DataError(f"{path}, line {line}: expected two names, got {cells}")
            for name in cells[:2]:
                if name not in index:
                    raise DataError(f"{path}, line {line}: no variable is named {name!r}")
            i, j = index[cells[0]], index[cells[1]]
            if i == j:
                raise DataError(f"{path}, line {line}: {cells[0]!r} is paired with itself")
            out[i, j] = out[j, i] = True
    return out


def _read(
    path: Path, header: Header, delimiter: str | None, drop: Sequence[str]
) -> tuple[pd.DataFrame, list[str] | None]:
    """The table in a file, and its row names if it has any."""
    check_file(path)
    if path.suffix.lower() in (".parquet", ".pq"):
        return read_parquet(path, drop), None
    return read_text(path, header, delimiter, drop)


def _without_missing(path: Path, frame: pd.DataFrame, missing: Missing) -> pd.DataFrame:
    """Drop the rows with missing values, keep them, or raise `DataError` for them."""
    holes = np.argwhere(frame.isna().to_numpy())
    if missing == "keep" or not len(holes):
        return frame
    complete = frame.dropna(ignore_index=True)
    if missing == "drop-rows":
        if complete.empty:
            raise DataError(f"{path}: every row has a missing value, so that no row is left")
        return complete
    row, column = holes[0].tolist()
    columns = [str(frame.columns[k]) for k in np.unique(holes[:, 1])]
    shown = ", ".join(columns[:5]) + (", ..." if len(columns) > 5 else "")
    raise DataError(
        f"{path}: missing values: {len(holes)}, rows with any: {len(frame) - len(complete)}, columns with any: "
        f"{len(columns)} ({shown}); the first in row {row + 1}, column {str(frame.columns[column])!r}. "
        "Drop those rows (--missing drop-rows) or columns (--drop NAME), or impute the values"
    )
