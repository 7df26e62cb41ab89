"""Every kind of input is either right, that is, the answer is that of the clean array, or refused by a sentence.

The table has one line per kind: objects in memory first, then files. A library that is not installed skips its lines.
"""

import bz2
import gzip
import io
import lzma
import pickle
import re
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from common import assert_same, refused

from pycupc import SuffStat, gaussCItest, pc
from pycupc.data import DataError, binary
from pycupc.data.readers import ReadOptions, read_table

NAMES = ["a", "b", "c", "d"]


def clean():
    """40 observations of a - b - c, d; exact in float32 and in few digits, so that every form has the same numbers."""
    rng = np.random.default_rng(3)
    a, c, d = np.round(rng.standard_normal((3, 40)), 2)
    b = a + 0.5 * c + np.round(rng.standard_normal(40) / 4, 2)
    return np.round(np.column_stack([a, b, c, d]) * 32) / 32


X = clean()
FRAME = pd.DataFrame(X, columns=NAMES)
WANT = pc(SuffStat.from_data(X), alpha=0.1)
C = np.corrcoef(X, rowvar=False)
WANT_C = SuffStat.from_data(X).C


def library(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


def sparse(kind):
    return getattr(library("scipy.sparse"), kind)(X)


def annotated(values):
    anndata = library("anndata")
    return anndata.AnnData(values, var=pd.DataFrame(index=NAMES))


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
        self.X, self.var_names, self.obs_names = values, NAMES, range(len(X))


class LazyTable:
    columns, dtypes = NAMES, ["Float64"] * 4


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
    "pandas": (lambda _: FRAME, NAMES),
    "pandas, nullable": (lambda _: FRAME.convert_dtypes(), NAMES),
    "pandas, float32 and float64": (lambda _: FRAME.astype({"a": np.float32}), NAMES),
    "pandas, Arrow": (lambda _: library("pyarrow") and FRAME.convert_dtypes(dtype_backend="pyarrow"), NAMES),
    "pandas, sparse": (lambda _: FRAME.astype(pd.SparseDtype(float, 0.0)), NAMES),
    "pandas, names that are numbers": (lambda _: pd.DataFrame(X), ["0", "1", "2", "3"]),
    "polars": (lambda _: library("polars").DataFrame(X, schema=NAMES), NAMES),
    "PyArrow table": (lambda _: library("pyarrow").table(dict(zip(NAMES, X.T, strict=True))), NAMES),
    "PyArrow batch": (lambda _: library("pyarrow").record_batch(dict(zip(NAMES, X.T, strict=True))), NAMES),
    "xarray": (lambda _: library("xarray").DataArray(X, dims=("o", "v"), coords={"v": NAMES}), NAMES),
    "xarray without labels": (lambda _: library("xarray").DataArray(X), None),
    "AnnData": (lambda _: annotated(X), NAMES),
    "AnnData, sparse": (lambda _: annotated(sparse("csr_matrix")), NAMES),
    "stand-in for AnnData": (lambda _: OnlyAnnotated(X), NAMES),
    "SciPy, sparse array": (lambda _: sparse("csr_array"), None),
    "SciPy, sparse matrix": (lambda _: sparse("csc_matrix"), None),
    "SciPy, coordinates": (lambda _: sparse("coo_array"), None),
    "DLPack": (lambda _: OnlyDLPack(X), None),
    "PyTorch": (lambda _: library("torch").from_numpy(X), None),
    "SuffStat": (lambda _: SuffStat.from_data(FRAME), NAMES),
    "matrix and number": (lambda _: {"C": SuffStat.from_data(X).C, "n": 40}, None),
    "matrix in a DataFrame": (lambda _: {"C": pd.DataFrame(SuffStat.from_data(X).C, NAMES, NAMES), "n": 40}, NAMES),
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


# -- files ------------------------------------------------------------------------------------------------------------


def text(frame=FRAME, **options):
    return frame.to_csv(**{"index": False, "lineterminator": "\n", **options})


def parquet(frame=FRAME, **options):
    library("pyarrow")
    return frame.to_parquet(**options)


def feather():
    library("pyarrow")
    file = io.BytesIO()
    FRAME.to_feather(file)
    return file.getvalue()


def excel(*sheets, header=True):
    library("openpyxl")
    file = io.BytesIO()
    with pd.ExcelWriter(file, engine="openpyxl") as book:
        for sheet in sheets or ("Sheet1",):
            FRAME.to_excel(book, sheet_name=sheet, index=False, header=header)
    return file.getvalue()


def workbook(rows, change=lambda book, sheet: None, **replaced):
    """A workbook of one sheet with these rows, changed by ``change(book, sheet)``, and then parts of the XML replaced.

    `replaced`: patterns, and what takes the place of what they find.
    """
    openpyxl = library("openpyxl")
    book, first, second = openpyxl.Workbook(), io.BytesIO(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    change(book, book.active)
    book.save(first)
    with zipfile.ZipFile(first) as old, zipfile.ZipFile(second, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            text = old.read(name)
            for pattern, put in replaced.get("xml", {}).items() if name.startswith("xl/worksheets/") else ():
                text, times = re.subn(pattern.encode(), put.encode(), text)
                assert times
            new.writestr(name, text)
    return second.getvalue()


ROWS = [NAMES, *X.tolist()]


def with_dimension(ref):
    return lambda: workbook(ROWS, xml={'<dimension ref="[^"]*"': f'<dimension ref="{ref}"'})


def beside_a_chart(book, sheet):
    book.create_chartsheet("Chart").add_chart(library("openpyxl.chart").LineChart())


def formatted_far_away(book, sheet):
    bold = library("openpyxl.styles").Font(bold=True)
    sheet["A50000"].font = sheet["ZZ2"].font = bold


def with_formulas(book, sheet):
    for row in (2, 3, 7):
        sheet[f"D{row}"] = "=A2+1"


#: Formulas as Excel writes them, with values; one is an empty text.
VALUES = {"<f>A2[+]1</f><v ?/>|<f>A2[+]1</f><v></v>": "<f>A2+1</f><v>7</v>"}
#: Formulas with the value 0, in a file that is to be computed when it is opened.
ZEROS = {"<f>A2[+]1</f><v ?/>|<f>A2[+]1</f><v></v>": "<f>A2+1</f><v>0</v>"}


def with_an_empty_text(book, sheet):
    sheet["E2"] = "=A2+1"


EMPTY_TEXT = {'<c r="E2"[^>]*><f>A2[+]1</f>(<v ?/>|<v></v>)': '<c r="E2" t="str"><f>A2+1</f><v></v>'}


def hide(book, sheet):
    sheet.auto_filter.ref = "A1:D41"
    for row in range(5, 30):
        sheet.row_dimensions[row].hidden = True
    sheet.column_dimensions["B"].hidden = True


def two_sheets(book, sheet):
    book.create_sheet("old", 0).sheet_state = "hidden"
    sheet.title = "new"


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


NUMBERED = ["V1", "V2", "V3", "V4"]
YEARS = ["1990", "1991", "1992", "1993"]
BODY = text(header=False)
DEFAULTS = pd.DataFrame(X)
WITH_ROW_NAMES = FRAME.set_axis([f"r{i}" for i in range(40)])
COMMA = {"sep": ";", "decimal": ","}


def right(content, name="d.csv", labels=NAMES, options=None, warning=None):
    """A file's content or its builder, its name, labels, options of reading, words of the warning or None."""
    return name, content, labels, options or {}, warning


RIGHT_FILES = {
    "csv": right(text()),
    "csv, lines end with CR LF": right(text(lineterminator="\r\n")),
    "csv, lines end with CR": right(text(lineterminator="\r")),
    "csv, blank lines at the end": right(text() + "\n\n"),
    "csv, names quoted": right('"a","b","c","d"\n' + BODY),
    "csv, byte order mark": right("\ufeff" + text()),
    "csv, blanks around": right(text().replace(",", " , ")),
    "csv, all quoted": right(text(quoting=1)),
    "csv, names with commas and lines": right(
        text(FRAME.set_axis(["a,1", "b\n2", 'c"3', "\u03b4"], axis=1)), labels=["a,1", "b\n2", 'c"3', "\u03b4"]
    ),
    "csv, index of pandas": right(text(index=True)),
    "csv, row names of R": right(text(FRAME.set_axis([f"r {i}" for i in range(40)]), index=True, quoting=2)),
    "csv, row names with commas": right(text(FRAME.set_axis([f"r,{i}" for i in range(40)]), index=True)),
    "csv, header without the index": right(
        text(index=True)[1:],
        warning="line 1 has 4 names and the next row 5 cells: column 1, which counts 0, 1, ..., was read as row names",
    ),
    "csv, header without the row names": right(text(WITH_ROW_NAMES, index=True)[1:]),
    "csv, no header": right(BODY, labels=NUMBERED),
    "csv, columns 0, 1, 2, ...": right(text(DEFAULTS), labels=list("0123"), warning="whole numbers only.*as names"),
    "csv, columns and index 0, 1, 2, ...": right(
        text(DEFAULTS, index=True), labels=list("0123"), warning="whole numbers only.*as names"
    ),
    "csv, years": right(text(FRAME.set_axis(YEARS, axis=1)), labels=YEARS, warning="whole numbers only"),
    "csv, years, said to be names": right(text(FRAME.set_axis(YEARS, axis=1)), labels=YEARS, options={"header": "yes"}),
    "csv, named index": right(text(WITH_ROW_NAMES, index=True, index_label="id"), options={"index": "yes"}),
    "tsv": right(text(sep="\t"), name="d.tsv"),
    "tabs": right(text(sep="\t"), name="d.txt"),
    "semicolons": right(text(sep=";")),
    "bars": right(text(sep="|"), name="d.txt"),
    "blanks": right(text(sep=" ").replace(" ", "   "), name="d.txt"),
    "blanks, row names of R": right(text(WITH_ROW_NAMES, index=True, sep=" ")[1:], name="d.txt"),
    "decimal comma": right(text(**COMMA), options={"decimal": ","}),
    "comments": right("# made by hand\n" + text().replace("\n", " # x\n", 3), options={"comment": "#"}),
    "scientific": right(text(float_format="%.17E")),
    "gzip": right(gzip.compress(text().encode(), mtime=0), name="d.csv.gz"),
    "gzip, not said by the name": right(gzip.compress(text().encode(), mtime=0)),
    "bzip2": right(bz2.compress(text().encode()), name="d.csv.bz2"),
    "bzip2, tabs": right(bz2.compress(text(sep="\t").encode()), name="d.tsv.bz2"),
    "xz": right(lzma.compress(text().encode()), name="d.csv.xz"),
    "Parquet": right(parquet, name="d.parquet"),
    "Parquet, not said by the name": right(parquet, name="d"),
    "Parquet, index": right(lambda: parquet(WITH_ROW_NAMES), name="d.parquet"),
    "Parquet, float32": right(lambda: parquet(FRAME.astype(np.float32)), name="d.parquet"),
    "NumPy": right(npy(X), name="d.npy", labels=NUMBERED),
    "NumPy, float32, by columns": right(npy(np.asfortranarray(X, np.float32)), name="d.npy", labels=NUMBERED),
    "NumPy, a column left out": right(
        npy(np.insert(X, 1, 7, axis=1)), name="d.npy", labels=["V1", "V3", "V4", "V5"], options={"drop": ["V2"]}
    ),
    "Feather": right(feather, name="d.feather"),
    "Excel": right(excel, name="d.xlsx"),
    "Excel, a sheet of two": right(lambda: excel("one", "two"), name="d.xlsx", options={"sheet": "two"}),
    "Excel, no header": right(lambda: excel(header=False), name="d.xlsx", labels=NUMBERED),
    "Excel, dimension of one cell": right(with_dimension("A1"), name="d.xlsx"),
    "Excel, dimension of a part": right(with_dimension("A1:C21"), name="d.xlsx"),
    "Excel, dimension of a part below": right(with_dimension("B3:D21"), name="d.xlsx"),
    "Excel, dimension of a whole sheet": right(with_dimension("A1:XFD1048576"), name="d.xlsx"),
    "Excel, no dimension": right(lambda: workbook(ROWS, xml={"<dimension[^>]*/>": ""}), name="d.xlsx"),
    "Excel, a chart beside": right(lambda: workbook(ROWS, beside_a_chart), name="d.xlsx"),
    "Excel, formats far away": right(lambda: workbook(ROWS, formatted_far_away), name="d.xlsx"),
    "Excel, rows and columns hidden": right(lambda: workbook(ROWS, hide), name="d.xlsx"),
    "Excel, an empty text": right(lambda: workbook(ROWS, with_an_empty_text, xml=EMPTY_TEXT), name="d.xlsx"),
    "missing, rows left out": right(
        text() + "1,,2,3\nNA,1,nan,3\nnull,1,N/A,3\n",
        options={"missing": "drop-rows"},
        warning="3 of 43 rows dropped, 2 because of a, 2 because of c, 1 because of b$",
    ),
    "missing, in other words": right(
        text() + "1,?,2,3\n-999,1,2,3\n1,2,-999.0,5\n",
        options={"missing": "drop-rows", "na": ["?", "-999"]},
        warning="3 of 43 rows dropped, 1 because of a, 1 because of b, 1 because of c$",
    ),
    "a column of text left out": right(
        text(FRAME.assign(who=[f"p,{i}" for i in range(40)])), options={"drop": ["who"]}
    ),
}


def write(path, content):
    content = content() if callable(content) else content
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("kind", RIGHT_FILES)
def test_right_in_files(kind, tmp_path):
    name, content, labels, options, warning = RIGHT_FILES[kind]
    path = write(tmp_path / name, content)
    if warning is None:
        table = read_table(path, ReadOptions(**options))
    else:
        with pytest.warns(UserWarning, match=warning):
            table = read_table(path, ReadOptions(**options))
    np.testing.assert_array_equal(table.values, X)
    assert table.labels == labels
    if not options and warning is None:
        fit = pc(path, alpha=0.1)
        assert_same(fit, WANT)
        assert list(fit.labels) == labels
        assert_same(pc(str(path), alpha=0.1), WANT)


WHOLE = "5,3,8\n2,7,1\n4,4,2\n1,1,6\n"

#: What it is: (content of the file or its builder, words, name of the file if it is not d.csv).
REFUSED_FILES = {
    "whole numbers, no header": (
        WHOLE,
        r"distinct whole numbers \(5, 3, 8\), .*read_data\(path, header='yes'\).*read_data\(path, header='no'\)",
    ),
    "whole numbers, years": ("1990,1991\n5,3\n1,2\n", "header='yes'"),
    "row names, no header": (
        "".join(f"r{i},{line}\n" for i, line in enumerate(BODY.splitlines())),
        "beside r0: say whether these",
    ),
    "header one name short": (
        "b,c,d\n" + BODY,
        "line 1 has 3 names and the next row 4 cells. Either column 1 holds row names .*or line 1 lacks the name",
    ),
    "header one name long": ("a,b,c,d,e\n" + BODY, r"line 2 \(row 1 of the data\): expected 5 cells, got 4"),
    "a column without a name": ("a,,c,d\n" + BODY, "column 2 has no name"),
    "each line ends with a comma": (text().replace("\n", ",\n"), "column 5 has no name.*end with a delim"),
    "NUL": (text().replace("0", "\0", 1), "line 2: a NUL byte"),
    "control character": (text().replace("0", "\x1f", 1), "line 2: the control character 0x1f"),
    "Arabic digits": (text() + "1,2,3,\u0663\n", "'\u0663' is not a number; write it with the characters 0 to 9"),
    "1_000": (text() + "1_000,2,3,4\n", "'1_000' is not a number; write it without separators"),
    "1,000": (text() + '"1,000",2,3,4\n', "'1,000' is not a number; if the comma is the decimal"),
    "Unicode minus": (text() + "\u22121,2,3,4\n", "is not a number; write it with the characters"),
    "hexadecimal": (text() + "0x10,2,3,4\n", "'0x10' is not a number"),
    "two marks": (text() + "?,2,3,4\n*,2,3,4\n", r"'\?' is not a number"),
    "wrong delimiter in a row": (text() + "1,2,3;5,4\n", "'3;5' is not a number; is the delimiter ';'"),
    "Latin-1": (text().replace("a", "\xe9", 1).encode("latin-1"), "line 1: not UTF-8 .*Latin-1.*iconv -f LATIN1"),
    "UTF-16": (text().encode("utf-16"), "text in UTF-16; save it as CSV UTF-8"),
    "quotation mark left open": (text() + '"1,2,3,4\n', "cannot be split into cells .*quotation marks"),
    "two numbers in quotation marks": (text() + '1,2,"3"5,4\n', "cannot be split into cells"),
    "missing": (text() + "1,,3,4\n", "missing values: 1, .*missing='drop-rows'"),
    "correlations": (text(FRAME.corr()), r"d.csv|correlation matrix C .*--correlation N"),
    "old Excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" * 9, r"old Excel file \(.xls\); save it as .xlsx", "d.xls"),
    "Excel, two sheets": (
        lambda: excel("one", "two"),
        r"has the sheets 'one', 'two'; choose one: read_data\(path, sheet='one'\)",
        "d.xlsx",
    ),
    "Excel, a hidden sheet": (
        lambda: workbook(ROWS, two_sheets),
        r"has the sheets 'old' \(hidden\), 'new'; choose one: read_data\(path, sheet='new'\)",
        "d.xlsx",
    ),
    "Excel, formulas without values": (
        lambda: workbook(ROWS, with_formulas),
        r"d.xlsx: 3 cells hold a formula without its value \(D2, D3, D7\), since .*open it in Excel or LibreOffice",
        "d.xlsx",
    ),
    "Excel, formulas as XlsxWriter writes them": (
        lambda: workbook(ROWS, with_formulas, xml=ZEROS),
        r"d.xlsx: 3 cells hold a formula without its value \(D2, D3, D7\), since .*open it in Excel or LibreOffice",
        "d.xlsx",
    ),
    "Excel, a word below an empty row": (
        lambda: workbook([NAMES, X[0].tolist(), [], *X[1:3].tolist(), [1, "x", 3, 4]]),
        r"line 6 \(row 4 of the data\), column 2 \('b'\): 'x' is not a number",
        "d.xlsx",
    ),
    "Excel, a word below empty rows": (
        lambda: workbook([[], [], NAMES, *X[1:3].tolist(), [1, 2, 3, "y"]]),
        r"line 6 \(row 3 of the data\), column 4 \('d'\): 'y' is not a number",
        "d.xlsx",
    ),
    "Excel, a second table to the right": (
        lambda: workbook([[*NAMES, None, "e", "f"], *[[*row, None, 1, 2] for row in X.tolist()]]),
        "column 5 has no name",
        "d.xlsx",
    ),
    "Excel, a note below": (
        lambda: workbook([*ROWS, [], ["Source: the lab"]]),
        r"line 43 \(row 41 of the data\), column 1 \('a'\): 'Source: the lab' is not a number",
        "d.xlsx",
    ),
    "no Excel": (lambda: library("openpyxl") and b"PK\3\4 and no more", "not a readable Excel file", "d.xlsx"),
    "no Parquet": (lambda: library("pyarrow") and b"PAR1 no", "not a readable Parquet file", "d.parquet"),
    "no Feather": (lambda: library("pyarrow") and b"ARROW1 no", "not a readable Feather file", "d.feather"),
    "Parquet, text": (lambda: parquet(FRAME.assign(who="x")), "'who' is not numeric: row 1 holds 'x'", "d.parquet"),
    "no gzip": (text(), "cannot be read as gzip data", "d.csv.gz"),
    "gzip cut off": (gzip.compress(text().encode())[:-9], "cannot be read as gzip data", "d.csv.gz"),
    "NumPy": (b"\x93NUMPY\1\0", "a NumPy array, which is read as numbers", "d.dat"),
    "NumPy, a vector": (npy(X[0]), r"must hold a table \(n, p\), got \(4,\)", "d.npy"),
    "NumPy, infinite": (npy(np.append(X, [[1, 2, np.inf, 3]], axis=0)), "column 'V3': infinite", "d.npy"),
    "damaged NumPy": (b"\x93NUMPY\1\0", "cannot be read as an array", "d.npy"),
    "archive": (b"PK\3\4...", r"is an archive \(zip, npz, ods, ...\); unpack it", "d.npz"),
    "HDF5": (b"\x89HDF\r\n", "an HDF5 file, which is read if it is AnnData", "d.h5"),
    "pickle": (pickle.dumps(FRAME, protocol=5), "line 1: .*read them in Python, as with pandas", "d.pkl"),
    "zip": (b"PK\3\4...", r"is an archive \(zip, npz, ods, ...\); unpack it", "d.zip"),
    "data of R": (gzip.compress(b"X\n\0\0\0\2"), "data of R; write them as CSV", "d.rds"),
    "one observation": ("a,b\n1,2\n", r"at least 2 rows \(observations\), got 1"),
    "prose": ("It was a dark night.\nIt rained.\n", "expected 5 cells, got 2|is not a number", "d.txt"),
}


@pytest.mark.parametrize("kind", REFUSED_FILES)
def test_refused_in_files(kind, tmp_path):
    content, words, name = (*REFUSED_FILES[kind], "d.csv")[:3]
    path = write(tmp_path / name, content)
    test = gaussCItest if kind in ("missing", "Parquet, text") else None  # else another test takes the table
    with pytest.raises(ValueError, match=words) as caught:
        pc(path, test)
    if kind not in ("correlations", "one observation"):  # said of the table, whatever it came from
        assert isinstance(caught.value, DataError)
        assert str(caught.value).startswith(str(path))


def test_values_of_formulas_are_read(tmp_path):
    read = read_table(write(tmp_path / "d.xlsx", workbook(ROWS, with_formulas, xml=VALUES))).values
    expected = X.copy()
    expected[[0, 1, 5], 3] = 7
    np.testing.assert_array_equal(read, expected)


def test_merged_cells_are_named(tmp_path):
    content = workbook(ROWS, lambda book, sheet: [sheet.merge_cells(cells) for cells in ("C4:D4", "A7:A9")])
    path = write(tmp_path / "d.xlsx", content)
    with pytest.warns(UserWarning, match="d.xlsx: of merged cells, the first .* count as empty: .*(A7:A9|C4:D4)$"):
        table = read_table(path, ReadOptions(missing="keep"))
    expected = X.copy()
    expected[2, 3] = expected[6:8, 0] = np.nan
    np.testing.assert_array_equal(table.values, expected)


def test_float32_files_are_mapped_and_stay_float32(tmp_path):
    np.save(tmp_path / "d.npy", X.astype(np.float32))
    data = SuffStat.from_data(tmp_path / "d.npy")
    assert data.rows.dtype == np.float32
    assert not data.rows.flags.owndata
    np.testing.assert_array_equal(data.C, WANT_C)
    mapped = np.load(tmp_path / "d.npy", mmap_mode="r")
    assert np.shares_memory(SuffStat.from_data(mapped).rows, mapped)
    assert not np.shares_memory(SuffStat.from_data(own := np.array(mapped)).rows, own)


def test_parquet_is_read_in_groups_of_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(binary, "_GROUP", 2 * len(X))
    (tmp_path / "d.parquet").write_bytes(parquet())
    groups, read = [], binary.read_arrow
    monkeypatch.setattr(binary, "read_arrow", lambda source, names: groups.append(list(names)) or read(source, names))
    np.testing.assert_array_equal(SuffStat.from_data(tmp_path / "d.parquet").C, WANT_C)
    assert groups == [["a"], ["b", "c"], ["d"]]


def test_anndata_in_its_file(tmp_path):
    anndata = library("anndata")
    obs, var = (pd.DataFrame(index=pd.Index(names, dtype=object)) for names in (map(str, range(len(X))), NAMES))
    for kind, values in {"dense": X.astype(np.float32), "sparse": sparse("csr_matrix")}.items():
        path = tmp_path / f"{kind}.h5ad"
        anndata.AnnData(values, obs=obs, var=var).write_h5ad(path)
        for data in (path, anndata.read_h5ad(path, backed="r")):
            found = SuffStat.from_data(data)
            assert found.labels == tuple(NAMES)
            np.testing.assert_array_equal(found.C, WANT_C)


def test_h5ad_needs_anndata(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    (tmp_path / "d.h5ad").write_bytes(b"")
    refused("reading .h5ad needs anndata: pip install anndata", SuffStat.from_data, tmp_path / "d.h5ad")


def test_columns_named_by_numbers_are_positions_or_draw_a_warning():
    assert pc(pd.DataFrame(X)).labels == ("0", "1", "2", "3")
    with pytest.warns(UserWarning, match="a number is a position from 0 on: the first is 0 or '1'"):
        fit = pc(pd.DataFrame(X, columns=[1, 2, 3, 4]))
    assert fit.why(1, 2).x == "2"
