"""Columns that are left out, numbers with a unit, marks of missing values: one answer and one line in each entrance."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from any_tables import frame, run_to_out

import pycupc
from pycupc import choose, cli
from pycupc.cli import main
from pycupc.data.dates import are_dates, are_dates_in_order
from pycupc.data.text_columns import TextColumn
from pycupc.data.units import Unit, has_unit, unit_in, without_unit

N = 60
RNG = np.random.default_rng(5)
Z = np.round(np.abs(RNG.normal(5, 2, (N, 3)) @ np.array([[1, 1, 0], [0, 1, 1], [0, 0, 1]])), 1)


def table(texts, name="dose"):
    """Two columns of numbers, and one of these texts."""
    return pd.DataFrame({"y": Z[:, 1], "z": Z[:, 2], name: np.resize(np.array(texts, dtype=object), N)})


#: A column of numbers with a unit, by its form, and the unit.
FORMS = {
    "mg": (lambda v: f"{v} mg", "mg"),
    "no blank": (lambda v: f"{v}kg", "kg"),
    "percent": (lambda v: f"{v} %", "%"),
    "currency": (lambda v: f"\u20ac{v}", "\u20ac"),
    "dollars": (lambda v: f"${v}", "$"),
    "code of a currency": (lambda v: f"USD {v}", "USD"),
    "thousands": (lambda v: f"{v * 1000:,.0f} kg", "kg"),
    "figures": (lambda v: f"{v} kg/m2", "kg/m2"),
    "plural": (lambda v: "1 day" if v == 1 else f"{v} days", "days"),
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_with_one_unit_are_numbers_in_every_entrance(tmp_path, form, capsys):
    write, unit = FORMS[form]
    values = Z[:, 0] * (1000 if form == "thousands" else 1)
    if form == "plural":
        values = np.round(values)
    frame = table([write(v) for v in (Z[:, 0] if form == "thousands" else values)])
    frame.to_csv(tmp_path / "d.csv", index=False)
    want = pycupc.pc(frame.assign(dose=values), alpha=0.05)
    line = f"read as numbers, without their unit: dose in {unit} (such as {frame.dose[0]!r}) (to keep the texts: "
    for data in (frame, tmp_path / "d.csv"):
        choice = choose(data)
        assert choice.family == "gaussian"
        assert choice.reason.startswith(line + "keep=['dose'])")
        assert choice.unexpected
        np.testing.assert_array_equal(pycupc.pc(choice.data, choice.indepTest, 0.05).graph, want.graph)
    with pytest.raises(TypeError, match=r"pycupc\.choose\(table\) reads words, numbers with a unit and marks"):
        pycupc.pc(frame, alpha=0.05)
    with pytest.warns(UserWarning, match="read as numbers, without their unit: dose in"):
        fit = pycupc.pc(tmp_path / "d.csv", alpha=0.05)
    np.testing.assert_array_equal(fit.graph, want.graph)
    np.testing.assert_allclose(fit.pMax, want.pMax, rtol=1e-12)
    assert main(["run", str(tmp_path / "d.csv"), "--out", str(tmp_path / "out"), "--plot", "none"]) == 0
    assert line + "--keep dose)" in capsys.readouterr().err.replace("\n", " ")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert line + "--keep dose)" in json.dumps(manifest["input"]["units"], ensure_ascii=False).replace('\\"', '"')
    assert "without their unit: dose in" in (tmp_path / "out" / "graph.html").read_text(encoding="utf-8")


def test_codes_are_told_in_every_entrance(tmp_path, capsys):
    frame = pd.DataFrame(np.random.default_rng(1).integers(1, 4, (N, 3)), columns=[*"abc"])
    frame.to_csv(tmp_path / "d.csv", index=False)
    said = (
        "every column of the data holds few whole numbers, and the Gaussian test runs; if they are codes of "
        "categories: "
    )
    assert said in choose(frame).reason
    assert said in choose(tmp_path / "d.csv").reason
    for data in (frame, tmp_path / "d.csv"):
        with pytest.warns(UserWarning, match=said):
            pycupc.pc(data, alpha=0.05)
    assert main(["run", str(tmp_path / "d.csv"), "--out", str(tmp_path / "out"), "--plot", "none"]) == 0
    said += "--test discrete; if not: --test gaussian"
    shown = capsys.readouterr()
    assert said in shown.err.replace("\n", " ")
    assert said in shown.out.replace("\n", " ")
    files = {name: (tmp_path / "out" / name).read_text(encoding="utf-8") for name in ("manifest.json", "graph.html")}
    assert all(said in text for text in files.values())


def test_files_with_types_are_read_alike(tmp_path):
    pytest.importorskip("pyarrow")
    frame = table([f"{v} mg" for v in Z[:, 0]]).assign(w=[*map(str, Z[:-1, 1]), "?"])
    for name, write in (("d.parquet", frame.to_parquet), ("d.feather", frame.to_feather)):
        write(tmp_path / name)
        choice = choose(tmp_path / name)
        assert choice.content.kind == "numbers"
        np.testing.assert_array_equal(choice.content.table.values[:, 2], Z[:, 0])
        np.testing.assert_array_equal(choice.content.table.values[:, 3], [*Z[:-1, 1], np.nan])
        assert "taken for missing values, beside numbers: '?' in w (1 row)" in choice.reason


#: Numbers with units that are no numbers as they stand, and what is said.
REFUSED = {
    "two units": (["5 mg", "7 mg", "2 g"], "dose holds numbers in different units ('5 mg', '2 g')"),
    "some without": (["5 mg", "7 mg", "2"], "dose holds numbers with and without mg ('5 mg', '7 mg')"),
    "decimal comma": (["5,2 kg", "7,25 kg"], "dose holds numbers in kg with other separators ('5,2 kg', '7,25 kg')"),
    "words": ([*(f"{k} m" for k in range(9)), "unknown"], "dose holds numbers in m beside other texts ('unknown')"),
    "ranges": ([*(f"{k} m" for k in range(25)), "3-20m"], "dose holds numbers in m beside other texts ('3-20m')"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_numbers_with_units_that_cannot_be_read_are_refused(tmp_path, kind):
    texts, said = REFUSED[kind]
    frame = table(texts)
    frame.to_csv(tmp_path / "d.csv", index=False)
    for data in (frame, tmp_path / "d.csv"):
        with pytest.raises(ValueError, match="numbers with a unit need the same unit in all rows") as error:
            choose(data)
        assert f": {said}. Correct them, or leave the column out: drop=['dose']; as texts: keep=['dose']" in str(
            error.value
        )
        assert choose(data, drop=["dose"]).family == "gaussian"
    if kind == "decimal comma":
        text = frame.to_csv(index=False, sep=";", decimal=",")
        (tmp_path / "e.csv").write_text(text, encoding="utf-8")
        assert choose(tmp_path / "e.csv", decimal=",").content.table.values[0, 2] == 5.2


@pytest.mark.parametrize(
    "texts",
    [
        ["3A", "5B", "7C"],
        ["1st", "2nd", "3rd"],
        ["1_yes", "0_no"],
        ["10am", "2pm", "6pm"],
        ["1 low", "2 high"],
        ["18-25", "26-40", "65+"],
        ["< 20 yrs", "> 20 yrs"],
        ["2-Wheel Drive", "4-Wheel Drive"],
        ["4 or less hours", "5 hours", "6 hours"],
    ],
)
def test_codes_classes_and_ranges_are_categories(texts):
    choice = choose(table(texts))
    assert choice.family == "mixed"
    assert choice.data.categories[2] == tuple(sorted(texts))


def test_forms_of_numbers_with_a_unit():
    for text, number in (
        ("1,250.5 kg", "1250.5"),
        ("-$5", "-5"),
        ("5e3 kg", "5e3"),
        (".5 mg", ".5"),
        ("5 \u00b0C", "5"),
    ):
        assert without_unit(text) == number
    assert without_unit("1.200,5 kg", ",") == "1200,5"
    for text in ("09A", "A12", "#5", "<5", "5'11\"", "1/1", "2nd class", "12", "x", "1_UM", "(1) a", "5+"):
        assert not has_unit(text)
    assert unit_in(["5 mg", "?"], 0) == Unit("mg")
    assert unit_in(["3 m", "4 ms"], 0).problem


def test_a_kept_column_is_of_categories_though_nearly_all_texts_differ(tmp_path, capsys):
    frame = table([f"name {k}" for k in range(N - 4)], "who")
    frame.to_csv(tmp_path / "d.csv", index=False)
    for data in (frame, tmp_path / "d.csv"):
        assert choose(data).family == "gaussian"
        kept = choose(data, keep=["who"])
        assert kept.family == "mixed"
        assert kept.labels == ("y", "z", "who")
    gap = frame.copy()
    gap.loc[3, "y"] = np.nan
    assert choose(gap, keep=["who"]).family == "incomplete mixed"
    two = table([f"name {k}" for k in range(N - 4)], "who").assign(y=np.resize(["a", "b"], N))[["y", "who"]]
    assert choose(two, keep=["who"]).family == "discrete"
    command = ["run", str(tmp_path / "d.csv"), "--plot", "none", "--out", str(tmp_path / "out"), "--m-max", "0"]
    assert main([*command, "--keep", "who"]) == 0
    assert "3 variables" in capsys.readouterr().out
    many = pd.DataFrame(
        {"y": np.arange(600) % 7 / 3, "z": np.arange(600) % 5 / 3, "who": [f"n{k % 300}" for k in range(600)]}
    )
    assert "who has more categories than a test takes, which is 255 (300 different texts" in choose(many).reason
    with pytest.raises(ValueError, match="at most 255"):
        choose(many, keep=["who"])
    doses = table([f"{v} mg" for v in Z[:, 0]])
    assert choose(doses, keep=["dose"]).data.categories[2] is not None


@pytest.mark.parametrize("mark", [".", "?", "*", "-", "NA"])
def test_marks_in_a_data_frame_are_read_as_in_a_file(tmp_path, mark):
    frame = table(Z[:, 0]).astype({"dose": object})
    frame.loc[[4, 9], "dose"] = mark
    frame.to_csv(tmp_path / "d.csv", index=False)
    texts = pd.read_csv(tmp_path / "d.csv", keep_default_na=False, dtype={"dose": object})
    (tmp_path / "d.csv").write_text((tmp_path / "d.csv").read_text().replace("NA", "??"))
    want = choose(tmp_path / "d.csv")
    for data in (frame, texts):
        choice = choose(data)
        assert choice.family == want.family == "incomplete"
        assert choice.reason.replace(repr(mark), "X") == want.reason.replace(repr(mark), "X").replace("'??'", "X")
        np.testing.assert_array_equal(choice.data.values, want.data.values)


@pytest.mark.parametrize("name", ["", "rownames", "id"])
def test_a_first_column_that_counts_the_rows_is_left_out(tmp_path, name):
    frame = table(Z[:, 0]).astype(float)
    frame.insert(0, name or "Unnamed: 0", np.arange(1, N + 1))
    frame.to_csv(tmp_path / "d.csv", index=False)
    for data in (frame, tmp_path / "d.csv"):
        for more in ({}, {"test": "mixed"}):
            choice = choose(data, **more)
            assert choice.labels == ("y", "z", "dose")
            assert f"{name or 'Unnamed: 0'} counts the rows (1, 2, 3, ...)" in choice.reason
    first = frame.columns[0]
    few = frame[[first, "y"]]
    with pytest.raises(ValueError, match=r"at least 2 columns, the variables, and 1 is left; left out, .* counts the"):
        choose(few)
    sparse = frame.assign(**{first: RNG.permutation(N) + 40})
    assert choose(sparse).labels == ("y", "z", "dose")
    assert f"{first} numbers the rows" in choose(sparse).reason
    with warnings.catch_warnings():  # which say that a column counts the rows
        warnings.simplefilter("ignore")
        assert choose(frame, keep=[first]).content.table.values.shape[1] == 4
        assert choose(frame.rename(columns={first: "week"})).content.table.values.shape[1] == 4
        later = choose(frame[["y", first, "z"]]).content.table  # not the first column
        assert later.values.shape[1] == 3 - (name == "id")
        assert choose(frame.to_numpy()).content.table.values.shape[1] == 4


def test_identifiers_are_left_out(tmp_path):
    numbers = RNG.permutation(N) + 1000
    for name, out in (("patient_id", True), ("LocationID", True), ("ID", True), ("paid", False), ("grid", False)):
        frame = table(Z[:, 0]).astype(float).assign(**{name: numbers})
        frame.to_csv(tmp_path / "d.csv", index=False)
        for data in (frame, tmp_path / "d.csv"):
            assert (f"{name} numbers the rows" in choose(data).reason) == out
    for months, out in ((12, True), (13, False)):
        days = [19_900_000 + 100 * (1 + k % months) + 1 + k % 28 + 10_000 * (k // 28) for k in range(N)]
        assert ("sold_date holds dates" in choose(frame.assign(sold_date=days)).reason) == out
    for other in (numbers // 2, Z[:, 1] * np.arange(N)):
        assert "numbers the rows" not in choose(frame.assign(id=other)).reason


@pytest.mark.parametrize(
    "texts",
    [
        ["1975 Jan", "1975 Feb", "1976 Jan"],
        ["Sep-63", "Mar-64", "Oct-67"],
        ["1990,  July", "1991,  September"],
        ["1 Jan 1990", "02 March 1990"],
        ["1956 Q1", "1956 Q2", "1957 Q1"],
        ["2001-03", "2001-04"],
        ["3/1/2020 10:30", "3/2/2020 9:15"],
        ["January 5, 1990", "February 7, 1990"],
    ],
)
def test_forms_of_dates(texts):
    assert are_dates_in_order(texts)
    assert are_dates_in_order(texts[::-1])
    assert not are_dates([*texts, "x"])


def test_no_dates():
    for texts in (["May", "June"], ["2001-13"], ["12 mar"], ["1-2"], []):
        assert not are_dates(texts)
    again = TextColumn.of(
        [f"{year} {month}" for _ in range(3) for year in (2000, 2001) for month in ("Jan", "May")] * 2
    )
    assert again.no_variable() == ""
    again = TextColumn.of([f"{year} Jan" for year in range(2000, 2012)] * 3)
    assert again.no_variable() == "holds dates (12 different texts in 36 rows)"


@pytest.mark.parametrize("mark", [".", "?", "*", "-", "--"])
def test_a_mark_beside_numbers_means_a_missing_value(here, capsys, mark):
    table = frame().add_prefix("c").round(3)
    with_marks = table.astype(object)
    with_marks.loc[3:9, "c1"] = mark
    with_marks.to_csv("d.csv", index=False)
    assert run_to_out("run", "d.csv") == cli.OK
    said = f"taken for missing values, beside numbers: {mark!r} in c1 (7 rows)"
    assert said in capsys.readouterr().err
    facts = json.loads(Path("out/manifest.json").read_text())["input"]
    assert (facts["kind"], facts["marks_of_missing"]) == ("data with gaps", said)
    assert said in Path("out/summary.txt").read_text()
    table.loc[3:9, "c1"] = np.nan
    table.to_csv("gaps.csv", index=False)
    assert pycupc.choose("d.csv").data.values.tobytes() == pycupc.choose("gaps.csv").data.values.tobytes()
    for other in (mark, "?" if mark == "." else "."):  # in a column of words; and a second mark beside numbers
        more = with_marks.assign(w=[other, "up", "down"] * 100) if other == mark else with_marks.copy()
        more.loc[10, "c1"] = other
        more.to_csv("d.csv", index=False)
        assert run_to_out("run", "d.csv") == cli.DATA
        error = capsys.readouterr().err
        assert "--na" in error
        assert "missing value" in error
