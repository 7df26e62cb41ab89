"""Correlations of ranks (Harris and Drton 2013), and the nearest correlation matrix to one that is none.

If the variables are Gaussian after some increasing transformation of each, these estimate the correlations of the
transformed variables: 2 sin(pi rho / 6) of Spearman's rho, sin(pi tau / 2) of Kendall's tau (tau-b, where there are
ties), and the correlations of normal scores.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats
from pycupc.system.machine import available_cores, run_in_threads
from pycupc.system.progress import CountHook

#: Up to this number of observations a device, which compares all pairs of them, is faster than n log n on a CPU.
MOST_ON_DEVICE = 16_384
#: Higham's iteration ends when a step changes no entry by more than NEAREST_CHANGE, or after NEAREST_STEPS steps.
NEAREST_CHANGE, NEAREST_STEPS = 1e-10, 1000
#: Smallest eigenvalue, as a share of the largest, that the nearest correlation matrix keeps.
NEAREST_EIGENVALUE = 1e-8


def ranks(X: NDArray[np.floating | np.integer]) -> Floats:
    """Ranks within each column of (n, p), from 1; equal observations share the mean of their ranks."""
    out = np.empty(X.shape)
    for j in range(X.shape[1]):
        _, group, size = np.unique(X[:, j], return_inverse=True, return_counts=True)
        out[:, j] = (np.cumsum(size) - (size - 1) / 2)[group]
    return out


def normal_scores(X: Floats) -> Floats:
    """Normal quantiles of ranks / n, truncated as Liu, Lafferty and Wasserman (2009) do; (n, p)."""
    n = len(X)
    least = 1 / (4 * n**0.25 * math.sqrt(math.pi * math.log(n)))
    quantile = NormalDist().inv_cdf
    share = np.clip(np.arange(2 * n + 1) / (2 * n), least, 1 - least)  # ranks are multiples of 1/2
    return np.array([quantile(s) for s in share.tolist()])[(2 * ranks(X)).astype(np.int64)]


def kendall(X: Floats, progress: CountHook | None = None, engine: Any = None) -> Floats:
    """Kendall's tau-b of each pair of columns of (n, p), float64 (p, p); NaN where a column is constant.

    `engine`, if it has a method `concordances`, counts on its device; the numbers are the same.
    """
    count = getattr(engine, "concordances", None)
    counts = count(X) if count is not None and len(X) <= MOST_ON_DEVICE else concordances(X, progress)
    root = np.sqrt(counts.diagonal())
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = np.clip(counts / np.outer(root, root), -1.0, 1.0)
    np.fill_diagonal(tau, np.where(root > 0, 1.0, math.nan))
    return np.asarray(tau)


def concordances(X: Floats, progress: CountHook | None = None) -> NDArray[np.int64]:
    """Pairs of observations that two columns order alike, minus unlike, (p, p); diagonal: pairs that differ."""
    from pycupc.independence.gaussian import concordance  # Numba, which takes a while to import

    n, p = X.shape
    order, ends, place, below, upto = (np.empty((p, n), dtype=np.int32) for _ in range(5))
    for j in range(p):
        order[j] = np.argsort(X[:, j], kind="stable")
        place[j, order[j]] = np.arange(n)
        x = X[order[j], j]
        first, behind = np.searchsorted(x, x), np.searchsorted(x, x, side="right")
        ends[j], below[j, order[j]], upto[j, order[j]] = behind, first, behind
    equal = upto.astype(np.int64) - below  # observations equal to each, itself included
    orders = concordance.Orders(order, ends, place, below, upto, np.asarray((equal > 1).any(axis=1)))
    counts = np.zeros((p, p), dtype=np.int64)

    def count(i: int) -> None:
        words, tree = np.empty(n // 64 + 1, dtype=np.int64), np.empty(n // 64 + 2, dtype=np.int64)
        concordance.fill_row(i, orders, words, tree, counts[i])

    run_in_threads(count, range(p - 1), available_cores(), progress, p - 1)
    counts += counts.T
    np.fill_diagonal(counts, (n - equal).sum(axis=1) // 2)
    return counts


def nearest_correlation(C: Floats) -> tuple[Floats, float]:
    """The positive definite correlation matrix nearest to C by the Frobenius norm (Higham 2002), and its distance.

    Alternating projections with Dykstra's correction. Rows and columns of NaN stay.
    """
    known = ~np.isnan(C.diagonal())
    Y = C[np.ix_(known, known)]
    if np.isnan(Y).any():
        raise ValueError("nearest=True needs correlations of all pairs, but some are NaN")
    start, correction = Y, np.zeros_like(Y)
    if np.linalg.eigvalsh(Y)[0] >= 0:
        return C, 0.0
    for _ in range(NEAREST_STEPS):
        R = Y - correction
        values, vectors = np.linalg.eigh(R)
        X = (vectors * np.maximum(values, 0.0)) @ vectors.T
        correction, before = X - R, Y
        Y = X.copy()
        np.fill_diagonal(Y, 1.0)
        if np.abs(Y - before).max() <= NEAREST_CHANGE:
            break
    values, vectors = np.linalg.eigh(Y)
    Y = (vectors * np.maximum(values, NEAREST_EIGENVALUE * values[-1])) @ vectors.T
    scale = np.sqrt(Y.diagonal())
    Y = Y / np.outer(scale, scale)
    Y = (Y + Y.T) / 2
    np.fill_diagonal(Y, 1.0)
    out = C.copy()
    out[np.ix_(known, known)] = Y
    return out, float(np.linalg.norm(Y - start))
