"""Numeric tables from text files and from Parquet.

pandas' fast parser reads the text. Only if it fails, or leaves the end of a row empty, are the cells examined one by
one in order to find the first error: a well-formed file pays nothing for a precise message about a malformed one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from pycupc.data.errors import DataError, check_names
from pycupc.data.text_layout import MISSING, Header, Layout, find_layout, is_number, open_text, rows

if TYPE_CHECKING:
    import pandas as pd


def read_text(
    path: Path, header: Header, delimiter: str | None, drop: Sequence[str]
) -> tuple[pd.DataFrame, list[str] | None]:
    """The float64 columns of a text table, and its row names if it has any."""
    with open_text(path) as text:
        layout = find_layout(path, text, header, delimiter, drop)
        frame = _parse(path, text, layout)
        values = frame.drop(columns=sorted(layout.text_columns))
        if len(frame) and (frame.iloc[:, -1].isna().any() or np.isinf(values.to_numpy()).any()):
            _raise_first_error(path, text, layout)
    values.columns = [name for k, name in enumerate(layout.names) if k not in layout.text_columns]
    return values, [str(name).strip() for name in frame.iloc[:, 0]] if layout.has_row_names else None


def read_parquet(path: Path, drop: Sequence[str]) -> pd.DataFrame:
    """The columns of a Parquet file, as float64; all that are not dropped must be numeric, without infinite values."""
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError as error:
        raise DataError(f"{path}: reading Parquet requires pyarrow: pip install 'pycupc[parquet]'") from error
    except Exception as error:  # pyarrow has many exceptions of its own for a damaged file
        raise DataError(f"{path}: not a readable Parquet file ({error})") from error
    frame.columns = [str(name) for name in frame.columns]
    check_names(path, list(frame.columns), drop)
    frame = frame.drop(columns=list(drop))
    for name, column in frame.items():
        if not pd.api.types.is_numeric_dtype(column.dtype):
            wrong = [(k, v) for k, v in enumerate(column) if not isinstance(v, int | float) and not pd.isna(v)]
            place = f": row {wrong[0][0] + 1} holds {wrong[0][1]!r}" if wrong else ""
            raise DataError(
                f"{path}: column {str(name)!r} is not numeric{place}. Drop it (--drop {name}) or correct the file"
            )
    frame = frame.astype(np.float64).reset_index(drop=True)
    infinite = np.argwhere(np.isinf(frame.to_numpy()))
    if len(infinite):
        row, k = infinite[0].tolist()
        raise DataError(f"{path}: row {row + 1}, column {frame.columns[k]!r}: infinite value")
    return frame


def _parse(path: Path, text: TextIO, layout: Layout) -> pd.DataFrame:
    """Parse with pandas; columns are numbered, not named, so that any name is allowed."""
    import pandas as pd

    columns = range(len(layout.names))
    options: dict[str, Any] = {
        "sep": r"\s+" if layout.delimiter == " " else layout.delimiter,
        "skipinitialspace": True,
        "header": None,
        "names": columns,
        "index_col": False,
        "skiprows": 1 if layout.has_header else 0,
        "dtype": {k: str if k in layout.text_columns else np.float64 for k in columns},
        "na_values": list(MISSING),
        "keep_default_na": False,
    }
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
        options["float_precision"] = "round_trip"  # correctly rounded; the default from pandas 3.1 on
    text.seek(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # raised for a row longer than the others
            frame: pd.DataFrame = pd.read_csv(text, **options)
            return frame
    except UnicodeDecodeError:  # a ValueError, which `open_text` explains
        raise
    except (ValueError, pd.errors.ParserError, pd.errors.ParserWarning, OverflowError) as error:
        _raise_first_error(path, text, layout)
        raise DataError(f"{path}: cannot be read as a table ({error})") from error


def _raise_first_error(path: Path, text: TextIO, layout: Layout) -> None:
    """Raise `DataError` for the first row of a wrong length, or cell that is not a finite number, if there is one."""
    text.seek(0)
    data = islice(rows(text, layout.delimiter), 1 if layout.has_header else 0, None)
    for number, (line, cells) in enumerate(data, start=1):
        place = f"{path}, line {line} (row {number} of the data)"
        if len(cells) != len(layout.names):
            raise DataError(f"{place}: expected {len(layout.names)} cells, got {len(cells)}")
        for k, cell in enumerate(cells):
            if k in layout.text_columns or cell.lstrip() in MISSING:
                continue
            column = f"column {k + 1} ({layout.names[k]!r})"
            try:
                value = float(cell)
            except ValueError:
                hint = ""
                if number == 1 and not layout.has_header:
                    hint = "; is it a header? (--header yes)"
                elif "," in cell and is_number(cell.replace(",", ".", 1)):
                    hint = "; write it with a decimal point"
                raise DataError(
                    f"{place}, {column}: {cell!r} is not a number{hint}. "
                    f"If the column is not a variable, drop it (--drop {layout.names[k]})"
                ) from None
            if not math.isfinite(value):
                raise DataError(f"{place}, {column}: infinite value {cell!r}")
