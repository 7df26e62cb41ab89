"""What is a category: texts as they stand, marks of missing values, names, numbers with a unit, and codes."""

import re
import warnings
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from common import refused, run
from small_tables import manifest

import pycupc
from pycupc import cli
from pycupc.data import DataError
from pycupc.data.categories import keeping
from pycupc.data.mixed import MixedTable
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.independence.mixed.mix_ci_test import mixCItest

# -- texts ------------------------------------------------------------------------------------------------------------

#: Texts of which float() would make 1, 1000 and 11.
TEXTS = np.array(["01", "1", "1.0", "1e3", "1000", "1_1", "11", "\uff11"])


def draw(n=1200):
    """Codes (n, 3): of `TEXTS`, a noisy copy of these, and 0 or 1."""
    rng = np.random.default_rng(4)
    first = rng.integers(0, len(TEXTS), n)
    copy = np.where(rng.random(n) < 0.7, first, rng.integers(0, len(TEXTS), n))
    return np.column_stack([first, copy, rng.integers(0, 2, n)])


def kinds_of_texts():
    """The same table of texts in memory, by its kind."""
    table = TEXTS[draw()]
    frame = pd.DataFrame(table, columns=list("abc"), dtype=object)
    kinds = {
        "frame": frame,
        "string": frame.astype("string"),
        "category": frame.astype("category"),
        "object": table.astype(object),
        "masked": np.ma.masked_array(table, np.zeros(table.shape, dtype=bool)),
        "unicode": table,
        "rows": table.tolist(),
    }
    if find_spec("pyarrow"):
        arrow = import_module("pyarrow")
        kinds["arrow"] = arrow.Table.from_pandas(frame)
        kinds["dictionary of arrow"] = arrow.Table.from_pandas(kinds["category"])
        kinds["frame of arrow"] = frame.astype(pd.ArrowDtype(arrow.string()))
    if find_spec("polars"):
        polars = import_module("polars")
        kinds["polars"] = polars.from_pandas(frame)
        kinds["category of polars"] = kinds["polars"].with_columns(polars.all().cast(polars.Categorical))
    return kinds


KINDS_OF_TEXTS = kinds_of_texts()


@pytest.mark.parametrize("kind", KINDS_OF_TEXTS)
def test_a_text_is_a_category_as_it_stands(kind):
    data = KINDS_OF_TEXTS[kind]
    known = tuple(tuple(sorted(set(column))) for column in TEXTS[draw()].T.tolist())
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in TEXTS[draw()].T])
    assert list(map(len, known)) == [8, 8, 2]
    suff = DiscreteSuffStat.from_data(data)
    assert suff.categories == known
    np.testing.assert_array_equal(suff["dm"], codes)
    np.testing.assert_array_equal(IncompleteTable(data, categories=True).values, codes)
    assert MixedTable.of(data).categories == known
    np.testing.assert_array_equal(MultipleImputation([data, data], categories=True).codes[0].T, codes)
    refused("use DiscreteSuffStat.from_data", DiscreteSuffStat, data, adaptDF=False, error=TypeError)  # takes codes


def test_the_answer_does_not_depend_on_the_order_of_texts():
    """Texts sort as texts, "1000" before "11", as in R; a number of them is counted the same."""
    fits = [
        pycupc.pc(DiscreteSuffStat.from_data(data), disCItest, alpha=0.05) for data in (KINDS_OF_TEXTS["frame"], draw())
    ]
    np.testing.assert_array_equal(fits[0].graph, fits[1].graph)
    np.testing.assert_allclose(fits[0].pMax, fits[1].pMax, rtol=1e-12)  # sums in another order
    assert fits[0].graph[:2, :2].any()


def test_texts_beside_numbers_stay_texts():
    frame = pd.DataFrame({"a": ["01", "1"] * 9, "b": [1, 2, 3] * 6, "c": [1.0, 2.0] * 9, "d": ["nan", "up"] * 9})
    with pytest.warns(UserWarning, match="'nan' is a category of d"):
        suff = DiscreteSuffStat.from_data(frame)
    assert suff.categories == (("01", "1"), (1, 2, 3), (1, 2), ("nan", "up"))
    assert DiscreteSuffStat.from_data(frame[["b", "c"]].astype(object)).categories == ((1, 2, 3), (1, 2))


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_texts_of_a_file_with_types_are_categories(tmp_path, ending):
    pytest.importorskip("pyarrow")
    frame = KINDS_OF_TEXTS["frame"].assign(d=np.arange(1200) / 7, e=np.arange(1200) % 3)
    path = tmp_path / f"d.{ending}"
    for table in (frame, frame.astype({"a": "category"})):
        getattr(table, f"to_{ending}")(path)
        assert [own and len(own) for own in MixedTable.of(path).categories] == [8, 8, 2, None, None]
    with pytest.warns(UserWarning, match=r"each number counts as a category, .*: a \(8\), b \(8\)"):
        assert DiscreteSuffStat.from_data(path, drop=["d"]).nlev.tolist() == [8, 8, 2, 3]


@pytest.mark.parametrize("gap", [False, True])
def test_codes_of_a_text_file_are_texts_also_beside_gaps(here, gap):
    """With a gap as without one, "01" and "1" are two categories."""
    table = np.array(["01", "1", "1e3", "1000"])[draw()[:, :2] % 4]
    table[0, 0] = "" if gap else table[0, 0]
    pd.DataFrame(table, columns=["a", "b"]).to_csv("d.csv", index=False)
    assert run("run", "d.csv", "--test", "discrete", "--plot", "none", "--out", "out") == cli.OK
    assert manifest("out")["input"]["kind"] == ("categories with gaps" if gap else "categories")
    found = pycupc.PcAlgo.load("out/result.npz")
    data = np.where(table == "", None, table.astype(object))
    direct = IncompleteTable(data, categories=True) if gap else DiscreteSuffStat.from_data(data)
    assert int(direct.values.max() if gap else direct.codes.max()) == 3
    np.testing.assert_array_equal(found.pMax, pycupc.pc(direct, None if gap else disCItest).pMax)


# -- texts that are no categories -------------------------------------------------------------------------------------


def doors(frame, tmp_path):
    """The ways from a frame to a test of categories, by name: of tables in memory, and of a file."""
    frame.to_csv(tmp_path / "d.csv", index=False)
    texts = list(frame.select_dtypes(exclude="number"))
    tables = {"frame": frame, "object": frame.to_numpy(dtype=object), "file": tmp_path / "d.csv"}
    tables["category"] = frame.astype(dict.fromkeys(texts, "category"))
    for name, data in tables.items():
        yield f"discrete {name}", lambda data=data: DiscreteSuffStat.from_data(data)
        yield f"mixed {name}", lambda data=data: pycupc.pc(MixedTable.of(data), mixCItest)
        if name != "file":
            yield f"incomplete {name}", lambda data=data: IncompleteTable(data, categories=True)
            yield f"imputed {name}", lambda data=data: MultipleImputation([data] * 2, categories=True)


def table_with_mark(mark, numbers, n=60):
    """A measurement, beside which `numbers` depend on it, but for some cells that hold the mark; and words."""
    rng = np.random.default_rng(5)
    hits = rng.integers(0, 50, n)
    pay = 100 + 10 * hits + rng.integers(0, 40, n) if numbers == "measurements" else 1 + hits // 20
    column = [str(one) if numbers == "texts" else one for one in pay.tolist()]
    for k in (7, 21, 22):
        column[k] = mark
    return pd.DataFrame({"pay": pd.Series(column, dtype=object), "league": rng.choice(["N", "A"], n), "hits": hits})


@pytest.mark.parametrize("mark", ["?", "*", ".", "-", "--", "None", "nan"])
@pytest.mark.parametrize("numbers", ["codes", "texts", "measurements"])
def test_numbers_beside_a_mark_of_missing_values_are_refused(tmp_path, mark, numbers):
    frame = table_with_mark(mark, numbers)
    for name, call in doors(frame, tmp_path):
        if (mark in ("None", "nan") and name == "mixed file") or (mark == "nan" and name == "discrete file"):
            continue  # there it means a missing value without being told
        column = "column 0" if name.endswith("object") else "pay"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ValueError, match=re.escape(f"{column} ({mark!r})")) as error:
                call()
        assert f"na=[{mark!r}] of the function that reads the file, or NaN" in str(error.value), name
    table = MixedTable.of(tmp_path / "d.csv", na=[mark], missing="keep")
    assert table.categories[0] is None
    assert np.isnan(table.values[:, 0]).sum() == 3


@pytest.mark.parametrize("options", [[], ["--test", "mixed"], ["--test", "discrete"], ["--test", "gaussian"]])
@pytest.mark.parametrize("words", [True, False])
def test_the_command_line_names_the_option_for_a_mark(here, capsys, options, words):
    frame = table_with_mark("*", "measurements", 300)
    frame[["pay", "league", "hits"] if words else ["pay", "hits"]].to_csv("d.csv", index=False)
    taken = "taken for missing values, beside numbers: '*' in pay"
    known = options in ([], ["--test", "gaussian"]) and (not words or not options)
    code = run("run", "d.csv", *options, "--plot", "none", "--out", "out", "--force")
    assert code == (cli.OK if known else cli.DATA)
    error = capsys.readouterr().err
    assert (taken if known or options == ["--test", "gaussian"] else "--na '*'") in error
    assert "pay" in error
    found = ["--force"]
    found += ["--na", "*", "--missing", "drop-rows", "--plot", "none", "--out", "out", "--quiet"]
    if options != ["--test", "discrete"]:
        assert run("run", "d.csv", "--only", "pay", "hits", *options, *found) == cli.OK
        assert pycupc.PcAlgo.load("out/result.npz").graph.all(axis=None, where=~np.eye(2, dtype=bool))


def test_a_mark_that_is_a_word_elsewhere_is_named_in_the_error(tmp_path):
    table = table_with_mark("*", "measurements")
    table.loc[:3, "league"] = "*"
    table.to_csv(tmp_path / "d.csv", index=False)
    said = r"Beside numbers pay holds only '\*'; if that means a missing value: read_data\(path, na=\['\*'\]\)"
    refused(said, pycupc.pc, tmp_path / "d.csv", error=DataError)


def test_signs_may_be_categories():
    frame = pd.DataFrame({"a": ["-", "0", "+"] * 20, "b": ["0", "+", "++", "+++"] * 15, "c": ["+", "-"] * 30})
    assert DiscreteSuffStat.from_data(frame).nlev.tolist() == [3, 4, 2]
    assert list(map(len, MixedTable.of(frame).categories)) == [3, 4, 2]
    words = frame.assign(c=["?", "x", "y"] * 20)
    for data in (DiscreteSuffStat.from_data, lambda table: IncompleteTable(table, categories=True)):
        with pytest.warns(UserWarning, match=r"^'\?' is a category of c; if it means a missing value: na="):
            data(words)


def units(decimals):
    return [f"{number:.{decimals}f} mg" for number in np.random.default_rng(6).normal(5, 0.7, 150)]


LEAVE_OUT = "names and free text are no variables: leave them out"
#: The texts of a column, and the remedy.
NO_CATEGORIES = {
    "units": (units(2), "write numbers without 'mg'"),
    "coarse units": (units(1), "write numbers without 'mg'"),
    "currency": ([f"${k / 8:.2f}" for k in range(150)], "write numbers without '\\$'"),
    "exponents": ([f"{k / 7:.3f}d-{k % 3}" for k in range(150)], LEAVE_OUT),
    "names": ([f"patient {k}" for k in range(150)], LEAVE_OUT),
    "free text": ([f"text {k % 80}" for k in range(150)], LEAVE_OUT),
    "few rows": ([f"text {k}" for k in range(12)], LEAVE_OUT),
    "many": ([f"text {k % 256}" for k in range(900)], LEAVE_OUT),
}


@pytest.mark.parametrize("kind", NO_CATEGORIES)
def test_names_and_numbers_with_a_unit_are_refused(tmp_path, kind):
    texts, remedy = NO_CATEGORIES[kind]
    frame = pd.DataFrame({"y": np.resize(["a", "b", "c"], len(texts)), "x": texts})
    sample = f"{len(set(texts))} different values in {len(texts)} rows, such as {min(texts)!r}"
    for name, call in doors(frame, tmp_path):
        said = f"{remedy}: {'column 1' if name.endswith('object') else 'x'} {re.escape(f'({sample})')}"
        with pytest.raises(ValueError, match=said):
            call()


def test_the_test_of_categories_refuses_numbers_with_a_unit(here, capsys):
    texts, _ = NO_CATEGORIES["units"]
    pd.DataFrame({"x": texts, "z": texts[::-1]}).to_csv("d.csv", index=False)
    assert run("run", "d.csv", "--test", "discrete", "--plot", "none") == cli.DATA
    error = capsys.readouterr().err
    assert f"such as {min(texts)!r})" in error
    assert "without 'mg'" in error


def test_many_categories_and_a_few_doses_are_categories():
    frame = pd.DataFrame({"x": [f"state {k % 50}" for k in range(150)], "y": ["0.5 mg", "1.0 mg", "2.0 mg"] * 50})
    assert DiscreteSuffStat.from_data(frame).nlev.tolist() == [50, 3]
    MixedTable.of(frame).check()
    departments = frame.assign(x=[f"{k % 30:02}" for k in range(150)])
    said = r"^each number counts as a category, .*; numbers of categories: x \(30\)$"
    for call in (DiscreteSuffStat.from_data, lambda table: MixedTable.of(table).check()):
        with pytest.warns(UserWarning, match=said):
            call(departments)


@pytest.mark.parametrize("options", [["--test", "mixed"], ["--test", "discrete"]])
def test_a_word_beside_measurements_is_named(here, capsys, options):
    frame = table_with_mark("unknown", "measurements", 300)
    frame.to_csv("d.csv", index=False)
    assert run("run", "d.csv", *options, "--plot", "none", "--quiet") == cli.DATA
    assert re.search(r"if 'unknown' means a missing value: --na unknown: pay \(\d+ diff", capsys.readouterr().err)
    frame.loc[frame["pay"] != "unknown", "pay"] = frame["hits"].astype(str)  # of which there are few enough
    frame.to_csv("d.csv", index=False)
    assert run("run", "d.csv", *options, "--plot", "none", "--quiet") == cli.OK
    said = r"each number counts as a category, .*pay \(\d+\).*; if 'unknown' means a missing value: --na unknown"
    assert re.search(said, capsys.readouterr().err)


def test_numbers_kept_as_texts_draw_a_line_or_are_refused_beside_numbers():
    """Each is a category as it stands to the tests of categories; among numbers, most likely nobody wanted that."""
    x = pd.DataFrame(np.random.default_rng(9).normal(size=(60, 2)).round(3).astype(str), columns=["a", "b"])
    for call in (DiscreteSuffStat.from_data, lambda table: IncompleteTable(table, categories=True)):
        with pytest.warns(UserWarning, match=r"each number counts as a category, .*: a \(60\), b \(59\)$"):
            call(x)
    mixed = MixedTable.of(x.assign(c=np.arange(60) / 7))
    refused(r"several rows; texts of numbers have to become numbers: a \(60 different", mixed.check)


# -- numbers that may be codes ----------------------------------------------------------------------------------------


def codes(n=200):
    rng = np.random.default_rng(7)
    a = rng.integers(1, 4, n)
    b = np.where(rng.random(n) < 0.7, 1 + a % 3, rng.integers(1, 4, n))
    return pd.DataFrame({"a": a, "b": b, "c": rng.choice([10, 20, 40], n)})


SAID = (
    r"every column of the data holds few whole numbers, and the Gaussian test runs; if they are codes of "
    "categories: "
)
SAID += r"pc\(DiscreteSuffStat.from_data\(data\), disCItest\); if not: indepTest=gaussCItest"


@pytest.mark.parametrize("kind", ["frame", "array", "float32", "path", "parquet"])
def test_the_gaussian_test_of_codes_is_said_where_nobody_chose_it(tmp_path, kind):
    frame = codes()
    frame.to_csv(tmp_path / "d.csv", index=False)
    data = {
        "frame": frame,
        "array": frame.to_numpy(),
        "float32": frame.to_numpy(np.float32),
        "path": tmp_path / "d.csv",
    }
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        data[kind] = tmp_path / "d.parquet"
        frame.to_parquet(data[kind])
    for call in (pycupc.pc, pycupc.skeleton, pycupc.fci, pycupc.rfci):
        with pytest.warns(UserWarning, match=SAID):
            call(data[kind], alpha=0.01)
    with pytest.warns(UserWarning, match=SAID):
        pycupc.stability(data[kind], alpha=0.01, n_resamples=2, random_state=1)


def test_nothing_is_said_of_codes_where_the_test_was_chosen():
    """Warnings are errors."""
    data = codes()
    pycupc.pc(data, pycupc.gaussCItest)
    pycupc.pc(data, correlation="spearman")
    pycupc.pc(pycupc.SuffStat.from_data(data))
    pycupc.stability(data, indepTest=pycupc.gaussCItest, n_resamples=2, random_state=1)
    pycupc.cstar(data, n_resamples=2, random_state=1)  # which has one test


@pytest.mark.parametrize(
    "change",
    [
        {"d": np.arange(200) / 7},  # a measurement
        {"d": np.arange(200) % 21},  # many numbers
        {"d": np.arange(200) % 2 / 2},  # no whole numbers
        {"d": np.append(np.arange(199) % 2, 0.5)},  # one that is none, far down
    ],
)
def test_nothing_is_said_of_numbers_that_are_no_codes(change):
    pycupc.pc(codes().assign(**change))
    pycupc.pc(np.random.default_rng(8).integers(0, 9, (8, 3)))  # each number in one row or two


@pytest.mark.parametrize("gap", [False, True])
def test_the_command_line_names_the_test_for_codes(here, capsys, gap):
    frame = codes().astype(object)
    frame.loc[5, "a"] = None if gap else frame["a"][5]
    frame.to_csv("d.csv", index=False)
    said = (
        "every column of the data holds few whole numbers, and the Gaussian test runs; if they are codes of "
        "categories: "
    )
    said += "--test discrete; if not: --test gaussian"
    how = ["--plot", "none", "--force", "--quiet"]
    for options in ([], ["--missing", "drop-rows"], ["--missing", "testwise"], ["--missing", "pairwise"]):
        assert run("run", "d.csv", *how, *options) == cli.OK
        assert capsys.readouterr().err.count(said) == 1
        assert said in manifest("d-pycupc")["input"]["choice"]
    for command in (["estimate", "d.csv"], ["stability", "d.csv", "--resamples", 2, "--seed", 1, *how]):
        assert run(*command) == cli.OK
        assert capsys.readouterr().err.count(said) == 1
    chosen = [["--test", "gaussian"], *([] if gap else [["--correlation", "pearson"], ["--correlation", "latent"]])]
    for options in chosen:
        assert run("run", "d.csv", *how, *options) == cli.OK
        assert "--test discrete" not in capsys.readouterr().err
    assert run("run", "d.csv", *how, "--test", "discrete") == cli.OK
    assert "few whole numbers" not in capsys.readouterr().err
    if not gap:
        assert run("cstar", "d.csv", "--resamples", 2, "--seed", 1, *how) == cli.OK
        assert "few whole numbers" not in capsys.readouterr().err
        assert run("run", "d.csv", *how, "--test", "mixed") == cli.OK
        assert capsys.readouterr().err.count("categories: --test discrete; if not: --test gaussian") == 1


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


def test_a_check_holds_for_later_calls_unless_values_may_have_changed():
    """It warns again; a table with values that somebody may change is checked anew, and so is one kept for a reason."""
    names = [f"subject {k}" for k in range(60)]
    table = MixedTable.of(pd.DataFrame({"rows": np.arange(1.0, 61.0), "a": ["x", "y"] * 30, "id": names}))
    with pytest.raises(ValueError, match="id"):
        table.check()
    with keeping(["id"]):
        for _ in range(2):
            with pytest.warns(UserWarning, match="rows counts 1, 2, 3"):
                table.check()
    with pytest.raises(ValueError, match="id"):
        table.check()
    with pytest.raises(ValueError, match="read-only"):
        table.values[0, 0] = np.nan
    kinds = {"categories": (None, ("x", "y")), "ordered": (False,) * 2, "labels": None}
    other = replace(table, values=table.values[:, :2].copy(), **kinds)
    with pytest.warns(UserWarning, match="counts 1, 2, 3"):
        other.check()
    other.values[3, 0] = np.nan
    with pytest.raises(ValueError, match="complete"):
        other.check()
