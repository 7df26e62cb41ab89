"""Whole calls in R: cu_pc() beside pcalg::pc(), from the same correlation matrix."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import pycupc

from .. import peers, record, workloads
from .cpu import brief, predicted

SETS = ("nci60", "mcc", "std_1000_10_1000", "tcga_brca_jive", "saureus")
FUNCTIONS = ("cu_pc", "pc")


def run(args: Any) -> None:
    """Experiment "r": conversion, skeleton, orientation and the R object; every function in an R process of its own."""
    threads = args.threads or len(os.sched_getaffinity(0))
    limit = args.limit or 600.0
    result = record.new("r", args)
    result["threads"] = threads
    names = list(args.sets or (workloads.QUICK if args.quick else SETS))
    for name in workloads.available(names, args.data):
        w = workloads.load(name, args.data)
        fit = pycupc.pc({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu", numCores=threads)
        row = record.row_of(result, w)
        row.update(source=w.source, tests=sum(fit.n_edgetests), runs={})
        for method in (f for f in FUNCTIONS if not args.engines or f in args.engines):
            too_long = predicted(method, row, result, limit) if method == "pc" else None
            out = too_long or peers.pcalg(w, method, threads, repeats=6, budget=60, limit=limit)
            row["runs"][method] = peers.summary(out, fit.skeleton)
            if "graph" in out:
                graph = out["graph"] != 0
                row["runs"][method]["cpdag_differs"] = int(np.triu((graph != fit.graph) | (graph != fit.graph).T).sum())
            record.progress(f"{name} {method}: {brief(row['runs'][method])}")
            record.write(result, args.out)
