"""micd's ``mixMItest``: likelihood ratio tests of conditional Gaussian models in several imputations, pooled.

The statistics of the imputations are pooled as by Meng and Rubin (1992), which needs the log-likelihood of each
imputation at parameters that are common to all: in each configuration of the categories the means over the imputations
of the logarithm of its share, of the means, and of the covariances (docs/contracts/missing.md, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.gaussian.correlation import correlation
from pycupc.independence.missing.reference_tests import disMItest, p_of_correlations, pooled_g2
from pycupc.independence.mixed.data import as_imputed
from pycupc.independence.mixed.mix_ci_test import (
    MORE,
    cells_of,
    centred,
    covariance_of,
    degrees_of_freedom,
    log_density,
    parts_of,
)
from pycupc.system.nearest import hinted


@hinted
def mixMItest(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``mixMItest``; ``gaussMItest`` or ``disMItest`` if all variables are of one kind.

    Parameters
    ----------
    x, y, S
        As for `gaussCItest`.
    suffStat : MixedImputation, or a list of M tables of numbers and categories
    quirks : bool, default False
        Reproduce the faults of micd (docs/contracts/missing.md, section 5): in an imputation that lacks a configuration
        its parameters count as 0, and categories that do not occur count for the degrees of freedom.

    Returns
    -------
    float in [0, 1], or NaN where `gaussMItest` is undefined
        Where covariance matrices are singular, the statistic is infinite, or undefined; then the p-value is 0, or 1.
    """
    given = as_imputed(suffStat)
    data = given if quirks else given.occurring
    V, others = [x, y, *S], range(2, len(S) + 2)
    values, kinds = data.values[:, :, V], data.categorical[V]
    if not kinds.any():
        return p_of_correlations([correlation(own) for own in values], 0, 1, others, data.n)
    if kinds.all():
        place = (np.cumsum(data.categorical) - 1)[V].tolist()
        return disMItest(place[0], place[1], place[2:], data.codes)
    if (values[:, :, :2] == values[0, 0, :2]).all(axis=(0, 1)).any():
        return 1.0
    of_full, of_mean = 0.0, 0.0
    for some, sign in parts_of(len(V)):
        own, common = _log_likelihoods(values[:, :, some], kinds[some], quirks=quirks)
        of_full, of_mean = of_full + 2 * sign * own, of_mean + 2 * sign * common
    return float(pooled(of_full, of_mean, degrees_of_freedom(data.levels[V][None]), data.M)[0])


@hinted
def flexMItest(x: int, y: int, S: Sequence[int], suffStat: Any, *, quirks: bool = False) -> float:
    """p-value of micd's ``flexMItest``, which is `mixMItest`; parameters and value are the same."""
    return mixMItest(x, y, S, suffStat, quirks=quirks)


def pooled(of_full: Any, of_mean: Any, k: Indices | Floats, M: int) -> Floats:
    """`pooled_g2`, but 0 where the second statistic is infinite, and 1 where the statistics are undefined."""
    p = pooled_g2(of_full, of_mean, k, M)
    return np.where(np.equal(of_mean, math.inf), 0.0, np.where(np.isnan(p), 1.0, p))


def _log_likelihoods(values: Floats, kinds: Mask, *, quirks: bool) -> tuple[float, float]:
    """The mean log-likelihood of M tables (M, n, k) at their own parameters, and at the common ones."""
    M, n, k = values.shape
    n_cells, cell = cells_of(values.reshape(M * n, k), kinds)
    cell, numbers, own, common = cell.reshape(M, n), values[:, :, ~kinds], 0.0, 0.0
    d, everywhere = numbers.shape[2], [covariance_of(table) for table in numbers]
    for c in range(n_cells):
        there: list[int] = []
        shares: list[float] = []
        means, covariances, products = list[Floats](), list[Floats](), list[Floats]()
        for m in np.flatnonzero((cell == c).any(axis=1)).tolist():
            rows = numbers[m][cell[m] == c]
            size, deviations = len(rows), centred(rows)
            products.append(deviations.T @ deviations)
            covariances.append(products[-1] / size if size > d + MORE else everywhere[m])
            there, shares, means = [*there, size], [*shares, math.log(size / n)], [*means, rows.mean(axis=0)]
            own += size * shares[-1] + log_density(products[-1], covariances[-1], size)
        of_all = M if quirks else len(there)
        mean, covariance = np.sum(means, axis=0) / of_all, np.sum(covariances, axis=0) / of_all
        about = sum(
            own + size * np.outer(at - mean, at - mean) for own, size, at in zip(products, there, means, strict=True)
        )
        common += sum(there) * sum(shares) / of_all + log_density(np.asarray(about), covariance, sum(there))
    return own / M, common / M
