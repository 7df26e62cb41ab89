"""Recall and precision of the skeleton where data are not complete and Gaussian.

``python tests/benchmarks/accuracy.py measures [graphs]`` prints the tables of docs/howto/data.md: ranks against Pearson
under heavy tails, latent correlations against numbers. With ``missing`` instead it prints the table of docs/MISSING.md,
and needs scikit-learn for imputation.
"""

import sys
import warnings

import numpy as np

from pycupc import SuffStat, gaussCItwd, pc
from pycupc.independence.missing.impute import imputed

P, ALPHA, DEGREE, M = 20, 0.01, 3, 10
MEASURES = ("pearson", "spearman", "kendall", "normal-scores", "latent")


def gaussian(rng, n):
    """Gaussian data of a random graph, and the true skeleton."""
    arrows = np.triu(rng.random((P, P)) < DEGREE / (P - 1), 1)
    weights, X = arrows * rng.uniform(0.3, 1, (P, P)) * rng.choice([-1, 1], (P, P)), np.zeros((n, P))
    for j in range(P):
        X[:, j] = X @ weights[:, j] + rng.normal(size=n)
    return X, arrows | arrows.T


def standardised(rng):
    """As `gaussian`, 500 rows, each column of mean 0 and variance 1."""
    X, truth = gaussian(rng, 500)
    return (X - X.mean(axis=0)) / X.std(axis=0), truth


def with_gaps(rng, share):
    """As `gaussian`, 300 rows, with gaps that depend on a complete variable."""
    X, truth = gaussian(rng, 300)
    complete = rng.permutation(P)[: P // 4]
    T = X.copy()
    for j in np.setdiff1d(np.arange(P), complete):
        cause = X[:, rng.choice(complete)]
        ranks = np.argsort(np.argsort(cause)) / len(X)
        T[rng.random(len(X)) < np.minimum(2 * share * ranks, 1), j] = np.nan
    return T, truth


def classes(rng, X, most):
    """Half of the columns cut at random thresholds into 2 to `most` classes, none with less than 5 % of the rows."""
    out = X.copy()
    for j in range(0, P, 2):
        shares = rng.dirichlet(np.ones(rng.integers(2, most + 1))) * 0.8 + 0.2 / most
        out[:, j] = np.digitize(X[:, j], np.quantile(X[:, j], np.cumsum(shares / shares.sum())[:-1]))
    return out


TAILS = {
    "Gaussian": lambda rng, X: X,
    "x to the third": lambda rng, X: X**3,
    "exp(2 x)": lambda rng, X: np.exp(2 * X),
    "t, 1 degree of freedom, per row": lambda rng, X: X / np.sqrt(rng.chisquare(1, (len(X), 1))),
    "1 % of the cells times 20": lambda rng, X: X * np.where(rng.random(X.shape) < 0.01, 20, 1),
}
CLASSES = {"half binary": lambda rng, X: classes(rng, X, 2), "half 2 to 5 classes": lambda rng, X: classes(rng, X, 5)}
WAYS = {
    "complete rows": lambda T: pc(T[~np.isnan(T).any(axis=1)], alpha=ALPHA),
    "test-wise": lambda T: pc(T, gaussCItwd, alpha=ALPHA),
    "pairwise": lambda T: pc(SuffStat.from_data(T, missing="pairwise"), alpha=ALPHA),
    "imputation": lambda T: pc(imputed(T, M), alpha=ALPHA),
}


def recall_and_precision(method, data, truth):
    """Shares of the true edges found, and of the edges found that are true."""
    try:
        edges = method(data).graph
    except ValueError:  # no row is complete
        edges = np.zeros((P, P))
    edges = (edges + edges.T) > 0
    both = (edges & truth).sum()
    return both / truth.sum(), both / max(edges.sum(), 1) if edges.any() else np.nan


def table(head, kinds, methods, graphs):
    """Print recall / precision of each method for each kind of data; a kind makes data and their true skeleton."""
    print(f"| {head} |", " | ".join(methods), "|\n|---|" + "---|" * len(methods))
    for name, make in kinds.items():
        problems = [make(np.random.default_rng(seed)) for seed in range(graphs)]
        cells = (
            np.nanmean([recall_and_precision(m, *problem) for problem in problems], axis=0) for m in methods.values()
        )
        print(f"| {name} |", " | ".join(f"{recall:.2f} / {precision:.2f}" for recall, precision in cells), "|")


def changed(change):
    """Data of `standardised`, then changed."""

    def make(rng):
        X, truth = standardised(rng)
        return change(rng, X), truth

    return make


def main(what, graphs=None):
    """Print the tables."""
    warnings.simplefilter("ignore")
    if what == "missing":
        kinds = {f"{share:.0%}": lambda rng, share=share: with_gaps(rng, share) for share in (0.05, 0.1, 0.2, 0.4)}
        return table("missing", kinds, WAYS, int(graphs or 10))
    by = {name: lambda X, name=name: pc(X, alpha=ALPHA, correlation=name) for name in MEASURES}
    for kinds, names in ((TAILS, MEASURES[:4]), (CLASSES, ("pearson", "spearman", "latent"))):
        chosen = {name: by[name] for name in names}
        table("data", {name: changed(change) for name, change in kinds.items()}, chosen, int(graphs or 20))
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
