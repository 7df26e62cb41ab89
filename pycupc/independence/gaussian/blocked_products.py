"""The compiled half of `correlation.py`: blocks of columns, and the products of two blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pycupc.independence.base import Floats
from pycupc.system.jit import compiled, jit_part
from pycupc.system.numba_names import intrinsic, types, uint64

#: Most columns per block of the table; a tile of the matrix has the pairs of two blocks.
WIDTH = 128
#: Observations whose products are summed by fused multiply-adds, and observations whose sums of products are added up
#: before their sum is added to the total, with compensation. The values of a block in two blocks of columns stay in the
#: core's first-level cache.
GROUP, BLOCK = 4, 64
#: Numbers in a line of the processor's cache.
LINE = 8


class Blocks:
    """The columns of a table (n, p), cut into blocks of `width`.

    `centred`, float64 (number of blocks, n, width): the columns, centred; zeros where the last block has fewer.
    `squares`, float64 (number of blocks, width): S_ii of each column.
    """

    def __init__(self, n: int, p: int, width: int) -> None:
        number, self.p = -(-p // width), p
        self.centred, self.squares = _zeros((number, n, width)), np.zeros((number, width))

    @staticmethod
    def width_for(p: int) -> int:
        """The width of the blocks of p columns: a multiple of 8, at most `WIDTH`, with the last nearly full; or 4."""
        p = max(p, 1)
        if p <= 4:
            return 4
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
        m = columns.shape[1]
        block[:, :m] = columns
        with np.errstate(over="ignore", invalid="ignore"):
            _centre(block, *np.zeros((2, block.shape[1])))
            S = _products(block, block)
            squares = S.diagonal()
            doubtful = np.flatnonzero(~((squares > 1e-60) & (squares < 1e60))[:m])
        if len(doubtful):  # constant, or with squares that overflow or vanish unless the column is scaled
            low, high = columns[:, doubtful].min(axis=0), columns[:, doubtful].max(axis=0)
            exponent = np.frexp(np.maximum(-low, high))[1]
            scaled = columns[:, doubtful] * np.ldexp(1.0, np.minimum(-exponent, 1000))
            _centre(scaled, *np.zeros((2, len(doubtful))))
            scaled[:, low == high] = np.nan
            block[:, doubtful] = scaled
            S = _products(block, block)
        self.squares[b] = S.diagonal()
        _normalise(S, self.squares[b], self.squares[b])
        return S[:m, :m]

    def correlate(self, i: int, j: int) -> Floats:
        """Correlations of the columns of block `i` with the columns of block `j`."""
        S = _products(self.centred[i], self.centred[j])
        _normalise(S, self.squares[i], self.squares[j])
        rows, columns = self.place(i), self.place(j)
        return S[: rows.stop - rows.start, : columns.stop - columns.start]


def _zeros(shape: tuple[int, ...]) -> Floats:
    """Zeros from the begin of a line of the processor's cache on: that saves a fifth of the time of `_add_products`."""
    memory = np.zeros(math.prod(shape) + LINE)
    first = -(memory.ctypes.data // memory.itemsize) % LINE
    return memory[first : first + math.prod(shape)].reshape(shape)


def _products(A: Floats, B: Floats) -> Floats:
    S = _zeros((A.shape[1], B.shape[1]))
    _add_products(A, B, S, _zeros(S.shape) if len(A) > BLOCK else S, A is B)
    return S


def _fma_code(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c with one rounding: the processor's instruction, or the mathematical library's function."""
    number = types.float64
    return number(number, number, number), lambda context, builder, signature, arguments: builder.fma(*arguments)


fma: Any = intrinsic(_fma_code)


@jit_part
def two_sum(a, b):
    """The sum rounded, and what rounding takes off it, exactly."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@compiled
def _centre(block, mean, rest):
    """Take their means from the columns of a block (n, m), as double-double numbers; `mean`, `rest`: zeros (m,)."""
    n, m = block.shape
    for k in range(n):
        for j in range(m):
            mean[j], lost = two_sum(mean[j], block[k, j])
            rest[j] += lost
    for j in range(m):
        total = mean[j]
        mean[j] = total / n
        rest[j] = (fma(-mean[j], float(n), total) + rest[j]) / n
    for k in range(n):
        for j in range(m):
            high, low = two_sum(block[k, j], -mean[j])
            block[k, j] = high + (low - rest[j])


@compiled
def _add_products(A, B, S, sums, same):
    """Write the sums of A[k, i] B[k, j] over k to S[i, j], as `correlation` defines them; four columns i at a time.

    A has a multiple of four columns. S, and `sums` for the sum of a block after the first and what S has lost before,
    are zeros before. `same`: whether A is B, so that half of S is computed, and mirrored.
    """
    n, width, columns = A.shape[0], uint64(A.shape[1]), uint64(B.shape[1])
    one, two, three = uint64(1), uint64(2), uint64(3)
    for begin in range(0, n, BLOCK):
        end = begin + BLOCK if begin + BLOCK < n else n
        block = sums if begin else S
        for i in range(uint64(0), width, uint64(4)):
            first = i if same else uint64(0)
            for k in range(begin, end, GROUP):  # products with 0 in the place of observations beyond the last one
                k1, k2, k3 = k + 1 if k + 1 < n else k, k + 2 if k + 2 < n else k, k + 3 if k + 3 < n else k
                w1, w2, w3 = 1.0 if k + 1 < n else 0.0, 1.0 if k + 2 < n else 0.0, 1.0 if k + 3 < n else 0.0
                a00, a01, a02, a03 = A[k, i], w1 * A[k1, i], w2 * A[k2, i], w3 * A[k3, i]
                a10, a11, a12, a13 = A[k, i + one], w1 * A[k1, i + one], w2 * A[k2, i + one], w3 * A[k3, i + one]
                a20, a21, a22, a23 = A[k, i + two], w1 * A[k1, i + two], w2 * A[k2, i + two], w3 * A[k3, i + two]
                i3 = i + three
                a30, a31, a32, a33 = A[k, i3], w1 * A[k1, i3], w2 * A[k2, i3], w3 * A[k3, i3]
                for j in range(first, columns):
                    b0, b1, b2, b3 = B[k, j], B[k1, j], B[k2, j], B[k3, j]
                    block[i, j] += fma(a03, b3, fma(a02, b2, fma(a01, b1, a00 * b0)))
                    block[i + one, j] += fma(a13, b3, fma(a12, b2, fma(a11, b1, a10 * b0)))
                    block[i + two, j] += fma(a23, b3, fma(a22, b2, fma(a21, b1, a20 * b0)))
                    block[i3, j] += fma(a33, b3, fma(a32, b2, fma(a31, b1, a30 * b0)))
            for row in range(i, i + uint64(4) if begin else i):
                for j in range(first, columns):
                    S[row, j], sums[row, j] = two_sum(S[row, j], sums[row, j])
    for i in range(width if same else uint64(0)):
        for j in range(i):
            S[i, j] = S[j, i]


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
