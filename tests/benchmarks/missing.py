"""Recall and precision of the skeleton with values missing at random: complete rows, test-wise deletion, pairwise
correlations, imputation.

Run as ``python tests/benchmarks/missing.py [graphs]``; needs scikit-learn for imputation. Prints the table of
docs/MISSING.md.
"""

import sys
import warnings

import numpy as np

from pycupc import gaussCItwd, pc
from pycupc.independence.missing.impute import imputed

P, N, ALPHA, DEGREE, M = 20, 300, 0.01, 3, 10


def problem(rng, share):
    """Data of a random graph, with gaps that depend on a complete variable, and the true skeleton."""
    arrows = np.triu(rng.random((P, P)) < DEGREE / (P - 1), 1)
    weights, X = arrows * rng.uniform(0.3, 1, (P, P)) * rng.choice([-1, 1], (P, P)), np.zeros((N, P))
    for j in range(P):
        X[:, j] = X @ weights[:, j] + rng.normal(size=N)
    complete = rng.permutation(P)[: P // 4]
    T = X.copy()
    for j in np.setdiff1d(np.arange(P), complete):
        cause = X[:, rng.choice(complete)]
        ranks = np.argsort(np.argsort(cause)) / N
        T[rng.random(N) < np.minimum(2 * share * ranks, 1), j] = np.nan
    return T, arrows | arrows.T


def pairwise(T):
    """The correlations of the rows complete in each pair, and the mean number of these rows."""
    there = (~np.isnan(T)).astype(float)
    C = np.ma.corrcoef(np.ma.masked_invalid(T), rowvar=False).filled(np.nan)
    return {"C": (C + C.T) / 2, "n": float((there.T @ there)[np.triu_indices(P, 1)].mean())}


WAYS = {
    "complete rows": lambda T: pc(T[~np.isnan(T).any(axis=1)], alpha=ALPHA),
    "test-wise": lambda T: pc(T, gaussCItwd, alpha=ALPHA),
    "pairwise": lambda T: pc(pairwise(T), alpha=ALPHA),
    "imputation": lambda T: pc(imputed(T, M), alpha=ALPHA),
}


def main(graphs=10):
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| missing |", " | ".join(WAYS), "|\n|---|" + "---|" * len(WAYS))
    for share in (0.05, 0.1, 0.2, 0.4):
        found = {name: [] for name in WAYS}
        for seed in range(graphs):
            T, truth = problem(np.random.default_rng(seed), share)
            for name, way in WAYS.items():
                try:
                    edges = way(T).graph
                except ValueError:  # no row is complete
                    edges = np.zeros((P, P))
                edges = (edges + edges.T) > 0
                both = (edges & truth).sum()
                found[name].append((both / truth.sum(), both / max(edges.sum(), 1) if edges.any() else np.nan))
        cells = (np.nanmean(found[name], axis=0) for name in WAYS)
        print(f"| {share:.0%} |", " | ".join(f"{recall:.2f} / {precision:.2f}" for recall, precision in cells), "|")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
