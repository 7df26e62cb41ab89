"""Columns of text: what an error says of them, and columns that are no variables."""

import json
from pathlib import Path

import pandas as pd
import pytest
from any_tables import frame, mixed_frame, run_to_out
from common import run
from small_tables import manifest

import pycupc
from pycupc import cli

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


DAYS = pd.date_range("2020-01-01", periods=300)
#: A column that is no variable, and why.
NO_VARIABLES = {
    "names": ([f"patient {k}" for k in range(300)], "names the rows (290 different texts in 290 rows)"),
    "most names": ([f"A/{k // 1.4:.0f}" for k in range(300)], "holds names ("),
    "dates": (DAYS.strftime("%Y-%m-%d"), "holds dates in order"),
    "months": ([f"2020-{k // 25 + 1:02}-01" for k in range(300)], "holds dates in order"),
    "day first, falling": (DAYS[::-1].strftime("%d.%m.%Y"), "holds dates in order"),
    "free text": ([f"the patient came back after {k // 1.5:.0f} days" for k in range(300)], "holds free text ("),
}


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("kind", NO_VARIABLES)
def test_columns_that_are_no_variables_are_left_out(here, capsys, kind, place):
    texts, why = NO_VARIABLES[kind]
    for table in (frame().add_prefix("c"), mixed_frame(), mixed_frame()[["v", "x"]].assign(u=["l", "m", "n"] * 100)):
        table = table[:290]
        more = table.copy()
        more.insert(0 if place == "first" else table.shape[1], "extra", list(texts)[:290])
        more.to_csv("d.csv", index=False)
        assert run_to_out("run", "d.csv") == cli.OK
        error, page = capsys.readouterr().err, Path("out/graph.html").read_text()
        facts = json.loads(Path("out/manifest.json").read_text())["input"]
        assert f"extra {why}" in error
        assert "(to keep: --keep extra)" in error
        assert facts["choice"] in error
        assert facts["choice"].startswith(facts["columns_left_out"])
        assert facts["columns_left_out"] in Path("out/summary.txt").read_text()
        assert f"extra {why}" in page
        for data in ("d.csv", more):
            choice, plain = pycupc.choose(data), pycupc.choose(table)
            assert list(choice.labels) == list(table.columns)
            assert choice.family == plain.family
            assert f"extra {why}" in str(choice.reason)


@pytest.mark.parametrize(
    "texts",
    [
        [f"{k / 7:.2f} {'mg' if k else 'g'}" for k in range(300)],  # numbers with different units
        [f"1 {k:03}" for k in range(300)],  # numbers in another form
        [f"{k}" for k in range(299)] + ["many"],  # numbers, and a word
    ],
)
def test_numbers_in_another_form_are_not_taken_for_names(here, capsys, texts):
    mixed_frame().assign(z=texts).to_csv("d.csv", index=False)
    assert run_to_out("run", "d.csv") == cli.DATA
    assert "left out" not in capsys.readouterr().err


def test_a_column_of_dates_in_order_may_be_kept(here, capsys):
    mixed_frame().assign(z=NO_VARIABLES["months"][0]).to_csv("d.csv", index=False)
    assert run_to_out("run", "d.csv", "--keep", "z") == cli.OK
    assert "left out" not in capsys.readouterr().err
