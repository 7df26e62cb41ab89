"""micd's tests of data with missing values, written out literally with NumPy (docs/contracts/missing.md).

They are slow. The reference engine and single tests use them; the cpu engine recognises them as an `indepTest` and
makes its own form of each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycupc.independence.base import Floats
from pycupc.independence.discrete.g_square import LARGEST_SET_OF_DISCITEST, free, g_square, p_of_tables, tables_of
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.fisher_z import p_value_of
from pycupc.independence.gaussian.gauss_ci_test import partial_correlation
from pycupc.independence.missing.data import MultipleImputation, as_imputation, as_incomplete
from pycupc.system.nearest import hinted


@hinted
def gaussMItest(x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
    """p-value of micd's ``gaussMItest``: Fisher's z of each imputation, pooled by the rules of Rubin (1987).

    Parameters
    ----------
    x, y, S
        As for `gaussCItest`.
    suffStat : MultipleImputation, or list of M correlation matrices and the number of observations

    Returns
    -------
    float in [0, 1], or NaN where the number of observations is below the size of S plus 3
    """
    data = as_imputation(suffStat)
    return p_of_correlations(data.matrices, x, y, S, data.n)


def p_of_correlations(matrices: Sequence[Floats] | Floats, x: int, y: int, S: Sequence[int], n: float) -> float:
    """p-value of x and y given S from the correlations of M imputations, as of `gaussMItest`."""
    r = np.array([partial_correlation(C, x, y, S) for C in matrices])
    with np.errstate(divide="ignore"):
        return float(pooled_z(np.log1p(2 * r / (1 - r)) / 2, n, len(S)))


@hinted
def disMItest(x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
    """p-value of micd's ``disMItest``: likelihood ratio tests of the imputations, pooled as by Meng and Rubin (1992).

    Parameters and value as for `gaussMItest`, with categories in place of numbers: a `MultipleImputation` of
    categories, or a list of M tables. The degrees of freedom count all configurations of S; no number of observations
    is too small.
    """
    data = as_imputation(suffStat, categories=True)
    M, levels = data.M, data.levels.copy()
    codes = data.codes.transpose(1, 0, 2).reshape(data.p, -1).astype(np.int64)
    codes[x] += levels[x] * np.repeat(np.arange(M), int(data.n))  # so that each imputation has a table of its own
    k, levels[x] = free(levels[[x, y, *S]]), M * levels[x]
    tables = tables_of(codes, x, y, S, levels)
    tables = tables.reshape(len(tables), M, -1, tables.shape[2])
    with np.errstate(all="ignore"):
        fitted = tables.sum(axis=3, keepdims=True) * tables.sum(axis=2, keepdims=True)
        fitted /= tables.sum(axis=(2, 3), keepdims=True)  # NaN where an imputation lacks a configuration
        count, expected = tables.mean(axis=1), fitted.mean(axis=1)
        there = (count > 0) & ~np.isnan(expected)
        of_mean = 2 * (count[there] * np.log(count[there] / expected[there])).sum()
    of_full = np.mean([g_square(tables[:, m]) for m in range(M)])
    return float(pooled_g2(of_full, of_mean, k, M))


@hinted
def gaussCItwd(x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
    """p-value of micd's ``gaussCItwd``: `gaussCItest` of the observations in which x, y and S are complete.

    Parameters
    ----------
    x, y, S
        As for `gaussMItest`.
    suffStat : table (n, p)
        Numbers, NaN where one is missing.

    Returns
    -------
    float in [0, 1], or NaN where fewer than two observations are complete, or one of the variables is constant in them
    """
    return p_of_complete_rows(as_incomplete(suffStat).values[:, [x, y, *S]])


def p_of_complete_rows(values: Floats) -> float:
    """p-value of the first two columns of numbers given the others, as of `gaussCItwd`."""
    rows, size = complete_rows(values), values.shape[1] - 2
    if rows is None:
        return math.nan
    return p_value_of(partial_correlation(correlation(rows), 0, 1, range(2, size + 2)), len(rows) - size - 3)


def complete_rows(values: Floats) -> Floats | None:
    """The rows of a table of numbers without NaN; None if they define no correlations."""
    rows: Floats = values[~np.isnan(values).any(axis=1)]
    return None if len(rows) < 2 or (rows == rows[0]).all(axis=0).any() else rows


@hinted
def disCItwd(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``disCItwd``: the G^2 test of the observations in which x, y and S are complete.

    Parameters
    ----------
    x, y, S
        As for `gaussMItest`.
    suffStat : mapping with "dm", codes (n, p) that may be missing, and "adaptDF"; or a table of categories
    quirks : bool
        Answer as micd, with its faults (docs/contracts/missing.md).

    Returns
    -------
    float in [0, 1], or NaN where fewer than two observations are complete

    Notes
    -----
    Only levels that occur in these observations count; no number of observations is too small.
    """
    data = as_incomplete(suffStat, categories=True)
    values = data.values[:, [x, y, *S]]
    rows = values[(values >= 0).all(axis=1)]
    if (n := len(rows)) < 2:
        return math.nan
    levels = np.array([len(np.unique(column)) for column in rows.T])
    if (quirks and len(S) > LARGEST_SET_OF_DISCITEST) or (levels[:2] == 1).any():
        return 1.0
    if quirks:  # codes from the number of levels on are not counted
        rows = rows[(rows < levels).all(axis=1)]
    else:
        rows = np.column_stack([np.unique(column, return_inverse=True)[1] for column in rows.T])
    tables = tables_of(rows.T, 0, 1, range(2, len(levels)), levels)
    return p_of_tables(tables, levels, adapt=data.adaptDF, quirks=quirks, total=None if len(S) or not quirks else n)


def pooled_z(z: Floats, n: float, size: int) -> Floats:
    """The p-values of M values of Fisher's z given sets of this size, (..., M), by the rules of Rubin (1987)."""
    M, (mean, between) = z.shape[-1], (z.mean(axis=-1), z.var(axis=-1, ddof=1))
    with np.errstate(all="ignore"):
        within = np.float64(1.0) / (n - size - 3)
        if np.isinf(within):
            return np.ones_like(mean)
        total = within + (1 + 1 / M) * between
        df = (M - 1) * (1 + within / between * M / (M + 1)) ** 2
        return np.where(total > 0, upper_tail_of_f(mean * mean / total, 1, df), math.nan)


def pooled_g2(of_full: Any, of_mean: Any, k: Any, M: int) -> Floats:
    """The p-values of the pooled likelihood ratio test of Meng and Rubin (1992) with k degrees of freedom."""
    with np.errstate(all="ignore"):
        r, t = (M + 1) / (k * (M - 1)) * (of_full - of_mean), k * (M - 1)
        df = np.where(t > 4, 4 + (t - 4) * (1 + (1 - 2 / t) / r) ** 2, t * (1 + 1 / k) * (1 + 1 / r) ** 2 / 2)
        return upper_tail_of_f(of_mean / (k * (1 + r)), k, df)


def upper_tail_of_f(value: Any, k: Any, df: Any) -> Floats:
    """P(F > value) with k and df degrees of freedom; NaN where it is undefined."""
    from scipy.special import chdtrc, fdtrc

    value, endless = np.maximum(value, 0.0), df > 1e12
    return np.asarray(np.where(endless, chdtrc(k, np.where(endless, k * value, 0.0)), fdtrc(k, df, value)))


#: The tests, by the name that micd gives them.
TESTS = {test.__name__: test for test in (gaussMItest, disMItest, gaussCItwd, disCItwd)}

__all__ = ["TESTS", "MultipleImputation", "disCItwd", "disMItest", "gaussCItwd", "gaussMItest"]
