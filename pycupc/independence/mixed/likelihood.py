"""The statistic of `mixCItest`, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pycupc.independence.base import Floats, Indices
from pycupc.independence.discrete.strata import divided
from pycupc.independence.mixed.mix_ci_test import MORE, SINGULAR
from pycupc.system.jit import compiled, frozen, jit_inlined, jit_part


class Numbers(NamedTuple):
    """The columns, as compiled code takes them: values and codes, float64 (p, n) and int64 (p, n); levels int64 (p,).

    A column of numbers has 0 levels.
    """

    values: Floats
    codes: Indices
    levels: Indices


class _Work(NamedTuple):
    """Work space, d = l + 2 being the most variables."""

    members: Indices  # (3, d): the variables of a model, and in row 2 its numbers
    # group, place, counts: (n,), (n levels,), (n,): the configuration of each observation, space for `divided`, the
    # observations of each configuration.
    group: Indices
    place: Indices
    counts: Indices
    # mean, within, all_rows: (n, d), (n d, d), (d, d): of each configuration the means, and the sums of products about
    # them; these sums over all observations.
    mean: Floats
    within: Floats
    all_rows: Floats
    root: Floats  # (d, 2 d): a Cholesky factor and its inverse


@jit_part
def _factorised(A, first, scale, d, root):
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


@jit_inlined
def _trace(A, first, d, root):
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
def _divide(data, members, size, work):
    """Divide the observations into configurations; returns how many, and how many numbers `members` holds."""
    n, cells, d = data.values.shape[1], 1, 0
    for s in range(n):
        work.group[s] = 0
    for i in range(size):
        v = members[i]
        if data.levels[v] > 0:
            cells = divided(work.group, data.codes[v], n, cells, data.levels[v], work.place)
        else:
            work.members[2, d] = v
            d += 1
    return cells, d


@jit_part
def _average(data, cells, d, work):
    """Fill `counts` and `mean`."""
    group, counts, mean, numbers = work.group, work.counts, work.mean, work.members[2]
    for g in range(cells):
        counts[g] = 0
        for a in range(d):
            mean[g, a] = 0.0
    for s in range(data.values.shape[1]):
        counts[group[s]] += 1
        for a in range(d):
            mean[group[s], a] += data.values[numbers[a], s]
    for g in range(cells):
        for a in range(d):
            mean[g, a] /= counts[g]


@jit_part
def _add_products(data, cells, d, work):
    """Fill `within` and `all_rows`; the columns have mean 0."""
    within, mean, numbers = work.within, work.mean, work.members[2]
    for i in range(cells * d):
        for b in range(d):
            within[i, b] = 0.0
    for s in range(data.values.shape[1]):
        g = work.group[s]
        for a in range(d):
            da = data.values[numbers[a], s] - mean[g, a]
            for b in range(a + 1):
                within[g * d + a, b] += da * (data.values[numbers[b], s] - mean[g, b])
    for g in range(cells):
        for a in range(d):  # what the rounding of the mean leaves of a number that does not vary
            if within[g * d + a, a] <= work.counts[g] * (work.counts[g] * 2.0**-52 * mean[g, a]) ** 2:
                within[g * d + a, a] = 0.0
    for a in range(d):
        for b in range(a + 1):
            total = 0.0
            for g in range(cells):
                total += within[g * d + a, b] + work.counts[g] * mean[g, a] * mean[g, b]
            work.all_rows[a, b] = total


@jit_part
def _log_likelihood(data, members, size, work):
    """The largest log-likelihood of the variables ``members[:size]``; inf if a matrix is singular."""
    n, found = data.values.shape[1], 0.0
    cells, d = _divide(data, members, size, work)
    _average(data, cells, d, work)
    _add_products(data, cells, d, work)
    for g in range(cells):
        m = work.counts[g]
        own = m > d + MORE
        if own:
            log_determinant = _factorised(work.within, g * d, 1.0 / m, d, work.root)
        else:
            log_determinant = _factorised(work.all_rows, 0, 1.0 / n, d, work.root)
        if log_determinant == -math.inf:
            return math.inf
        found += m * math.log(m / n) - 0.5 * m * (d * math.log(2.0 * math.pi) + log_determinant)
        found -= 0.5 * (m * d if own else _trace(work.within, g * d, d, work.root))
    return found


@compiled
def _statistics(data, x, y, S, work, out):
    """Write the statistic of x[i] and y[i] given S[i]."""
    size = S.shape[1]
    for i in range(len(x)):
        members = work.members[0]
        for k in range(size):
            members[k + 1] = S[i, k]
        given = _log_likelihood(data, members[1:], size, work)
        members[0] = x[i]
        given -= _log_likelihood(data, members, size + 1, work)
        members[size + 1] = y[i]
        given += _log_likelihood(data, members, size + 2, work)
        given -= _log_likelihood(data, members[1:], size + 1, work)
        out[i] = 2.0 * given


def statistics(data: Numbers, x: Indices, y: Indices, S: Indices) -> Floats:
    """The statistic of x[i] and y[i] given S[i], float64 (m,); inf or NaN where covariance matrices are singular."""
    n, d, out = data.values.shape[1], S.shape[1] + 2, np.empty(len(x))
    most = int(data.levels.max(initial=1))
    integers = (np.empty(shape, dtype=np.int64) for shape in ((3, d), n, n * most, n))
    work = _Work(*integers, *map(np.empty, ((n, d), (n * d, d), (d, d), (d, 2 * d))))
    x, y, S = (np.ascontiguousarray(v, dtype=np.int64) for v in (x, y, S))
    _statistics(data._replace(values=frozen(data.values)), x, y, S, work, out)
    return out
