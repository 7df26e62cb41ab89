"""`pycupc.choose`: what it offers fits the table, and what it prints is short."""

import numpy as np
import pandas as pd
import pytest

import pycupc
from pycupc.discrete import DiscreteSuffStat

pytestmark = pytest.mark.filterwarnings("ignore")  # of what is left out, which other tests read


def table(*, whole, gaps):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 2))
    frame = pd.DataFrame(np.round(numbers) if whole else numbers, columns=["a", "b"])
    frame["word"] = list("xyz") * 100
    if gaps:
        frame.iloc[:5, 0] = np.nan
    return frame


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_each_alternative_fits_the_table(whole, gaps):
    frame = table(whole=whole, gaps=gaps)
    choice = pycupc.choose(frame)
    assert ({"test": "discrete"} in choice.alternatives) == whole == ("test='discrete'" in choice.reason)
    for other in choice.alternatives:
        if "missing" not in other or other["missing"] == "drop-rows":
            other = {"missing": "drop-rows"} | other
            found = pycupc.choose(frame, **other)
            assert found.indepTest is not choice.indepTest or "missing" in other


def test_what_holds_a_table_is_printed_in_few_words():
    frame, codes = table(whole=False, gaps=False), np.arange(900).reshape(300, 3) // 7 % 3
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
