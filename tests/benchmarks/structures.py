"""Data with a known graph on which the bounds of stability selection are put to the test.

The theorems ask that the rows be independent and that each pair without an edge be found, on half of the rows, with the
same probability. The structures of `EQUAL` have that by their symmetry: some relabelling of the variables that does not
change the distribution takes any pair without an edge to any other. Those of `UNEQUAL` lack it, or are no data from a
causal graph of the observed variables with independent rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .generator import standardised_graph as random

#: The loading of a variable on its cause: they have a correlation of 0.6, and two effects of one cause one of 0.36.
LOADING = 0.6


class Structure(NamedTuple):
    """How data are drawn, and the structure in words."""

    draw: Callable
    words: str


def draw(name, p, n, repetitions, seed):
    """Data sets from one distribution, float64 (repetitions, n, p); adjacent pairs, bool (p, p), upper triangle."""
    X, adjacent = {**EQUAL, **UNEQUAL}[name].draw(p, n * repetitions, seed)
    return X.reshape(repetitions, n, p), np.triu(adjacent | adjacent.T, 1)


def independent(p, n, seed):
    """No edges."""
    return np.random.default_rng(seed).standard_normal((n, p)), np.zeros((p, p), dtype=bool)


def blocks(p, n, seed, size):
    """Groups of `size` variables in which all are adjacent and all correlations are 0.5."""
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.standard_normal((n, p // size)), size, axis=1)
    group = np.arange(p) // size
    return np.sqrt(0.5) * (shared + rng.standard_normal((n, p))), group[:, None] == group


def star(p, n, seed):
    """The first variable is the cause of all others."""
    X, adjacent = independent(p, n, seed)
    X[:, 1:] = LOADING * X[:, :1] + np.sqrt(1 - LOADING**2) * X[:, 1:]
    adjacent[0, 1:] = True
    return X, adjacent


def chain(p, n, seed, loading=0.8):
    """Each variable is the cause of the next one."""
    X, adjacent = independent(p, n, seed)
    for j in range(1, p):
        X[:, j] = loading * X[:, j - 1] + np.sqrt(1 - loading**2) * X[:, j]
        adjacent[j - 1, j] = True
    return X, adjacent


def near_copies(p, n, seed):
    """Groups of four: a cause, its two effects, and a copy of the cause with a correlation of 0.995."""
    X, adjacent = independent(p, n, seed)
    for j in range(0, p, 4):
        X[:, j + 1 : j + 3] = LOADING * X[:, [j]] + np.sqrt(1 - LOADING**2) * X[:, j + 1 : j + 3]
        X[:, j + 3] = 0.995 * X[:, j] + np.sqrt(1 - 0.995**2) * X[:, j + 3]
        adjacent[j, j + 1 : j + 4] = True
    return X, adjacent


def latent(p, n, seed):
    """Half of the variables have a cause in common that is not observed; the others are independent."""
    X, _ = star(p // 2 + 1, n, seed)
    others, _ = independent(p - p // 2, n, seed + 1)
    return np.hstack([X[:, 1:], others]), np.zeros((p, p), dtype=bool)


def measured(p, n, seed):
    """A chain whose variables are observed with an error of a quarter of their variance."""
    X, adjacent = chain(p, n, seed)
    return X + 0.5 * np.random.default_rng(seed + 1).standard_normal(X.shape), adjacent


def series(p, n, seed):
    """Independent variables, each a time series: a row has a correlation of 0.8 with the row before."""
    X = np.random.default_rng(seed).standard_normal((p, n)).T.copy()
    for i in range(1, n):
        X[i] = 0.8 * X[i - 1] + np.sqrt(1 - 0.8**2) * X[i]
    return X, np.zeros((p, p), dtype=bool)


EQUAL = {
    "independent": Structure(independent, "no edges"),
    "pairs": Structure(lambda p, n, seed: blocks(p, n, seed, 2), "pairs of adjacent variables"),
    "blocks": Structure(lambda p, n, seed: blocks(p, n, seed, 4), "blocks of four variables, all adjacent"),
    "star": Structure(star, "one variable is the cause of all others"),
}
UNEQUAL = {
    "sparse graph": Structure(lambda p, *how: random(p, 2, *how), "random graph, on average 2 neighbours"),
    "denser graph": Structure(lambda p, *how: random(p, 5, *how), "random graph, on average 5 neighbours"),
    "chain": Structure(chain, "each variable is the cause of the next (correlation 0.8)"),
    "near copies": Structure(near_copies, "causes with two effects and a near copy (correlation 0.995)"),
    "latent cause": Structure(latent, "half of the variables have an unobserved cause in common"),
    "measurement error": Structure(measured, "a chain, observed with an error of a quarter of the variance"),
    "dependent rows": Structure(series, "no edges; a row has correlation 0.8 with the row before"),
}
