"""The compiled half of `correlation.py`: blocks of columns, and the products of two blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from pycupc.independence.base import Floats
from pycupc.system.compiled import compiled

#: Most columns per block of the table; a tile of the matrix has the pairs of two blocks.
WIDTH = 128
#: Distance from 1 to the next number.
EPS = float(np.finfo(np.float64).eps)
#: Observations taken at a time, so that their values in two blocks of columns stay in the core's first-level cache.
DEPTH = 64


class Blocks:
    """The columns of a table (n, p), cut into blocks of `width`.

    `centred`, float64 (number of blocks, n, width): the columns, centred; zeros where the last block has fewer.
    `squares`, float64 (number of blocks, width): S_ii of each column.
    """

    def __init__(self, n: int, p: int, width: int) -> None:
        number, self.p = -(-p // width), p
        self.centred, self.squares = np.zeros((number, n, width)), np.zeros((number, width))

    @staticmethod
    def width_for(p: int) -> int:
        """The width of the blocks of p columns: a multiple of 8, at most `WIDTH`, with the last block nearly full."""
        p = max(p, 1)
        return -(-p // (8 * -(-p // WIDTH))) * 8

    def __len__(self) -> int:
        return len(self.centred)

    def place(self, b: int) -> slice:
        """The columns of block `b`."""
        width = self.centred.shape[2]
        return slice(b * width, min((b + 1) * width, self.p))

    def centre(self, b: int, X: Floats) -> Floats:
        """Fill block `b` with its columns of X, and correlate them with each other."""
        block, columns = self.centred[b], X[:, self.place(b)]
        n, m = columns.shape
        block[:, :m] = columns
        with np.errstate(over="ignore", invalid="ignore"):
            means = block.mean(axis=0)
            block -= means
            S = _products(block, block)
            rounding = n * (n * EPS * means) ** 2  # a bound on S_ii where a column is constant
            squares = S.diagonal()
            doubtful = np.flatnonzero(~((squares > np.maximum(rounding, 1e-60)) & (squares < 1e60))[:m])
        if len(doubtful):  # constant, or with squares that overflow or vanish unless the column is scaled
            low, high = columns[:, doubtful].min(axis=0), columns[:, doubtful].max(axis=0)
            exponent = np.frexp(np.maximum(-low, high))[1]
            block[:, doubtful] = columns[:, doubtful] * np.ldexp(1.0, np.minimum(-exponent, 1000))
            block[:, doubtful] -= block.mean(axis=0)[doubtful]
            block[:, doubtful[low == high]] = np.nan
            S = _products(block, block)
        self.squares[b] = S.diagonal()
        _normalise(S, self.squares[b], self.squares[b])
        return S[:m, :m]

    def correlate(self, i: int, j: int) -> Floats:
        """Correlations of the columns of block `i` with those of block `j`."""
        S = _products(self.centred[i], self.centred[j])
        _normalise(S, self.squares[i], self.squares[j])
        rows, columns = self.place(i), self.place(j)
        return S[: rows.stop - rows.start, : columns.stop - columns.start]


def _products(A: Floats, B: Floats) -> Floats:
    S = np.zeros((A.shape[1], B.shape[1]))
    add_products(A, B, S)
    return S


def _fma_code(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c with one rounding: the processor's instruction, or the mathematical library's function."""
    number = types.float64
    return number(number, number, number), lambda context, builder, signature, arguments: builder.fma(*arguments)


fma: Any = intrinsic(_fma_code)


@compiled
def add_products(A: Floats, B: Floats, S: Floats) -> None:
    """Add A[k, i] B[k, j] to S[i, j] for each k, in ascending order of k; four columns and four rows at a time.

    A has a multiple of four columns.
    """
    n, width, columns = A.shape[0], A.shape[1], B.shape[1]
    for begin in range(0, n, DEPTH):
        end = begin + DEPTH if begin + DEPTH < n else n
        rest = end - (end - begin) % 4
        for i in range(0, width, 4):
            for k in range(begin, rest, 4):
                a00, a01, a02, a03 = A[k, i], A[k + 1, i], A[k + 2, i], A[k + 3, i]
                a10, a11, a12, a13 = A[k, i + 1], A[k + 1, i + 1], A[k + 2, i + 1], A[k + 3, i + 1]
                a20, a21, a22, a23 = A[k, i + 2], A[k + 1, i + 2], A[k + 2, i + 2], A[k + 3, i + 2]
                a30, a31, a32, a33 = A[k, i + 3], A[k + 1, i + 3], A[k + 2, i + 3], A[k + 3, i + 3]
                for j in range(columns):
                    b0, b1, b2, b3 = B[k, j], B[k + 1, j], B[k + 2, j], B[k + 3, j]
                    S[i, j] = fma(a03, b3, fma(a02, b2, fma(a01, b1, fma(a00, b0, S[i, j]))))
                    S[i + 1, j] = fma(a13, b3, fma(a12, b2, fma(a11, b1, fma(a10, b0, S[i + 1, j]))))
                    S[i + 2, j] = fma(a23, b3, fma(a22, b2, fma(a21, b1, fma(a20, b0, S[i + 2, j]))))
                    S[i + 3, j] = fma(a33, b3, fma(a32, b2, fma(a31, b1, fma(a30, b0, S[i + 3, j]))))
        for k in range(rest, end):
            for i in range(width):
                a = A[k, i]
                for j in range(columns):
                    S[i, j] = fma(a, B[k, j], S[i, j])


@compiled
def _normalise(S: Floats, row: Floats, column: Floats) -> None:
    """Turn the products S of two blocks into correlations, given the sums of squares of their columns."""
    for i in range(len(row)):
        for j in range(len(column)):
            r = S[i, j] / math.sqrt(row[i] * column[j])
            if r > 1.0:
                r = 1.0
            if r < -1.0:
                r = -1.0
            S[i, j] = r
