"""Imputation by chained equations, with scikit-learn."""

from __future__ import annotations

import warnings
from typing import Any

from pycupc.data.table import Table
from pycupc.independence.missing.data import MultipleImputation


def imputed(data: Any, M: int, seed: int = 0, *, rounds: int = 10) -> MultipleImputation:
    """M imputations of a table of numbers.

    Each variable in turn is drawn from its distribution given the others by a Bayesian linear regression
    (scikit-learn's ``IterativeImputer`` with ``sample_posterior``), `rounds` times. Imputation m has the random state
    seed + m.

    Parameters
    ----------
    data : table (n, p)
        Numbers, NaN where one is missing.
    M : int
        At least 2.
    seed : int
    rounds : int

    Raises
    ------
    ImportError
        scikit-learn is not installed.
    """
    try:
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer
    except ImportError as error:
        raise ImportError("imputation needs scikit-learn: pip install 'pycupc[impute]'") from error
    table = data if isinstance(data, Table) else Table.of(data)
    made = []
    for m in range(M):
        imputer = IterativeImputer(
            sample_posterior=True, max_iter=rounds, random_state=seed + m, keep_empty_features=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # draws do not converge to a value
            made.append(imputer.fit_transform(table.values))
    return MultipleImputation(made, table.labels)
