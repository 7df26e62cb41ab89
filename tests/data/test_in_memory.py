"""Every kind of table in memory is either right: the answer is that of the clean array, or refused by a sentence.

The tables have a line per kind. A library that is not installed skips its lines.
"""

import io

import numpy as np
import pandas as pd
import pytest
from common import assert_same, refused
from table_files import COLUMNS, FRAME, WANT, X, library, sparse

from pycupc import SuffStat, pc

C = np.corrcoef(X, rowvar=False)


def annotated(values):
    anndata = library("anndata")
    return anndata.AnnData(values, var=pd.DataFrame(index=COLUMNS))


class OnlyDLPack:
    """Stands for a tensor of PyTorch or CuPy: it offers DLPack and nothing else."""

    def __init__(self, values, error=None):
        self.values, self.error = values, error

    def __dlpack__(self, **arguments):
        if self.error is not None:
            raise self.error
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class OnlyAnnotated:
    """Stands for AnnData."""

    def __init__(self, values):
        self.X, self.var_names, self.obs_names = values, COLUMNS, range(len(X))


class LazyTable:
    columns, dtypes = COLUMNS, ["Float64"] * 4


def memory_map(folder):
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def masked(where=None):
    values = np.ma.masked_array(X.copy(), np.zeros_like(X, dtype=bool))
    if where is not None:
        values.data[where] = -999
        values[where] = np.ma.masked
    return values


def with_null(frame):
    frame = frame.copy()
    frame.loc[3, "b"] = None
    return frame


#: What it is: (builder of the object from an empty folder, labels that the answer has).
RIGHT = {
    "NumPy": (lambda _: X, None),
    "NumPy, Fortran order": (lambda _: np.asfortranarray(X), None),
    "NumPy, not contiguous": (lambda _: np.repeat(X, 2, axis=0)[::2], None),
    "NumPy, read-only": (lambda _: np.frombuffer(X.tobytes()).reshape(X.shape), None),
    "NumPy, float32": (lambda _: X.astype(np.float32), None),
    "NumPy, long double": (lambda _: X.astype(np.longdouble), None),
    "NumPy, other byte order": (lambda _: X.astype(">f8"), None),
    "NumPy, whole numbers": (lambda _: (X * 32).astype(np.int32), None),
    "memory map": (memory_map, None),
    "masked array, nothing masked": (lambda _: masked(), None),
    "list of lists": (lambda _: X.tolist(), None),
    "pandas": (lambda _: FRAME, COLUMNS),
    "pandas, nullable": (lambda _: FRAME.convert_dtypes(), COLUMNS),
    "pandas, float32 and float64": (lambda _: FRAME.astype({"a": np.float32}), COLUMNS),
    "pandas, Arrow": (lambda _: library("pyarrow") and FRAME.convert_dtypes(dtype_backend="pyarrow"), COLUMNS),
    "pandas, sparse": (lambda _: FRAME.astype(pd.SparseDtype(float, 0.0)), COLUMNS),
    "pandas, names that are numbers": (lambda _: pd.DataFrame(X), ["0", "1", "2", "3"]),
    "polars": (lambda _: library("polars").DataFrame(X, schema=COLUMNS), COLUMNS),
    "PyArrow table": (lambda _: library("pyarrow").table(dict(zip(COLUMNS, X.T, strict=True))), COLUMNS),
    "PyArrow batch": (lambda _: library("pyarrow").record_batch(dict(zip(COLUMNS, X.T, strict=True))), COLUMNS),
    "xarray": (lambda _: library("xarray").DataArray(X, dims=("o", "v"), coords={"v": COLUMNS}), COLUMNS),
    "xarray without labels": (lambda _: library("xarray").DataArray(X), None),
    "AnnData": (lambda _: annotated(X), COLUMNS),
    "AnnData, sparse": (lambda _: annotated(sparse("csr_matrix")), COLUMNS),
    "stand-in for AnnData": (lambda _: OnlyAnnotated(X), COLUMNS),
    "SciPy, sparse array": (lambda _: sparse("csr_array"), None),
    "SciPy, sparse matrix": (lambda _: sparse("csc_matrix"), None),
    "SciPy, coordinates": (lambda _: sparse("coo_array"), None),
    "DLPack": (lambda _: OnlyDLPack(X), None),
    "PyTorch": (lambda _: library("torch").from_numpy(X), None),
    "SuffStat": (lambda _: SuffStat.from_data(FRAME), COLUMNS),
    "matrix and number": (lambda _: {"C": SuffStat.from_data(X).C, "n": 40}, None),
    "matrix in a DataFrame": (
        lambda _: {"C": pd.DataFrame(SuffStat.from_data(X).C, COLUMNS, COLUMNS), "n": 40},
        COLUMNS,
    ),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_right_in_memory(kind, tmp_path):
    build, labels = RIGHT[kind]
    data = build(tmp_path)
    fit = pc(data, alpha=0.1)
    assert_same(fit, WANT)
    assert list(fit.labels) == (labels or ["1", "2", "3", "4"])
    if kind not in ("SuffStat", "matrix and number", "matrix in a DataFrame"):
        np.testing.assert_array_equal(SuffStat.from_data(data).C, SuffStat.from_data(X).C)


TABLE = "data must be a table of observations .*convert it to one"
MISSING = "missing or infinite values in {}$"

#: What it is: (builder, words of the error), for either kind of error.
REFUSED_TYPES = {
    "pandas, text": (
        lambda: FRAME.assign(c="x"),
        r"these columns are not: c \(only 'x'\); these are: a, b, d. Leave the first out .*drop_non_numeric=True.*"
        "pandas.to_numeric",
    ),
    "pandas, names of rows": (
        lambda: FRAME.assign(c=[f"name{k}" for k in range(len(FRAME))]),
        rf"columns are not: c \({len(X)} different texts, such as 'name0'\); these are: a, b, d",
    ),
    "pandas, units": (
        lambda: FRAME.map("{:.2f} mg".format),
        r"columns are not: a \(\d+ different texts, such as '-?[\d.]+ mg'\), b .*: write numbers without 'mg', then as",
    ),
    "pandas, numbers and a word": (
        lambda: FRAME.assign(c=["n/k", *range(len(FRAME) - 1)]),
        rf"columns are not: c \(1 of {len(X)} cells, such as 'n/k'\)",
    ),
    "NumPy, text": (
        lambda: FRAME.assign(c="x").to_numpy(),
        "must be numeric, got an array of object, which holds texts, such as 'x' in column 2; if it holds numbers",
    ),
    "pandas, dates": (lambda: FRAME.assign(c=pd.Timestamp(0)), "columns are not: c"),
    "pandas, categories": (lambda: FRAME.astype("category"), "columns are not: a, b, c, d"),
    "pandas, objects": (lambda: FRAME.astype(object), "columns are not: a, b, c, d"),
    "PyArrow, text": (
        lambda: library("pyarrow").table({"a": ["x", "y"], "b": [1, 2]}),
        r"columns are not: a \(2 different texts, such as 'x'\)",
    ),
    "polars, lazy": (lambda: library("polars").DataFrame(X).lazy(), f"{TABLE}.*collect"),
    "lazy table": (LazyTable, "data must be a table.*collect"),
    "records": (
        lambda: FRAME.to_records(index=False),
        r"records with the fields a, b, c, d; .*pandas.DataFrame\(records\)",
    ),
    "array of text": (lambda: X.astype(str), r"array of <U32.*astype\(float\)"),
    "array of objects": (lambda: X.astype(object), r"array of object.*astype\(float\)"),
    "complex numbers": (lambda: X.astype(complex), "got an array of complex128"),
    "nothing": (lambda: None, f"{TABLE}"),
    "a number": (lambda: 3, "got int"),
    "a generator": (lambda: iter(X), "got generator|got iterator"),
    "an open file": (lambda: io.StringIO("a,b\n1,2\n"), "got _io.StringIO"),
    "tensor that needs a gradient": (
        lambda: OnlyDLPack(X, RuntimeError("requires grad")),
        r"OnlyDLPack.*convert it.*tensor.detach\(\).cpu\(\)",
    ),
}
REFUSED_VALUES = {
    "masked array, a cell masked": (lambda: masked((3, 1)), MISSING.format("column 1")),
    "pandas, missing": (lambda: with_null(FRAME), MISSING.format("b")),
    "pandas, nullable, missing": (lambda: with_null(FRAME.convert_dtypes()), MISSING.format("b")),
    "polars, missing": (
        lambda: library("polars").DataFrame({"a": [1, 2, 3], "b": [True, None, False]}),
        MISSING.format("b"),
    ),
    "PyArrow, missing": (lambda: library("pyarrow").table({"a": [1, 2, 3], "b": [1.5, None, 2]}), MISSING.format("b")),
    "infinite": (lambda: np.where(X[2, 0] == X, np.inf, X), MISSING.format("column 0")),
    "pandas, twice the same name": (
        lambda: FRAME.set_axis(["a", "a", "b", "c"], axis=1),
        "labels must be distinct.*: a",
    ),
    "pandas, a column": (lambda: FRAME["a"], r"shape \(n, p\), got shape \(40,\)"),
    "xarray, dataset": (lambda: library("xarray").Dataset({"a": ("o", [1.0, 2.0])}), "missing: C, n.*to_dataframe"),
    "columns in a dict": (lambda: {"a": [1, 2], "b": [2, 1]}, "missing: C, n.*pandas.DataFrame"),
    "rows of different lengths": (lambda: [[1, 2], [3]], "rows have the same length, got list"),
    "three dimensions": (lambda: np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
    "correlations": (lambda: C, r'correlation matrix C of n observations: pc\(\{"C": C, "n": n\}\)'),
    "correlations of pandas": (lambda: FRAME.corr(), "correlation matrix .*table of 4 observations"),
    "correlations of two variables": (lambda: C[:2, :2], "correlation matrix .*table of 2 observations"),
    "covariances": (lambda: np.cov(X, rowvar=False), "covariance matrix .*table of 4 observations"),
    "covariances of pandas": (lambda: FRAME.cov(), r"C / numpy.sqrt\(numpy.outer"),
}
REFUSED = [(TypeError, kind) for kind in REFUSED_TYPES] + [(ValueError, kind) for kind in REFUSED_VALUES]


@pytest.mark.parametrize(("error", "kind"), REFUSED)
def test_refused_in_memory(error, kind):
    build, words = {**REFUSED_TYPES, **REFUSED_VALUES}[kind]
    refused(words, pc, build(), alpha=0.1, error=error)


def test_columns_named_by_numbers_are_positions_or_draw_a_warning():
    assert pc(pd.DataFrame(X)).labels == ("0", "1", "2", "3")
    with pytest.warns(UserWarning, match="a number is a position from 0 on: the first is 0 or '1'"):
        fit = pc(pd.DataFrame(X, columns=[1, 2, 3, 4]))
    assert fit.why(1, 2).x == "2"
