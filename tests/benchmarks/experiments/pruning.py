"""Tests made against tests answered: the CPU engine with and without pruning, in turns, on the same problems."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from pycupc import skeleton
from pycupc.results.pcalgo import PcAlgo

from .. import record, runs, workloads

#: The sets on which pruning has most to do.
SETS = ("stock_logret", "std_1000_100_2000")


def run(args: argparse.Namespace) -> None:
    """Time both, check that their answers are equal, and record the levels."""
    rows: list[dict[str, Any]] = []
    for name in args.sets or SETS:
        work = workloads.load(name, args.data)
        skeleton({"C": work.C, "n": work.n}, alpha=work.alpha, engine="cpu", m_max=6)  # loads the code
        seconds: dict[bool, list[float]] = {True: [], False: []}
        fits: dict[bool, PcAlgo] = {}
        for _ in range(1 if args.quick else 3):
            for pruning in (True, False):
                begin = time.perf_counter()
                options = {"pruning": pruning}
                fits[pruning] = skeleton(
                    {"C": work.C, "n": work.n}, alpha=work.alpha, engine="cpu", engine_options=options
                )
                seconds[pruning].append(time.perf_counter() - begin)
        _check(fits[True], fits[False])
        begin = time.perf_counter()
        smallest = fits[True].p_values.of_edges(fits[True].sparse_graph)
        finding_p = time.perf_counter() - begin
        np.testing.assert_allclose(smallest, fits[False].p_values.of_edges(fits[False].sparse_graph), rtol=1e-6)
        rows.append(
            {
                "set": name,
                "pruned_s": seconds[True],
                "plain_s": seconds[False],
                "pmax_s": finding_p,
                "levels": [
                    {"level": a.level, "tests": a.n_tests, "made": a.n_made, "bounds": a.n_bounds,
                     "pruned_s": a.seconds, "plain_s": b.seconds}
                    for a, b in zip(fits[True].levels, fits[False].levels, strict=True)
                ],
            }
        )  # fmt: skip
        print(f"{name}: {np.median(seconds[True]):.2f} s with pruning, {np.median(seconds[False]):.2f} s without")
    record.write(args.out / "pruning.json", record.environment(args), rows)


def _check(pruned: PcAlgo, plain: PcAlgo) -> None:
    """Equal answers, separating sets included."""
    runs.same_answer(pruned, plain)
