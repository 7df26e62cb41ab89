"""Tests of multiply imputed data, compiled: the statistics of M data sets, pooled as by `reference_tests`
(docs/contracts/missing.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import Ints
from pycupc.independence.base import Floats, Indices
from pycupc.independence.deciding import Walked, decides, p_of_tests
from pycupc.independence.discrete.strata import divided
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set, put_nodes
from pycupc.independence.gaussian.tolerances import EXACT_PIVOT, R_MAX
from pycupc.independence.tails import tail_addresses, upper_tail_of_f
from pycupc.system.jit import jit_inlined, jit_part

#: Most cells of the tables of one test: 1 GB of counts; and in the work space of each thread of a walk: 32 MB.
MOST_CELLS, MOST_WALKED = 1 << 26, 1 << 22


class Stack(NamedTuple):
    """The correlations of M imputations: `of_each`, float64 (M, p, p), and the same in the order of (p, p, M)."""

    of_each: Floats
    across: Floats
    n: float = 0.0
    alpha: float = 0.0
    na_p: float = 1.0


class ImputedWork(NamedTuple):
    """Work space of a thread."""

    A: Floats  # (l + 2, l + 2, M): the lower triangles of the correlation matrices of the set, x and y, given the set
    inverse: Floats  # (l, M): the reciprocals of the pivots
    lowest: Floats  # (M,): the smallest pivot
    z: Floats  # (M,): Fisher's z
    nodes: Indices  # (l + 2,): of A
    known: Indices  # (l + 1,): the set and x, of which the rows of A are there
    space: Floats  # `canonical_space`
    careful: Indices  # as of `deciding.Walked.work`
    tails: Indices  # `tail_addresses`


@jit_inlined
def _condition(stack, first, size, work):
    """Write the rows of A from `first` on, given the set, for all imputations at a time."""
    A, inverse, lowest, nodes, M = work.A, work.inverse, work.lowest, work.nodes, len(work.lowest)
    for i in range(first, size + 2):
        for j in range(i + 1):
            for m in range(M):
                A[i, j, m] = stack.across[nodes[i], nodes[j], m] if i > j else 1.0
        for k in range(i if i < size else size):
            for j in range(k + 1, i + 1):
                for m in range(M):
                    A[i, j, m] -= A[i, k, m] * A[j, k, m] * inverse[k, m]
        if i < size:
            for m in range(M):
                pivot = A[i, i, m]
                lowest[m] = 1.0 if i == 0 else lowest[m]
                lowest[m] = pivot if not pivot > lowest[m] else lowest[m]
                inverse[i, m] = 1.0 / pivot


@jit_part
def _sum(values, n):
    """The sum of n numbers, up to 128 of them as NumPy adds them."""
    total, whole = 0.0, n - n % 8
    if whole > 0:
        s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for s in range(0, whole, 8):
            s0 += values[s]
            s1 += values[s + 1]
            s2 += values[s + 2]
            s3 += values[s + 3]
            s4 += values[s + 4]
            s5 += values[s + 5]
            s6 += values[s + 6]
            s7 += values[s + 7]
        total = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
    for s in range(whole, n):
        total += values[s]
    return total


@jit_part
def _pooled_z(z, n, size, tails):
    """As `reference_tests.pooled_z`, of one test; z is overwritten."""
    M, within = len(z), 1.0 / (n - size - 3)
    if math.isinf(within):
        return 1.0
    mean = _sum(z, M) / M
    for m in range(M):
        z[m] = (z[m] - mean) * (z[m] - mean)
    between = _sum(z, M) / (M - 1)
    total, ratio = within + (1.0 + 1.0 / M) * between, 1.0 + within / between * M / (M + 1)
    if not total > 0.0:
        return math.nan
    return upper_tail_of_f(tails, mean * mean / total, 1.0, (M - 1) * (ratio * ratio))


@decides(Stack)
@jit_part
def test_numbers(data, x, y, S, work):
    """`gaussMItest`; asks for `careful_address` where one is needed."""
    A, M, size, wanted = work.A, len(work.lowest), len(S), False
    _condition(data, size + 1 if put_nodes(work.nodes, work.known, x, y, S) else 0, size, work)
    for m in range(M):
        vx, vy, cov = A[size, size, m], A[size + 1, size + 1, m], A[size + 1, size, m]
        least = EXACT_PIVOT * vx * vy
        r = cov / math.sqrt(vx * vy)
        sound = (size == 0 or work.lowest[m] > EXACT_PIVOT) and vx > EXACT_PIVOT and vy > EXACT_PIVOT
        if not (sound and vx * vy - cov * cov > least):
            r = given_set(data.of_each[m], work.nodes, size, work.space, work.careful[0])
            wanted = wanted or r != r
        r = R_MAX if r > R_MAX else -R_MAX if r < -R_MAX else r
        work.z[m] = 0.5 * math.log1p(2.0 * r / (1.0 - r))
    p = math.nan if wanted else _pooled_z(work.z, data.n, size, work.tails)
    work.careful[1] |= wanted
    return p >= data.alpha or (p != p and not wanted and data.na_p >= data.alpha), p


def walked_numbers(stack: Stack, size: int) -> Walked:
    """See `SetwiseTest.walked`."""

    def work(careful: Indices) -> ImputedWork:
        M, width = len(stack.of_each), size + 2
        A, inverse, lowest, z = np.empty((width, width, M)), np.empty((size, M)), np.empty(M), np.empty(M)
        nodes, known = np.zeros(width, dtype=np.int64), np.full(size + 1, -1, dtype=np.int64)
        space = canonical_space(size), careful, tail_addresses()
        return ImputedWork(A, inverse, lowest, z, nodes, known, *space)

    return Walked(stack, work)


def gaussian_p(stack: Stack, n: float, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `gaussMItest` of x[i] and y[i] given sets[i], float64 (k,)."""
    return p_of_tests(walked_numbers(stack._replace(n=float(n)), sets.shape[1]), x, y, sets, careful_address)


class Codes(NamedTuple):
    """The codes of M imputations, one after the other, uint8 (p, M n), their number, and the numbers of levels."""

    codes: NDArray[np.uint8]
    M: int
    levels: Indices
    alpha: float = 0.0
    na_p: float = 1.0


class DiscreteWork(NamedTuple):
    """Work space of a thread."""

    stratum: Indices  # (M n,): the configuration of the set of each observation
    place: Indices  # for `divided`
    counts: Floats  # (M + 1, cells): the table of each imputation, and their mean
    fitted: Floats  # (2, cells): the mean of the tables expected without the edge; counts of y in a stratum
    known: Indices  # (l + 1,): the set of these configurations, and how many there are: 0 before the first
    tails: Indices  # `tail_addresses`


@jit_part
def _divide(data, S, work):
    """Find the configurations of the set, unless they are there; returns how many occur."""
    known, n, size = work.known, data.codes.shape[1], len(S)
    same = known[size] > 0
    for t in range(size):
        same = same and known[t] == S[t]
    if not same:
        strata = 1
        for s in range(n):
            work.stratum[s] = 0
        for t in range(size):
            known[t] = S[t]
            strata = divided(work.stratum, data.codes[S[t]], n, strata, data.levels[S[t]], work.place)
        known[size] = strata
    return known[size]


@jit_part
def _count(data, x, y, strata, work):
    """Count the tables."""
    codes, kx, ky, n = data.codes, data.levels[x], data.levels[y], data.codes.shape[1] // data.M
    for c in range(strata * kx * ky):
        work.fitted[0, c] = 0.0
    for m in range(data.M + 1):
        for c in range(strata * kx * ky):
            work.counts[m, c] = 0.0
    for m in range(data.M):
        for s in range(m * n, m * n + n):
            work.counts[m, (work.stratum[s] * kx + codes[x, s]) * ky + codes[y, s]] += 1.0


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


@jit_part
def pooled_g2(of_full, of_mean, k, M, tails):
    """As `reference_tests.pooled_g2`, of one test."""
    r, t = (M + 1) / (k * (M - 1)) * (of_full - of_mean), k * (M - 1)
    root = 1.0 + (1.0 - 2.0 / t) / r if t > 4.0 else 1.0 + 1.0 / r
    df = 4.0 + (t - 4.0) * (root * root) if t > 4.0 else t * (1.0 + 1.0 / k) * (root * root) / 2.0
    return upper_tail_of_f(tails, of_mean / (k * (1.0 + r)), k, df)


@decides(Codes)
@jit_part
def test_codes(data, x, y, S, work):
    """`disMItest`, from the mean likelihood ratio and the ratio of the mean table."""
    strata, kx, ky, of_full, of_mean, k = _divide(data, S, work), data.levels[x], data.levels[y], 0.0, 0.0, 1.0
    _count(data, x, y, strata, work)
    for m in range(data.M):
        for h in range(strata):
            of_full += _likelihood_ratio(h * kx * ky, kx, ky, m, data.M, work) / data.M
    for c in range(strata * kx * ky):
        count, expected = work.counts[data.M, c], work.fitted[0, c]
        if count > 0.0 and expected == expected:
            of_mean += 2.0 * count * math.log(count / expected)
    for t in range(len(S)):
        k *= data.levels[S[t]]
    p = pooled_g2(of_full, of_mean, k * (kx - 1) * (ky - 1), data.M, work.tails)
    return p >= data.alpha or (p != p and data.na_p >= data.alpha), p


def _cells(data: Codes, x: Indices, y: Indices, strata: Floats) -> int:
    """The most cells of a table of x[i] and y[i], given sets of strata[i] configurations."""
    levels = data.levels.astype(np.float64)
    return int((np.minimum(strata, data.codes.shape[1]) * levels[x] * levels[y]).max(initial=0))


def _walked(data: Codes, cells: int, size: int) -> Walked:
    def work(_: Indices) -> DiscreteWork:
        n, most, known = data.codes.shape[1], int(data.levels.max()), np.zeros(size + 1, dtype=np.int64)
        stratum, place = np.empty(n, dtype=np.int64), np.empty(n * most, dtype=np.int64)
        counts, fitted = np.empty((data.M + 1, max(cells, most))), np.empty((2, max(cells, most)))
        return DiscreteWork(stratum, place, counts, fitted, known, tail_addresses())

    return Walked(data, work)


def walked_codes(data: Codes, x: Indices, y: Indices, candidates: Ints, size: int) -> Walked | None:
    """See `SetwiseTest.walked`; None also where the tables may be too large."""
    widest = float(data.levels[candidates].max(initial=1)) ** size
    cells = _cells(data, x, y, np.full(len(x), widest))
    return _walked(data, cells, size) if cells * (data.M + 2) <= MOST_WALKED else None


def discrete_p(data: Codes, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `disMItest` of x[i] and y[i] given sets[i], float64 (k,).

    Raises ValueError if the tables of a test have more than `MOST_CELLS` cells.
    """
    cells = _cells(data, x, y, data.levels[sets].astype(np.float64).prod(axis=1))
    if cells * (data.M + 2) > MOST_CELLS:
        raise ValueError(f"the tables given {sets.shape[1]} variables have {cells:,} cells, too many: lower m_max")
    return p_of_tests(_walked(data, cells, sets.shape[1]), x, y, sets, careful_address)
