"""Correlations of data on the device; the inspection of a given matrix for NaN, asymmetry, values beyond +-1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.device_graph import LAST_BITS
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import f64, i32, i64, ptr
from pycupc.engines.protocol import Floats
from pycupc.independence.gaussian.suffstat import MatrixFacts

INSPECT: KernelName = ("graph/inspect", "inspect")
_NOTHING_FOUND = 2**64 - 1


def launch_inspection(dev: Device, C: Any) -> NDArray[np.uint64]:
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


def inspected(found: NDArray[np.uint64]) -> tuple[MatrixFacts, bool]:
    """The findings of `launch_inspection`, and whether the matrix equals its transpose to `LAST_BITS`."""
    nan_count = found[4:].view(np.int64)
    *places, mirrored = found[:4].tolist()
    first = [None if v == _NOTHING_FOUND else divmod(v, len(nan_count)) for v in places]
    diagonal = None if first[2] is None else first[2][1]
    return MatrixFacts(nan_count, first[0], first[1], diagonal), mirrored == _NOTHING_FOUND


KERNELS: list[KernelName] = [
    ("correlation/correlation", name) for name in ("centre<double>", "centre<float>", "correlate")
]
#: Columns of a tile of the matrix, as in kernels/correlation/correlation.cu.
SIDE = 64


def dense_bytes(p: int) -> int:
    """Bytes of device memory of C, twice, the second time in two bytes, and of G."""
    return 11 * p**2 + 64 * p + device_tuning.FIXED_BYTES


def correlation(dev: Device, X: Floats) -> Any:
    """Correlations of finite data X, a device array float64 (p, p) with the bits of `gaussian.correlation.correlation`.

    Call it inside a `session`, which raises EngineError if two copies of the data and the matrix do not fit the device.
    """
    n, p = X.shape
    Z, squares = centred(dev, X)
    C, tiles = dev.cp.empty((p, p)), -(-p // SIDE)
    dev.launch(*KERNELS[2], (tiles, tiles), (16, 16), (ptr(Z), ptr(squares), ptr(C), i32(n), i32(p)))
    return C


def centred(dev: Device, X: Floats, *, by_column: bool = False) -> tuple[Any, Any]:
    """The centred columns of data, device array float64 (n, p), or (p, n) if `by_column`; sums of squares, (p,).

    Data may be float32, too.
    """
    cp, (n, p) = dev.cp, X.shape
    table = X if X.flags.c_contiguous or X.flags.f_contiguous else np.ascontiguousarray(X)
    data = cp.empty(n * p, dtype=table.dtype)
    dev.transfers.upload(table if table.flags.c_contiguous else table.T, data)
    row, column = (stride // table.itemsize for stride in table.strides)
    Z, squares = cp.empty((p, n) if by_column else (n, p)), cp.empty(p)
    args: tuple[Any, ...] = (ptr(data), i64(row), i64(column), ptr(Z), ptr(squares), i32(n), i32(p))
    args += (i64(1), i64(n)) if by_column else (i64(p), i64(1))
    dev.launch(*KERNELS[table.dtype == np.float32], (-(-p // 32),), (32,), args)
    return Z, squares


#: Signs at a time, one per pair of observations and variable; and pairs of observations at a time, at most: a sum of
#: this number of signs is exact in float32.
SIGNS, MOST_PAIRS = 1 << 25, 1 << 23


def concordances(cupy: Any, X: NDArray[np.float64]) -> NDArray[np.int64]:
    """As `pycupc.independence.gaussian.ranks.concordances`: products of matrices of signs."""
    n, p = X.shape
    values, total = cupy.asarray(X), cupy.zeros((p, p), dtype=cupy.float64)
    first, second = np.triu_indices(n, 1)
    step = max(1, min(SIGNS // p, MOST_PAIRS))
    for k in range(0, len(first), step):
        a, b = (cupy.asarray(index[k : k + step]) for index in (first, second))
        signs = cupy.sign(values[a] - values[b]).astype(cupy.float32)
        total += signs.T @ signs
    out: NDArray[np.int64] = cupy.asnumpy(total).astype(np.int64)
    return out
