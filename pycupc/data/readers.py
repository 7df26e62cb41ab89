"""Tables from files: CSV, TSV (plain, gzip, bzip2, xz) and Parquet, with errors that say which row and column is wrong.

Well-formed files go through pandas' fast parser. Only when that fails, or leaves a gap at the end of a row, is the text
walked cell by cell to find the first thing wrong: so a good file costs nothing and a bad one is explained.
"""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

#: Cells that stand for "no value".
MISSING = ("", "NA", "NaN", "nan", "N/A", "null", "NULL", "None")

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}
_PARQUET = (".parquet", ".pq")

Header = Literal["auto", "yes", "no"]


class DataError(ValueError):
    """A file does not hold what was asked for; the text names the file and the place in it."""


def read_data(
    path: str | Path,
    *,
    header: Header = "auto",
    delimiter: str | None = None,
    drop: Sequence[str] = (),
    missing: Literal["error", "drop-rows", "keep"] = "error",
) -> pd.DataFrame:
    """Read observations: rows are samples, columns are variables.

    Parameters
    ----------
    path : str or Path
        .csv, .tsv, .tab or .txt, also with .gz, .bz2 or .xz behind it, or .parquet.
    header : {"auto", "yes", "no"}
        Whether the first line holds names. "auto": unless every cell of it is a number. Without names, V1, V2, ...
    delimiter : str, optional
        One character; by default found from the file's name and first line (comma, semicolon, tab or blanks).
    drop : sequence of str
        Columns left out, say an identifier.
    missing : {"error", "drop-rows", "keep"}
        What to do with empty and NA cells. "keep" leaves NaN in the data.

    Returns
    -------
    pandas.DataFrame
        float64, one column a variable; unnamed or shorter-headed first columns of R's row names are left out.

    Raises
    ------
    DataError
        With the file and the row and column at fault.
    """
    path = Path(path)
    frame = _read(path, header, delimiter, drop)
    if len(frame) == 0:
        raise DataError(f"{path}: no rows of data")
    if frame.shape[1] < 2:
        raise DataError(f"{path}: needs at least 2 columns (variables), has {frame.shape[1]}; is the delimiter right?")
    return _without_missing(path, frame, missing)


def read_correlation(
    path: str | Path, *, header: Header = "auto", delimiter: str | None = None
) -> tuple[np.ndarray, list[str]]:
    """Read a correlation matrix; NaN cells stay NaN. Row names, where there are any, must equal the column names.

    Returns
    -------
    C : float64 (p, p)
    labels : list of p str

    Raises
    ------
    DataError
        If the file cannot be read or the table is not square. Its values are checked by ``SuffStat``.
    """
    path = Path(path)
    frame = _read(path, header, delimiter, ())
    names = frame.attrs.get("row_names")
    labels = [str(c) for c in frame.columns]
    if frame.shape[0] != frame.shape[1]:
        raise DataError(
            f"{path}: a correlation matrix must be square, this has {frame.shape[0]} rows and {len(labels)} columns"
        )
    if names is not None and list(names) != labels:
        k = next(k for k, (a, b) in enumerate(zip(names, labels, strict=True)) if a != b)
        raise DataError(f"{path}: row {k + 1} is named {names[k]!r} but column {k + 1} is named {labels[k]!r}")
    return frame.to_numpy(dtype=np.float64, copy=True), labels


def read_pairs(path: str | Path, labels: Sequence[str]) -> np.ndarray:
    """Read pairs of variables, two names a line, into a symmetric bool (p, p) matrix (for gaps and fixed edges).

    Raises
    ------
    DataError
        If a line does not hold two different names out of `labels`.
    """
    path = Path(path)
    at = {label: i for i, label in enumerate(labels)}
    out = np.zeros((len(labels), len(labels)), dtype=bool)
    with _open_text(path) as text:
        first = text.readline()
        text.seek(0)
        for line, row in _rows(text, _delimiter(path, first)):
            cells = [cell.strip() for cell in row]
            if line == 1 and len(cells) >= 2 and not (set(cells[:2]) & at.keys()):
                continue  # a header such as from,to
            if len(cells) < 2:
                raise DataError(f"{path}, line {line}: expected two names, got {cells}")
            for name in cells[:2]:
                if name not in at:
                    raise DataError(f"{path}, line {line}: no variable is named {name!r}")
            i, j = at[cells[0]], at[cells[1]]
            if i == j:
                raise DataError(f"{path}, line {line}: {cells[0]!r} is paired with itself")
            out[i, j] = out[j, i] = True
    return out


def _read(path: Path, header: Header, delimiter: str | None, drop: Sequence[str]) -> pd.DataFrame:
    if not path.exists():
        raise DataError(f"{path}: no such file")
    if path.is_dir():
        raise DataError(f"{path}: is a directory, expected a file")
    if path.suffix.lower() in _PARQUET:
        return _read_parquet(path, drop)
    return _read_text(path, header, delimiter, drop)


def _without_missing(path: Path, frame: pd.DataFrame, missing: str) -> pd.DataFrame:
    holes = frame.isna().to_numpy()
    if missing == "keep" or not holes.any():
        return frame
    bad_rows = holes.any(axis=1)
    if missing == "drop-rows":
        if bad_rows.all():
            raise DataError(f"{path}: every row has a missing value, none is left")
        return frame[~bad_rows].reset_index(drop=True)
    row, column = np.argwhere(holes)[0]
    columns = [str(c) for c in frame.columns[holes.any(axis=0)]]
    shown = ", ".join(columns[:5]) + (", ..." if len(columns) > 5 else "")
    raise DataError(
        f"{path}: {int(holes.sum())} missing values in {int(bad_rows.sum())} rows and {len(columns)} columns "
        f"({shown}); the first in row {row + 1}, column {str(frame.columns[column])!r}. "
        "Leave those rows out (--missing drop-rows) or the columns (--drop NAME), or impute them"
    )


def _check_names(path: Path, names: list[str], drop: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for k, name in enumerate(names):
        if name in seen:
            raise DataError(f"{path}: columns {seen[name] + 1} and {k + 1} are both named {name!r}; names must differ")
        seen[name] = k
    for name in drop:
        if name not in seen:
            raise DataError(f"{path}: no column is named {name!r} to drop; the first are {', '.join(names[:8])}")


# ---------------------------------------------------------------------------------------------------------- parquet


def _read_parquet(path: Path, drop: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError as error:
        raise DataError(f"{path}: reading Parquet needs pyarrow: pip install pyarrow") from error
    except Exception as error:  # pyarrow raises many kinds of its own for a broken file
        raise DataError(f"{path}: not a readable Parquet file ({error})") from error
    frame.columns = [str(c) for c in frame.columns]
    _check_names(path, list(frame.columns), drop)
    frame = frame.drop(columns=list(drop))
    for name, column in frame.items():
        if not pd.api.types.is_numeric_dtype(column.dtype):
            values = [(i, v) for i, v in enumerate(column) if not isinstance(v, int | float) and not pd.isna(v)]
            where = f": row {values[0][0] + 1} holds {values[0][1]!r}" if values else ""
            raise DataError(_not_numeric(path, str(name), where))
    frame = frame.astype(np.float64).reset_index(drop=True)
    infinite = np.argwhere(np.isinf(frame.to_numpy()))
    if len(infinite):
        row, column = infinite[0]
        raise DataError(f"{path}: row {row + 1}, column {frame.columns[column]!r}: infinite value")
    return frame


def _not_numeric(path: Path, name: str, where: str) -> str:
    return f"{path}: column {name!r} is not numeric{where}. Leave the column out (--drop {name}) or correct the file"


# ------------------------------------------------------------------------------------------------------------- text


def _read_text(path: Path, header: Header, delimiter: str | None, drop: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    try:
        with _open_text(path) as text:
            first_line = text.readline()
            if not first_line.strip():
                raise DataError(f"{path}: the file is empty" if not first_line else f"{path}: the first line is empty")
            delimiter = delimiter or _delimiter(path, first_line)
            text.seek(0)
            head = [row for _, row in islice(_rows(text, delimiter), 2)]
            has_header = header == "yes" or (header == "auto" and not all(map(_is_number, head[0])))
            names, named_rows = _names(head, has_header)
            _check_names(path, names, drop)
            all_names = ["", *names] if named_rows else names
            text.seek(0)
            is_text = {k for k, name in enumerate(all_names) if name in drop or (named_rows and k == 0)}
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", pd.errors.ParserWarning)  # a row longer than the others
                    frame = pd.read_csv(
                        text,
                        sep=r"\s+" if delimiter == " " else delimiter,
                        skipinitialspace=True,
                        header=None,
                        names=range(len(all_names)),
                        index_col=False,
                        skiprows=1 if has_header else 0,
                        dtype={k: str if k in is_text else np.float64 for k in range(len(all_names))},
                        na_values=list(MISSING),
                        keep_default_na=False,
                        **_exact_floats(pd),
                    )
            except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning, OverflowError) as error:
                if isinstance(error, UnicodeDecodeError):
                    raise
                _explain(path, text, delimiter, has_header, all_names, named_rows, drop)
                raise DataError(f"{path}: cannot be read as a table ({error})") from error
            values = frame.drop(columns=sorted(is_text))
            if len(frame) and (frame.iloc[:, -1].isna().any() or np.isinf(values.to_numpy()).any()):
                _explain(path, text, delimiter, has_header, all_names, named_rows, drop)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: not UTF-8 text (byte {error.start}); is it a {path.suffix or 'text'} file?"
        ) from error
    except (OSError, EOFError) as error:  # BadGzipFile is an OSError
        raise DataError(f"{path}: cannot be read ({error})") from error
    values.columns = [name for name in names if name not in drop]
    if named_rows:
        values.attrs = {"row_names": [str(v).strip() for v in frame.iloc[:, 0]]}
    return values


def _exact_floats(pd: Any) -> dict[str, str]:
    """Options for a parser that gets every last digit right: pandas' default from 3.1 on, where the option is going."""
    major, minor = (int(part) for part in pd.__version__.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def _open_text(path: Path) -> io.TextIOWrapper:
    """Open for reading as UTF-8 (with or without a byte order mark), unpacked if the name says that it is packed."""
    kind = _PACKED.get(path.suffix.lower())
    if kind is None:
        return open(path, encoding="utf-8-sig", newline="")
    import importlib

    return importlib.import_module(kind).open(path, "rt", encoding="utf-8-sig", newline="")


def _delimiter(path: Path, first_line: str) -> str:
    """The delimiter that the first line uses; the file's name decides where the line leaves it open."""
    inner = Path(path.stem).suffix.lower() if path.suffix.lower() in _PACKED else path.suffix.lower()
    usual = _DELIMITERS.get(inner, ",")
    for candidate in dict.fromkeys((usual, "\t", ";", ",")):
        if candidate in first_line:
            return candidate
    return " " if len(first_line.split()) > 1 else usual


def _rows(text: io.TextIOBase, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells), empty lines left out as pandas does."""
    if delimiter == " ":
        for line, content in enumerate(text, start=1):
            if content.strip():
                yield line, next(csv.reader([" ".join(content.split())], delimiter=" "))
        return
    reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
    for row in reader:
        if row and (len(row) > 1 or row[0].strip()):
            yield reader.line_num, row


def _names(head: list[list[str]], has_header: bool) -> tuple[list[str], bool]:
    """Column names, and whether row names stand in a column before them (R's write.csv and write.table do that)."""
    if not has_header:
        return [f"V{k + 1}" for k in range(len(head[0]))], False
    names = [cell.strip() for cell in head[0]]
    if len(head) > 1 and len(head[1]) == len(names) + 1:
        return names, True
    if names[0] == "" and len(names) > 1:
        return names[1:], True
    return names, False


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip() in MISSING
    return True


def _explain(
    path: Path, text: Any, delimiter: str, has_header: bool, names: list[str], named_rows: bool, drop: Sequence[str]
) -> None:
    """Walk the file and raise for the first row of a wrong length or cell that is not a finite number, if any."""
    text.seek(0)
    row_number = 0
    for line, row in islice(_rows(text, delimiter), 1 if has_header else 0, None):
        row_number += 1
        where = f"{path}, line {line} (row {row_number} of the data)"
        if len(row) != len(names):
            raise DataError(f"{where}: expected {len(names)} cells, got {len(row)}")
        for k, cell in enumerate(row):
            if (named_rows and k == 0) or names[k] in drop or cell.lstrip() in MISSING:
                continue
            column = f"column {k + 1} ({names[k]!r})"
            try:
                value = float(cell)
            except ValueError:
                hint = ""
                if row_number == 1 and not has_header:
                    hint = "; is it a heading? (--header yes)"
                elif "," in cell and _is_number(cell.replace(",", ".", 1)):
                    hint = "; write it with a decimal point"
                raise DataError(
                    f"{where}, {column}: {cell!r} is not a number{hint}. "
                    f"If the column is no variable, leave it out (--drop {names[k]})"
                ) from None
            if not np.isfinite(value):
                raise DataError(f"{where}, {column}: infinite value {cell!r}")
