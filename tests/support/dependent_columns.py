"""Tables with columns that add up: parts and their total, and indicators of the levels of a factor."""

import numpy as np


def dependent_table(seed: int) -> np.ndarray:
    """A table (n, p): n 50 to 5,000; a total of 2 to 6 parts, or the indicators of a factor of 2 to 6 levels.

    Beside them an outcome that depends on them, and one to three variables that depend on it or on nothing. Numbers are
    whole, rounded, or neither, near zero or far from it.
    """
    rng = np.random.default_rng((seed, 58))
    n, k = int(50 * 10 ** rng.uniform(0, 2)), int(rng.integers(2, 7))
    if rng.random() < 0.5:
        parts = np.eye(k)[rng.permutation(np.arange(n) % k) if rng.random() < 0.5 else rng.integers(0, k, n)]
        columns = parts
    else:
        kind = rng.integers(3)
        parts = rng.integers(0, rng.integers(2, 12), (n, k)) if kind == 0 else rng.standard_normal((n, k))
        parts = parts.astype(float) + 0.3 * rng.integers(0, 2) * parts[:, :1].round() if kind == 0 else parts
        if kind == 1:
            parts = parts.round(int(rng.integers(1, 4)))
        columns = np.column_stack([parts, parts.sum(axis=1)])
    y = parts @ rng.choice([-1.0, 0.0, 0.5, 1.0], k) + rng.standard_normal(n)
    others = rng.standard_normal((n, int(rng.integers(1, 4))))
    others[:, 0] += rng.choice([0.0, 0.5]) * y
    measured = np.column_stack([y, others])
    if rng.random() < 0.5:
        measured = measured.round(2)
    X = np.column_stack([columns, measured])
    return X[:, rng.permutation(X.shape[1])]


def dummies(n=400):
    """A factor of three levels, on which y depends, and a variable that depends on y."""
    rng = np.random.default_rng(1)
    site = rng.integers(0, 3, n)
    y = np.array([0.0, 1.0, -1.0])[site] + rng.standard_normal(n)
    z = y + rng.standard_normal(n)
    return np.column_stack([np.eye(3)[site], y.round(2), z.round(2)])
