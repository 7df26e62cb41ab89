"""Readers: well-formed files of every layout give the same table; errors name the file, the row and the column."""

import bz2
import gzip
import io
import lzma
import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from common import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from pycupc.data import EXAMPLES, csv_cells, load_example, source, text_layout
from pycupc.data.mixed import MixedTable
from pycupc.data.readers import DataError, ReadOptions, read_correlation, read_data, read_table
from pycupc.graph.pairs import read_pairs

VALUES = np.array([[1.5, 2.0, -3.25e-7], [0.1, 1 / 3, 7.0], [4.0, 5.0, 6.0]])
PLAIN = "a,b,c\n" + "\n".join(",".join(map(repr, row)) for row in VALUES.tolist()) + "\n"


def write(path, content):
    path.write_text(content, encoding="utf-8") if isinstance(content, str) else path.write_bytes(content)
    return path


def test_random_numbers_are_read_digit_for_digit(tmp_path):
    values = np.random.default_rng(0).standard_normal((500, 4)) * 10.0 ** np.arange(-200, 200, 100)
    path = write(tmp_path / "d.csv", "\n".join(",".join(map(repr, row)) for row in values.tolist()))
    np.testing.assert_array_equal(read_data(path).to_numpy(), values)


def test_a_header_that_is_denied_is_explained(tmp_path):
    with pytest.raises(DataError, match=r"line 1 .*column 1 \('V1'\): 'a' is not a number; is it a header\?"):
        read_data(write(tmp_path / "e.csv", PLAIN), header="no")


BAD = {
    "text in a cell": (
        PLAIN.replace("5.0", "five"),
        r"line 4 \(row 3 of the data\), column 2 \('b'\): 'five' is not a number",
    ),
    "id column": ("id,a,b\nx1,1,2\nx2,3,4\n", r"line 2 .*column 1 \('id'\): 'x1' is not a number.*drop=\['id'\]"),
    "decimal comma": (
        "a;b\n1,5;2\n3;4\n",
        r"line 2 .*column 1 \('a'\): '1,5' is not a number; if the comma is the decimal point: .*decimal=','\)",
    ),
    "short row": (PLAIN + "7,8\n", r"line 5 \(row 4 of the data\): expected 3 cells, got 2"),
    "long first row": ("a,b,c\n1,2,3,4,5\n1,2,3\n", r"line 2 \(row 1 of the data\): expected 3 cells, got 5"),
    "infinite": (PLAIN.replace("5.0", "-inf"), r"line 4 .*column 2 \('b'\): infinite value '-inf'"),
    "too large": (PLAIN.replace("5.0", "1e999"), r"line 4 .*column 2 \('b'\): infinite value '1e999'"),
    "missing at the end": (
        PLAIN.replace("6.0", "NA "),
        r"missing values: 1, rows with any: 1, columns with any: 1 \(c\); the first in row 3, column 'c'",
    ),
    "duplicate names": ("a,b,a\n1,2,3\n", "columns 1 and 3 are both named 'a'"),
    "no rows": ("a,b,c\n", "no rows of data"),
    "one column": ("a\n1\n2\n", "needs at least 2 columns"),
    "empty": ("", "the file is empty"),
    "blank first line": ("\n1,2\n", "the first line is empty"),
    "comment": ("# from the lab\na,b\n1,2\n3,4\n", r"line 1: '# from the lab' is a comment.*comment='#'\)"),
    "two comments": ("# a b\n# c d\n1 2\n3 4\n", "line 1: '# a b' is a comment"),
    "comment with a comma": ("# a, b\nx,y\n1,2\n", r"line 2 .*'x' is not a number; is line 1 a comment\?"),
    "thousands": (
        "a;b\n1.234.567;2\n3;4\n",
        "'1.234.567' is not a number; if the points separate thousands, write all numbers of the column without them",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_explained(tmp_path, kind):
    content, message = BAD[kind]
    with pytest.raises(DataError, match=message) as caught:
        read_data(write(tmp_path / "d.csv", content))
    assert "d.csv" in str(caught.value)


def rows_of(first, *rows):
    return "".join(",".join(map(str, row)) + "\n" for row in (first, *rows))


#: A file whose first line holds whole numbers, and how it is read: "names", or "ask" for an error that asks.
WHOLE_NUMBERS_FIRST = {
    "counting from 0": (rows_of([0, 1, 2, 3], [7, 8, 9, 5], [4, 4, 1, 2]), "names"),
    "counting from 1": (rows_of([1, 2, 3, 4], [7, 8, 9, 5], [4, 4, 1, 2]), "names"),
    "counting from 2": (rows_of([2, 3, 4, 5], [7, 8, 9, 5], [4, 4, 1, 2]), "ask"),
    "counting from 0, one left out": (rows_of([0, 1, 2, 4], [7, 8, 9, 5], [4, 4, 1, 2]), "ask"),
    "counting from 1, one left out": (rows_of([1, 2, 3, 5], [7, 8, 9, 5], [4, 4, 1, 2]), "ask"),
    "counting down": (rows_of([3, 2, 1, 0], [7, 8, 9, 5], [4, 4, 1, 2]), "ask"),
    "three that count from 0": (rows_of([0, 1, 2], [7, 8, 9], [4, 4, 1]), "ask"),
    "three that count from 1": (rows_of([1, 2, 3], [7, 8, 9], [4, 4, 1]), "ask"),
    "half of the columns with fractions": (rows_of([90, 91, 92, 93], [7.5, 8, 9, 5.5], [4.5, 4, 1, 2.5]), "names"),
    "fewer columns with fractions": (rows_of([90, 91, 92, 93], [7.5, 8, 9, 5], [4.5, 4, 1, 2]), "ask"),
    "two of three columns with fractions": (rows_of([90, 91, 92], [7.5, 8, 9.5], [4.5, 4, 1.5]), "names"),
    "one of three columns with fractions": (rows_of([90, 91, 92], [7.5, 8, 9], [4.5, 4, 1]), "ask"),
    "one whole number in a column": (rows_of([90, 91], [7, 8], [4.5, 4], [3.5, 2]), "ask"),
    "fractions in all columns but for one cell": (rows_of([90, 91], [7.5, 8], [4.5, 4.5]), "names"),
    "the whole number in a short row": (rows_of([90, 91], [7.5, 8.5], [4], [3.5, 2.5]), "names"),
    "whole numbers in a long row": (rows_of([90, 91], [7.5, 8.5], [4, 2, 1], [3.5, 2.5]), "names"),
}


@pytest.mark.parametrize("kind", WHOLE_NUMBERS_FIRST)
def test_a_first_line_of_whole_numbers_is_named_or_asked_about(kind):
    content, expected = WHOLE_NUMBERS_FIRST[kind]
    head = [line.split(",") for line in content.splitlines()]
    if expected == "ask":
        refused("d: line 1 holds distinct whole numbers", text_layout.find_layout, "d", head, ReadOptions())
        return
    with pytest.warns(UserWarning, match="d: line 1 holds whole numbers only .* and was read as names"):
        layout = text_layout.find_layout("d", head, ReadOptions())
    assert layout.has_header
    assert layout.names == head[0]


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        ("a;b;c\n1.234;5.678;1.5\n950;-12.345;2.345\n0;;9.876\n", r"a \(1.234\), b \(5.678\)$"),
        ("a;b;k\n1.234;5.678;x\n2.345;67.891;y\n", r"a \(1.234\), b \(5.678\)$"),
        ("a;b\n" + "7;7.1\n" * 40 + "1.234;7.2\n", r"a \(1.234\)$"),
        ("a;b\n1.234;0.678\n2.3456;3.456\n", None),
        ("a;b\n1234;567\n345;12\n", None),
        ("a,b\n1.234,5.678\n2.345,6.789\n", None),
    ],
)
def test_points_that_may_separate_thousands_are_named(tmp_path, content, columns):
    path = write(tmp_path / "d.csv", content)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        MixedTable.of(path, missing="keep") if ";k" in content else read_data(path, missing="keep")
    said = [str(one.message) for one in found]
    assert len(said) == (columns is not None)
    assert columns is None or re.search(columns, said[0])


def test_a_first_line_may_name_the_delimiter(tmp_path):
    lines = "a;b\n1,5;2\n3;4\n"
    expected = read_data(write(tmp_path / "e.csv", lines), decimal=",")
    for first in ("sep=;\n", '\ufeff"SEP=;"\r\n', "sep=;;;\r\n"):
        path = write(tmp_path / "d.csv", first + lines)
        pd.testing.assert_frame_equal(read_data(path, decimal=","), expected)
    refused(r"line 3 \(row 1 of the data\).*'1,5' is not a number", read_data, path, error=DataError)
    table = read_data(write(tmp_path / "t.csv", "sep=\t\n1\t2\n5\t4\n"), header="no")
    np.testing.assert_array_equal(table, [[1, 2], [5, 4]])
    assert MixedTable.of(write(tmp_path / "m.csv", "sep=|\na|k\n1|x\n2|y\n")).labels == ("a", "k")


def test_names_may_begin_with_the_sign_of_a_comment(tmp_path):
    assert list(read_data(write(tmp_path / "d.csv", "#a,b\n1,2\n3,4\n"))) == ["#a", "b"]
    assert list(read_data(write(tmp_path / "d.tsv", "#a\tb\nr\t1\t2\ns\t3\t4\n"))) == ["#a", "b"]
    assert list(read_data(write(tmp_path / "q.csv", '#a,"b, c"\n1,2\n3,4\n'))) == ["#a", "b, c"]
    path = write(tmp_path / "c.csv", "# from the lab\na,b\n1,2\n3,4\n")
    assert list(read_data(path, comment="#")) == ["a", "b"]


def test_a_cell_far_down_is_explained(tmp_path, monkeypatch):
    """Beyond the rows that are read again to list the columns of text."""
    monkeypatch.setattr(csv_cells, "MOST_CELLS", 0)
    for line in ("x,2,3", "1,2,x"):
        path = write(tmp_path / "d.csv", "a,b,c\n" + "1.5,2,3\n" * 1000 + line + "\n")
        with pytest.raises(
            DataError, match=r"line 1002 .*'x' is not a number. If the column is not a variable, drop it"
        ):
            read_data(path)


def test_unreadable_files_are_explained(tmp_path):
    refused("no such file", read_data, tmp_path / "none.csv", error=DataError)
    refused("is a directory", read_data, tmp_path, error=DataError)
    with pytest.raises(DataError, match="cannot be read .*Corrupt|cannot be read .*Input format"):
        read_data(write(tmp_path / "d.csv.xz", PLAIN))


COMPRESS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("start", ["", "a,b\n1,2\r\n", "a,b\r1,2\r"])
def test_a_line_too_long_for_a_text_is_refused_before_it_is_whole(tmp_path, ending, start):
    path = write(tmp_path / f"d.csv{ending}", COMPRESS[ending](start.encode() + b"1" * (2 * source.LONGEST_LINE)))
    tracemalloc.start()
    try:
        number = start.count("\n") + 1
        refused(
            f"line {number}: is longer than 33,554,432 bytes, the most of a line", read_table, path, error=DataError
        )
        assert tracemalloc.get_traced_memory()[1] < 1.8 * source.LONGEST_LINE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ending", COMPRESS)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_up_to_the_limit_are_read(tmp_path, monkeypatch, ending, end):
    monkeypatch.setattr(source, "LONGEST_LINE", 13)
    monkeypatch.setattr(source, "_PIECE", 6)  # so that lines span several pieces
    for line in ("123456,789012", "123456,7890123"):
        for k in range(4):
            lines = ["a,b", "1,2", "3,4", "5,6"]
            lines[k : k + 1] = [line]
            path = write(tmp_path / f"d.csv{ending}", COMPRESS[ending](end.join([*lines, ""]).encode()))
            if len(line) == 13:
                assert source.read_source(path).content.decode().split(end)[k] == line
            else:
                number = 1 if end == "\r" else k + 1
                refused(f"line {number}: is longer than 13 bytes", source.read_source, path, error=DataError)


def test_a_pipe_of_one_line_is_refused(monkeypatch):
    class Endless(io.RawIOBase):
        def read(self, size=-1):
            return b"1" * size

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setattr(source, "sys", type("sys", (), {"stdin": type("stdin", (), {"buffer": Endless()})}))
    refused("standard input, line 1: is longer than", read_table, "-", error=DataError)


def test_binary_files_have_no_lines(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(np.random.default_rng(0).integers(100, 200, (4000, 3)) * 1.0, columns=[*"abc"])
    frame.to_parquet(tmp_path / "d.parquet")
    monkeypatch.setattr(source, "LONGEST_LINE", 20)
    write(tmp_path / "d.parquet.gz", gzip.compress((tmp_path / "d.parquet").read_bytes()))
    for name in ("d.parquet", "d.parquet.gz"):
        pd.testing.assert_frame_equal(read_data(tmp_path / name), frame)


@pytest.mark.parametrize("ending", COMPRESS)
def test_more_than_memory_holds_is_refused(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(source, "LARGE", 1 << 18)
    monkeypatch.setattr(source, "_PIECE", 1 << 16)
    monkeypatch.setattr(source, "free_memory", lambda: 1_000_000)
    content = PLAIN + "1,2,3\n" * 400_000
    path = write(tmp_path / f"d.csv{ending}", COMPRESS[ending](content.encode()))
    words = r"d.csv.*: 0.00 GB or more after decompression are too much to be read where 0.00 GB of memory are free"
    refused(words, read_table, path, error=MemoryError)
    write(path, COMPRESS[ending](content[: len(content) // 4].encode()))
    assert len(read_data(path)) > 90_000


def test_an_archive_larger_than_memory_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    pd.DataFrame(np.zeros((500, 20))).to_excel(tmp_path / "d.xlsx", index=False)
    assert (tmp_path / "d.xlsx").stat().st_size < 100_000
    monkeypatch.setattr(source, "free_memory", lambda: 500_000)
    refused(
        "d.xlsx: 0.00 GB or more after decompression are too much", read_data, tmp_path / "d.xlsx", error=MemoryError
    )


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_each_stream_of_a_compressed_file_is_read_or_the_file_is_refused(tmp_path, ending):
    """bgzip, pbzip2 and pixz write several streams; Python's bz2 and lzma ignore all from a damaged beginning on."""
    compress, path = COMPRESS[ending], tmp_path / f"d.csv{ending}"
    lines = [f"{k},{k * k}\n".encode() for k in range(1, 200)]
    whole = b"a,b\n" + b"".join(lines)
    streams = b"".join(map(compress, [b"a,b\n", *lines]))
    for content in (compress(whole), streams, streams + bytes(8), compress(b"") + streams):
        np.testing.assert_array_equal(read_data(write(path, content)), [[k, k * k] for k in range(1, 200)])
    first = compress(b"a,b\n1,2\n3,4\n")
    for content in (first + b"rest", first + compress(b"5,6\n")[:-5], first + compress(b"5,6\n")[:4], first[:-3]):
        refused("d.csv.*: cannot be read as (gzip|bz2|lzma) data", read_data, write(path, content), error=DataError)


def test_missing_rows_can_be_left_out_or_kept(tmp_path):
    path = write(tmp_path / "d.csv", PLAIN.replace("0.1", "NA"))
    with pytest.warns(UserWarning, match="1 of 3 rows dropped, 1 because of a$"):
        np.testing.assert_array_equal(read_data(path, missing="drop-rows").to_numpy(), VALUES[[0, 2]])
    assert np.isnan(read_data(path, missing="keep").to_numpy()[1, 0])
    with pytest.raises(DataError, match="every row has a missing value"):
        read_data(write(tmp_path / "e.csv", "a,b\n1,\n,2\n"), missing="drop-rows")


def test_correlation_matrix_with_and_without_names(tmp_path):
    C = np.array([[1.0, 0.25, np.nan], [0.25, 1.0, -0.5], [np.nan, -0.5, 1.0]])
    pd.DataFrame(C, index=list("abc"), columns=list("abc")).to_csv(tmp_path / "named.csv")
    pd.DataFrame(C, columns=list("abc")).to_csv(tmp_path / "bare.csv", index=False, na_rep="NA")
    for name in ("named.csv", "bare.csv"):
        table = read_correlation(tmp_path / name)
        got, labels = table.values, table.labels
        assert labels == ["a", "b", "c"]
        np.testing.assert_array_equal(got, C)
    with pytest.raises(DataError, match="row 2 is named 'x' but column 2 is named 'b'"):
        read_correlation(write(tmp_path / "e.csv", ",a,b\na,1,0\nx,0,1\n"))
    with pytest.raises(DataError, match="must be square, this has 3 rows and 2 columns"):
        read_correlation(write(tmp_path / "f.csv", "a,b\n1,0\n0,1\n0,0\n"))


def test_pairs(tmp_path):
    labels = ["a", "b", "c d"]
    got = read_pairs(write(tmp_path / "p.csv", "from,to\na,c d\nb , a\n"), labels)
    assert np.argwhere(got.dense()).tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]
    refused("no such file", read_pairs, tmp_path / "none.csv", labels, error=DataError)
    refused("cannot be read", read_pairs, write(tmp_path / "p.csv.gz", "from,to\na,b\n"), labels, error=DataError)
    for content, message in {
        "a,b\na,q\n": "line 2: there is no variable 'q'",
        "a\n": "line 1: expected two names",
        "a,a\n": "line 1: 'a' is paired with itself",
    }.items():
        refused(message, read_pairs, write(tmp_path / "p.csv", content), labels, error=DataError)


def test_example_data():
    frame = read_data(EXAMPLES["cell_nuclei"])
    assert frame.shape == (569, 30)
    pd.testing.assert_frame_equal(frame, load_example("cell_nuclei"))
    assert frame.iloc[0, 0] == 17.99
    assert frame.iloc[-1, -1] == 0.07039
    assert (EXAMPLES["cell_nuclei"].parent / "README.md").read_text(encoding="utf-8").count("CC BY 4.0") == 1


CELLS = """
1 -2.5 +.5 5. 1e3 1E-5 1e400 0x1 1_0 \u0661 nan NaN -nan NA na inf -Infinity None null ? 1,5 1.5 1;5 '1'
"2" "" "a,b" "1"2 1"2 r1 1d5 1f 1e 1e+ . - + -999 -999.0 # 3#4 #N/A True 1L 0b1
"""
WORDS = [*CELLS.split(), "", " ", " 3 ", "\t4", "\xa07", "1\u2003", "1 2"]


@settings(max_examples=600, deadline=None)
@given(
    rows=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=4),
    delimiter=st.sampled_from(",;\t| "),
    decimal=st.sampled_from(".,"),
    na=st.sampled_from([(), ("?",), ("-999",), ("-999", ".")]),
    comment=st.sampled_from([None, "#"]),
    text_columns=st.sampled_from([(), (0,), (1,), (0, 2)]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    header=st.booleans(),
)
def test_the_fast_parser_accepts_no_more_than_the_careful_one(
    rows, delimiter, decimal, na, comment, text_columns, end, header
):
    if delimiter == decimal:
        return
    width = len(rows[0])
    names = ["" if k == 0 and 0 in text_columns else f"V{k}" for k in range(width)]
    columns = frozenset(k for k in text_columns if k < width)
    layout = text_layout.Layout(header, 0 in text_columns, names, columns)
    options = text_layout.ReadOptions(decimal=decimal, na=na, comment=comment)
    text = end.join(delimiter.join(row) for row in [["x"] * width] * header + rows) + end
    found = csv_cells.Cells("d", options, layout, io.StringIO(text, newline=""), delimiter)
    try:
        fast = found.by_numpy()
    except DataError:  # of the first row
        return
    if fast is not None:
        np.testing.assert_array_equal(fast, found.one_by_one())


@pytest.mark.parametrize("ending", ["parquet", "feather", "npy"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_options_hold_for_files_that_are_no_text(tmp_path, ending, dtype):
    if ending != "npy":
        pytest.importorskip("pyarrow")
    path, X = tmp_path / f"data.{ending}", np.array([[1.5, -99.9], [-99.9, 2.0], [3.0, 4.0]], dtype=dtype)
    frame = pd.DataFrame(X, columns=["V1", "V2"])
    np.save(path, X) if ending == "npy" else getattr(frame, f"to_{ending}")(path)
    read = read_table(path, ReadOptions(na=["-99.9"], missing="keep")).values
    np.testing.assert_array_equal(read, np.where(X < 0, np.nan, X))
    for name, value in {"index": "yes", "header": "no", "decimal": ","}.items():
        with pytest.raises(DataError, match=f"{name}.* is an option of text and sheets"):
            read_table(path, ReadOptions(**{name: value}))
    with pytest.raises(DataError, match="a correlation matrix must be square, this has 3 rows and 2 columns"):
        read_correlation(path)
