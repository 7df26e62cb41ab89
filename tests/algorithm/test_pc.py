"""Whole runs: effective sample sizes, NaN, gaps everywhere, the log, the place of a warning."""

import math

import numpy as np
import pytest
from common import golden_case, small_fit

import pycupc
from pycupc import pc, skeleton
from pycupc.independence.gaussian import fisher_z


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_an_effective_sample_size_decides_and_is_saved(engine, tmp_path):
    case = golden_case("er_p10_n100")
    C, x, y = np.eye(2), 0, 1
    C[x, y] = C[y, x] = r = 0.3
    n_at = (1.959963984540054 / math.atanh(r)) ** 2 + 3  # where p is 0.05
    fits = [pycupc.skeleton({"C": C, "n": n}, alpha=0.05, engine=engine) for n in (n_at - 0.01, n_at + 0.01)]
    kept = [len(fit.sparse_graph) for fit in fits]
    assert kept == [0, 1]
    fit = pycupc.pc(pycupc.SuffStat(case.C, 57.25), alpha=0.05, engine=engine)
    fit.save(tmp_path / "fit.npz")
    loaded = pycupc.PcAlgo.load(tmp_path / "fit.npz")
    assert loaded.n == fit.n == 57.25
    assert "57.25 observations" in loaded.summary()
    np.testing.assert_array_equal(loaded.pMax, fit.pMax)
    assert pycupc.SuffStat(case.C, 57.0).n == 57


def test_a_signalling_nan_as_of_r_gives_no_warning(recwarn):
    missing = np.array([0x7FF00000000007A2], dtype=np.uint64).view(np.float64)
    assert fisher_z.p_value(missing, 100, 0) == 1
    assert not recwarn.list


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_gaps_everywhere_leave_nothing_to_test(engine):
    fit = pycupc.pc({"C": np.eye(3), "n": 50}, fixedGaps=np.ones((3, 3), dtype=bool), engine=engine)
    assert (fit.max_ord, fit.n_edgetests) == (-1, [0])  # as pcalg says it
    assert not fit.graph.any()
    assert fit.sepset.cells() == {}
    assert fit.why(0, 1).status == "gap"


def test_verbose_tells_each_level(caplog):
    with caplog.at_level("INFO", logger="pycupc"):
        small_fit(verbose=True)
    assert any(record.message.startswith("level 1: ") for record in caplog.records)


def test_a_warning_points_to_the_call():
    C = np.eye(4)
    C[0, 1] = C[1, 0] = np.nan
    for function in (pc, skeleton):
        with pytest.warns(UserWarning, match="C has NaN") as said:
            function({"C": C, "n": 50})
        assert said[0].filename == __file__
