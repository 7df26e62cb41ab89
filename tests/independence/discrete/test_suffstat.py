"""The data of tests of discrete variables: categories become codes, and what is refused."""

import numpy as np
import pytest
from common import refused

import pycupc
from pycupc.discrete import DiscreteSuffStat, binCItest, disCItest


def test_categories_become_codes():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {
            "colour": ["red", "blue", "red", "green"],
            "size": pd.Categorical(["L", "S", "L", "S"], categories=["S", "M", "L"], ordered=True),
            "ok": [True, False, True, True],
            "number": [7, 3, 3, 7],
        }
    )
    suff = DiscreteSuffStat.from_data(frame)
    assert suff.labels == ("colour", "size", "ok", "number")
    assert suff.nlev.tolist() == [3, 2, 2, 2]
    assert suff.categories[0] == ("blue", "green", "red")
    assert suff["dm"][:, 0].tolist() == [2, 0, 2, 1]
    assert suff.categories[3] == (3, 7)


def test_files_and_chosen_columns_become_codes(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": ["p", "q", "r"], "a": ["x", "y", "x"], "b": ["u", "v", "v"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    for data in (frame, tmp_path / "t.csv"):
        for options in ({"drop": ["id"]}, {"only": ["b", "a"]}):
            suff = DiscreteSuffStat.from_data(data, **options)
            assert suff.labels == ("a", "b")
            assert suff.categories == (("x", "y"), ("u", "v"))
    with pytest.raises(ValueError, match="at most 255 levels; who has more"):
        DiscreteSuffStat.from_data(pd.DataFrame({"who": range(300), "a": [0, 1] * 150}))


GOOD = {"dm": np.tile([[0, 0], [1, 1]], (10, 1)), "nlev": [2, 2], "adaptDF": False}

BAD = [
    ({"dm": GOOD["dm"]}, ValueError, "suffStat lacks 'adaptDF'"),
    ({"adaptDF": False}, ValueError, "suffStat lacks 'dm'"),
    ({**GOOD, "adaptDF": "yes"}, TypeError, "adaptDF must be True or False, got 'yes'"),
    ({**GOOD, "df": "seen"}, ValueError, "df must be 'pcalg' or 'observed', got 'seen'"),
    ({**GOOD, "df": "observed", "adaptDF": True}, ValueError, "choose one of adaptDF=True and df='observed'"),
    ({**GOOD, "dm": GOOD["dm"] - 1}, ValueError, "codes of at least 0; negative codes in column 0, column 1"),
    (
        {**GOOD, "dm": GOOD["dm"] + 0.5},
        ValueError,
        "whole numbers 0, 1, ...; column 0, column 1 does not. Is it continuous",
    ),
    ({**GOOD, "dm": np.where(GOOD["dm"] == 1, np.nan, 0.0)}, ValueError, "missing values in column 0, column 1"),
    ({**GOOD, "dm": GOOD["dm"] * 2}, ValueError, "a code of dm must be below nlev"),
    ({**GOOD, "dm": GOOD["dm"] * 2, "nlev": None}, ValueError, "without nlev the codes must be 0, 1, ..., k - 1"),
    ({**GOOD, "nlev": [2, 1]}, ValueError, "nlev must be at least 2"),
    ({**GOOD, "nlev": [2]}, ValueError, "nlev must hold 2 whole numbers"),
    ({**GOOD, "nlev": [2, 300]}, ValueError, "at most 255 levels; column 1 has more"),
    ({**GOOD, "dm": np.array([["a", "b"], ["b", "a"]])}, TypeError, "from_data"),
    ("table", TypeError, "DiscreteSuffStat.from_data"),
]


@pytest.mark.parametrize(("data", "error", "words"), BAD)
def test_bad_data(data, error, words):
    refused(words.replace("(", r"\("), pycupc.pc, data, disCItest, alpha=0.05, error=error)


def test_bad_tables():
    with pytest.raises(ValueError, match="complete; 1 missing values in column 1, 2 missing values in column 2$"):
        DiscreteSuffStat.from_data(np.array([["a", None, None], ["b", "x", None], ["a", "y", "z"]], dtype=object))
    refused("Gaussian test", DiscreteSuffStat.from_data, np.random.default_rng(0).standard_normal((20, 3)))
    with pytest.raises(ValueError, match="whole: w, h; these are categories: sex. mixCItest takes both"):
        DiscreteSuffStat.from_data(np.array([["m", 1.5, 2.5], ["f", 2.5, 3.0]], dtype=object), ["sex", "w", "h"])
    refused("levels 0 and 1", pycupc.pc, {"dm": GOOD["dm"], "nlev": [2, 3], "adaptDF": False}, binCItest, alpha=0.05)
    with pytest.raises(ValueError, match="quirks=True reproduces pcalg, which has no df='observed'"):
        pycupc.pc({**GOOD, "df": "observed"}, disCItest, alpha=0.05, quirks=True)
    refused("quirks=True", pycupc.pc, {"C": np.eye(3), "n": 10}, alpha=0.05, quirks=True)


def test_discrete_data_stand_for_their_test_and_not_for_another():
    suff = DiscreteSuffStat([[0, 1], [1, 0], [0, 0]] * 20, adaptDF=False)
    assert pycupc.pc(suff, alpha=0.01) == pycupc.pc(suff, disCItest, alpha=0.01)
    text = "a DiscreteSuffStat needs indepTest=pycupc.disCItest, got the Gaussian test"
    refused(text, pycupc.pc, suff, pycupc.gaussCItest, alpha=0.01, error=TypeError)
    pd = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="DiscreteSuffStat.from_data"):
        pycupc.pc(pd.DataFrame({"a": ["x", "y", "x"], "b": ["u", "v", "v"]}), alpha=0.01)
