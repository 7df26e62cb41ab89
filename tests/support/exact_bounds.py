"""Adversaries of the bound of a node (docs/contracts/pruning.md, section 2), and its claim in exact arithmetic.

A problem is a matrix of correlations of q candidates and, last, x and y. Fractions hold exactly the numbers that the
code reads, so that no rounding of the test hides a bound that is too good by little.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

#: The smallest eigenvalue of a problem but for those at the limit of the search, so that float64 finds the smallest r.
LEAST = 0.02
#: By which a cutoff is raised above the smallest r that float64 finds: more than the rounding of that r.
ABOVE = 1e-10
#: The vector g of the CPU is this share of b (engines/cpu/pruning/bound.py).
SHARE_OF_B = 0.85


def solved(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A^-1 B of float64 arrays in exact arithmetic, as an array of fractions; A is positive definite."""
    left = np.vectorize(Fraction, otypes=[object])(np.column_stack([A, B]))
    for k in range(len(A)):
        left[k] = left[k] / left[k, k]
        for i in range(len(A)):
            if i != k:
                left[i] = left[i] - left[i, k] * left[k]
    return left[:, len(A) :]


def energy(C: np.ndarray, v: np.ndarray, T: Sequence[int], w: np.ndarray | None = None) -> Fraction:
    """v_T' C_TT^-1 w_T in exact arithmetic, of w = v by default."""
    of = list(T)
    found = solved(C[np.ix_(of, of)], (v if w is None else w)[of])[:, 0]
    return sum((Fraction(float(a)) * b for a, b in zip(v[of], found, strict=True)), Fraction(0))


def is_above(M: np.ndarray, T: Sequence[int], c: float) -> bool:
    """Whether |r(x, y | T)| > c >= 0 in exact arithmetic."""
    C, x, y, rho = M[:-2, :-2], M[:-2, -2], M[:-2, -1], Fraction(float(M[-1, -2]))
    cov, of_x, of_y = rho - energy(C, x, T, y), 1 - energy(C, x, T), 1 - energy(C, y, T)
    return cov * cov > Fraction(c) ** 2 * of_x * of_y


def is_definite(C: np.ndarray, less: np.ndarray) -> bool:
    """Whether C - diag(less) is positive definite in exact arithmetic."""
    left = np.vectorize(Fraction, otypes=[object])(C)
    for k in range(len(C)):
        left[k, k] -= Fraction(float(less[k]))
    for k in range(len(C)):
        if left[k, k] <= 0:
            return False
        for i in range(k + 1, len(C)):
            left[i] = left[i] - left[i, k] / left[k, k] * left[k]
    return True


def smallest(M: np.ndarray, size: int, taken: tuple[int, ...] = ()) -> tuple[float, tuple[int, ...]]:
    """The smallest r(x, y | T) sign(rho) of all sets T of a size that hold `taken`, by float64, and its T.

    rho is the correlation given `taken`.
    """
    q = len(M) - 2
    sets = np.array([S for S in combinations(range(q), size) if {*taken} <= {*S}], dtype=np.int64)
    at = np.column_stack([sets, np.full(len(sets), q), np.full(len(sets), q + 1)])
    K = np.linalg.inv(M[at[:, :, None], at[:, None, :]])
    K_taken = np.linalg.inv(M[np.ix_([*taken, q, q + 1], [*taken, q, q + 1])])
    r = np.sign(K_taken[-1, -2]) * K[:, -1, -2] / np.sqrt(K[:, -1, -1] * K[:, -2, -2])
    k = int(r.argmin())
    return float(r[k]), tuple(sets[k].tolist())


def joined(C: np.ndarray, x: np.ndarray, y: np.ndarray, rho: float) -> np.ndarray:
    """The matrix of the candidates, x and y."""
    M = np.block([[C, x[:, None], y[:, None]], [x, 1.0, rho], [y, rho, 1.0]])
    np.fill_diagonal(M, 1.0)
    return M


def tight(q: int, m: int, r: float, of_a: float, of_b: float, rho: float) -> np.ndarray:
    """A problem with r for all correlations of the first m candidates, where a alternates and b is constant.

    With `equal` for r each inequality of the proof is an equality for these m, where the vector g is 0.85 b. Other
    candidates are independent of everything.
    """
    C = np.eye(q)
    C[:m, :m] += r * (1.0 - np.eye(m))
    sign = np.where(np.arange(q) < m, 1.0, 0.0)
    a, b = of_a * sign * (-1.0) ** np.arange(q), of_b * sign
    a[:m] -= a[:m].mean()
    return joined(C, (a + b) / 2, np.sign(rho) * (a - b) / 2, rho)


def equal(m: int) -> float:
    """The correlation of m candidates for which g = 0.85 b solves C g = b for constant b."""
    return (1.0 / SHARE_OF_B - 1.0) / (m - 1)


def problems(seed: int, n: int) -> Iterator[tuple[np.ndarray, int]]:
    """Matrices of many kinds and the size of the sets: tight ones, equal entries, grids, factors, many candidates."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        m = int(rng.integers(2, 5))
        q = int(rng.integers(m, m + 4)) if k % 5 else int(rng.integers(10, 15 - m))
        kind = ("tight", "equal", "grid", "factor", "model")[k % 5]
        if kind == "tight":
            q, of_a = int(rng.integers(m, m + 3)), rng.uniform(0.2, 0.8)
            r, of_b = equal(m) * rng.choice([1.0, 1.0, 0.5, 2.0]), of_a * rng.uniform(0.1, 0.7)
            M = tight(q, m, r, of_a, of_b, rng.uniform(0.3, 0.7))
        elif kind == "equal":
            C = np.eye(q) + rng.uniform(0, 0.7) * (1 - np.eye(q))
            M = joined(
                C, np.full(q, rng.uniform(-0.6, 0.6)), np.full(q, rng.uniform(-0.6, 0.6)), rng.uniform(-0.9, 0.9)
            )
        elif kind == "grid":
            M = np.eye(q + 2) + (lambda A: A + A.T)(np.tril(rng.integers(-2, 4, (q + 2, q + 2)) / 8, -1))
        else:
            X = rng.standard_normal((40, q + 2)) + (kind == "factor") * rng.uniform(0, 2) * rng.standard_normal((40, 1))
            M = np.corrcoef(X, rowvar=False)
        low = np.linalg.eigvalsh(M)[0]
        if low < LEAST:
            M = (M + (LEAST - low) * np.eye(q + 2)) / (1 + LEAST - low)
            np.fill_diagonal(M, 1.0)
        yield (M + M.T) / 2, m


def nudged(rng: np.random.Generator, M: np.ndarray, size: float) -> np.ndarray:
    """A problem beside this one; the same one if that is too near to singular."""
    change = np.tril(rng.standard_normal(M.shape) * (rng.random(M.shape) < 0.4), -1) * size
    out = M + change + change.T
    return out if np.linalg.eigvalsh(out)[0] > LEAST else M


def walked(rng: np.random.Generator, level: int, n: int) -> Iterator[tuple[np.ndarray, tuple[int, ...], int, int]]:
    """Correlations of d neighbours and x, which is last, for the bound of pairs of last members; prefix, s, target.

    In each second problem the members after s have opposite correlations with x, with the target and perhaps with s, in
    turn, and one correlation among themselves, so that the changes of the numerator add up.
    """
    for k in range(n):
        prefix = (1,) if level > 2 and k % 4 > 1 else ()
        s, y = 1 + len(prefix), 0
        to_come = level - len(prefix) - 1
        d = s + 1 + to_come + (k % 3 == 2)
        if k % 2:
            rho, small, r = rng.uniform(0.03, 0.3), rng.uniform(0.01, 0.1), rng.uniform(0.0, 0.8)
            of_s, g = rng.choice([0.0, 0.3], 2), rng.choice([0.0, 0.3, 0.5])
            after, one, turns = (
                np.arange(s + 1, s + 1 + to_come),
                np.zeros((d + 1, d + 1)),
                (-1.0) ** np.arange(to_come),
            )
            one[np.ix_(after, after)] = np.tril(np.full((to_come, to_come), r), -1)
            one[after, s] = g * turns
            one[d, after], one[after, y] = (small + g * of_s)[:, None] * turns
            one[d, s], one[s, y], one[d, y] = *of_s, rho + of_s.prod()
            M = np.eye(d + 1) + one + one.T
        else:
            X = rng.standard_normal((40, d + 1)) + rng.uniform(0, 1.5) * rng.standard_normal((40, 1))
            M = np.corrcoef(X, rowvar=False)
        if np.linalg.eigvalsh(M)[0] > LEAST:
            yield M, prefix, s, y
