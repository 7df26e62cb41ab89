"""Discrete data with rare levels, and the comparison with pcalg's recorded answers."""

import numpy as np
from common import VARIANTS, Case

import pycupc
from pycupc.discrete import binCItest, disCItest


def discrete(case: Case) -> tuple[dict, object]:
    """suffStat and test of a recorded case."""
    data = {"dm": case.dm, "nlev": case.nlev, "adaptDF": bool(case.adaptDF)}
    return data, binCItest if case.binary else disCItest


def check_answer(case: Case) -> None:
    """The CPU engine's skeleton, sets, counts, p-values and orientations are those of pcalg."""
    data, test = discrete(case)
    quirks = test is disCItest
    fit = pycupc.skeleton(data, test, **case.arguments, engine="cpu", quirks=quirks)
    np.testing.assert_array_equal(fit.skeleton, case.skeleton)
    assert fit.sepset.cells() == case.cells()
    assert fit.n_edgetests == case.n_edgetests.tolist()
    assert fit.max_ord == case.max_ord
    np.testing.assert_allclose(fit.pMax, case.pMax, rtol=1e-8, atol=1e-300)
    for variant in case.variants():
        fit = pycupc.pc(data, test, **case.arguments, **VARIANTS[variant], quirks=quirks, random_state=1)
        recorded = getattr(case, f"cpdag_{variant}")
        if fit.notes.get("orientation") == "retry: random":
            np.testing.assert_array_equal(fit.skeleton, (recorded != 0) | (recorded != 0).T, err_msg=variant)
        else:
            np.testing.assert_array_equal(fit.graph, recorded, err_msg=variant)


def rare_levels(n=600):
    """a, b and c have rare levels and depend on one another; d and e have too many levels for a test."""
    rng = np.random.default_rng(1)
    a = rng.choice(6, size=n, p=[0.8, 0.1, 0.04, 0.03, 0.02, 0.01])
    b = (a + (rng.random(n) < 0.15)) % 6
    c = np.where(rng.random(n) < 0.6, b, rng.integers(0, 6, n))
    many = rng.integers(0, 12, (n, 2))
    return np.column_stack([a, b, c, many]), [6, 6, 6, 12, 12]
