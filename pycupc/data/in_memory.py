"""Tables of numbers in memory, of many kinds: values float64 or float32 (n, p), and the names of the columns or None.

Four protocols cover most libraries: columns, dtypes and to_numpy (pandas, polars and their relatives), the Arrow stream
(PyArrow, DuckDB, ...), DLPack (CuPy, PyTorch, JAX) and NumPy's ``__array__``. xarray, AnnData and sparse matrices need
a conversion first. A library is imported only if the object comes from it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.binary import NUMERIC, arrow_values, numeric_columns
from pycupc.data.column_checks import MANY_ROWS, NAMES_READ, Ends, rounded
from pycupc.data.names import listed, names_for
from pycupc.data.text_layout import ReadOptions, are_names, is_number
from pycupc.data.units import unit_of
from pycupc.system.extras import needed

_WIDE = re.compile(r"u?int64", re.IGNORECASE)
#: Columns of text of which an error shows an example.
LOOKED_AT = 8


@dataclass(frozen=True, eq=False)
class RawTable:
    """A table as it was found, before `pycupc.data.table.Table.of` checks it."""

    # (n, p), of an array in memory any shape: float64 or float32, NaN where a value is missing, or categories, object.
    values: NDArray[Any]
    labels: list[str] | None = None
    types: Sequence[str] = ()  # of the columns, if they may be of wide integers
    layout: str = ""  # how a file was read, in words
    facts: dict[str, Any] = field(default_factory=dict)  # of a file: path, sha256, number of bytes, rows dropped
    ends: Ends | None = None  # of numbers, if they are known
    rows_have_names: bool = False  # whether each of many rows has a text of its own for a name

    @property
    def names(self) -> Sequence[str]:
        """The labels, or names for messages."""
        return names_for(self.labels, self.values.shape[1])

    def warn_of_rounding(self) -> None:
        """Warn about columns of 64-bit integers beyond what float64 holds exactly."""
        wide = [_WIDE.match(kind) is not None for kind in self.types]
        if any(wide) and (columns := [self.names[k] for k in rounded(self.values).tolist() if wide[k]]):
            text = "whole numbers beyond 2^53 are rounded to float64, so that different ones may become equal"
            warnings.warn(f"{text}: {listed(columns)}; leave out identifiers", stacklevel=2)


def _has(data: Any, *attributes: str) -> bool:
    return all(hasattr(data, name) for name in attributes)


def is_frame(data: Any) -> bool:
    """Whether this is a DataFrame of pandas, polars, ...; lazy tables, whose columns cost time, have no to_numpy."""
    return _has(data, "to_numpy", "columns", "dtypes")


def chosen_columns(data: Any, **options: Any) -> Any:
    """The columns of a DataFrame that the options `only`, `drop` and `drop_non_numeric` of `ReadOptions` leave.

    A warning names those that `drop_non_numeric` leaves out. TypeError or ValueError if `data` is no DataFrame, a
    column does not exist, or another option is given, which are for files.
    """
    choice = ReadOptions(**options)
    if of_files := [name for name in options if name not in ("only", "drop", "drop_non_numeric")]:
        raise TypeError(f"{of_files[0]!r} is an option of reading files, got {_type(data)}")
    if not is_frame(data):
        raise TypeError(f"only, drop and drop_non_numeric choose columns of a DataFrame, got {_type(data)}")
    numbers, text = numeric_columns("data", data.columns, data.dtypes, choice)
    if text and choice.drop_non_numeric:
        warnings.warn(f"left out, since they are not numeric: {listed(text, most=50)}", stacklevel=4)
    kept = {*numbers, *(() if choice.drop_non_numeric else text)}
    return data[[column for column in data.columns if str(column) in kept]]


def with_columns(data: Any, columns: Mapping[str, list[float]]) -> Any:
    """A DataFrame with these values in columns, by name; the given one stays as it is."""
    if hasattr(data, "with_columns"):  # polars
        return data.with_columns(*(type(data[name])(name, values) for name, values in columns.items()))
    data = data.copy(deep=False)
    for name in data.columns:
        if str(name) in columns:
            data[name] = columns[str(name)]
    return data


def rows_of(data: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a table in memory, by position. TypeError if its rows cannot be chosen."""
    if _has(data, "iloc"):  # pandas
        return data.iloc[rows]
    if _has(data, "take") and (_has(data, "schema") or not _has(data, "shape")):  # of Arrow, or a `MixedTable`
        return data.take(rows)
    if isinstance(data, (list, tuple)):
        return [data[k] for k in rows.tolist()]
    if not _has(data, "__getitem__"):
        raise TypeError(f"rows can be left out of a DataFrame, an array or a file, got {_type(data)}")
    return data[rows]


def converted(data: Any, what: str) -> RawTable:
    """The numbers of an object in memory, NaN where a value is missing; `what` is named in messages.

    They are not copied if `data` is an array of float64 or float32. TypeError or ValueError if `data` is not numeric or
    of another kind; the message says how to convert it.
    """
    if type(data) is np.ndarray:  # the other kinds take a while to rule out
        return _from_array(data, what)
    if is_frame(data):
        return _from_frame(data, what)
    if isinstance(data, Mapping):
        raise _no_table(data, what)
    names = None
    if _has(data, "var_names", "obs_names"):  # AnnData
        data, names = getattr(data, "X", None), [str(name) for name in data.var_names]
    if _has(data, "to_memory"):  # sparse, and still in its file
        data = data.to_memory()
    if _has(data, "nnz", "toarray"):
        data = data.toarray()
    elif _has(data, "dims", "coords"):  # xarray, whose Arrow stream would be in long form
        if data.dims and data.dims[-1] in data.coords:
            names = [str(label) for label in np.asarray(data.coords[data.dims[-1]])]
        data = np.asarray(data)
    elif _has(data, "__arrow_c_stream__"):
        return _from_arrow_stream(data, what)
    return replace(_from_array(data, what), labels=names)


def column_names(data: Any) -> list[str] | None:
    """The names of the columns of a table in memory, None if it has none; the values are not read."""
    if is_frame(data):
        first, numbered = next(iter(data.columns), 0), getattr(data.columns, "inferred_type", "") == "integer"
        if numbered and list(data.columns) != [*range(len(data.columns))]:
            text = f"columns are named by numbers, but a number is a position from 0 on: the first is 0 or '{first}'"
            warnings.warn(text, stacklevel=2)
        return [str(name) for name in data.columns]
    return [str(name) for name in data.var_names] if _has(data, "var_names", "obs_names") else None


def row_names(data: Any) -> list[str] | None:
    """The names of the rows of a DataFrame, None if they are only numbered or it has none."""
    if not hasattr(data, "index"):
        return None
    names = [str(name) for name in data.index]
    return None if names == [str(k) for k in range(len(names))] else names


def _from_frame(data: Any, what: str) -> RawTable:
    names, types = column_names(data) or [], [str(kind) for kind in data.dtypes]
    _check_numeric(names, types, what, lambda j: list(data[data.columns[j]]) if _has(data, "__getitem__") else ())
    X = data.to_numpy()
    if X.dtype == object:  # numeric columns of several kinds, or with missing values
        try:
            X = X.astype(np.float64)  # None becomes NaN
        except TypeError:  # pandas.NA
            X = data.to_numpy(dtype=np.float64, na_value=np.nan)
    index: Any = getattr(data, "index", None)  # of pandas
    named = len(X) >= MANY_ROWS * len(names) and getattr(index, "inferred_type", "") == "string"
    rows_have_names = named and are_names([str(name) for name in index[:NAMES_READ]])
    return RawTable(_from_array(X, what).values, names, types, rows_have_names=rows_have_names)


def _check_numeric(names: list[str], types: Iterable[Any], what: str, cells_of: Callable[[int], Iterable[Any]]) -> None:
    """TypeError if a column of a table is not of a numeric type; ``cells_of(j)``: the values of a column."""
    wrong = [j for j, kind in enumerate(types) if not NUMERIC.match(str(kind))]
    if not wrong:
        return
    from pycupc.data.text_columns import TextColumn

    numeric = [name for j, name in enumerate(names) if j not in set(wrong)]
    looked_at = {j: TextColumn.of(cells_of(j)) for j in wrong[:LOOKED_AT]}
    shown = [f"{names[j]}{looked_at[j].example() if j in looked_at else ''}" for j in wrong]
    units = dict.fromkeys(filter(None, (unit_of([*column.texts]) for column in looked_at.values())))
    convert = "astype(float) or pandas.to_numeric in pandas, cast(polars.Float64) in polars"
    if units:
        convert = f"write numbers without {' and '.join(map(repr, units))}, then {convert}"
    if numeric:
        advice = (
            f"; these are: {listed(numeric, most=50)}. Leave the first out (SuffStat.from_data(table, "
            f"drop_non_numeric=True); only=[...], drop=[...]), or convert them: {convert}. Categories and "
            "measurements together: pc(MixedTable.of(table), mixCItest). Categories alone: "
        )
    else:
        advice = f". Leave them out, or convert them: {convert}. If they are categories, use "
    raise TypeError(
        f"{what} must be numeric, but these columns are not: {listed(shown, most=50)}{advice}"
        "pycupc.discrete: pc(DiscreteSuffStat.from_data(table), disCItest). pycupc.choose(table) reads words, numbers "
        "with a unit and marks of missing values as pycupc run does"
    )


def _from_arrow_stream(data: Any, what: str) -> RawTable:
    pyarrow = needed("pyarrow", f"{what} of type {_type(data)}", "parquet", TypeError)
    try:
        table = pyarrow.table(data)
    except (pyarrow.ArrowException, TypeError, ValueError):  # a single column, for example
        return _from_array(data, what)
    names = [str(name) for name in table.column_names]
    _check_numeric(names, table.schema.types, what, lambda j: table.column(j).to_pylist())
    return RawTable(arrow_values(table), names, [str(kind) for kind in table.schema.types])


def _from_array(data: Any, what: str) -> RawTable:
    if isinstance(data, np.ma.MaskedArray):
        if data.dtype.kind in "fiub":
            return RawTable(np.ma.filled(data.astype(np.float64), np.nan), None)
        data = data.data
    X = data if isinstance(data, np.ndarray) else _as_numpy(data, what)
    if X.dtype.names is not None:
        raise TypeError(
            f"{what} must be a table of numbers, got records with the fields {listed(X.dtype.names)}; convert them: "
            "pandas.DataFrame(records)"
        )
    if X.dtype.kind not in "fiub":
        advice = "; if it holds numbers, convert it: array.astype(float)" if X.dtype.kind in "OUSTV" else ""
        raise TypeError(f"{what} must be numeric, got an array of {X.dtype}{_first_text(X)}{advice}")
    types = [str(X.dtype)] * X.shape[-1] if X.ndim and X.dtype.kind in "iu" else []
    exact = np.float32 if X.dtype == np.float32 else np.float64
    return RawTable(np.asarray(X.astype(exact, copy=False)), None, types)


def _first_text(X: NDArray[Any]) -> str:
    """Where the first text of an array stands that is no number, in a clause; "" without any."""
    if X.dtype.kind not in "OU":
        return ""
    for place, cell in np.ndenumerate(X):
        if isinstance(cell, str) and not is_number(cell):
            where = f" in column {place[1]}" if len(place) == 2 else ""
            return f", which holds texts, such as {str(cell)!r}{where}"
    return ""


def _as_numpy(data: Any, what: str) -> NDArray[Any]:
    if data is None or isinstance(data, (bytes, set, frozenset, int, float)):
        raise _no_table(data, what)
    try:
        X = _from_dlpack(data) if hasattr(data, "__dlpack__") else np.asarray(data)
    except ValueError as error:
        raise ValueError(
            f"{what} must be a table whose rows have the same length, got {_type(data)}: {error}"
        ) from error
    except (TypeError, RuntimeError, BufferError, NotImplementedError, AssertionError) as error:
        raise TypeError(
            f"{what} of type {_type(data)} cannot be read ({error}); convert it to a NumPy array on the CPU: "
            "cupy.asnumpy(array), tensor.detach().cpu().double().numpy(), or numpy.asarray(array)"
        ) from error
    if X.dtype == object and X.ndim == 0:
        raise _no_table(data, what)
    return X


def _from_dlpack(data: Any) -> NDArray[Any]:
    """An array of another library, copied to the CPU if it lies elsewhere."""
    try:
        return np.from_dlpack(data, device="cpu")
    except (TypeError, RuntimeError, BufferError, ValueError) as error:  # NumPy before 2.1, or an older protocol
        X = np.asarray(data)
        if X.dtype == object:
            raise TypeError(str(error)) from error
        return X


def _no_table(data: Any, what: str) -> TypeError:
    return TypeError(
        f"{what} must be a table of observations (NumPy array, DataFrame of pandas or polars, PyArrow table, xarray "
        f"DataArray, AnnData, sparse matrix, or the path of a file), got {'None' if data is None else _type(data)}; "
        "convert it to one: .collect() or .compute() for a lazy table, .to_dataframe() for an xarray Dataset, "
        "pandas.DataFrame(...) for columns"
    )


def _type(data: Any) -> str:
    kind = type(data)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
