"""micd's tests of data with missing values, written out literally with NumPy (docs/MISSING.md).

They are slow. The reference engine and single tests use them; the cpu engine recognises them as an `indepTest` and
makes its own form of each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats
from pycupc.independence.discrete.g_square import LARGEST_SET_OF_DISCITEST
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.fisher_z import p_value_of
from pycupc.independence.gaussian.gauss_ci_test import partial_correlation
from pycupc.independence.missing.data import MultipleImputation, as_imputation, as_incomplete

Codes = NDArray[Any]


def gaussMItest(x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
    """p-value of micd's ``gaussMItest``: Fisher's z of each imputation, pooled by the rules of Rubin (1987).

    Parameters
    ----------
    x, y : int
        0-based, different variables.
    S : sequence of int
        Conditioning set, 0-based, without x and y; may be empty.
    suffStat : MultipleImputation, or list of M correlation matrices and the number of observations

    Returns
    -------
    float in [0, 1], or NaN where the number of observations is below the size of S plus 3
    """
    data = as_imputation(suffStat)
    r = np.array([partial_correlation(C, x, y, S) for C in data.matrices])
    with np.errstate(all="ignore"):
        z = np.log1p(2 * r / (1 - r)) / 2
        M, mean, between = len(z), z.mean(), z.var(ddof=1)
        within = np.float64(1.0) / (data.n - len(S) - 3)
        total = within + (1 + 1 / M) * between
        if np.isinf(within):
            return 1.0
        df = (M - 1) * (1 + within / between * M / (M + 1)) ** 2
        return _upper_tail_of_f(float(mean * mean / total), 1, float(df)) if total > 0 else math.nan


def disMItest(x: int, y: int, S: Sequence[int], suffStat: Any) -> float:
    """p-value of micd's ``disMItest``: likelihood ratio tests of the imputations, pooled as by Meng and Rubin (1992).

    Parameters and value as for `gaussMItest`, with categories in place of numbers: a `MultipleImputation` of
    categories, or a list of M tables. The degrees of freedom count all configurations of S; no number of observations
    is too small.
    """
    data = as_imputation(suffStat, categories=True)
    levels = data.levels
    tables = np.array([_table([*S, x, y], codes, levels) for codes in data.codes])
    with np.errstate(all="ignore"):
        fitted = tables.sum(axis=3, keepdims=True) * tables.sum(axis=2, keepdims=True)
        fitted = fitted / tables.sum(axis=(2, 3), keepdims=True)  # NaN where an imputation lacks a configuration
        of_full = np.mean([_likelihood_ratio(*pair) for pair in zip(tables, fitted, strict=True)])
        of_mean = _likelihood_ratio(tables.mean(axis=0), fitted.mean(axis=0))
        M, k = len(tables), int((levels[x] - 1) * (levels[y] - 1) * prod(levels[s] for s in S))
        r = (M + 1) / (k * (M - 1)) * (of_full - of_mean)
        t = k * (M - 1)
        df = 4 + (t - 4) * (1 + (1 - 2 / t) / r) ** 2 if t > 4 else t * (1 + 1 / k) * (1 + 1 / r) ** 2 / 2
        return _upper_tail_of_f(float(of_mean / (k * (1 + r))), k, float(df))


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
    values = as_incomplete(suffStat).values[:, [x, y, *S]]
    rows = values[~np.isnan(values).any(axis=1)]
    if len(rows) < 2 or (rows == rows[0]).all(axis=0).any():
        return math.nan
    return p_value_of(partial_correlation(correlation(rows), 0, 1, range(2, len(S) + 2)), len(rows) - len(S) - 3)


def disCItwd(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``disCItwd``: the G^2 test of the observations in which x, y and S are complete.

    Parameters
    ----------
    x, y, S
        As for `gaussMItest`.
    suffStat : mapping with "dm", codes (n, p) that may be missing, and "adaptDF"; or a table of categories
    quirks : bool
        Answer as micd, with its faults (docs/MISSING.md).

    Returns
    -------
    float in [0, 1], or NaN where fewer than two observations are complete

    Notes
    -----
    The numbers of levels are those that occur in these observations; no number of observations is too small.
    """
    from scipy.special import chdtrc

    data = as_incomplete(suffStat, categories=True)
    values = data.values[:, [x, y, *S]]
    rows = values[(values >= 0).all(axis=1)]
    if len(rows) < 2:
        return math.nan
    levels = np.array([len(np.unique(column)) for column in rows.T])
    if quirks and len(S) > LARGEST_SET_OF_DISCITEST:
        return 1.0
    if (levels[:2] == 1).any():
        return 1.0
    n = len(rows)
    if quirks:  # codes from the number of levels on are not counted
        rows = rows[(rows < levels).all(axis=1)]
    else:
        rows = np.column_stack([np.unique(column, return_inverse=True)[1] for column in rows.T])
    table = _table([*range(2, len(S) + 2), 0, 1], rows.T, levels)
    of_x, of_y = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    total = of_x.sum(axis=1, keepdims=True) if len(S) or not quirks else float(n)
    with np.errstate(all="ignore"):
        g2 = _likelihood_ratio(table, of_x * of_y / total)
    df = int(prod(levels[:2] - 1) * prod(levels[2:]))
    if data.adaptDF and len(S):
        empty = table.size - int(np.count_nonzero(table)) + (4 * (2 ** len(S) - prod(levels[2:])) if quirks else 0)
        df = max(df - empty, 1)
    return float(chdtrc(df, max(g2, 0.0)))


def _table(variables: Sequence[int], codes: Codes, levels: NDArray[np.int64]) -> Floats:
    """Counts of (configuration of all but the last two variables, the one before the last, the last)."""
    shape = [int(levels[v]) for v in variables]
    cells = np.ravel_multi_index([codes[v].astype(np.int64) for v in variables], shape)
    return np.bincount(cells, minlength=prod(shape)).reshape(-1, *shape[-2:]).astype(np.float64)


def _likelihood_ratio(counts: Floats, expected: Floats) -> float:
    """Twice the sum of counts log(counts / expected), without empty cells and cells without an expected count."""
    there = (counts > 0) & ~np.isnan(expected)
    return float(2 * (counts[there] * np.log(counts[there] / expected[there])).sum())


def _upper_tail_of_f(value: float, k: int, df: float) -> float:
    from scipy.special import chdtrc, fdtrc

    return float(chdtrc(k, max(k * value, 0.0)) if df > 1e12 else fdtrc(k, df, max(value, 0.0)))


#: The tests, by the name that micd gives them.
TESTS = {test.__name__: test for test in (gaussMItest, disMItest, gaussCItwd, disCItwd)}

__all__ = ["TESTS", "MultipleImputation", "disCItwd", "disMItest", "gaussCItwd", "gaussMItest"]
