"""Tests made against tests answered: an engine with and without pruning, in turns, on the same problems."""

from __future__ import annotations

import time

import numpy as np

import pycupc
from pycupc.independence.gaussian import fisher_z

from .. import record, workloads

#: The sets on which pruning has most to do.
SETS = ("stock_logret", "std_1000_100_2000")
#: Those for a GPU; with more variables than `MOST_PLAIN` the plain engine takes more than a quarter of an hour.
GPU_SETS = ("std_1000_100_10000", "std_1000_200_10000", "std_1000_500_10000", "std_2000_200_10000")
MOST_PLAIN = 1000


def pruning(args):
    """Experiment "pruning": check that the answers are equal, and time both."""
    results = record.Results("pruning", args)
    for name in workloads.wanted(args, SETS, ("std_150_6_300",)):
        w = workloads.load(name, args.data)
        _run(w, True, args)  # loads the code
        turns = [(_run(w, True, args), _run(w, False, args)) for _ in range(1 if args.quick else 3)]
        (pruned, _), (plain, _) = turns[-1]
        times = {"pruned": [a for (_, a), _ in turns], "plain": [b for _, (_, b) in turns]}
        _add(results, w, "cpu", pruned, plain, times, {"p_values": check(pruned, plain)})


def pruning_gpu(args):
    """Experiment "pruning-gpu": the same on a GPU, on levels that take it seconds to hours without pruning."""
    results = record.Results("pruning-gpu", args)
    for name in workloads.wanted(args, GPU_SETS, ("std_150_6_300",)):
        w, plain = workloads.load(name, args.data), None
        turns = [_run(w, True, args, "gpu") for _ in range(3 if w.p <= MOST_PLAIN else 1)]
        pruned, row = turns[-1][0], {}
        times = {"pruned": [taken for _, taken in turns[-2:]]}  # the first one loads the kernels
        if w.p <= MOST_PLAIN:
            plain, taken = _run(w, False, args, "gpu")
            times["plain"] = [taken]
            turns[-2][0].p_values.of_edges(pruned.sparse_graph)  # loads the kernels
            row["p_values"] = check(pruned, plain)
        _add(results, w, "gpu", pruned, plain, times, {**row, "spot_checks": spot_checks(pruned, w)})


def _run(w, pruned, args, engine="cpu"):
    begin = time.perf_counter()
    how = {"engine": engine, "numCores": args.threads, "engine_options": {"pruning": pruned}}
    fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, **how)
    return fit, time.perf_counter() - begin


def _add(results, w, engine, pruned, plain, times, more):
    """A line for the whole run and one for each level: tests answered and made, bounds, seconds of both."""
    levels = [
        {"level": a.level, "tests": a.n_tests, "made": a.n_tests if a.n_made < 0 else a.n_made, "bounds": a.n_bounds}
        | {"pruned": a.seconds, "plain": plain.levels[i].seconds if plain else None}
        for i, a in enumerate(pruned.levels)
    ]
    whole = {key: sum(level[key] for level in levels) for key in ("tests", "made", "bounds")}
    whole |= {key: float(np.median(seconds)) for key, seconds in times.items()}
    for row in ({**whole, **more, "runs": len(times["pruned"])}, *levels):
        results.add(**w.facts, engine=engine, **row)
    record.progress(f"{w.name}, {engine}: {times}")


def spot_checks(fit, w, count=2000):
    """Recompute partial correlations with numpy.linalg: of removed edges, and of kept ones given random neighbours.

    Returns how many there were. An edge that was kept must be dependent given every set of neighbours that it has at
    the end, up to the last level.
    """
    rng, found, cutoff = np.random.default_rng(1), fit.removals, fisher_z.cutoff
    for k in rng.permutation(len(found.x))[:count]:
        x, y = int(found.x[k]), int(found.y[k])
        S = fit.sepset[x][y]
        r = _partial_correlation(w.C, x, y, list(S))
        assert abs(r) <= cutoff(w.alpha, w.n, len(S)) * (1 + 1e-6), (x, y, S, r)
        assert abs(r - found.r[k]) <= 1e-8, (x, y, S, r)
    near = fit.skeleton
    for k in rng.integers(len(fit.sparse_graph), size=count):
        x, y = int(fit.sparse_graph.low[k]), int(fit.sparse_graph.high[k])
        others = np.setdiff1d(np.flatnonzero(near[x]), [y])
        level = int(rng.integers(0, min(len(others), fit.max_ord) + 1))
        S = rng.choice(others, level, replace=False)
        assert abs(_partial_correlation(w.C, x, y, S.tolist())) > cutoff(w.alpha, w.n, level), (x, y, S)
    return min(count, len(found.x)) + count


def _partial_correlation(C, x, y, S):
    inverse = np.linalg.inv(C[np.ix_([x, y, *S], [x, y, *S])])
    return float(-inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1]))


def check(pruned, plain):
    """Equal answers, separating sets, counts and p-values included; returns the seconds of finding the p-values."""
    assert pruned.n_edgetests == plain.n_edgetests
    assert pruned.sepset == plain.sepset
    for name in ("x", "y", "level", "r"):
        np.testing.assert_array_equal(getattr(pruned.removals, name), getattr(plain.removals, name))
    begin = time.perf_counter()
    p = pruned.p_values.of_edges(pruned.sparse_graph)
    taken = time.perf_counter() - begin
    np.testing.assert_allclose(p, plain.p_values.of_edges(plain.sparse_graph), rtol=1e-6)
    return taken
