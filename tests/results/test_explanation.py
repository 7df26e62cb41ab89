"""`why`: the test that removed an edge, gaps, fixed edges."""

import numpy as np
import pytest
from common import golden_case, refused, small_fit

import pycupc


def test_why_tells_the_separating_test():
    case, fit = small_fit()
    for (x, y), S in list(case.cells().items())[::40]:
        why = fit.why(x, y)
        assert (why.status, why.level, why.side) == ("removed", len(S), "A" if x < y else "B")
        assert tuple(fit.labels[s] for s in S) == why.S
        assert why.p == pytest.approx(case.pMax[x, y], rel=1e-6)
        assert why.p == pytest.approx(pycupc.gaussCItest(x, y, S, case.suff_stat), rel=1e-6)
        assert abs(why.r) <= why.cutoff
        assert why.margin == pytest.approx(why.cutoff - abs(why.r))
        assert "independent" in str(why)
    x, y = np.argwhere(fit.skeleton)[0].tolist()
    kept = fit.why(fit.labels[y], fit.labels[x])
    assert kept.status == "kept"
    assert kept.p == pytest.approx(case.pMax[x, y], rel=1e-6)


def test_why_of_gaps_and_fixed_edges():
    case = golden_case("fixed_gaps_and_edges")
    fit = pycupc.skeleton(case.suff_stat, **case.arguments)
    gap = np.argwhere(np.triu(case.fixedGaps.astype(bool), 1))[0].tolist()
    edge = np.argwhere(np.triu(case.fixedEdges.astype(bool) & ~case.fixedGaps.astype(bool), 1))[0].tolist()
    assert fit.why(*gap).status == "gap"
    assert fit.why(*edge).status == "fixed"
    refused("there is no variable 'nobody'", fit.why, "nobody", 0)
    refused("must be different variables", fit.why, 1, 1)
