"""Recall and precision of the skeleton where data are not complete and Gaussian.

``python tests/benchmarks/accuracy.py measures [graphs]`` prints the tables of docs/howto/data.md: ranks against Pearson
under heavy tails, latent correlations against numbers. With ``missing`` instead it prints those of
docs/contracts/missing.md, and needs scikit-learn; with ``nonlinear`` RCoT against Fisher's z, and with causal-learn the
times of its RCIT for a sample of the same tests; with ``kernel [graphs] [engine]`` those of
docs/contracts/kernel_test.md, where the engine makes KCI: 5,000 rows take minutes on "gpu", and hours on "cpu".
"""

import functools
import sys
import time
import warnings
from importlib.util import find_spec

import numpy as np

from pycupc import KCI, IncompleteTable, RCoT, SuffStat, gaussCItwd, pc
from pycupc.independence.discrete import DiscreteSuffStat, disCItest
from pycupc.independence.missing.impute import imputed

P, ALPHA, DEGREE, M = 20, 0.01, 3, 10
MEASURES = ("pearson", "spearman", "kendall", "normal-scores", "latent")


def gaussian(rng, n, p=P, degree=DEGREE):
    """Gaussian data of a random graph, and the true skeleton."""
    arrows = np.triu(rng.random((p, p)) < degree / (p - 1), 1)
    weights, X = arrows * rng.uniform(0.3, 1, (p, p)) * rng.choice([-1, 1], (p, p)), np.zeros((n, p))
    for j in range(p):
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


def categories_with_gaps(rng, share):
    """1,000 rows of 2 or 3 categories, multinomial logistic models of their parents, with gaps as of `with_gaps`."""
    arrows, X = np.triu(rng.random((P, P)) < DEGREE / (P - 1), 1), np.zeros((1000, P))
    for j in range(P):
        k = rng.integers(2, 4)
        scores = 0.3 * rng.normal(size=k) + rng.gumbel(size=(len(X), k))
        for parent in np.flatnonzero(arrows[:, j]):
            scores += 1.5 * rng.normal(size=(3, k))[X[:, parent].astype(int)]
        X[:, j] = scores.argmax(axis=1)
    T, complete = X.copy(), rng.permutation(P)[: P // 4]
    for j in np.setdiff1d(np.arange(P), complete):
        cause = X[:, rng.choice(complete)]
        T[rng.random(len(X)) < share * np.where(cause > 0, 1.6, 0.4), j] = np.nan
    return T, arrows | arrows.T


def nonlinear(rng, p=50, n=1000, degree=2):
    """An additive noise model of sines, squares and tanh, and the true skeleton."""
    arrows, X = np.triu(rng.random((p, p)) < degree / (p - 1), 1), np.zeros((n, p))
    for j in range(p):
        X[:, j] = 0.6 * rng.normal(size=n)
        for parent in np.flatnonzero(arrows[:, j]):
            z = 1.5 * X[:, parent] / X[:, parent].std()
            effect = (np.sin(z), z**2, np.tanh(2 * z))[rng.integers(3)]
            X[:, j] += effect / effect.std()
        X[:, j] -= X[:, j].mean()
    return X, arrows | arrows.T


def post_nonlinear(rng, p=50, n=1000, degree=2):
    """As `nonlinear`, each column then bent by an increasing function, which its effects see."""
    arrows, X = np.triu(rng.random((p, p)) < degree / (p - 1), 1), np.zeros((n, p))
    for j in range(p):
        X[:, j] = 0.6 * rng.normal(size=n)
        for parent in np.flatnonzero(arrows[:, j]):
            z = 1.5 * (X[:, parent] - X[:, parent].mean()) / X[:, parent].std()
            effect = (np.sin(z), z**2, np.tanh(2 * z))[rng.integers(3)]
            X[:, j] += effect / effect.std()
        z = (X[:, j] - X[:, j].mean()) / X[:, j].std()
        X[:, j] = (np.exp(z), z**3, np.sign(z) * np.sqrt(np.abs(z)))[rng.integers(3)]
    return X, arrows | arrows.T


def heteroscedastic(rng, p=50, n=1000, degree=2):
    """Noise whose standard deviation the parents determine, and the mean half of the time."""
    arrows, X = np.triu(rng.random((p, p)) < degree / (p - 1), 1), np.zeros((n, p))
    for j in range(p):
        scale, mean = np.zeros(n), np.zeros(n)
        for parent in np.flatnonzero(arrows[:, j]):
            z = X[:, parent] / X[:, parent].std()
            scale += 1.2 * np.tanh(z) * rng.choice([-1, 1])
            mean += np.tanh(z) * (rng.random() < 0.5)
        X[:, j] = mean + np.exp(scale) * rng.normal(size=n)
    return X, arrows | arrows.T


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
OF_CATEGORIES = {
    "complete rows": lambda T: pc(
        DiscreteSuffStat.from_data(T[~np.isnan(T).any(axis=1)].astype(int)), disCItest, alpha=ALPHA
    ),
    "test-wise": lambda T: pc(IncompleteTable(T, categories=True), alpha=ALPHA),
    "imputation": lambda T: pc(imputed(T, M, categories=True), alpha=ALPHA),
}
KERNELS = {
    "Fisher's z": lambda X: pc(X, alpha=ALPHA),
    "Spearman": lambda X: pc(X, alpha=ALPHA, correlation="spearman"),
    "RCoT": lambda X: pc(X, RCoT(), alpha=ALPHA),
}
#: Linear models with Gaussian noise are where Fisher's z is right.
MODELS = {
    "linear, Gaussian": lambda rng, p, n: gaussian(rng, n, p, 2),
    "additive noise": nonlinear,
    "post-nonlinear": post_nonlinear,
    "heteroscedastic": heteroscedastic,
}
NONLINEAR = {"RCoT": lambda X: pc(X, RCoT(), alpha=0.001), "Fisher's z": lambda X: pc(X, alpha=0.001)}


def recall_and_precision(method, data, truth):
    """Shares of the true edges found, and of the edges found that are true."""
    try:
        edges = method(data).graph
    except ValueError:  # no row is complete
        edges = np.zeros(truth.shape)
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


def times(graphs):
    """Print the processor time of RCoT for all tests of a run, and of causal-learn's RCIT for them by a sample."""
    from causallearn.utils.cit import CIT

    pc(nonlinear(np.random.default_rng(0), p=5)[0], RCoT())  # loads the compiled code
    for seed in range(graphs):
        rng = np.random.default_rng(seed)
        X, _ = nonlinear(rng)
        began = time.process_time()
        made = pc(X, RCoT(), alpha=0.001).n_edgetests
        ours, theirs = time.process_time() - began, 0.0
        for size, number in enumerate(made):
            rcit, began = CIT(X, "rcit"), time.process_time()
            for _ in range(20):
                x, y, *S = rng.choice(X.shape[1], size + 2, replace=False)
                rcit(x, y, S)
            theirs += number * (time.process_time() - began) / 20
        print(f"{sum(made)} tests: RCoT {ours:.2f} s, RCIT {theirs:.1f} s, {theirs / ours:.0f} times")


def main(what, graphs=None, engine="cpu"):
    """Print the tables."""
    warnings.simplefilter("ignore")
    if what == "nonlinear":
        table("data", {"sines, squares, tanh": nonlinear}, NONLINEAR, int(graphs or 10))
        return times(int(graphs or 10)) if find_spec("causallearn") else None
    if what == "kernel":
        methods = KERNELS | {"KCI": lambda X: pc(X, KCI(), alpha=ALPHA, engine=engine)}
        for n in (200, 500, 1000, 2000, 5000):
            kinds = {name: functools.partial(make, p=10, n=n) for name, make in MODELS.items()}
            table(f"p = 10, n = {n:,}", kinds, methods, int(graphs or 20))
        return None
    if what == "missing":
        for make, ways in ((with_gaps, WAYS), (categories_with_gaps, OF_CATEGORIES)):
            kinds = {f"{share:.0%}": functools.partial(make, share=share) for share in (0.05, 0.1, 0.2, 0.4)}
            table("missing", kinds, ways, int(graphs or 10))
        return None
    by = {name: lambda X, name=name: pc(X, alpha=ALPHA, correlation=name) for name in MEASURES}
    for kinds, names in ((TAILS, MEASURES[:4]), (CLASSES, ("pearson", "spearman", "latent"))):
        chosen = {name: by[name] for name in names}
        table("data", {name: changed(change) for name, change in kinds.items()}, chosen, int(graphs or 20))
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
