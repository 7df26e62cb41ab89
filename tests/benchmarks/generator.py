"""Random linear Gaussian data: the cuPC paper's generator, one whose variables all have unit variance, one with hubs.

Both are functions of their arguments alone; the order of the random draws is fixed, so a seed names a data set.
"""

from __future__ import annotations

import numpy as np


def paper(p, density, n, seed):
    """The data of `paper_graph`."""
    return paper_graph(p, density, n, seed)[0]


def paper_graph(p, density, n, seed, xp=np):
    """Data as in the evaluation of the cuPC paper: weights uniform on [0.1, 1], noise of variance 1.

    Variances grow along the order of the variables, so that late ones correlate to within rounding of 1. `density` is
    the probability of each edge. Returns float64 (n, p) and the DAG, bool (p, p), [i, j] is i --> j. With CuPy as `xp`:
    equal up to rounding.
    """
    rng = np.random.default_rng(seed)
    present = rng.random((p, p)) < density
    A = np.tril(present * rng.uniform(0.1, 1, (p, p)), -1)
    X = rng.standard_normal((n, p))
    if xp is not np:
        from cupyx.scipy.linalg import solve_triangular

        X = solve_triangular(xp.asarray(np.eye(p) - A), xp.asarray(X).T, lower=True, unit_diagonal=True).T
    else:
        for i in range(p):
            X[:, i] += X[:, :i] @ A[i, :i]
    return X, (A != 0).T


def standardised(p, degree, n, seed):
    """The data of `standardised_graph`."""
    return standardised_graph(p, degree, n, seed)[0]


def standardised_graph(p, degree, n, seed, xp=np):
    """Data in which parents explain 40 to 80 % of the variance of each variable, which is 1; half the weights negative.

    `degree` is the expected number of neighbours. Returns float64 (n, p) and the DAG, as `paper_graph` does.
    """
    rng = np.random.default_rng(seed)
    X, dag = xp.empty((n, p)), np.zeros((p, p), dtype=bool)
    density = min(1, degree / (p - 1))
    for i in range(p):
        k = rng.binomial(i, density) if i else 0
        parents = rng.choice(i, k, replace=False) if k else np.empty(0, int)
        weights = rng.uniform(0.1, 1.0, k) * rng.choice([-1, 1], k)
        signal = X[:, xp.asarray(parents)] @ xp.asarray(weights) if k else 0
        noise = xp.asarray(rng.standard_normal(n))
        if k:
            variance, share = xp.var(signal), rng.uniform(0.2, 0.6)
            signal = signal / xp.sqrt(variance) * np.sqrt(1 - share) if xp is not np or variance > 0 else 0
            noise = noise * np.sqrt(share)
        X[:, i] = signal + noise
        dag[parents, i] = True
    return X, dag


def cpdag(dag):
    """CPDAG of a DAG: bool (p, p), [i, j] and not [j, i] is i --> j, both is undirected.

    Colliders, then the three rules of Meek (1995) that matter without background knowledge, until nothing changes.
    """
    adjacent = dag | dag.T
    out = adjacent.copy()
    for b in range(len(dag)):
        parents = np.flatnonzero(dag[:, b])
        for i, a in enumerate(parents):
            for c in parents[i + 1 :]:
                if not adjacent[a, c]:
                    out[b, a] = out[b, c] = False
    changed = True
    while changed:
        changed = False
        for a, b in np.argwhere(out & out.T):
            if out[a, b] and out[b, a] and _forced(out, adjacent, a, b):
                out[b, a], changed = False, True
    return out


def _forced(g, adjacent, a, b):
    """Is a --> b implied, for an undirected a - b?"""
    into_a, into_b = g[:, a] & ~g[a], g[:, b] & ~g[b]
    if (into_a & ~adjacent[b]).any():  # c --> a - b, c and b not adjacent
        return True
    if (g[a] & ~g[:, a] & into_b).any():  # a --> c --> b
        return True
    c = np.flatnonzero(g[a] & g[:, a] & into_b)  # a - c --> b and a - d --> b, c and d not adjacent
    return bool(len(c) > 1 and (~adjacent[np.ix_(c, c)]).sum() > len(c))


def hubs(p, common, n, seed, causes=40):
    """Data like those of gene expression: each variable depends on two of a few causes, the first variables.

    `common` is the share of the variance of the causes that they have in common. Returns float64 (n, p).
    """
    rng = np.random.default_rng(seed)
    shared, own = rng.standard_normal((n, 1)), rng.standard_normal((n, causes))
    roots = np.sqrt(common) * shared + np.sqrt(1 - common) * own
    of = rng.integers(causes, size=(2, p - causes))
    weights = rng.uniform(0.3, 1, of.shape) * rng.choice([-1, 1], of.shape)
    signal = (roots[:, of] * weights).sum(axis=1)
    signal /= signal.std(axis=0)
    noise = rng.uniform(0.2, 0.6, p - causes)
    return np.hstack([roots, np.sqrt(1 - noise) * signal + np.sqrt(noise) * rng.standard_normal(signal.shape)])
