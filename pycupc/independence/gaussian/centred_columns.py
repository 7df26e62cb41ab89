"""Correlations of chosen pairs, computed from the columns of a table to the bits of its matrix, without the matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.blocked_products import BLOCK, GROUP, WIDTH, Blocks, fma, two_sum
from pycupc.system.jit import compiled, frozen, jit_inlined
from pycupc.system.machine import run_in_threads
from pycupc.system.numba_names import uint64

#: Pairs that a thread computes in one call.
PAIRS = 1 << 14


@dataclass(frozen=True)
class Columns:
    """The columns of a table, centred, each in one piece of memory.

    `blocked_products.Blocks` centres them, and the sums here have its terms in its order: `correlation` returns the
    same bits.
    """

    centred: Floats  # (p, n): NaN for a constant column
    squares: Floats  # (p,): S_ii of each column

    @classmethod
    def of(cls, X: Floats, n_threads: int = 1) -> Columns:
        """The columns of a table (n, p), finite and scaled (`correlation.scaled`)."""
        n, p = X.shape
        out = cls(np.empty((p, n)), np.empty(p))

        def centre(first: int) -> None:
            own = X[:, first : first + WIDTH]
            block = Blocks(n, own.shape[1], -(-own.shape[1] // 4) * 4)
            block.centre(0, own)
            out.centred[first : first + WIDTH] = block.centred[0, :, : own.shape[1]].T
            out.squares[first : first + WIDTH] = block.squares[0, : own.shape[1]]

        run_in_threads(centre, range(0, p, WIDTH), n_threads)
        return out

    def __len__(self) -> int:
        return len(self.centred)

    def pairs(self, x: NDArray[np.integer], y: NDArray[np.integer], n_threads: int = 1) -> Floats:
        """The correlations of k pairs, float64 (k,)."""
        x, y = (np.ascontiguousarray(v, dtype=np.int64) for v in (x, y))
        r, (centred, squares) = np.empty(len(x)), self.frozen()

        def compute(first: int) -> None:
            part = slice(first, first + PAIRS)
            _correlate_pairs(centred, squares, x[part], y[part], r[part])

        run_in_threads(compute, range(0, len(x), PAIRS), n_threads if len(x) > PAIRS else 1)
        return r

    def among(self, members: NDArray[np.integer]) -> Floats:
        """The correlations of k variables with each other, float64 (k, k)."""
        out = np.empty((len(members), len(members)))
        self.put_groups(members, np.array([0, len(members)]), out)
        return out

    def put_groups(self, members: NDArray[np.integer], starts: Indices, out: Floats) -> None:
        """Write the correlations within groups of variables to the blocks on the diagonal of ``out``, float64 (m, m).

        Group g has the variables ``members[starts[g]:starts[g + 1]]``, and these rows and columns of `out`.
        """
        space, sums = group_space(int(np.diff(starts).max(initial=0)))
        members, starts = (np.ascontiguousarray(v, dtype=np.int64) for v in (members, starts))
        _correlate_groups(*self.frozen(), members, starts, space, sums, out)

    def frozen(self) -> tuple[Floats, Floats]:
        """`centred` and `squares` for compiled code."""
        return frozen(self.centred), frozen(self.squares)


def group_space(width: int) -> tuple[Floats, Floats]:
    """`space` and `sums` of `correlate_group` for up to this number of columns."""
    return np.empty((BLOCK, width)), np.empty((width, width))


@jit_inlined
def _normalised(product, squares):
    """The correlation of two columns, given the sum of their products and the product of their sums of squares."""
    r = product / math.sqrt(squares)
    if r > 1.0:
        r = 1.0
    if r < -1.0:
        r = -1.0
    return r


@jit_inlined
def sum_of_products(centred, x, y, n):
    """S of two columns of n observations, uint64, as `correlation` defines it."""
    total, block = 0.0, 0.0
    rest = n - n % uint64(GROUP)
    for k in range(uint64(0), rest, uint64(GROUP)):
        k1, k2, k3 = k + uint64(1), k + uint64(2), k + uint64(3)
        group = fma(centred[x, k1], centred[y, k1], centred[x, k] * centred[y, k])
        block += fma(centred[x, k3], centred[y, k3], fma(centred[x, k2], centred[y, k2], group))
        if (k + uint64(GROUP)) % uint64(BLOCK) == uint64(0):
            total, block = two_sum(total, block)
    group = 0.0
    for k in range(rest, n):
        group = fma(centred[x, k], centred[y, k], group)
    return total + (block + group)


@compiled
def _correlate_pairs(centred, squares, x, y, r):
    """Write r[k] of the columns x[k] and y[k]."""
    for k in range(len(x)):
        a, b = uint64(x[k]), uint64(y[k])
        r[k] = _normalised(sum_of_products(centred, a, b, uint64(centred.shape[1])), squares[a] * squares[b])


@compiled
def _correlate_groups(centred, squares, members, starts, space, sums, out):
    """`Columns.put_groups`; `space`, `sums`: see `correlate_group`."""
    for g in range(len(starts) - 1):
        at, width = uint64(starts[g]), uint64(starts[g + 1] - starts[g])
        correlate_group(centred, squares, members, at, width, space, sums, out)


@jit_inlined
def correlate_group(centred, squares, members, at, width, space, sums, out):
    """Write the correlations of the columns members[at:at + width] to these rows and columns of `out`.

    `space` and `sums`, of `group_space`, hold a block of the columns, and the sums of the block.
    """
    n = centred.shape[1]
    for i in range(width):
        for j in range(width):
            out[at + i, at + j] = sums[i, j] = 0.0
    for begin in range(0, n, BLOCK):
        for c in range(width):
            column = members[at + c]
            for k in range(BLOCK):
                space[k, c] = centred[column, begin + k] if begin + k < n else 0.0
        _add_squares(space, sums, width, uint64(BLOCK if begin + BLOCK < n else n - begin))
        for i in range(width):
            for j in range(i, width):
                out[at + i, at + j], sums[i, j] = two_sum(out[at + i, at + j], sums[i, j])
    for i in range(width):
        for j in range(i, width):
            r = _normalised(out[at + i, at + j], squares[members[at + i]] * squares[members[at + j]])
            out[at + i, at + j] = r
            out[at + j, at + i] = r


@jit_inlined
def _add_squares(A, S, width, depth):
    """Add the sums of A[k, i] A[k, j] over each group of k < depth to S[i, j], j >= i; four rows i at a time."""
    one, two, three = uint64(1), uint64(2), uint64(3)
    rest = width - width % uint64(4)
    for i in range(uint64(0), rest, uint64(4)):
        i1, i2, i3 = i + one, i + two, i + three
        for k in range(uint64(0), depth, uint64(GROUP)):
            k1, k2, k3 = k + one, k + two, k + three
            a00, a01, a02, a03 = A[k, i], A[k1, i], A[k2, i], A[k3, i]
            a10, a11, a12, a13 = A[k, i1], A[k1, i1], A[k2, i1], A[k3, i1]
            a20, a21, a22, a23 = A[k, i2], A[k1, i2], A[k2, i2], A[k3, i2]
            a30, a31, a32, a33 = A[k, i3], A[k1, i3], A[k2, i3], A[k3, i3]
            for j in range(i, width):
                b0, b1, b2, b3 = A[k, j], A[k1, j], A[k2, j], A[k3, j]
                S[i, j] += fma(a03, b3, fma(a02, b2, fma(a01, b1, a00 * b0)))
                S[i1, j] += fma(a13, b3, fma(a12, b2, fma(a11, b1, a10 * b0)))
                S[i2, j] += fma(a23, b3, fma(a22, b2, fma(a21, b1, a20 * b0)))
                S[i3, j] += fma(a33, b3, fma(a32, b2, fma(a31, b1, a30 * b0)))
    for i in range(rest, width):
        for k in range(uint64(0), depth, uint64(GROUP)):
            a0, a1, a2, a3 = A[k, i], A[k + one, i], A[k + two, i], A[k + three, i]
            for j in range(i, width):
                b0, b1, b2, b3 = A[k, j], A[k + one, j], A[k + two, j], A[k + three, j]
                S[i, j] += fma(a3, b3, fma(a2, b2, fma(a1, b1, a0 * b0)))
