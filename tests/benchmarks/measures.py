"""Recall and precision of the skeleton: ranks against Pearson under heavy tails, latent correlations against numbers.

Run as ``python tests/benchmarks/measures.py [graphs]``. Prints the two tables of docs/DATA.md.
"""

import sys
import warnings

import numpy as np

from pycupc import pc

P, N, ALPHA, DEGREE = 20, 500, 0.01, 3
MEASURES = ("pearson", "spearman", "kendall", "normal-scores", "latent")


def problem(rng):
    """Gaussian data of a random graph, standardised, and the true skeleton."""
    arrows = np.triu(rng.random((P, P)) < DEGREE / (P - 1), 1)
    weights, X = arrows * rng.uniform(0.3, 1, (P, P)) * rng.choice([-1, 1], (P, P)), np.zeros((N, P))
    for j in range(P):
        X[:, j] = X @ weights[:, j] + rng.normal(size=N)
    return (X - X.mean(axis=0)) / X.std(axis=0), arrows | arrows.T


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
    "t, 1 degree of freedom, per row": lambda rng, X: X / np.sqrt(rng.chisquare(1, (N, 1))),
    "1 % of the cells times 20": lambda rng, X: X * np.where(rng.random(X.shape) < 0.01, 20, 1),
}
CLASSES = {"half binary": lambda rng, X: classes(rng, X, 2), "half 2 to 5 classes": lambda rng, X: classes(rng, X, 5)}


def table(kinds, measures, graphs):
    """Print recall / precision for each kind of data and measure."""
    print("| data |", " | ".join(measures), "|\n|---|" + "---|" * len(measures))
    for name, make in kinds.items():
        found = {measure: [] for measure in measures}
        for seed in range(graphs):
            rng = np.random.default_rng(seed)
            X, truth = problem(rng)
            data = make(rng, X)
            for measure in measures:
                edges = pc(data, alpha=ALPHA, correlation=measure).graph
                edges = (edges + edges.T) > 0
                both = (edges & truth).sum()
                found[measure].append((both / truth.sum(), both / max(edges.sum(), 1)))
        cells = (np.mean(found[measure], axis=0) for measure in measures)
        print(f"| {name} |", " | ".join(f"{recall:.2f} / {precision:.2f}" for recall, precision in cells), "|")


def main(graphs=20):
    """Print the tables."""
    warnings.simplefilter("ignore")
    table(TAILS, MEASURES[:4], graphs)
    table(CLASSES, ("pearson", "spearman", "latent"), graphs)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
