"""The layout of a table of cells: header, row names, delimiter, and what is asked where they are not certain."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import refused, run
from small_tables import chain_table, edges, manifest
from table_files import BODY, FRAME, NUMBERED, PLAIN, X, assert_refused, assert_right, right, text, write

from pycupc import cli
from pycupc.data import DataError, read_data, text_layout
from pycupc.data.mixed import MixedTable
from pycupc.data.readers import ReadOptions


def test_decisions_are_one_line_and_in_the_manifest(here, capsys):
    pd.DataFrame(chain_table()).to_csv("d.csv")
    assert run("run", "d.csv", "--plot", "none") == cli.OK
    said = [line for line in capsys.readouterr().err.splitlines() if line]
    assert said == [
        "warning: d.csv: line 1 holds whole numbers only (0, 1, 2, 3 and 1 more) and was read as names; if it is an "
        "observation: --header no"
    ]
    written = manifest("d-pycupc")
    assert written["warnings"] == [said[0].removeprefix("warning: ")]
    assert written["input"]["layout"] == "line 1 holds the names; column 1 holds row names"
    assert written["input"]["variables"] == 5
    assert run("run", "d.csv", "--header", "yes", "--index", "yes", "--out", "said", "--plot", "none") == cli.OK
    assert "warning" not in capsys.readouterr().err
    assert edges("said") == edges("d-pycupc")


def test_what_is_open_is_asked_for(here, capsys):
    Path("d.csv").write_text("3,1,2\n1,5,4\n2,2,9\n7,1,1\n5,5,2\n9,0,3\n")
    assert run("run", "d.csv", "--plot", "none") == cli.DATA
    assert "say whether they are names (--header yes) or an observation (--header no)" in capsys.readouterr().err
    assert run("run", "d.csv", "--plot", "none", "--header", "no") == cli.OK
    assert manifest("d-pycupc")["input"]["observations"] == 6
    assert run("run", "d.csv", "--plot", "none", "--header", "yes", "--force") == cli.OK
    assert manifest("d-pycupc")["input"]["observations"] == 5


@pytest.mark.parametrize("cell", ["?", "1e", "--1", "#REF!", "1.234,5", "1 000", "abc"])
@pytest.mark.parametrize("place", [0, 3])
def test_a_damaged_cell_in_line_1_makes_no_header(here, capsys, cell, place):
    rows = [[f"{value:.3f}" for value in row] for row in chain_table()]
    rows[0][place] = cell
    Path("d.tsv").write_text("".join("\t".join(row) + "\n" for row in rows))
    assert run("run", "d.tsv", "--plot", "none") == cli.DATA
    said = capsys.readouterr().err
    assert f"beside {cell}: say whether these are names (--header yes) or an observation with damaged cells" in said
    refused(r"are names \(read_data\(path, header='yes'\)\) or an observation", read_data, "d.tsv", error=DataError)
    assert run("run", "d.tsv", "--header", "yes", "--plot", "none") == cli.OK
    assert manifest("d-pycupc")["input"]["observations"] == 59


@pytest.mark.parametrize(
    ("line", "words"), [("5,3,?,8", None), ("a,1990,1991,1992", "beside words (a) and was read as")]
)
def test_whole_numbers_beside_words_in_line_1(here, capsys, line, words):
    Path("d.csv").write_text(line + "\n" + "".join(f"{k % 7},{k % 5},{k % 3},{k % 11}\n" for k in range(40)))
    assert run("run", "d.csv", "--plot", "none") == (cli.DATA if words is None else cli.OK)
    assert (words or "say whether these are names") in capsys.readouterr().err


YEARS = ["1990", "1991", "1992", "1993"]


DEFAULTS = pd.DataFrame(X)


WITH_ROW_NAMES = FRAME.set_axis([f"r{i}" for i in range(40)])


WHOLE = "5,3,8\n2,7,1\n4,4,2\n1,1,6\n"


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
    "comments": right("# made by hand\n" + text().replace("\n", " # x\n", 3), options={"comment": "#"}),
}


@pytest.mark.parametrize("kind", RIGHT_FILES)
def test_right_in_files(kind, tmp_path):
    assert_right(tmp_path, RIGHT_FILES[kind])


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
    "prose": ("It was a dark night.\nIt rained.\n", "expected 5 cells, got 2|is not a number", "d.txt"),
}


@pytest.mark.parametrize("kind", REFUSED_FILES)
def test_refused_in_files(kind, tmp_path):
    assert_refused(tmp_path, *REFUSED_FILES[kind])


def test_a_header_that_is_denied_is_explained(tmp_path):
    with pytest.raises(DataError, match=r"line 1 .*column 1 \('V1'\): 'a' is not a number; is it a header\?"):
        read_data(write(tmp_path / "e.csv", PLAIN), header="no")


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
