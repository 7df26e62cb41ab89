"""One look at a correlation matrix on the device: NaN, asymmetry, values beyond +-1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.graph import LAST_BITS
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import f64, i32, ptr
from pycupc.gaussian.suffstat import MatrixFacts

INSPECT: KernelName = ("graph/inspect", "inspect")
_NOTHING_FOUND = 2**64 - 1


def launch(dev: Device, C: Any) -> NDArray[np.uint64]:
    """`facts` and `nan_count` of kernels/graph/inspect.cu, uint64 (4 + p,), complete once the stream gets there."""
    p = len(C)
    dev.scratch.reset()
    facts = dev.scratch.take(32 + 8 * p)
    dev.cp.cuda.runtime.memsetAsync(facts, 0xFF, 32, dev.stream.ptr)
    dev.cp.cuda.runtime.memsetAsync(facts + 32, 0, 8 * p, dev.stream.ptr)
    tiles = -(-p // 32)
    args = (ptr(C), i32(p), f64(1e-8), f64(LAST_BITS), f64(1e-10), ptr(facts), ptr(facts + 32))
    dev.launch(*INSPECT, (tiles, tiles), (32, 8), args)
    (found,) = dev.transfers.download((facts, np.uint64, (4 + p,)))
    return found


def facts(found: NDArray[np.uint64]) -> tuple[MatrixFacts, bool]:
    """What `launch` has found, and whether the matrix equals its transpose to `LAST_BITS`."""
    nan_count = found[4:].view(np.int64)
    *places, mirrored = found[:4].tolist()
    first = [None if v == _NOTHING_FOUND else divmod(v, len(nan_count)) for v in places]
    diagonal = None if first[2] is None else first[2][1]
    return MatrixFacts(nan_count, first[0], first[1], diagonal), mirrored == _NOTHING_FOUND
