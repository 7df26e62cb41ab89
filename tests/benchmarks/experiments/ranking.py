"""Do the largest true effects come first, by cstar, by IDA on all rows, by correlation, by the elastic net?"""

from __future__ import annotations

import time

import numpy as np

import pycupc
from pycupc.effects.largest import largest
from pycupc.effects.orientations import Orientations
from pycupc.effects.result import Effects

#: Variables, samples, neighbours on average, data sets; the largest true effects, and the beginnings of the rankings.
P, N, DEGREE, REPETITIONS, TRUE, FIRST = 1000, 100, 3, 3, 50, (50, 500)
THRESHOLDS = (0.6, 0.75, 0.9)
ALPHA = 0.01
#: The penalty of the elastic net on standardised variables, and its share of the lasso.
PENALTY, LASSO = 0.1, 0.5


def cstar_ranking(args):
    """Rankings of all pairs against their true effects (--variables: other numbers than 1000; needs scikit-learn)."""
    for p in args.variables or [P]:
        for seed in range(REPETITIONS):
            yield from rankings(p, seed, args.threads)


def rankings(p, seed, threads):
    """A line for each method: the shares of the largest true effects that it finds; for cstar also false pairs."""
    X, truth = linear_model(p, DEGREE, N, seed)
    order = np.argsort(-np.abs(truth), axis=None)[:TRUE]
    wanted = set(order.tolist())
    facts = {"set": f"linear_{p}_{DEGREE}_{N}", "p": p, "n": N, "seed": seed, "alpha": ALPHA}
    for name, method in METHODS.items():
        begun = time.perf_counter()
        first, more = method(X, truth, seed, threads)
        line = {**facts, "engine": name, "seconds": time.perf_counter() - begun}
        shares = {f"found_{k}": len(wanted.intersection(first[:k].tolist())) / TRUE for k in FIRST}
        yield {**line, **shares, **more}


def linear_model(p, degree, n, seed):
    """Observations of a random linear model, and the true total effect of each variable on each other one.

    Returns float64 (n, p), standardised, and float64 (p, p), [i, j] is the effect of i on j in standard deviations.
    """
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.4, 1, (p, p)) * rng.choice([-1, 1], (p, p))
    B = np.triu(weights * (rng.random((p, p)) < degree / (p - 1)), 1)
    total = np.linalg.inv(np.eye(p) - B)
    sd = np.sqrt((total**2).sum(axis=0))
    X = rng.standard_normal((n, p)) @ total
    truth = total * sd[:, None] / sd
    np.fill_diagonal(truth, 0)
    place = rng.permutation(p)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[:, place], truth[np.ix_(place, place)]


def by_cstar(X, truth, seed, threads):
    result = pycupc.cstar(X, alpha=ALPHA, random_state=seed, engine="cpu", numCores=threads)
    more = {"n_resamples": result.n_resamples, "q": int(result.q[-1])}
    table = result.columns()
    place = {label: k for k, label in enumerate(result.labels)}
    pairs = np.array([place[a] * len(place) + place[b] for a, b in zip(table["cause"], table["effect"], strict=True)])
    for share in THRESHOLDS:
        chosen = pairs[table["pi"] >= share]
        false, at = int((truth.ravel()[chosen] == 0).sum()), round(100 * share)
        more |= {f"selected_{at}": len(chosen), f"false_{at}": false, f"bound_{at}": result.bound(share)}
    return pairs, more


def by_ida(X, truth, seed, threads):
    fit = pycupc.pc(X, alpha=ALPHA, engine="cpu", numCores=threads)
    every = np.arange(len(truth))
    graph = Orientations.of(fit.sparse_graph)
    C = np.corrcoef(X, rowvar=False)
    found = Effects(labels=fit.labels, C=C, n=N, causes=every, effects=every, method="local", _graph=graph)
    x, y, _ = largest(found, FIRST[-1])
    return x * len(truth) + y, {}


def by_correlation(X, truth, seed, threads):
    return _sorted(np.corrcoef(X, rowvar=False), seed), {}


def by_elastic_net(X, truth, seed, threads):
    from sklearn.linear_model import ElasticNet

    coefficients = np.zeros_like(truth)
    model = ElasticNet(alpha=PENALTY, l1_ratio=LASSO, fit_intercept=False)
    for y in range(len(truth)):
        others = np.delete(np.arange(len(truth)), y)
        coefficients[others, y] = model.fit(X[:, others], X[:, y]).coef_
    return _sorted(coefficients, seed), {"penalty": PENALTY}


def _sorted(scores, seed):
    """The pairs by the size of their score; equal ones in random order."""
    sizes = np.abs(scores) - 2 * np.eye(len(scores))
    tie = np.random.default_rng(seed).random(scores.size)
    return np.lexsort((tie, -sizes.ravel()))


METHODS = {"cstar": by_cstar, "ida": by_ida, "correlation": by_correlation, "elastic net": by_elastic_net}
