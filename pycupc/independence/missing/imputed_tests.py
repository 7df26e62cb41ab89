"""Tests of multiply imputed data, compiled: the statistics of M data sets, pooled to one p-value (docs/MISSING.md)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.limits import EXACT_PIVOT, R_MAX
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set
from pycupc.independence.missing.grouping import divided
from pycupc.independence.missing.tails import upper_tail_of_f
from pycupc.system.compiled import compiled, part

#: Most cells of the tables of one test: 1 GB of counts.
MOST_CELLS = 1 << 26


class Stack(NamedTuple):
    """The correlations of M imputations: `of_each`, float64 (M, p, p), and the same in the order of (p, p, M)."""

    of_each: Floats
    across: Floats


@part
def pooled_z(z, n, size):
    """The p-value of M values of Fisher's z given sets of this size, by the rules of Rubin (1987); NaN if undefined."""
    M = len(z)
    mean, between = 0.0, 0.0
    for m in range(M):
        mean += z[m] / M
    for m in range(M):
        between += (z[m] - mean) * (z[m] - mean) / (M - 1.0)
    within = 1.0 / (n - size - 3.0)
    if math.isinf(within):
        return 1.0
    total = within + (1.0 + 1.0 / M) * between
    if not total > 0.0:
        return math.nan
    df = math.inf
    if between > 0.0:
        df = (M - 1.0) * (1.0 + within / between * M / (M + 1.0)) ** 2
    return upper_tail_of_f(mean * mean / total, 1, df)


class GaussianWork(NamedTuple):
    """Work space of a thread."""

    A: Floats  # (l + 2, l + 2, M): the lower triangles of the correlation matrices of the set, x and y
    # z, lowest: (M,): Fisher's z; the smallest pivot.
    z: Floats
    lowest: Floats
    nodes: Indices  # (l + 2,): the set, ascending, x and y
    space: Floats  # `canonical_space`


@part
def _gather(stack, x, y, S, work):
    """Write `nodes` and the matrices."""
    nodes, size = work.nodes, len(S)
    for i in range(size):
        j = i
        while j > 0 and nodes[j - 1] > S[i]:
            nodes[j] = nodes[j - 1]
            j -= 1
        nodes[j] = S[i]
    nodes[size], nodes[size + 1] = x, y
    for i in range(size + 2):
        for j in range(i + 1):
            for m in range(len(work.z)):
                work.A[i, j, m] = stack.across[nodes[i], nodes[j], m] if i > j else 1.0


@part
def _eliminate(size, work):
    """Condition on the set, in all matrices at a time; `z` has the reciprocals of the pivots meanwhile."""
    A, z, lowest, M = work.A, work.z, work.lowest, len(work.z)
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
def gaussian_tests(stack, n, x, y, sets, work, careful, p):
    """Write the p-values of x[t] and y[t] given sets[t]; returns how many need `careful_address`, which is 0 then."""
    A, M, size, wanted = work.A, len(work.z), sets.shape[1], 0
    for t in range(len(x)):
        _gather(stack, x[t], y[t], sets[t], work)
        _eliminate(size, work)
        for m in range(M):
            vx, vy, cov = A[size, size, m], A[size + 1, size + 1, m], A[size + 1, size, m]
            least = EXACT_PIVOT * vx * vy
            r = cov / math.sqrt(vx * vy)
            sound = work.lowest[m] > EXACT_PIVOT and vx > EXACT_PIVOT and vy > EXACT_PIVOT
            if not (sound and vx * vy - cov * cov > least):
                r = given_set(stack.of_each[m], work.nodes, size, work.space, careful)
                wanted += r != r
            r = R_MAX if r > R_MAX else -R_MAX if r < -R_MAX else r
            work.z[m] = 0.5 * math.log1p(2.0 * r / (1.0 - r))
        p[t] = pooled_z(work.z, n, size)
    return wanted


def gaussian_p(stack: Stack, n: float, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `gaussMItest` of x[i] and y[i] given sets[i], float64 (k,)."""
    M, size, p = len(stack.of_each), sets.shape[1], np.empty(len(x))
    A, z, nodes = np.empty((size + 2, size + 2, M)), np.empty((2, M)), np.empty(size + 2, dtype=np.int64)
    work = GaussianWork(A, z[0], z[1], nodes, canonical_space(size))
    if gaussian_tests(stack, float(n), x, y, sets, work, 0, p):
        gaussian_tests(stack, float(n), x, y, sets, work, careful_address(), p)
    return p


class Codes(NamedTuple):
    """The codes of M imputations, one after the other, uint8 (p, M n), their number, and the numbers of levels."""

    codes: NDArray[np.uint8]
    M: int
    levels: Indices


@part
def pooled_g2(of_full, of_mean, k, M):
    """The p-value of the pooled likelihood ratio test of Meng and Rubin (1992) with k degrees of freedom."""
    r = (M + 1.0) / (k * (M - 1.0)) * (of_full - of_mean)
    t = k * (M - 1.0)
    if r == 0.0:
        df = math.inf
    elif t > 4.0:
        df = 4.0 + (t - 4.0) * (1.0 + (1.0 - 2.0 / t) / r) ** 2
    else:
        df = t * (1.0 + 1.0 / k) * (1.0 + 1.0 / r) ** 2 / 2.0
    return upper_tail_of_f(of_mean / (k * (1.0 + r)), k, df)


class DiscreteWork(NamedTuple):
    """Work space of a thread."""

    stratum: Indices  # (M n,): the configuration of the set of each observation
    place: Indices  # for `divided`
    counts: Floats  # (M + 1, cells): the table of each imputation, and their mean
    fitted: Floats  # (2, cells): the mean of the tables expected without the edge; counts of y in a stratum


@part
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


@part
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
def discrete_tests(data, x, y, sets, work, p):
    """Write the p-values of x[t] and y[t] given sets[t]."""
    levels, M = data.levels, data.M
    for t in range(len(x)):
        strata = _count(data, x[t], y[t], sets[t], work)
        kx, ky, of_full, of_mean = levels[x[t]], levels[y[t]], 0.0, 0.0
        k = (kx - 1) * (ky - 1)
        for i in range(sets.shape[1]):
            k *= levels[sets[t, i]]
        for m in range(M):
            for h in range(strata):
                of_full += _likelihood_ratio(h * kx * ky, kx, ky, m, M, work) / M
        for c in range(strata * kx * ky):
            count, expected = work.counts[M, c], work.fitted[0, c]
            if count > 0.0 and expected == expected:
                of_mean += 2.0 * count * math.log(count / expected)
        p[t] = pooled_g2(of_full, of_mean, k, M)


def discrete_p(data: Codes, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `disMItest` of x[i] and y[i] given sets[i], float64 (k,).

    Raises ValueError if the tables of a test have more than `MOST_CELLS` cells.
    """
    n, p = data.codes.shape[1], np.empty(len(x))
    if not len(x):
        return p
    levels = data.levels.astype(np.float64)
    strata = np.minimum(levels[sets].prod(axis=1), n)
    cells = int((strata * levels[x] * levels[y]).max())
    if cells * (data.M + 2) > MOST_CELLS:
        raise ValueError(f"the tables given {sets.shape[1]} variables have {cells:,} cells, too many: lower m_max")
    room, groups = max(cells, int(levels.max())), np.empty(n, dtype=np.int64)
    place = np.empty(n * int(levels.max()), dtype=np.int64)
    work = DiscreteWork(groups, place, np.empty((data.M + 1, room)), np.empty((2, room)))
    discrete_tests(data, x, y, sets, work, p)
    return p
