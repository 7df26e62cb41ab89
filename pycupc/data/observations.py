"""Tables of numbers of many kinds, in one form: values float64 (n, p), and the names of the columns or None.

Four protocols cover most libraries: columns, dtypes and to_numpy (pandas, polars and their relatives), the Arrow stream
(PyArrow, DuckDB, ...), DLPack (CuPy, PyTorch, JAX) and NumPy's ``__array__``. xarray, AnnData and sparse matrices need
a conversion first. A library is imported only if the object comes from it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pycupc.data.binary import NUMERIC, arrow_values, warn_of_rounding
from pycupc.data.names import check_names, kept_names, listed
from pycupc.data.readers import ReadOptions, read_table
from pycupc.system.message import Argument, Message

Floats = NDArray[np.float64]


@runtime_checkable
class _ToNumpy(Protocol):
    """Checked first, since the columns of a lazy table cost time (and a warning from polars)."""

    def to_numpy(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        """The values."""


@runtime_checkable
class Table(Protocol):
    """A table with named columns: a pandas or polars DataFrame."""

    @property
    def columns(self) -> Iterable[Any]:
        """Names of the columns."""

    @property
    def dtypes(self) -> Iterable[Any]:
        """Types of the columns."""

    def to_numpy(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        """The values, (n, p)."""


@runtime_checkable
class _RowLabels(Protocol):
    """A table with row names: a pandas DataFrame."""

    @property
    def index(self) -> Iterable[Any]:
        """Names of the rows."""


@runtime_checkable
class ArrowStream(Protocol):
    """An object that offers its columns as an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule with the stream."""


@runtime_checkable
class DLPack(Protocol):
    """An array, possibly on another device."""

    def __dlpack__(self, **kwargs: Any) -> Any:
        """A capsule with the array."""


@runtime_checkable
class LabelledArray(Protocol):
    """An array whose axes have names and may have labels: xarray.DataArray."""

    @property
    def dims(self) -> tuple[Any, ...]:
        """Names of the axes."""

    @property
    def coords(self) -> Any:
        """Labels along the axes, by the name of the axis."""


@runtime_checkable
class AnnotatedMatrix(Protocol):
    """A matrix ``X``, perhaps sparse, of observations and variables with names: AnnData."""

    @property
    def var_names(self) -> Iterable[Any]:
        """Names of the variables."""

    @property
    def obs_names(self) -> Iterable[Any]:
        """Names of the observations."""


@runtime_checkable
class SparseMatrix(Protocol):
    """A matrix that stores only its nonzero elements: SciPy's."""

    @property
    def nnz(self) -> int:
        """Number of stored values."""

    def toarray(self) -> NDArray[Any]:
        """All values."""


def observations(data: Any, **options: Any) -> tuple[Floats, list[str] | None]:
    """Convert data to a table of observations: rows are observations, columns are variables.

    Parameters
    ----------
    data : table, array_like of shape (n, p), or path of a file
        See `pycupc.SuffStat.from_data`.
    **options
        The attributes of `ReadOptions`; for a table in memory `only`, `drop` and `drop_non_numeric`.

    Returns
    -------
    X : float64 (n, p) with n, p >= 2
        NaN where a value is missing: masked, null, NA. Not copied if `data` is such an array already.
    labels : list of str or None
        The names of the columns, if they have any.

    Raises
    ------
    TypeError, ValueError
        `data` is of another kind; the message says how to convert it.
    """
    labels: list[str] | None = None
    if isinstance(data, (str, os.PathLike)):
        table = read_table(os.fsdecode(data), ReadOptions(**options))
        data, labels = table.X, table.labels
    elif options:
        data = chosen_columns(data, **options)
    X, names = matrix(data, "data")
    if X.ndim != 2:
        raise ValueError(f"data must be a table of shape (n, p), got shape {X.shape}")
    for axis, parts in ((1, "columns (variables)"), (0, "rows (observations)")):
        if X.shape[axis] < 2:
            text = "{data} must have at least 2 {parts}, got {n}"
            raise ValueError(Message(text, data=Argument("data"), parts=parts, n=X.shape[axis]))
    return X, names or labels


def chosen_columns(data: Any, **options: Any) -> Any:
    """The columns of a DataFrame that the options `only`, `drop` and `drop_non_numeric` of `ReadOptions` leave.

    Raises
    ------
    TypeError, ValueError
        `data` is no DataFrame, a column does not exist, or another option is given, which are for files.

    Warns
    -----
    UserWarning
        Names the columns that `drop_non_numeric` leaves out.
    """
    choice, table = ReadOptions(**options), data
    if of_files := [name for name in options if name not in ("only", "drop", "drop_non_numeric")]:
        raise TypeError(f"{of_files[0]!r} is an option of reading files, got {_type(data)}")
    if not (isinstance(data, _ToNumpy) and isinstance(data, Table)):
        raise TypeError(f"only, drop and drop_non_numeric choose columns of a DataFrame, got {_type(data)}")
    names = [str(column) for column in data.columns]
    check_names("data", names)
    columns = dict(zip(names, data.columns, strict=True))
    kept = kept_names("data", names, choice.only, choice.drop)
    if choice.drop_non_numeric:
        types = dict(zip(columns, data.dtypes, strict=True))
        text = [name for name in kept if not NUMERIC.match(str(types[name]))]
        kept = [name for name in kept if name not in text]
        if text:
            warnings.warn(f"left out, since they are not numeric: {listed(text, most=50)}", stacklevel=4)
    return table[[columns[name] for name in kept]]


def matrix(data: Any, what: str) -> tuple[Floats, list[str] | None]:
    """An array of float64, in any number of dimensions, and the names of its columns; `what` is named in messages.

    Raises
    ------
    TypeError, ValueError
        `data` is not numeric or of another kind; the message says how to convert it.
    """
    if type(data) is np.ndarray:  # the other kinds take a while to rule out
        return _from_array(data, what), None
    if isinstance(data, _ToNumpy) and isinstance(data, Table):
        return _from_table(data, what)
    if isinstance(data, Mapping):
        raise _no_table(data, what)
    labels = None
    if isinstance(data, AnnotatedMatrix):
        data, labels = getattr(data, "X", None), [str(name) for name in data.var_names]
    if isinstance(data, SparseMatrix):
        data = data.toarray()
    elif isinstance(data, LabelledArray):  # whose Arrow stream would be in long form
        if data.dims and data.dims[-1] in data.coords:
            labels = [str(label) for label in np.asarray(data.coords[data.dims[-1]])]
        data = np.asarray(data)
    elif isinstance(data, ArrowStream):
        return _from_arrow_stream(data, what)
    return _from_array(data, what), labels


def column_names(data: Any) -> list[str] | None:
    """The names of the columns of a table in memory, None if it has none; the values are not read."""
    if isinstance(data, _ToNumpy) and isinstance(data, Table):
        return [str(name) for name in data.columns]
    return [str(name) for name in data.var_names] if isinstance(data, AnnotatedMatrix) else None


def row_names(data: Any) -> list[str] | None:
    """The names of the rows of a table in memory, None if they are only numbered or it has none."""
    if not isinstance(data, _RowLabels):
        return None
    names = [str(name) for name in data.index]
    return None if names == [str(k) for k in range(len(names))] else names


def _from_table(data: Table, what: str) -> tuple[Floats, list[str]]:
    names = [str(name) for name in data.columns]
    _check_numeric(names, data.dtypes, what)
    X = data.to_numpy()
    if X.dtype == object:  # numeric columns of several kinds, or with missing values
        try:
            X = X.astype(np.float64)  # None becomes NaN
        except TypeError:  # pandas.NA
            X = data.to_numpy(dtype=np.float64, na_value=np.nan)
    return _from_array(X, what, names, list(data.dtypes)), names


def _check_numeric(names: list[str], types: Iterable[Any], what: str) -> None:
    """TypeError if a column of a table is not of a numeric type."""
    wrong = [name for name, kind in zip(names, types, strict=True) if not NUMERIC.match(str(kind))]
    if not wrong:
        return
    numeric = [name for name in names if name not in set(wrong)]
    convert = "astype(float) or pandas.to_numeric in pandas, cast(polars.Float64) in polars"
    if numeric:
        advice = (
            f"; these are: {listed(numeric, most=50)}. Leave the first out (SuffStat.from_data(table, "
            f"drop_non_numeric=True); only=[...], drop=[...]), or convert them: {convert}. No test takes categories "
            "and measurements together: cut measurements into intervals (pandas.cut), or leave them out, and use "
        )
    else:
        advice = f". Leave them out, or convert them: {convert}. If they are categories, use "
    raise TypeError(
        f"{what} must be numeric, but these columns are not: {listed(wrong, most=50)}{advice}"
        "pycupc.discrete: pc(DiscreteSuffStat.from_data(table), disCItest)"
    )


def _from_arrow_stream(data: ArrowStream, what: str) -> tuple[Floats, list[str] | None]:
    try:
        import pyarrow
    except ImportError as error:
        raise TypeError(f"{what} of type {_type(data)} needs pyarrow: pip install 'pycupc[parquet]'") from error
    try:
        table = pyarrow.table(data)
    except (pyarrow.ArrowException, TypeError, ValueError):  # a single column, for example
        return _from_array(data, what), None
    names = [str(name) for name in table.column_names]
    _check_numeric(names, table.schema.types, what)
    return arrow_values(table), names


def _from_array(data: Any, what: str, names: list[str] | None = None, types: list[Any] | None = None) -> Floats:
    """The values as float64; `names` and `types` of the columns are those of the table that they come from."""
    if isinstance(data, np.ma.MaskedArray):
        if data.dtype.kind in "fiub":
            return np.ma.filled(data.astype(np.float64), np.nan)
        data = data.data
    X = data if isinstance(data, np.ndarray) else _as_numpy(data, what)
    if X.dtype.names is not None:
        raise TypeError(
            f"{what} must be a table of numbers, got records with the fields {listed(X.dtype.names)}; convert them: "
            "pandas.DataFrame(records)"
        )
    if X.dtype.kind not in "fiub":
        advice = "; if it holds numbers, convert it: array.astype(float)" if X.dtype.kind in "OUSTV" else ""
        raise TypeError(f"{what} must be numeric, got an array of {X.dtype}{advice}")
    out = np.asarray(X.astype(np.float64, copy=False))
    if out.ndim == 2 and (types or X.dtype.kind in "iu"):
        warn_of_rounding(out, types or [X.dtype] * out.shape[1], names or [f"column {k}" for k in range(out.shape[1])])
    return out


def _as_numpy(data: Any, what: str) -> NDArray[Any]:
    """Convert an object that is not a NumPy array."""
    if data is None or isinstance(data, (bytes, set, frozenset, int, float)):
        raise _no_table(data, what)
    try:
        if isinstance(data, DLPack):
            return _from_dlpack(data)
        X = np.asarray(data)
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
