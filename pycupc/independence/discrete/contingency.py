"""Contingency tables, counted and tested in compiled code: the basis of the tests of the engines and the orientation.

For a variable x and a set S, the configuration of (x, S) of every observation is one number, shared by all tests of x
given S. A table counts the pairs (configuration, code of y).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats
from pycupc.independence.deciding import Walked, decides, run_tests
from pycupc.independence.discrete.chi_square import cutoffs, entropy, upper_tail
from pycupc.independence.discrete.g_square import (
    LARGEST_SET_OF_DISCITEST,
    OBSERVATIONS_PER_DF,
    OBSERVATIONS_PER_OBSERVED_DF,
)
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.system.jit import jit_part

Ints = NDArray[np.int32]

#: Number of copies of a table that are counted side by side, so that an observation need not wait for the observation
#: before it.
COPIES = 4

#: Below this G^2, the p-value is computed from the sum in floating point: near 0, where the p-value rises like the root
#: of G^2, that is more accurate, and 0 where x and y are independent exactly.
SMALL = 1.0


class Data(NamedTuple):
    """The data shared by all tests of a run."""

    codes: NDArray[np.uint8]  # (p, n)
    levels: NDArray[np.int64]  # (p,)
    f: NDArray[np.int64]  # (n + 1,): m ln m in units of `unit`, a power of 2
    unit: float
    band: float  # bound on the difference between G^2 in fixed point and in floating point, as pcalg computes it
    cutoff: Floats  # largest G^2 that is judged independent, by degrees of freedom, as far as it goes
    alpha: float
    adapt: bool  # lower the degrees of freedom by the number of empty cells
    quirks: bool  # answer as pcalg does, with its faults
    observed: bool  # whether degrees of freedom are observed: only of configurations that occur


class Counting(NamedTuple):
    """Work space of a thread."""

    # (l + 1, n): of each observation: row t of x and the first t members of S. With observed degrees of freedom: row t
    # without x; configurations that occur twice or more often are numbered, and all others have the next number.
    configuration: Ints
    groups: NDArray[np.int64]  # (l + 1,): with observed degrees of freedom, how many are numbered in row t
    place: Ints  # (groups times levels,): space for `divide`
    counts: Ints  # (COPIES, most cells), or (1, most cells)
    of_y: NDArray[np.int64]  # (256,)
    known: NDArray[np.int64]  # (l + 1,): x and the members of S whose configurations are there; -1 before


def prepare(suff: DiscreteSuffStat, alpha: float, *, quirks: bool) -> Data:
    """Prepare the data of a run."""
    observed = suff.df == "observed"
    cutoff = cutoffs(alpha, suff.n // (OBSERVATIONS_PER_OBSERVED_DF if observed else OBSERVATIONS_PER_DF))
    flags = (suff.adaptDF, bool(quirks), observed)
    return Data(suff.codes, suff.nlev, *entropy(suff.n), cutoff.copy(), float(alpha), *flags)


def work_space(data: Data, x: NDArray[Any], y: NDArray[Any], sets: NDArray[Any]) -> Counting:
    """Arrays for these tests; one of the sets, (1, l), stands for all if none has more configurations."""
    n, (levels, size) = data.codes.shape[1], (data.levels, sets.shape[1])
    # a test is made if n >= 10 (kx - 1)(ky - 1) q, and then its kx ky q cells are at most 4/10 n
    copies, groups, cells = COPIES, 0, 4 * n // OBSERVATIONS_PER_DF + 4
    if data.observed:
        copies, groups = 1, max(n // 2, 1) + 1  # configurations that occur twice or more often, and all others
        strata = np.minimum(levels[sets].prod(axis=1, dtype=np.float64) + 1, groups)
        cells = int((strata * levels[x] * levels[y]).max(initial=0))
    configuration, of_groups = np.empty((size + 1, n), np.int32), np.empty(size + 1, np.int64)
    place, counts = np.empty(groups * int(levels.max()), np.int32), np.empty((copies, cells), np.int32)
    return Counting(configuration, of_groups, place, counts, np.empty(256, np.int64), np.full(size + 1, -1, np.int64))


@jit_part
def configurations(levels, S, size, most):
    """Number of configurations of S[:size], but `most` + 1 where there are more than `most`."""
    q = 1
    for t in range(size):
        q *= levels[S[t]]
        if q > most:
            return most + 1
    return q


@jit_part
def is_tested(data, x, y, size, q):
    """Whether to count the table: there are enough observations, given q configurations of a set of this size.

    With observed degrees of freedom only the table tells whether there are enough.
    """
    if data.observed:
        return True
    df = (data.levels[x] - 1) * (data.levels[y] - 1) * q
    made = not (data.quirks and size > LARGEST_SET_OF_DISCITEST)
    return made and data.codes.shape[1] >= OBSERVATIONS_PER_DF * df


@jit_part
def start_configuration(data, x, counting):
    """Row 0 of the configurations: the codes of x; with observed degrees of freedom, one configuration for all."""
    counting.groups[0] = 1
    for s in range(data.codes.shape[1]):
        counting.configuration[0, s] = 0 if data.observed else data.codes[x, s]


@jit_part
def extend_configuration(data, z, t, counting):
    """Row t + 1 of the configurations: z as well."""
    if data.observed:
        divide(data, z, t, counting)
        return
    k = np.int32(data.levels[z])
    for s in range(data.codes.shape[1]):
        counting.configuration[t + 1, s] = counting.configuration[t, s] * k + data.codes[z, s]


@jit_part
def divide(data, z, t, counting):
    """`extend_configuration` with observed degrees of freedom.

    A configuration that occurs once has a table of one row and one column, which adds nothing.
    """
    before, after, place = counting.configuration[t], counting.configuration[t + 1], counting.place
    groups, k, made = counting.groups[t], data.levels[z], 0
    for cell in range((groups + 1) * k):
        place[cell] = 0
    for s in range(len(before)):
        place[before[s] * k + data.codes[z, s]] += 1
    for cell in range(groups * k):  # from how often it occurs to its number
        often = place[cell] > 1
        place[cell] = made if often else -1
        made += often
    for s in range(len(before)):
        number = place[before[s] * k + data.codes[z, s]] if before[s] < groups else -1
        after[s] = number if number >= 0 else made
    counting.groups[t + 1] = made


@jit_part
def count_table(data, y, size, cells, counting):
    """Table 0 of the counts: pairs of the configuration of x and all of S with the code of y."""
    counts, n = counting.counts, data.codes.shape[1]
    k = data.levels[y]
    for copy in range(COPIES):
        for c in range(cells):
            counts[copy, c] = 0
    whole = n - n % COPIES
    for s in range(0, whole, COPIES):
        for copy in range(COPIES):
            counts[copy, counting.configuration[size, s + copy] * k + data.codes[y, s + copy]] += 1
    for s in range(whole, n):
        counts[0, counting.configuration[size, s] * k + data.codes[y, s]] += 1
    for copy in range(1, COPIES):
        for c in range(cells):
            counts[0, c] += counts[copy, c]


@jit_part
def count_observed(data, x, y, size, cells, counting):
    """`count_table` with observed degrees of freedom."""
    stride, k = counting.groups[size] + 1, data.levels[y]
    for c in range(cells):
        counting.counts[0, c] = 0
    for s in range(data.codes.shape[1]):
        counting.counts[0, (data.codes[x, s] * stride + counting.configuration[size, s]) * k + data.codes[y, s]] += 1


@jit_part
def statistic(data, x, y, q, stride, counting):
    """(G^2 / 2 in fixed point, number of empty cells) of the table that was counted.

    It has q configurations of S; each level of x takes the next `stride` places.
    """
    f, counts, of_y = data.f, counting.counts, counting.of_y
    kx, ky = data.levels[x], data.levels[y]
    total, empty = 0, 0
    for c in range(q):
        n_k = 0
        for j in range(ky):
            of_y[j] = 0
        for i in range(kx):
            of_x, at = 0, (i * stride + c) * ky
            for j in range(ky):
                m = counts[0, at + j]
                total += f[m]
                empty += m == 0
                of_x += m
                of_y[j] += m
            total -= f[of_x]
            n_k += of_x
        for j in range(ky):
            total -= f[of_y[j]]
        total += f[n_k]
    return total, empty


@jit_part
def observed_df(data, x, y, q, counting):
    """The degrees of freedom that are observed; 0 if there are too few observations for them."""
    kx, ky, df = data.levels[x], data.levels[y], 0
    for c in range(q):
        rows, columns = 0, 0
        for j in range(ky):
            counting.of_y[j] = 0
        for i in range(kx):
            of_x, at = 0, (i * (q + 1) + c) * ky
            for j in range(ky):
                of_x += counting.counts[0, at + j]
                counting.of_y[j] += counting.counts[0, at + j]
            rows += of_x > 0
        for j in range(ky):
            columns += counting.of_y[j] > 0
        df += (rows - 1) * (columns - 1)
    return df if data.codes.shape[1] >= OBSERVATIONS_PER_OBSERVED_DF * df else 0


@jit_part
def statistic_in_floats(data, x, y, q, stride, counting):
    """G^2 of the table that was counted, as pcalg computes it."""
    counts, of_y = counting.counts, counting.of_y
    kx, ky = data.levels[x], data.levels[y]
    total = 0.0
    for c in range(q):
        n_k = 0
        for j in range(ky):
            of_y[j] = 0
            for i in range(kx):
                of_y[j] += counts[0, (i * stride + c) * ky + j]
            n_k += of_y[j]
        for i in range(kx):
            of_x, at = 0, (i * stride + c) * ky
            for j in range(ky):
                of_x += counts[0, at + j]
            for j in range(ky):
                m = counts[0, at + j]
                if m > 0:
                    total += m * math.log(float(m) * float(n_k) / (float(of_x) * float(of_y[j])))
    return 2.0 * total


@jit_part
def degrees_of_freedom(data, x, y, size, q, empty):
    """The degrees of freedom of a test, lowered by the number of empty cells if `data.adapt`."""
    df = (data.levels[x] - 1) * (data.levels[y] - 1) * q
    if data.adapt and size > 0:
        if data.quirks:
            empty += 4 * (2**size - q)
        df -= empty
        if df < 1:
            df = 1
    return df


@jit_part
def run_test(data, x, y, size, q, counting):
    """Test x and y given the set whose configurations are there: (independent, G^2, degrees of freedom).

    A test without enough observations has G^2 = 0, of which the p-value is 1.
    """
    stride, cells = q, data.levels[x] * data.levels[y]
    if data.observed:
        q = counting.groups[size]
        stride = q + 1
        count_observed(data, x, y, size, cells * stride, counting)
    else:
        count_table(data, y, size, cells * q, counting)
    total, empty = statistic(data, x, y, q, stride, counting)
    df = observed_df(data, x, y, q, counting) if data.observed else degrees_of_freedom(data, x, y, size, q, empty)
    if df == 0:
        return True, 0.0, 1
    g2 = 2.0 * data.unit * total
    sure = df < len(data.cutoff) and abs(g2 - data.cutoff[df]) > data.band
    if sure and g2 >= SMALL:
        return g2 < data.cutoff[df], g2, df
    in_floats = statistic_in_floats(data, x, y, q, stride, counting)
    if sure:
        return g2 < data.cutoff[df], in_floats, df
    return upper_tail(in_floats, df) >= data.alpha, in_floats, df


@jit_part
def run_test_given(data, x, y, S, counting):
    """Test x and y given S, with the configurations that are there: (independent, p)."""
    size, known, ready = len(S), counting.known, 0
    while x == known[0] and ready < size and S[ready] == known[ready + 1]:
        ready += 1
    q = configurations(data.levels, S, size, data.codes.shape[1])
    if not is_tested(data, x, y, size, q):
        return True, 1.0  # too few observations count as independence
    if x != known[0]:
        start_configuration(data, x, counting)
        known[0] = x
    for t in range(ready, size):
        extend_configuration(data, S[t], t, counting)
        known[t + 1] = S[t]
    independent, g2, df = run_test(data, x, y, size, q, counting)
    return independent, upper_tail(g2, df)


@decides(Data)
@jit_part
def _test(data, x, y, S, counting):
    return run_test_given(data, x, y, S, counting)


def single_tests(data: Data, x: NDArray[Any], y: NDArray[Any], sets: NDArray[Any]) -> tuple[NDArray[np.bool_], Floats]:
    """Whether x[i] and y[i] are independent given sets[i], and the p-values; the sets are of one size, (k, size)."""
    order = np.lexsort((y, *sets.T[::-1], x)) if sets.shape[1] else np.arange(len(x))
    x, y, sets = (np.ascontiguousarray(values, np.int64) for values in (x, y, sets))
    independent, p = np.empty(len(x), dtype=np.bool_), np.empty(len(x))
    run_tests(data, x, y, sets, order, work_space(data, x, y, sets), independent, p)
    return independent, p


def walked(data: Data, x: NDArray[Any], y: NDArray[Any], candidates: NDArray[Any], size: int) -> Walked:
    """See `SetwiseTest.walked`."""
    widest = candidates[data.levels[candidates].argmax()] if size else 0
    return Walked(data, lambda _: work_space(data, x, y, np.full((1, size), widest)))
