"""The loops of `factors` and `test`, compiled."""

from __future__ import annotations

import math

from pycupc.independence.base import Floats
from pycupc.independence.gaussian.blocked_products import fma
from pycupc.system.jit import compiled, jit_part, jit_reordered


@jit_part
def _squared_distances(values, at, row):
    """Write the squared distances of one observation of values (d, n) from all to `row`, float64 (n,)."""
    n = values.shape[1]
    for j in range(n):
        row[j] = 0.0
    for k in range(len(values)):
        value = values[k]
        here = value[at]
        for j in range(n):
            difference = value[j] - here
            row[j] += difference * difference


@compiled
def fill_exponents(values: Floats, out: Floats) -> None:
    """Write minus half the squared distances of values (d, n) to `out` (n, n)."""
    n = values.shape[1]
    for i in range(n):
        row = out[i]
        _squared_distances(values, i, row)
        for j in range(n):
            row[j] *= -0.5


@jit_part
def _kernel_row(values, pivot, row):
    """Write the kernel of one observation with all others."""
    _squared_distances(values, pivot, row)
    for j in range(len(row)):
        row[j] = math.exp(-0.5 * row[j])


@jit_part
def _take_products(G, rank, pivot, row):
    """Take from a row the products of a column of the factor with all others; four rows of the factor at a time."""
    n, whole = G.shape[1], rank - rank % 4
    for k in range(0, whole, 4):
        a, b, c, e = -G[k, pivot], -G[k + 1, pivot], -G[k + 2, pivot], -G[k + 3, pivot]
        g0, g1, g2, g3 = G[k], G[k + 1], G[k + 2], G[k + 3]
        for j in range(n):
            row[j] = fma(e, g3[j], fma(c, g2[j], fma(b, g1[j], fma(a, g0[j], row[j]))))
    for k in range(whole, rank):
        a, g0 = -G[k, pivot], G[k]
        for j in range(n):
            row[j] = fma(a, g0[j], row[j])


@compiled
def factorise(values: Floats, tol: float, G: Floats, rest: Floats, rank: int) -> int:
    """Add rows to a factor G (room, n) of the kernel of values (d, n); returns how many it has then.

    `rest` (n,): the diagonal of the kernel less G'G; the factor is finished once no number in it exceeds `tol`. It has
    `rank` rows before.
    """
    n = values.shape[1]
    while rank < len(G):
        pivot = 0
        for j in range(n):
            if rest[j] > rest[pivot]:
                pivot = j
        if not rest[pivot] > tol:
            break
        row = G[rank]
        _kernel_row(values, pivot, row)
        _take_products(G, rank, pivot, row)
        scale = 1.0 / math.sqrt(rest[pivot])
        for j in range(n):
            row[j] *= scale
            rest[j] -= row[j] * row[j]
        rest[pivot] = 0.0
        rank += 1
    return rank


@compiled
def weigh(A: Floats, first: int) -> None:
    """Square the elements of rows `first` and so on of a symmetric matrix up to the diagonal, A (m, first + m); those
    below the diagonal count twice, those above it not at all."""
    for i in range(len(A)):
        row, within = A[i], first + i
        for j in range(A.shape[1]):
            row[j] *= row[j] * (2.0 if j < within else 1.0 if j == within else 0.0)


@compiled
def weighted_squares(weights: Floats, values: Floats) -> float:
    """The sum of the squares of `values`, with weights of the same shape."""
    total = 0.0
    for i in range(len(weights)):
        total += _weighted(weights[i], values[i], weights.shape[1])
    return total


@jit_reordered
def _weighted(weights, values, n):
    total = 0.0
    for j in range(n):
        total += weights[j] * values[j] * values[j]
    return total
