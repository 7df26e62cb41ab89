"""Do the bounds on the false ones of the stable edges hold? And the time of resampling beside a loop of pc()."""

import itertools
from collections import Counter

import numpy as np

import pycupc
from pycupc.stability.bounds import METHODS

from .. import generators, record, runs, workloads
from ..processes import pool

ALPHAS = (0.001, 0.01, 0.05)
THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 1.0)
#: The times: alpha, the data sets with the turns of both loops, those for a GPU.
ALPHA, LOOPS, ON_GPU = 0.01, {"std_50_3_200": 9, "std_500_5_500": 3, "nci60": 2}, ("riboflavin", "tcga_brca_jive")
LOOP_RESAMPLES = 100
#: The structures: variables, samples, data sets, resamples.
P, SAMPLES, REPETITIONS, RESAMPLES = (20, 40), (100, 400), 16, 50


def stability_bounds(args):
    """The bounds on false edges on structures with a known graph (--sets names structures)."""
    names = args.sets or (*generators.EQUAL, *generators.UNEQUAL)
    jobs = itertools.product(names, P, SAMPLES, ("subsample", "complementary"), [REPETITIONS], [RESAMPLES])
    with pool(args.threads) as processes:
        for lines in processes.map(bounds_of, jobs):
            yield from lines


def bounds_of(job):
    """For every alpha and threshold: means over the repetitions of the false edges and of the finite bounds."""
    name, p, n, scheme, repetitions, n_resamples = job
    data, truth = generators.draw(name, p, n, repetitions, seed=p + n)
    how = {"n_resamples": n_resamples, "scheme": scheme, "alpha": ALPHAS, "engine": "cpu", "numCores": 1}
    results = [pycupc.stability(X, random_state=seed, **how) for seed, X in enumerate(data)]
    facts = {"set": name, "p": p, "n": n, "scheme": scheme, "n_resamples": n_resamples, "runs": repetitions}
    rows = []
    for alpha in ALPHAS:
        for share in THRESHOLDS:
            found = [np.triu(result.consensus(share, alpha).sparse_graph.skeleton()) for result in results]
            false = np.array([(f & ~truth).sum() for f in found])
            row = {**facts, "alpha": alpha, "threshold": share, "false": false.mean()}
            row["false_error"] = false.std(ddof=1) / np.sqrt(len(false))
            if truth.any():
                row["recall"] = np.mean([(f & truth).sum() for f in found]) / truth.sum()
            means = {m: np.mean([result.bound(share, alpha, m) for result in results]) for m in METHODS[scheme]}
            rows.append({**row, **{f"bound {method}": float(b) for method, b in means.items() if np.isfinite(b)}})
    return rows


def stability_times(args):
    """stability() and a loop of pc() over the same resamples, in turns, on the cpu engine."""
    for name in workloads.wanted(args, LOOPS):
        turns = LOOPS.get(name, 1)
        yield loop(name, args, {"engine": "cpu", "numCores": args.threads}, (turns, turns))


def stability_gpu(args):
    """The same on the gpu engine, checked by the engine cpu."""
    for name in workloads.wanted(args, ON_GPU):
        yield loop(name, args, {"engine": (args.engines or ["gpu"])[0]}, (3, 1), check="cpu")


def loop(name, args, how, turns, check=None):
    """`stability` and a loop of `pc` on the same resamples, from data in memory, in turns: how many of each.

    The answers are compared before anything is timed: the edges with their marks, counted over the first two resamples
    (with `check`, by that engine); and after each turn of the loop, over all of them.
    """
    X = np.ascontiguousarray(workloads.observations(name, args.data))
    facts = {"set": name, "p": X.shape[1], "n": len(X), "alpha": ALPHA, "n_resamples": LOOP_RESAMPLES}
    facts |= {"engine": how["engine"], "checked_by": "loop of pc()"}
    ours, loops = [], []
    result = _ours(X, 2, how)
    wrong = differences(result, plain_loop(X, result, {"engine": check} if check else how))
    with runs.quick_collection():
        for turn in range(0 if wrong else max(turns)):
            result, taken = runs.timed(_ours, X, LOOP_RESAMPLES, how)
            ours.append(taken)
            if turn < turns[1]:
                found, taken = runs.timed(plain_loop, X, result, how)
                loops.append(taken)
                wrong += differences(result, found)
    facts |= {"tests": int(result.n_tests.sum()), "differs": f"{wrong} marks" if wrong else ""}
    return facts | record.statistics(loops, "loop") | record.statistics(ours)


def _ours(X, n_resamples, how):
    return pycupc.stability(X, n_resamples=n_resamples, alpha=ALPHA, random_state=1, **how)


def plain_loop(X, result, how):
    """The edges of a loop of `pc` over the resamples of a result: Counter of (low, high, mark at low, mark at high)."""
    found = Counter()
    for i in result.resamples:
        g = pycupc.pc(pycupc.SuffStat.from_data(X[result.indices(int(i))]), alpha=ALPHA, **how).sparse_graph
        found.update(zip(*(part.tolist() for part in (g.low, g.high, g.low_mark, g.high_mark)), strict=True))
    return found


def differences(result, found):
    """The number of marks whose counts differ between a result and a loop."""
    (pairs,) = result.counts
    counts = Counter()
    for kind, marks in enumerate(((3, 2), (2, 3), (3, 3), (2, 2))):
        for low, high, times in zip(pairs.low, pairs.high, pairs.kinds[:, kind], strict=True):
            counts[(int(low), int(high), *marks)] = int(times)
    return sum(counts[key] != found[key] for key in counts.keys() | found.keys())
