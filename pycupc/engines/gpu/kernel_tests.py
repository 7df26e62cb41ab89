"""The kernel-based test on a device: whole kernels in batches, and an interval that holds each p-value.

A test whose interval does not hold alpha is decided by it; where it does, a narrower one is tried, and the CPU makes
the others. docs/contracts/kernel_test.md has the proof of the intervals. The levels run in the order of the engine
"cpu".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from pycupc.engines.cpu import answers
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device, session
from pycupc.engines.gpu.kernel_matrices import ROUNDING, KernelMatrices
from pycupc.engines.protocol import Answers, CountHook, Counts, Floats, Questions
from pycupc.independence.base import IndependenceTest, Indices, Mask
from pycupc.independence.kernel.kci import SHARE
from pycupc.independence.kernel.test import Bounds, KernelTest

#: The size of A or B from which `ROUNDING` holds.
LEAST = 1.0
#: Matrices (n, n) that a test needs at a time, with its set and its ends, about.
MATRICES = 12


class KernelRounds(CpuEngine):
    """Levels in the order of the CPU engine, whose tests given sets are made on a device; the CPU answers questions."""

    name = "gpu"
    divides = False
    keeps_levels = False  # which hold bounds of p-values

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device
        self._made: DeviceKernelTest | None = None

    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        """Bytes that a run needs at its start on the device, and bytes free there."""
        n = cast("KernelTest", test).data.n if cast("KernelTest", test).given_sets else 0
        need = 8 * MATRICES * n**2
        return need, self._device.free_memory(need)

    def _too_large(self, test: IndependenceTest, need: int, free: int) -> str:
        return (
            f"KCI of {test.n:,} observations needs about {need / 1e9:,.1f} GB on engine 'gpu', and {free / 1e9:,.1f} "
            f"GB are free: up to {math.isqrt(free // (8 * MATRICES)):,} observations fit; draw some of the rows, take "
            "RCoT(), or engine 'cpu'"
        )

    def close(self) -> None:
        if self._made is not None:
            self._made.release()

    def _begin(self, names: Sequence[str]) -> None:
        self._exact = cast("KernelTest", self._test)
        self._test = self._made = DeviceKernelTest(self._exact, self._device)
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
        self._exact = test
        free = min(device_tuning.KERNEL_BYTES, device.free_memory() // 2)
        self._room = free // (8 * self.data.n**2)
        self.at_once = 1 << 14
        self._matrices: dict[int, KernelMatrices] = {}  # of the size of the sets

    def _given(self, V: Indices) -> Floats:
        """The p-values of tests given sets of one size: of the doubtful ones by the CPU."""
        order = np.lexsort((V[:, 1], V[:, 0], *V[:, :1:-1].T))
        low, high = np.empty((2, len(V)))
        with session(self._device):
            matrices = self._of_size(V.shape[1] - 2)
            for begin in range(0, len(V), matrices.together):
                some = order[begin : begin + matrices.together]
                low[some], high[some] = self._on_device(matrices, V[some])
        doubtful = np.flatnonzero(self._doubtful(low, high))
        if len(doubtful):
            low[doubtful] = high[doubtful] = super()._given(V[doubtful])
        self.n_made, self.n_doubtful = self.n_made + len(V), self.n_doubtful + len(doubtful)
        if self._exact.bounds is None:  # there are none where the CPU makes all tests given sets
            self._exact.bounds = Bounds()
        self._exact.bounds.add(V, np.nan_to_num(low, nan=self.na_p), np.nan_to_num(high, nan=self.na_p))
        return high

    def release(self) -> None:
        """Give the memory of the device back, but for a little that the process keeps for its next run."""
        self._matrices.clear()
        with session(self._device):
            pool = self._device.cp.get_default_memory_pool()
            if pool.free_bytes() > device_tuning.KEPT_SCRATCH:
                pool.free_all_blocks()

    def _doubtful(self, low: Floats, high: Floats) -> Mask:
        return ~((low > self.alpha) | (high < self.alpha))

    def _on_device(self, matrices: KernelMatrices, V: Indices) -> tuple[Floats, Floats]:
        """Bounds on the p-values of some tests; NaN where rounding may be too large."""
        at_x, at_y = matrices.prepare(V)
        low, high = self._bounds_of(matrices, at_x, at_y)
        again = np.flatnonzero(self._doubtful(low, high) & np.isfinite(low))
        if len(again):
            matrices.sharpen(at_x[again])
            low[again], high[again] = self._bounds_of(matrices, at_x[again], at_y[again])
        return low, high

    def _bounds_of(self, matrices: KernelMatrices, at_x: Indices, at_y: Indices) -> tuple[Floats, Floats]:
        """Bounds on the p-values of tests by the places of their matrices."""
        xp, x, y = self.xp, matrices.x, matrices.y
        columns = xp.concatenate([matrices.moments(x, y, at_x, at_y), x.size[at_x], y.size[at_y]], axis=1)
        T, squares, mean, by_x, by_y, *sizes = getattr(xp, "asnumpy", np.asarray)(columns).T
        size_x, diagonal_x, size_y, diagonal_y = sizes
        norm, most = np.sqrt(squares), SHARE * (1.0 + ROUNDING)
        less = np.minimum(by_x, most * size_x * diagonal_y) + np.minimum(by_y, most * size_y * diagonal_x)
        low, high = interval(T, (mean - by_x - by_y, mean), (norm - less, norm))
        small = np.minimum(size_x, size_y) < LEAST
        low[small] = high[small] = np.nan
        return low, high

    def _of_size(self, size: int) -> KernelMatrices:
        """The matrices of tests given sets of this size; matrices of other sizes give up their room."""
        if size not in self._matrices:
            self._matrices.clear()
            of_each = dict[int, Floats]()

            def make(v: int) -> None:
                of_each[v] = self._of_one(v, size)

            self._in_threads(make, range(self.p))
            factors = np.zeros((self.p, max(1, *map(len, of_each.values())), self.data.n))
            for v, G in of_each.items():
                factors[v, : len(G)] = G
            self._matrices[size] = KernelMatrices(self._device, self.xp, self._values(size), factors, self._room)
        return self._matrices[size]


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
