"""Data from known graphs: random graphs by two generators, data with hubs, and structures for the bounds of stability.

All are functions of their arguments alone; the order of the random draws is fixed, so a seed names a data set.

The theorems on stability ask that the rows be independent and that each pair without an edge be found, on half of the
rows, with the same probability. The structures of `EQUAL` have this property by their symmetry: some relabelling of the
variables that does not change the distribution takes any pair without an edge to any other. Those of `UNEQUAL` lack it,
or are no data from a causal graph of the observed variables with independent rows.
"""

import numpy as np

#: The loading of a variable on its cause: they have a correlation of 0.6, and two effects of one cause one of 0.36.
LOADING = 0.6


def paper(p, density, n, seed):
    """Data as in the evaluation of the cuPC paper: weights uniform on [0.1, 1], noise of variance 1.

    Variances grow along the order of the variables, so that late ones correlate to within rounding of 1. `density` is
    the probability of each edge. Returns float64 (n, p) and the DAG, bool (p, p), [i, j] is i --> j.
    """
    rng = np.random.default_rng(seed)
    present = rng.random((p, p)) < density
    A = np.tril(present * rng.uniform(0.1, 1, (p, p)), -1)
    X = rng.standard_normal((n, p))
    for i in range(p):
        X[:, i] += X[:, :i] @ A[i, :i]
    return X, (A != 0).T


def standardised(p, degree, n, seed):
    """Data in which parents explain 40 to 80 % of the variance of each variable, which is 1; half the weights negative.

    `degree` is the expected number of neighbours. Returns float64 (n, p) and the DAG, as `paper` does.
    """
    rng = np.random.default_rng(seed)
    X, dag = np.empty((n, p)), np.zeros((p, p), dtype=bool)
    density = min(1, degree / (p - 1))
    for i in range(p):
        k = rng.binomial(i, density) if i else 0
        parents = rng.choice(i, k, replace=False) if k else np.empty(0, int)
        weights = rng.uniform(0.1, 1.0, k) * rng.choice([-1, 1], k)
        signal = X[:, parents] @ weights if k else 0
        noise = rng.standard_normal(n)
        if k:
            variance, share = np.var(signal), rng.uniform(0.2, 0.6)
            signal = signal / np.sqrt(variance) * np.sqrt(1 - share) if variance > 0 else 0
            noise = noise * np.sqrt(share)
        X[:, i] = signal + noise
        dag[parents, i] = True
    return X, dag


def hubs(p, common, n, seed, causes=40):
    """Data like gene expression: each variable depends on two of a few causes, the first variables.

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


def modules(p, n, seed, size=50):
    """Modules of `size` variables with a mean degree of about 3, in which parents explain 40 to 80 % of a variance.

    Made for very many variables: returns float32 (p, n), a variable in a row, and no graph.
    """
    rng = np.random.default_rng(seed)
    X, place = rng.standard_normal((p, n), dtype=np.float32), np.arange(p) % size
    for k in range(1, size):
        own = np.flatnonzero(place == k)
        parents = own[:, None] - 1 - rng.integers(0, k, (len(own), 2)) % k
        weights = rng.uniform(-1, 1, (len(own), 2)).astype(np.float32)
        weights[rng.random((len(own), 2)) > 0.75] = 0
        signal = (X[parents] * weights[:, :, None]).sum(axis=1)
        variance = signal.var(axis=1, keepdims=True)
        share = rng.uniform(0.2, 0.6, (len(own), 1)).astype(np.float32)
        mixed = signal / np.sqrt(variance + 1e-12) * np.sqrt(1 - share) + np.sqrt(share) * X[own]
        caused = variance[:, 0] > 1e-6
        X[own[caused]] = mixed[caused]
    return X


def scale_free(p, n, seed, links=2, first=0):
    """A graph by Barabasi and Albert: each variable has up to `links` causes, drawn by the neighbours that they have.

    The first variable is drawn as if it had `first` more. Causes explain 20 to 50 % of a variance. Returns float32
    (p, n).
    """
    rng = np.random.default_rng(seed)
    X, ends = rng.standard_normal((p, n), dtype=np.float32), np.zeros(first + 1 + 2 * links * p, dtype=np.int64)
    used = first + 1
    for i in range(1, p):
        causes = np.unique(ends[rng.integers(0, used, links)])
        weights = rng.uniform(0.5, 1, len(causes)) * rng.choice([-1, 1], len(causes))
        signal, share = weights.astype(np.float32) @ X[causes], rng.uniform(0.5, 0.8)
        X[i] = signal / signal.std() * np.sqrt(1 - share) + np.sqrt(share) * X[i]
        ends[used : used + len(causes)], ends[used + len(causes) : used + 2 * len(causes)] = causes, i
        used += 2 * len(causes)
    return X


def draw(name, p, n, repetitions, seed):
    """Data sets of a structure, float64 (repetitions, n, p); adjacent pairs, bool (p, p), upper triangle."""
    X, adjacent = {**EQUAL, **UNEQUAL}[name][0](p, n * repetitions, seed)
    return X.reshape(repetitions, n, p), np.triu(adjacent | adjacent.T, 1)


def independent(p, n, seed):
    return np.random.default_rng(seed).standard_normal((n, p)), np.zeros((p, p), dtype=bool)


def blocks(p, n, seed, size):
    """Groups of `size` variables in which all are adjacent and all correlations are 0.5."""
    rng = np.random.default_rng(seed)
    shared = np.repeat(rng.standard_normal((n, p // size)), size, axis=1)
    group = np.arange(p) // size
    return np.sqrt(0.5) * (shared + rng.standard_normal((n, p))), group[:, None] == group


def tree(p, n, seed, of):
    """Each variable but the first has one cause at most: `of` gives it, and the correlation with it, or 0."""
    X, adjacent = independent(p, n, seed)
    for j in range(1, p):
        cause, loading = of(j)
        X[:, j] = loading * X[:, cause] + np.sqrt(1 - loading**2) * X[:, j]
        adjacent[cause, j] = loading != 0
    return X, adjacent


def star(*how):
    return tree(*how, lambda j: (0, LOADING))


def chain(*how):
    return tree(*how, lambda j: (j - 1, 0.8))


def near_copies(*how):
    """Groups of four: a cause, its two effects, and a copy of the cause with a correlation of 0.995."""
    return tree(*how, lambda j: (j - j % 4, (0, LOADING, LOADING, 0.995)[j % 4]))


def latent(p, n, seed):
    X, _ = star(p // 2 + 1, n, seed)
    others, _ = independent(p - p // 2, n, seed + 1)
    return np.hstack([X[:, 1:], others]), np.zeros((p, p), dtype=bool)


def measured(p, n, seed):
    X, adjacent = chain(p, n, seed)
    return X + 0.5 * np.random.default_rng(seed + 1).standard_normal(X.shape), adjacent


def series(p, n, seed):
    X = np.random.default_rng(seed).standard_normal((p, n)).T.copy()
    for i in range(1, n):
        X[i] = 0.8 * X[i - 1] + np.sqrt(1 - 0.8**2) * X[i]
    return X, np.zeros((p, p), dtype=bool)


#: The function of a structure, and the structure in words.
EQUAL = {
    "independent": (independent, "no edges"),
    "pairs": (lambda p, n, seed: blocks(p, n, seed, 2), "pairs of adjacent variables"),
    "blocks": (lambda p, n, seed: blocks(p, n, seed, 4), "blocks of four variables, all adjacent"),
    "star": (star, "one variable is the cause of all others"),
}
UNEQUAL = {
    "sparse graph": (lambda p, *how: standardised(p, 2, *how), "random graph, on average 2 neighbours"),
    "denser graph": (lambda p, *how: standardised(p, 5, *how), "random graph, on average 5 neighbours"),
    "chain": (chain, "each variable is the cause of the next (correlation 0.8)"),
    "near copies": (near_copies, "causes with two effects and a near copy (correlation 0.995)"),
    "latent cause": (latent, "half of the variables have an unobserved cause in common"),
    "measurement error": (measured, "a chain, observed with an error of a quarter of the variance"),
    "dependent rows": (series, "no edges; a row has correlation 0.8 with the row before"),
}
