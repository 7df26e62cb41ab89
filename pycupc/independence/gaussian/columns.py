"""Correlations of chosen pairs, computed from the columns of a table to the bits of its matrix, without the matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.pairwise import DEPTH, WIDTH, Blocks, fma
from pycupc.system.compiled import compiled, copied_part, frozen
from pycupc.system.machine import run_in_threads

#: Pairs that a thread computes in one call.
PAIRS = 1 << 14


@dataclass(frozen=True)
class Columns:
    """The columns of a table, centred, each in one piece of memory.

    `pairwise.Blocks` centres them, and the sums here have its terms in its order: the bits are those of `correlation`.
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
        r, (centred, squares) = np.empty(len(x)), self._frozen()

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
        space = np.empty((DEPTH, int(np.diff(starts).max(initial=0))))
        members, starts = (np.ascontiguousarray(v, dtype=np.int64) for v in (members, starts))
        _correlate_groups(*self._frozen(), members, starts, space, out)

    def _frozen(self) -> tuple[Floats, Floats]:
        return frozen(self.centred), frozen(self.squares)


@copied_part
def _normalised(product, squares):
    """The correlation of two columns, given the sum of their products and the product of their sums of squares."""
    r = product / math.sqrt(squares)
    if r > 1.0:
        r = 1.0
    if r < -1.0:
        r = -1.0
    return r


@compiled
def _correlate_pairs(centred, squares, x, y, r):
    """Write r[k] of the columns x[k] and y[k]; four pairs at a time, since each sum waits for its previous term."""
    m, n = len(x), centred.shape[1]
    for k in range(0, m - m % 4, 4):
        a0, a1, a2, a3 = uint64(x[k]), uint64(x[k + 1]), uint64(x[k + 2]), uint64(x[k + 3])
        b0, b1, b2, b3 = uint64(y[k]), uint64(y[k + 1]), uint64(y[k + 2]), uint64(y[k + 3])
        s0 = s1 = s2 = s3 = 0.0
        for i in range(uint64(n)):
            s0 = fma(centred[a0, i], centred[b0, i], s0)
            s1 = fma(centred[a1, i], centred[b1, i], s1)
            s2 = fma(centred[a2, i], centred[b2, i], s2)
            s3 = fma(centred[a3, i], centred[b3, i], s3)
        r[k] = _normalised(s0, squares[a0] * squares[b0])
        r[k + 1] = _normalised(s1, squares[a1] * squares[b1])
        r[k + 2] = _normalised(s2, squares[a2] * squares[b2])
        r[k + 3] = _normalised(s3, squares[a3] * squares[b3])
    for k in range(m - m % 4, m):
        s = 0.0
        for i in range(n):
            s = fma(centred[x[k], i], centred[y[k], i], s)
        r[k] = _normalised(s, squares[x[k]] * squares[y[k]])


@compiled
def _correlate_groups(centred, squares, members, starts, space, out):
    """`Columns.put_groups`; `space`, float64 (DEPTH, widest group), holds a part of the columns of a group."""
    n = centred.shape[1]
    for g in range(len(starts) - 1):
        at, width = uint64(starts[g]), uint64(starts[g + 1] - starts[g])
        for i in range(width):
            for j in range(width):
                out[at + i, at + j] = 0.0
        for begin in range(0, n, DEPTH):
            depth = DEPTH if begin + DEPTH < n else n - begin
            for c in range(width):
                column = members[at + c]
                for k in range(depth):
                    space[k, c] = centred[column, begin + k]
            _add_squares(space, out, at, width, depth)
        for i in range(width):
            for j in range(i, width):
                r = _normalised(out[at + i, at + j], squares[members[at + i]] * squares[members[at + j]])
                out[at + i, at + j] = r
                out[at + j, at + i] = r


@copied_part
def _add_squares(A, S, at, width, depth):
    """Add A[k, i] A[k, j] to S[at + i, at + j], j >= i, for each k < depth in ascending order; four rows at a time."""
    rest = width - width % uint64(4)
    for i in range(uint64(0), rest, uint64(4)):
        p0, p1, p2, p3 = at + i, at + i + uint64(1), at + i + uint64(2), at + i + uint64(3)
        for k in range(depth):
            a0, a1, a2, a3 = A[k, i], A[k, i + uint64(1)], A[k, i + uint64(2)], A[k, i + uint64(3)]
            for j in range(i, width):
                b, to = A[k, j], at + j
                S[p0, to] = fma(a0, b, S[p0, to])
                S[p1, to] = fma(a1, b, S[p1, to])
                S[p2, to] = fma(a2, b, S[p2, to])
                S[p3, to] = fma(a3, b, S[p3, to])
    for i in range(rest, width):
        for k in range(depth):
            for j in range(i, width):
                S[at + i, at + j] = fma(A[k, i], A[k, j], S[at + i, at + j])
