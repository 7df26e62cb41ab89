"""Test-wise deletion, compiled: each test has the rows in which its variables are complete (docs/contracts/missing.md).

Correlations of the complete rows come from quick sums, whose rounding matters only in nearly singular tests: these are
made again, by the definitions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.discrete.chi_square import upper_tail
from pycupc.independence.discrete.g_square import LARGEST_SET_OF_DISCITEST
from pycupc.independence.discrete.strata import divided
from pycupc.independence.gaussian.compiled_p_values import p_value
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.fisher_z import p_value_of
from pycupc.independence.gaussian.partial_correlation import canonical_r, canonical_space, given_set, nodes_of
from pycupc.independence.gaussian.tolerances import EXACT_PIVOT
from pycupc.independence.missing.reference_tests import complete_rows
from pycupc.system.jit import compiled, jit_part

#: Variances of complete rows of not more than this share of the squared mean have lost digits.
LEAST_VARIANCE = 1e-12


class Numbers(NamedTuple):
    """A table of numbers with gaps."""

    values: Floats  # (p, n): `IncompleteTable.centred`
    there: Floats  # (p, n), 1 where there is a value, else 0


@jit_part
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


class GaussianWork(NamedTuple):
    """Work space of a thread."""

    centred: Floats  # (l + 2, n): deviations from the means of the set, x and y, 0 in rows that are left out
    there: Floats  # (n,): 1 in rows that are complete, else 0
    C: Floats  # (l + 2, l + 2)
    place: Indices  # (l + 2,): 0, 1, 2, ...
    space: Floats  # `canonical_space`


@jit_part
def _correlate(data, nodes, work):
    """Write the correlations of the variables; returns the number of complete rows, and whether no digits are lost."""
    n, m, there, centred, C = data.values.shape[1], len(nodes), work.there, work.centred, work.C
    a, b = nodes[0], nodes[1]
    for s in range(n):
        there[s] = data.there[a, s] * data.there[b, s]
    for i in range(2, m):
        v = nodes[i]
        for s in range(n):
            there[s] *= data.there[v, s]
    complete, sound = dot(there, there, n), True
    if complete < 2.0:
        return complete, sound
    for i in range(m):
        values = data.values[nodes[i]]
        mean = dot(values, there, n) / complete
        for s in range(n):
            centred[i, s] = (values[s] - mean) * there[s]
        C[i, i] = dot(centred[i], centred[i], n)
        sound = sound and C[i, i] > LEAST_VARIANCE * complete * mean * mean
    for i in range(m if sound else 0):
        for j in range(i):
            r = dot(centred[i], centred[j], n) / math.sqrt(C[i, i] * C[j, j])
            C[i, j] = 1.0 if r > 1.0 else -1.0 if r < -1.0 else r
            C[j, i] = C[i, j]
    for i in range(m):
        C[i, i] = 1.0
    return complete, sound


@jit_part
def _given(work, size):
    """The partial correlation of the last two of size + 2 variables; NaN if it is nearly singular."""
    C = work.C
    if size == 1 and not (1.0 - C[1, 0] * C[1, 0] > EXACT_PIVOT and 1.0 - C[2, 0] * C[2, 0] > EXACT_PIVOT):
        return math.nan
    return given_set(C, work.place, size, work.space, 0)


@compiled
def _gaussian_tests(data, nodes, work, p, doubtful):
    """Write the p-values of the tests of `nodes`, NaN where undefined, and which are to be made by the definitions."""
    size = nodes.shape[1] - 2
    for t in range(len(nodes)):
        complete, sound = _correlate(data, nodes[t], work)
        df = complete - size - 3.0
        r = _given(work, size) if sound and df > 0.0 else 0.0
        doubtful[t] = complete >= 2.0 and (not sound or r != r)
        p[t] = math.nan if complete < 2.0 or r != r else p_value(abs(r), math.sqrt(df) if df > 0.0 else 0.0)


def gaussian_p(data: Numbers, table: Floats, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `gaussCItwd` of x[i] and y[i] given sets[i], float64 (k,), NaN where undefined.

    `table`, float64 (n, p): the numbers as they are, NaN where missing.
    """
    n, m, nodes, p = data.values.shape[1], sets.shape[1] + 2, nodes_of(x, y, sets), np.empty(len(x))
    work = GaussianWork(np.empty((m, n)), np.empty(n), np.empty((m, m)), np.arange(m), canonical_space(m - 2))
    doubtful = np.empty(len(x), dtype=np.bool_)
    _gaussian_tests(data, nodes, work, p, doubtful)
    for t in np.flatnonzero(doubtful).tolist():
        p[t] = _by_definition(table[:, nodes[t]])
    return p


def _by_definition(values: Floats) -> float:
    """The p-value of the last two columns given the others: `gaussCItwd` with the canonical formula."""
    rows, size = complete_rows(values), values.shape[1] - 2
    if rows is None:
        return math.nan
    return p_value_of(canonical_r(correlation(rows), size, size + 1, range(size)), len(rows) - size - 3)


class Codes(NamedTuple):
    """A table of codes with gaps; `adapt` and `quirks` as of `contingency.Data`.

    `per_df`: with fewer complete rows than this per degree of freedom, the p-value is 1.
    """

    codes: NDArray[np.int16]  # (p, n), -1 where missing
    levels: Indices  # (p,)
    adapt: bool
    quirks: bool
    per_df: int = 0


@jit_part
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


class DiscreteWork(NamedTuple):
    """Work space of a thread."""

    kept: NDArray[np.int16]  # (l + 2, n): the codes of the set, x and y in complete rows
    # groups, counts: (4, n): see `_statistic`.
    groups: Indices
    counts: Indices
    place: Indices  # for `divided`
    distinct: Indices  # (l + 2,): numbers of levels that occur


@jit_part
def _keep_complete(data, nodes, work):
    """Write `kept`, and return the number of complete rows."""
    m = 0
    for s in range(data.codes.shape[1]):
        whole = True
        for i in range(len(nodes)):
            code = data.codes[nodes[i], s]
            work.kept[i, m] = code
            whole = whole and code >= 0
        m += whole
    return m


@jit_part
def _count_levels(data, nodes, m, work):
    """Write `distinct`, and return the degrees of freedom, 0 if x or y is constant."""
    df = 1
    for i in range(len(nodes)):
        for s in range(m):
            work.groups[0, s] = 0
        work.distinct[i] = divided(work.groups[0], work.kept[i], m, 1, data.levels[nodes[i]], work.place)
        df *= work.distinct[i] if i < len(nodes) - 2 else work.distinct[i] - 1
    return df


@jit_part
def _leave_out_codes(m, width, work):
    """Leave out the rows with a code that is not below the number of levels that occur; returns how many are left."""
    left = 0
    for s in range(m):
        counted = True
        for i in range(width):
            counted = counted and work.kept[i, s] < work.distinct[i]
            work.kept[i, left] = work.kept[i, s]
        left += counted
    return left


@jit_part
def _group(data, nodes, m, work):
    """Write `groups`, and return the number of cells with observations."""
    groups, kept, levels, x = work.groups, work.kept, data.levels, len(nodes) - 2
    made = 1
    for s in range(m):
        groups[0, s] = 0
    for i in range(x):
        made = divided(groups[0], kept[i], m, made, levels[nodes[i]], work.place)
    for s in range(m):
        groups[1, s], groups[2, s] = groups[0, s], groups[0, s]
    divided(groups[1], kept[x + 1], m, made, levels[nodes[x + 1]], work.place)
    made = divided(groups[2], kept[x], m, made, levels[nodes[x]], work.place)
    for s in range(m):
        groups[3, s] = groups[2, s]
    return divided(groups[3], kept[x + 1], m, made, levels[nodes[x + 1]], work.place)


@compiled
def _discrete_tests(data, nodes, work, p):
    """Write the p-values of the tests of `nodes`."""
    size = nodes.shape[1] - 2
    for t in range(len(nodes)):
        m = _keep_complete(data, nodes[t], work)
        p[t] = math.nan if m < 2 else 1.0
        if m < 2 or (data.quirks and size > LARGEST_SET_OF_DISCITEST):
            continue
        df = _count_levels(data, nodes[t], m, work)
        if df == 0 or m < data.per_df * df:
            continue
        of_all = m if data.quirks and size == 0 else 0
        if data.quirks:
            m = _leave_out_codes(m, size + 2, work)
        both = _group(data, nodes[t], m, work)
        if data.adapt and size > 0:
            strata = 1
            for i in range(size):
                strata *= work.distinct[i]
            df -= strata * work.distinct[size] * work.distinct[size + 1] - both
            df -= 4 * (2**size - strata) if data.quirks else 0
            df = max(df, 1)
        p[t] = upper_tail(_statistic(work.groups, work.counts, m, of_all), df)


def discrete_p(data: Codes, x: Indices, y: Indices, sets: Indices) -> Floats:
    """The p-values of `disCItwd` of x[i] and y[i] given sets[i], float64 (k,), NaN where undefined."""
    n, width, p = data.codes.shape[1], sets.shape[1] + 2, np.empty(len(x))
    kept, groups = np.empty((width, n + 1), np.int16), np.empty((2, 4, n), np.int64)
    place, distinct = np.empty((n + 1) * int(data.levels.max()), np.int64), np.empty(width, np.int64)
    work = DiscreteWork(kept, groups[0], groups[1], place, distinct)
    _discrete_tests(data, nodes_of(x, y, sets), work, p)
    return p
