"""Tables for runs without the matrix of all variables."""

import numpy as np


def table(n, p, seed, degree=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        parents = rng.integers(0, j, rng.integers(0, degree + 1))
        X[:, j] += X[:, parents] @ rng.uniform(-1, 1, len(parents))
    return X
