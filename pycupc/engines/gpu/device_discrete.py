"""The G^2 tests of discrete data on the device: the data, and the tests of a level."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.device_setwise import DeviceSetwiseTests, Shape
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Codes, Graph, Level, Records, TableSpace, ptr
from pycupc.engines.protocol import EngineError, Floats, Mask
from pycupc.system.localised_message import Message, Setting

if TYPE_CHECKING:
    from pycupc.independence.discrete.contingency import Data
    from pycupc.independence.discrete.test import DiscreteTest

#: As in kernels/common/structures.cuh.
THREADS, MOST_OFFSETS = 256, 1536
STATE_BYTES = 30 * THREADS + 256

PACK: KernelName = ("discrete/data", "pack_codes")
P_VALUES: KernelName = ("discrete/sets", "p_values")


def shared_bytes(level: int) -> int:
    """Dynamic shared memory per block, in bytes; as lay_out in kernels/discrete/block_state.cuh."""
    words = device_tuning.MASK_WORDS + device_tuning.CELLS + MOST_OFFSETS
    return STATE_BYTES + 4 * (words + 2 * level + 2)


class DeviceCodes:
    """The data of a run on the device: codes, bit planes, and the tables of a test."""

    def __init__(self, dev: Device, data: Data) -> None:
        cp, (p, n) = dev.cp, data.codes.shape
        self.p, self.n, self.data = p, n, data
        pitch, words = -(-n // 16) * 16, -(-n // 512) * 16
        planes = 1 + int(data.levels.sum())
        fits = 4 * planes * words <= device_tuning.PLANE_BYTES
        #: Tensor cores count bits from compute capability 8.0 on.
        self.by_planes = fits and int(cp.cuda.Device(dev.index).compute_capability) >= 80
        first = 1 + np.cumsum(data.levels) - data.levels
        self._levels, self._first = (dev.transfers.copied(v.astype(np.int32)) for v in (data.levels, first))
        self._f, self._cutoff = dev.transfers.copied(data.f), dev.transfers.copied(data.cutoff)
        self._code = cp.empty(p * pitch, dtype=np.uint8)
        self._plane = cp.empty(planes * words if self.by_planes else 4, dtype=np.uint32)
        arrays = (self._code, self._plane, self._levels, self._first, self._f, self._cutoff)
        numbers = (data.unit, data.band, n, pitch, words, len(data.cutoff), data.adapt, data.quirks, data.observed)
        self.on_device = Codes(*(a.data.ptr for a in arrays), *numbers)
        codes = dev.transfers.copied(data.codes)
        plane = self._plane if self.by_planes else None
        args = (self.on_device, ptr(codes), ptr(self._code), ptr(plane))
        dev.launch(*PACK, (p, -(-words // 8)), (256,), args)


class ContingencyTests(DeviceSetwiseTests):
    """G^2 tests of a level; EngineError if blocks have too little shared memory (compute capability 7.5)."""

    pairs = "discrete/pairs", "contingency_pairs"
    sets = "discrete/sets", "contingency_sets"
    records = "discrete/sets", "contingency_records"
    further = (P_VALUES,)

    def __init__(self, dev: Device, test: DiscreteTest) -> None:
        super().__init__(dev, test)
        if shared_bytes(0) > dev.shared_block:
            raise EngineError(
                Message(
                    "tests of discrete data need {need} KiB of shared memory per block, and {device} has {has} KiB; "
                    "use another device, or {cpu}",
                    need=shared_bytes(0) >> 10,
                    device=dev.name,
                    has=dev.shared_block >> 10,
                    cpu=Setting("engine", "cpu"),
                )
            )
        self._codes, self.p, self.threads = DeviceCodes(dev, test.prepared), test.p, THREADS

    @classmethod
    def memory(cls, test: DiscreteTest) -> int:
        """Bytes of the data, and of the p-values and states of all pairs."""
        p, n, levels = test.p, int(test.data.n), int(test.data.nlev.sum())
        return 9 * p * p + 2 * p * (n + 16) + min(device_tuning.PLANE_BYTES, (levels + 1) * (n // 8 + 64)) + 8 * n

    def shape(self, dev: Device, kernel: KernelName, level: int) -> Shape:
        # A test is made only if n >= 10 (kx - 1)(ky - 1) q; its table and the margin then take at most 6/10 n cells.
        cells = 6 * self._codes.n // 10 + 8
        if self._codes.data.observed:  # any table may be tested: the host tests tables that do not fit
            cells = device_tuning.OBSERVED_CELLS_PER_OBSERVATION * self._codes.n + device_tuning.OBSERVED_CELLS
        shared = shared_bytes(level)
        grid = dev.processors * dev.kernels.get(*kernel).blocks_per_processor(THREADS, shared)
        large = cells > device_tuning.CELLS
        if large:
            grid = max(1, min(grid, device_tuning.LARGE_TABLE_BYTES // (4 * cells)))
        tables = dev.scratch.take(4 * cells * grid) if large else None
        configurations = device_tuning.CONFIGURATIONS if self._codes.by_planes else 0
        space = TableSpace(tables, cells, device_tuning.CELLS, device_tuning.MASK_WORDS, configurations)
        return Shape(grid, shared, (self._codes.on_device, space))

    def finish_records(self, dev: Device, graph: Graph, level: Level, records: Records, most: int) -> None:
        shape = self.shape(dev, self.records, level.level)
        df = ctypes.c_void_p(dev.scratch.take(8 * most))
        args: tuple[Any, ...] = (graph, level, *shape.data, records, df)
        dev.launch(*self.records, (min(shape.grid, most),), (THREADS,), args, shape.shared)
        args = (graph, level, records, df, ptr(dev.answer))
        dev.launch(*P_VALUES, (min(2048, -(-most // 64)),), (64,), args)

    def on_host(self, *tests: NDArray[Any]) -> tuple[Mask, Floats]:
        from pycupc.independence.discrete.contingency import single_tests  # loads Numba, which most runs do without

        return single_tests(self._codes.data, *tests)
