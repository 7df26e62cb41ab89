"""The complementary error function of many numbers, compiled."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pycupc.compiled import compiled


@compiled
def erfc(values: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """Set out[i] to math.erfc(values[i]), both float64 (k,): the bits are those of Python's function, from 3.11 on."""
    for i in range(len(values)):
        out[i] = math.erfc(values[i])
