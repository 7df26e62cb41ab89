"""A test for nonlinear dependence: the randomised conditional correlation test, RCoT.

Strobl, Zhang and Visweswaran (2019), Approximate kernel-based conditional independence tests for fast non-parametric
causal discovery, Journal of Causal Inference 7(1).
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from pycupc.data.names import check_real
from pycupc.data.table import Table
from pycupc.independence.base import Floats, Indices

#: Observations from which the median distance is taken; 500, as in the paper, take four times as long.
FOR_MEDIAN = 250
#: Added to the diagonal of the covariances of the features of S, as in the paper.
RIDGE = 1e-10


class RCoT:
    """RCoT of a table, for `pycupc.pc(table, RCoT())`: a `pycupc.independence.batch.Batch`.

    x, y and S are mapped to random Fourier features of a Gaussian kernel, whose width is the median distance. What the
    features of S explain linearly is taken from the features of x and of y; the statistic is n times the sum of their
    squared covariances that are left. Its distribution under independence is a mixture of chi-squares, which the method
    of Hall, Buckley and Eagleson approximates by three moments.

    Parameters
    ----------
    data : table (n, p), optional
        Numbers, complete; `of` gives them later.
    seed : int, default 0
        Of the random features, which depend on it and on the variables alone.
    features : int, default 100
        Number of features of S.
    of_ends : int, default 5
        Number of features of x and of y.

    Attributes
    ----------
    symmetric : bool
    p, labels : int, and tuple of str, or None
    """

    symmetric, at_once = True, 2000

    def __init__(self, data: Any = None, *, seed: int = 0, features: int = 100, of_ends: int = 5) -> None:
        for name, value in (("seed", seed), ("features", features), ("of_ends", of_ends)):
            check_real(name, "a whole number", value, lambda v: v == int(v) and v >= 0)
        self.seed, self.features, self.of_ends = int(seed), int(features), int(of_ends)
        if data is None:
            return
        table = Table.of(data)
        table.check()
        spread = table.values.std(axis=0)
        self.labels, self.p = table.labels, table.values.shape[1]
        self._values: Floats = (table.values - table.values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self._ends = [self._mapped([v], self.of_ends) for v in range(self._values.shape[1])]

    def of(self, data: Any) -> RCoT:
        """The test of these data, with the same options."""
        return type(self)(data, seed=self.seed, features=self.features, of_ends=self.of_ends)

    def batch(self, x: Indices, y: Indices, S: Indices) -> Floats:
        """See `Batch.batch`."""
        p = np.empty(len(x))
        _, owner = np.unique(np.sort(S, axis=1), axis=0, return_inverse=True)
        order = np.argsort(owner.ravel(), kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(owner.ravel()[order])) + 1):
            variables = np.unique([x[some], y[some]]).tolist() if len(some) else []
            left = dict(zip(variables, self._unexplained(variables, sorted(S[some[0]].tolist())), strict=True))
            for i in some.tolist():
                p[i] = _p_value(left[int(x[i])], left[int(y[i])])
        return p

    def _mapped(self, variables: list[int], number: int) -> Floats:
        """Random Fourier features of some variables, float64 (n, number), each with mean 0 and variance 1."""
        values = self._values[:, variables]
        some = values[:FOR_MEDIAN]
        squares = (some**2).sum(axis=1)
        distances = squares[:, None] + squares - 2 * some @ some.T
        width = np.sqrt(np.median(np.maximum(distances[np.triu_indices(len(some), 1)], 0))) or 1.0
        rng = np.random.default_rng([self.seed, zlib.crc32(repr(variables).encode())])
        angles = values @ (rng.normal(size=(len(variables), number)) / width) + rng.uniform(0, 2 * np.pi, number)
        out = np.cos(angles)
        out -= out.mean(axis=0)
        spread = out.std(axis=0)
        return np.asarray(out / np.where(spread > 0, spread, 1.0))

    def _unexplained(self, variables: list[int], S: list[int]) -> list[Floats]:
        """The features of each variable that those of S do not explain, float64 (n, of_ends) each."""
        ends = [self._ends[v] for v in variables]
        if not S:
            return ends
        given, n = self._mapped(S, self.features), len(self._values)
        together = np.hstack(ends)
        gram = given.T @ given / n + RIDGE * np.eye(self.features)
        left = together - given @ np.linalg.solve(gram, given.T @ together / n)
        return np.split(left, len(ends), axis=1)


def _p_value(x: Floats, y: Floats) -> float:
    """The p-value of two matrices of features, float64 (n, k), of mean 0."""
    from scipy.special import gammaincc

    n, products = len(x), (x[:, :, None] * y[:, None, :]).reshape(len(x), -1)
    statistic = float((products.mean(axis=0) ** 2).sum() * n)
    spread = products.T @ products / n
    k1, k2, k3 = np.trace(spread), 2 * (spread * spread).sum(), 8 * (spread @ spread * spread).sum()
    if not k2 > 0:
        return 1.0
    df = 8 * k2**3 / k3**2
    return float(gammaincc(df / 2, max((statistic - k1) * np.sqrt(2 * df / k2) + df, 0.0) / 2))
