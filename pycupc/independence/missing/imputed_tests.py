"""Tests of multiply imputed data, compiled: the statistics of M data sets, which `reference_tests` pools
(docs/contracts/missing.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.discrete.strata import divided
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set, nodes_of
from pycupc.independence.gaussian.tolerances import EXACT_PIVOT, R_MAX
from pycupc.independence.missing.reference_tests import pooled_g2, pooled_z
from pycupc.system.jit import compiled, jit_part

#: Most cells of the tables of one test: 1 GB of counts.
MOST_CELLS = 1 << 26


class Stack(NamedTuple):
    """The correlations of M imputations: `of_each`, float64 (M, p, p), and the same in the order of (p, p, M)."""

    of_each: Floats
    across: Floats


class ImputedWork(NamedTuple):
    """Work space of a thread."""

    A: Floats  # (l + 2, l + 2, M): the lower triangles of the correlation matrices of the set, x and y
    lowest: Floats  # (M,): the smallest pivot
    space: Floats  # `canonical_space`


@jit_part
def _eliminate(size, work, z):
    """Condition on the set, in all matrices at a time; `z` has the reciprocals of the pivots meanwhile."""
    A, lowest, M = work.A, work.lowest, len(z)
    for m in range(M):
        lowest[m] = 1.0
    for k in range(size):
        for m in range(M):
            pivot = A[k, k, m]
            lowest[m] = pivot if not pivot > lowest[m] else lowest[m]
            z[m] = 1.0 / pivot
        for i in range(k + 1, size + 2):
            for j in range(k + 1, i + 1):
                for m in range(M):
                    A[i, j, m] -= A[i, k, m] * A[j, k, m] * z[m]


@compiled
def _gaussian_tests(stack, nodes, work, z, careful):
    """Write Fisher's z of the tests of `nodes`; returns how many need `careful_address`, which is 0 then."""
    A, M, size, wanted = work.A, len(work.lowest), nodes.shape[1] - 2, 0
    for t in range(len(nodes)):
        for i in range(size + 2):
            for j in range(i + 1):
                for m in range(M):
                    A[i, j, m] = stack.across[nodes[t, i], nodes[t, j], m] if i > j else 1.0
        _eliminate(size, work, z[t])
        for m in range(M):
            vx, vy, cov = A[size, size, m], A[size + 1, size + 1, m], A[size + 1, size, m]
            least = EXACT_PIVOT * vx * vy
            r = cov / math.sqrt(vx * vy)
            sound = work.lowest[m] > EXACT_PIVOT and vx > EXACT_PIVOT and vy > EXACT_PIVOT
            if not (sound and vx * vy - cov * cov > least):
                r = given_set(stack.of_each[m], nodes[t], size, work.space, careful)
                wanted += r != r
            r = R_MAX if r > R_MAX else -R_MAX if r < -R_MAX else r
            z[t, m] = 0.5 * math.log1p(2.0 * r / (1.0 - r))
    return wanted


def gaussian_p(stack: Stack, n: float, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `gaussMItest` of x[i] and y[i] given sets[i], float64 (k,)."""
    M, size, nodes = len(stack.of_each), sets.shape[1], nodes_of(x, y, sets)
    z, work = np.empty((len(x), M)), ImputedWork(np.empty((size + 2, size + 2, M)), np.empty(M), canonical_space(size))
    if _gaussian_tests(stack, nodes, work, z, 0):
        _gaussian_tests(stack, nodes, work, z, careful_address())
    return pooled_z(z, n, size)


class Codes(NamedTuple):
    """The codes of M imputations, one after the other, uint8 (p, M n), their number, and the numbers of levels."""

    codes: NDArray[np.uint8]
    M: int
    levels: Indices


class DiscreteWork(NamedTuple):
    """Work space of a thread."""

    stratum: Indices  # (M n,): the configuration of the set of each observation
    place: Indices  # for `divided`
    counts: Floats  # (M + 1, cells): the table of each imputation, and their mean
    fitted: Floats  # (2, cells): the mean of the tables expected without the edge; counts of y in a stratum


@jit_part
def _count(data, x, y, S, work):
    """Count the tables; returns the number of strata."""
    codes, levels, n, strata = data.codes, data.levels, data.codes.shape[1], 1
    for s in range(n):
        work.stratum[s] = 0
    for i in range(len(S)):
        strata = divided(work.stratum, codes[S[i]], n, strata, levels[S[i]], work.place)
    kx, ky = levels[x], levels[y]
    for c in range(strata * kx * ky):
        work.fitted[0, c] = 0.0
        for m in range(data.M + 1):
            work.counts[m, c] = 0.0
    for s in range(n):
        work.counts[s // (n // data.M), (work.stratum[s] * kx + codes[x, s]) * ky + codes[y, s]] += 1.0
    return strata


@jit_part
def _likelihood_ratio(first, kx, ky, m, M, work):
    """Twice the log likelihood ratio of a stratum, whose first cell this is, of imputation m; adds to the means."""
    counts, fitted = work.counts, work.fitted
    total, ratio = 0.0, 0.0
    for j in range(ky):
        fitted[1, j] = 0.0
        for i in range(kx):
            fitted[1, j] += counts[m, first + i * ky + j]
        total += fitted[1, j]
    for i in range(kx):
        of_x, at = 0.0, first + i * ky
        for j in range(ky):
            of_x += counts[m, at + j]
        for j in range(ky):
            here, expected = counts[m, at + j], of_x * fitted[1, j] / total
            if here > 0.0:
                ratio += 2.0 * here * math.log(here / expected)
            counts[M, at + j] += here / M
            fitted[0, at + j] += expected / M  # NaN where an imputation lacks the stratum
    return ratio


@compiled
def _discrete_tests(data, x, y, sets, work, of_full, of_mean):
    """Write likelihood ratios of x[t] and y[t] given sets[t]: the mean ratio, and the ratio of the mean table."""
    for t in range(len(x)):
        strata = _count(data, x[t], y[t], sets[t], work)
        kx, ky = data.levels[x[t]], data.levels[y[t]]
        for m in range(data.M):
            for h in range(strata):
                of_full[t] += _likelihood_ratio(h * kx * ky, kx, ky, m, data.M, work) / data.M
        for c in range(strata * kx * ky):
            count, expected = work.counts[data.M, c], work.fitted[0, c]
            if count > 0.0 and expected == expected:
                of_mean[t] += 2.0 * count * math.log(count / expected)


def discrete_p(data: Codes, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `disMItest` of x[i] and y[i] given sets[i], float64 (k,).

    Raises ValueError if the tables of a test have more than `MOST_CELLS` cells.
    """
    n, levels = data.codes.shape[1], data.levels.astype(np.float64)
    strata = levels[sets].prod(axis=1)
    cells = int((np.minimum(strata, n) * levels[x] * levels[y]).max(initial=0))
    if cells * (data.M + 2) > MOST_CELLS:
        raise ValueError(f"the tables given {sets.shape[1]} variables have {cells:,} cells, too many: lower m_max")
    room, groups = max(cells, int(levels.max())), np.empty(n, dtype=np.int64)
    place = np.empty(n * int(levels.max()), dtype=np.int64)
    work = DiscreteWork(groups, place, np.empty((data.M + 1, room)), np.empty((2, room)))
    of_full, of_mean = np.zeros((2, len(x)))
    _discrete_tests(data, x, y, sets, work, of_full, of_mean)
    return pooled_g2(of_full, of_mean, strata * (levels[x] - 1) * (levels[y] - 1), data.M)
