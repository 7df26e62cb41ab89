"""Imputation of tables of numbers and categories by chained equations, with scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from pycupc.data.mixed import MixedTable
from pycupc.independence.base import Floats, Indices
from pycupc.independence.missing.impute import check_arguments, drawing, drawn_categories, imputed
from pycupc.independence.mixed.data import MixedImputation, as_gapped
from pycupc.independence.mixed.mix_ci_test import levels_of
from pycupc.system.text import explained_as


@explained_as(imputed)
def imputed_mixed(data: Any, M: int, seed: int = 0, *, rounds: int = 10) -> MixedImputation:
    """M imputations of a table of numbers and categories.

    Each variable in turn is drawn from its distribution given all others, `rounds` times: a number by a Bayesian linear
    regression, a category by a logistic regression that is fitted to a bootstrap sample of the rows that have it. The
    others enter as standardised numbers, and as indicators of categories. Imputation m has the random state seed + m.

    Parameters
    ----------
    data : MixedTable with gaps, or what `MixedTable.of` takes
    M, seed, rounds
        See `imputed`.

    Raises
    ------
    ImportError
        scikit-learn is not installed.
    """
    check_arguments(M, seed)
    table = data if isinstance(data, MixedTable) and data.checked else as_gapped(data)
    levels = levels_of(table)
    with drawing():
        made = [_drawn(table.values, levels, np.random.default_rng(seed + m), rounds) for m in range(M)]
    return MixedImputation.from_values(made, levels, table.labels)


def _drawn(values: Floats, levels: Indices, rng: np.random.Generator, rounds: int) -> Floats:
    """An imputation of a table (n, p), NaN where a value is missing; `levels`: 0 of a column of numbers."""
    out, gaps = values.copy(), np.isnan(values)
    for column, given, gap in zip(out.T, values.T, gaps.T, strict=True):
        column[gap] = rng.choice(given[~gap], np.count_nonzero(gap))
    centre, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    scale[scale == 0] = 1.0
    indicators = [np.eye(max(k, 1))[:, 1:] for k in levels.tolist()]

    def predictors(j: int) -> Floats:
        """All columns but the column j, as regressions take them."""
        return np.column_stack(
            [
                indicators[i][out[:, i].astype(np.int64)] if levels[i] else (out[:, i] - centre[i]) / scale[i]
                for i in range(len(levels))
                if i != j
            ]
        )

    for j in np.flatnonzero(gaps.any(axis=0)).tolist() * rounds:
        gap, others = gaps[:, j], predictors(j)
        if levels[j]:
            out[gap, j] = drawn_categories(others, out[:, j].astype(np.int64), gap, rng)
        else:
            standard = (out[:, j] - centre[j]) / scale[j]
            out[gap, j] = centre[j] + scale[j] * _drawn_numbers(others, standard, gap, rng)
    return out


def _drawn_numbers(others: Floats, values: Floats, gap: Any, rng: np.random.Generator) -> Floats:
    """Draws of the values of a column in its gaps, by a Bayesian linear regression on the others."""
    from sklearn.linear_model import BayesianRidge

    mean, deviation = BayesianRidge().fit(others[~gap], values[~gap]).predict(others[gap], return_std=True)
    return np.asarray(rng.normal(mean, deviation))
