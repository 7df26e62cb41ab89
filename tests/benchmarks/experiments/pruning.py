"""Tests made against tests answered: an engine with and without pruning, in turns, on the same problems."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import pycupc
from pycupc.gaussian import fisher_z

from .. import record, workloads

#: The sets on which pruning has most to do.
SETS = ("stock_logret", "std_1000_100_2000")
#: Those for a GPU; with more variables than `MOST_PLAIN` the plain engine takes more than a quarter of an hour.
GPU_SETS = ("std_1000_100_10000", "std_1000_200_10000", "std_1000_500_10000", "std_2000_200_10000")
MOST_PLAIN = 1000


def pruning(args: Any) -> None:
    """Experiment "pruning": check that the answers are equal, and time both."""
    from ..report import pruning as report

    result = record.new("pruning", args)
    names = ("std_150_6_300",) if args.quick else SETS
    for name in workloads.available(args.sets or names, args.data):
        w = workloads.load(name, args.data)
        _run(w, True, args)  # loads the code
        seconds: dict[bool, list[float]] = {True: [], False: []}
        fits: dict[bool, pycupc.PcAlgo] = {}
        for _ in range(1 if args.quick else 3):
            for pruned in (True, False):
                fits[pruned], taken = _run(w, pruned, args)
                seconds[pruned].append(taken)
        row = record.row_of(result, w)
        row.update(pruned=seconds[True], plain=seconds[False], p_values=_check(fits[True], fits[False]))
        row["levels"] = _levels(fits[True], fits[False])
        record.write(result, args.out)
    print(report.table(result["rows"]))


def pruning_gpu(args: Any) -> None:
    """Experiment "pruning-gpu": the same on a GPU, on levels that take it seconds to hours without pruning."""
    from ..report import pruning as report

    result = record.new("pruning-gpu", args)
    for name in args.sets or (("std_150_6_300",) if args.quick else GPU_SETS):
        w = workloads.load(name, args.data)
        runs = [_run(w, True, args, "gpu") for _ in range(3 if w.p <= MOST_PLAIN else 1)]
        pruned, row = runs[-1][0], record.row_of(result, w)
        row.update(pruned=[taken for _, taken in runs[-2:]], plain=[], p_values=None)  # the first one loads the kernels
        plain = None
        if w.p <= MOST_PLAIN:
            plain, taken = _run(w, False, args, "gpu")
            row["plain"].append(taken)
            runs[-2][0].p_values.of_edges(pruned.sparse_graph)  # loads the kernels
            row["p_values"] = _check(pruned, plain)
        row["spot_checks"] = _spot_checks(pruned, w)
        row["levels"] = _levels(pruned, plain)
        record.write(result, args.out)
        record.progress(report.table([row]).splitlines()[-1])


def _run(w: workloads.Workload, pruned: bool, args: Any, engine: str = "cpu") -> tuple[pycupc.PcAlgo, float]:
    begin = time.perf_counter()
    options = {"pruning": pruned}
    fit = pycupc.skeleton(
        {"C": w.C, "n": w.n}, alpha=w.alpha, engine=engine, numCores=args.threads, engine_options=options
    )
    return fit, time.perf_counter() - begin


def _levels(pruned: pycupc.PcAlgo, plain: pycupc.PcAlgo | None) -> list[dict[str, Any]]:
    """What each level did and took; the seconds of the plain engine are None where it did not run."""
    others = [level.seconds for level in plain.levels] if plain is not None else [None] * len(pruned.levels)
    return [
        {
            "level": a.level,
            "tests": a.n_tests,
            "made": a.n_tests if a.n_made < 0 else a.n_made,
            "bounds": a.n_bounds,
            "pruned": a.seconds,
            "plain": seconds,
        }
        for a, seconds in zip(pruned.levels, others, strict=True)
    ]


def _spot_checks(fit: pycupc.PcAlgo, w: workloads.Workload, count: int = 2000) -> int:
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


def _partial_correlation(C: np.ndarray, x: int, y: int, S: list[int]) -> float:
    inverse = np.linalg.inv(C[np.ix_([x, y, *S], [x, y, *S])])
    return float(-inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1]))


def _check(pruned: pycupc.PcAlgo, plain: pycupc.PcAlgo) -> float:
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
