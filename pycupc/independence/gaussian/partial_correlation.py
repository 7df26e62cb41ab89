"""The canonical formula: the one definition of a partial correlation by which every engine decides a doubtful test.

Fast tests differ in rounding from engine to engine. Therefore an engine lets its fast test decide only where rounding
cannot matter (`tolerances.PIVOT_FLOOR`, `tolerances.CUTOFF_BAND`). Otherwise, and for the r of every removal, it takes
the canonical formula. It is written in plain float64 operations in a fixed order, without fused multiply-add, so that
the CUDA twin in ``kernels/`` returns the same bits. Each pair of variables is read from one cell of C, so that a C
whose halves differ in the last bit gives a symmetric matrix.

    level 0, 1   pcalg's closed formulas
    level >= 2   elimination of S in ascending order, then x, then y; where a pivot is not above `EXACT_PIVOT`, what
                 exact arithmetic gives, in double-double (`double_double`; docs/contracts/contract.md, section 11)

The code for sets whose elimination is not sound takes long to compile and is seldom needed. Compiled code that makes
tests (the walks) therefore contains only `given_several`, which calls that code by its address, once `careful_address`
has compiled or loaded it.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.double_double import exact_correlation
from pycupc.independence.gaussian.tolerances import EXACT_PIVOT, R_MAX
from pycupc.system.jit import call_address, compiled, compiled_callback, frozen, jit_inlined
from pycupc.system.numba_names import carray, types

_one_at_a_time = threading.Lock()


def canonical_space(size: int) -> Floats:
    """Work space of the canonical formula for sets of up to `size` members: float64 (2 size + 8, size + 4)."""
    return np.empty((2 * size + 8, size + 4))


@jit_inlined
def clipped(r):
    """The correlation r within +-R_MAX, 0 for NaN."""
    if r > R_MAX:
        return R_MAX
    if r < -R_MAX:
        return -R_MAX
    return r if r == r else 0.0


@jit_inlined
def given_one(C, x, y, k):
    """Partial correlation of x and y given the variable k."""
    xk, yk = C[x, k], C[y, k]
    return clipped((C[x, y] - xk * yk) / math.sqrt((1.0 - yk * yk) * (1.0 - xk * xk)))


@jit_inlined
def eliminated(C, nodes, size, A):
    """`partial_correlation` for a conditioning set with two or more members; NaN where elimination is not sound."""
    m = size + 2
    for i in range(m):
        for j in range(i + 1):
            A[i, j] = C[nodes[i], nodes[j]]
            if A[i, j] != A[i, j]:
                return 0.0
    sound = True
    for k in range(size):
        sound = sound and A[k, k] > EXACT_PIVOT
        for i in range(k + 1, m if sound else 0):
            f = A[i, k] / A[k, k]
            for j in range(k + 1, i + 1):
                A[i, j] -= f * A[j, k]
    vx, vy, cov = A[size, size], A[size + 1, size + 1], A[size + 1, size]
    if sound and vx > EXACT_PIVOT and vy > EXACT_PIVOT and vx * vy - cov * cov > EXACT_PIVOT * (vx * vy):
        return clipped(cov / math.sqrt(vx * vy))
    return math.nan


@jit_inlined
def given_several(C, nodes, size, A, careful):
    """`partial_correlation` for a conditioning set with two or more members.

    NaN where the code at the address `careful` (see `careful_address`) is needed and this address is 0.
    """
    r = eliminated(C, nodes, size, A)
    if r != r and careful != 0:
        width = len(A) // 2  # see `canonical_space`; `A.shape[1]` would take 20 ms to compile
        return call_address(careful, C.ctypes.data, len(C), nodes.ctypes.data, size, A.ctypes.data, width)
    return r


@jit_inlined
def given_set(C, nodes, size, A, careful):
    """As `given_several`, for a conditioning set of any size."""
    if size == 0:
        return clipped(C[nodes[0], nodes[1]])
    if size == 1:
        return given_one(C, nodes[1], nodes[2], nodes[0])
    return given_several(C, nodes, size, A, careful)


def careful_address() -> int:
    """The address of compiled code for `given_several`: for sets whose elimination is not sound."""
    with _one_at_a_time:
        return int(_compiled_careful().address)


@cache
def _compiled_careful():
    double, index = types.CPointer(types.float64), types.CPointer(types.int64)
    signature = types.float64(double, types.int64, index, types.int64, double, types.int64)
    return compiled_callback(_careful, signature)


def _careful(C, p, nodes, size, A, width):
    return clipped(
        exact_correlation(carray(C, (p, p)), carray(nodes, size + 2), size, carray(A, (2 * size + 8, width)))
    )


@compiled
def partial_correlation(C, nodes, size, A):
    """Partial correlation of x and y given S, clipped to +-R_MAX; 0 where pcalg's is NaN.

    `C`, float64 (p, p). `nodes`, int array, at least (size + 2,): the members of S ascending, then x, then y. `size`:
    members of S: the level. `A`: `canonical_space` of this size or a larger one, overwritten.
    """
    if size == 0:
        return clipped(C[nodes[0], nodes[1]])
    if size == 1:
        return given_one(C, nodes[1], nodes[2], nodes[0])
    r = eliminated(C, nodes, size, A)
    return r if r == r else clipped(exact_correlation(C, nodes, size, A))


def canonical_r(C: Floats, x: int, y: int, S: Sequence[int]) -> float:
    """`partial_correlation` of one test; S ascending."""
    return float(partial_correlation(frozen(C), np.array([*S, x, y], dtype=np.int64), len(S), canonical_space(len(S))))


def nodes_of(x: Indices, y: Indices, S: Indices) -> Indices:
    """The variables of tests as compiled code takes them, int64 (m, l + 2): S[i] ascending, x[i], y[i]."""
    return np.ascontiguousarray(np.column_stack([np.sort(S, axis=1), x, y]).astype(np.int64))


@jit_inlined
def put_nodes(nodes, known, x, y, S):
    """Write the variables of a test as of `nodes_of`; returns whether S and x were there: `known`, (l + 1,)."""
    size = len(S)
    there = known[size] == x
    for t in range(size):
        there = there and known[t] == S[t]
    nodes[size + 1] = y
    for t in range(0 if there else size):
        known[t] = S[t]
        i = t
        while i > 0 and nodes[i - 1] > S[t]:
            nodes[i] = nodes[i - 1]
            i -= 1
        nodes[i] = S[t]
    nodes[size] = known[size] = x
    return there


class Known(Protocol):
    """Correlations of some variables, wherever they come from."""

    def among(self, members: NDArray[np.integer]) -> Floats:
        """The correlations of k variables with each other, float64 (k, k)."""


def canonical_among(known: Known, x: int, y: int, S: Sequence[int]) -> float:
    """`canonical_r` of one test whose correlations need not be there as a matrix."""
    C, size = known.among(np.array([*S, x, y], dtype=np.int64)), len(S)
    return canonical_r(C, size, size + 1, range(size))
