"""Random problems with columns that are nearly copies of others, from 10^-1 to 10^-4 apart.

Given a third copy, the partial correlation of two copies may be so close to 1 that it is clipped. With few observations
such a test is weaker evidence for the edge than their correlation, as its z has fewer degrees of freedom.
"""

from typing import Any

import numpy as np

from pycupc.independence.gaussian.correlation import correlation


def near_copies(seed: int) -> dict[str, Any]:
    """Arguments of `pycupc.skeleton`: p 10 to 60, n 8 to 10,000, every second one at most 20."""
    rng = np.random.default_rng((seed, 23))
    p, n = int(rng.integers(10, 61)), int(8 * 10 ** rng.uniform(0, 0.4 if seed % 2 else np.log10(1250)))
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        if rng.random() < 0.6:
            X[:, j] = X[:, rng.integers(j)] + 10 ** -rng.uniform(rng.choice([1, 3.5]), 4) * X[:, j]
    return {"suffStat": {"C": correlation(X), "n": n}, "alpha": float(rng.choice([0.01, 0.1, 0.5])), "m_max": 3}


def assert_same_evidence(pMax: np.ndarray, expected: np.ndarray) -> None:
    """Equal to 10^-6 in p or, below p = 1/e, in log p: there a relative error of r weighs -log(p) times as much."""
    with np.errstate(divide="ignore", invalid="ignore"):  # 0, and -inf where nothing was tested
        np.testing.assert_allclose(np.log(pMax), np.log(expected), rtol=1e-6, atol=1e-6)
