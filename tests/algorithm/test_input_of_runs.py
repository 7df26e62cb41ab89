"""Input of whole runs, beside its kinds (data/test_kinds_of_input.py): fixed pairs, scales, progress, pickles."""

import inspect
import io
import json
import logging
import os
import pickle
import re
import subprocess
import sys
import threading
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from common import assert_same, refused, run

import pycupc
from pycupc import Interrupted, SuffStat, cli, gaussCItest, pc, skeleton
from pycupc.data import EXAMPLES, DataError, load_example, read_data
from pycupc.data.mixed import MixedTable
from pycupc.data.readers import ReadOptions, read_correlation
from pycupc.data.table import Table
from pycupc.discrete import DiscreteSuffStat
from pycupc.independence.gaussian.correlation import scaled
from pycupc.independence.missing.data import IncompleteTable
from pycupc.stability.stability_arguments import OWN
from pycupc.system.nearest import hinted

NAMES = list("abcde")


def table(n=60, seed=0):
    """Five variables in a chain."""
    return np.random.default_rng(seed).standard_normal((n, 5)).cumsum(axis=1)


def manifest(folder):
    return json.loads(Path(folder, "manifest.json").read_text(encoding="utf-8"))


# -- command line -----------------------------------------------------------------------------------------------------


def edges(folder):
    return Path(folder, "edges.csv").read_text(encoding="utf-8")


def test_the_result_of_a_function_without_a_name_can_be_pickled():
    fit = pc(None, lambda x, y, S, data: 0.5 if S else 0.001, p=4)
    assert pickle.loads(pickle.dumps(fit)) == fit


def test_decisions_are_one_line_and_in_the_manifest(here, capsys):
    pd.DataFrame(table()).to_csv("d.csv")
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
    rows = [[f"{value:.3f}" for value in row] for row in table()]
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


CARS = "make,price,kind,doors,note\n" + "".join(
    f"m{k % 9},{k * 1.5},{'abc'[k % 3]},{k % 4},{'x' if k == 7 else k % 6}\n" for k in range(40)
)


def test_all_columns_that_are_no_numbers_are_named(here, capsys):
    Path("d.csv").write_text(CARS)
    assert run("run", "d.csv", "--plot", "none") == cli.DATA
    said = capsys.readouterr().err
    assert "line 2 (row 1 of the data), column 1 ('make'): 'm0' is not a number." in said
    assert (
        "3 of 5 columns hold other cells than numbers: make, kind, note (1 of 40 cells); only numbers: price, doors."
        in said
    )
    assert "(--drop-non-numeric), or choose columns (--drop make kind note, --only price doors)" in said
    assert "--test discrete" in said
    assert "--index" not in said  # the values of `make` repeat, so that they name no rows
    for options in (["--drop-non-numeric"], ["--drop", "make", "kind", "note"], ["--only", "price", "doors"]):
        assert run("run", "d.csv", "--plot", "none", "--force", *options) == cli.OK
        assert manifest("d-pycupc")["input"]["variables"] == 2
        left_out = "left out, since they hold other cells than numbers: make, kind, note (1 of 40 cells)"
        assert (left_out in capsys.readouterr().err) == (options == ["--drop-non-numeric"])
    assert run("run", "d.csv", "--drop", "make", "nose", "mouth", "--force") == cli.DATA
    assert "no column to drop is named 'nose', 'mouth'; the columns are make, price" in capsys.readouterr().err
    assert run("run", "--drop", "make", "d.csv") == cli.USAGE
    assert "DATA stands before --drop and --only" in capsys.readouterr().err
    Path("rows.csv").write_text("id,a,b\n" + "".join(f"r{k},{k % 3},{k % 5}\n" for k in range(9)))
    assert run("run", "rows.csv", "--plot", "none") == cli.OK
    assert "id names the rows (to keep: --keep id)" in capsys.readouterr().err


def test_columns_are_chosen_in_python(here):
    Path("d.csv").write_text(CARS)
    frame = pd.read_csv("d.csv")
    sources = ["d.csv", frame]
    if find_spec("polars"):
        sources.append(import_module("polars").from_pandas(frame))
    if find_spec("pyarrow"):
        frame.to_parquet("d.parquet")
        sources.append("d.parquet")
    for source in sources:
        refused("make.*kind.*note.*price, doors.*ogether: pc.MixedTable.of", pc, source, error=(TypeError, DataError))
        for options in ({"drop": ["make", "kind", "note"]}, {"only": ["doors", "price"]}):
            assert SuffStat.from_data(source, **options).labels == ("price", "doors")
        with pytest.warns(UserWarning, match="left out, since .*: make, kind, note"):
            assert SuffStat.from_data(source, drop_non_numeric=True).labels == ("price", "doors")
    with pytest.raises(ValueError, match="columns 1 and 3 are both named 'make'"):
        SuffStat.from_data(frame.rename(columns={"kind": "make"}), drop=["note"])
    refused("drop must be a sequence of texts, got 'make'", SuffStat.from_data, frame, drop="make", error=TypeError)
    with pytest.raises(TypeError, match="'header' is an option of reading files, got pandas.DataFrame"):
        SuffStat.from_data(frame, header="yes")
    with pytest.raises(TypeError, match="choose columns of a DataFrame, got numpy.ndarray"):
        SuffStat.from_data(table(), drop=["a"])


@pytest.mark.parametrize(
    ("column", "categories"), [("0.5 1.5 2.5", False), ("1.0 2.0 3.0", True), ("0,5 1,5 2,5", False), ("range", False)]
)
def test_measurements_are_no_categories(here, capsys, column, categories):
    values = list(map(str, range(40))) if column == "range" else column.split()
    rows = [["mf"[k % 2], "xyz"[k % 3], values[k % len(values)]] for k in range(60)]
    pd.DataFrame(rows, columns=["sex", "site", "weight"]).to_csv("d.csv", index=False)
    damaged = "," in column
    assert run("run", "d.csv", "--plot", "none", "--force") == (cli.DATA if damaged else cli.OK)
    said = capsys.readouterr().err
    assert ("holds categories" in said) == categories
    assert categories or damaged or "2 of 3 columns hold words (sex, site), so that the test of numbers and" in said
    assert run("run", "d.csv", "--test", "discrete", "--plot", "none", "--force") == cli.OK
    asked = f"each number counts as a category, .*; numbers of categories: weight \\({len(values)}\\)"
    assert (re.search(asked, capsys.readouterr().err) is None) == categories
    if not categories:
        with pytest.warns(UserWarning, match=asked):
            DiscreteSuffStat.from_data("d.csv")


@pytest.mark.parametrize("command", ["run", "stability"])
def test_dropped_rows_are_reported(here, capsys, command):
    frame = pd.DataFrame(table(), columns=NAMES)
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


def test_options_of_reading(here):
    frame = pd.DataFrame(np.round(table() * 32) / 32, columns=NAMES)
    frame.to_csv("plain.csv", index=False)
    frame.to_csv("german.csv", index=False, sep=";", decimal=",")
    Path("noted.csv").write_text("% notes\n" + Path("plain.csv").read_text() + "1,2,?,4,5\n")
    assert run("run", "plain.csv", "--plot", "none") == cli.OK
    assert run("run", "german.csv", "--decimal", ",", "--plot", "none") == cli.OK
    code = run("run", "noted.csv", "--comment", "%", "--na", "?", "--missing", "drop-rows", "--plot", "none")
    assert code == cli.OK
    assert edges("plain-pycupc") == edges("german-pycupc") == edges("noted-pycupc")
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter("book.xlsx") as book:
        frame.to_excel(book, sheet_name="data", index=False)
        frame.to_excel(book, sheet_name="other", index=False)
    assert run("run", "book.xlsx", "--plot", "none") == cli.DATA
    assert run("run", "book.xlsx", "--sheet", "data", "--plot", "none") == cli.OK
    assert edges("book-pycupc") == edges("plain-pycupc")
    assert run("run", "plain.csv", "--sheet", "data", "--plot", "none", "--force") == cli.DATA


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"header": "maybe"}, ValueError, "header must be one of 'auto', 'yes', 'no', got 'maybe'"),
        ({"decimal": ";"}, ValueError, "decimal must be one of '.', ',', got ';'"),
        ({"missing": "ignore"}, ValueError, "missing must be one of 'error', 'drop-rows', 'keep', got 'ignore'"),
        ({"delimiter": '"'}, ValueError, "delimiter must be one character, no quotation mark"),
        ({"comment": "//"}, ValueError, "comment must be one character, .* got '//'"),
        ({"drop": "radius_mean"}, TypeError, "drop must be a sequence of texts, got 'radius_mean'"),
        ({"decimal": ",", "delimiter": ","}, ValueError, "',' cannot be delimiter and decimal point at once"),
        ({"separator": ","}, TypeError, "unexpected keyword argument 'separator'"),
    ],
)
def test_wrong_options_of_reading(options, error, words):
    refused(words, read_data, EXAMPLES["cell_nuclei"], **options, error=error)


def test_standard_input(here, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(EXAMPLES["cell_nuclei"].read_bytes())))
    assert run("run", "-", "--plot", "none", "--quiet") == cli.OK
    assert run("run", "--example=cell_nuclei", "--plot", "none", "--quiet") == cli.OK
    assert edges("data-pycupc") == edges("example-pycupc")
    one, two = manifest("data-pycupc")["input"], manifest("example-pycupc")["input"]
    assert one["path"] == "standard input"
    assert (one["sha256"], one["bytes"]) == (two["sha256"], two["bytes"])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipe(here):
    os.mkfifo("pipe")
    writer = threading.Thread(target=lambda: Path("pipe").write_bytes(EXAMPLES["cell_nuclei"].read_bytes()))
    writer.start()
    frame = read_data("pipe")
    writer.join()
    pd.testing.assert_frame_equal(frame, load_example("cell_nuclei"))


def test_matrices_of_correlations_and_covariances_are_not_data(here, capsys):
    frame = pd.DataFrame(table(), columns=NAMES)
    frame.corr().to_csv("corr.csv")
    frame.cov().to_csv("cov.csv", index=False)
    assert run("run", "corr.csv", "--plot", "none") == cli.DATA
    assert 'correlation matrix C of n observations: pc({"C": C, "n": n}), on the command line --correlation N' in (
        capsys.readouterr().err
    )
    assert run("run", "cov.csv", "--plot", "none") == cli.DATA
    assert "covariance matrix" in capsys.readouterr().err
    assert run("run", "corr.csv", "--correlation", 60, "--plot", "none") == cli.OK


def test_correlation_matrix_with_numbers_as_names(here):
    C = np.corrcoef(table(), rowvar=False)
    pd.DataFrame(C).to_csv("named.csv")
    np.savetxt("bare.csv", np.eye(5), delimiter=",", fmt="%g")
    with pytest.warns(UserWarning, match="read as names"):
        read = read_correlation("named.csv")
    np.testing.assert_array_equal(read.values, C)
    assert read.labels == list("01234")
    assert read_correlation("bare.csv").labels == ["V1", "V2", "V3", "V4", "V5"]
    assert read_correlation("named.csv", ReadOptions(header="yes")).labels == list("01234")


def test_only_the_libraries_that_are_needed_are_imported(here):
    """A CSV file needs neither pandas nor pyarrow; an array needs no library of tables."""
    np.savetxt("d.csv", table(), delimiter=",", header="a,b,c,d,e", comments="")
    code = (
        "import sys, numpy, pycupc; pycupc.pc('d.csv'); pycupc.pc(numpy.loadtxt('d.csv', delimiter=',', skiprows=1));"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'narwhals', 'xarray', 'anndata', 'scipy.sparse', 'torch', 'cupy',"
        " 'openpyxl'} & set(sys.modules)))"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(pycupc.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout.strip() == "[]"


def test_names_that_are_formulas(here, capsys):
    names = ["=cmd|' /C calc'!A0", "-b", '@c,"', "+d", "-1"]
    frame = pd.DataFrame(table(), columns=names)
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


# -- fixed pairs ------------------------------------------------------------------------------------------------------


def test_fixed_pairs_by_name():
    frame = pd.DataFrame(table(), columns=NAMES)
    mask = np.zeros((5, 5), dtype=bool)
    mask[0, 1] = mask[1, 0] = mask[2, 4] = mask[4, 2] = True
    matrix = pd.DataFrame(mask, index=NAMES, columns=NAMES)
    pairs = [("a", "b"), ("e", "c")]
    for name in ("fixedGaps", "fixedEdges"):
        want = pc(frame, **{name: mask})
        shuffled = matrix.loc[list("cabed"), list("edcba")]
        more = [import_module("polars").DataFrame(mask, schema=NAMES)] if find_spec("polars") else []
        for given in (matrix, shuffled, pairs, [list(pair) for pair in pairs], {("b", "a"), ("c", "e")}, *more):
            assert_same(pc(frame, **{name: given}), want)
        assert_same(pc(frame, **{name: pd.DataFrame(mask)}), want)  # without names: by position
        assert_same(pc(frame, **{name: []}), pc(frame))
    for given, words in {
        "unknown": ([("a", "q")], "fixedGaps: there is no variable 'q'"),
        "itself": ([("a", "a")], "fixedGaps: 'a' is paired with itself"),
        "other names": (matrix.rename(columns={"a": "q"}), "not variables: q; not in fixedGaps: a"),
        "other rows": (matrix.rename(index={"a": "q"}), "same names for rows and columns"),
    }.values():
        refused(words, pc, frame, fixedGaps=given)


# -- numbers ----------------------------------------------------------------------------------------------------------


class Doubtful:
    """An engine whose correlations overflow where the columns do not come scaled."""

    def correlation(self, X):
        with np.errstate(all="raise"):
            Z = X - X.mean(axis=0)
            return np.clip((Z.T @ Z) / np.sqrt(np.outer((Z**2).sum(axis=0), (Z**2).sum(axis=0))), -1, 1)


@pytest.mark.parametrize("scales", [[1e-200, 1, 1e153, 1e300, 1e-290], [1e308, 1e-307, 1e-160, 1e160, 1]])
def test_extreme_scales(scales):
    X = np.clip(table(), -1.7, 1.7)
    X -= X.mean(axis=0)
    want = SuffStat.from_data(X)
    got = SuffStat.from_data(X * scales)
    np.testing.assert_allclose(got.C, want.C, rtol=0, atol=1e-15)
    assert_same(pc(got), pc(want))
    on_device = SuffStat.from_data(X * scales, engine=Doubtful())
    np.testing.assert_allclose(on_device.C, want.C, rtol=0, atol=1e-14)


def test_scaling_is_exact():
    X = table()
    assert scaled(X) is X
    powers = np.array([-900, 0, 500, 1000, -1000])
    np.testing.assert_array_equal(SuffStat.from_data(np.ldexp(X, powers)).C, SuffStat.from_data(X).C)
    ratio = scaled(np.ldexp(X, powers)) / X
    assert (ratio == ratio[0]).all()
    assert (np.frexp(ratio[0])[0] == 0.5).all()
    X = np.round(table() * 1000)  # denormal columns
    np.testing.assert_array_equal(SuffStat.from_data(X * 5e-324).C, SuffStat.from_data(X).C)
    with np.errstate(all="raise"):
        assert np.abs(scaled(X * 5e-324)).max() <= 1


def warned(data):
    with pytest.warns(UserWarning, match="column") as record:
        stat = SuffStat.from_data(data)
    return stat, sorted(str(w.message) for w in record)


def test_copies_and_constants_are_named_on_every_path(tmp_path):
    """257 variables, 20 observations, 31 copies of one column."""
    names, X = [f"x{j}" for j in range(257)], np.random.default_rng(5).standard_normal((20, 257))
    X[:, 226:], X[:, 100] = X[:, [7]], 3.0
    frame = pd.DataFrame(X, columns=names)
    frame.to_csv(tmp_path / "d.csv", index=False)
    want, said = warned(frame)
    assert len(said) == 2
    assert said[0] == "constant columns have no correlations, hence no edges: x100"
    assert said[1].startswith("identical columns cannot be told from each other; ")
    assert ": x7 = x226 = x227" in said[1]
    paths = [frame, tmp_path / "d.csv", frame.convert_dtypes()]
    for module, build in {
        "polars": lambda m: m.DataFrame(X, schema=names),
        "pyarrow": lambda m: m.Table.from_pandas(frame),
        "xarray": lambda m: m.DataArray(X, dims=("o", "v"), coords={"v": names}),
    }.items():
        if find_spec(module):
            paths.append(build(import_module(module)))
    for path in paths:
        got, also_said = warned(path)
        assert also_said == said
        np.testing.assert_array_equal(got.C, want.C)


def test_a_column_that_counts_the_rows_is_named():
    frame = pd.DataFrame(table(), columns=NAMES)
    frame.insert(0, "Unnamed: 0", range(60))
    with pytest.warns(UserWarning, match="^Unnamed: 0 counts 0, 1, 2, ... through the rows.*leave it out"):
        SuffStat.from_data(frame)
    frame = frame.iloc[:, 1:].assign(id=range(1, 61), shuffled=np.random.default_rng(1).permutation(60))
    mixed = MixedTable.of(frame.assign(w=["up", "down"] * 30))
    gappy = frame.where(frame != frame.iloc[3, 0])
    for check in (lambda: SuffStat.from_data(frame), lambda: IncompleteTable(gappy), mixed.check):
        with pytest.warns(UserWarning, match="^id counts 1, 2, 3, ... through the rows") as found:
            check()
        assert len(found) == 1


SENTINELS = {
    "-999": ([20, 35, 80, -999], "-999 in 15 rows, far from all other values, which are 20 to 80"),
    "-99": ([20, 35, 60, -99], "-99 in 15 rows"),
    "9999": ([20.5, 35, 80, 9999], "9999 in 15 rows"),
    "beside 0 and 1": ([0, 1, 1, -9], "-9 in 15 rows"),
    "0 and 1": ([0, 1, 1, 0], None),
    "doses": ([0, 1, 10, 100], None),
    "years": ([1999, 2000, 2001, 1998], None),
    "zeros": ([0, 5.1, 5.2, 5.3], None),
    "within": ([-99, -50, 3, 70], None),
}


@pytest.mark.parametrize("kind", SENTINELS)
@pytest.mark.parametrize("start", [0, 70])
def test_values_that_may_mean_missing_are_named(kind, start):
    values, words = SENTINELS[kind]
    frame = pd.DataFrame(table(60 + start), columns=NAMES)
    frame["c"] = [values[k % 2 + 1] for k in range(start)] + [values[k % 4] for k in range(60)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        SuffStat.from_data(frame)
    assert len(said) == (words is not None)
    assert words is None or f"c is {words}" in str(said[0].message)


def test_the_notice_of_a_sentinel_names_the_option(here, capsys):
    frame = pd.DataFrame(np.round(table(), 2), columns=NAMES)
    frame.loc[3:5, "c"] = -999
    frame.to_csv("d.csv", index=False)
    assert run("run", "d.csv", "--plot", "none") == cli.OK
    assert "if that means a missing value: --na -999" in capsys.readouterr().err
    remedy = r"na=\['-999'\] of the function that reads the file, or NaN in place of it"
    with pytest.warns(UserWarning, match=f"^c is -999 in 3 rows, .*if that means a missing value: {remedy}$"):
        pycupc.choose(frame)
    assert len(pycupc.choose("d.csv", na=["-999"]).content.gaps) == 1
    assert run("run", "d.csv", "--na", "-999", "--missing", "drop-rows", "--plot", "none", "--force") == cli.OK
    assert "3 of 60 rows dropped, 3 because of c" in capsys.readouterr().err


def test_a_point_where_the_comma_is_the_decimal_point_is_no_infinite_value(here, capsys):
    (here / "d.csv").write_text("a;b\n0,5;1\n0.5;2\n1,5;0\n")
    assert run("run", "d.csv", "--decimal", ",") == cli.DATA
    assert "'0.5' is not a number; with --decimal , no number may hold a point" in capsys.readouterr().err


def test_whole_numbers_that_float64_rounds_are_named(here):
    big = pd.DataFrame({"a": np.arange(9) ** 2, "id": np.arange(9) ** 3 % 7 + 2**53, "c": np.arange(9) % 4})
    sources = [big, big.convert_dtypes()]
    if find_spec("polars"):
        sources.append(import_module("polars").from_pandas(big))
    if find_spec("pyarrow"):
        big.to_parquet("d.parquet")
        sources += ["d.parquet", import_module("pyarrow").Table.from_pandas(big)]
    big.to_csv("d.csv", index=False)
    for source in [*sources, "d.csv"]:
        with pytest.warns(UserWarning, match=r"beyond 2\^53 are rounded .*: id; leave out identifiers"):
            SuffStat.from_data(source)
    with pytest.warns(UserWarning, match=r"beyond 2\^53 are rounded .*: column 1;"):
        SuffStat.from_data(big.to_numpy())
    SuffStat.from_data(big.to_numpy().astype(float))  # no warning: these are the numbers
    SuffStat.from_data(big.to_numpy() // 2)
    big.astype({"id": float}).to_csv("d.csv", index=False)
    SuffStat.from_data("d.csv")


def test_missing_values_and_categories_are_carried():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [2, 2, 2]})
    numbers = Table.of(frame)
    assert (numbers.labels, numbers.constant.tolist()) == (("a", "b"), [1])
    sizes = pd.Categorical(["S", "L", "S"], categories=["S", "L"], ordered=True)
    codes = Table.of(pd.DataFrame({"size": sizes, "who": ["x", "y", "y"]}), categories=True)
    assert codes.categories == (("L", "S"), ("x", "y"))
    assert codes.values.tolist() == [[1, 0], [0, 1], [1, 1]]


# -- arguments --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [pc, skeleton])
@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((), {"data": table()}, r"first argument of {0}, suffStat: {0}\(data, alpha=0.01\)"),
        ((table(), 0.05), {}, r"got 0.05; the significance level is alpha: {0}\(data, alpha=0.05\)"),
        ((table(),), {"alhpa": 0.05}, "^{0} has no argument alhpa: did you mean alpha[?]$"),
        ((table(),), {"indep_test": None}, "^{0} has no argument indep_test: did you mean indepTest[?]$"),
        ((table(),), {"significance_level": 0.05}, "did you mean alpha[?]$"),
        ((table(),), {"n_jobs": 2}, "did you mean numCores[?]$"),
        ((table(),), {"zzz": 2}, "^{0} has no argument zzz; its arguments are suffStat, indepTest, alpha, labels"),
        ((None,), {}, "data must be a table of observations .*, got None;"),
    ],
)
def test_arguments_that_users_expect_are_explained(function, arguments, options, words):
    refused(words.format(function.__name__), function, *arguments, **options, error=TypeError)


FUNCTIONS = sorted(name for name in pycupc.__all__ if inspect.isfunction(getattr(pycupc, name)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_names_the_argument_that_was_meant(name):
    """And looks to `inspect`, `help` and `pickle` as it would without that."""
    function = getattr(pycupc, name)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]
    meant = max((p.name for p in parameters), key=len)
    wrong = f"{meant[:-2]}{meant[-1]}{meant[-2]}x"  # two letters exchanged, and another one
    given = {p.name: None for p in parameters if p.default is p.empty and p.name != meant}
    given |= {"n_resamples": 2} if name in ("stability", "cstar") else {}
    words = f"is no argument of {name} or pc" if name in ("stability", "cstar") else ""
    refused(f"{wrong}.*{words}: did you mean {meant}[?]$", function, **given, **{wrong: None}, error=TypeError)
    assert pickle.loads(pickle.dumps(function)) is function
    assert inspect.getdoc(function)
    assert list(inspect.signature(function).parameters) == list(inspect.signature(function.__wrapped__).parameters)


def test_the_arguments_of_stability_and_cstar_are_known():
    for name, own in OWN.items():
        assert {*own, "arguments"} == {*inspect.signature(getattr(pycupc, name)).parameters}
    refused(
        "^standardise is .*: did you mean standardize[?]$", pycupc.cstar, table(), standardise=True, error=TypeError
    )
    refused(
        "^indep_test is .*: did you mean indepTest[?]$", pycupc.stability, table(), indep_test=None, error=TypeError
    )


def test_errors_inside_a_function_are_left_alone():
    def within(x):
        return x + 1

    call = hinted(lambda x=None: within(x))
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        call()
    assert not caught.value.__suppress_context__


def test_numbers_of_observations_and_infinite_correlations():
    assert SuffStat(np.eye(3), 2**70).n == 2**70
    refused("'C' and 'n'; missing: n", pc, {"C": np.eye(3), "n": None})
    C = np.eye(3)
    C[0, 1] = C[1, 0] = np.inf
    for engine in ("cpu", "reference"):
        refused(r"correlations in \[-1, 1\], but C\[0, 1\] = inf", pc, {"C": C, "n": 50}, engine=engine)


def test_a_warning_points_to_the_call():
    C = np.eye(4)
    C[0, 1] = C[1, 0] = np.nan
    for function in (pc, skeleton):
        with pytest.warns(UserWarning, match="C has NaN") as said:
            function({"C": C, "n": 50})
        assert said[0].filename == __file__


def test_progress_true_is_the_bar(capsys):
    assert_same(pc(table(), progress=True, engine="reference"), pc(table()))
    shown = capsys.readouterr().err
    assert "level  0: 100%" in shown
    assert shown.endswith("\n")
    assert_same(skeleton(table(), progress=False), skeleton(table()))
    assert capsys.readouterr().err == ""
    with pytest.raises(TypeError, match="progress must be True, False, None, or callable .*, got 'yes'"):
        pc(table(), progress="yes")


def test_interrupted_can_be_pickled():
    def stop(level, *_):
        if level == 1:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        skeleton(load_example("cell_nuclei"), progress=stop, engine="reference")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is Interrupted
    assert str(again) == str(caught.value)
    assert again.level == 1
    assert_same(again.partial, caught.value.partial)
    assert str(pickle.loads(pickle.dumps(Interrupted(0, None)))) == str(Interrupted(0, None))


def test_custom_test_with_a_table_needs_no_p():
    frame = pd.DataFrame(table(), columns=NAMES)

    def test(x, y, S, data):
        return gaussCItest(x, y, S, SuffStat.from_data(data))

    fit = pc(frame, test, alpha=0.05)
    assert fit.labels == tuple(NAMES)
    np.testing.assert_array_equal(fit.graph, pc(frame, alpha=0.05).graph)
    assert pc(frame, test, alpha=0.05, p=3).labels == ("1", "2", "3")  # some of its columns
    refused("either labels or p must be given", pc, frame.to_numpy(), test)


def expression(n, p=12, names=None):
    """Numbers of n genes in p samples, each gene with a level of its own."""
    rng = np.random.default_rng(0)
    values = rng.normal(8, 2, (n, 1)) + rng.standard_normal((n, p))
    return pd.DataFrame(values, [f"ENSG{k:07}" for k in range(n)], names or [f"x{k}" for k in range(p)])


SAMPLES = [f"sample_{k}" for k in range(3)]
TRANSPOSED = "rows were read as observations, and {} columns as variables; if the rows are variables, .* transpose"
#: A table, options of reading, and whether its rows may be variables.
MAY_BE_TRANSPOSED = {
    "genes named in the first column": (expression(1200), {}, True),
    "genes in a column with a name": (expression(1200).rename_axis("gene"), {"index": "yes"}, True),
    "genes in a column that is dropped": (expression(1200).rename_axis("gene"), {"drop": ["gene"]}, True),
    "all columns of text dropped": (expression(1200).rename_axis("gene"), {"drop_non_numeric": True}, True),
    "fewer rows": (expression(1199), {}, False),
    "rows that are numbered": (expression(1200).reset_index(drop=True), {}, False),
    "groups, not names": (expression(1200).set_axis(["a", "b"] * 600), {}, False),
    "numbers for names": (expression(1200).set_axis([f"{k / 4}" for k in range(1200)]), {}, False),
    "columns named as samples": (expression(4, 3, SAMPLES).reset_index(drop=True), {}, True),
    "columns named as accessions": (expression(30, 3, ["GSM10034", "GSM10035", "gsm10036"]), {}, True),
    "one column named otherwise": (expression(30, 3, [*SAMPLES[:2], "age"]), {}, False),
    "samples in rows, too": (expression(3, 3, SAMPLES), {}, False),
    "words of the same kind": (expression(30, 2, ["case", "sample_size"]), {}, False),
}


@pytest.mark.parametrize("kind", MAY_BE_TRANSPOSED)
@pytest.mark.parametrize("ending", ["csv", "memory"])
def test_tables_that_may_be_transposed_are_named(tmp_path, caplog, kind, ending):
    frame, options, expected = MAY_BE_TRANSPOSED[kind]
    if ending == "csv":
        frame.to_csv(tmp_path / "d.csv")
        data = tmp_path / "d.csv"
    else:
        data, options = frame, {}
    with warnings.catch_warnings(record=True) as found, caplog.at_level(logging.INFO, logger="pycupc"):
        warnings.simplefilter("always")
        Table.of(data, **options)
    said = [str(one.message) for one in found if "transpose" in str(one.message)]
    assert len(said) == expected
    if expected:
        assert re.search(f"{len(frame):,} {TRANSPOSED.format(frame.shape[1])}", said[0])
        assert said[0].startswith(f"{data}: ") == (ending == "csv")
    lines = [f"read {len(frame)} observations of {frame.shape[1]} variables from {data}"] * (ending == "csv")
    assert [line for line in caplog.messages if "observations of" in line] == lines


@pytest.mark.parametrize("ending", ["csv", "with a name", "with another text", "parquet", "npy"])
def test_tables_are_transposed(here, capsys, ending):
    frame = expression(40, 60)
    names, data = list(frame.index), Path({"parquet": "d.parquet", "npy": "d.npy"}.get(ending, "d.csv"))
    if ending == "npy":
        np.save(data, frame.to_numpy())
        names = [f"V{k + 1}" for k in range(40)]
    elif ending == "parquet":
        pytest.importorskip("pyarrow")
        frame.rename_axis("gene").reset_index().to_parquet(data)
    else:
        named = frame.rename_axis("gene") if ending != "csv" else frame
        (named.assign(about="text") if ending == "with another text" else named).to_csv(data)
    want = pc(frame.T.to_numpy(), alpha=0.01)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        choice = pycupc.choose(data, transpose=True)
    assert [str(one.message).split(": ")[-1] for one in found] == ["about"] * (ending == "with another text")
    assert list(choice.labels) == names
    assert_same(pc(choice.data, alpha=0.01, labels=want.labels), want)
    assert run("run", data, "--transpose", "--plot", "none", "--out", "out") == cli.OK
    assert "read 60 observations of 40 variables from" in capsys.readouterr().out
    assert manifest("out")["input"]["layout"].endswith("transposed: rows are variables")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        some = pycupc.choose(data, transpose=True, only=[names[4], names[2], names[9]], drop=[names[9]])
    assert some.labels == (names[2], names[4])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(read_data(data, transpose=True).to_numpy(), frame.T.to_numpy())


def test_categories_are_transposed(here):
    rng = np.random.default_rng(0)
    snps, people = [f"rs{k}" for k in range(30)], [f"s{k}" for k in range(80)]
    frame = pd.DataFrame(rng.choice(["A/A", "A/G"], (30, 80)), snps, people)
    frame.to_csv("d.csv")
    choice = pycupc.choose("d.csv", transpose=True, drop=["rs0"])
    assert choice.family == "discrete"
    assert choice.labels == tuple(f"rs{k}" for k in range(1, 30))
    np.testing.assert_array_equal(choice.data.codes, (frame.to_numpy()[1:] == "A/G").astype(int))
    refused("is an option of reading files", pycupc.choose, frame, transpose=True, error=TypeError)


def test_the_hint_to_transpose_names_the_way(here, capsys):
    expression(1200).rename_axis("gene").to_csv("d.csv")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        pc("d.csv", alpha=0.01, m_max=0)
    said = " ".join(str(one.message) for one in found)
    assert "often are, transpose the table: choose(path, transpose=True), or table.T in memory" in said
    assert run("run", "d.csv", "--plot", "none", "--m-max", "0") == cli.OK
    assert "often are, transpose the table: --transpose" in " ".join(capsys.readouterr().err.split())


def test_genotypes_in_rows_are_named_too(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.choice(["A/A", "A/G", "G/G"], (400, 4)), [f"rs{k}" for k in range(400)], [*"abcd"])
    frame.to_csv(tmp_path / "d.csv")
    with pytest.warns(UserWarning, match=f"400 {TRANSPOSED.format(4)}"):
        DiscreteSuffStat.from_data(tmp_path / "d.csv")


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
