"""Damaged files are refused by a `DataError`, or read as what they say: never a traceback of another library.

CSV files are damaged at random; an independent, slow reader (`what_it_says`) then states what the file says. Where
`read_table` accepts a file, it must have read exactly that. So the wrong acceptances that remain are those that no
reader can know, because the damaged file is a well-formed table itself:

* a digit, sign, point or exponent became another one, or cells lost or gained some: another number;
* a cell became empty or NA (reported as missing), where missing values are allowed;
* a letter in the header became another one: another name;
* whole lines are missing, are there twice, or stand elsewhere, also by a cut at the end of a line or within the last
  cell;
* a digit became a line end, and the two parts are rows of the right length (only in a table of one column, which is
  refused).

Compressed files carry a checksum, so that all damage but that of the header of gzip, which holds no data, is noticed.
Parquet files carry one for each page of data if the writer was asked for it (``write_page_checksum``), and then a
damaged number is noticed. Not protected, so that nobody can know: the names of the columns, the metadata of pandas,
and in files without checksums the numbers as well.

PYCUPC_CORRUPTIONS sets the number of files of the long form, 20,000 by default.
"""

import csv
import gzip
import io
import math
import os
import re
import warnings

import numpy as np
import pytest
from damaged_files import damaged

from pycupc.data import DataError
from pycupc.data.readers import ReadOptions, read_table

SHORT = 500
LONG = int(os.environ.get("PYCUPC_CORRUPTIONS", "20000"))

NAMES = ["alpha", "beta", "gamma", "delta"]


def table(rng):
    return rng.standard_normal((12, 4)).round(int(rng.integers(1, 9)))


def what_it_says(content, delimiter):
    """The names and numbers (NaN where missing) of a CSV file with a header; fails if it is not a well-formed one."""
    text = content.decode("utf-8-sig")
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True))
    header, *body = [row for row in rows if len(row) > 1 or (row and row[0].strip())]
    names = [name.strip() for name in header]
    names = names[1:] if names[0] == "" else names
    (width,) = {len(row) for row in body}
    assert width in (len(header), len(names) + 1)
    return names, [[number(cell.strip()) for cell in row[width - len(names) :]] for row in body]


def number(cell):
    if cell.lower() in ("", "na", "nan", "+nan", "-nan", "n/a", "#n/a", "null", "none"):
        return math.nan
    assert re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", cell), cell
    assert math.isfinite(float(cell))
    return float(cell)


def read(path):
    """What `read_table` makes of a file: the table or None; anything but a DataError fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what was decided
            return read_table(path, ReadOptions(missing="keep"))
    except DataError as refusal:
        words = str(refusal)
    assert str(path) in words
    return None


def check_csv(path, number_of_files, seed):
    """Damage so many files; returns how many were accepted."""
    rng, accepted = np.random.default_rng(seed), 0
    for k in range(number_of_files):
        X, delimiter = table(rng), ",;\t"[k % 3]
        lines = [delimiter.join(map(repr, row)) for row in X.tolist()]
        lines = [f'"r{i}"{delimiter}{line}' for i, line in enumerate(lines)] if k % 2 else lines
        header = delimiter.join([""] * (k % 2) + NAMES)
        content = damaged(rng, "\n".join([header, *lines, ""]).encode())
        path.write_bytes(content)
        got = read(path)
        if got is None:
            continue
        accepted += 1
        if not set(NAMES) & set(got.labels):
            continue  # no name is left whole: what was taken for the header, and what for the delimiter, is open
        names, body = what_it_says(content, delimiter)
        assert got.labels == names, content
        np.testing.assert_array_equal(got.values, body, err_msg=repr(content))
    return accepted


def check_gzip(path, number_of_files, seed):
    """Damaged compressed files are refused, or hold the same table as before."""
    rng = np.random.default_rng(seed)
    for _ in range(number_of_files):
        X = table(rng)
        text = "\n".join([",".join(NAMES), *(",".join(map(repr, row)) for row in X.tolist()), ""])
        path.write_bytes(damaged(rng, gzip.compress(text.encode(), mtime=0)))
        got = read(path)
        if got is not None:
            assert got.labels == NAMES
            np.testing.assert_array_equal(got.values, X)


def check_parquet(path, number_of_files, seed):
    """Damaged Parquet files are refused, or hold numbers that were there before: the pages have checksums."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rng, accepted = np.random.default_rng(seed), 0
    for k in range(number_of_files):
        X = table(rng)
        sink = pyarrow.BufferOutputStream()
        whole = pyarrow.table(dict(zip(NAMES, X.T.copy(), strict=True)))
        compression = ("snappy", "none", "zstd")[k % 3]
        parquet.write_table(whole, sink, compression=compression, use_dictionary=k % 2 == 0, write_page_checksum=True)
        path.write_bytes(damaged(rng, sink.getvalue().to_pybytes()))
        got = read(path)
        if got is not None:
            accepted += 1
            assert got.values.shape[1] >= 2
            for name, column in zip(got.labels, got.values.T, strict=True):
                if name in NAMES:
                    np.testing.assert_array_equal(column, X[:, NAMES.index(name)])
    return accepted


def check_without_sums(path, number_of_files, seed):
    """Feather and Excel files: only that nothing but a DataError comes out."""
    pd, rng = pytest.importorskip("pandas"), np.random.default_rng(seed)
    pytest.importorskip("pyarrow" if path.suffix == ".feather" else "openpyxl")
    for k in range(number_of_files):
        if k % 25 == 0:
            file, frame = io.BytesIO(), pd.DataFrame(table(rng), columns=NAMES)
            frame.to_feather(file) if path.suffix == ".feather" else frame.to_excel(file, index=False)
        path.write_bytes(damaged(rng, file.getvalue()))
        read(path)


#: Share of the files that are of this kind, and its check.
KINDS = {
    "d.csv": (1.0, check_csv),
    "d.csv.gz": (0.2, check_gzip),
    "d.parquet": (0.5, check_parquet),
    "d.feather": (0.2, check_without_sums),
    "d.xlsx": (0.04, check_without_sums),
}


@pytest.mark.parametrize("number", [SHORT, pytest.param(LONG // 2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", KINDS)
def test_damaged_files(tmp_path, name, number):
    share, check = KINDS[name]
    accepted = check(tmp_path / name, int(number * share), seed=number)
    assert name != "d.csv" or 0 < accepted < number


LONG_CELLS = {
    "digits": ("1", "x"),
    "blanks and text": (" ", "x"),
    "blanks": (" ", ""),
    "exponents": ("1e", ""),
    "commas": (",", ""),
}


@pytest.mark.parametrize(("part", "end"), LONG_CELLS.values(), ids=LONG_CELLS)
def test_the_time_for_a_cell_grows_with_its_length_not_with_the_square(tmp_path, part, end):
    """With the square, this would not end within an hour."""
    path = tmp_path / "d.csv"
    path.write_text(f"a,b\n1,2\n{part * (2_000_000 // len(part)) + end},4\n")
    read(path)
