"""micd's ``mixCItest``: a likelihood ratio test of conditional Gaussian models, written out literally.

Given each configuration of the categories, the numbers are Gaussian, with means and covariances of their own (Lauritzen
and Wermuth 1989). With l(V) the largest log-likelihood of the variables V, the statistic is (Andrews, Ramsey and Cooper
2018)

    2 (l(x, y, S) - l(x, S) - l(y, S) + l(S))

and the degrees of freedom are the same sum of the numbers of parameters. In a configuration with at most d + 5
observations, d being the number of numeric variables in V, the means are its own, and all rows give the covariances.
A test of one kind of variables is pcalg's, with adaptDF=True if they are categories. Categories that do not occur count
among the parameters, but not in a test of categories only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycupc.data.mixed import MixedTable
from pycupc.independence.base import Floats
from pycupc.independence.discrete.g_square import disCItest
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.independence.missing.data import MultipleImputation
from pycupc.system.nearest import hinted

#: A configuration has covariances of its own if it has more observations than numbers and this together.
MORE = 5
#: A covariance matrix is singular if it has a pivot below this share of the variance: rounding leaves that much.
SINGULAR = 1e-14


def as_mixed(data: Any) -> MixedTable:
    """The data of `mixCItest`: a `MixedTable`, or what `MixedTable.of` takes. They are checked."""
    several = isinstance(data, list | tuple) and len(data) > 0 and np.ndim(data[0]) == 2
    if several or isinstance(data, MultipleImputation):
        text = "mixCItest takes one table; tests of several imputations are pooled for numbers (gaussMItest) and for "
        raise TypeError(text + "categories (disMItest), not for both kinds together")
    table = data if isinstance(data, MixedTable) else MixedTable.of(data)
    table.check()
    return table


@hinted
def mixCItest(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``mixCItest``; pcalg's ``gaussCItest`` or ``disCItest`` if all variables are of one kind.

    Parameters
    ----------
    x, y, S
        As for `gaussCItest`.
    suffStat : MixedTable, or a table of numbers and categories that it takes
    quirks : bool, default False
        Reproduce two faults of `disCItest` in pcalg, as micd does (docs/contracts/contract.md, section 12).

    Returns
    -------
    float in [0, 1]
        Where covariance matrices are singular, the statistic is infinite, or undefined; then the p-value is 0, or 1.
    """
    table = suffStat if isinstance(suffStat, MixedTable) else as_mixed(suffStat)
    V = [x, y, *S]
    X, kinds = table.values, table.categorical
    if not kinds[V].any():
        return gaussCItest(0, 1, range(2, len(V)), {"C": correlation(X[:, V]), "n": len(X)})
    if kinds[V].all():
        return disCItest(0, 1, range(2, len(V)), of_categories(table, V), quirks=quirks)
    if (X[:, [x, y]] == X[0, [x, y]]).all(axis=0).any():
        return 1.0
    parts = (V, 1), ([x, *S], -1), ([y, *S], -1), (list(S), 1)
    statistic = 2 * sum(sign * _log_likelihood(X[:, some], kinds[some]) for some, sign in parts)  # inf - inf: NaN
    df = sum(sign * n_parameters(table, [some])[0] for some, sign in parts)
    if math.isnan(statistic):
        return 1.0
    from scipy.special import chdtrc  # takes a quarter of a second to import

    return float(chdtrc(df, max(statistic, 0.0)))


def of_categories(table: MixedTable, V: Any) -> DiscreteSuffStat:
    """The data of tests of categories only, with the levels up to the largest that occurs, unlike `n_parameters`."""
    codes = table.codes(V)
    return DiscreteSuffStat(codes, np.maximum(codes.max(axis=0) + 1, 2), adaptDF=True)


def n_parameters(table: MixedTable, V: Any) -> Floats:
    """The number of parameters of the model of each row of variables, float64 (m,); V int (m, k)."""
    V, levels = np.asarray(V, dtype=np.int64), [1.0 if own is None else len(own) for own in table.categories]
    cells, d = np.array(levels)[V].prod(axis=1), (~table.categorical[V]).sum(axis=1)
    return np.asarray(cells - 1 + cells * (d + d * (d + 1) // 2))


def _log_likelihood(X: Floats, kinds: np.ndarray[Any, np.dtype[np.bool_]]) -> float:
    """The largest log-likelihood of a table; `kinds`: which columns are categories. inf if a matrix is singular."""
    n, d = len(X), int((~kinds).sum())
    _, cell = np.unique(X[:, kinds], axis=0, return_inverse=True) if kinds.any() else (None, np.zeros(n, dtype=int))
    total, numbers = 0.0, X[:, ~kinds] - X[0, ~kinds]  # so that rounding gives a constant no variance; below as well
    everywhere = np.cov(numbers.T, bias=True).reshape(d, d) if d else np.zeros((0, 0))
    for k in range(int(cell.max()) + 1):
        own = numbers[cell.reshape(-1) == k]
        m, own = len(own), own - own[0]
        own -= own.mean(axis=0)
        products = own.T @ own
        covariance = products / m if m > d + MORE else everywhere
        sign, log_determinant = np.linalg.slogdet(covariance)
        if sign <= 0 or log_determinant < math.log(SINGULAR) + np.log(covariance.diagonal()).sum():
            return math.inf
        total += m * math.log(m / n) - 0.5 * m * (d * math.log(2 * math.pi) + log_determinant)
        total -= 0.5 * float(np.trace(np.linalg.solve(covariance, products)))
    return float(total)
