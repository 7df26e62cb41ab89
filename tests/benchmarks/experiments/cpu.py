"""Every algorithm on a CPU (Table 2 of the cuPC paper): `cpu` and `reference` against pcalg, with the same threads."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import generator, peers, processes, record, runs, workloads

#: A small data set on which every implementation runs first: it gives the time per test of each of them.
CALIBRATION = "std_100_5_500"
QUICK_SETS = (CALIBRATION, "std_150_6_300", "std_300_5_500")
#: CRAN's pcalg is built without OpenMP on Linux, so that numCores has no effect there; this is a build with OpenMP.
OPENMP = "stable.fast, OpenMP"
#: Another R package, which runs pcalg's stable algorithm in several processes.
PARALLEL = "ParallelPC"
IN_R = ("stable", "stable.fast", OPENMP, PARALLEL)


def run(args: Any) -> None:
    """Experiment "cpu"."""
    threads = args.threads or len(os.sched_getaffinity(0))
    args.limit = args.limit or 600.0
    result = record.new("cpu", args)
    result["threads"] = threads
    wanted = list(args.engines or ("cpu", "reference", "stable", "stable.fast", PARALLEL))
    if args.openmp_pcalg is not None:
        wanted.append(OPENMP)
    names = list(args.sets or (QUICK_SETS if args.quick else (CALIBRATION, *workloads.SETS)))
    for name in workloads.available(names, args.data):
        w = workloads.load(name, args.data)
        row = record.row_of(result, w)
        row.update(source=w.source, runs=row.get("runs", {}))
        record.progress(f"{name}: {w.p} variables, {w.n} observations, alpha {w.alpha:g}")
        answer = _cpu(w, row, threads, args)  # measured anew on --resume, too: the others are compared with its answer
        record.write(result, args.out)
        if answer is None:
            continue
        for who in wanted:
            if who not in (*IN_R, "reference") or _seconds(row["runs"].get(who, {})):
                continue
            if too_long := predicted(who, row, result, args.limit):
                row["runs"][who] = too_long
            elif who == "reference":
                row["runs"][who] = _reference(w, answer, args.limit)
            else:
                row["runs"][who] = _pcalg(w, who, threads, answer, args)
            record.progress(f"  {who}: {brief(row['runs'][who])}")
            record.write(result, args.out)
    if args.peer_python is not None:
        small = record.new("python-peers", args)
        _python_peers(small, args, threads)


def _cpu(w: workloads.Workload, row: dict[str, Any], threads: int, args: Any) -> workloads.Answer | None:
    """Our engine, in a process of its own, and its answer, compared with the recorded one."""
    least = 2 if args.quick else 5
    out = processes.repeat_in_fresh_process(w, "cpu", threads, least=least, budget=60, limit=args.limit)
    answer = None
    if "arrays" in out:
        answer = processes.answer_of(out.pop("arrays"))
        out["differs"] = None if w.expected is None else w.expected.differences(answer)
        out["memory_allowed_bytes"] = 3 * w.C.nbytes + 500_000_000
        row["tests"], row["edges"], row["levels"] = out["tests"], out["edges"], len(out["tests_by_level"]) - 1
    row["runs"]["cpu"] = out
    record.progress(f"  cpu: {brief(out)}")
    return answer


def _reference(w: workloads.Workload, answer: workloads.Answer, limit: float) -> dict[str, Any]:
    try:
        fit, times = runs.once(w, runs.make_engine("reference"), limit)
    except runs.TooSlow:
        return {"too_slow": limit, "repeats": []}
    return {"repeats": [times], "differs": answer.differences(workloads.Answer.of(fit))}


def _pcalg(w: workloads.Workload, method: str, threads: int, answer: workloads.Answer, args: Any) -> dict[str, Any]:
    """A live pcalg or ParallelPC; its answer must be ours, edge for edge (and test for test but for stable.fast)."""
    if method == PARALLEL:
        out = peers.parallel_pc(w, threads, repeats=3, budget=60, limit=args.limit)
    else:
        library = args.openmp_pcalg if method == OPENMP else None
        out = peers.pcalg(w, method.split(",")[0], threads, repeats=3, budget=60, limit=args.limit, library=library)
    summary = peers.summary(out, answer.skeleton)
    if "tests" in summary and method in ("stable", PARALLEL):
        summary["tests_equal"] = tuple(summary["tests"]) == answer.n_edgetests
    return summary


def predicted(who: str, row: dict[str, Any], result: dict[str, Any], limit: float) -> dict[str, Any] | None:
    """The estimate because of which a run is not started, None if it may start.

    The estimate is the number of tests of this data set times the smallest time per test that the implementation
    needed on any other data set. A run is not started if its estimate exceeds `limit` seconds.
    """
    rates = [
        (np.median(_seconds(r["runs"][who])) / r["tests"])
        for r in result["rows"]
        if r is not row and who in r["runs"] and _seconds(r["runs"][who])
    ]
    if not rates or min(rates) * row["tests"] <= limit:
        return None
    return {"not_started": limit, "seconds_at_measured_rate": min(rates) * row["tests"], "rate": min(rates)}


def _seconds(run: dict[str, Any]) -> list[float]:
    return run["seconds"] if "seconds" in run else [r["total"] for r in run.get("repeats", [])]


def brief(run: dict[str, Any]) -> str:
    """A run in one line of progress."""
    if seconds := _seconds(run):
        return f"{np.median(seconds):.3g} s, differs: {run.get('differs', run.get('edges_only_there'))}"
    return ", ".join(f"{k} {v}" for k, v in run.items() if k not in ("repeats", "rate"))


def _python_peers(result: dict[str, Any], args: Any, threads: int) -> None:
    """causal-learn and pgmpy on small data sets: they take seconds to minutes where pycupc takes milliseconds."""
    sizes = ((30, 4, 500),) if args.quick else ((50, 4, 1000), (100, 4, 1000))
    for p, degree, n in sizes:
        X = generator.standardised(p, degree, n, seed=0)
        w = workloads.Workload(f"std_{p}_{degree}_{n}", workloads.correlation(X), n, 0.05, "")
        own = runs.repeat(w, runs.make_engine("cpu", threads))
        fit = own.pop("fit")
        row = record.row_of(result, w)
        row.update(tests=own["tests"], edges=own["edges"], runs={"cpu": own})
        for peer in peers.PYTHON_PEERS:
            effort = peers.Effort(repeats=3, budget=60, limit=min(args.limit, 120))
            out = peers.python_peer(peer, X, 0.05, args.peer_python, effort)
            row["runs"][peer] = peers.summary(out, fit.skeleton)
            record.progress(f"{w.name} {peer}: {brief(row['runs'][peer])}")
            record.write(result, args.out)
