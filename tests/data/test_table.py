"""`Table.of`: chosen columns, findings, and tables whose rows are variables."""

import logging
import re
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from common import assert_same, refused, run
from small_tables import TRANSPOSED, chain_table, expression, manifest

import pycupc
from pycupc import SuffStat, cli, pc
from pycupc.data import DataError, read_data
from pycupc.data.table import Table
from pycupc.discrete import DiscreteSuffStat

CARS = "make,price,kind,doors,note\n" + "".join(
    f"m{k % 9},{k * 1.5},{'abc'[k % 3]},{k % 4},{'x' if k == 7 else k % 6}\n" for k in range(40)
)


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
        SuffStat.from_data(chain_table(), drop=["a"])


def test_missing_values_and_categories_are_carried():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [2, 2, 2]})
    numbers = Table.of(frame)
    assert (numbers.labels, numbers.constant.tolist()) == (("a", "b"), [1])
    sizes = pd.Categorical(["S", "L", "S"], categories=["S", "L"], ordered=True)
    codes = Table.of(pd.DataFrame({"size": sizes, "who": ["x", "y", "y"]}), categories=True)
    assert codes.categories == (("L", "S"), ("x", "y"))
    assert codes.values.tolist() == [[1, 0], [0, 1], [1, 1]]


SAMPLES = [f"sample_{k}" for k in range(3)]
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
