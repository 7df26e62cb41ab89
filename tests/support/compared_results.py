"""Results that differ in one place, for the tests of `compare`."""

import numpy as np


def problem(p: int = 12, n: int = 150, seed: int = 3) -> dict:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        parents = rng.choice(j, min(j, 2), replace=False)
        X[:, j] += X[:, parents] @ rng.uniform(0.4, 1.0, len(parents))
    return {"C": np.corrcoef(X, rowvar=False), "n": n}
