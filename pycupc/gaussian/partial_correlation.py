"""The one definition of a partial correlation by which every engine decides a doubtful test.

Fast tests differ in rounding from engine to engine. So an engine lets its fast test decide only where rounding cannot
matter (`fisher_z.PIVOT_FLOOR`, `fisher_z.CUTOFF_BAND`) and asks this function otherwise, and for the r of every
removal. It is written in plain float64 operations in a fixed order, without fused multiply-add, so that the CUDA twin
in ``kernels/canonical.cuh`` returns the same bits. Each pair of variables is read from one cell of C, so that a C whose
halves differ in the last bit gives a symmetric matrix.

    level 0, 1   pcalg's closed formulas
    level >= 2   elimination of S in ascending order, then x, then y; where a pivot is not above `PINV_PIVOT` the
                 pseudoinverse of C[{x, y, S}] with pcalg's rule for dropped singular values, by cyclic Jacobi rotations
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pycupc.compiled import forget_stale
from pycupc.gaussian.fisher_z import EPS, PINV_PIVOT, R_MAX

forget_stale()  # before anything compiled is loaded: all compiled modules import this one

#: Sweeps after which Jacobi stops whatever is left; symmetric matrices of any size here need fewer than 12.
MAX_SWEEPS = 30


@njit(cache=True, nogil=True, error_model="numpy")
def _clip(r: float) -> float:
    if math.isnan(r):
        return 0.0
    if r > R_MAX:
        return R_MAX
    if r < -R_MAX:
        return -R_MAX
    return r


@njit(cache=True, nogil=True, error_model="numpy")
def _pseudoinverse_r(C, x, y, S, size, A, V):
    """r from the pseudoinverse of C[{x, y, S}]; A and V as in `partial_correlation`.

    A holds the lower triangle. Only rows x and y of the matrix of eigenvectors are asked for in the end, so V has only
    them.
    """
    m = size + 2
    for i in range(m):
        a = x if i == 0 else (y if i == 1 else S[i - 2])
        for j in range(i + 1):
            b = x if j == 0 else (y if j == 1 else S[j - 2])
            A[i, j] = C[b, a] if i > 1 and j < 2 else C[a, b]  # the cell that elimination reads
        V[0, i] = 1.0 if i == 0 else 0.0
        V[1, i] = 1.0 if i == 1 else 0.0
    for _ in range(MAX_SWEEPS):
        largest = 0.0
        for i in range(m):
            largest = max(largest, abs(A[i, i]))
        tiny = largest * 1e-20
        rotated = False
        for i in range(m - 1):
            for j in range(i + 1, m):
                off = A[j, i]
                if abs(off) <= tiny:
                    continue
                rotated = True
                theta = (A[j, j] - A[i, i]) / (2.0 * off)
                t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
                if theta < 0.0:
                    t = -t
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                A[i, i] = A[i, i] - t * off
                A[j, j] = A[j, j] + t * off
                A[j, i] = 0.0
                for k in range(i):
                    u = A[i, k]
                    v = A[j, k]
                    A[i, k] = c * u - s * v
                    A[j, k] = s * u + c * v
                for k in range(i + 1, j):
                    u = A[k, i]
                    v = A[j, k]
                    A[k, i] = c * u - s * v
                    A[j, k] = s * u + c * v
                for k in range(j + 1, m):
                    u = A[k, i]
                    v = A[k, j]
                    A[k, i] = c * u - s * v
                    A[k, j] = s * u + c * v
                for k in range(2):
                    u = V[k, i]
                    v = V[k, j]
                    V[k, i] = c * u - s * v
                    V[k, j] = s * u + c * v
        if not rotated:
            break
    largest = 0.0
    for i in range(m):
        largest = max(largest, abs(A[i, i]))
    drop = m * largest * EPS
    p00 = 0.0
    p01 = 0.0
    p11 = 0.0
    for k in range(m):
        if abs(A[k, k]) > drop:
            p00 = p00 + V[0, k] * V[0, k] / A[k, k]
            p01 = p01 + V[0, k] * V[1, k] / A[k, k]
            p11 = p11 + V[1, k] * V[1, k] / A[k, k]
    return _clip(-p01 / math.sqrt(p00 * p11))


@njit(cache=True, nogil=True, error_model="numpy")
def partial_correlation(C, x, y, S, size, A, V):
    """Partial correlation of x and y given S[:size], clipped to +-R_MAX; 0 where pcalg's is NaN.

    Parameters
    ----------
    C : float64 (p, p)
    x, y : int
    S : int array, at least `size` long, ascending
    size : int
        The level.
    A, V : float64, at least (size + 2, size + 2) and (2, size + 2)
        Work space, overwritten.
    """
    if size == 0:
        return _clip(C[x, y])
    if size == 1:
        k = S[0]
        return _clip((C[x, y] - C[x, k] * C[y, k]) / math.sqrt((1.0 - C[y, k] * C[y, k]) * (1.0 - C[x, k] * C[x, k])))
    m = size + 2
    for i in range(m):  # lower triangle of C in the order S, x, y
        a = S[i] if i < size else (x if i == size else y)
        for j in range(i + 1):
            b = S[j] if j < size else (x if j == size else y)
            A[i, j] = C[a, b]
            if math.isnan(A[i, j]):
                return 0.0
    for k in range(size):
        pivot = A[k, k]
        if not pivot > PINV_PIVOT:
            return _pseudoinverse_r(C, x, y, S, size, A, V)
        for i in range(k + 1, m):
            f = A[i, k] / pivot
            for j in range(k + 1, i + 1):
                A[i, j] = A[i, j] - f * A[j, k]
    vx = A[size, size]
    vy = A[size + 1, size + 1]
    cov = A[size + 1, size]
    if not (vx > PINV_PIVOT and vy > PINV_PIVOT and vx * vy - cov * cov > PINV_PIVOT * (vx * vy)):
        return _pseudoinverse_r(C, x, y, S, size, A, V)
    return _clip(cov / math.sqrt(vx * vy))


def work_space(level: int) -> tuple[np.ndarray, np.ndarray]:
    """The two work arrays that `partial_correlation` needs at `level`."""
    return np.empty((level + 2, level + 2)), np.empty((2, level + 2))
