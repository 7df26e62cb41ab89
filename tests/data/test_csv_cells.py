"""The cells of a table of text: numbers, and the errors that name a cell."""

import io
import re
import warnings

import numpy as np
import pytest
from common import run
from hypothesis import given, settings
from hypothesis import strategies as st
from table_files import PLAIN, assert_refused, assert_right, right, text, write

from pycupc import cli, gaussCItest
from pycupc.data import DataError, csv_cells, read_data, text_layout
from pycupc.data.mixed import MixedTable


def test_a_point_where_the_comma_is_the_decimal_point_is_no_infinite_value(here, capsys):
    (here / "d.csv").write_text("a;b\n0,5;1\n0.5;2\n1,5;0\n")
    assert run("run", "d.csv", "--decimal", ",") == cli.DATA
    assert "'0.5' is not a number; with --decimal , no number may hold a point" in capsys.readouterr().err


COMMA = {"sep": ";", "decimal": ","}


RIGHT_FILES = {
    "decimal comma": right(text(**COMMA), options={"decimal": ","}),
    "scientific": right(text(float_format="%.17E")),
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
}


@pytest.mark.parametrize("kind", RIGHT_FILES)
def test_right_in_files(kind, tmp_path):
    assert_right(tmp_path, RIGHT_FILES[kind])


#: What it is: (content of the file or its builder, words, name of the file if it is not d.csv).
REFUSED_FILES = {
    "NUL": (text().replace("0", "\0", 1), "line 2: a NUL byte"),
    "control character": (text().replace("0", "\x1f", 1), "line 2: the control character 0x1f"),
    "Arabic digits": (text() + "1,2,3,\u0663\n", "'\u0663' is not a number; write it with the characters 0 to 9"),
    "1_000": (text() + "1_000,2,3,4\n", "'1_000' is not a number; write it without separators"),
    "1,000": (text() + '"1,000",2,3,4\n', "'1,000' is not a number; if the comma is the decimal"),
    "Unicode minus": (text() + "\u22121,2,3,4\n", "is not a number; write it with the characters"),
    "hexadecimal": (text() + "0x10,2,3,4\n", "'0x10' is not a number"),
    "two marks": (text() + "?,2,3,4\n*,2,3,4\n", r"'\?' is not a number"),
    "wrong delimiter in a row": (text() + "1,2,3;5,4\n", "'3;5' is not a number; is the delimiter ';'"),
    "quotation mark left open": (text() + '"1,2,3,4\n', "cannot be split into cells .*quotation marks"),
    "two numbers in quotation marks": (text() + '1,2,"3"5,4\n', "cannot be split into cells"),
    "missing": (text() + "1,,3,4\n", "missing values: 1, .*missing='drop-rows'"),
}


@pytest.mark.parametrize("kind", REFUSED_FILES)
def test_refused_in_files(kind, tmp_path):
    assert_refused(
        tmp_path, *REFUSED_FILES[kind], test=gaussCItest if kind == "missing" else None
    )  # else another test takes the table


def test_random_numbers_are_read_digit_for_digit(tmp_path):
    values = np.random.default_rng(0).standard_normal((500, 4)) * 10.0 ** np.arange(-200, 200, 100)
    path = write(tmp_path / "d.csv", "\n".join(",".join(map(repr, row)) for row in values.tolist()))
    np.testing.assert_array_equal(read_data(path).to_numpy(), values)


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


def test_a_cell_far_down_is_explained(tmp_path, monkeypatch):
    """Beyond the rows that are read again to list the columns of text."""
    monkeypatch.setattr(csv_cells, "MOST_CELLS", 0)
    for line in ("x,2,3", "1,2,x"):
        path = write(tmp_path / "d.csv", "a,b,c\n" + "1.5,2,3\n" * 1000 + line + "\n")
        with pytest.raises(
            DataError, match=r"line 1002 .*'x' is not a number. If the column is not a variable, drop it"
        ):
            read_data(path)


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
