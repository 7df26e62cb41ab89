"""The log-likelihoods of conditional Gaussian models, compiled, from sums by configuration.

The observations of each configuration of some categories, and the means and products of the numbers in them, serve all
tests with these categories: they are computed once, and only the numbers of a test are looked up for it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.discrete.strata import divided
from pycupc.independence.mixed.likelihood import factorised, rounded_off, trace
from pycupc.independence.mixed.mix_ci_test import MORE
from pycupc.system.jit import compiled, frozen, jit_part

#: Bytes of sums that a test keeps; those that were not used for longest are forgotten.
KEPT = 1 << 28
#: Sets of up to this number of variables are compared as bits, larger ones as rows.
BITS = 62
#: Numbers up to which all products are summed at once.
FEW = 8
#: Models from which equal ones are looked for.
MANY = 32


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


class _Work(NamedTuple):
    """Work space, d being the number of numbers."""

    overall: Floats  # (M d, d + 1): of each table the products of deviations from its means; the means themselves last
    block: Floats  # (d, d): products in a group
    shared: Floats  # (d, d + 1): the covariances, and the means, that are common to all tables
    root: Floats  # (d, 2 d): a Cholesky factor and its inverse


@compiled
def _group(tables, members, group, place):
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
def _sort(group, counts, start, order):
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
def _fill(values, sums, a, b):
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
def _of_all_rows(sums, numbers, n, M, work):
    """Fill `overall`."""
    d, G = len(numbers), len(sums.counts)
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
def _own(sums, numbers, n, cell, m, M, work):
    """The log-density of a group at its own parameters, which are added to `shared`; inf if a matrix is singular."""
    d, g = len(numbers), cell * M + m
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
def _common(tables, sums, numbers, cell, present, work):
    """The log-density of the groups of a cell at the common parameters; inf if the matrix is singular."""
    d, M, total = len(numbers), tables.M, 0
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
def _log_likelihoods(tables, sums, sets, work, own, common):
    """Write the mean log-likelihood of the tables at their own, and at common parameters, of these numbers."""
    d, M = sets.shape[1], tables.M
    n, cells = len(sums.order) // M, len(sums.counts) // M
    for t in range(len(sets)):
        numbers = sets[t]
        _of_all_rows(sums, numbers, n, M, work)
        own[t], common[t] = 0.0, 0.0
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
                    own[t] += (count * share + _own(sums, numbers, n, cell, m, M, work)) / M
            if M > 1:
                shares /= M if tables.quirks else present
                common[t] += (total * shares + _common(tables, sums, numbers, cell, present, work)) / M


@cache
def _triangle(d: int) -> tuple[Indices, Indices]:
    """The places of the lower triangle of a d x d matrix."""
    i, j = np.tril_indices(d)
    return i.astype(np.int64), j.astype(np.int64)


class LogLikelihoods:
    """The log-likelihoods of sets of variables of M tables.

    `values` (M, n, p): numbers, and codes from 0 on where `levels` is positive. `quirks`: as of `mixMItest`.
    """

    def __init__(self, values: Floats, levels: Indices, *, quirks: bool = False) -> None:
        M, n, p = values.shape
        kinds, flat = levels > 0, values.reshape(M * n, p)
        numbers = flat[:, ~kinds]
        centre = np.where((numbers == numbers[:1]).all(axis=0), numbers[0], numbers.mean(axis=0))
        self.tables = Tables(
            frozen((numbers - centre).T), np.ascontiguousarray(flat[:, kinds].T.astype(np.int64)),
            levels[kinds], centre, M, quirks,
        )  # fmt: skip
        self._n_categories = c = int(kinds.sum())
        self._place = np.where(kinds, np.cumsum(kinds) - 1, c + np.cumsum(~kinds) - 1)  # categories first
        self._sums: dict[bytes, Sums] = {}
        self._bytes = 0

    def of(self, V: Indices) -> tuple[Floats, Floats]:
        """The mean log-likelihoods of sets of variables V int64 (m, k), at own and at common parameters, float64 (m,).

        inf where a matrix is singular. The second is 0 of one table.
        """
        if len(V) >= MANY and len(self._place) <= BITS:  # tests of a level share models
            _, first, again = np.unique((1 << V).sum(axis=1), return_index=True, return_inverse=True)
            own, common = self._of_each(V[first])
            return own[again], common[again]
        return self._of_each(V)

    def _of_each(self, V: Indices) -> tuple[Floats, Floats]:
        place, (own, common) = np.sort(self._place[V], axis=1), np.zeros((2, len(V)))
        for some in self._by_categories(place):
            members = place[some[0]]
            share = int(np.searchsorted(members, self._n_categories))
            sets = np.ascontiguousarray(place[some, share:] - self._n_categories)
            sums = self._filled(members[:share], sets)
            d, M, out = sets.shape[1], self.tables.M, np.empty((2, len(sets)))
            work = _Work(*map(np.empty, ((M * d, d + 1), (d, d), (d, d + 1), (d, 2 * d))))
            _log_likelihoods(self.tables, sums, sets, work, *out)
            own[some], common[some] = out
        return own, common

    def _by_categories(self, place: Indices) -> list[Indices]:
        """The rows of sets of variables that agree in their categories."""
        categories = np.where(place < self._n_categories, place, -1)
        if self._n_categories <= BITS:
            keys: NDArray[np.int64] = np.where(categories < 0, 0, 1 << np.maximum(categories, 0)).sum(axis=1)
            if (keys == keys[:1]).all():
                return [np.arange(len(place))] if len(place) else []
            _, key = np.unique(keys, return_inverse=True)
        else:
            _, key = np.unique(categories, axis=0, return_inverse=True)
        order = np.argsort(key.reshape(-1), kind="stable")
        return np.split(order, np.flatnonzero(np.diff(key.reshape(-1)[order])) + 1)

    def _filled(self, members: Indices, sets: Indices) -> Sums:
        """The sums by the configurations of these categories, with the products of all numbers of the sets."""
        sums = self._of_categories(members)
        if sums.filled.all():
            return sums
        i, j = _triangle(sets.shape[1])
        a, b = sets[:, i].ravel(), sets[:, j].ravel()
        pair = a * (a + 1) // 2 + b
        if not sums.filled[pair].all():
            new, first = np.unique(pair[~sums.filled[pair]], return_index=True)
            at = np.flatnonzero(~sums.filled[pair])[first]
            _fill(self.tables.values, sums, a[at], b[at])  # threads may do so together, and write the same
            sums.filled[new] = True
        return sums

    def _of_categories(self, members: Indices) -> Sums:
        key = members.tobytes()
        if (known := self._sums.get(key)) is not None:
            return known
        (q, N), M, levels = self.tables.values.shape, self.tables.M, self.tables.levels[members]
        group, order = np.empty((2, N), dtype=np.int64)
        cells = _group(self.tables, members, group, np.empty(N * int(levels.max(initial=1)), dtype=np.int64))
        counts, start = np.empty((2, cells * M), dtype=np.int64)
        _sort(group, counts, start, order)
        pairs = q * (q + 1) // 2
        made = Sums(counts, order, np.empty((q, cells * M)), np.empty((pairs, cells * M)), np.zeros(pairs, np.bool_))
        if q <= FEW:
            i, j = _triangle(q)
            _fill(self.tables.values, made, i, j)
            made.filled[:] = True
        size = sum(array.nbytes for array in made)
        while self._sums and self._bytes + size > KEPT:
            forgotten = self._sums.pop(next(iter(self._sums)), None)
            self._bytes -= 0 if forgotten is None else sum(array.nbytes for array in forgotten)
        self._sums[key] = made
        self._bytes += size
        return made
