"""Data on the command line: tables of categories, dropped rows, names that are formulas, the shape that was read."""

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import refused, run
from small_tables import NAMES, chain_table, expression, manifest

import pycupc
from pycupc import cli
from pycupc.data import DataError
from pycupc.data.categories import read_categories
from pycupc.data.readers import ReadOptions
from pycupc.discrete import DiscreteSuffStat, disCItest


@pytest.fixture
def table(tmp_path):
    """A file of 300 rows of words: four variables, the second a noisy copy of the first."""
    rng = np.random.default_rng(1)
    words = np.array(["low", "medium", "high"])
    X = words[rng.integers(0, 3, (300, 4))]
    X[:, 1] = np.where(rng.random(300) < 0.8, X[:, 0], X[:, 1])
    path = tmp_path / "words.csv"
    path.write_text("\n".join(["a,b,c,d", *(",".join(row) for row in X)]) + "\n")
    return path, X


@pytest.mark.parametrize("test", [["--test", "discrete"], []])
def test_words_are_found_out(table, tmp_path, capsys, test):
    path, X = table
    assert run("run", path, *test, "--alpha", "0.05", "--plot", "none", "--out", tmp_path / "out") == 0
    assert ("holds categories" in capsys.readouterr().err) == (not test)
    fit = pycupc.PcAlgo.load(tmp_path / "out" / "result.npz")
    expected = pycupc.pc(DiscreteSuffStat.from_data(X, list("abcd")), disCItest, alpha=0.05)
    np.testing.assert_array_equal(fit.graph, expected.graph)
    np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-12)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["input"]["kind"] == "categories"
    with (tmp_path / "out" / "sepsets.csv").open() as file:
        assert next(csv.reader(file)) == ["x", "y", "level", "set", "p"]
    assert str(expected.why("a", "c")) == str(fit.why("a", "c"))


def test_a_wrong_cell_in_a_table_of_numbers_is_no_category(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\n1.5,2,3\n2.5,x,1\n3.5,1,2\n")
    assert run("run", path, "--out", tmp_path / "out") == 3
    assert "'x'" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["{},5", "{}_000", "1 {}00", "\u0661{}", "\u2212{}", "{}'000"])
def test_numbers_in_another_form_are_no_categories(tmp_path, capsys, form):
    """They are an error that says how to write them, although they repeat as categories do."""
    cells = ['"' + form.format(k % 7) + '"' for k in range(60)]
    (tmp_path / "x.csv").write_text("a,b,c\n" + "".join(",".join(cells[k : k + 3]) + "\n" for k in range(0, 60, 3)))
    assert run("run", tmp_path / "x.csv", "--out", tmp_path / "out") == 3
    error = capsys.readouterr().err
    assert "is not a number" in error
    assert "categories" not in error


@pytest.mark.parametrize("form", ["0/{}", "{}|1", "{}-2", "{}+", "A{}"])
def test_genotypes_and_ranges_are_categories(tmp_path, capsys, form):
    rng = np.random.default_rng(0)
    rows = [",".join(form.format(k) for k in row) for row in rng.integers(0, 2, (50, 3))]
    (tmp_path / "x.csv").write_text("a,b,c\n" + "\n".join(rows) + "\n")
    assert run("run", tmp_path / "x.csv", "--plot", "none", "--out", tmp_path / "out") == 0
    assert "holds categories" in capsys.readouterr().err


def test_the_gaussian_test_insists_on_numbers(table, tmp_path, capsys):
    assert run("run", table[0], "--test", "gaussian", "--out", tmp_path / "out") == 3
    assert "categories" not in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_observed_degrees_of_freedom(table, tmp_path):
    assert run("run", table[0], "--df", "observed", "--plot", "none", "--out", tmp_path / "out") == 0
    suff = DiscreteSuffStat.from_data(pd.read_csv(table[0]), df="observed")
    found = pycupc.PcAlgo.load(tmp_path / "out" / "result.npz")
    assert found == pycupc.pc(suff, disCItest, alpha=0.01)


READ = [
    ("a,b\nx,y\nz,y\n", {}, ["a", "b"], [["x", "y"], ["z", "y"]]),
    (",a,b\nr1,x,y\nr2,z,y\n", {}, ["a", "b"], [["x", "y"], ["z", "y"]]),
    ("a\tb\nx\tnone\n", {}, ["a", "b"], [["x", "none"]]),
    ("x,y\nz,y\n", {"header": "no"}, ["V1", "V2"], [["x", "y"], ["z", "y"]]),
    ("a,b\nx,?\nz,y\n", {"na": ["?"], "missing": "drop-rows"}, ["a", "b"], [["z", "y"]]),
    ("id,a,b\n1,x,y\n", {"drop": ["id"]}, ["a", "b"], [["x", "y"]]),
]


@pytest.mark.parametrize(("text", "options", "labels", "cells"), READ)
def test_tables(tmp_path, text, options, labels, cells):
    path = tmp_path / "t.txt"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table = read_categories(path, ReadOptions(**options))
    assert ["1 of 2 rows dropped, 1 because of b" in str(one.message) for one in said] == [True] * (
        "missing" in options
    )
    assert table.labels == labels
    assert table.values.tolist() == cells


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\nx,\n", "missing values: 1, .*the first in row 1, column 'b'"),
        ("a,b\nx\n", "line 2 .*expected 2 cells, got 1"),
        ("a,a\nx,y\n", "both named 'a'"),
        ("a\nx\n", "at least 2 columns"),
        ("a,b\n", "no rows of data"),
    ],
)
def test_bad_tables(tmp_path, text, words):
    path = tmp_path / "t.csv"
    path.write_text(text)
    refused(words, read_categories, path, error=DataError)


def test_no_row_is_left(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nx,\n,y\n")
    with pytest.raises(DataError, match="every row has a missing value, so that no row is left"):
        read_categories(path, ReadOptions(missing="drop-rows"))
    pyarrow = pytest.importorskip("pyarrow.feather")
    pyarrow.write_feather(pd.DataFrame({"a": [], "b": []}), tmp_path / "t.feather")
    refused("no rows of data", read_categories, tmp_path / "t.feather", error=DataError)


def test_none_is_a_category_beside_others(tmp_path, capsys):
    rng = np.random.default_rng(2)
    rows = rng.choice(["None", "mild", "severe"], (60, 3)).tolist()
    (tmp_path / "x.csv").write_text("a,b,c\n" + "".join(",".join(row) + "\n" for row in rows))
    assert run("run", tmp_path / "x.csv", "--plot", "none", "--out", tmp_path / "out") == 0
    error = capsys.readouterr().err
    assert "holds categories" in error
    assert "'None' is a category of a; if it means a missing value: --na None" in error


def test_null_among_the_numbers_of_a_mixed_table_is_a_missing_value(tmp_path, capsys):
    rows = [f"{k / 7:.3f},{'yes' if k % 3 else 'no'},{k % 5}.5" for k in range(40)]
    (tmp_path / "x.csv").write_text("\n".join(["a,b,c", "NULL,yes,1.5", *rows]) + "\n")
    command = ("run", tmp_path / "x.csv", "--test", "mixed", "--plot", "none", "--out", tmp_path / "out")
    assert run(*command) == 0
    assert "values are missing in 1 of 3 columns, so that each test takes the rows" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "stability"])
def test_dropped_rows_are_reported(here, capsys, command):
    frame = pd.DataFrame(chain_table(), columns=NAMES)
    frame.loc[:39, "b"] = frame.loc[30:44, "c"] = np.nan
    frame.to_csv("d.csv", index=False)
    extra = ["--resamples", 2] if command == "stability" else []
    assert run(command, "d.csv", "--missing", "drop-rows", "--plot", "none", "--out", "out", *extra) == cli.OK
    said = "45 of 60 rows dropped, 40 because of b, 15 because of c"
    shown = capsys.readouterr()
    assert f"warning: d.csv: {said}\n" in shown.err
    for text in (shown.out, Path("out", "summary.txt").read_text()):
        assert f"data: {said}\n" in text
    assert manifest("out")["input"]["rows_dropped"] == said
    assert manifest("out")["warnings"] == [f"d.csv: {said}"]


def test_names_that_are_formulas(here, capsys):
    names = ["=cmd|' /C calc'!A0", "-b", '@c,"', "+d", "-1"]
    frame = pd.DataFrame(chain_table(), columns=names)
    frame.to_csv("d.csv", index=False)
    assert run("run", "d.csv", "--header", "yes", "--plot", "none") == cli.OK
    said = capsys.readouterr().err
    assert f"takes these names for formulas (--spreadsheet): {', '.join(names[:4])}\n" in said
    exact = pd.read_csv("d-pycupc/edges.csv")
    assert set(exact["from"]) | set(exact["to"]) <= set(names)
    options = ["--header", "yes", "--spreadsheet", "--force", "--plot", "none"]
    assert run("run", "d.csv", *options) == cli.OK
    assert "formulas" not in capsys.readouterr().err
    safe = pd.read_csv("d-pycupc/edges.csv")
    for end in ("from", "to"):
        assert safe[end].tolist() == [name if name == "-1" else f"'{name}" for name in exact[end].astype(str)]
    pd.testing.assert_frame_equal(safe.drop(columns=["from", "to"]), exact.drop(columns=["from", "to"]))
    matrix = pd.read_csv("d-pycupc/amat.csv", index_col=0)
    assert matrix.columns.tolist() == [f"'{name}" for name in names[:4]] + ["-1"]
    stability = ("stability", "d.csv", "--resamples", 2, *options)
    assert run(*stability, "--fixed-edges", "d-pycupc/edges.csv") == cli.OK  # read back without the apostrophes
    assert pd.read_csv("d-stability/edges.csv").isin([f"'{names[0]}"]).any(axis=None)


@pytest.mark.parametrize("command", ["run", "stability --resamples 2", "cstar --resamples 2"])
def test_the_shape_that_was_read_is_printed(here, capsys, command):
    expression(40, 3).to_csv("d.csv")
    how = [*command.split(), "d.csv", "--out", "out", "--plot", "none", "--force"]
    assert cli.main(how) == cli.OK
    assert capsys.readouterr().out.startswith("read 40 observations of 3 variables from d.csv\n")
    assert cli.main([*how, "--quiet"]) == cli.OK
    assert capsys.readouterr().out == ""


def test_the_shape_of_other_kinds_of_data_is_printed_too(here, capsys):
    frame = expression(60, 3).reset_index(drop=True)
    complete = int((frame < 11).all(axis=1).sum())
    frame.corr().to_csv("C.csv", index=False)
    frame.where(frame < 11).to_csv("gaps.csv", index=False)
    (frame > 8).replace({True: "high", False: "low"}).to_csv("words.csv", index=False)
    frame.assign(x0=np.where(frame.x0 > 8, "high", "low")).to_csv("mixed.csv", index=False)
    for name, options, said in (
        ("C.csv", ["--correlation", "60"], "the correlations of 3 variables, of 60 observations,"),
        ("gaps.csv", [], "60 observations of 3 variables"),
        ("gaps.csv", ["--missing", "pairwise"], "60 observations of 3 variables"),
        ("gaps.csv", ["--missing", "drop-rows"], f"{complete} observations of 3 variables"),
        ("words.csv", [], "60 observations of 3 variables"),
        ("mixed.csv", [], "60 observations of 3 variables"),
    ):
        assert cli.main(["run", name, *options, "--out", "out", "--force", "--plot", "none"]) == cli.OK
        assert capsys.readouterr().out.startswith(f"read {said} from {name}\n")
