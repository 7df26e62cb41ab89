"""Do the largest true effects come first, by cstar, by IDA on all rows, by correlation, by the elastic net?"""

import time

import numpy as np

import pycupc
from pycupc.effects.local import LocalEffects, largest
from pycupc.effects.parent_sets import parent_sets

#: Samples, neighbours on average, data sets.
N, DEGREE, REPETITIONS = 100, 3, 3
#: Of all pairs: variables, the largest true effects, beginnings of the rankings; the same for single effects, how many.
ALL, SINGLE, N_SINGLE = (1000, 50, (50, 500)), (300, 10, (10, 50)), 5
THRESHOLDS = (0.6, 0.75, 0.9)
ALPHA = 0.01
#: The penalty of the elastic net on standardised variables, and its share of the lasso.
PENALTY, LASSO = 0.1, 0.5


def cstar_ranking(args):
    """Rankings of all pairs, and of the causes of single variables, against the true effects (needs scikit-learn)."""
    for seed in range(REPETITIONS):
        X, truth = linear_model(ALL[0], DEGREE, N, seed)
        yield from rankings("all pairs", ALL, X, truth, np.arange(ALL[0]), seed, args.threads)
        X, truth = linear_model(SINGLE[0], DEGREE, N, seed)
        sinks = np.flatnonzero(~truth.any(axis=1))
        for y in sinks[np.argsort(-(truth[:, sinks] != 0).sum(axis=0), kind="stable")[:N_SINGLE]]:
            yield from rankings("causes of one", SINGLE, X, truth, np.array([y]), seed, args.threads)


def rankings(name, sizes, X, truth, effects, seed, threads):
    """A line for each method: the shares of the largest true effects that it finds; for cstar also false pairs."""
    p, true, first = sizes
    asked = np.zeros_like(truth)
    asked[:, effects] = truth[:, effects]
    wanted = set(np.argsort(-np.abs(asked), axis=None)[:true].tolist())
    facts = {"set": name, "p": p, "n": N, "seed": seed, "alpha": ALPHA}
    facts |= {"call": f"effect {effects[0]}"} if len(effects) == 1 else {}
    for method, rank in METHODS.items():
        begun = time.perf_counter()
        pairs, more = rank(X, truth, effects, first[-1], seed, threads)
        line = {**facts, "engine": method, "seconds": time.perf_counter() - begun}
        found = [len(wanted.intersection(pairs[:k].tolist())) / true for k in first]
        yield {**line, "found_first": found[0], "found_more": found[1], **more}


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


def by_cstar(X, truth, effects, k, seed, threads):
    p = len(truth)
    result = pycupc.cstar(X, effects=effects, alpha=ALPHA, random_state=seed, engine="cpu", numCores=threads)
    more = {"n_resamples": result.n_resamples, "q": int(result.q[-1])}
    table = result.columns()
    place = {label: at for at, label in enumerate(result.labels)}
    pairs = np.array([place[a] * p + place[b] for a, b in zip(table["cause"], table["effect"], strict=True)])
    for share in THRESHOLDS:
        chosen = pairs[table["pi"] >= share]
        false, at = int((truth.ravel()[chosen] == 0).sum()), round(100 * share)
        more |= {f"selected_{at}": len(chosen), f"false_{at}": false, f"bound_{at}": result.bound(share)}
    return pairs, more


def by_ida(X, truth, effects, k, seed, threads):
    fit = pycupc.pc(X, alpha=ALPHA, engine="cpu", numCores=threads)
    causes = np.arange(len(truth))
    sets = parent_sets(fit.sparse_graph, causes)
    found = LocalEffects.of(np.corrcoef(X, rowvar=False), sets, causes, effects)
    x, y, _ = largest(found, k)
    return x * len(truth) + y, {}


def by_correlation(X, truth, effects, k, seed, threads):
    return _sorted(np.corrcoef(X, rowvar=False), effects, seed), {}


def by_elastic_net(X, truth, effects, k, seed, threads):
    from sklearn.linear_model import ElasticNet

    coefficients = np.zeros_like(truth)
    model = ElasticNet(alpha=PENALTY, l1_ratio=LASSO, fit_intercept=False)
    for y in effects:
        others = np.delete(np.arange(len(truth)), y)
        coefficients[others, y] = model.fit(X[:, others], X[:, y]).coef_
    return _sorted(coefficients, effects, seed), {"penalty": PENALTY}


def _sorted(scores, effects, seed):
    """The pairs by the size of their score; equal ones in random order."""
    sizes = np.full_like(scores, -1)
    sizes[:, effects] = np.abs(scores[:, effects])
    np.fill_diagonal(sizes, -1)
    tie = np.random.default_rng(seed).random(scores.size)
    return np.lexsort((tie, -sizes.ravel()))


METHODS = {"cstar": by_cstar, "ida": by_ida, "correlation": by_correlation, "elastic net": by_elastic_net}
