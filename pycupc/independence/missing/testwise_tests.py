"""Test-wise deletion, compiled: each test has the rows in which its variables are complete (docs/MISSING.md)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.discrete.chi_square import upper_tail
from pycupc.independence.discrete.g_square import LARGEST_SET_OF_DISCITEST
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address, given_set
from pycupc.independence.missing.grouping import divided
from pycupc.system.compiled import compiled, part


class Numbers(NamedTuple):
    """values : float64 (p, n), 0 where missing; there : float64 (p, n), 1 where there is a value, else 0."""

    values: Floats
    there: Floats


@part
def dot(a, b, n):
    """The sum of a[s] b[s], in eight partial sums: the same on every machine, and quick."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(0, n - n % 8, 8):
        s0 += a[s] * b[s]
        s1 += a[s + 1] * b[s + 1]
        s2 += a[s + 2] * b[s + 2]
        s3 += a[s + 3] * b[s + 3]
        s4 += a[s + 4] * b[s + 4]
        s5 += a[s + 5] * b[s + 5]
        s6 += a[s + 6] * b[s + 6]
        s7 += a[s + 7] * b[s + 7]
    for s in range(n - n % 8, n):
        s0 += a[s] * b[s]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@part
def is_constant(values, there, n):
    """Whether the values that are there are all the same."""
    first = math.nan
    for s in range(n):
        if there[s] > 0.0:
            if first == first and values[s] != first:
                return False
            first = values[s]
    return True


@compiled
def gaussian_tests(data, x, y, sets, centred, there, C, nodes, place, space, careful, p):
    """Write the p-values of x[t] and y[t] given sets[t]; returns how many need `careful_address`, which is 0 then.

    centred : float64 (l + 2, n); there : float64 (n,); C : float64 (l + 2, l + 2); nodes, place : int64 (l + 2,), `place`
    0, 1, ...; space : `canonical_space`.
    """
    n, size, wanted = data.values.shape[1], sets.shape[1], 0
    for t in range(len(x)):
        for i in range(size):
            nodes[i] = sets[t, i]
        nodes[size], nodes[size + 1] = x[t], y[t]
        for s in range(n):
            there[s] = data.there[x[t], s] * data.there[y[t], s]
        for i in range(size):
            for s in range(n):
                there[s] *= data.there[nodes[i], s]
        complete = dot(there, there, n)
        p[t] = math.nan
        if complete < 2.0:
            continue
        defined = True
        for i in range(size + 2):
            v = nodes[i]
            mean = dot(data.values[v], there, n) / complete
            for s in range(n):
                centred[i, s] = (data.values[v, s] - mean) * there[s]
            C[i, i] = dot(centred[i], centred[i], n)
            if C[i, i] <= 1e-20 * complete * mean * mean and is_constant(data.values[v], there, n):
                defined = False
                break
        if not defined:
            continue
        for i in range(size + 2):
            for j in range(i):
                r = dot(centred[i], centred[j], n) / math.sqrt(C[i, i] * C[j, j])
                C[i, j] = 1.0 if r > 1.0 else -1.0 if r < -1.0 else r
                C[j, i] = C[i, j]
        for i in range(size + 2):
            C[i, i] = 1.0
        r = given_set(C, place, size, space, careful)
        if r != r:
            wanted += 1
        df = complete - size - 3.0
        p[t] = math.erfc(math.sqrt(df) * abs(math.atanh(r)) * math.sqrt(0.5)) if df > 0.0 else 1.0
    return wanted


def gaussian_p(data: Numbers, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `gaussCItwd` of x[i] and y[i] given sets[i], float64 (k,), NaN where undefined."""
    n, size, p = data.values.shape[1], sets.shape[1], np.empty(len(x))
    work = np.empty((size + 2, n)), np.empty(n), np.empty((size + 2, size + 2)), np.empty(size + 2, dtype=np.int64)
    more = np.arange(size + 2), canonical_space(size)
    if gaussian_tests(data, x, y, sets, *work, *more, 0, p):
        gaussian_tests(data, x, y, sets, *work, *more, careful_address(), p)
    return p


class Codes(NamedTuple):
    """codes : int16 (p, n), -1 where missing; levels : int64 (p,); adapt, quirks : bool, as of `contingency.Data`."""

    codes: NDArray[np.int16]
    levels: Indices
    adapt: bool
    quirks: bool


@part
def _statistic(groups, counts, n, of_all):
    """G^2 of n observations; groups and counts, (4, n), of the set, with y, with x, and with both.

    of_all : the number that stands for the observations of a stratum; 0: the number that are there.
    """
    for g in range(4):
        for s in range(n):
            counts[g, s] = 0
        for s in range(n):
            counts[g, groups[g, s]] += 1
    g2 = 0.0
    for s in range(n):
        cell = counts[3, groups[3, s]]
        if cell > 0:  # the first observation of the cell
            stratum = of_all if of_all > 0 else counts[0, groups[0, s]]
            margins = float(counts[1, groups[1, s]]) * float(counts[2, groups[2, s]])
            g2 += 2.0 * cell * math.log(float(cell) * float(stratum) / margins)
            counts[3, groups[3, s]] = 0
    return g2


@compiled
def discrete_tests(data, x, y, sets, kept, rows, groups, place, counts, distinct, p):
    """Write the p-values of x[t] and y[t] given sets[t].

    kept : int16 (l + 2, n); rows : int64 (n,); groups, counts : int64 (4, n); place : int64 (n times most
    levels,); distinct : int64 (l + 2,): work space.
    """
    n, size = data.codes.shape[1], sets.shape[1]
    for t in range(len(x)):
        m = 0
        for s in range(n):
            whole = data.codes[x[t], s] >= 0 and data.codes[y[t], s] >= 0
            for i in range(size):
                whole = whole and data.codes[sets[t, i], s] >= 0
            if whole:
                rows[m] = s
                m += 1
        p[t] = math.nan if m < 2 else 1.0
        if m < 2 or (data.quirks and size > LARGEST_SET_OF_DISCITEST):
            continue
        df, all_rows = 1, m
        for i in range(size + 2):
            v = sets[t, i] if i < size else x[t] if i == size else y[t]
            for s in range(m):
                kept[i, s] = data.codes[v, rows[s]]
                groups[0, s] = 0
            distinct[i] = divided(groups[0], kept[i], m, 1, data.levels[v], place)
            df *= distinct[i] if i < size else distinct[i] - 1
        if df == 0:
            continue
        if data.quirks:  # codes from the number of levels on are not counted
            m = 0
            for s in range(all_rows):
                counted = True
                for i in range(size + 2):
                    counted = counted and kept[i, s] < distinct[i]
                for i in range(size + 2):
                    kept[i, m] = kept[i, s]
                m += counted
        for s in range(m):
            groups[0, s] = 0
        made = 1
        for i in range(size):
            made = divided(groups[0], kept[i], m, made, data.levels[sets[t, i]], place)
        for s in range(m):
            groups[1, s], groups[2, s] = groups[0, s], groups[0, s]
        divided(groups[1], kept[size + 1], m, made, data.levels[y[t]], place)
        made = divided(groups[2], kept[size], m, made, data.levels[x[t]], place)
        for s in range(m):
            groups[3, s] = groups[2, s]
        both = divided(groups[3], kept[size + 1], m, made, data.levels[y[t]], place)
        g2 = _statistic(groups, counts, m, all_rows if data.quirks and size == 0 else 0)
        if data.adapt and size > 0:
            strata = 1
            for i in range(size):
                strata *= distinct[i]
            empty = strata * distinct[size] * distinct[size + 1] - both
            df -= empty + (4 * (2**size - strata) if data.quirks else 0)
            df = max(df, 1)
        p[t] = upper_tail(g2, df)


def discrete_p(data: Codes, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `disCItwd` of x[i] and y[i] given sets[i], float64 (k,), NaN where undefined."""
    n, size, p = data.codes.shape[1], sets.shape[1], np.empty(len(x))
    work = np.empty((size + 2, n), np.int16), np.empty(n, np.int64), np.empty((4, n), np.int64)
    place = np.empty((n + 1) * int(data.levels.max()), np.int64)
    more = np.empty((4, n), np.int64), np.empty(size + 2, np.int64)
    discrete_tests(data, x, y, sets, *work, place, *more, p)
    return p
