"""The compiled half of `pycupc.gaussian.correlation`: blocks of columns, and the products of two blocks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from pycupc.compiled import compiled

Floats = NDArray[np.float64]

#: Observations taken at a time, so that those of two blocks of columns stay in the processor's first-level cache.
DEPTH = 64


@dataclass(frozen=True)
class Blocks:
    """A table cut into blocks of columns, and the matrix that is made of it.

    Attributes
    ----------
    blocks : float64 (number of blocks, n, width)
        The columns, scaled and centred; zeros where the last block has fewer than `width`.
    squares : float64 (number of blocks, width)
        S_ii of each column.
    C : float64 (p, p)
    """

    blocks: Floats
    squares: Floats
    C: Floats

    def centre(self, b: int, X: Floats) -> None:
        """Fill block `b` with its columns of X, and correlate them with each other."""
        block, columns = self.blocks[b], X[:, self._place(b)]
        m = columns.shape[1]
        low, high = columns.min(axis=0), columns.max(axis=0)
        exponent = np.frexp(np.maximum(-low, high))[1]
        np.multiply(columns, np.ldexp(1.0, np.minimum(-exponent, 1000)), out=block[:, :m])
        block -= block.mean(axis=0)
        S = products(block, block)
        self.squares[b] = S.diagonal()
        self.squares[b, :m][low == high] = np.nan
        normalise(S, self.squares, b, b, self.C)

    def correlate(self, tiles: Iterable[tuple[int, int]]) -> None:
        """Fill tiles of C, given as pairs of blocks, and their mirror images."""
        for i, j in tiles:
            normalise(products(self.blocks[i], self.blocks[j]), self.squares, i, j, self.C)

    def _place(self, b: int) -> slice:
        width = self.blocks.shape[2]
        return slice(b * width, min((b + 1) * width, len(self.C)))


def _fma_code(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c with one rounding: the processor's instruction, or the mathematical library's function."""
    number = types.float64
    return number(number, number, number), lambda context, builder, signature, arguments: builder.fma(*arguments)


_fma: Any = intrinsic(_fma_code)


@compiled
def products(A: Floats, B: Floats) -> Floats:
    """S[i, j] = sum over k of A[k, i] B[k, j], in ascending order of k; four columns and four rows at a time."""
    n, width = A.shape
    S = np.zeros((width, width))
    for begin in range(0, n, DEPTH):
        end = min(begin + DEPTH, n)
        rest = end - (end - begin) % 4
        for i in range(0, width, 4):
            for k in range(begin, rest, 4):
                a00, a01, a02, a03 = A[k, i], A[k + 1, i], A[k + 2, i], A[k + 3, i]
                a10, a11, a12, a13 = A[k, i + 1], A[k + 1, i + 1], A[k + 2, i + 1], A[k + 3, i + 1]
                a20, a21, a22, a23 = A[k, i + 2], A[k + 1, i + 2], A[k + 2, i + 2], A[k + 3, i + 2]
                a30, a31, a32, a33 = A[k, i + 3], A[k + 1, i + 3], A[k + 2, i + 3], A[k + 3, i + 3]
                for j in range(width):
                    b0, b1, b2, b3 = B[k, j], B[k + 1, j], B[k + 2, j], B[k + 3, j]
                    S[i, j] = _fma(a03, b3, _fma(a02, b2, _fma(a01, b1, _fma(a00, b0, S[i, j]))))
                    S[i + 1, j] = _fma(a13, b3, _fma(a12, b2, _fma(a11, b1, _fma(a10, b0, S[i + 1, j]))))
                    S[i + 2, j] = _fma(a23, b3, _fma(a22, b2, _fma(a21, b1, _fma(a20, b0, S[i + 2, j]))))
                    S[i + 3, j] = _fma(a33, b3, _fma(a32, b2, _fma(a31, b1, _fma(a30, b0, S[i + 3, j]))))
        for k in range(rest, end):
            for i in range(width):
                a = A[k, i]
                for j in range(width):
                    S[i, j] = _fma(a, B[k, j], S[i, j])
    return S


@compiled
def normalise(S: Floats, squares: Floats, row: int, column: int, C: Floats) -> None:
    """Correlations of the blocks `row` and `column` from their products S, into C and its mirrored half."""
    i0, j0 = row * len(S), column * len(S)
    height, width = min(len(S), len(C) - i0), min(len(S), len(C) - j0)
    for i in range(height):
        for j in range(width):
            r = S[i, j] / math.sqrt(squares[row, i] * squares[column, j])
            if r > 1.0:
                r = 1.0
            if r < -1.0:
                r = -1.0
            S[i, j] = r
            C[i0 + i, j0 + j] = r
    if row < column:
        for j in range(width):
            for i in range(height):
                C[j0 + j, i0 + i] = S[i, j]
