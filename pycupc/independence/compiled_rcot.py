"""The tests of `rcot` on a CPU, compiled: as quick as BLAS, whose threads would wait longer than they compute."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.blocked_products import fma
from pycupc.system.jit import compiled, jit_part, jit_reordered
from pycupc.system.numba_names import uint64

#: Added to the diagonal of the products of the features of S, as a share of it, as in the paper.
RIDGE = 1e-10
#: The series of cos(2 pi t) in t^2, from its last term, exact to 1e-15 up to half a turn.
SERIES = tuple((-1) ** k * (2 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in range(13, -1, -1))
#: Added and taken away, it rounds to a whole number.
TO_WHOLE = 1.5 * 2.0**52
#: Rows taken at a time, so that they stay in the core's first-level cache.
DEPTH = 64


class Tests(NamedTuple):
    """Tests, in the order of their sets, and the variables at their ends."""

    sets: Indices  # (m, l)
    # first_test, first_end: (m + 1,): the first test, and the first end, of each set; last, their numbers.
    first_test: Indices
    first_end: Indices
    variable: Indices  # (e,): of each end
    # x, y: (t,): the ends of each test.
    x: Indices
    y: Indices


class Data(NamedTuple):
    """The data of a run, n observations."""

    values: Floats  # (p + 1, n): the last row is 1
    ends: Floats  # (p, k, n): the features of each variable as an end
    # a, b: (q,): the rows of the ends that are multiplied with each other.
    a: Indices
    b: Indices


class Sets(NamedTuple):
    """Some of the sets of the tests, from number `first` on."""

    first: int
    weights: Floats  # (m, l + 1, f): of the variables of a set, and of 1, in each of f features
    factors: Floats  # (m, f, f): Cholesky factors of the products of the features
    new: NDArray[np.bool_]  # (m,): whether the factor is still to be found


class RcotWork(NamedTuple):
    """Work space; v is the largest number of ends of a set."""

    features: Floats  # (f, n)
    weights: Floats  # (k v, f): of the features of the set in the features of the ends
    negative: Floats  # ((k v + 3) f,): minus the same, transposed
    left: Floats  # (k v + 3, n): the features of ends, less what the features of the set explain
    squares: Floats  # (v q, n): their products with each other


@jit_reordered
def _mean(values, n):
    total = 0.0
    for s in range(n):
        total += values[s]
    return total / n


@jit_part
def map_set(values, members, weights, out):
    """Write the cosines, in turns, of sums of the values of a set and of 1, with `weights`, minus their means.

    They must be exact: the features of S are nearly collinear, so that an error of 1e-7 moves p-values by 1e-2.
    """
    n, size = values.shape[1], len(members)
    for i in range(len(out)):
        feature = out[i]
        for k in range(n):
            feature[k] = weights[size, i]
        for a in range(size):
            weight, value = weights[a, i], values[members[a]]
            for k in range(n):
                feature[k] = fma(weight, value[k], feature[k])
        for k in range(n):
            turn = feature[k] - ((feature[k] + TO_WHOLE) - TO_WHOLE)
            square, cosine = turn * turn, 0.0
            for t in range(len(SERIES)):
                cosine = fma(cosine, square, SERIES[t])
            feature[k] = cosine
        mean = _mean(feature, n)
        for k in range(n):
            feature[k] -= mean


@jit_reordered
def _multiply(A, B, triangle, out):
    """Write the products of the rows of A and of B to `out`, four rows and two at a time.

    `triangle`: only the products of row i and rows j <= i, B being A.
    """
    n, last_a, last_b = uint64(A.shape[1]), len(A) - 1, len(B) - 1
    for i in range(0, len(A), 4):
        i1 = i + 1 if i < last_a else last_a
        i2 = i + 2 if i + 1 < last_a else last_a
        i3 = i + 3 if i + 2 < last_a else last_a
        a0, a1, a2, a3 = A[i], A[i1], A[i2], A[i3]
        for j in range(0, i3 + 1 if triangle else len(B), 2):
            j1 = j + 1 if j < last_b else last_b
            b0, b1 = B[j], B[j1]
            s00, s10, s20, s30, s01, s11, s21, s31 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(n):
                s00 += a0[k] * b0[k]
                s10 += a1[k] * b0[k]
                s20 += a2[k] * b0[k]
                s30 += a3[k] * b0[k]
                s01 += a0[k] * b1[k]
                s11 += a1[k] * b1[k]
                s21 += a2[k] * b1[k]
                s31 += a3[k] * b1[k]
            out[i, j], out[i1, j], out[i2, j], out[i3, j] = s00, s10, s20, s30
            out[i, j1], out[i1, j1], out[i2, j1], out[i3, j1] = s01, s11, s21, s31


@jit_reordered
def _factorise(A):
    """Replace the lower triangle of a matrix, with the ridge, by its Cholesky factor."""
    for i in range(len(A)):
        A[i, i] += RIDGE * (A[i, i] if A[i, i] > 0.0 else 1.0)
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            A[i, j] = s / A[j, j] if j < i else math.sqrt(s)


@jit_reordered
def _solve(factor, b):
    """Solve the equations with this Cholesky factor, in place."""
    for i in range(len(b)):
        s = b[i]
        for k in range(i):
            s -= factor[i, k] * b[k]
        b[i] = s / factor[i, i]
    for i in range(len(b) - 1, -1, -1):
        b[i] /= factor[i, i]
        for k in range(i):
            b[k] -= factor[i, k] * b[i]


@jit_part
def _add_products(A, B, S):
    """Add A[k, i] B[k, j] to S[i, j] for each k, in ascending order of k; four columns and four rows at a time.

    A has a multiple of four columns.
    """
    n, width, columns = A.shape[0], A.shape[1], B.shape[1]
    for begin in range(0, n, DEPTH):
        end = begin + DEPTH if begin + DEPTH < n else n
        rest = end - (end - begin) % 4
        for i in range(0, width, 4):
            for k in range(begin, rest, 4):
                a00, a01, a02, a03 = A[k, i], A[k + 1, i], A[k + 2, i], A[k + 3, i]
                a10, a11, a12, a13 = A[k, i + 1], A[k + 1, i + 1], A[k + 2, i + 1], A[k + 3, i + 1]
                a20, a21, a22, a23 = A[k, i + 2], A[k + 1, i + 2], A[k + 2, i + 2], A[k + 3, i + 2]
                a30, a31, a32, a33 = A[k, i + 3], A[k + 1, i + 3], A[k + 2, i + 3], A[k + 3, i + 3]
                for j in range(columns):
                    b0, b1, b2, b3 = B[k, j], B[k + 1, j], B[k + 2, j], B[k + 3, j]
                    S[i, j] = fma(a03, b3, fma(a02, b2, fma(a01, b1, fma(a00, b0, S[i, j]))))
                    S[i + 1, j] = fma(a13, b3, fma(a12, b2, fma(a11, b1, fma(a10, b0, S[i + 1, j]))))
                    S[i + 2, j] = fma(a23, b3, fma(a22, b2, fma(a21, b1, fma(a20, b0, S[i + 2, j]))))
                    S[i + 3, j] = fma(a33, b3, fma(a32, b2, fma(a31, b1, fma(a30, b0, S[i + 3, j]))))
        for k in range(rest, end):
            for i in range(width):
                a = A[k, i]
                for j in range(columns):
                    S[i, j] = fma(a, B[k, j], S[i, j])


@jit_part
def _take_explained(data, tests, sets, s, rows, work):
    """Take from the first rows of ``work.left`` what the features of a set explain; find its factor if it is new."""
    map_set(data.values, tests.sets[sets.first + s], sets.weights[s], work.features)
    if sets.new[s]:
        _multiply(work.features, work.features, True, sets.factors[s])
        _factorise(sets.factors[s])
    _multiply(work.left[:rows], work.features, False, work.weights)
    for i in range(rows):
        _solve(sets.factors[s], work.weights[i])
    f, four = len(work.features), (rows + 3) // 4 * 4
    negative = work.negative[: f * four].reshape(f, four)
    for i in range(four):
        for a in range(f):
            negative[a, i] = -work.weights[i, a] if i < rows else 0.0
    _add_products(negative, work.features, work.left[:four])


@compiled
def multiply(data: Data, tests: Tests, sets: Sets, work: RcotWork, of_ends: Floats, of_squares: Floats) -> None:
    """Make the tests given some sets, and the Cholesky factors of the sets that are new.

    Written for each test: float64 (t, k, k), the products of the features that are left of x and of y; and (t, q, q),
    the same with products of two features in the place of single features.
    """
    k, q, n, left, squares = data.ends.shape[1], len(data.a), data.values.shape[1], work.left, work.squares
    for s in range(len(sets.new)):
        number = sets.first + s
        first, last = tests.first_end[number], tests.first_end[number + 1]
        for v in range(last - first):
            for i in range(k):
                for o in range(n):
                    left[v * k + i, o] = data.ends[tests.variable[first + v], i, o]
        if tests.sets.shape[1] > 0:
            _take_explained(data, tests, sets, s, k * (last - first), work)
        for i in range(q * (last - first)):
            v, j = i // q, i % q
            for o in range(n):
                squares[i, o] = left[v * k + data.a[j], o] * left[v * k + data.b[j], o]
        for t in range(tests.first_test[number], tests.first_test[number + 1]):
            x, y = tests.x[t] - first, tests.y[t] - first
            _multiply(left[x * k : x * k + k], left[y * k : y * k + k], False, of_ends[t])
            _multiply(squares[x * q : x * q + q], squares[y * q : y * q + q], False, of_squares[t])
