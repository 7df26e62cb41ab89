"""Near-collinear data: all engines give the answer of exact arithmetic on the given C (docs/contracts/contract.md,
section 2).

The oracle is pcalg's definition in 60 digits, by mpmath: the inverse where no singular value can be dropped, else the
pseudoinverse from all eigenvalues. Columns are 1e-5 to 1e-13 apart, in pairs and groups, or sums to within that.

Tolerances. Double-double computes r to a few 1e-16 if the matrix has full rank, so p, whose relative error is
z sqrt(n) / (1 - r^2) times that of r, agrees to 1e-9. Where some singular values are dropped and others, just above the
limit, are kept, an error of 1e-32 in the matrix turns r by 1e-32 / (singular value)^1.5, up to 1e-9: p agrees to 1e-6.
"""

import math
from functools import cache

import numpy as np
import pytest
from common import assert_same

import pycupc
from pycupc.independence.gaussian import fisher_z, gauss_ci_test
from pycupc.independence.gaussian.partial_correlation import canonical_r

EPS = 2.0**-52
KINDS = ("pair", "group", "two groups", "sum", "pair and copy", "group and sum", "exact sum")
N_PROBLEMS, N_RUNS, N_SHORT = 420, 520, 21


def problem(seed: int) -> tuple[np.ndarray, int, float]:
    """Correlations of seven variables, number of observations, alpha."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    p, n = 7, int(rng.choice([30, 100, 1000, 20000]))
    B = np.tril(rng.uniform(0.2, 0.9, (p, p)) * (rng.random((p, p)) < 0.5), -1)
    X = rng.standard_normal((n, p))
    apart = 10.0 ** -rng.uniform(5, 13, 2)
    for j in range(p):
        X[:, j] += X[:, :j] @ B[j, :j]
    noise = rng.standard_normal((n, p))
    order = rng.permutation(p)
    a, b, c, d, e, f, g = order
    if kind in ("pair", "pair and copy", "group", "two groups", "group and sum"):
        X[:, b] = X[:, a] + apart[0] * noise[:, b]
    if kind in ("group", "two groups", "group and sum"):
        X[:, c] = X[:, a] + apart[0] * noise[:, c]
    if kind == "two groups":
        X[:, e] = X[:, d] + apart[1] * noise[:, e]
    if kind in ("sum", "group and sum"):
        X[:, f] = X[:, d] + X[:, g] + apart[1] * noise[:, f]
    if kind == "pair and copy":
        X[:, e] = X[:, d]
    C = np.corrcoef(X, rowvar=False)
    if kind == "exact sum":  # b = 2 (a + c), whose correlations are float64 numbers: singular in exact arithmetic
        C[[a, b, c]], C[:, [a, b, c]] = 0.0, 0.0
        C[a, c] = C[c, a] = -7 / 8
        C[a, b] = C[b, a] = C[b, c] = C[c, b] = 1 / 4
        others = rng.integers(-8, 9, 4) / 64
        C[a, [d, e, f, g]] = C[[d, e, f, g], a] = others
        C[c, [d, e, f, g]] = C[[d, e, f, g], c] = others / 2
        C[b, [d, e, f, g]] = C[[d, e, f, g], b] = 2 * (others + others / 2)
    C = np.tril(C, -1)
    C = C + C.T
    np.fill_diagonal(C, 1.0)
    return np.ascontiguousarray(C), n, float(rng.choice([0.01, 0.05, 0.2]))


def exact_r(C: np.ndarray, x: int, y: int, S: tuple[int, ...]) -> tuple[float, bool]:
    """Partial correlation by definition, in 60 digits, and whether no singular value was dropped."""
    mpmath = pytest.importorskip("mpmath")
    if len(S) < 2:  # pcalg's closed formulas, in its own float64 operations
        r = C[x, y]
        if S:
            (k,) = S
            den = (1 - C[y, k] ** 2) * (1 - C[x, k] ** 2)
            num = C[x, y] - C[x, k] * C[y, k]
            r = num / math.sqrt(den) if den > 0 else math.copysign(math.inf, num) if num and den == 0 else 0.0
        return clipped(r), True
    nodes, m = [x, y, *S], len(S) + 2
    with mpmath.workdps(60):
        A = [[mpmath.mpf(float(C[i, j])) for j in nodes] for i in nodes]
        P = inverse([row[:] for row in A])
        if P is not None and m * m * EPS * sum(P[i][i] for i in range(m)) < 1:  # singular values above 1 / trace
            return clipped(float(-P[0][1] / mpmath.sqrt(P[0][0] * P[1][1]))), True
        w, V = mpmath.eigsy(mpmath.matrix(A))
        limit = m * max(abs(v) for v in w) * mpmath.mpf(EPS)
        kept = [k for k in range(m) if abs(w[k]) > limit]
        xx, xy, yy = (mpmath.fsum(V[a, k] * V[b, k] / w[k] for k in kept) for a, b in ((0, 0), (0, 1), (1, 1)))
        r = clipped(float(-xy / mpmath.sqrt(xx * yy))) if xx * yy > 0 else 0.0
        return r, len(kept) == m


def inverse(A: list[list]) -> list[list] | None:
    """By Gauss-Jordan elimination; None where a pivot is not positive."""
    m = len(A)
    for k in range(m):
        pivot = A[k][k]
        if not pivot > 1e-40:
            return None
        A[k][k] = type(pivot)(1)
        A[k] = [v / pivot for v in A[k]]
        for i in range(m):
            if i != k:
                factor, A[i][k] = A[i][k], type(pivot)(0)
                A[i] = [u - factor * v for u, v in zip(A[i], A[k], strict=True)]
    return A


def clipped(r: float) -> float:
    return 0.0 if math.isnan(r) else max(-0.9999999, min(0.9999999, r))


def exact_p(r: float, df: float) -> float:
    import mpmath

    if df <= 0:
        return 1.0
    with mpmath.workdps(60):
        return float(mpmath.erfc(mpmath.sqrt(df) * abs(mpmath.atanh(mpmath.mpf(r))) / mpmath.sqrt(2)))


@pytest.mark.parametrize("part", range(7))
def test_single_tests(part):
    """The canonical formula and the reference's, |S| from 0 to 5; the decision for three alphas."""
    met = set()
    for seed in range(part, N_PROBLEMS, 7):
        C, n, _ = problem(seed)
        rng = np.random.default_rng([seed, 1])
        size = seed // 7 % 6
        x, y, *S = rng.permutation(len(C))[: size + 2].tolist()
        S = sorted(S)
        want, full_rank = exact_r(C, x, y, tuple(S))
        met.add((size, full_rank))
        df = n - size - 3
        for r in (canonical_r(C, x, y, S), gauss_ci_test.partial_correlation(C, x, y, S)):
            p = fisher_z.p_value_of(r, df)
            assert p == pytest.approx(exact_p(want, df), rel=1e-9 if full_rank else 1e-6, abs=1e-300), (seed, size)
            for alpha in (0.01, 0.05, 0.2):
                assert (abs(r) <= fisher_z.cutoff(alpha, n, size)) == (exact_p(want, df) >= alpha), (seed, size)
    assert {size for size, _ in met} == set(range(6))


@pytest.fixture(scope="module")
def exact():
    """What PC-stable gives with the oracle as its test."""

    @cache
    def run(seed: int) -> pycupc.PcAlgo:
        C, n, alpha = problem(seed)

        @cache
        def p_value(x: int, y: int, S: tuple[int, ...]) -> float:
            return exact_p(exact_r(C, min(x, y), max(x, y), S)[0], n - len(S) - 3)

        return pycupc.skeleton({"C": C, "n": n}, lambda x, y, S, _: p_value(x, y, tuple(S)), alpha=alpha, p=len(C))

    return run


def check(fit: pycupc.PcAlgo, want: pycupc.PcAlgo, rtol: float = 1e-6) -> None:
    assert_same(fit, want)
    np.testing.assert_allclose(fit.pMax, want.pMax, rtol=rtol, atol=1e-300)


def fit(seed: int, engine: str) -> pycupc.PcAlgo:
    C, n, alpha = problem(seed)
    return pycupc.skeleton({"C": C, "n": n}, alpha=alpha, engine=engine)


SEEDS = [range(N_SHORT), *(pytest.param(range(N_SHORT + k, N_RUNS, 5), marks=pytest.mark.slow) for k in range(5))]


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_runs(exact, engine, seeds):
    for seed in seeds:
        check(fit(seed, engine), exact(seed))


@pytest.mark.parametrize("engine", [pytest.param(name, marks=pytest.mark.gpu) for name in ("gpu", "cupc-e", "cupc-s")])
def test_gpu_engines_equal_the_cpu_engine(engine):
    """Decisions, and p-values to the last bits of the logarithm: the canonical formula has the same bits."""
    for seed in range(N_RUNS):
        check(fit(seed, engine), fit(seed, "cpu"), rtol=1e-9)
