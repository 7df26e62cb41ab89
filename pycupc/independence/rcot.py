"""A test for nonlinear dependence: the randomised conditional correlation test, RCoT.

Strobl, Zhang and Visweswaran (2019), Approximate kernel-based conditional independence tests for fast non-parametric
causal discovery, Journal of Causal Inference 7(1).
"""

from __future__ import annotations

import contextlib
import functools
import math
import zlib
from typing import Any

import numpy as np

from pycupc.data.names import check_real
from pycupc.data.table import Table
from pycupc.independence.base import Floats, Indices
from pycupc.system.compiled import compiled
from pycupc.system.machine import gpu_works

#: Random pairs of observations from which the median distance is taken: its standard error is about 1 %.
FOR_MEDIAN = 4096
#: Added to the diagonal of the correlations of the features of S, as in the paper.
RIDGE = 1e-10
#: The series of cos(2 pi t) in t^2, from its last term, exact to 1e-15 up to half a turn.
SERIES = tuple((-1) ** k * (2 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in range(13, -1, -1))
#: Added and taken away, it rounds to a whole number.
TO_WHOLE = 1.5 * 2.0**52
#: Most numbers of features of sets that are kept for later calls: 67 MB.
KEPT = 1 << 23
#: Most tests of a call, and numbers in an array of features, where there is more than one set or test in it.
ON_CPU, ON_GPU = (2000, 1 << 17), (10_000, 1 << 24)


class RCoT:
    """RCoT of a table, for `pycupc.pc(table, RCoT())`: a `pycupc.independence.custom.Batch`.

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
    device : int, optional
        Number of the CUDA device that makes the tests, with CuPy; by default the CPU does. Their p-values are equal up
        to rounding.

    Attributes
    ----------
    symmetric : bool
    p, labels : int, and tuple of str, or None

    Raises
    ------
    ValueError
        If one of the numbers is not a whole number from 0 on, or the device cannot be used.
    """

    symmetric = True

    def __init__(
        self, data: Any = None, *, seed: int = 0, features: int = 100, of_ends: int = 5, device: int | None = None
    ) -> None:
        for name, value in (("seed", seed), ("features", features), ("of_ends", of_ends), ("device", device or 0)):
            check_real(name, "a whole number", value, lambda v: v == int(v) and v >= 0)
        self.seed, self.features, self.of_ends, self.device = int(seed), int(features), int(of_ends), device
        self.at_once, self._room = ON_CPU if device is None else ON_GPU
        if device is not None and not (found := gpu_works(device))[0]:
            raise ValueError(f"device={device} cannot run: {found[1]}; device=None needs no GPU")
        if data is None:
            return
        table = Table.of(data)
        table.check()
        self.labels, self.p = table.labels, table.values.shape[1]
        self._given: dict[tuple[int, bytes], tuple[Any, Any]] = {}
        self._apart = np.random.default_rng(self.seed).integers(len(table.values), size=(2, FOR_MEDIAN))
        with self._on_device():
            values = _standardised(self._arrays, self._arrays.asarray(table.values.T.copy()))
            self._values = self._arrays.concatenate([values, self._arrays.ones_like(values[:1])])
            self._ends = _standardised(self._arrays, self._mapped(np.arange(self.p)[:, None], self.of_ends))

    def of(self, data: Any) -> RCoT:
        """The test of these data, with the same options."""
        return type(self)(data, seed=self.seed, features=self.features, of_ends=self.of_ends, device=self.device)

    def batch(self, x: Indices, y: Indices, S: Indices) -> Floats:
        """See `Batch.batch`."""
        p, n = np.empty(len(x)), self._values.shape[1]
        sets, owner = np.unique(np.sort(S, axis=1), axis=0, return_inverse=True)
        owner = owner.ravel()
        order, step = np.argsort(owner, kind="stable"), max(1, self._room // (n * self.features))
        firsts = np.arange(0, len(sets), step)
        with self._on_device():
            for first, some in zip(firsts, np.split(order, np.searchsorted(owner[order], firsts[1:])), strict=False):
                ends = (owner[some] - first) * self.p + np.array([x[some], y[some]])
                left, places = self._unexplained(sets[first : first + step], ends)
                p[some] = self._p_values(left, *places)
        return p

    @property
    def _arrays(self) -> Any:
        """The package of the arrays."""
        if self.device is None:
            return np
        import cupy

        return cupy

    def _on_device(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.device is None else self._arrays.cuda.Device(self.device)

    def _mapped(self, sets: Indices, number: int) -> Any:
        """Random Fourier features of sets of variables, int (m, l): float64 (m, number, n), each with mean 0."""
        xp, m = self._arrays, len(sets)
        values = self._values[np.column_stack([sets, np.full(m, self.p)])]  # 1 in the last row, for the shifts
        distances = ((values[:, :, self._apart[0]] - values[:, :, self._apart[1]]) ** 2).sum(axis=1)
        width = xp.sqrt(xp.median(distances, axis=1))[:, None, None]
        drawn = np.empty((m, values.shape[1], number))
        for i, variables in enumerate(sets.tolist()):
            rng = np.random.default_rng([self.seed, zlib.crc32(repr(variables).encode())])
            drawn[i, :-1], drawn[i, -1] = rng.normal(size=(len(variables), number)), rng.uniform(0, 2 * np.pi, number)
        weights = xp.asarray(drawn / (2 * np.pi))
        weights[:, :-1] /= xp.where(width > 0, width, 1.0)
        out = weights.swapaxes(1, 2) @ values
        if xp is np:
            _cosines(out.ravel())
        else:
            out = xp.cos(2 * np.pi * (out - xp.rint(out)))
        out -= out.mean(axis=2, keepdims=True)
        return out

    def _given_and_gram(self, sets: Indices) -> tuple[Any, Any]:
        """The features of sets, and their products (m, features, features) with the ridge: kept for later calls."""
        xp, key = self._arrays, (len(sets), sets.tobytes())
        if (found := self._given.get(key)) is not None:
            return found
        given = self._mapped(sets, self.features)
        gram = given @ given.swapaxes(1, 2)
        diagonal = gram.diagonal(axis1=1, axis2=2)
        gram += xp.eye(self.features) * (RIDGE * xp.where(diagonal > 0, diagonal, 1.0))[:, None]
        if (len(self._given) + 1) * given.size > KEPT:
            self._given.pop(next(iter(list(self._given)), (0, b"")), None)  # the oldest; other threads do so, too
        if given.size <= KEPT:
            self._given[key] = given, gram
        return given, gram

    def _unexplained(self, sets: Indices, ends: Indices) -> tuple[Any, Indices]:
        """The features of ends that those of their sets do not explain, and the place of each end among them.

        An end is p times the place of its set, plus its variable. Returns float64 (v, of_ends, n), and int of the shape
        of `ends`.
        """
        xp, (some, places) = self._arrays, np.unique(ends, return_inverse=True)
        of_set, variable = np.divmod(some, self.p)
        number = np.arange(len(some)) - np.searchsorted(of_set, of_set)  # among the variables of the set
        variables = np.zeros((len(sets), number.max(initial=0) + 1), dtype=np.int64)
        variables[of_set, number] = variable
        left = self._ends[variables].reshape(len(sets), -1, self._ends.shape[2])
        if sets.shape[1]:
            given, gram = self._given_and_gram(sets)
            left -= xp.linalg.solve(gram, given @ left.swapaxes(1, 2)).swapaxes(1, 2) @ given
        places = (of_set * variables.shape[1] + number)[places.reshape(ends.shape)]
        return left.reshape(-1, *self._ends.shape[1:]), places

    def _p_values(self, features: Any, x: Indices, y: Indices) -> Floats:
        """The p-values of x[i] and y[i], places in `features`, float64 (v, k, n), of mean 0.

        The products of the k features of x and the k of y have the covariances ``spread``, mean(x_a y_b x_c y_d). They
        are those between products of two features of x and products of two of y, of which there are fewer.
        """
        from scipy.special import gammaincc

        xp, (k, n) = self._arrays, features.shape[1:]
        a, b, of_x, of_y = _places_of_products(k)
        squares = features.take(a, axis=1)
        squares *= features.take(b, axis=1)
        moments, step = np.empty((4, len(x))), max(1, self._room // (n * len(a) if xp is not np else k**4))
        for low in range(0, len(x), step):
            i, j = x[low : low + step], y[low : low + step]
            spread = _products(xp, squares, i, j)[:, of_x, of_y] / n
            powers = (
                _products(xp, features, i, j) ** 2 / n,
                spread * xp.eye(k * k),
                2 * spread**2,
                8 * (spread @ spread) * spread,
            )
            sums = xp.stack([power.sum(axis=(1, 2)) for power in powers])
            moments[:, low : low + step] = getattr(xp, "asnumpy", np.asarray)(sums)
        statistic, k1, k2, k3 = moments
        with np.errstate(invalid="ignore", divide="ignore"):
            df = 8 * k2**3 / k3**2
            p = gammaincc(df / 2, np.maximum((statistic - k1) * np.sqrt(2 * df / k2) + df, 0.0) / 2)
        return np.where(k2 > 0, p, 1.0)


def _products(xp: Any, values: Any, i: Indices, j: Indices) -> Any:
    """The products of values[i] and the transposed values[j], of matrices."""
    if xp is np:  # without copies of the matrices
        return np.array([values[u] @ values[v].T for u, v in zip(i.tolist(), j.tolist(), strict=True)])
    return values[i] @ values[j].swapaxes(1, 2)


@compiled
def _cosines(turns: Floats) -> None:
    """The cosines in place of float64 (m,), in turns; NumPy takes 20 times as long.

    They must be exact: the features of S are nearly collinear, so that an error of 1e-7 moves p-values by 1e-2.
    """
    for i in range(len(turns)):
        turn = turns[i] - ((turns[i] + TO_WHOLE) - TO_WHOLE)
        value = 0.0
        for k in range(len(SERIES)):
            value = value * turn * turn + SERIES[k]
        turns[i] = value


@functools.cache
def _places_of_products(k: int) -> tuple[Indices, ...]:
    """The pairs a <= b of k features, and for pairs of products x_a y_b and x_c y_d the numbers of (a, c), (b, d)."""
    a, b = np.triu_indices(k)
    place = np.empty((k, k), dtype=np.int64)
    place[a, b] = place[b, a] = np.arange(len(a))
    return a, b, np.kron(place, np.ones_like(place)), np.kron(np.ones_like(place), place)


def _standardised(xp: Any, values: Any) -> Any:
    """Mean 0 and variance 1 along the last axis; 0 where the variance is 0."""
    spread = values.std(axis=-1, keepdims=True)
    return (values - values.mean(axis=-1, keepdims=True)) / xp.where(spread > 0, spread, 1.0)
