"""The kernel-based test on a device: whole kernels in batches, and an interval that holds each p-value.

A test whose interval does not hold alpha is decided by it; the CPU makes the others. docs/contracts/kernel_test.md has
the proof of the interval. The levels run in the order of the engine "cpu". Products are CuPy's, factors by blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from pycupc.engines.cpu import answers
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device, session
from pycupc.engines.gpu.structures import i32, i64, ptr
from pycupc.engines.protocol import Answers, CountHook, Counts, Floats, Questions
from pycupc.independence.base import IndependenceTest, Indices
from pycupc.independence.kernel.kci import RIDGE, SHARE
from pycupc.independence.kernel.test import Bounds, Kept, KernelTest

#: Rounding changes the moments of a test by less than this share of them, unless the size of A or B is below `LEAST`.
ROUNDING, LEAST = 1e-6, 1.0
#: Matrices (n, n) that a test needs at a time, with its set and its ends, about.
MATRICES = 18
#: Small matrices that a thread of the host decomposes at a time.
AT_ONCE = 16
INVERT = ("kernel_test/factors", "invert_blocks")


class KernelRounds(CpuEngine):
    """Levels in the order of the CPU engine, whose tests given sets are made on a device; the CPU answers questions."""

    name = "gpu"

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device

    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        """Bytes that a run needs at its start on the device, and bytes free there."""
        assert test.n is not None
        need = 8 * MATRICES * int(test.n) ** 2
        return need, self._device.free_memory(need)

    def _begin(self, names: Sequence[str]) -> None:
        self._exact = cast("KernelTest", self._test)
        self._test = DeviceKernelTest(self._exact, self._device)
        super()._begin(names)

    def first_separating(self, questions: Questions, progress: CountHook | None = None) -> Answers:
        return answers.first_separating(self._exact, questions, self.threads, progress)

    def count_separating(self, questions: Questions) -> Counts:
        return answers.count_separating(self._exact, questions, self.threads)


class DeviceKernelTest(KernelTest):
    """A `KernelTest` whose tests given sets are made on a device; those that it cannot decide, on the CPU.

    Its p-values are upper bounds, on the right side of alpha. `test.bounds` gets the bounds of all tests, from which
    the exact p-values of a result are found. `n_made`, `n_doubtful`: tests, and those that the CPU has made.
    """

    def __init__(self, test: KernelTest, device: Device, xp: Any = None) -> None:
        super().__init__(test.data, test.alpha, test.how, NAdelete=test.na_p == 1.0, quirks=test.quirks)
        self._device, self.n_made, self.n_doubtful = device, 0, 0
        self.xp: Any = device.cp if xp is None else xp
        self._bounds = test.bounds = Bounds()
        free = min(device_tuning.KERNEL_BYTES, device.free_memory() // 2)
        self._at_once = max(1, free // (8 * MATRICES * self.data.n**2))
        self._of_sets = Kept(free // 2)
        self.at_once, self._of_level = 1 << 14, (0, None)

    @property
    def together(self) -> int:  # type: ignore[override]
        return device_tuning.KERNEL_TESTS

    def _given(self, V: Indices) -> Floats:
        """The p-values of tests given sets of one size: of the doubtful ones by the CPU."""
        order = np.lexsort((V[:, 1], V[:, 0], *V[:, :1:-1].T))
        low, high = np.empty((2, len(V)))
        with session(self._device):
            for begin in range(0, len(V), self._at_once):
                some = order[begin : begin + self._at_once]
                low[some], high[some] = self._on_device(V[some])
        doubtful = np.flatnonzero(~((low > self.alpha) | (high < self.alpha)))
        if len(doubtful):
            low[doubtful] = high[doubtful] = super()._given(V[doubtful])
        self.n_made, self.n_doubtful = self.n_made + len(V), self.n_doubtful + len(doubtful)
        self._bounds.add(V, np.nan_to_num(low, nan=self.na_p), np.nan_to_num(high, nan=self.na_p))
        return high

    def _on_device(self, V: Indices) -> tuple[Floats, Floats]:
        """Bounds on the p-values of some tests; NaN where rounding may be too large."""
        xp, size = self.xp, V.shape[1] - 2
        Z = xp.asarray(self._values(size))
        sets, of_set = np.unique(V[:, 2:], axis=0, return_inverse=True)
        R, of_set = self._left_by(sets, Z), of_set.ravel()
        x, of_x = np.unique(np.column_stack([of_set, V[:, 0]]), axis=0, return_inverse=True)
        y, of_y = np.unique(np.column_stack([of_set, V[:, 1]]), axis=0, return_inverse=True)
        of_x, of_y = of_x.ravel(), of_y.ravel()
        of_ends = R[x[:, 0]]
        A = of_ends @ kernels(xp, Z[np.column_stack([x[:, 1], sets[x[:, 0]]])], 0.5) @ of_ends
        size_x = xp.sqrt(xp.einsum("ijk,ijk->i", A, A))
        most = self._most_lost(A, SHARE * size_x)
        G = self._factors(size)[y[:, 1]] @ R[y[:, 0]]
        kept, size_y = self._kept_rows(G)
        B = kept.swapaxes(1, 2) @ kept
        b = xp.diagonal(B, axis1=1, axis2=2)[of_y]
        G = G[of_y]
        T = ((G @ A[of_x]) * G).sum(axis=(1, 2))
        mean, lost = (xp.diagonal(A, axis1=1, axis2=2)[of_x] * b).sum(axis=1), (most[of_x] * b).sum(axis=1)
        P = A[of_x]
        P *= B[of_y]
        norm = xp.sqrt(xp.einsum("ijk,ijk->i", P, P))
        less = (SHARE * size_x)[of_x] * xp.sqrt((b**2).sum(axis=1))
        found = xp.stack([T, mean, lost, norm, less, xp.minimum(size_x[of_x], size_y[of_y])])
        T, mean, lost, norm, less, least = getattr(xp, "asnumpy", np.asarray)(found)
        low, high = interval(T, (mean - lost, mean), (norm - less, norm))
        low[least < LEAST] = high[least < LEAST] = np.nan
        return low, high

    def _most_lost(self, A: Any, tau: Any) -> Any:
        """At least the diagonal of the part of A with eigenvalues up to tau: of 4 tau^2 A (A + tau I)^-2, (m, n)."""
        xp, at = self.xp, np.arange(A.shape[1])
        M = A.copy()
        M[:, at, at] += tau[:, None]
        X = self._inverse_factors(M)
        inverse = X.swapaxes(1, 2) @ X
        tau = tau[:, None]
        most = xp.diagonal(inverse, axis1=1, axis2=2) - tau * xp.einsum("ijk,ijk->ij", inverse, inverse)
        return 4.0 * tau**2 * xp.maximum(most, 0.0) * (1.0 + ROUNDING)

    def _kept_rows(self, G: Any) -> tuple[Any, Any]:
        """Factors of the matrices G'G without their small eigenvalues, (m, k, n), and the sizes of these matrices."""
        xp = self.xp
        grams = getattr(xp, "asnumpy", np.asarray)(G @ G.swapaxes(1, 2))
        value, vector = np.empty(grams.shape[:2]), np.empty(grams.shape)

        def decompose(some: slice) -> None:
            value[some], vector[some] = np.linalg.eigh(grams[some])

        self._in_threads(decompose, [slice(low, low + AT_ONCE) for low in range(0, len(grams), AT_ONCE)])
        vector = vector * (value > SHARE * value[:, -1:])[:, None, :]
        k = int((value > SHARE * value[:, -1:]).sum(axis=1).max())
        rows = xp.asarray(np.ascontiguousarray(vector[:, :, -k:].swapaxes(1, 2)))
        return rows @ G, xp.asarray(np.sqrt((value**2).sum(axis=1)))

    def _factors(self, size: int) -> Any:
        """Factors of the kernels of all variables, with rows of zeros: (p, r, n); they stay there for a level."""
        if self._of_level[0] != size:
            of_each = dict[int, Floats]()

            def make(v: int) -> None:
                of_each[v] = self._of_one(v, size)

            self._in_threads(make, range(self.p))
            out = np.zeros((self.p, max(1, *map(len, of_each.values())), self.data.n))
            for v, G in of_each.items():
                out[v, : len(G)] = G
            self._of_level = size, self.xp.asarray(out)
        return self._of_level[1]

    def _left_by(self, sets: Indices, Z: Any) -> Any:
        """R H of sets, (m, n, n): what each leaves of a kernel, which it also centres."""
        xp, kept = self.xp, self._of_sets
        known = {i: kept.find(tuple(S)) for i, S in enumerate(sets.tolist())}
        new = [i for i, R in known.items() if R is None]
        if new:
            made = self._explained(kernels(xp, Z[sets[new]]))
            for i, R in zip(new, made, strict=True):
                known[i] = kept.get(tuple(sets[i].tolist()), R.copy)
        return xp.stack(list(known.values()))

    def _explained(self, K: Any) -> Any:
        """R H = eps (H K H + eps I)^-1 - 11' / n of kernels K, (m, n, n) each; K is overwritten."""
        n, at = K.shape[1], np.arange(K.shape[1])
        means = K.mean(axis=1)
        K -= means[:, None, :]
        K -= (means - means.mean(axis=1, keepdims=True))[:, :, None]
        K[:, at, at] += RIDGE
        X = self._inverse_factors(K)
        R = X.swapaxes(1, 2) @ X
        R *= RIDGE
        R -= 1.0 / n
        return R

    def _inverse_factors(self, M: Any) -> Any:
        """The inverses of the Cholesky factors of positive definite matrices (m, n, n), which are overwritten."""
        (m, n, _), width = M.shape, device_tuning.CHOLESKY_BLOCK
        X = self.xp.zeros_like(M)
        for k in range(0, n, width):
            end = min(k + width, n)
            self._device.launch(*INVERT, (m,), (width,), (ptr(M), ptr(X), i64(n), i64(k), i32(end - k)))
            own = X[:, k:end, k:end]
            if k:
                X[:, k:end, :k] = -(own @ (M[:, k:end, :k] @ X[:, :k, :k]))
            if end < n:
                panel = M[:, end:, k:end] @ own.swapaxes(1, 2)
                M[:, end:, k:end] = panel
                M[:, end:, end:] -= panel @ panel.swapaxes(1, 2)
        return X


def interval(
    T: Floats, mean: tuple[Floats, Floats], norm: tuple[Floats, Floats], rounding: float = ROUNDING
) -> tuple[Floats, Floats]:
    """Bounds on the p-values of statistics whose mean and sqrt(variance / 2) lie between two numbers, float64 (m,)."""
    less, more = 1 - rounding, 1 + rounding
    m0, m1 = np.maximum(mean[0], 0.0) * less, mean[1] * more
    v0, v1 = 2 * (np.maximum(norm[0], 0.0) * less) ** 2, 2 * (norm[1] * more) ** 2
    from scipy.special import gammaincc  # takes a quarter of a second to import

    with np.errstate(invalid="ignore", divide="ignore"):
        low = gammaincc(m0**2 / v1, np.maximum(T * more, 0.0) * m1 / v0)
        high = gammaincc(m1**2 / v0, np.maximum(T * less, 0.0) * m0 / v1)
    return np.asarray(low), np.asarray(high)


def kernels(xp: Any, values: Any, of_others: float = 1.0) -> Any:
    """Gaussian kernels of width 1 of values (m, d, n); all variables but the first are multiplied by `of_others`."""
    out: Any = 0.0
    for k in range(values.shape[1]):
        v = values[:, k] if k == 0 else values[:, k] * of_others
        difference = v[:, :, None] - v[:, None, :]
        difference *= difference
        out = difference if k == 0 else out + difference
    out *= -0.5
    return xp.exp(out, out=out)
