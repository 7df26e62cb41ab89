"""micd's ``mixCItest`` and its kin: a likelihood ratio test of conditional Gaussian models, written out literally.

Given each configuration of the categories, the numbers are Gaussian, with means and covariances of their own (Lauritzen
and Wermuth 1989). With l(V) the largest log-likelihood of the variables V, the statistic is (Andrews, Ramsey and Cooper
2018)

    2 (l(x, y, S) - l(x, S) - l(y, S) + l(S))

and the degrees of freedom are the same sum of the numbers of parameters. In a configuration with at most d + 5
observations, d being the number of numeric variables in V, the means are its own, and all rows give the covariances.
A test of one kind of variables is pcalg's, with adaptDF=True if they are categories; of a table with gaps, that of
`reference_tests`. docs/contracts/missing.md, section 5, has the details.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.mixed import MixedTable
from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.discrete.g_square import OBSERVATIONS_PER_DF, disCItest, free
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.missing.data import IncompleteTable
from pycupc.independence.missing.reference_tests import disCItwd, p_of_complete_rows
from pycupc.independence.mixed.data import as_gapped, as_mixed
from pycupc.system.nearest import hinted

#: A configuration has covariances of its own if it has more observations than numbers and this together.
MORE = 5
#: A covariance matrix is singular if it has a pivot below this share of the variance: rounding leaves that much.
SINGULAR = 1e-14


@hinted
def mixCItest(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``mixCItest``; pcalg's ``gaussCItest`` or ``disCItest`` if all variables are of one kind.

    Parameters
    ----------
    x, y, S
        As for `gaussCItest`.
    suffStat : MixedTable, or a table of numbers and categories that it takes
    quirks : bool, default False
        Reproduce the faults of micd (docs/contracts/missing.md, section 5): those of tests of categories only, and
        categories that do not occur count for the degrees of freedom.

    Returns
    -------
    float in [0, 1]
        Where covariance matrices are singular, the statistic is infinite, or undefined; then the p-value is 0, or 1.
    """
    return _of_complete_rows([x, y, *S], _table(suffStat, as_mixed), quirks=quirks, flexible=False)


@hinted
def flexCItest(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``flexCItest``: `mixCItest`, except for the faults in tests of categories only.

    Parameters and value as for `mixCItest`; the two differ only with ``quirks=True``.
    """
    return _of_complete_rows([x, y, *S], _table(suffStat, as_mixed), quirks=quirks, flexible=True)


@hinted
def mixCItwd(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``mixCItwd``: `mixCItest` of the observations in which x, y and S are complete.

    Parameters
    ----------
    x, y, S
        As for `gaussCItest`.
    suffStat : MixedTable with gaps, or a table of numbers and categories that it takes
    quirks : bool, default False
        Reproduce the faults of micd (docs/contracts/missing.md, section 5): categories that do not occur in these
        observations count for the degrees of freedom.

    Returns
    -------
    float in [0, 1], or NaN where fewer than two observations are complete
    """
    return _of_gapped_rows([x, y, *S], _table(suffStat, as_gapped), quirks=quirks, flexible=False)


@hinted
def flexCItwd(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``flexCItwd``: `mixCItwd`, except that tests of categories only are `disCItwd`.

    Parameters and value as for `mixCItwd`; no number of observations is too small for a test of categories only.
    """
    return _of_gapped_rows([x, y, *S], _table(suffStat, as_gapped), quirks=quirks, flexible=True)


def _table(data: Any, made: Callable[[Any], MixedTable]) -> MixedTable:
    """The table of a single test, which a run has checked."""
    return data if isinstance(data, MixedTable) else made(data)


def _of_complete_rows(V: list[int], table: MixedTable, *, quirks: bool, flexible: bool) -> float:
    X, kinds, others = table.values, table.categorical[V], range(2, len(V))
    if not kinds.any():
        return gaussCItest(0, 1, others, {"C": correlation(X[:, V]), "n": len(X)})
    if not kinds.all():
        return _of_both_kinds(X[:, V], kinds, levels_of(table)[V] if quirks else levels_in(X[:, V], kinds))
    if quirks and not flexible and codes_are_skipped(table, V):
        return _of_gapped_rows(V, table, quirks=True, flexible=False)
    return disCItest(0, 1, others, of_categories(table, V, all_levels=quirks and flexible), quirks=quirks)


def _of_gapped_rows(V: list[int], table: MixedTable, *, quirks: bool, flexible: bool) -> float:
    kinds, others = table.categorical[V], range(2, len(V))
    if not kinds.any():
        return p_of_complete_rows(table.values[:, V])
    codes, rows = table.values[:, V], complete(table.values[:, V])
    if len(rows) < 2:
        return math.nan
    levels = levels_in(rows, kinds)
    if not kinds.all():
        return _of_both_kinds(rows, kinds, levels_of(table)[V] if quirks else levels)
    if not flexible and len(rows) < OBSERVATIONS_PER_DF * free(levels):
        return 1.0
    if flexible:
        codes = codes - least_codes(table)[V]
    data = IncompleteTable.of_checked(codes, categories=True, adaptDF=True)
    return disCItwd(0, 1, others, data, quirks=quirks)


def complete(values: Floats) -> Floats:
    """The rows without NaN."""
    return np.asarray(values[~np.isnan(values).any(axis=1)])


def levels_of(table: MixedTable) -> Indices:
    """How many categories each column has, int64 (p,); 0 for numbers."""
    return np.array([0 if own is None else len(own) for own in table.categories], dtype=np.int64)


def levels_in(rows: Floats, kinds: Mask) -> Indices:
    """How many categories occur in each column of complete rows, int64 (k,); 0 for numbers."""
    columns = zip(rows.T, kinds.tolist(), strict=True)
    counts = [np.count_nonzero(np.bincount(column.astype(np.int64))) if kind else 0 for column, kind in columns]
    return np.array(counts, dtype=np.int64)


def least_codes(table: MixedTable) -> Floats:
    """The lowest code that occurs in each column: micd's ``flexCItwd`` counts codes from there."""
    return np.asarray(np.fmin.reduce(table.values))


def codes_are_skipped(table: MixedTable, V: Any) -> bool:
    """Whether a category below the highest that occurs does not occur itself, in one of these columns."""
    return any(len(np.unique(column)) <= column.max() for column in table.values[:, V].T)


def of_categories(table: MixedTable, V: Any, *, all_levels: bool = False) -> DiscreteSuffStat:
    """The data of tests of categories only: the levels that occur, or all of them, also unlike `n_parameters`."""
    if all_levels:
        levels = np.maximum(levels_of(table)[V], 2)
        return DiscreteSuffStat.of_codes(table.values[:, V].astype(np.int64), levels, adaptDF=True)
    return DiscreteSuffStat.of_codes(table.codes(V), np.maximum(table.n_occurring[V], 2), adaptDF=True)


def n_parameters(levels: Indices) -> Floats:
    """The number of parameters of models, float64 (m,); the levels of their variables int (m, k), 0 for numbers."""
    cells, d = np.maximum(levels, 1).astype(np.float64).prod(axis=1), (levels == 0).sum(axis=1)
    return np.asarray(cells - 1 + cells * (d + d * (d + 1) // 2))


def degrees_of_freedom(levels: Indices) -> Floats:
    """The degrees of freedom of tests, float64 (m,); the levels of x, y and S int (m, k), 0 for numbers."""
    parts = (levels, 1), (np.delete(levels, 1, axis=1), -1), (levels[:, 1:], -1), (levels[:, 2:], 1)
    return np.asarray(sum(sign * n_parameters(some) for some, sign in parts))


def parts_of(k: int) -> tuple[tuple[list[int], int], ...]:
    """The positions of the variables of the four models of a test of x, y and k - 2 others, and the signs."""
    S = [*range(2, k)]
    return ([0, 1, *S], 1), ([0, *S], -1), ([1, *S], -1), (S, 1)


def _of_both_kinds(X: Floats, kinds: Mask, levels: Indices) -> float:
    """The p-value of the first two columns given the others, which are complete."""
    if (X[:, :2] == X[0, :2]).all(axis=0).any():
        return 1.0
    parts = parts_of(len(kinds))
    statistic = 2 * sum(sign * _log_likelihood(X[:, some], kinds[some]) for some, sign in parts)  # inf - inf: NaN
    if math.isnan(statistic):
        return 1.0
    from scipy.special import chdtrc  # takes a quarter of a second to import

    return float(chdtrc(degrees_of_freedom(levels[None])[0], max(statistic, 0.0)))


def cells_of(X: Floats, kinds: NDArray[np.bool_]) -> tuple[int, Indices]:
    """The number of configurations of the categories, and the configuration of each row."""
    if not kinds.any():
        return 1, np.zeros(len(X), dtype=np.int64)
    different, cell = np.unique(X[:, kinds], axis=0, return_inverse=True)
    return len(different), cell.reshape(-1)


def centred(own: Floats) -> Floats:
    """Rows less their mean, so that rounding gives a constant no variance."""
    own = own - own[0]
    return np.asarray(own - own.mean(axis=0))


def log_density(products: Floats, covariance: Floats, m: int) -> float:
    """The log-density of m observations, whose deviations have these products; inf if the matrix is singular."""
    d = len(covariance)
    sign, log_determinant = np.linalg.slogdet(covariance)
    if sign <= 0 or log_determinant < math.log(SINGULAR) + np.log(covariance.diagonal()).sum():
        return math.inf
    trace = np.trace(np.linalg.solve(covariance, products))
    return float(-0.5 * (m * (d * math.log(2 * math.pi) + log_determinant) + trace))


def _log_likelihood(X: Floats, kinds: Mask) -> float:
    """The largest log-likelihood of a table; `kinds`: which columns are categories. inf if a matrix is singular."""
    n, (n_cells, cell) = len(X), cells_of(X, kinds)
    d, total, numbers = int((~kinds).sum()), 0.0, X[:, ~kinds]
    everywhere = covariance_of(numbers)
    for k in range(n_cells):
        own = centred(numbers[cell == k])
        m, products = len(own), own.T @ own
        own_density = log_density(products, products / m if m > d + MORE else everywhere, m)
        if own_density == math.inf:
            return math.inf
        total += m * math.log(m / n) + own_density
    return total


def covariance_of(numbers: Floats) -> Floats:
    """The covariances of the columns, with divisor n."""
    own = centred(numbers)
    return np.asarray(own.T @ own / len(own))
