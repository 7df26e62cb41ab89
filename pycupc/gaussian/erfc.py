"""The complementary error function of many numbers, compiled."""

from __future__ import annotations

import math

from numpy.typing import NDArray

from pycupc.compiled import compiled


@compiled
def erfc(values: NDArray, out: NDArray) -> None:
    """Set out[i] = math.erfc(values[i]), float64 (k,) both, contiguous; the same bits as Python's function."""
    for i in range(len(values)):
        out[i] = math.erfc(values[i])
