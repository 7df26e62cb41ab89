"""The tests of a level by cuPC-E and cuPC-S: launch geometry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import Outlook, canonical_doubles
from pycupc.engines.gpu.structures import Graph, Level, Shape
from pycupc.engines.protocol import EngineError
from pycupc.system.localised_message import Argument, Message, Setting

#: Largest level. A pair that gets there has at least 64 candidates, hence C(64, 32) = 1.8e18 sets at level 32.
MAX_LEVEL = 64
#: Each level up to this one has a kernel of its own, with unrolled loops.
UNROLLED = 5
#: Template arguments: the unrolled levels, then minus the largest levels of the other kernels.
TEMPLATES = (1, 2, 3, 4, UNROLLED, -8, -16, -32, -MAX_LEVEL)


@dataclass(frozen=True)
class Geometry:
    """The configuration of the paper, cuPC-E-beta-gamma and cuPC-S-theta-delta; parameters, errors: see `GpuEngine`.

    The paper's choice is E-2-32 and S-64-2. On an H200, S-256-2 is faster on every data set of section 5 of
    tests/benchmarks/BENCHMARKS.md; no other configuration of E is.
    """

    beta: int = 2
    gamma: int = 32
    theta: int = 256
    delta: int = 2

    def __post_init__(self) -> None:
        for name in ("beta", "gamma", "theta", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{name} must be a whole number from 1 on, got {value!r}")
        if self.beta * self.gamma > 512:
            raise ValueError(f"beta * gamma must be at most 512 threads, got {self.beta} * {self.gamma}")
        if self.theta > 256:
            raise ValueError(f"theta must be at most 256 threads, got {self.theta}")


class CupcTests:
    """Tests of a level by "cupc-e" or "cupc-s"; see `LevelTests`."""

    def __init__(self, algorithm: str, geometry: Geometry) -> None:
        self._per_edge = algorithm == "cupc-e"
        self._file = algorithm.replace("-", "_")
        self._geometry = geometry

    def kernel(self, level: int) -> KernelName:
        for t in TEMPLATES:
            if level == t or level <= -t:
                return f"cupc/{self._file}", f"{self._file}<{t}>"
        text = "cupc-e and cupc-s reach level {most}, got {level}; use {gpu}, or set {m_max}"
        gpu, m_max = Setting("engine", "gpu"), Argument("m_max")
        raise EngineError(Message(text, most=MAX_LEVEL, level=level, gpu=gpu, m_max=m_max))

    def kernels(self, level: int, outlook: Outlook) -> list[KernelName]:
        return [self.kernel(level)]

    def launch(self, dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None) -> None:
        run = dev.kernels.get(*self.kernel(level.level))
        widest, geometry = outlook.widest, self._geometry
        if self._per_edge:
            block: tuple[int, ...] = (geometry.gamma, geometry.beta)
            best, row, limit = 8 * geometry.beta, 4 * widest, min(dev.shared_block - 1024, 64 << 10)
            per_row = -(-widest // geometry.beta)
        else:
            block = (geometry.theta,)
            best, row, limit = 0, 20 * widest + 8, min(dev.shared_block - 1024, 160 << 10)
            per_row = geometry.delta
        shared_row = best + row <= limit
        shared = best + row if shared_row else best
        threads, blocks = int(np.prod(block)), graph.p * per_row
        bytes_per_block = 8 * canonical_doubles(level.level) * threads
        resident = run.blocks_per_processor(threads, shared)
        if not self._per_edge and level.level > UNROLLED:
            resident = min(resident, 1)  # two rows with many sets would slow each other down on one multiprocessor
        grid = max(1, min(dev.processors * resident, blocks, device_tuning.CUPC_WORK_BYTES // bytes_per_block))
        level.work = dev.scratch.take(grid * bytes_per_block)
        for side in (0, 1):
            shape = Shape(blocks, per_row, side, shared_row)
            run((grid,), block, (graph, level, shape), stream=dev.stream.ptr, shared=shared)
