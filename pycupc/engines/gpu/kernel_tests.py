"""The kernel-based test on a device, by CuPy: whole kernels in batches, and an interval that holds each p-value.

A test whose interval does not hold alpha is decided by it; the CPU makes the others. docs/contracts/kernel_test.md has
the proof of the interval. The levels run in the order of the engine "cpu".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device, session
from pycupc.engines.protocol import Floats
from pycupc.independence.base import IndependenceTest, Indices, Mask
from pycupc.independence.kernel.kci import RIDGE, SHARE, tail
from pycupc.independence.kernel.test import Kept, KernelTest

#: Rounding changes the moments of a test by less than this share of them, unless the size of A or B is below `LEAST`.
ROUNDING, LEAST = 1e-6, 1.0
#: Matrices (n, n) that a test needs at a time, with its set and its ends, about.
MATRICES = 14


class KernelRounds(CpuEngine):
    """Levels in the order of the CPU engine, whose tests given sets are made on a device."""

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
        self._test = DeviceKernelTest(cast("KernelTest", self._test), self._device)
        super()._begin(names)


class DeviceKernelTest(KernelTest):
    """A `KernelTest` whose tests given sets are made on a device; those that it cannot decide, on the CPU.

    Its p-values are those of A and B with all their eigenvalues, within the interval. `n_doubtful`: tests that the CPU
    has made.
    """

    def __init__(self, test: KernelTest, device: Device | None) -> None:
        super().__init__(test.data, test.alpha, test.how, NAdelete=test.na_p == 1.0, quirks=test.quirks)
        self._device, self.n_doubtful = device, 0
        self.xp: Any = np if device is None else device.cp
        free = device_tuning.KERNEL_BYTES if device is None else device.free_memory() // 2
        matrix = 8 * self.data.n**2
        self._at_once = max(1, min(device_tuning.KERNEL_BYTES, free) // (MATRICES * matrix))
        self._of_sets = Kept(min(device_tuning.KERNEL_BYTES, free // 2))
        self.at_once = 1 << 14

    def _given(self, V: Indices) -> Floats:
        if self._device is None:
            return self._decided(V)
        with session(self._device):
            return self._decided(V)

    def _decided(self, V: Indices) -> Floats:
        """The p-values of tests given sets of one size: of the doubtful ones by the CPU."""
        order = np.lexsort((V[:, 1], V[:, 0], *V[:, :1:-1].T))
        p, doubtful = np.empty(len(V)), np.empty(len(V), dtype=np.bool_)
        for low in range(0, len(V), self._at_once):
            some = order[low : low + self._at_once]
            p[some], doubtful[some] = self._on_device(V[some])
        if len(at := np.flatnonzero(doubtful)):
            self.n_doubtful += len(at)
            p[at] = super()._given(V[at])
        return p

    def _on_device(self, V: Indices) -> tuple[Floats, Mask]:
        """The p-values of some tests, and whether their intervals hold alpha."""
        xp, size = self.xp, V.shape[1] - 2
        Z = xp.asarray(self._values(size))
        sets, of_set = np.unique(V[:, 2:], axis=0, return_inverse=True)
        R = self._left_by(sets, Z)
        of_set = of_set.ravel()
        x, of_x = np.unique(np.column_stack([of_set, V[:, 0]]), axis=0, return_inverse=True)
        y, of_y = np.unique(np.column_stack([of_set, V[:, 1]]), axis=0, return_inverse=True)
        of_ends = R[x[:, 0]]
        A = of_ends @ kernels(xp, Z[np.column_stack([x[:, 1], sets[x[:, 0]]])], 0.5) @ of_ends
        G = self._factors(y[:, 1], size) @ R[y[:, 0]]
        B = G.swapaxes(1, 2) @ G
        return self._p_values(Ends(xp, A), Ends(xp, B), of_x.ravel(), of_y.ravel())

    def _factors(self, y: Indices, size: int) -> Any:
        """Factors of the kernels of variables, with rows of zeros: (m, r, n)."""
        of_each = [self._of_one(v, size) for v in y.tolist()]
        out = np.zeros((len(y), max(1, *map(len, of_each)), self.data.n))
        for at, G in zip(out, of_each, strict=True):
            at[: len(G)] = G
        return self.xp.asarray(out)

    def _left_by(self, sets: Indices, Z: Any) -> Any:
        """R H of sets, (m, n, n): what each leaves of a kernel, which it also centres."""
        xp, kept = self.xp, self._of_sets
        known = {i: kept.find(tuple(S)) for i, S in enumerate(sets.tolist())}
        new = [i for i, R in known.items() if R is None]
        if new:
            made = explained(xp, kernels(xp, Z[sets[new]]))
            for i, R in zip(new, made, strict=True):
                known[i] = kept.get(tuple(sets[i].tolist()), R.copy)
        return xp.stack(list(known.values()))

    def _p_values(self, A: Ends, B: Ends, x: Indices, y: Indices) -> tuple[Floats, Mask]:
        xp = self.xp
        P = A.matrix[x] * B.matrix[y]
        a, b = A.diagonal[x], B.diagonal[y]
        norm = xp.sqrt(xp.einsum("ijk,ijk->i", P, P))
        sums = P.sum(axis=(1, 2)), (a * b).sum(axis=1), norm, A.lost[x] * B.trace[y] + B.lost[y] * A.trace[x]
        less = A.lost[x] * B.norm_of_diagonal[y] + B.lost[y] * A.norm_of_diagonal[x]
        small = xp.minimum(A.size[x], B.size[y])
        T, mean, norm, of_mean, of_norm, size = getattr(xp, "asnumpy", np.asarray)(xp.stack([*sums, less, small]))
        p = np.asarray(tail(T, mean, 2 * norm**2))
        low, high = interval(T, (mean - of_mean, mean), (norm - of_norm, norm))
        return p, ~((low > self.alpha) | (high < self.alpha)) | (size < LEAST)


class Ends:
    """One end of tests, m matrices (n, n) each: A, or B.

    `diagonal` (m, n); of each matrix `size`, its Frobenius norm, `lost`, the most that truncation takes of an
    eigenvalue, `trace`, and `norm_of_diagonal`.
    """

    def __init__(self, xp: Any, matrix: Any) -> None:
        self.matrix, self.diagonal = matrix, xp.diagonal(matrix, axis1=1, axis2=2)
        self.size = xp.sqrt(xp.einsum("ijk,ijk->i", matrix, matrix))
        self.lost, self.trace = SHARE * self.size, self.diagonal.sum(axis=1)
        self.norm_of_diagonal = xp.sqrt((self.diagonal**2).sum(axis=1))


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


def explained(xp: Any, K: Any) -> Any:
    """R H = eps (H K H + eps I)^-1 - 11' / n of kernels K, (m, n, n) each; K is overwritten."""
    n = K.shape[1]
    means = K.mean(axis=1)
    K -= means[:, None, :]
    K -= (means - means.mean(axis=1, keepdims=True))[:, :, None]
    at = xp.arange(n)
    K[:, at, at] += RIDGE
    X = _inverse_factors(xp, K)
    R = X.swapaxes(1, 2) @ X
    R *= RIDGE
    R -= 1.0 / n
    return R


def _inverse_factors(xp: Any, M: Any) -> Any:
    """The inverses of the Cholesky factors of positive definite matrices (m, n, n), which are overwritten; by blocks.

    CuPy factorises many small matrices at a time quickly, and large ones slowly; the rest are products.
    """
    n, width = M.shape[1], device_tuning.CHOLESKY_BLOCK
    X = xp.zeros_like(M)
    for k in range(0, n, width):
        end = min(k + width, n)
        own = xp.linalg.inv(xp.linalg.cholesky(M[:, k:end, k:end]))
        X[:, k:end, k:end] = own
        if k:
            X[:, k:end, :k] = -(own @ (M[:, k:end, :k] @ X[:, :k, :k]))
        if end < n:
            M[:, end:, k:end] = M[:, end:, k:end] @ own.swapaxes(1, 2)
            panel = M[:, end:, k:end]
            M[:, end:, end:] -= panel @ panel.swapaxes(1, 2)
    return X
