"""`Knowledge`: names, patterns, positions, files of Tetrad, contradictions; the option --tiers."""

import json

import numpy as np
import pandas as pd
import pytest

from pycupc import Knowledge
from pycupc.cli import main
from pycupc.data import DataError

LABELS = ["sex", "age5", "age10", "bmi", "*"]

FILE = """/knowledge
addtemporal

1 sex age*   # at school
2* bmi x[12]

forbiddirect
sex bmi
requiredirect

age5 x2
"""


def test_tiers_in_every_form():
    want = [0, 0, 0, 1, 2]
    dicts = {"sex": 1, "age*": 1, 3: 2, "*": 9}, {1: ["sex", "age?", "age??"], 2: "bmi", 3: [4]}
    for tiers in ([1, 1, 1, 2.5, 7], np.array([0, 0, 0, 1, 2]), *dicts, [["sex", "age*"], ["bmi"], "*"]):
        assert Knowledge(tiers).of(LABELS).tier.tolist() == want, tiers


def test_variables_that_no_tier_names_have_none():
    nan = float("nan")
    numbers, want = [1, None, None, 4, None], [0, -1, -1, 1, -1]
    floats = np.array(numbers, dtype=np.float64)
    for tiers in ({"sex": 1, "bmi": 4}, {1: ["sex"], 4: "bmi"}, [["sex"], ["bmi"]], numbers, floats):
        known = Knowledge(tiers=tiers).of(LABELS)
        assert known.tier.tolist() == want
        assert known.summary() == f"2 tiers, {want.count(-1)} variables without a tier"
        again = Knowledge.of_positions(known).of(LABELS)
        assert again.tier.tolist() == want
    for tiers in ({"sex": 1, "age*": None}, pd.Series({"sex": 1.0, "age5": nan, "bmi": nan})):
        assert Knowledge(tiers=tiers).of(LABELS).tier.tolist() == [0 if name == "sex" else -1 for name in LABELS]
    known = Knowledge(tiers={"sex": 1, "bmi": 2}, context_all=["age5"], forbidden=[("age10", "sex")])
    assert known.of(LABELS).context_all.any()
    with pytest.raises(ValueError, match="context_tier must name variables that have a tier, got age5"):
        Knowledge(tiers={"sex": 1, "bmi": 2}, context_tier=["age5"]).of(LABELS)
    with pytest.raises(ValueError, match="tiers must have a number for each of the 5 variables, None for one without"):
        Knowledge(tiers=[1, None]).of(LABELS)


def test_arrows_by_name_pattern_position_and_matrix():
    known = Knowledge(required=[("age*", "bmi")], forbidden=[(0, "age*"), ("bmi", "bmi*")][:1]).of(LABELS)
    assert np.argwhere(np.isin(np.arange(25), known.required).reshape(5, 5)).tolist() == [[1, 3], [2, 3]]
    matrix = np.zeros((5, 5), dtype=bool)
    matrix[0, 1] = matrix[0, 2] = matrix[3, 1] = matrix[3, 2] = True
    assert Knowledge(forbidden=matrix).of(LABELS).forbidden.tolist() == known.forbidden.tolist()


def test_file_of_tetrad(tmp_path):
    (tmp_path / "known.txt").write_text(FILE)
    known = Knowledge.read(tmp_path / "known.txt").of(["sex", "x1", "x2", "age5", "bmi"])
    assert known.tier.tolist() == [0, 1, 1, 0, 1]
    assert known.required.tolist() == [3 * 5 + 2]
    gaps = known.gaps()
    assert list(zip(gaps.low.tolist(), gaps.high.tolist(), strict=True)) == [(1, 2), (1, 4), (2, 4)]  # in tier 2
    assert known.is_forbidden(np.array([0, 2, 4]), np.array([4, 3, 0])).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("forbidgroup\n", "line 13: expected two variables, got 'forbidgroup'"),
        ("addtemporal\nfirst a b\n", "line 14: expected a tier and its variables, got 'first a b'"),
        ("a b c\n", "line 13: expected two variables, got 'a b c'"),
        ('sex "body mass" bmi\n', "line 13: expected two variables, got 'sex body mass bmi'"),
        ("addtemporal\n3- a\n", "line 14: '3-', a tier that causes the next one only, is not read: forbid its arrows"),
        ('"sex bmi\n', "line 13: unexpected end of data; do the quotation marks match\\?"),
    ],
)
def test_wrong_files(tmp_path, line, text):
    (tmp_path / "known.txt").write_text(FILE + "\n" + line)
    with pytest.raises(DataError, match=text):
        Knowledge.read(tmp_path / "known.txt")


def test_a_table_is_no_knowledge(tmp_path):
    (tmp_path / "data.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"line 1: expected a section: addtemporal, forbiddirect, requiredirect"):
        Knowledge.read(tmp_path / "data.csv")


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ({"tiers": [["sex", "age*", "bmi"], ["bmi", "*"]]}, "'bmi' in two tiers"),
        ({"tiers": {"agee*": 1}}, "tiers: no variable matches 'agee\\*'"),
        ({"tiers": {"seks": 1}}, "tiers: there is no variable 'seks'; labels are sex"),
        ({"required": [("sex", "sex")]}, "required: 'sex' is paired with itself"),
        ({"required": [("sex", "bmi"), ("bmi", "sex")]}, "sex --> bmi is required, but bmi --> sex is required, too"),
        ({"required": [("sex", "bmi")], "forbidden": [("sex", "bmi")]}, "is required, but it is also forbidden"),
        ({"tiers": [1, 1, 1, 0, 1], "required": [("sex", "bmi")]}, "'sex' is in a later tier than 'bmi'"),
        ({"required": [("sex", "bmi")], "context_all": ["bmi"]}, "'bmi' is a context variable"),
        ({"required": [(0, 1), (1, 2), (2, 3), (3, 1)]}, "form a cycle: age5 --> age10 --> bmi --> age5"),
    ],
)
def test_contradictions_and_unknown_names(known, text):
    with pytest.raises(ValueError, match=text):
        Knowledge(**known).of(LABELS)


def test_wrong_types():
    with pytest.raises(TypeError, match="tiers must be a number for each variable, or variables by tier, got 3"):
        Knowledge(tiers=3).of(["a", "b"])
    with pytest.raises(TypeError, match="tiers must be numbers, got 'x'"):
        Knowledge({"x": ["sex"]}).of(LABELS)
    with pytest.raises(TypeError, match="forbidden must be pairs"):
        Knowledge(forbidden=["sex"]).of(LABELS)
    with pytest.raises(TypeError, match="required must be pairs .*, got 3"):
        Knowledge(required=3).of(LABELS)
    with pytest.raises(IndexError, match="context_all: variables are 0 to 4, got 5"):
        Knowledge(context_all=[5]).of(LABELS)


def test_command_line(tmp_path, capsys):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((300, 3)) @ np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]])
    np.savetxt(tmp_path / "data.csv", x[:, ::-1], delimiter=",", header="c,b,a", comments="")
    known = tmp_path / "known.txt"
    known.write_text("/knowledge\naddtemporal\n1 a\n2 b\n3 c\n")
    run = ["run", str(tmp_path / "data.csv"), "--out", str(tmp_path / "out"), "--plot", "none", "--tiers", str(known)]
    assert main(run) == 0
    edges = (tmp_path / "out" / "edges.csv").read_text().splitlines()
    assert {line.split(",")[0] + line.split(",")[1] for line in edges[1:]} <= {"ab", "bc", "ac"}
    assert len(edges) > 2
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["notes"]["known_before"] == "3 tiers"
    for method in ("fci", "rfci"):
        assert main([*run, "--force", "--method", method]) == 0
        edges = (tmp_path / "out" / "edges.csv").read_text().splitlines()
        assert len(edges) > 2
        assert any(",tier a b" in line for line in edges[1:])
    known.write_text("/knowledge\naddtemporal\n1 a\n2 d\n")
    assert main([*run, "--force"]) != 0
    assert f"{known}: tiers: there is no variable 'd'" in capsys.readouterr().err


def test_names_of_a_series_and_of_a_table_count():
    pandas = pytest.importorskip("pandas")
    labels = ["a", "b", "c"]
    assert Knowledge(tiers=pandas.Series([1, 2, 3], index=labels[::-1])).of(labels).tier.tolist() == [2, 1, 0]
    assert Knowledge(tiers=pandas.Series([1, 2, 3])).of(labels).tier.tolist() == [0, 1, 2]
    arrow = pandas.DataFrame(False, index=labels[::-1], columns=labels[::-1])
    arrow.loc["a", "b"] = True
    assert Knowledge(forbidden=arrow).of(labels).forbidden.tolist() == [1]


def test_tiers_apart_that_have_no_variable(tmp_path):
    assert Knowledge(tiers=[1, 1, 2], apart=[1]).of("abc").forbidden.tolist() == [1, 3]
    with pytest.raises(ValueError, match="apart must name tiers, got 3, in which no variable is"):
        Knowledge(tiers=[1, 1, 2], apart=[1, 3]).of("abc")
    path = tmp_path / "empty.txt"
    path.write_text("/knowledge\naddtemporal\n1* a b\n2* \n3 c\n")
    assert Knowledge.read(path).of("abc").forbidden.tolist() == [1, 3]


@pytest.mark.parametrize("tiers", ["1 \n2 \n", "1\n2*\n3-\n", ""])
def test_tiers_without_names_hold_nothing(tmp_path, tiers):
    path = tmp_path / "known.txt"
    path.write_text(f"/knowledge\naddtemporal\n\n{tiers}\nforbiddirect\n\nrequiredirect\na b")
    known = Knowledge.read(path)
    assert known == Knowledge(required=[("a", "b")], forbidden=[])
    assert known.of("abc").tier.tolist() == [0, 0, 0]
    path.write_text(f"/knowledge\naddtemporal\n{tiers}4 c\n5\n6* a b\n7*")
    assert Knowledge.read(path).of("abc").tier.tolist() == [1, 1, 0]
    assert Knowledge.read(path).apart == (6.0,)


@pytest.mark.parametrize(
    "text",
    [
        '/knowledge\naddtemporal\n1* "body mass" age\t# "c"\n2 "a, # b" // d\nforbiddirect\n"body mass" "a, # b"\n',
        '/knowledge comma\r\naddtemporal\r\n1*, body mass, age\r\n2,"a, # b"\nforbiddirect\nbody mass,"a, # b"\n',
    ],
)
def test_names_may_hold_blanks(tmp_path, text):
    (tmp_path / "known.txt").write_text(text)
    known = Knowledge.read(tmp_path / "known.txt")
    arrows = [("body mass", "a, # b")]
    assert known == Knowledge({1: ["body mass", "age"], 2: ["a, # b"]}, forbidden=arrows, apart=(1.0,), required=[])


def test_one_context_variable_by_position():
    assert Knowledge(context_all=1).of("abc").context_all.tolist() == [False, True, False]
