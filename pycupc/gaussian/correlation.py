"""The correlation matrix of a table of observations."""

from __future__ import annotations

from typing import Protocol

import numpy as np


class CorrelationEngine(Protocol):
    """Something that computes correlations in its own way: an engine with a device."""

    def correlation(self, X: np.ndarray) -> np.ndarray:
        """Correlation matrix float64 (p, p) of data float64 (n, p)."""


def correlation(X: np.ndarray) -> np.ndarray:
    """Correlation matrix of float64 data (n, p), columns centred before products are taken; agrees with R's ``cor``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        C = np.corrcoef(X, rowvar=False)
    np.fill_diagonal(C, 1.0)
    return np.ascontiguousarray(C)


def groups_of_identical_columns(X: np.ndarray) -> list[list[int]]:
    """Which columns of a table are exact copies of each other.

    Parameters
    ----------
    X : float64 (n, p)

    Returns
    -------
    list of list of int
        Groups of two or more columns that are equal in every row, ascending; sorted by their first members.
    """
    n, p = X.shape
    keys = np.zeros(p, dtype=np.uint64)
    weights = np.random.default_rng(0).integers(1 << 63, size=(n, 1), dtype=np.uint64) * 2 + 1
    rows = max(1, (1 << 20) // p)
    for k in range(0, n, rows):
        bits = (X[k : k + rows] + 0.0).view(np.uint64)  # + 0.0 turns -0.0 into 0.0, which it is equal to
        bits ^= bits >> 32
        bits *= weights[k : k + rows]
        keys += bits.sum(axis=0, dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    differs = np.diff(keys[order]) != 0
    groups = []
    if not differs.all():
        for columns in np.split(order, np.flatnonzero(differs) + 1):
            while len(columns) > 1:  # equal keys are only a hint
                equal = (X[:, columns] == X[:, columns[:1]]).all(axis=0)
                if equal.sum() > 1:
                    groups.append(columns[equal].tolist())
                columns = columns[~equal & (np.arange(len(columns)) > 0)]
    return sorted(groups)
