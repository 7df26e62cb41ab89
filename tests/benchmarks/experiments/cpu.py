"""Every algorithm on a CPU (Table 2 of the cuPC paper), Python packages on small data sets, and whole calls in R."""

import numpy as np

import pycupc

from .. import generator, peers, processes, record, runs, workloads

#: A small data set on which every implementation runs first: it gives the time per test of each of them.
CALIBRATION = "std_100_5_500"
QUICK_SETS = (CALIBRATION, "std_150_6_300", "std_300_5_500")
#: CRAN's pcalg is built without OpenMP on Linux, so that numCores has no effect there; this is a build with OpenMP.
OPENMP = "stable.fast, OpenMP"
#: Another R package, which runs pcalg's stable algorithm in several processes.
PARALLEL = "ParallelPC"
PCALG = ("stable", "stable.fast", PARALLEL)
IN_R = ("nci60", "mcc", "std_1000_10_1000", "tcga_brca_jive", "saureus")


def cpu(args):
    """Experiment "cpu": our engine in a process of its own; then, checked by it, the engine `reference` and pcalg."""
    threads, limit = args.threads or record.cores(), args.limit or 600.0
    results = record.Results("cpu", args)
    names = list(args.engines or ("reference", *PCALG)) + ([OPENMP] if args.openmp_pcalg else [])
    for name in workloads.wanted(args, (CALIBRATION, *workloads.SETS), QUICK_SETS):
        w = workloads.load(name, args.data)
        how = {"least": 2 if args.quick else 5, "budget": 60, "limit": limit}
        row, answer = processes.repeat_in_fresh_process(w, "cpu", threads, **how)
        if answer is not None and w.expected is not None:
            row |= {"checked_by": "recorded", "differs": ", ".join(w.expected.differences(answer))}
        allowed = {"memory_allowed_bytes": 3 * w.C.nbytes + 500_000_000}
        results.add(**w.facts, engine="cpu", **row, **allowed)
        record.progress(f"{name}: {w.p} variables, {w.n} observations; cpu: {runs.brief(row)}")
        for who in names if answer is not None else ():
            if who not in (*PCALG, OPENMP, "reference") or "seconds" in (results.find(set=name, engine=who) or {}):
                continue
            out = estimate(results.rows, who, name, row["tests"], limit) or _other(who, w, answer, threads, args, limit)
            results.add(**{**w.facts, "engine": who, **out, "tests": row["tests"]})
            record.progress(f"  {who}: {runs.brief(out)}")


def _other(who, w, answer, threads, args, limit):
    """The columns of the engine `reference` or of an R package; but for stable.fast the tests must be ours, too."""
    if who == "reference":
        return runs.repeat(w, runs.make_engine(who), runs.Check(w, answer), least=1, budget=0, limit=limit)[0]
    effort = peers.Effort(3, 60, limit)
    if who == PARALLEL:
        out = peers.parallel_pc(w, threads, effort)
    else:
        library = args.openmp_pcalg if who == OPENMP else None
        out = peers.pcalg(w, who.split(",")[0], threads, effort, library=library)
    row = peers.summary(out, answer.skeleton)
    if "times" in out and who in ("stable", PARALLEL) and out["tests"] != answer.n_edgetests:
        row["differs"] = "numbers of tests"
    return row


def estimate(rows, who, name, tests, limit, alpha=None):
    """The columns of a run that is not started, because its estimate exceeds `limit` seconds; None if it may start.

    The estimate is the number of tests of this problem times the smallest time per test that the implementation needed
    on any other one.
    """
    other = [
        r for r in rows if r["engine"] == who and (r["set"], alpha and r["alpha"]) != (name, alpha) and "seconds" in r
    ]
    rate = min((r["seconds"] / r["tests"] for r in other), default=0)
    return {"outcome": "estimated", "limit": limit, "estimate": rate * tests} if rate * tests > limit else None


def python_peers(args):
    """Experiment "python-peers": causal-learn and pgmpy on small data sets: seconds to minutes, pycupc milliseconds."""
    results = record.Results("python-peers", args)
    effort = peers.Effort(3, 60, min(args.limit or 600.0, 120))
    for p, degree, n in ((30, 4, 500),) if args.quick else ((50, 4, 1000), (100, 4, 1000)):
        X = generator.standardised(p, degree, n, seed=0)
        w = workloads.of(f"std_{p}_{degree}_{n}", X, 0.05)
        row, fit, _ = runs.repeat(w, runs.make_engine("cpu", args.threads), runs.Check(w))
        results.add(**w.facts, engine="cpu", **row)
        for peer in peers.PYTHON_PEERS:
            out = peers.summary(peers.python_peer(peer, X, 0.05, args.peer_python, effort), fit.skeleton)
            results.add(**w.facts, engine=peer, tests=row["tests"], **out)
            record.progress(f"{w.name} {peer}: {runs.brief(out)}")


def in_r(args):
    """Experiment "r": conversion, skeleton, orientation and the R object; every function in an R process of its own."""
    threads, limit = args.threads or record.cores(), args.limit or 600.0
    results = record.Results("r", args)
    for name in workloads.wanted(args, IN_R):
        w = workloads.load(name, args.data)
        fit = pycupc.pc({"C": w.C, "n": w.n}, alpha=w.alpha, engine="cpu", numCores=threads)
        tests = sum(fit.n_edgetests)
        for who in (f for f in ("cu_pc", "pc") if not args.engines or f in args.engines):
            row = estimate(results.rows, who, name, tests, limit) if who == "pc" else None
            if row is None:
                out = peers.pcalg(w, who, threads, peers.Effort(6, 60, limit))
                row = later_calls(out) | peers.summary({**out, "times": []}, fit.skeleton)
                if "graph" in out:
                    row["cpdag_differs"] = peers.pairs_marked_otherwise(out["graph"], fit.graph)
            results.add(**w.facts, engine=who, tests=tests, **row)
            record.progress(f"{name} {who}: {runs.brief(row)}")


def later_calls(out):
    """The first call apart, because it starts Python; "seconds" are those of the later ones, if there are any."""
    times = np.array(out.get("times", []))
    return ({"first": times[0]} if len(times) else {}) | record.statistics(times[1:] if len(times) > 1 else times)
