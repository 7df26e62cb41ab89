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

#: Random pairs of observations from which the median distance is taken: its standard error is about 1 %.
FOR_MEDIAN = 4096
#: Added to the diagonal of the correlations of the features of S, as in the paper.
RIDGE = 1e-10
#: Most numbers of features of sets that are kept for later calls: 67 MB.
KEPT = 1 << 23


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
        self._apart = np.random.default_rng(self.seed).integers(len(self._values), size=(2, FOR_MEDIAN))
        self._ends = np.array([_standardised(self._mapped([v], self.of_ends)).T for v in range(self.p)])
        self._given: dict[tuple[int, ...], tuple[Floats, Floats]] = {}

    def of(self, data: Any) -> RCoT:
        """The test of these data, with the same options."""
        return type(self)(data, seed=self.seed, features=self.features, of_ends=self.of_ends)

    def batch(self, x: Indices, y: Indices, S: Indices) -> Floats:
        """See `Batch.batch`."""
        p = np.empty(len(x))
        _, owner = np.unique(np.sort(S, axis=1), axis=0, return_inverse=True)
        order = np.argsort(owner.ravel(), kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(owner.ravel()[order])) + 1) if len(x) else ():
            variables, ends = np.unique([x[some], y[some]], return_inverse=True)
            left = self._unexplained(variables, sorted(S[some[0]].tolist()))
            p[some] = _p_values(left, *ends.reshape(2, -1))
        return p

    def _mapped(self, variables: list[int], number: int) -> Floats:
        """Random Fourier features of some variables, float64 (n, number), each with mean 0."""
        values = self._values[:, variables]
        distances = ((values[self._apart[0]] - values[self._apart[1]]) ** 2).sum(axis=1)
        width = np.sqrt(np.median(distances)) or 1.0
        rng = np.random.default_rng([self.seed, zlib.crc32(repr(variables).encode())])
        angles = values @ (rng.normal(size=(len(variables), number)) / width) + rng.uniform(0, 2 * np.pi, number)
        out = np.cos(angles.astype(np.float32)).astype(np.float64)  # rounding is far below the root of `RIDGE`
        out -= out.mean(axis=0)
        return out

    def _unexplained(self, variables: Indices, S: list[int]) -> Floats:
        """The features of each variable that those of S do not explain, float64 (len(variables), of_ends, n)."""
        ends = self._ends[variables]
        if not S:
            return ends
        if (given_and_gram := self._given.get(tuple(S))) is None:
            given = self._mapped(S, self.features)
            gram = given.T @ given
            gram.flat[:: self.features + 1] += RIDGE * np.where(gram.diagonal() > 0, gram.diagonal(), 1.0)
            if (len(self._given) + 1) * given.size > KEPT:
                self._given.pop(next(iter(list(self._given)), ()), None)  # the oldest; other threads do so, too
            given_and_gram = self._given[tuple(S)] = given, gram
        (given, gram), together = given_and_gram, ends.reshape(-1, len(self._values))
        return (together - np.linalg.solve(gram, given.T @ together.T).T @ given.T).reshape(ends.shape)


def _standardised(features: Floats) -> Floats:
    spread = features.std(axis=0)
    return np.asarray(features / np.where(spread > 0, spread, 1.0))


def _p_values(features: Floats, x: Indices, y: Indices) -> Floats:
    """The p-values of x[i] and y[i], places in `features`, float64 (v, k, n), of mean 0.

    The products of the k features of x and the k of y have the covariances ``spread``, mean(x_a y_b x_c y_d). They are
    those between products of two features of x and products of two of y, of which there are fewer.
    """
    from scipy.special import gammaincc

    k, n = features.shape[1:]
    a, b = np.triu_indices(k)
    squares, pairs = features[:, a] * features[:, b], list(zip(x.tolist(), y.tolist(), strict=True))
    statistic = np.array([((features[i] @ features[j].T) ** 2).sum() for i, j in pairs]) / n
    place = np.empty((k, k), dtype=np.int64)
    place[a, b] = place[b, a] = np.arange(len(a))
    of_x, of_y = np.kron(place, np.ones_like(place)), np.kron(np.ones_like(place), place)
    spread = np.array([squares[i] @ squares[j].T for i, j in pairs])[:, of_x, of_y] / n
    k1, k2 = np.trace(spread, axis1=1, axis2=2), 2 * (spread * spread).sum(axis=(1, 2))
    k3 = 8 * (spread @ spread * spread).sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        df = 8 * k2**3 / k3**2
        p = gammaincc(df / 2, np.maximum((statistic - k1) * np.sqrt(2 * df / k2) + df, 0.0) / 2)
    return np.where(k2 > 0, p, 1.0)
