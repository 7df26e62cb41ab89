"""Vectors of the R process that hosts this Python, as NumPy arrays that share their memory: nothing is copied.

The vectors are bound in an R environment, which keeps them alive. R names the environment by its address, as it prints
it, and R's C interface, part of the same process, finds a vector by its name. Only R's own thread may do this.
"""

from __future__ import annotations

import ctypes
import math
import sys
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Where R's C interface is: in this process, or in a library of it that was loaded without making its names public.
_LIBRARIES = ("R.dll",) if sys.platform == "win32" else (None, "libR.so", "libR.dylib")

#: R's numbers of its vector types: the C function that gives the first element's address, and NumPy's type.
_TYPES = {10: ("LOGICAL", np.int32), 13: ("INTEGER", np.int32), 14: ("REAL", np.float64), 24: ("RAW", np.uint8)}


class RVectors:
    """The vectors in the R environment at `address`, in hexadecimal digits; OSError without R's C interface."""

    def __init__(self, address: str) -> None:
        self._environment = ctypes.c_void_p(int(address, 16))
        self._r = _c_interface()
        for name in ("Rf_install", "Rf_eval", *(function for function, _ in _TYPES.values())):
            getattr(self._r, name).restype = ctypes.c_void_p
        self._r.TYPEOF.restype = ctypes.c_int
        self._r.Rf_xlength.restype = ctypes.c_ssize_t

    def __getitem__(self, name: str) -> NDArray[Any]:
        """The vector bound to `name`, which must exist: int32, float64 or uint8, one-dimensional."""
        symbol = ctypes.c_void_p(self._r.Rf_install(name.encode()))
        vector = ctypes.c_void_p(self._r.Rf_eval(symbol, self._environment))
        function, dtype = _TYPES[self._r.TYPEOF(vector)]
        count = self._r.Rf_xlength(vector)
        if not count:
            return np.zeros(0, dtype)
        first = getattr(self._r, function)(vector)
        memory = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(first)
        return np.frombuffer(memory, dtype)


def _c_interface() -> ctypes.PyDLL:
    for name in _LIBRARIES:
        with suppress(OSError):
            library = ctypes.PyDLL(name)
            if hasattr(library, "Rf_eval"):
                return library
    raise OSError("R's C interface cannot be reached from the Python in R's process")


def square(matrix: NDArray[np.float64], tile: int = 256) -> NDArray[np.float64]:
    """A p x p matrix of R, which is stored column by column; a symmetric one is read row by row: it needs no copy."""
    p = math.isqrt(len(matrix))
    out = matrix.reshape(p, p)
    bits = out.view(np.int64)  # NaN are equal, too; in tiles that stay in the processor's cache
    starts = [slice(k, k + tile) for k in range(0, p, tile)]
    symmetric = all(np.array_equal(bits[a, b], bits[b, a].T) for a in starts for b in starts if b.start >= a.start)
    return out if symmetric else out.T
