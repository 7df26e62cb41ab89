"""Correlations of data on the device."""

from __future__ import annotations

import numpy as np

from pycupc.engines.base import EngineError, Floats
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.structures import i32, ptr
from pycupc.gaussian.correlation import groups_of_identical_columns


def correlation(dev: Device, X: Floats) -> Floats:
    """Correlation matrix of data; inside a `Session`.

    Parameters
    ----------
    dev : Device
    X : float64 (n, p)
        Observations in rows, variables in columns; finite.

    Returns
    -------
    float64 (p, p)
        Exactly symmetric, within [-1, 1], with 1 on the diagonal; NaN off the diagonal for constant variables.

    Raises
    ------
    EngineError
        If the data and the matrix do not fit the device.

    Notes
    -----
    Definition: each column is centred in two passes and scaled to unit length; an entry is the product of two such
    columns, as cuBLAS rounds it. The rounding may depend on where the columns stand, so the first of the columns that
    are exact copies of each other stands for all: copies have exactly equal correlations, and correlation 1 with one
    another. Device memory: the data, the matrix, and what cuBLAS takes.
    """
    from cupy.cublas import gemm

    cp, (n, p) = dev.cp, X.shape
    need, free = 8 * (n * p + p * p), dev.free_memory()
    if need > free:
        have = f"{free / 2**30:.2f} GiB are free"
        raise EngineError(f"correlations of {n} x {p} data need {need / 2**30:.2f} GiB on {dev.name}, {have}")
    Z = cp.empty((n, p), dtype=np.float64)
    dev.transfers.upload(np.ascontiguousarray(X, dtype=np.float64), Z)
    tiles, block = -(-p // 32), (32, 8)
    dev.launch("correlation/correlation", "standardise", (tiles,), block, (ptr(Z), i32(n), i32(p)))
    C = cp.empty((p, p), dtype=np.float64)
    gemm("T", "N", Z, Z, out=C)
    dev.launch("correlation/correlation", "mirror", (tiles, tiles), block, (ptr(C), i32(p)))
    groups = groups_of_identical_columns(X)
    if groups:
        first = np.arange(p, dtype=np.int32)
        for group in groups:
            first[group] = group[0]
        first_on_device = cp.empty(p, dtype=np.int32)
        dev.transfers.upload(first, first_on_device)
        args = (ptr(C), ptr(first_on_device), i32(p))
        dev.launch("correlation/correlation", "copy_identical", (tiles, tiles), block, args)
    (host,) = dev.transfers.download((C.data.ptr, np.float64, (p, p)))
    dev.wait()
    return host
