"""Data that are difficult for the sieve of the GPU engine, and the check of the pairs that it picks."""

import numpy as np

from pycupc.engines.gpu import device_sieve
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.levels import level_of
from pycupc.engines.gpu.schur import SchurTests
from pycupc.independence.gaussian.correlation import correlation


def difficult(n: int, p: int, cutoff: float) -> np.ndarray:
    """Columns with outliers, ties, extreme scales, hardly any variance, or a correlation next to the cutoff."""
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, p))
    X[0, :4] = [1e9, -1e9, 1e3, 1e5]
    X[:, 4] = 7.0
    X[:, 5] = 1e10 + 1e-5 * X[:, 5]
    X[:, 6], X[0, 6] = 1e8, 1e8 + 1e-7
    X[:, 7] = np.arange(n) == 3
    X[:, 8] = X[:, 9]
    X[:, 10] = X[:, 9] + 1e-9 * X[:, 10]
    X[:, 11:13] *= [1e-150, 1e150]
    X[:, 13] = rng.lognormal(0, 8, n)
    for j in range(20, p - 1, 2):
        e = X[:, j : j + 2] - X[:, j : j + 2].mean(0)
        e[:, 1] -= e[:, 0] * (e[:, 0] @ e[:, 1]) / (e[:, 0] @ e[:, 0])
        e /= np.linalg.norm(e, axis=0)
        r = cutoff + (-1) ** (j // 2) * 10.0 ** -rng.uniform(3, 16)
        X[:, j], X[:, j + 1] = e[:, 0], 5 + r * e[:, 0] + np.sqrt(1 - r * r) * e[:, 1]
    return X


def row_graph(dev: Device, X: np.ndarray) -> device_sieve.RowGraph:
    """The graph of a run on data, before level 0."""
    return device_sieve.RowGraph(dev, X, None, None, SchurTests(dev.processors, dev.shared_block))


def check_sieve(dev: Device, X: np.ndarray, cutoff: float) -> None:
    """Beyond the cutoff every pair is picked, below it by more than twice the margin none."""
    n, p = X.shape
    graph = row_graph(dev, X)
    pairs, picked = graph._pick(level_of(dev, 0, graph._counters, 0, cutoff))
    (keys,) = dev.fetch((pairs.data.ptr, np.int64, (picked,)))
    found = np.zeros((p, p), dtype=bool)
    found[np.divmod(keys, p)] = True
    assert found.sum() == picked
    r, above = np.abs(np.nan_to_num(correlation(X))), np.triu(np.ones((p, p), dtype=bool), 1)
    assert found[above & (r > cutoff)].all()
    assert not found[~above | (r < cutoff - 2 * device_sieve.margin_of(n))].any()
    assert 0 < (found & (r <= cutoff)).sum() < p  # the sieve is not exact, and these data show it
