"""The log-likelihoods of conditional Gaussian models, compiled, from sums by configuration.

The observations of each configuration of some categories, and the means and products of the numbers in them, serve all
models with these categories: they are computed once, and only the numbers of a model are looked up for it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pycupc.independence.base import Floats, Indices
from pycupc.independence.discrete.strata import divided
from pycupc.independence.mixed.likelihood import factorised, rounded_off, trace
from pycupc.independence.mixed.mix_ci_test import MORE
from pycupc.system.jit import jit_inlined, jit_part


class Tables(NamedTuple):
    """M tables of n observations, one after the other: N = M n. Few arrays compile faster."""

    values: Floats  # (q, N): the numbers less their centre
    codes: Indices  # (c, N): the categories
    # (4, p): the place of each variable among the categories and then the numbers; its levels that count for degrees of
    # freedom, 0 for numbers; whether it is constant; and of the categories, by their place, the levels.
    facts: Indices
    centre: Floats  # (q,)
    M: int
    n_categories: int
    quirks: bool  # as of `mixMItest`
    whole: bool  # whether the products of all numbers are summed together


#: The rows of `Tables.facts`.
PLACE, COUNTED, CONSTANT, LEVELS = range(4)


class Block(NamedTuple):
    """Sums over the observations of each configuration of some categories, in one table: a group, cell times M + table.

    Among the integers are G, the number of groups; the observations of each group (G,); the observations group by group
    (N,); and by pair of numbers, which products are there. Among the floats are the means (r, G), and the products of
    the deviations from the means of the group (r (r + 1) / 2, G), of numbers a >= b in row a (a + 1) / 2 + b. These r
    numbers are all, or those of one model, renumbered.
    """

    integers: Indices
    floats: Floats
    counts: int  # where the observations of each group are among the integers
    order: int
    filled: int
    means: int  # where the means are among the floats
    products: int
    G: int


class Space(NamedTuple):
    """Work space of a thread, for tests of k variables."""

    group: Indices  # (N,): the group of each observation
    place: Indices  # for `divided`, and the next observation of each group
    # ((2 + M) k, k + 1): products in a group; the covariances that are common to all tables, and the means; and of each
    # table the products of deviations from its means, and the means themselves in column k.
    matrices: Floats
    root: Floats  # (k, 2 k): a Cholesky factor and its inverse
    # integers, floats: a block of the numbers of one model, if it is not kept.
    integers: Indices
    floats: Floats
    # (6, k or more): the places of a test's variables, which ascend; the categories of a model; its numbers; 0, 1, 2,
    # and so on; the key of the model; the key of its categories.
    lists: Indices


#: The rows of `Space.lists`.
NODES, CATEGORIES, NUMBERS, EACH, MODEL, GROUPS = range(6)


@jit_part
def grouped(tables, size, space):
    """Write the group of each observation by the categories of a model; returns the number of groups."""
    group, cells, N = space.group, 1, len(space.group)
    n = N // tables.M
    for s in range(N):
        group[s] = 0
    for i in range(size):
        v = space.lists[CATEGORIES, i]
        cells = divided(group, tables.codes[v], N, cells, tables.facts[LEVELS, v], space.place)
    for s in range(N if tables.M > 1 else 0):
        group[s] = group[s] * tables.M + s // n
    return cells * tables.M


@jit_inlined
def block_at(integers, floats, at, start, G, N, r):
    """The block of G groups at these places, with room for r numbers."""
    return Block(integers, floats, at + 1, at + 1 + G, at + 1 + G + N, start, start + r * G, G)


@jit_part
def in_groups(block, r, space):
    """Write the observations in the order of their groups; no products of r numbers are there."""
    integers, group, start = block.integers, space.group, space.place
    integers[block.counts - 1] = block.G
    for g in range(block.G):
        integers[block.counts + g] = 0
    for s in range(len(group)):
        integers[block.counts + group[s]] += 1
    total = block.order
    for g in range(block.G):
        start[g] = total
        total += integers[block.counts + g]
    for s in range(len(group)):
        integers[start[group[s]]] = s
        start[group[s]] += 1
    for pair in range(r * (r + 1) // 2):
        integers[block.filled + pair] = 0


@jit_inlined
def _product(block, numbers, i, j):
    """Where the products of two of these numbers, i >= j, which ascend, begin."""
    return block.products + (numbers[i] * (numbers[i] + 1) // 2 + numbers[j]) * block.G


@jit_inlined
def _up_to(i, most):
    return i if i < most else most


@jit_part
def fill_means(values, block, numbers, members, j, d):
    """Write the means of the j-th of d numbers of a model and the three after it.

    Four sums at a time: the processor adds the next number to a sum only when it has added the number before.
    """
    integers, floats, G = block.integers, block.floats, block.G
    j1, j2, j3 = _up_to(j + 1, d - 1), _up_to(j + 2, d - 1), _up_to(j + 3, d - 1)
    a0, a1, a2, a3, end = members[j], members[j1], members[j2], members[j3], block.order
    for g in range(G):
        count, t0, t1, t2, t3 = integers[block.counts + g], 0.0, 0.0, 0.0, 0.0
        begin, end = end, end + count
        for s in range(begin, end):
            row = integers[s]
            t0 += values[a0, row]
            t1 += values[a1, row]
            t2 += values[a2, row]
            t3 += values[a3, row]
        divisor, at = max(count, 1), block.means + g
        floats[at + numbers[j] * G], floats[at + numbers[j1] * G] = t0 / divisor, t1 / divisor
        floats[at + numbers[j2] * G], floats[at + numbers[j3] * G] = t2 / divisor, t3 / divisor


@jit_part
def fill_products(values, block, numbers, members, i, j):
    """Write the products of the i-th number of a model with the j-th, j <= i, and the three after that, up to i."""
    integers, floats, G = block.integers, block.floats, block.G
    j1, j2, j3 = _up_to(j + 1, i), _up_to(j + 2, i), _up_to(j + 3, i)
    a, a0, a1, a2, a3 = members[i], members[j], members[j1], members[j2], members[j3]
    end = block.order
    for g in range(G):
        at, first = block.means + g, block.means + g + numbers[i] * G
        m, m0, m1 = floats[first], floats[at + numbers[j] * G], floats[at + numbers[j1] * G]
        m2, m3 = floats[at + numbers[j2] * G], floats[at + numbers[j3] * G]
        count, t0, t1, t2, t3 = integers[block.counts + g], 0.0, 0.0, 0.0, 0.0
        begin, end = end, end + count
        for s in range(begin, end):
            row = integers[s]
            v = values[a, row] - m
            t0 += v * (values[a0, row] - m0)
            t1 += v * (values[a1, row] - m1)
            t2 += v * (values[a2, row] - m2)
            t3 += v * (values[a3, row] - m3)
        if j < i:
            floats[_product(block, numbers, i, j) + g] = t0
        if j1 < i:
            floats[_product(block, numbers, i, j1) + g] = t1
        if j2 < i:
            floats[_product(block, numbers, i, j2) + g] = t2
        floats[_product(block, numbers, i, j3) + g] = 0.0 if j3 == i and rounded_off(t3, count, m) else t3


@jit_part
def _of_all_rows(block, numbers, d, n, M, A):
    """Write of each table the products of deviations from its means, and the means."""
    G, integers, floats, k = block.G, block.integers, block.floats, A.shape[1] - 1
    for m in range(M):
        first = (2 + m) * k
        for i in range(d):
            total, a = 0.0, block.means + numbers[i] * G
            for g in range(m, G, M):
                total += integers[block.counts + g] * floats[a + g]
            A[first + i, k] = total / n
        for i in range(d):
            a, mean_a = block.means + numbers[i] * G, A[first + i, k]
            for j in range(i + 1):
                b, mean_b, total = block.means + numbers[j] * G, A[first + j, k], 0.0
                at = _product(block, numbers, i, j)
                for g in range(m, G, M):
                    count = integers[block.counts + g]
                    total += floats[at + g] + count * (floats[a + g] - mean_a) * (floats[b + g] - mean_b)
                A[first + i, j] = total


@jit_part
def _own(block, numbers, d, n, g, M, A, root):
    """The log-density of a group at its own parameters, added to the common ones; inf if a matrix is singular."""
    count, k = block.integers[block.counts + g], A.shape[1] - 1
    first = (2 + g % M) * k
    for i in range(d):
        for j in range(i + 1):
            A[i, j] = block.floats[_product(block, numbers, i, j) + g]
    own = count > d + MORE
    log_determinant = factorised(A, 0 if own else first, 1.0 / (count if own else n), d, root)
    if M > 1:
        for i in range(d):
            A[k + i, k] += block.floats[block.means + numbers[i] * block.G + g]
            for j in range(i + 1):
                A[k + i, j] += A[i, j] / count if own else A[first + i, j] / n
    if log_determinant == -math.inf:
        return math.inf
    within = count * d if own else trace(A, 0, d, root)
    return -0.5 * (count * (d * math.log(2.0 * math.pi) + log_determinant) + within)


@jit_part
def _common(tables, block, members, numbers, d, cell, present, A, root):  # noqa: PLR0913 - compiled code
    """The log-density of the groups of a cell at the common parameters; inf if the matrix is singular."""
    M, total, k = tables.M, 0, A.shape[1] - 1
    of_all = M if tables.quirks else present
    for i in range(d):
        A[k + i, k] = (A[k + i, k] - (of_all - present) * tables.centre[members[i]]) / of_all
        for j in range(i + 1):
            A[k + i, j] /= of_all
            A[i, j] = 0.0
    log_determinant = factorised(A, k, 1.0, d, root)
    if log_determinant == -math.inf:
        return math.inf
    for g in range(cell * M, cell * M + M):
        count = block.integers[block.counts + g]
        total += count
        for i in range(d if count > 0 else 0):
            da = block.floats[block.means + numbers[i] * block.G + g] - A[k + i, k]
            for j in range(i + 1):
                db = block.floats[block.means + numbers[j] * block.G + g] - A[k + j, k]
                A[i, j] += block.floats[_product(block, numbers, i, j) + g] + count * da * db
    return -0.5 * (total * (d * math.log(2.0 * math.pi) + log_determinant) + trace(A, 0, d, root))


@jit_part
def log_likelihoods(tables, block, numbers, d, space):
    """The mean log-likelihood of the tables at own, and at common parameters, of a model of d numbers.

    `numbers`: the numbers of the model in the block.
    """
    M, at_own, at_common, A, root = tables.M, 0.0, 0.0, space.matrices, space.root
    n, k = len(space.group) // M, A.shape[1] - 1
    _of_all_rows(block, numbers, d, n, M, A)
    for cell in range(block.G // M):
        present, total, shares = 0, 0, 0.0
        for i in range(d if M > 1 else 0):
            for j in range(k + 1):
                A[k + i, j] = 0.0
        for g in range(cell * M, cell * M + M):
            count = block.integers[block.counts + g]
            if count > 0:
                share = math.log(count / n)
                present, total, shares = present + 1, total + count, shares + share
                at_own += (count * share + _own(block, numbers, d, n, g, M, A, root)) / M
        if M > 1:
            shares /= M if tables.quirks else present
            common = _common(tables, block, space.lists[NUMBERS], numbers, d, cell, present, A, root)
            at_common += (total * shares + common) / M
    return at_own, at_common
