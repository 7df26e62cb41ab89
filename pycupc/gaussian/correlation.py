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
