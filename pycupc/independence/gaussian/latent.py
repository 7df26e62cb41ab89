"""Correlations of the Gaussian variables of which binary and ordinal columns are assumed to be classes.

Two steps (Olsson 1979; Olsson, Drasgow and Dorans 1982): the thresholds of a column follow from the shares of its
levels; then each pair has its own correlation. Of two measurements it is Pearson's; of a measurement and an ordinal
column, polyserial, Pearson's r times sd(codes) / (sum of the normal density at the thresholds), with the codes 0, 1,
2, ... and the divisor n of the variance; of two ordinal columns, polychoric, the maximum of the likelihood.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats
from pycupc.independence.gaussian.correlation import correlation
from pycupc.system.machine import available_cores, run_in_threads
from pycupc.system.progress import CountHook

#: Up to this number of different whole numbers, a column is taken for ordinal.
MOST_LEVELS = 10


#: The different values of each column that is binary or ordinal, ascending, by the number of the column.
Levels = dict[int, Floats]


def levels_of(X: Floats) -> Levels:
    """The different values of the columns of X (n, p) that have two, or up to `MOST_LEVELS` whole numbers."""
    found: Levels = {}
    for j in range(X.shape[1]):
        head = np.unique(X[: 4 * MOST_LEVELS, j])
        if len(head) <= MOST_LEVELS:
            values = np.unique(X[:, j])
            whole = bool((values == np.floor(values)).all())
            if len(values) == 2 or (2 < len(values) <= MOST_LEVELS and whole):
                found[j] = values
    return found


def kinds_of(levels: Levels, p: int) -> str:
    """How many of p columns are of each kind."""
    binary = sum(len(values) == 2 for values in levels.values())
    counts = {"binary": binary, "ordinal": len(levels) - binary, "continuous": p - len(levels)}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def latent_correlation(X: Floats, levels: Levels, progress: CountHook | None = None) -> Floats:
    """Correlations of the latent variables of a table (n, p), float64 (p, p); NaN where a column is constant."""
    values, columns = X.copy(), np.array(sorted(levels), dtype=np.int64)
    scale, thresholds = np.ones(X.shape[1]), {}
    for j in columns.tolist():
        codes = np.searchsorted(levels[j], X[:, j])
        values[:, j] = codes
        counts = np.bincount(codes, minlength=len(levels[j]))
        values[:, j] = (np.cumsum(counts > 0) - 1)[codes]  # without the levels that do not occur in these rows
        thresholds[j] = _thresholds(counts[counts > 0])
        density = sum(NormalDist().pdf(cut) for cut in thresholds[j][0])
        scale[j] = values[:, j].std() / density if density else math.nan
    C = correlation(values)
    if not len(columns):
        return C
    C = C * scale[:, None]
    C[columns[:, None], columns] = _ordinal(values[:, columns], [thresholds[j] for j in columns.tolist()], progress)
    from pycupc.independence.gaussian.polychoric import LARGEST

    # the rows of ordinal columns, which alone have their factor, also as columns; within the limits of the search
    C[columns] = np.where(np.abs(C[columns]) > LARGEST, np.copysign(LARGEST, C[columns]), C[columns])
    C[:, columns] = C[columns].T
    C[columns, columns] = np.where(np.isnan(scale[columns]), math.nan, 1.0)
    return C


def _thresholds(counts: NDArray[np.int64]) -> tuple[list[float], Floats]:
    """The thresholds between levels, one fewer than levels; the share of the observations up to each level."""
    share = np.cumsum(counts) / counts.sum()
    return [NormalDist().inv_cdf(s) for s in share[:-1].tolist()], share


def _ordinal(codes: Floats, thresholds: list[tuple[list[float], Floats]], progress: CountHook | None) -> Floats:
    """Polychoric correlations of columns of codes 0, 1, ..."""
    from pycupc.independence.gaussian import polychoric  # Numba, which takes a while to import

    p, levels = codes.shape[1], np.array([len(share) for _, share in thresholds])
    most = int(levels.max())
    cut, below, out = np.zeros((p, most)), np.ones((p, most)), np.eye(p)
    for j, (cuts, share) in enumerate(thresholds):
        cut[j, : len(cuts)], below[j, : len(share)] = cuts, share
    start, bytes_ = correlation(codes), np.ascontiguousarray(codes.T.astype(np.uint8))
    data = polychoric.Classes(bytes_, levels, cut, below)

    def fit(i: int) -> None:
        table, work = np.empty((most, most), dtype=np.int64), np.empty((3, most))
        polychoric.fit_row(i, data, np.nan_to_num(start[i]), table, work, out[i])

    run_in_threads(fit, range(p), available_cores(), progress, p)
    out = np.triu(out, 1) + np.triu(out, 1).T
    out[levels < 2] = math.nan
    out[:, levels < 2] = math.nan
    return out
