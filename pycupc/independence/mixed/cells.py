"""The log-likelihoods of conditional Gaussian models, compiled, from sums by configuration.

The observations of each configuration of some categories, and the means and products of the numbers in them, serve all
models with these categories: they are computed once, and only the numbers of a model are looked up for it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.discrete.strata import divided
from pycupc.independence.mixed.likelihood import factorised, rounded_off, trace
from pycupc.independence.mixed.mix_ci_test import MORE
from pycupc.system.jit import compiled, jit_part


class Tables(NamedTuple):
    """M tables of n observations, one after the other: N = M n."""

    values: Floats  # (q, N): the numbers less `centre`
    codes: Indices  # (c, N): the categories
    levels: Indices  # (c,)
    centre: Floats  # (q,)
    M: int
    quirks: bool  # as of `mixMItest`


class Sums(NamedTuple):
    """Sums over the observations of a configuration of some categories, in one table: a group, cell times M + table.

    Means and products are there where `filled`: of numbers a >= b at a (a + 1) / 2 + b.
    """

    counts: Indices  # (G,)
    order: Indices  # (N,): the observations, group by group
    mean: Floats  # (q, G)
    products: Floats  # (q (q + 1) / 2, G): of the deviations from the means of the group
    filled: Mask  # (q (q + 1) / 2,)


class Work(NamedTuple):
    """Work space, d being the number of numbers."""

    overall: Floats  # (M d, d + 1): of each table the products of deviations from its means; the means themselves last
    block: Floats  # (d, d): products in a group
    shared: Floats  # (d, d + 1): the covariances, and the means, that are common to all tables
    root: Floats  # (d, 2 d): a Cholesky factor and its inverse


@compiled
def grouped(tables, members, group, place):
    """Write the group of each observation; returns the number of configurations."""
    N, cells = len(group), 1
    n = N // tables.M
    for s in range(N):
        group[s] = 0
    for i in range(len(members)):
        cells = divided(group, tables.codes[members[i]], N, cells, tables.levels[members[i]], place)
    for s in range(N):
        group[s] = group[s] * tables.M + s // n
    return cells


@compiled
def in_groups(group, counts, start, order):
    """Write the observations in the order of their groups."""
    for g in range(len(counts)):
        counts[g] = 0
    for s in range(len(group)):
        counts[group[s]] += 1
    start[0] = 0
    for g in range(len(counts) - 1):
        start[g + 1] = start[g] + counts[g]
    for s in range(len(group)):
        order[start[group[s]]] = s
        start[group[s]] += 1


@compiled
def fill(values, sums, a, b):
    """Write the means of a[i], where a[i] = b[i], then the products of a[i] and b[i]; a >= b."""
    for i in range(len(a)):
        if a[i] == b[i]:
            end = 0
            for g in range(len(sums.counts)):
                begin, end, total = end, end + sums.counts[g], 0.0
                for s in range(begin, end):
                    total += values[a[i], sums.order[s]]
                sums.mean[a[i], g] = total / sums.counts[g] if end > begin else 0.0
    for i in range(len(a)):
        end, out, first, second = 0, a[i] * (a[i] + 1) // 2 + b[i], sums.mean[a[i]], sums.mean[b[i]]
        for g in range(len(sums.counts)):
            begin, end, total, at, other = end, end + sums.counts[g], 0.0, first[g], second[g]
            for s in range(begin, end):
                total += (values[a[i], sums.order[s]] - at) * (values[b[i], sums.order[s]] - other)
            if a[i] == b[i] and rounded_off(total, sums.counts[g], at):
                total = 0.0
            sums.products[out, g] = total


@jit_part
def _pair(numbers, i, j):
    """The place of the products of two of these numbers, i >= j, which ascend."""
    return numbers[i] * (numbers[i] + 1) // 2 + numbers[j]


@jit_part
def _of_all_rows(sums, numbers, d, n, M, work):
    """Fill `overall`."""
    G = len(sums.counts)
    for m in range(M):
        for i in range(d):
            total = 0.0
            for g in range(m, G, M):
                total += sums.counts[g] * sums.mean[numbers[i], g]
            work.overall[m * d + i, d] = total / n
        for i in range(d):
            a, mean_a = sums.mean[numbers[i]], work.overall[m * d + i, d]
            for j in range(i + 1):
                b, mean_b, total = sums.mean[numbers[j]], work.overall[m * d + j, d], 0.0
                at = sums.products[_pair(numbers, i, j)]
                for g in range(m, G, M):
                    total += at[g] + sums.counts[g] * (a[g] - mean_a) * (b[g] - mean_b)
                work.overall[m * d + i, j] = total


@jit_part
def _own(sums, numbers, d, n, cell, m, M, work):
    """The log-density of a group at its own parameters, which are added to `shared`; inf if a matrix is singular."""
    g = cell * M + m
    count = sums.counts[g]
    for i in range(d):
        for j in range(i + 1):
            work.block[i, j] = sums.products[_pair(numbers, i, j), g]
    own = count > d + MORE
    if own:
        log_determinant = factorised(work.block, 0, 1.0 / count, d, work.root)
    else:
        log_determinant = factorised(work.overall, m * d, 1.0 / n, d, work.root)
    if M > 1:
        for i in range(d):
            work.shared[i, d] += sums.mean[numbers[i], g]
            for j in range(i + 1):
                work.shared[i, j] += work.block[i, j] / count if own else work.overall[m * d + i, j] / n
    if log_determinant == -math.inf:
        return math.inf
    within = count * d if own else trace(work.block, 0, d, work.root)
    return -0.5 * (count * (d * math.log(2.0 * math.pi) + log_determinant) + within)


@jit_part
def _common(tables, sums, numbers, d, cell, present, work):
    """The log-density of the groups of a cell at the common parameters; inf if the matrix is singular."""
    M, total = tables.M, 0
    of_all = M if tables.quirks else present
    for i in range(d):
        work.shared[i, d] = (work.shared[i, d] - (of_all - present) * tables.centre[numbers[i]]) / of_all
        for j in range(i + 1):
            work.shared[i, j] /= of_all
            work.block[i, j] = 0.0
    log_determinant = factorised(work.shared, 0, 1.0, d, work.root)
    if log_determinant == -math.inf:
        return math.inf
    for g in range(cell * M, cell * M + M):
        count = sums.counts[g]
        total += count
        for i in range(d if count > 0 else 0):
            da = sums.mean[numbers[i], g] - work.shared[i, d]
            for j in range(i + 1):
                db = sums.mean[numbers[j], g] - work.shared[j, d]
                work.block[i, j] += sums.products[_pair(numbers, i, j), g] + count * da * db
    return -0.5 * (total * (d * math.log(2.0 * math.pi) + log_determinant) + trace(work.block, 0, d, work.root))


@compiled
def log_likelihoods(tables, sums, asked, some, work, found):
    """Write the mean log-likelihood of the tables at own, and at common parameters, of some models asked for."""
    M = tables.M
    n, cells = len(sums.order) // M, len(sums.counts) // M
    for t in some:
        numbers, d = asked.numbers[t], asked.sizes[t]
        _of_all_rows(sums, numbers, d, n, M, work)
        found[t, 0], found[t, 1] = 0.0, 0.0
        for cell in range(cells):
            present, total, shares = 0, 0, 0.0
            for i in range(d):
                for j in range(d + 1):
                    work.shared[i, j] = 0.0
            for m in range(M):
                count = sums.counts[cell * M + m]
                if count > 0:
                    share = math.log(count / n)
                    present, total, shares = present + 1, total + count, shares + share
                    found[t, 0] += (count * share + _own(sums, numbers, d, n, cell, m, M, work)) / M
            if M > 1:
                shares /= M if tables.quirks else present
                found[t, 1] += (total * shares + _common(tables, sums, numbers, d, cell, present, work)) / M


@compiled
def unfilled(sums, asked, some, listed, a, b):
    """Write the pairs of numbers a >= b of some models whose products are not summed yet; returns how many."""
    made = 0
    for t in some:
        for i in range(asked.sizes[t]):
            for j in range(i + 1):
                pair = _pair(asked.numbers[t], i, j)
                if not sums.filled[pair] and not listed[pair]:
                    listed[pair] = True
                    a[made], b[made] = asked.numbers[t, i], asked.numbers[t, j]
                    made += 1
    return made
