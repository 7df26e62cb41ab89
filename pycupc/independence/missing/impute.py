"""Imputation by chained equations, with scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_real, is_whole
from pycupc.data.table import Table
from pycupc.independence.base import Floats, Indices, Mask
from pycupc.independence.missing.data import IncompleteTable, MultipleImputation
from pycupc.system.extras import needed

#: The largest seed: random states of scikit-learn have 32 bits.
MAX_SEED = 2**31


def imputed(data: Any, M: int, seed: int = 0, *, rounds: int = 10, categories: bool = False) -> MultipleImputation:
    """M imputations of a table of numbers, or of a table of categories.

    Each variable in turn is drawn from its distribution given the others, `rounds` times: a number by a Bayesian linear
    regression (scikit-learn's ``IterativeImputer`` with ``sample_posterior``), a category by a logistic regression on
    the categories of the others, fitted to a bootstrap sample of the rows that have the variable. Imputation m has the
    random state seed + m.

    Parameters
    ----------
    data : table (n, p), or `IncompleteTable`
        Numbers, NaN where one is missing; or with `categories`, whole numbers or any categories.
    M : int
        At least 2.
    seed : int
        From 0 to 2^31.
    rounds : int
        Times that each variable is drawn.

    Raises
    ------
    ImportError
        scikit-learn is not installed.
    """
    check_arguments(M, seed)
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    if categories:
        table = data if isinstance(data, IncompleteTable) else IncompleteTable(data, categories=True)
    else:
        numbers = data if isinstance(data, Table) else Table.of(data)
        if numbers is not data:  # a `Table` has been checked
            numbers.check(complete=False)
    with drawing():
        if categories:
            known = [np.unique(column[column >= 0]) for column in table.values.T]
            pairs = zip(known, table.values.T, strict=True)
            codes = np.column_stack([np.where(v < 0, -1, np.searchsorted(k, v)) for k, v in pairs])
            made = [_drawn(codes, np.random.default_rng(seed + m), rounds).T for m in range(M)]
            return MultipleImputation.from_codes(made, [max(len(k), 2) for k in known], table.labels)
        how = {"sample_posterior": True, "max_iter": rounds}
        each = [IterativeImputer(random_state=seed + m, **how).fit_transform(numbers.values) for m in range(M)]
    return MultipleImputation(each, numbers.labels)


def check_arguments(M: int, seed: int) -> None:
    """ImportError without scikit-learn; TypeError or ValueError if M or the seed is not as it should be."""
    needed("sklearn", "imputation", "impute")
    check_real("seed", f"a whole number from 0 to {MAX_SEED:,}", seed, lambda k: is_whole(k) and 0 <= k <= MAX_SEED)
    check_real("M", "a whole number of at least 2 imputations", M, lambda M: M >= 2 and int(M) == M)


@contextmanager
def drawing() -> Iterator[None]:
    """Inside, scikit-learn draws imputations."""
    from threadpoolctl import threadpool_limits  # of scikit-learn

    with warnings.catch_warnings(), threadpool_limits(1):  # threads would wait longer than they compute
        warnings.simplefilter("ignore")  # draws do not converge to a value
        yield


def _drawn(codes: Indices, rng: np.random.Generator, rounds: int) -> Indices:
    """An imputation of codes, int64 (n, p), -1 where one is missing."""
    out, gaps = codes.copy(), codes < 0
    for column, values, gap in zip(out.T, codes.T, gaps.T, strict=True):
        column[gap] = rng.choice(values[~gap], np.count_nonzero(gap))
    indicators: list[NDArray[Any]] = [np.eye(k)[:, 1:] for k in codes.max(axis=0) + 1]
    for j in np.flatnonzero(gaps.any(axis=0)).tolist() * rounds:
        others = np.hstack([indicators[i][out[:, i]] for i in range(codes.shape[1]) if i != j])
        out[gaps[:, j], j] = drawn_categories(others, out[:, j], gaps[:, j], rng)
    return out


def drawn_categories(others: Floats, codes: Indices, gap: Mask, rng: np.random.Generator) -> Indices:
    """Draws of the codes of a column in its gaps, by a logistic regression on the others, float64 (n, k)."""
    from sklearn.linear_model import LogisticRegression

    there = np.flatnonzero(~gap)
    some = rng.choice(there, len(there))
    classes = np.unique(codes[some])
    if len(classes) > 1:
        p = LogisticRegression(max_iter=200).fit(others[some], codes[some]).predict_proba(others[gap])
    else:
        p = np.ones((np.count_nonzero(gap), 1))
    below = p.cumsum(axis=1)[:, :-1] < rng.random((len(p), 1))
    return np.asarray(classes[below.sum(axis=1)])
