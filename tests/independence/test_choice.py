"""The test that is chosen for any table, by `run` and by `choose`, and tables that no test fits."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from any_tables import frame, gaps, incomplete, mixed_frame, run_to_out

import pycupc
from pycupc import cli
from pycupc.discrete import DiscreteSuffStat

TABLES = {
    "numbers": (frame, [], "data", ""),
    "gaps": (incomplete, [], "data with gaps", "missing in 6 of 6 columns"),
    "pairwise": (incomplete, ["--missing", "pairwise"], "data with gaps", ""),
    "both": (mixed_frame, [], "numbers and categories", r"2 of 5 columns hold words \(v, x\)"),
    "asked": (mixed_frame, ["--test", "mixed"], "numbers and categories", ""),
    "both with gaps": (
        lambda: gaps(mixed_frame()),
        [],
        "numbers and categories with gaps",
        "missing in 5 of 5 columns",
    ),
    "ranks": (frame, ["--correlation", "kendall"], "data", ""),
    "words": (
        lambda: gaps(pd.DataFrame(np.where(frame() > 0, "up", "down"))),
        [],
        "categories with gaps",
        "holds categories.*values are missing",
    ),
    "latent": (lambda: mixed_frame().drop(columns="x"), ["--correlation", "latent"], "data", "as the two classes"),
}


@pytest.mark.parametrize("name", TABLES)
def test_run_chooses_a_test_for_any_table(here, capsys, name):
    make, options, kind, said = TABLES[name]
    make().rename(columns=lambda c: f"c{c}" if isinstance(c, int) else c).to_csv("d.csv", index=False)
    assert run_to_out("run", "d.csv", *options) == cli.OK
    facts = json.loads(Path("out/manifest.json").read_text())["input"]
    assert facts["kind"] == kind
    assert facts["choice"]
    error = capsys.readouterr().err
    assert re.search(said, error)
    assert (facts["choice"] in error) == bool(said)


BAD = {
    "text": (
        lambda: mixed_frame().assign(z=[f"patient {k}" for k in range(300)]),
        ["--keep", "z"],
        "at most 255 of them, each in several rows; names.*variables: --drop z: z (300 different values in 300 rows",
    ),
    "kept": (frame, ["--keep", "zz"], "keep must name columns, got 'zz'; the columns are"),
    "no order": (mixed_frame, ["--correlation", "latent"], "need an order of the categories, .*: x (high, low, mid)"),
    "ranks of words": (mixed_frame, ["--correlation", "kendall"], "kendall takes numbers, and the table holds words"),
    "ranks with gaps": (incomplete, ["--correlation", "kendall"], "kendall needs complete rows"),
    "damaged": (lambda: mixed_frame().assign(w=["1,5x", *range(299)]), [], "3 of 5 columns hold other cells"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_table_without_a_sensible_test_is_refused_with_the_reason(here, capsys, name):
    make, options, message = BAD[name]
    make().to_csv("d.csv", index=False)
    assert run_to_out("run", "d.csv", *options) == cli.DATA
    error = capsys.readouterr().err
    first, _, rest = message.partition(".*")
    assert first.strip() in error
    assert rest.strip() in error
    assert "d.csv" in error


def words_and_numbers(*, whole, gaps):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 2))
    frame = pd.DataFrame(np.round(numbers) if whole else numbers, columns=["a", "b"])
    frame["word"] = list("xyz") * 100
    if gaps:
        frame.iloc[:5, 0] = np.nan
    return frame


@pytest.mark.filterwarnings("ignore")  # of what is left out, which other tests read
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_each_alternative_fits_the_table(whole, gaps):
    frame = words_and_numbers(whole=whole, gaps=gaps)
    choice = pycupc.choose(frame)
    assert ({"test": "discrete"} in choice.alternatives) == whole == ("test='discrete'" in choice.reason)
    for other in choice.alternatives:
        if "missing" not in other or other["missing"] == "drop-rows":
            other = {"missing": "drop-rows"} | other
            found = pycupc.choose(frame, **other)
            assert found.indepTest is not choice.indepTest or "missing" in other


@pytest.mark.filterwarnings("ignore")
def test_what_holds_a_table_is_printed_in_few_words():
    frame, codes = words_and_numbers(whole=False, gaps=False), np.arange(900).reshape(300, 3) // 7 % 3
    X = frame[["a", "b"]].to_numpy()
    gaps = np.where(np.arange(600).reshape(300, 2) == 7, np.nan, X)
    mixed = pycupc.MixedTable.of(frame)
    held = [
        pycupc.choose(frame), mixed, pycupc.MixedImputation([mixed, mixed]), pycupc.IncompleteTable(gaps),
        pycupc.MultipleImputation([X, X]), DiscreteSuffStat(codes), pycupc.SuffStat.from_data(X),
        pycupc.RCoT(), pycupc.KCI(), pycupc.RCoT().of(X), pycupc.Knowledge(tiers=[["a"], ["b"]]),
        pycupc.simulate(40, 100), pycupc.effects(pycupc.pc(X), X), pycupc.cstar(X, n_resamples=3),
        pycupc.stability(X, n_resamples=3), pycupc.evaluate(pycupc.pc(X), pycupc.pc(X)), pycupc.fci(X),
    ]  # fmt: skip
    for value in held:
        assert len(repr(value)) < 500, repr(value)[:500]
        assert " object at 0x" not in repr(value)
