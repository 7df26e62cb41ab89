"""What is said of the columns of a table: copies, sums, row numbers, values that may mean "missing"."""

import re
import warnings
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from any_tables import chain
from common import run
from dependent_columns import dummies
from small_tables import NAMES, chain_table

import pycupc
from pycupc import SuffStat, cli
from pycupc.data.column_checks import groups_of_copies, sums_of_columns
from pycupc.data.mixed import MixedTable
from pycupc.discrete import DiscreteSuffStat
from pycupc.independence.missing.data import IncompleteTable


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
    frame = pd.DataFrame(chain_table(), columns=NAMES)
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
    frame = pd.DataFrame(chain_table(60 + start), columns=NAMES)
    frame["c"] = [values[k % 2 + 1] for k in range(start)] + [values[k % 4] for k in range(60)]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        SuffStat.from_data(frame)
    assert len(said) == (words is not None)
    assert words is None or f"c is {words}" in str(said[0].message)


def test_the_notice_of_a_sentinel_names_the_option(here, capsys):
    frame = pd.DataFrame(np.round(chain_table(), 2), columns=NAMES)
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


def test_numbers_that_may_mean_a_missing_value_are_named_in_any_table(tmp_path):
    x = chain()[:60, :3]
    gappy = x.copy()
    gappy[:4, 0], gappy[4:8, 0], gappy[8:10, 1] = np.nan, -99, -999
    said = r"column 0 is -99 in 4 rows, far from all other values, which are -\d.*column 1 is -999 in 2 rows"
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        IncompleteTable(gappy)
    assert re.search(said, " ".join(str(one.message) for one in found))
    x[4:8, 0] = -99
    table = pd.DataFrame(x, columns=["a", "b", "c"]).assign(w=["up", "down", "nan"] * 20)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        MixedTable.of(table).check()
    text = " ".join(str(one.message) for one in found)
    assert re.search("a is -99 in 4 rows.*'nan' is a category of w; if it means a missing value: na=", text)
    MixedTable.of(table).take(np.arange(60)).check()  # of resamples nothing is said again: warnings are errors
    MixedTable.of(table).take(np.arange(0, 9, 3)).check()  # with one value of w, in as many rows as it has values
    table.drop(columns="w").assign(w=["up", "down"] * 30).to_csv(tmp_path / "d.csv", index=False)
    assert "-99.0" in (tmp_path / "d.csv").read_text()
    assert np.isnan(MixedTable.of(tmp_path / "d.csv", na=["-99"], missing="keep").values).sum() == 4


def test_words_that_may_mean_a_missing_value_are_named_where_they_are_categories():
    table = pd.DataFrame({"a": ["None", "mild"] * 9, "b": ["x", "y", "z"] * 6})
    remedy = r"na=\['None'\] of the function that reads the file, or NaN in place of it"
    with pytest.warns(UserWarning, match=f"^'None' is a category of a; if it means a missing value: {remedy}$"):
        assert DiscreteSuffStat.from_data(table).nlev.tolist() == [2, 3]


def table(n, p, seed=0):
    return np.random.default_rng(seed).standard_normal((n, p)) * 10 + 3


@pytest.mark.parametrize("n", [2, 7, 8, 9, 100])
def test_copies_are_found_among_columns_that_agree_in_most_rows(n):
    rng = np.random.default_rng(n)
    X = (rng.random((n, 300)) < 0.2).astype(float)
    want = {}
    for j, column in enumerate(X.T.tolist()):
        want.setdefault(tuple(column), []).append(j)
    assert groups_of_copies(X) == sorted(group for group in want.values() if len(group) > 1)


def test_groups_of_copies():
    X = table(10, 12)
    assert groups_of_copies(X) == []
    X[:, [11, 4, 9]] = X[:, [2]]
    X[:, 1] = X[:, 0]
    X[3, [5, 6]] = X[3, [6, 5]]
    assert groups_of_copies(X) == [[0, 1], [2, 4, 9, 11]]
    assert groups_of_copies(np.asfortranarray(X)) == [[0, 1], [2, 4, 9, 11]]
    assert groups_of_copies(np.array([[0.0, -0.0, 1.0], [2.0, 2.0, 3.0]])) == [[0, 1]]


def test_columns_that_add_up_are_named(capsys, here):
    X, names = dummies(), ["site_A", "site_B", "site_C", "y", "z"]
    text = (
        "site_A, site_B, site_C are linearly dependent: tests given all but one of them are decided by rounding in "
        "every program"
    )
    with pytest.warns(UserWarning, match=text):
        pycupc.pc(pd.DataFrame(X, columns=names), alpha=0.01, engine="cpu")
    path = here / "x.csv"
    np.savetxt(path, X, delimiter=",", header=",".join(names), comments="")
    assert run("run", path, "--alpha", "0.01", "--plot", "none", "--engine", "cpu") == 0
    assert text in capsys.readouterr().err


def test_only_columns_that_add_up_are_named():
    rng = np.random.default_rng(0)
    A, every = rng.standard_normal((300, 3)), np.arange(8)
    X = np.column_stack([A, A.sum(axis=1), A[:, 0] + 1e-6 * rng.standard_normal(300), rng.standard_normal((300, 3))])
    assert sums_of_columns(X, every) == [[0, 1, 2, 3]]
    assert sums_of_columns(X + 100, every) == [[0, 1, 2, 3]]
    assert sums_of_columns(X[:, :3], every[:3]) == []
    assert sums_of_columns(X[:9], every) == []  # few rows are explained by any columns
    for scale in (1e-11, 1e-8, 1e-3):
        nearly = np.column_stack([A, A.sum(axis=1) + scale * rng.standard_normal(300)])
        assert sums_of_columns(nearly, every[:4]) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pycupc.SuffStat.from_data(np.column_stack([nearly, A[:, 0] + 1e-6 * A[:, 1] ** 2]))
    rare = np.zeros((1000, 2))
    rare[[3, 500], [0, 1]] = 1.0  # constant in most rows
    X = np.column_stack([rare, 1 - rare.sum(axis=1), rng.standard_normal(1000)])
    assert sums_of_columns(X, every[:4]) == [[0, 1, 2]]


@pytest.mark.parametrize("change", ["far from zero", "small", "large", "float32", "one large row", "constant at first"])
def test_sums_are_found_whatever_the_scale(change):
    """A few rows show that most tables have none; they must not hide one."""
    X = np.random.default_rng(2).integers(-9, 10, (300, 6)).astype(float)
    if change == "constant at first":
        X[:200, 1] = 3.0
    X[:, 5] = X[:, 1] + X[:, 2] - X[:, 4]
    changed = {
        "far from zero": X + 2.0**50,
        "small": X * 2.0**-500,
        "large": X * 2.0**500,
        "float32": X.astype(np.float32),
        "one large row": X * np.where(np.arange(300) == 7, 2.0**20, 1.0)[:, None],
    }
    assert sums_of_columns(changed.get(change, X), np.arange(6)) == [[1, 2, 4, 5]]
