"""Launch geometry of cupc-e and cupc-s."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np

from pycupc.engines.base import EngineError
from pycupc.engines.gpu.launch import Device, Graph, Level

#: Work space of the canonical formula, all threads together; fewer blocks run at once where a level needs more.
WORK_BYTES = 512 << 20
#: Largest level: the pairs that a machine can bring to it have passed C(64, 32) = 1.8e18 tests each.
MAX_LEVEL = 64
#: Template arguments: levels that unroll well, then minus the size of the arrays.
TEMPLATES = (1, 2, 3, 4, 5, -8, -16, -32, -MAX_LEVEL)
#: Kernels by algorithm, all of one file.
KERNELS = {name: {"cupc": tuple(f"{name.replace('-', '_')}<{t}>" for t in TEMPLATES)} for name in ("cupc-e", "cupc-s")}


@dataclass(frozen=True)
class Geometry:
    """The configuration of the paper: cuPC-E-beta-gamma (pairs a block, threads a pair), cuPC-S-theta-delta (threads a
    block, blocks a row). One thread an edge is beta=64, gamma=1; one block an edge is beta=1, gamma=256.

    The paper's choice is E-2-32 and S-64-2. On an H200 S-256-2 is faster on every set of section 5 of
    tests/benchmarks/BENCHMARKS.md; for E no configuration is."""

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


class Shape(ctypes.Structure):
    """struct Shape of kernels/cupc.cu."""

    _fields_ = (
        [(f, ctypes.c_int) for f in ("a", "b", "side", "shared_row")]
        + [("blocks", ctypes.c_ulonglong)]
        + [(f, ctypes.c_void_p) for f in ("ticket", "differs")]
        + [(f, ctypes.c_int) for f in ("per_row", "rows")]
    )


def kernel(algorithm: str, level: int) -> str:
    """Name of the kernel for a level."""
    for t in TEMPLATES:
        if level == t or level <= -t:
            return f"{algorithm.replace('-', '_')}<{t}>"
    raise EngineError(f"cupc-e and cupc-s reach level {MAX_LEVEL}, got {level}; use engine='gpu', or set m_max")


def run_level(
    dev: Device, algorithm: str, geometry: Geometry, graph: Graph, level: Level, widest: int, differs: int
) -> None:
    """Launch side A, then side B."""
    run = dev.kernel("cupc", kernel(algorithm, level.level))
    p = graph.p
    if algorithm == "cupc-e":
        block = (geometry.gamma, geometry.beta)
        threads = geometry.gamma * geometry.beta
        shared = 8 * geometry.beta + 4 * widest
        shared_row = shared <= 64 << 10
        shared = shared if shared_row else 8 * geometry.beta
        per_row = -(-widest // geometry.beta)
        total, a, b = p * per_row, geometry.beta, geometry.gamma
    else:
        block, threads = (geometry.theta,), geometry.theta
        shared = 20 * widest + 8
        shared_row = shared <= min(dev.shared_block - 1024, 160 << 10)
        shared = shared if shared_row else 0
        per_row, total, a, b = 1, p * geometry.delta, geometry.theta, geometry.delta
    doubles = 6 * (level.level + 2) ** 2
    grid = dev.processors * max(1, run.blocks_per_processor(threads, shared))
    grid = max(1, min(grid, total, WORK_BYTES // (8 * doubles * threads)))
    own = Level.from_buffer_copy(level)
    own.work = dev.scratch.take(8 * grid * threads * doubles)
    tickets = dev.scratch.take(16)
    dev.cp.cuda.runtime.memsetAsync(tickets, 0, 16, dev.stream.ptr)
    for side in (0, 1):
        shape = Shape(a, b, side, shared_row, total, tickets + 8 * side, differs, per_row, p)
        run((grid,), block, (graph, own, shape), stream=dev.stream.ptr, shared=shared)
