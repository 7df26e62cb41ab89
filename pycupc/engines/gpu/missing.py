"""Tests of imputed data, by test-wise deletion, and with an n for each pair, on the device: their data and kernels."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.device_setwise import DeviceSetwiseTests, Shape
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Graph, Level, Observed, Records, WarpSpace, ptr
from pycupc.engines.protocol import Floats, Mask
from pycupc.independence.gaussian.measures import RULES
from pycupc.independence.gaussian.n_by_pair import LocalGaussianTest
from pycupc.independence.missing.data import GAP
from pycupc.independence.missing.test import ImputedTest, TestwiseTest

#: The tests that have kernels here.
ObservedTest = ImputedTest | TestwiseTest | LocalGaussianTest

#: Family in kernels/missing/tests.cu.
IMPUTED, IMPUTED_CODES, TESTWISE, TESTWISE_CODES, PAIRWISE = range(5)
#: As MOST_WARPS there.
WARPS = 4


def kernels_of(family: int) -> list[KernelName]:
    """The kernels of level 0, of sets, and of records."""
    return [("missing/tests", f"observed_{name}<{family}>") for name in ("pairs", "sets", "records")]


class ObservedTests(DeviceSetwiseTests):
    """The tests of a level on a table with gaps."""

    def __init__(self, dev: Device, test: ObservedTest) -> None:
        super().__init__(dev, test)
        self._test, self.p, self.threads = test, test.p, 32 * WARPS
        self._family, arrays, numbers = _DATA[type(test)](test)
        self._levels = sorted(arrays.get("levels", np.empty(0)).tolist(), reverse=True)
        self._arrays = {name: dev.transfers.copied(array) for name, array in arrays.items()}
        self._on_device = Observed(n=test.n, alpha=test.alpha, p=test.p, **numbers)
        for name, array in self._arrays.items():
            setattr(self._on_device, name, array.data.ptr)
        self.pairs, self.sets, self.records = kernels_of(self._family)

    @classmethod
    def memory(cls, test: ObservedTest) -> int:
        return 9 * test.p**2 + test.nbytes

    def _work(self, level: int) -> int:
        """Bytes of work space of a warp; larger tables are left to the host."""
        need, triangle = 0, (level + 2) * (level + 3) // 2
        if self._family == TESTWISE:
            need = 8 * (triangle + level + 2) + 4 * self._on_device.words
        elif self._family in (IMPUTED, PAIRWISE):
            need = 8 * triangle * (32 if self._family == IMPUTED else 1)
        else:
            cells = prod(self._levels[: level + 2])
            need = min(32 * cells, device_tuning.OBSERVED_TABLE_BYTES) + 32 * (level + 2)
        return -(-need // 16) * 16

    def shape(self, dev: Device, kernel: KernelName, level: int) -> Shape:
        work, shared = self._work(level), WARPS * 16 * ((2 * level + 5) // 4)
        inside = WARPS * work <= device_tuning.OBSERVED_SHARED_BYTES
        shared += WARPS * work if inside else 0
        grid = dev.processors * dev.kernels.get(*kernel).blocks_per_processor(self.threads, shared)
        if not inside:
            grid = max(1, min(grid, device_tuning.LARGE_TABLE_BYTES // (WARPS * work)))
        large = None if inside else dev.scratch.take(WARPS * work * grid)
        return Shape(grid, shared, (self._on_device, WarpSpace(large, work)))

    def finish_records(self, dev: Device, graph: Graph, level: Level, records: Records, most: int) -> None:
        shape = self.shape(dev, self.records, level.level)
        args = (graph, level, *shape.data, records, ptr(dev.answer))
        dev.launch(*self.records, (min(shape.grid, -(-most // WARPS)),), (self.threads,), args, shape.shared)

    def on_host(self, *tests: NDArray[Any]) -> tuple[Mask, Floats]:
        independent, p = self._test.single_tests(*(values.astype(np.int64) for values in tests))
        return independent, np.nan_to_num(p, nan=self._test.na_p)


#: The family, the arrays, and the numbers of `Observed`.
Data = tuple[int, dict[str, NDArray[Any]], dict[str, int]]


def _pairwise(test: LocalGaussianTest) -> Data:
    assert test.data.pair_n is not None
    matrix, rule = test.data.pair_n
    return PAIRWISE, {"value": test.data.C, "number": matrix}, {"rule": RULES.index(rule)}


def _imputed(test: ImputedTest) -> Data:
    if not test.data.categories:
        return IMPUTED, {"value": test.data.matrices}, {"M": test.data.M}
    arrays: dict[str, NDArray[Any]] = {"code": test.data.codes, "levels": test.data.levels.astype(np.int32)}
    return IMPUTED_CODES, arrays, {"M": test.data.M, "rows": test.data.codes.shape[2]}


def _testwise(test: TestwiseTest) -> Data:
    values, numbers = test.data.values.T, {"rows": len(test.data.values)}
    if test.data.categories:
        numbers |= {"adapt": int(test.data.adaptDF), "quirks": int(test.quirks)}
        codes = np.where(values < 0, GAP, values).astype(np.uint8)
        return TESTWISE_CODES, {"code": codes, "levels": values.max(axis=1).astype(np.int32) + 1}, numbers
    there = np.packbits(~np.isnan(values), axis=1, bitorder="little")
    there = np.pad(there, ((0, 0), (0, -there.shape[1] % 4)))
    return TESTWISE, {"value": test.data.centred(), "there": there}, numbers | {"words": there.shape[1] // 4}


_DATA: dict[type, Callable[[Any], Data]] = {
    LocalGaussianTest: _pairwise,
    ImputedTest: _imputed,
    TestwiseTest: _testwise,
}
