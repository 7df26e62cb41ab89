"""Every algorithm on a CPU (Table 2 of the cuPC paper), and Python packages on small data sets."""

import time

from .. import peers, runs, workloads
from ..processes import in_fresh_process

#: CRAN's pcalg is built without OpenMP on Linux, so that numCores has no effect there; this is a build with OpenMP.
OPENMP = "stable.fast, OpenMP"
#: Another R package, which runs pcalg's stable algorithm in several processes.
PARALLEL = "ParallelPC"
PCALG = ("stable", "stable.fast", PARALLEL)
PYTHON_SETS = ("std_50_4_1000", "std_100_4_1000")


def cpu(args):
    """Table 2 of the cuPC paper: the engine cpu in a process of its own; then, checked by it, reference and pcalg."""
    limit = args.limit or 600.0
    names = args.engines or ("reference", *PCALG, *([OPENMP] if args.openmp_pcalg else []))
    for name in workloads.wanted(args, (workloads.CALIBRATION, *workloads.SETS)):
        w, how = workloads.load(name, args.data), {"budget": 60, "limit": limit}
        row, answer = in_fresh_process(runs.repeat_cpu, w, args.threads, time.time(), how)
        allowed = {"memory_allowed_bytes": 3 * w.C.nbytes + 500_000_000}
        yield {**w.facts, "engine": "cpu", **row, **allowed}
        for who in names if answer is not None else ():
            if not args.has(set=name, engine=who):
                out = estimate(args, who, name, row["tests"], limit) or _other(who, w, answer, args, limit)
                yield {**w.facts, "engine": who, **out, "tests": row["tests"]}


def _other(who, w, answer, args, limit):
    """The columns of the engine `reference` or of an R package; but for stable.fast the tests must be ours, too."""
    if who == "reference":
        return runs.repeat(w, who, runs.Check(w, answer), least=1, limit=limit)[0]
    effort = peers.Effort(3, 60, limit)
    if who == PARALLEL:
        out = peers.parallel_pc(w, args.threads, effort)
    else:
        library = args.openmp_pcalg if who == OPENMP else None
        out = peers.pcalg(w, who.split(",")[0], args.threads, effort, library=library)
    row = peers.summary(out, answer.skeleton)
    if "times" in out and who in ("stable", PARALLEL) and out["tests"] != answer.n_edgetests:
        row["differs"] = "numbers of tests"
    return row


def estimate(args, who, name, tests, limit, alpha=None):
    """The columns of a run that is not started, because its estimate exceeds `limit` seconds; None if it may start.

    The estimate is the number of tests of this problem times the smallest time per test that the implementation needed
    on any other one.
    """
    known = [r for r in args.where(engine=who) if (r["set"], alpha and r["alpha"]) != (name, alpha) and "seconds" in r]
    rate = min((r["seconds"] / r["tests"] for r in known), default=0)
    return {"outcome": "estimated", "limit": limit, "estimate": rate * tests} if rate * tests > limit else None


def python_peers(args):
    """causal-learn and pgmpy on small data sets, which take them seconds to minutes."""
    effort = peers.Effort(3, 60, 120)
    for name in workloads.wanted(args, PYTHON_SETS):
        X = workloads.observations(name, args.data)
        w = workloads.of(name, X, 0.05)
        row, fit, _ = runs.repeat(w, "cpu", runs.Check(w), threads=args.threads)
        yield {**w.facts, "engine": "cpu", **row}
        for peer in peers.PYTHON_PEERS:
            out = peers.summary(peers.python_peer(peer, X, w.alpha, args.peer_python, effort), fit.skeleton)
            yield {**w.facts, "engine": peer, "tests": row["tests"], **out}
