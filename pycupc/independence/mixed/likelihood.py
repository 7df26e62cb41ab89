"""The statistic of `mixCItwd`, compiled: each test has the rows in which its variables are complete."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.independence.discrete.strata import divided
from pycupc.independence.mixed.mix_ci_test import MORE, SINGULAR
from pycupc.system.jit import compiled, frozen, jit_inlined, jit_part


class Columns(NamedTuple):
    """The columns of a table with gaps, as compiled code takes them: the values float64 (p, n), NaN where missing.

    `levels`, int64 (p,): how many categories a column has, 0 for numbers.
    """

    values: Floats
    levels: Indices


class Numbers(NamedTuple):
    """The columns in pickles of tests of 0.2.0, which do without them."""

    values: Floats
    codes: Indices
    levels: Indices


class _Work(NamedTuple):
    """Work space, k = l + 2 being the most variables, d the numbers among them."""

    # numbers, codes: (k, n): the variables of a test, in its complete rows; the numbers less their mean.
    numbers: Floats
    codes: Indices
    levels: Indices  # (k,): of the variables of a test
    members: Indices  # (3, k): the variables of a model, and in row 2 its numbers
    # group, place, counts: (n,), (n levels,), (n,): the configuration of each observation, space for `divided`, the
    # observations of each configuration.
    group: Indices
    place: Indices
    counts: Indices
    # mean, within, all_rows: (n, k), (n k, k), (k, k): of each configuration the means, and the sums of products about
    # them; these sums over all observations.
    mean: Floats
    within: Floats
    all_rows: Floats
    root: Floats  # (k, 2 k): a Cholesky factor and its inverse


@jit_inlined
def rounded_off(total, count, mean):
    """Whether a sum of squared deviations is no more than the rounding of the mean leaves of a constant."""
    return total <= count * (count * 2.0**-52 * mean) ** 2


@jit_part
def factorised(A, first, scale, d, root):
    """Write the Cholesky factor of ``A[first:first + d] * scale``; returns the log-determinant, -inf if singular."""
    total = 0.0
    for i in range(d):
        for j in range(i + 1):
            s = A[first + i, j] * scale
            for k in range(j):
                s -= root[i, k] * root[j, k]
            if i > j:
                root[i, j] = s / root[j, j]
            else:
                if not s > SINGULAR * A[first + i, i] * scale:
                    return -math.inf
                root[i, i] = math.sqrt(s)
                total += math.log(s)
    return total


@jit_part
def trace(A, first, d, root):
    """The trace of A's block at `first` times the inverse of the factorised matrix."""
    total = 0.0
    for c in range(d):  # e_c solved forwards: row c of the inverse factor, and so on
        for i in range(c, d):
            s = 1.0 if i == c else 0.0
            for k in range(c, i):
                s -= root[i, k] * root[k, d + c]
            root[i, d + c] = s / root[i, i]
    for i in range(d):  # sum over (L^-1 A L^-T)_ii
        for a in range(i + 1):
            for b in range(i + 1):
                element = A[first + a, b] if a >= b else A[first + b, a]
                total += root[i, d + a] * element * root[i, d + b]
    return total


@jit_part
def _keep_complete(data, nodes, work):
    """Write `numbers`, `codes` and `levels`; returns the number of complete rows."""
    n, m = data.values.shape[1], 0
    for s in range(n):
        whole = True
        for i in range(len(nodes)):
            value = data.values[nodes[i], s]
            whole = whole and value == value
            work.numbers[i, m] = value
        m += whole
    for i in range(len(nodes)):
        work.levels[i] = data.levels[nodes[i]]
        mean, numbers = 0.0, work.numbers[i]
        if work.levels[i] > 0:
            for s in range(m):
                work.codes[i, s] = int(numbers[s])
        else:
            for s in range(m):
                mean += (numbers[s] - numbers[0]) / m
            first = numbers[0]
            for s in range(m):
                numbers[s] = (numbers[s] - first) - mean
    return m


@jit_part
def _occurring(codes, m, levels, place):
    """How many codes occur in m rows."""
    found = 0
    for k in range(levels):
        place[k] = 0
    for s in range(m):
        found += 1 - place[codes[s]]
        place[codes[s]] = 1
    return found


@jit_part
def _varies(values, m):
    """Whether m values differ."""
    s = 1
    while s < m and values[s] == values[0]:
        s += 1
    return s < m


@jit_part
def _divide(members, size, n, work):
    """Divide the observations into configurations; returns how many, and how many numbers `members` holds."""
    cells, d = 1, 0
    for s in range(n):
        work.group[s] = 0
    for i in range(size):
        v = members[i]
        if work.levels[v] > 0:
            cells = divided(work.group, work.codes[v], n, cells, work.levels[v], work.place)
        else:
            work.members[2, d] = v
            d += 1
    return cells, d


@jit_part
def _average(n, cells, d, work):
    """Fill `counts` and `mean`."""
    group, counts, mean, numbers = work.group, work.counts, work.mean, work.members[2]
    for g in range(cells):
        counts[g] = 0
        for a in range(d):
            mean[g, a] = 0.0
    for s in range(n):
        counts[group[s]] += 1
        for a in range(d):
            mean[group[s], a] += work.numbers[numbers[a], s]
    for g in range(cells):
        for a in range(d):
            mean[g, a] /= counts[g]


@jit_part
def _add_products(n, cells, d, work):
    """Fill `within` and `all_rows`; the columns have mean 0."""
    within, mean, numbers = work.within, work.mean, work.members[2]
    for i in range(cells * d):
        for b in range(d):
            within[i, b] = 0.0
    for s in range(n):
        g = work.group[s]
        for a in range(d):
            da = work.numbers[numbers[a], s] - mean[g, a]
            for b in range(a + 1):
                within[g * d + a, b] += da * (work.numbers[numbers[b], s] - mean[g, b])
    for g in range(cells):
        for a in range(d):
            if rounded_off(within[g * d + a, a], work.counts[g], mean[g, a]):
                within[g * d + a, a] = 0.0
    for a in range(d):
        for b in range(a + 1):
            total = 0.0
            for g in range(cells):
                total += within[g * d + a, b] + work.counts[g] * mean[g, a] * mean[g, b]
            work.all_rows[a, b] = total


@jit_part
def _log_likelihood(members, size, n, work):
    """The largest log-likelihood of the variables ``members[:size]``; inf if a matrix is singular."""
    found = 0.0
    cells, d = _divide(members, size, n, work)
    _average(n, cells, d, work)
    _add_products(n, cells, d, work)
    for g in range(cells):
        m = work.counts[g]
        own = m > d + MORE
        if own:
            log_determinant = factorised(work.within, g * d, 1.0 / m, d, work.root)
        else:
            log_determinant = factorised(work.all_rows, 0, 1.0 / n, d, work.root)
        if log_determinant == -math.inf:
            return math.inf
        found += m * math.log(m / n) - 0.5 * m * (d * math.log(2.0 * math.pi) + log_determinant)
        found -= 0.5 * (m * d if own else trace(work.within, g * d, d, work.root))
    return found


@compiled
def _statistics(data, nodes, work, complete, levels, out):
    """Write of each test the complete rows, the levels that occur in them, and the statistic."""
    k = nodes.shape[1]
    members = work.members[0]
    for t in range(len(nodes)):
        n = _keep_complete(data, nodes[t], work)
        complete[t], out[t] = n, 0.0
        for i in range(k):
            members[i] = i
            levels[t, i] = _occurring(work.codes[i], n, work.levels[i], work.place) if work.levels[i] > 0 else 0
        vary = True
        for i in range(2):
            vary = vary and (levels[t, i] > 1 if work.levels[i] > 0 else _varies(work.numbers[i], n))
        if n < 2 or not vary:
            continue
        found = _log_likelihood(members, k, n, work) - _log_likelihood(members[1:], k - 1, n, work)
        found += _log_likelihood(members[2:], k - 2, n, work)
        members[1] = 0
        out[t] = 2.0 * (found - _log_likelihood(members[1:], k - 1, n, work))


def statistics(data: Columns, nodes: Indices) -> tuple[Indices, Indices, Floats]:
    """Of tests of x, y and S in a row (m, k): the complete rows, the levels that occur in them, and the statistic.

    int64 (m,), int64 (m, k), float64 (m,); the levels of numbers are 0. The statistic is 0 if x or y has one value, and
    inf or NaN where covariance matrices are singular.
    """
    n, (m, k) = data.values.shape[1], nodes.shape
    most = int(data.levels.max(initial=1))
    integers = [np.empty(shape, dtype=np.int64) for shape in ((k, n + 1), k, (3, k), n, (n + 1) * most, n)]
    work = _Work(np.empty((k, n + 1)), *integers, *map(np.empty, ((n, k), (n * k, k), (k, k), (k, 2 * k))))
    complete, levels, out = np.empty(m, dtype=np.int64), np.empty((m, k), dtype=np.int64), np.empty(m)
    _statistics(data._replace(values=frozen(data.values)), np.ascontiguousarray(nodes), work, complete, levels, out)
    return complete, levels, out
