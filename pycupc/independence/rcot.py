"""A test for nonlinear dependence: the randomised conditional correlation test, RCoT.

Strobl, Zhang and Visweswaran (2019), Approximate kernel-based conditional independence tests for fast non-parametric
causal discovery, Journal of Causal Inference 7(1).
"""

from __future__ import annotations

import contextlib
import functools
import zlib
from itertools import pairwise
from typing import Any

import numpy as np

from pycupc.data.names import check_real
from pycupc.data.table import Table
from pycupc.independence.base import Floats, Indices
from pycupc.independence.compiled_rcot import RIDGE, Data, RcotWork, Sets, Tests, multiply
from pycupc.independence.registry import digest_of
from pycupc.system.machine import available_cores, gpu_works, run_in_threads

#: Random pairs of observations from which the median distance is taken: its standard error is about 1 %.
FOR_MEDIAN = 4096
#: Most numbers of Cholesky factors of sets that are kept for later calls: 67 MB.
KEPT = 1 << 23
#: Most tests of a call on a CPU; most sets that a thread takes at a time.
ON_CPU, SETS_AT_ONCE = 2000, 64
#: Most tests of a call on a GPU, and numbers in an array of features, where there is more than one set or test in it.
ON_GPU, ROOM = 10_000, 1 << 24
#: Tests whose moments are computed at a time on a CPU.
MOMENTS_AT_ONCE = 200


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
        If one of the numbers is not a whole number, from 0 or 1 on, or the device cannot be used.
    """

    symmetric = True

    def __init__(
        self, data: Any = None, *, seed: int = 0, features: int = 100, of_ends: int = 5, device: int | None = None
    ) -> None:
        for name, value in (("seed", seed), ("features", features), ("of_ends", of_ends), ("device", device or 0)):
            check_real(name, "a whole number", value, lambda v: v == int(v) and v >= 0)
        self.seed, self.features, self.of_ends, self.device = int(seed), int(features), int(of_ends), device
        if not (self.features and self.of_ends):
            raise ValueError(f"features and of_ends must be at least 1, got {features} and {of_ends}")
        self.at_once = ON_CPU if device is None else ON_GPU
        self.__name__ = f"RCoT(seed={seed}, features={features}, of_ends={of_ends})"
        if device is not None and not (found := gpu_works(device))[0]:
            raise ValueError(f"device={device} cannot run: {found[1]}; device=None needs no GPU")
        if data is None:
            return
        table = data if isinstance(data, Table) else Table.of(data)
        if table is not data:  # a `Table` has been checked
            table.check()
        table.check_scale()
        self.labels, self.p = table.labels, table.values.shape[1]
        self._kept: dict[bytes, tuple[Floats, Floats]] = {}
        i, j = np.random.default_rng(self.seed).integers(len(table.values), size=(2, FOR_MEDIAN))
        with self._on_device():
            values = _standardised(self._arrays, self._arrays.asarray(table.values.T.copy()))
            self._values = self._arrays.concatenate([values, self._arrays.ones_like(values[:1])])
            self._distances = (values[:, i] - values[:, j]) ** 2
            self._ends = _standardised(self._arrays, self._mapped(np.arange(self.p)[:, None], self.of_ends))

    def __repr__(self) -> str:
        return self.__name__

    @property
    def identity(self) -> str:
        """What determines the answers, by which a checkpoint recognises the test and its data."""
        values = getattr(self._arrays, "asnumpy", np.asarray)(self._values)
        return f"{self.__name__} on {'cpu' if self.device is None else 'gpu'}: {digest_of((values,))}"

    def of(self, data: Any) -> RCoT:
        """The test of these data, with the same options; None stands for the data that this test has."""
        if data is not None:
            return type(self)(data, seed=self.seed, features=self.features, of_ends=self.of_ends, device=self.device)
        if not hasattr(self, "p"):
            raise TypeError("RCoT() has no data: give them to pc, or make the test by RCoT(data)")
        return self

    def batch(self, x: Indices, y: Indices, S: Indices) -> Floats:
        """See `Batch.batch`."""
        sets, owner = np.unique(np.sort(S, axis=1), axis=0, return_inverse=True)
        order, p = np.argsort(owner.ravel(), kind="stable"), np.empty(len(x))
        owner = owner.ravel()[order]
        ends, at = np.unique(owner * self.p + np.array([x[order], y[order]]), return_inverse=True)
        of_set, variable = np.divmod(ends, self.p)
        first_test, first_end = (np.searchsorted(of, np.arange(len(sets) + 1)) for of in (owner, of_set))
        tests = Tests(sets, first_test, first_end, variable, *at.reshape(2, -1))
        with self._on_device():
            p[order] = self._p_values(*(self._on_cpu if self._arrays is np else self._on_gpu)(tests))
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

    def _weights(self, sets: Indices, number: int) -> Any:
        """The weights of the variables of sets, int (m, l), and of 1, in features: float64 (m, l + 1, number)."""
        xp, (m, size) = self._arrays, sets.shape
        drawn = np.empty((m, size + 1, number))
        for i, variables in enumerate(sets.tolist()):
            rng = np.random.default_rng([self.seed, zlib.crc32(repr(variables).encode())])
            drawn[i, :-1], drawn[i, -1] = rng.normal(size=(size, number)), rng.uniform(0, 2 * np.pi, number)
        width = xp.sqrt(xp.median(self._distances[sets].sum(axis=1), axis=1))[:, None, None]
        weights = xp.asarray(drawn / (2 * np.pi))
        weights[:, :-1] /= xp.where(width > 0, width, 1.0)
        return weights

    def _mapped(self, sets: Indices, number: int) -> Any:
        """Random Fourier features of sets of variables, int (m, l): float64 (m, number, n), each with mean 0."""
        xp, members = self._arrays, np.column_stack([sets, np.full(len(sets), self.p)])  # and 1
        out = self._weights(sets, number).swapaxes(1, 2) @ self._values[members]
        out = xp.cos(2 * np.pi * (out - xp.rint(out)))
        out -= out.mean(axis=2, keepdims=True)
        return out

    def _on_cpu(self, tests: Tests) -> tuple[Floats, Floats]:
        """The products of tests, see `multiply`, by compiled code in threads."""
        (_, k, n), t, f = self._ends.shape, len(tests.x), self.features
        a, b, _, _ = _places_of_products(k)
        q, v = len(a), int(np.diff(tests.first_end).max())
        data, out = Data(self._values, self._ends, a, b), (np.empty((t, k, k)), np.empty((t, q, q)))
        step = min(SETS_AT_ONCE, -(-len(tests.sets) // available_cores()))

        def make(first: int) -> None:
            sets = self._factors(tests.sets[first : first + step], first)
            shapes = (f, n), (k * v, f), (k * v + 3) * f, (k * v + 3, n), (v * q, n)
            multiply(data, tests, sets, RcotWork(*map(np.empty, shapes)), *out)
            for i in np.flatnonzero(sets.new).tolist():
                if (len(self._kept) + 1) * f * f > KEPT:
                    self._kept.pop(next(iter(list(self._kept)), b""), None)  # the oldest; other threads do so, too
                self._kept[tests.sets[first + i].tobytes()] = sets.weights[i].copy(), sets.factors[i].copy()

        run_in_threads(make, range(0, len(tests.sets), step), available_cores())
        return out

    def _factors(self, sets: Indices, first: int) -> Sets:
        """The weights of sets, number `first` and others, and the Cholesky factors that are known."""
        (m, size), f = sets.shape, self.features
        kept = [self._kept.get(members.tobytes()) for members in sets]
        new = np.array([known is None for known in kept])
        weights, factors = np.empty((m, size + 1, f)), np.empty((m, f, f))
        weights[new] = self._weights(sets[new], f)
        for i in np.flatnonzero(~new).tolist():
            weights[i], factors[i] = kept[i]  # type: ignore[misc]
        return Sets(first, weights, factors, new)

    def _on_gpu(self, tests: Tests) -> list[Any]:
        """The products of tests, of some sets at a time."""
        xp, (_, k, n), made = self._arrays, self._ends.shape, []
        a, b, _, _ = _places_of_products(k)
        step = max(1, ROOM // (n * self.features))
        for low, high in pairwise([*range(0, len(tests.sets), step), len(tests.sets)]):
            some, begins = slice(*tests.first_test[[low, high]]), tests.first_end[low : high + 1]
            number = np.arange(begins[0], begins[-1])
            owner = np.searchsorted(begins, number, side="right") - 1
            number -= begins[owner]  # among the variables of the set
            variables = np.zeros((high - low, number.max() + 1), dtype=np.int64)
            variables[owner, number] = tests.variable[begins[0] : begins[-1]]
            left = self._ends[variables].reshape(high - low, -1, n)
            if tests.sets.shape[1]:
                given, i = self._mapped(tests.sets[low:high], self.features), xp.arange(self.features)
                gram = given @ given.swapaxes(1, 2)
                gram[:, i, i] += RIDGE * xp.where(gram[:, i, i] > 0, gram[:, i, i], 1.0)
                left -= xp.linalg.solve(gram, given @ left.swapaxes(1, 2)).swapaxes(1, 2) @ given
            left = left.reshape(-1, k, n)
            x, y = (owner * variables.shape[1] + number)[np.array([tests.x[some], tests.y[some]]) - begins[0]]
            both = left, left[:, a] * left[:, b]
            made.append([values[x] @ values[y].swapaxes(1, 2) for values in both])
        return [*map(xp.concatenate, zip(*made, strict=True))]

    def _p_values(self, of_ends: Any, of_squares: Any) -> Floats:
        """The p-values of tests, from their products.

        The products of the k features of x and the k features of y have the covariances ``spread``, mean(x_a y_b x_c
        y_d). They are also the means of products of two features of x times products of two features of y, of which
        there are fewer.
        """
        from scipy.special import gammaincc

        xp, (m, k, _), n = self._arrays, of_ends.shape, self._values.shape[1]
        _, _, of_x, of_y = _places_of_products(k)
        moments, step = np.empty((4, m)), max(1, ROOM // k**4) if xp is not np else MOMENTS_AT_ONCE
        for low in range(0, m, step):
            # in the order of its axes: a test has the same p-value, whichever others the call has
            spread = xp.ascontiguousarray(of_squares[low : low + step, of_x, of_y]) / n
            third = 8 * (spread @ spread) * spread
            powers = of_ends[low : low + step] ** 2 / n, spread * xp.eye(k * k), 2 * spread**2, third
            sums = xp.stack([power.sum(axis=(1, 2)) for power in powers])
            moments[:, low : low + step] = getattr(xp, "asnumpy", np.asarray)(sums)
        statistic, k1, k2, k3 = moments
        with np.errstate(invalid="ignore", divide="ignore"):
            df = 8 * k2**3 / k3**2
            p = gammaincc(df / 2, np.maximum((statistic - k1) * np.sqrt(2 * df / k2) + df, 0.0) / 2)
        return np.where(k2 > 0, p, 1.0)


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
