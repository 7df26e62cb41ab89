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


def draw(seed: int, p: int, n: int, most: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n, p) of variables that share a hidden cause and copy each other now and then, and their levels."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(2, most + 1, p)
    mixed = 0.5 * rng.random((n, 1)) + 0.5 * rng.random((n, p))
    codes = np.minimum((mixed * levels).astype(np.int64), levels - 1)
    for j in range(1, p):
        if rng.random() < 0.3:
            copied = rng.random(n) < 0.7
            codes[copied, j] = np.minimum(codes[copied, j - 1], levels[j] - 1)
    return codes, levels


def observed_df(x, y, S, dm):
    """Degrees of freedom of the levels that occur in each configuration of S."""
    strata: dict = {}
    for row in dm.tolist():
        strata.setdefault(tuple(row[s] for s in S), []).append((row[x], row[y]))
    seen = [[len(set(column)) for column in zip(*rows, strict=True)] for rows in strata.values()]
    return sum((r - 1) * (c - 1) for r, c in seen)
