"""Random correlation matrices with a negative eigenvalue, and the definition of their tests in 80 digits."""

import math

import numpy as np

KINDS = ("pairwise deletion", "edited", "grid", "ties", "rounded")
EPS = 2.0**-52


def indefinite_problem(seed: int) -> tuple[np.ndarray, int, float, int]:
    """Correlations of 4 to 12 variables, observations, alpha, and the last level to run."""
    rng = np.random.default_rng([38, seed])
    while True:
        p = int(rng.integers(4, 13))
        C = correlations_of_kind(KINDS[seed % len(KINDS)], rng, p)
        C = np.tril(C, -1)
        C += C.T
        np.fill_diagonal(C, 1.0)
        if np.linalg.eigvalsh(C)[0] < -1e-9:
            alpha = float(rng.choice([0.001, 0.01, 0.05, 0.2]))
            return C, int(10 ** rng.uniform(1, 5)), alpha, 8 if p < 9 else 3


def correlations_of_kind(kind: str, rng: np.random.Generator, p: int) -> np.ndarray:
    if kind == "grid":  # coarse, so that exact ties, singular parts and entries of exactly 0 in inverses are common
        C = rng.integers(-3, 4, (p, p)) / 4
        return C * (rng.random((p, p)) < rng.uniform(0.5, 1))
    n = int(rng.integers(p, 30))
    X = rng.standard_normal((n, p)) @ (np.eye(p) + np.tril(rng.normal(0, 0.7, (p, p)), -1))
    if kind == "pairwise deletion":
        M = np.ma.masked_array(X, rng.random((n, p)) < 0.4)
        return np.nan_to_num(np.ma.corrcoef(M, rowvar=False).filled(0.0)).clip(-1, 1)
    a, b, c, d = rng.permutation(p)[:4]
    if kind == "rounded":  # near copies, printed with few digits
        X[:, a] = X[:, b] + 10 ** rng.uniform(-4, -1) * X[:, a]
        return np.round(np.corrcoef(X, rowvar=False), int(rng.integers(2, 5)))
    C = np.corrcoef(X, rowvar=False)
    if kind == "ties":  # two copies, unlike towards some third variables
        C[a], C[:, a] = C[b], C[:, b]
        C[a, b] = C[b, a] = 1.0
        C = np.round(C * 8) / 8 if rng.random() < 0.5 else C
        C[a, c] = C[c, a] = C[b, d]
    else:
        for i, j in rng.integers(0, p, (int(rng.integers(1, 5)), 2)):
            C[i, j] = C[j, i] = rng.choice([rng.uniform(-1, 1), 0.0, 1.0, -1.0])
    return C


def defined_r(C: np.ndarray, x: int, y: int, S: tuple[int, ...]) -> float:
    """Partial correlation given two or more variables, in 80 digits; NaN where undefined
    (docs/contracts/contract.md, section 11).
    """
    import mpmath

    m = len(S) + 2
    with mpmath.workdps(80):
        w, V = mpmath.eigsy(mpmath.matrix([[mpmath.mpf(float(C[i, j])) for j in (x, y, *S)] for i in (x, y, *S)]))
        limit = m * max(abs(v) for v in w) * mpmath.mpf(EPS)
        kept = [k for k in range(m) if abs(w[k]) > limit]
        P = {(a, b): mpmath.fsum(V[a, k] * V[b, k] / w[k] for k in kept) for a, b in ((0, 0), (0, 1), (1, 1))}
        zero = [abs(P[a, a]) <= limit * mpmath.fsum((V[a, k] / w[k]) ** 2 for k in kept) for a in (0, 1)]
        product = P[0, 0] * P[1, 1]
        return math.nan if any(zero) or product < 0 else float(-P[0, 1] / mpmath.sqrt(product))
