"""Functions of SciPy's LAPACK, called outside the interpreter's lock, which SciPy's own wrappers keep."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char, c_double, c_int
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack  # here: `single_products` must find SciPy's library loaded

from pycupc.independence.base import Floats
from pycupc.system.foreign_code import address_of


@cache
def _function(name: str) -> Any:
    """A function of LAPACK, all of whose arguments are addresses."""
    return ctypes.CFUNCTYPE(None)(address_of(cython_lapack, name))


def _at(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def pivoted_factor(K: Floats, tol: float) -> Floats:
    """G (r, n) with K = G'G but for a rest whose diagonal is at most `tol`; K (n, n) is overwritten."""
    n = len(K)
    order, work, rank, info = np.empty(n, dtype=np.int32), np.empty(2 * n), c_int(), c_int()
    size, tolerance = c_int(n), c_double(tol)
    _function("dpstrf")(
        byref(c_char(b"L")), byref(size), _at(K), byref(size), _at(order), byref(rank), byref(tolerance), _at(work),
        byref(info),
    )  # fmt: skip
    G = np.empty((rank.value, n))
    G[:, order - 1] = np.triu(K[: rank.value])
    return G


def cholesky(K: Floats) -> Floats:
    """The Cholesky factor of K (n, n), in the place of K, for `solve`; LinAlgError if K is not positive definite."""
    size, info = c_int(len(K)), c_int()
    _function("dpotrf")(byref(c_char(b"L")), byref(size), _at(K), byref(size), byref(info))
    if info.value:
        raise np.linalg.LinAlgError("the kernel of a conditioning set is not positive definite")
    return K


def solve(factor: Floats, G: Floats) -> None:
    """Replace the rows of G (r, n) by the solutions of the equations of which `cholesky` gave the factor."""
    size, rows, info = c_int(len(factor)), c_int(len(G)), c_int()
    _function("dpotrs")(
        byref(c_char(b"L")), byref(size), byref(rows), _at(factor), byref(size), _at(G), byref(size), byref(info)
    )
