"""The canonical formula: the one definition of a partial correlation by which every engine decides a doubtful test.

Fast tests differ in rounding from engine to engine. So an engine lets its fast test decide only where rounding cannot
matter (`fisher_z.PIVOT_FLOOR`, `fisher_z.CUTOFF_BAND`), and takes the canonical formula otherwise and for the r of
every removal. It is written in plain float64 operations in a fixed order, without fused multiply-add, so that the CUDA
twin in ``kernels/`` returns the same bits. Each pair of variables is read from one cell of C, so that a C whose halves
differ in the last bit gives a symmetric matrix.

    level 0, 1   pcalg's closed formulas
    level >= 2   elimination of S in ascending order, then x, then y; where a pivot is not above `EXACT_PIVOT`, what exact
                 arithmetic gives, in double-double (`exact`; tests/CONTRACT.md, section 11)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pycupc.compiled import compiled, part
from pycupc.gaussian.exact import exact_correlation
from pycupc.gaussian.fisher_z import EXACT_PIVOT, R_MAX


def canonical_space(size: int) -> NDArray[np.float64]:
    """What the canonical formula writes to, for conditioning sets of up to `size` members: float64 (2 m + 4, m + 2)."""
    return np.empty((2 * size + 8, size + 4))


@part
def clipped(r):
    """R within +-R_MAX, 0 for NaN."""
    if r > R_MAX:
        return R_MAX
    if r < -R_MAX:
        return -R_MAX
    return r if r == r else 0.0


@part
def given_one(C, x, y, k):
    """Partial correlation of x and y given the variable k."""
    xk, yk = C[x, k], C[y, k]
    return clipped((C[x, y] - xk * yk) / math.sqrt((1.0 - yk * yk) * (1.0 - xk * xk)))


@part
def given_several(C, nodes, size, A):
    """`partial_correlation` for a conditioning set with two or more members, by elimination where that is sound."""
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
    return clipped(exact_correlation(C, nodes, size, A))


@compiled
def partial_correlation(C, nodes, size, A):
    """Partial correlation of x and y given S, clipped to +-R_MAX; 0 where pcalg's is NaN.

    Parameters
    ----------
    C : float64 (p, p)
    nodes : int array, at least (size + 2,)
        The members of S ascending, then x, then y.
    size : int
        Members of S: the level.
    A : float64
        `canonical_space` of this size or a larger one, overwritten.
    """
    x, y = nodes[size], nodes[size + 1]
    if size == 0:
        return clipped(C[x, y])
    if size == 1:
        return given_one(C, x, y, nodes[0])
    return given_several(C, nodes, size, A)
