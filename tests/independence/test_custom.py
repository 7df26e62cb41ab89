"""A user's own test."""

import math

import numpy as np
from common import golden_case

import pycupc


def test_custom_test_gets_what_it_was_given_and_NAdelete_decides():
    case = golden_case("er_p10_n100")
    calls = []

    def test(x, y, S, suff_stat):
        calls.append((x, y, S))
        return pycupc.gaussCItest(x, y, S, suff_stat)

    fit = pycupc.pc(case.suff_stat, test, alpha=float(case.alpha), p=10)
    np.testing.assert_array_equal(fit.graph, case.cpdag_relaxed)
    np.testing.assert_allclose(fit.pMax, case.pMax, rtol=1e-9)
    assert len(calls) == sum(fit.n_edgetests)
    assert "reference" in fit.engine
    nothing = pycupc.skeleton(None, lambda *_: math.nan, alpha=0.05, p=4)
    everything = pycupc.skeleton(None, lambda *_: math.nan, alpha=0.05, p=4, NAdelete=False)
    assert not nothing.skeleton.any()
    assert everything.skeleton.sum() == 12
