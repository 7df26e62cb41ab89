"""The canonical formula: the one definition of a partial correlation by which every engine decides a doubtful test.

Fast tests differ in rounding from engine to engine. So an engine lets its fast test decide only where rounding cannot
matter (`fisher_z.PIVOT_FLOOR`, `fisher_z.CUTOFF_BAND`), and takes the canonical formula otherwise and for the r of
every removal. It is written in plain float64 operations in a fixed order, without fused multiply-add, so that the CUDA
twin in ``kernels/`` returns the same bits. Each pair of variables is read from one cell of C, so that a C whose halves
differ in the last bit gives a symmetric matrix.

    level 0, 1   pcalg's closed formulas
    level >= 2   elimination of S in ascending order, then x, then y; where a pivot is not above `PINV_PIVOT` the
                 pseudoinverse of C[{x, y, S}] with pcalg's rule for dropped singular values, by cyclic Jacobi rotations

What follows elimination takes long to compile and is seldom needed. So compiled code that tests (the walks) has only
`given_several` in it, which calls the rest by its address, once `careful_address` has compiled or loaded it.
"""

from __future__ import annotations

import math
from functools import cache

from numba import carray, cfunc, types

from pycupc.compiled import OPTIONS, announced, call_address, compiled, part
from pycupc.gaussian.fisher_z import EPS, PINV_PIVOT, R_MAX

#: Sweeps after which Jacobi stops whatever is left; symmetric matrices of any size here need fewer than 12.
MAX_SWEEPS = 30


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
def _rotate(A, i, j, rows):
    """One Jacobi rotation: zero A[i, j] of the symmetric A, whose rows below hold eigenvectors."""
    a, b, off = A[i, i], A[j, j], A[j, i]
    theta = (b - a) / (2.0 * off)
    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t = -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(rows):
        u, v = A[k, i], A[k, j]
        A[k, i] = A[i, k] = c * u - s * v
        A[k, j] = A[j, k] = s * u + c * v
    A[i, i], A[j, j] = a - t * off, b + t * off
    A[i, j] = A[j, i] = 0.0


@part
def _by_pseudoinverse(C, nodes, size, A):
    """The partial correlation from the pseudoinverse of C[{x, y, S}]; arguments as of `partial_correlation`.

    Only rows x and y of the matrix of eigenvectors are needed: rows m and m + 1 of A.
    """
    m = size + 2
    for i in range(m):  # in the order x, y, S
        a = nodes[(size + i) % m]
        for j in range(i + 1):
            b = nodes[(size + j) % m]
            A[i, j] = A[j, i] = C[b, a] if i > 1 and j < 2 else C[a, b]  # the cell that elimination reads
        A[m, i] = 1.0 if i == 0 else 0.0
        A[m + 1, i] = 1.0 if i == 1 else 0.0
    largest, sweeps, rotated = 0.0, 0, True
    while rotated:
        largest, rotated = 0.0, False
        for i in range(m):
            if abs(A[i, i]) > largest:
                largest = abs(A[i, i])
        tiny = largest * 1e-20
        for i in range(m - 1 if sweeps < MAX_SWEEPS else 0):
            for j in range(i + 1, m):
                if not abs(A[j, i]) <= tiny:
                    rotated = True
                    _rotate(A, i, j, m + 2)
        sweeps += 1
    drop = m * largest * EPS
    xx, xy, yy = 0.0, 0.0, 0.0
    for k in range(m):
        if abs(A[k, k]) > drop:
            xx += A[m, k] * A[m, k] / A[k, k]
            xy += A[m, k] * A[m + 1, k] / A[k, k]
            yy += A[m + 1, k] * A[m + 1, k] / A[k, k]
    return clipped(-xy / math.sqrt(xx * yy))


@part
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
        sound = sound and A[k, k] > PINV_PIVOT
        for i in range(k + 1, m if sound else 0):
            f = A[i, k] / A[k, k]
            for j in range(k + 1, i + 1):
                A[i, j] -= f * A[j, k]
    vx, vy, cov = A[size, size], A[size + 1, size + 1], A[size + 1, size]
    if sound and vx > PINV_PIVOT and vy > PINV_PIVOT and vx * vy - cov * cov > PINV_PIVOT * (vx * vy):
        return clipped(cov / math.sqrt(vx * vy))
    return math.nan


@part
def given_several(C, nodes, size, A, careful):
    """`partial_correlation` for a conditioning set with two or more members.

    NaN where that takes the code at the address `careful` (`careful_address`) and this is 0.
    """
    r = eliminated(C, nodes, size, A)
    if r != r and careful != 0:
        return call_address(careful, C.ctypes.data, len(C), nodes.ctypes.data, size, A.ctypes.data, A.shape[1])
    return r


def careful_address() -> int:
    """The address of compiled code for `given_several`: for sets whose elimination is not sound."""
    return int(_compiled_careful().address)


@cache
def _compiled_careful():
    double, index = types.CPointer(types.float64), types.CPointer(types.int64)
    signature = types.float64(double, types.int64, index, types.int64, double, types.int64)
    with announced("compiling for ill-conditioned tests, once per machine"):
        return cfunc(signature, cache=True, **{**OPTIONS, "_nrt": True})(_careful)  # carray needs _nrt


def _careful(C, p, nodes, size, A, width):
    return _by_pseudoinverse(carray(C, (p, p)), carray(nodes, size + 2), size, carray(A, (size + 4, width)))


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
    A : float64, at least (size + 4, size + 4)
        Work space, overwritten.
    """
    if size == 0:
        return clipped(C[nodes[0], nodes[1]])
    if size == 1:
        return given_one(C, nodes[1], nodes[2], nodes[0])
    r = eliminated(C, nodes, size, A)
    return r if r == r else _by_pseudoinverse(C, nodes, size, A)
