"""A running level, and the records of levels that have ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pycupc.engines.base import Floats, Ints
from pycupc.engines.gpu.device import Device


@dataclass(frozen=True)
class Running:
    """A level that has been launched."""

    level: int
    pairs: int  # ordered pairs of the graph that it tests
    found: Any  # device array uint8, or None at level 0: room for its records


def record_bytes(level: int) -> int:
    """Bytes per record: r, x, y, S; see `Found` in kernels/graph/record.cuh."""
    return 16 + 4 * level


def no_records(level: int) -> tuple[Ints, Ints, Ints, Floats]:
    """x, y, S and r of a level without records."""
    none = np.empty(0, np.int32)
    return none, none, np.empty((0, level), np.int32), np.empty(0)


def download(dev: Device, found: Any, m: int, level: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Start copying the m records in a device array, through `Device.copies`; returns x, y, S and r."""
    if not m:
        return no_records(level)
    raw = dev.transfers.download_bytes(found.data.ptr, m * record_bytes(level), dev.copies)
    x, y = np.frombuffer(raw, np.int32, m, 8 * m), np.frombuffer(raw, np.int32, m, 12 * m)
    S = np.frombuffer(raw, np.int32, m * level, 16 * m).reshape(m, level)
    return x, y, S, np.frombuffer(raw, np.float64, m)
