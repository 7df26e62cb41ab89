"""pcalg's partial correlation of ill-conditioned matrices, as exact arithmetic gives it: in double-double.

The matrix is C[{S, x, y}]; pcalg's rule drops singular values up to m * (largest) * EPS, m = level + 2. Elimination
gives r where no singular value can be so small: all are above 1 / trace of the inverse. Elsewhere, and where the
matrix is indefinite, Jacobi's iteration computes the pseudoinverse. How exact both are: docs/contracts/contract.md,
section 11.

Double-double numbers have about 32 digits: pairs (high, low) of float64 that stand for their sums. What rounding takes
off a sum or a product is itself a float64 number, and a few further operations compute it exactly. That holds operation
by operation: the compiler must neither reorder them nor fuse products with sums. Results have a relative error of a few
2^-104 (of a sum: relative to its larger operand). The CUDA twin is ``kernels/common/double_double.cuh``; its bits are
the same as long as nothing underflows. Source: Dekker (1971), Numer. Math. 18, 224-242.

Work space A, float64: rows 0 .. m + 1 hold the high parts of a matrix, the m + 2 rows below them the low parts.
"""

from __future__ import annotations

import math

from pycupc.independence.gaussian.blocked_products import two_sum
from pycupc.independence.gaussian.tolerances import EPS
from pycupc.system.jit import jit_part

#: Sweeps after which Jacobi stops whatever is left; symmetric matrices of any size here need fewer than 15.
MAX_SWEEPS = 30
#: 2^27 + 1: multiplying by it splits a float64 number into two halves whose products are exact.
SPLITTER = 134217729.0


@jit_part
def normalised(a, b):
    """The sum a + b, where |b| is small compared with |a|."""
    s = a + b
    return s, b - (s - a)


@jit_part
def two_product(a, b):
    p = a * b
    t, u = SPLITTER * a, SPLITTER * b
    a1, b1 = t - (t - a), u - (u - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@jit_part
def plus(a, b):
    """The sum a + b of two pairs."""
    s, e = two_sum(a[0], b[0])
    return normalised(s, e + (a[1] + b[1]))


@jit_part
def minus(a, b):
    """The difference a - b of two pairs."""
    s, e = two_sum(a[0], -b[0])
    return normalised(s, e + (a[1] - b[1]))


@jit_part
def times(a, b):
    """The product a b of two pairs."""
    p, e = two_product(a[0], b[0])
    return normalised(p, e + (a[0] * b[1] + a[1] * b[0]))


@jit_part
def over(a, b):
    """The quotient a / b of two pairs."""
    q = a[0] / b[0]
    rest = minus(a, times((q, 0.0), b))
    return normalised(q, rest[0] / b[0])


@jit_part
def _load(C, nodes, m, A):
    """The matrix: each pair of variables from one cell of C."""
    for i in range(m):
        for j in range(i + 1):
            A[i, j] = A[j, i] = C[nodes[i], nodes[j]]
            A[m + 2 + i, j] = A[m + 2 + j, i] = 0.0


@jit_part
def _eliminate(m, A):
    """Eliminate all variables of the lower triangle; returns (r, trace of the inverse), or (0, inf).

    The upper triangle takes the inverse of the unit triangular factor, in float64.
    """
    x, y, h = m - 2, m - 1, m + 2
    vx, vy, cov, trace = 0.0, 0.0, 0.0, 0.0
    for k in range(m):
        if k == x:
            vx, vy, cov = A[x, x], A[y, y], A[y, x]
        if not A[k, k] > 0.0:
            return 0.0, math.inf
        norm = 1.0
        for j in range(k):
            norm += A[j, k] * A[j, k]
        trace += norm / A[k, k]
        for i in range(k + 1, m):
            f = over((A[i, k], A[h + i, k]), (A[k, k], A[h + k, k]))
            for j in range(k):
                A[j, i] -= f[0] * A[j, k]
            A[k, i] = -f[0]
            for j in range(k + 1, i + 1):
                A[i, j], A[h + i, j] = minus((A[i, j], A[h + i, j]), times(f, (A[j, k], A[h + j, k])))
    return cov / math.sqrt(vx * vy), trace


@jit_part
def _rotate(A, i, j, m):
    """One Jacobi rotation: zero entry (i, j) of the symmetric matrix, whose rows m and m + 1 hold eigenvectors."""
    h = m + 2
    a, b, off = (A[i, i], A[h + i, i]), (A[j, j], A[h + j, j]), (A[j, i], A[h + j, i])
    width = minus(b, a)
    theta = width[0] / (2.0 * off[0])
    t0 = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t0 = -t0
    c0 = 1.0 / math.sqrt(t0 * t0 + 1.0)
    # one step of Newton's method doubles the precision of t and c: off (t^2 - 1) + width t = 0, c^2 (1 + t^2) = 1
    rest = plus(times(off, minus(two_product(t0, t0), (1.0, 0.0))), times(width, (t0, 0.0)))
    t = normalised(t0, -rest[0] / (2.0 * off[0] * t0 + width[0]))
    rest = minus((1.0, 0.0), times(two_product(c0, c0), plus((1.0, 0.0), times(t, t))))
    c = normalised(c0, 0.5 * c0 * rest[0])
    s = times(t, c)
    for k in range(m + 2):
        u, v = (A[k, i], A[h + k, i]), (A[k, j], A[h + k, j])
        p, q = minus(times(c, u), times(s, v)), plus(times(s, u), times(c, v))
        A[k, i], A[h + k, i] = p
        A[k, j], A[h + k, j] = q
        if k < m:
            A[i, k], A[h + i, k] = p
            A[j, k], A[h + j, k] = q
    shift = times(t, off)
    A[i, i], A[h + i, i] = minus(a, shift)
    A[j, j], A[h + j, j] = plus(b, shift)
    A[i, j] = A[j, i] = A[h + i, j] = A[h + j, i] = 0.0


@jit_part
def _entry(m, A, a, b, limit):
    """An entry of the pseudoinverse, from rows a and b of eigenvectors.

    0 for one on the diagonal if a change of the matrix no larger than `limit`, below which eigenvalues are dropped, can
    make it 0. The matrix is indefinite then.
    """
    h, entry, squares = m + 2, (0.0, 0.0), 0.0
    for k in range(m):
        if abs(A[k, k]) > limit:
            f = over((A[a, k], A[h + a, k]), (A[k, k], A[h + k, k]))
            entry = plus(entry, times(f, (A[b, k], A[h + b, k])))
            squares += f[0] * f[0]
    return entry[0] if a != b or abs(entry[0]) > limit * squares else 0.0


@jit_part
def _by_pseudoinverse(m, A):
    """The correlation r from the pseudoinverse, by cyclic Jacobi rotations.

    Only rows x and y of the matrix of eigenvectors are needed: rows m and m + 1. 0 where r is undefined: the
    diagonal entries of x and y in the pseudoinverse have opposite signs, or one counts as 0.
    """
    for k in range(m):
        A[m, k] = 1.0 if k == m - 2 else 0.0
        A[m + 1, k] = 1.0 if k == m - 1 else 0.0
        A[2 * m + 2, k] = A[2 * m + 3, k] = 0.0
    largest, sweeps, rotated = 0.0, 0, True
    while rotated:
        largest, rotated = 0.0, False
        for i in range(m):
            if abs(A[i, i]) > largest:
                largest = abs(A[i, i])
        for i in range(m - 1 if sweeps < MAX_SWEEPS else 0):
            for j in range(i + 1, m):
                if abs(A[j, i]) > largest * 1e-36:
                    rotated = True
                    _rotate(A, i, j, m)
        sweeps += 1
    limit = m * largest * EPS
    product = _entry(m, A, m, m, limit) * _entry(m, A, m + 1, m + 1, limit)
    return -_entry(m, A, m, m + 1, limit) / math.sqrt(product) if product > 0.0 else 0.0


@jit_part
def exact_correlation(C, nodes, size, A):
    """Partial correlation of x and y given S, not clipped; arguments as of `partial_correlation`."""
    m = size + 2
    _load(C, nodes, m, A)
    r, trace = _eliminate(m, A)
    if 2.0 * m * m * EPS * trace < 1.0:  # no singular value exceeds m
        return r
    _load(C, nodes, m, A)
    return _by_pseudoinverse(m, A)
