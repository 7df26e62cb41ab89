"""Stability of `fci` and `rfci`: the marks at each end are counted as by a plain loop; what is known beforehand."""

import json

import numpy as np
import pandas as pd
import pytest
from stability_data import gaussian

import pycupc
from pycupc import cli
from pycupc.r.stability_values import from_values, to_values
from pycupc.stability import PagConsensus
from pycupc.stability.consensus import PAG, Counts, stable_graph

TIERS = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
MARKS = (None, "circle", "arrow", "tail")
CASES = {
    "fci": ("fci", {"doPdsep": True, "m_max": 2, "conservative": True}),
    "fci with tiers": ("fci", {"tiers": TIERS, "selectionBias": False}),
    "rfci": ("rfci", {"rules": [True] * 9 + [False]}),
}


@pytest.mark.parametrize("case", CASES)
def test_marks_are_those_of_a_plain_loop(case, tmp_path):
    method, options = CASES[case]
    data = gaussian()
    run = {"method": method, "alpha": (0.05, 0.2), "random_state": 3, **options}
    result = pycupc.stability(data, n_resamples=4, scheme="subsample", checkpoint=tmp_path / "c", **run)
    for k, alpha in enumerate(result.alphas):
        times = {}
        for i in range(4):
            fit = getattr(pycupc, method)(data.iloc[result.indices(i)], alpha=alpha, **options)
            assert result.n_tests[i, k] == sum(fit.n_edgetests) + sum(fit.later.n_tests)
            amat = fit.sparse_graph.amat_pag()
            for x, y in zip(*np.nonzero(amat), strict=True):
                mark = times.setdefault((fit.labels[x], fit.labels[y]), dict.fromkeys(MARKS[1:], 0))
                mark[MARKS[amat[x, y]]] += 1  # at y
        table = result.edges(0, alpha)
        assert len(table) == len(times) / 2 > 5
        for row in table.to_dict("records"):
            ends = times[row["to"], row["from"]], times[row["from"], row["to"]]
            assert [row[f"from_{mark}"] * 4 for mark in MARKS[1:]] == list(ends[0].values())
            assert [row[f"to_{mark}"] * 4 for mark in MARKS[1:]] == list(ends[1].values())
            assert row["adjacent"] * 4 == sum(ends[0].values()) == sum(ends[1].values())
            assert row["to_arrow"] >= row["from_arrow"]
    again = pycupc.stability(data, n_resamples=6, scheme="subsample", checkpoint=tmp_path / "c", **run)
    assert again == pycupc.stability(data, n_resamples=6, scheme="subsample", **run) != result
    again.save(tmp_path / "s.npz")
    assert pycupc.Stability.load(tmp_path / "s.npz") == again
    assert f"{method.upper()} on resamples" in again.summary()
    assert (
        from_values({**to_values(again)[0], "labels": again.labels}, to_values(again)[1])
        .to_pandas()
        .equals(again.to_pandas())
    )


def test_an_end_of_the_consensus_has_the_mark_of_more_than_half():
    low, high = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)
    times = np.array(
        [[1, 0, 3, 0, 4, 0], [2, 2, 0, 3, 1, 0], [0, 0, 1, 0, 1, 0]], np.int32
    )  # circle, arrow, tail twice
    facts = {"alpha": 0.1, "threshold": 0.5, "n_resamples": 4}
    found = stable_graph(tuple("abc"), Counts(low, high, times), **facts)
    assert isinstance(found, PagConsensus)
    assert Counts(low, high, times).counting is PAG
    assert found.sparse_graph.amat_pag().tolist() == [[0, 2, 1], [3, 0, 0], [1, 0, 0]]
    edges = found.edges()
    assert edges.loc[0, ["from", "to", "type"]].tolist() == ["a", "b", "directed"]
    assert edges.loc[0, ["adjacent", "from_tail", "to_arrow"]].tolist() == [1, 0.75, 1]


def test_what_is_known_holds_in_every_resample(tmp_path):
    """In any form, which a checkpoint does not tell apart; no arrow points back."""
    data = gaussian()
    names = list(data.columns)
    known = pycupc.Knowledge(tiers=dict(zip(names, TIERS, strict=True)), forbidden=[("v0", "v2"), ("v2", "v0")])
    run = {"n_resamples": 4, "random_state": 1, "checkpoint": tmp_path / "c", "alpha": 0.1}
    result = pycupc.stability(data, tiers=known, **run)
    matrix = np.zeros((10, 10), dtype=bool)
    matrix[0, 2] = matrix[2, 0] = True
    assert pycupc.stability(data, tiers=[2 * t for t in TIERS], forbidden=matrix, **run) == result
    with pytest.raises(ValueError, match="tiers"):
        pycupc.stability(data, **run)
    tier = dict(zip(names, TIERS, strict=True))
    table = result.to_pandas()
    assert not ((table["from"] == "v0") & (table["to"] == "v2")).any()
    late = table[table["from"].map(tier) > table["to"].map(tier)]
    assert len(table) > 5
    assert not late["directed"].any()
    assert result.n_pairs == 44


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"method": "ges"}, "method must be one of 'pc', 'fci', 'rfci', got 'ges'"),
        ({"method": "rfci", "u2pd": "rand"}, "u2pd is no argument of stability or rfci"),
        ({"method": "fci", "budget": 1.0}, "budget is no argument of stability or fci"),
        ({"method": "fci", "tiers": TIERS}, "tiers need selectionBias=False"),
        ({"method": "fci", "type": "anytime"}, "needs a finite m_max"),
        ({"method": "rfci", "rules": [True]}, "rules must be 10 values"),
        ({"u2pd": "rand", "tiers": TIERS}, "need u2pd='relaxed'"),
        ({"method": "rfci", "forbidden": [("v0", "v1")]}, "forbidden is no argument of stability or rfci"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        pycupc.stability(gaussian(), n_resamples=2, random_state=1, **arguments)


def test_command_line(here):
    data = gaussian(n=60, p=6)
    data.to_csv("data.csv", index=False)
    (here / "tiers.txt").write_text("/knowledge\naddtemporal\n1 v0 v1 v2\n2 v3 v4 v5\n")
    options = ("--resamples", "3", "--alpha", "0.1", "--seed", "3", "--plot", "none", "--out", "out", "--quiet")
    assert cli.main(["stability", "data.csv", "--method", "rfci", "--tiers", "tiers.txt", *options]) == cli.OK
    arguments = {"n_resamples": 3, "alpha": 0.1, "random_state": 3, "tiers": [1, 1, 1, 2, 2, 2]}
    result = pycupc.stability(data, method="rfci", **arguments)
    assert pycupc.Stability.load("out/stability.npz").to_pandas().equals(result.to_pandas())
    amat = pd.read_csv("out/amat.csv", index_col=0)
    np.testing.assert_array_equal(amat, result.consensus().amat_pag())
    assert json.loads((here / "out/manifest.json").read_text())["study"]["method"] == "rfci"
    pytest.importorskip("matplotlib")
    assert cli.main(["plot", "out", "--out", "a.svg"]) == cli.OK
