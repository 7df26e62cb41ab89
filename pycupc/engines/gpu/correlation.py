"""Correlations of data on the device."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycupc.engines.base import EngineError, Floats
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import i32, i64, ptr

KERNELS: list[KernelName] = [("correlation/correlation", name) for name in ("centre", "correlate")]
#: Columns of a tile of the matrix, as in kernels/correlation/correlation.cu.
SIDE = 64


def correlation(dev: Device, X: Floats) -> Any:
    """Compute the correlation matrix of data on the device; call it inside a `Session`.

    Parameters
    ----------
    dev : Device
    X : float64 (n, p)
        Observations in rows, variables in columns; finite, in any memory layout.

    Returns
    -------
    device array float64 (p, p)
        The correlations, with the bits of `pycupc.gaussian.correlation.correlation`.

    Raises
    ------
    EngineError
        If two copies of the data and the matrix do not fit the device.
    """
    cp, (n, p) = dev.cp, X.shape
    need = 8 * (2 * n * p + p * p)
    free = dev.free_memory(need)
    if need > free:
        have = f"{free / 2**30:.2f} GiB are free"
        raise EngineError(f"correlations of {n} x {p} data need {need / 2**30:.2f} GiB on {dev.name}, {have}")
    table = X if X.flags.c_contiguous or X.flags.f_contiguous else np.ascontiguousarray(X)
    data = cp.empty(n * p, dtype=np.float64)
    dev.transfers.upload(table if table.flags.c_contiguous else table.T, data)
    row, column = (stride // table.itemsize for stride in table.strides)
    Z, squares, C = cp.empty((n, p)), cp.empty(p), cp.empty((p, p))
    args: tuple[Any, ...] = (ptr(data), i64(row), i64(column), ptr(Z), ptr(squares), i32(n), i32(p))
    dev.launch(*KERNELS[0], (-(-p // 32),), (32,), args)
    tiles = -(-p // SIDE)
    dev.launch(*KERNELS[1], (tiles, tiles), (16, 8), (ptr(Z), ptr(squares), ptr(C), i32(n), i32(p)))
    return C
