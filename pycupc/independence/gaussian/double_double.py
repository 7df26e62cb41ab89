"""Double-double arithmetic: numbers of about 32 digits, each a pair (high, low) of float64 that stands for its sum.

What rounding takes off a sum or a product is itself a float64 number, and a few further operations compute it exactly.
That holds operation by operation: the compiler must neither reorder them nor fuse products with sums. Results have a
relative error of a few 2^-104 (of a sum: relative to its larger operand). The CUDA twin is
``kernels/common/double_double.cuh``; its bits are the same as long as nothing underflows.

Source: Dekker (1971), Numer. Math. 18, 224-242.
"""

from __future__ import annotations

from pycupc.system.compiled import part

#: 2^27 + 1: multiplying by it splits a float64 number into two halves whose products are exact.
SPLITTER = 134217729.0


@part
def two_sum(a, b):
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@part
def normalised(a, b):
    """The sum a + b, where |b| is small compared with |a|."""
    s = a + b
    return s, b - (s - a)


@part
def two_product(a, b):
    p = a * b
    t, u = SPLITTER * a, SPLITTER * b
    a1, b1 = t - (t - a), u - (u - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


@part
def plus(a, b):
    """The sum a + b of two pairs."""
    s, e = two_sum(a[0], b[0])
    return normalised(s, e + (a[1] + b[1]))


@part
def minus(a, b):
    """The difference a - b of two pairs."""
    s, e = two_sum(a[0], -b[0])
    return normalised(s, e + (a[1] - b[1]))


@part
def times(a, b):
    """The product a b of two pairs."""
    p, e = two_product(a[0], b[0])
    return normalised(p, e + (a[0] * b[1] + a[1] * b[0]))


@part
def over(a, b):
    """The quotient a / b of two pairs."""
    q = a[0] / b[0]
    rest = minus(a, times((q, 0.0), b))
    return normalised(q, rest[0] / b[0])
