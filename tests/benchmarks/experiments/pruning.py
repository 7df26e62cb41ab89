"""Tests made against tests answered: the CPU engine with and without pruning, in turns, on the same problems."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import pycupc

from .. import record, workloads

#: The sets on which pruning has most to do.
SETS = ("stock_logret", "std_1000_100_2000")


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
        begin = time.perf_counter()
        p = fits[True].p_values.of_edges(fits[True].sparse_graph)
        finding_p = time.perf_counter() - begin
        _check(fits[True], fits[False])
        np.testing.assert_allclose(p, fits[False].p_values.of_edges(fits[False].sparse_graph), rtol=1e-6)
        row = record.row_of(result, w)
        row.update(pruned=seconds[True], plain=seconds[False], p_values=finding_p)
        row["levels"] = [
            {
                "level": a.level,
                "tests": a.n_tests,
                "made": a.n_tests if a.n_made < 0 else a.n_made,
                "bounds": a.n_bounds,
            }
            | {"pruned": a.seconds, "plain": b.seconds}
            for a, b in zip(fits[True].levels, fits[False].levels, strict=True)
        ]
        record.write(result, args.out)
    print(report.table(result["rows"]))


def _run(w: workloads.Workload, pruned: bool, args: Any) -> tuple[pycupc.PcAlgo, float]:
    begin = time.perf_counter()
    options = {"pruning": pruned}
    fit = pycupc.skeleton(
        {"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu", numCores=args.threads, engine_options=options
    )
    return fit, time.perf_counter() - begin


def _check(pruned: pycupc.PcAlgo, plain: pycupc.PcAlgo) -> None:
    """Equal answers, separating sets and counts included."""
    assert pruned.n_edgetests == plain.n_edgetests
    assert pruned.sepset == plain.sepset
    for name in ("x", "y", "level", "r"):
        np.testing.assert_array_equal(getattr(pruned.removals, name), getattr(plain.removals, name))
