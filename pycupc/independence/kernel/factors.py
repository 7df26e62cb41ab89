"""Factors of kernels, G (r, n) with K = G'G, and the part of a kernel that a set of variables does not explain.

A factor costs n r numbers in place of n^2; r is 20 to 30 for one variable, up to n for four. The tolerances are such
that p-values are within 1e-8 of those of the whole kernels (docs/contracts/kernel_test.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from pycupc.independence.base import Floats
from pycupc.independence.kernel import compiled, lapack
from pycupc.independence.kernel.kci import RIDGE, SHARE

#: The largest number on the diagonal of what a factor leaves of a kernel: of one variable or a set, and of an end x
#: with its set.
EXACT, OF_ENDS = 1e-13, 1e-9
#: Where these are larger than this share of the largest eigenvalue that S leaves, as of a copy of a variable in S, a
#: tenth of the share is taken, though not less than the rounding errors.
RELATIVE, LEAST = 1e-10, 1e-15
#: Values of up to this number of variables are factorised column by column, which needs no (n, n) kernel.
FEW, FIRST_ROWS = 2, 64
#: A set whose kernel has a rank above this share of n is treated by an (n, n) matrix; so are sets of this size, of
#: fewer observations than `LOW_RANK`, unless they repeat values, without looking at the rank.
DENSE, LARGE, LOW_RANK = 0.45, 3, 2000
#: Elements of a part of a matrix (n, n): half a megabyte, which stays in the cache of a core.
PART = 1 << 16


def factor(values: Floats, tol: float) -> Floats:
    """A centred factor of the kernel of width 1 of values (d, n)."""
    G = _by_columns(values, tol) if len(values) <= FEW else lapack.pivoted_factor(kernel(values), tol)
    G -= G.mean(axis=1, keepdims=True)
    return G


def kernel(values: Floats) -> Floats:
    """The Gaussian kernel of width 1 of values (d, n)."""
    K = np.empty((values.shape[1],) * 2)
    compiled.fill_exponents(np.ascontiguousarray(values), K)
    return np.exp(K, out=K)


def _by_columns(values: Floats, tol: float) -> Floats:
    n, rank = values.shape[1], 0
    G, rest = np.empty((min(n, FIRST_ROWS), n)), np.ones(n)
    while (rank := compiled.factorise(np.ascontiguousarray(values), tol, G, rest, rank)) == len(G) < n:
        larger = np.empty((min(n, 2 * len(G)), n))
        larger[:rank] = G
        G = larger
    return G[:rank].copy()


class GivenSet:
    """What a set S of variables leaves of a kernel K: R K R with R = eps (K_S + eps I)^-1."""

    def __init__(self, values: Floats, of_one: Floats | None = None) -> None:
        """`values` (d, n) of the set; `of_one`: the factor, if it is known."""
        n, self._cholesky = values.shape[1], cast("Floats | None", None)
        if len(values) >= LARGE and n < LOW_RANK and 2 * len(np.unique(values, axis=1).T) > n:
            self._solve(values)
            return
        G = factor(values, EXACT) if of_one is None else of_one
        if len(G) > DENSE * n:
            self._solve(values)
            return
        self._factor = G
        self._explained = np.linalg.solve(G @ G.T + RIDGE * np.eye(len(G)), G)

    def _solve(self, values: Floats) -> None:
        K = kernel(values)
        means = K.mean(axis=0)
        K -= means
        K -= (means - means.mean())[:, None]
        K.flat[:: len(K) + 1] += RIDGE
        self._cholesky = lapack.cholesky(K)

    @property
    def nbytes(self) -> int:
        """Bytes of its matrices."""
        return 2 * self._factor.nbytes if self._cholesky is None else self._cholesky.nbytes

    def leave(self, G: Floats) -> None:
        """Replace the centred factor G (r, n) of a kernel K by a factor of R K R."""
        if self._cholesky is None:
            G -= (G @ self._factor.T) @ self._explained
        else:
            lapack.solve(self._cholesky, G)
            G *= RIDGE


class End(NamedTuple):
    """One end of tests given a set: factors of A, or B."""

    whole: Floats  # (r, n)
    kept: Floats  # (k, n): of the eigenvalues that count for the distribution under independence
    diagonal: Floats  # (n,): of the matrix of these

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.whole.nbytes + self.kept.nbytes + self.diagonal.nbytes


def end_given(values: Floats, given: GivenSet, tol: float, known: Floats | None = None) -> End:
    """The end with these values, (d, n); `known`: the factor of their kernel, if there is one."""
    G = factor(values, tol) if known is None else known.copy()
    given.leave(G)
    value, vector = np.linalg.eigh(G @ G.T) if len(G) else (np.zeros(1), np.zeros((0, 1)))
    if tol > max(RELATIVE * value[-1], LEAST) and value[-1] > 0:
        return end_given(values, given, max(RELATIVE / 10 * value[-1], LEAST))
    kept = np.ascontiguousarray(vector[:, value > SHARE * value[-1]].T @ G)
    return End(G, kept, (kept**2).sum(axis=0))


def moments(x: End, ys: Sequence[End]) -> tuple[Floats, Floats, Floats]:
    """The statistic, and its mean and variance under independence, of tests of x and each y, float64 (m,) each."""
    first = np.cumsum([0, *(len(y.whole) for y in ys)])
    products = ((x.whole @ np.concatenate([y.whole for y in ys]).T) ** 2).sum(axis=0)
    statistic = np.add.reduceat(np.append(products, 0.0), first[:-1]) * (np.diff(first) > 0)
    squares, n = np.zeros(len(ys)), len(x.diagonal)
    rows = max(16, PART // n)
    for low in range(0, n, rows):
        high = min(low + rows, n)
        A = x.kept[:, low:high].T @ x.kept[:, :high]
        compiled.weigh(A, low)
        for m, y in enumerate(ys):
            squares[m] += compiled.weighted_squares(A, y.kept[:, low:high].T @ y.kept[:, :high])
    return statistic, np.array([x.diagonal @ y.diagonal for y in ys]), 2 * squares
