"""Whole calls, from data in host memory and from C, to the skeleton and to the CPDAG: this checkout and another one."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from .. import paired, record, workloads

#: Data sets, in both forms, and those of which only the data are the point.
SETS = (*workloads.SETS, *workloads.EXPRESSION, "std_4919_6_295")
#: What is timed: the form in which the data come, and the function that is called.
CALLS = (("C", "skeleton"), ("C", "pc"), ("data", "pc"))


def call(args: Any) -> None:
    """Experiment "call": are the answers of both checkouts equal? Then the times of both, in turns."""
    from ..report import call as report

    checkouts = paired.both_checkouts(args)
    result = record.new("call", args, resume=False)
    result["checkouts"] = paired.named(checkouts)
    (engine,) = args.engines or ["gpu"]
    result["engine"], ends = engine, time.perf_counter() + args.deadline
    names = list(args.sets or (workloads.QUICK if args.quick else SETS))
    with paired.open_workers(checkouts) as workers:
        for name in workloads.available(names, args.data):
            w, X = workloads.load(name, args.data), np.ascontiguousarray(workloads.observations(name, args.data)[0])
            for source, function in CALLS:
                if time.perf_counter() > ends:
                    record.progress(f"{name}, {function} from {source}: not run, the deadline has passed")
                    continue
                paired.load(w.C if source == "C" else X, w.n, w.alpha, workers, source)
                job = {"call": function, "engine": engine, "threads": args.threads or len(os.sched_getaffinity(0))}
                row = {"set": name, "p": w.p, "n": w.n, "alpha": w.alpha, "source": source, "call": function}
                result["rows"].append(row | paired.compare(workers, job, args))
                record.write(result, args.out)
                record.progress(f"{name}, {function} from {source}: {report.brief(result['rows'][-1])}")
