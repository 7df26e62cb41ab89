"""Readers: well-formed files of every layout give the same table; errors name the file, the row and the column."""

import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import refused, run
from small_tables import NAMES, chain_table, edges
from table_files import (
    COLUMNS,
    FRAME,
    NUMBERED,
    PLAIN,
    VALUES,
    WANT_C,
    X,
    assert_refused,
    assert_right,
    library,
    right,
    sparse,
    text,
    write,
)

from pycupc import SuffStat, cli
from pycupc.data import EXAMPLES, DataError, load_example, read_data
from pycupc.data.readers import ReadOptions, read_correlation, read_table


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


def test_example_data():
    frame = read_data(EXAMPLES["cell_nuclei"])
    assert frame.shape == (569, 30)
    pd.testing.assert_frame_equal(frame, load_example("cell_nuclei"))
    assert frame.iloc[0, 0] == 17.99
    assert frame.iloc[-1, -1] == 0.07039
    assert (EXAMPLES["cell_nuclei"].parent / "README.md").read_text(encoding="utf-8").count("CC BY 4.0") == 1


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


def test_options_of_reading(here):
    frame = pd.DataFrame(np.round(chain_table() * 32) / 32, columns=NAMES)
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


def test_matrices_of_correlations_and_covariances_are_not_data(here, capsys):
    frame = pd.DataFrame(chain_table(), columns=NAMES)
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
    C = np.corrcoef(chain_table(), rowvar=False)
    pd.DataFrame(C).to_csv("named.csv")
    np.savetxt("bare.csv", np.eye(5), delimiter=",", fmt="%g")
    with pytest.warns(UserWarning, match="read as names"):
        read = read_correlation("named.csv")
    np.testing.assert_array_equal(read.values, C)
    assert read.labels == list("01234")
    assert read_correlation("bare.csv").labels == ["V1", "V2", "V3", "V4", "V5"]
    assert read_correlation("named.csv", ReadOptions(header="yes")).labels == list("01234")


def npy(values):
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


RIGHT_FILES = {
    "NumPy": right(npy(X), name="d.npy", labels=NUMBERED),
    "NumPy, float32, by columns": right(npy(np.asfortranarray(X, np.float32)), name="d.npy", labels=NUMBERED),
    "NumPy, a column left out": right(
        npy(np.insert(X, 1, 7, axis=1)), name="d.npy", labels=["V1", "V3", "V4", "V5"], options={"drop": ["V2"]}
    ),
    "a column of text left out": right(
        text(FRAME.assign(who=[f"p,{i}" for i in range(40)])), options={"drop": ["who"]}
    ),
}


@pytest.mark.parametrize("kind", RIGHT_FILES)
def test_right_in_files(kind, tmp_path):
    assert_right(tmp_path, RIGHT_FILES[kind])


#: What it is: (content of the file or its builder, words, name of the file if it is not d.csv).
REFUSED_FILES = {
    "correlations": (text(FRAME.corr()), r"d.csv|correlation matrix C .*--correlation N"),
    "NumPy, a vector": (npy(X[0]), r"must hold a table \(n, p\), got \(4,\)", "d.npy"),
    "NumPy, infinite": (npy(np.append(X, [[1, 2, np.inf, 3]], axis=0)), "column 'V3': infinite", "d.npy"),
    "damaged NumPy": (b"\x93NUMPY\1\0", "cannot be read as an array", "d.npy"),
    "one observation": ("a,b\n1,2\n", r"at least 2 rows \(observations\), got 1"),
}


@pytest.mark.parametrize("kind", REFUSED_FILES)
def test_refused_in_files(kind, tmp_path):
    assert_refused(tmp_path, *REFUSED_FILES[kind], of_file="NumPy" in kind)


def test_float32_files_are_mapped_and_stay_float32(tmp_path):
    np.save(tmp_path / "d.npy", X.astype(np.float32))
    data = SuffStat.from_data(tmp_path / "d.npy")
    assert data.rows.dtype == np.float32
    assert not data.rows.flags.owndata
    np.testing.assert_array_equal(data.C, WANT_C)
    mapped = np.load(tmp_path / "d.npy", mmap_mode="r")
    assert np.shares_memory(SuffStat.from_data(mapped).rows, mapped)
    assert not np.shares_memory(SuffStat.from_data(own := np.array(mapped)).rows, own)


def test_anndata_in_its_file(tmp_path):
    anndata = library("anndata")
    obs, var = (pd.DataFrame(index=pd.Index(names, dtype=object)) for names in (map(str, range(len(X))), COLUMNS))
    for kind, values in {"dense": X.astype(np.float32), "sparse": sparse("csr_matrix")}.items():
        path = tmp_path / f"{kind}.h5ad"
        anndata.AnnData(values, obs=obs, var=var).write_h5ad(path)
        for data in (path, anndata.read_h5ad(path, backed="r")):
            found = SuffStat.from_data(data)
            assert found.labels == tuple(COLUMNS)
            np.testing.assert_array_equal(found.C, WANT_C)


def test_h5ad_needs_anndata(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata", None)
    (tmp_path / "d.h5ad").write_bytes(b"")
    refused("reading .h5ad needs anndata: pip install anndata", SuffStat.from_data, tmp_path / "d.h5ad")
