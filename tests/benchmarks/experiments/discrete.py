"""Discrete data: the engines beside pcalg, bnlearn, pgmpy and causal-learn, whole calls of pc() on sampled networks."""

import gc
import time

import numpy as np

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest

from .. import networks, peers, record, runs
from ..record import where
from ..workloads import Answer
from .cpu import estimate

#: Our own runs: the default answer, and pcalg's with its faults, by which pcalg is judged.
CPU, QUIRKS, GPU = "cpu", "cpu, quirks", "gpu"


def discrete(args):
    """Experiment "discrete": the cpu engine and the peers."""
    limit, threads = args.limit or 600.0, args.threads or record.cores()
    results = record.Results("discrete", args)
    for name, alpha in _problems(args):
        table = networks.load(name, alpha, args.data, args.peer_python)
        fits = {}
        for who in (CPU, QUIRKS):
            how = {"alpha": alpha, "quirks": who == QUIRKS, "engine": "cpu", "numCores": threads}
            row, fits[who] = _repeat(table, how, limit, 1 if args.quick else 20)
            if who == QUIRKS:
                row.pop("answer", None)  # it need not be that of the others
            results.add(**_facts(table), engine=who, **row)
            record.progress(f"{name}, alpha {alpha:g}, {who}: {runs.brief(row)}")
        for peer in peers.DISCRETE if None not in fits.values() else ():
            if (args.engines and peer not in args.engines) or results.find(set=name, alpha=alpha, engine=peer):
                continue
            row = too_long(peer, table, results.rows, limit)
            if row is None:
                effort = peers.Effort(5, 10 if args.quick else 60, limit)
                row = _compared(peers.discrete(peer, table, args.peer_python, threads, effort), peer, fits, table)
            tests = sum(fits[QUIRKS if peer == "pcalg" else CPU].n_edgetests)
            results.add(**_facts(table), engine=peer, tests=tests, **row)
            record.progress(f"  {peer}: {runs.brief(row)}")


def discrete_gpu(args, deadline):
    """Experiment "discrete-gpu": the gpu engine on the tables of `prepare`, checked by the same machine's cpu engine.

    With ``--engines gpu`` the cpu engine, which needs minutes, does not run; the report compares the answers with those
    of the experiment "discrete" in any case.
    """
    limit = args.limit or 60.0
    results = record.Results("discrete-gpu", args)
    for name, alpha in _problems(args):
        if deadline.left() < limit:
            record.progress(f"{name}, alpha {alpha:g}: not run, the deadline has passed")
            continue
        table = networks.load(name, alpha, args.data, args.peer_python)
        how = {"alpha": alpha, "quirks": False}
        fit = None
        if args.engines != [GPU]:
            _, fit = _repeat(table, {**how, "engine": "cpu", "numCores": args.threads}, limit, None)
        row, _ = _repeat(table, {**how, "engine": "gpu"}, limit, 1 if args.quick else 20)
        if fit and "answer" in row:
            row["checked_by"] = "cpu engine"
            row["differs"] = row.get("differs") or ("answer" if Answer.of(fit).digest != row["answer"] else "")
        results.add(**_facts(table), engine=GPU, **row)
        record.progress(f"{name}, alpha {alpha:g}: {runs.brief(row)}")


def _problems(args):
    """Names and levels of significance, those with fewer tests first."""
    names = args.sets or (networks.NETWORKS[:1] if args.quick else networks.NETWORKS)
    return [(name, alpha) for name in names for alpha in sorted(args.alphas)]


def _facts(table):
    return {"set": table.name, "p": table.p, "n": table.n, "alpha": table.alpha}


def _repeat(table, how, limit, budget):
    """Whole calls of pc(): a first run, which is kept, then warm ones, at most nine, begun for `budget` seconds.

    Returns the columns of the run, and its result or None; `budget` None: no warm run.
    """
    suff = table.suff_stat()
    pycupc.pc(_copies(), disCItest, **how)  # loads the code
    began = time.perf_counter()
    try:
        stop = runs.stop_at(limit, lambda: time.perf_counter() - began)
        fit = pycupc.pc(suff, disCItest, **how, progress=stop)
    except runs.TooSlow as stopped:
        return stopped.columns, None
    first, times, again = time.perf_counter() - began, [], fit
    ends = time.perf_counter() + (budget or 0)
    with runs.quick_collection():
        while budget is not None and len(times) < 9 and (not times or time.perf_counter() < ends):
            began = time.perf_counter()
            again = pycupc.pc(suff, disCItest, **how)
            times.append(time.perf_counter() - began)
            gc.collect()
    row = {"first": first, **record.statistics(times), "answer": Answer.of(fit).digest, "edges": len(fit.sparse_graph)}
    row |= {"tests": sum(fit.n_edgetests), "last_level": len(fit.n_edgetests) - 1}
    return row | ({} if Answer.of(again).digest == row["answer"] else {"differs": "between runs"}), fit


def _copies():
    """Four variables that are noisy copies of each other."""
    rng = np.random.default_rng(0)
    return DiscreteSuffStat(rng.integers(0, 2, (400, 1)) ^ (rng.random((400, 4)) < 0.1), adaptDF=False)


def _compared(out, peer, fits, table):
    """The columns of a peer's run, compared with ours; that of pcalg with our answer with its faults, sets included."""
    fit = fits[QUIRKS if peer == "pcalg" else CPU]
    row = peers.summary(out, fit.skeleton)
    if "graph" in out:
        row["cpdag_differs"] = peers.pairs_marked_otherwise(out["graph"], fit.graph)
    if "answer" in out:
        answer = out["answer"]
        differs = list(Answer.of(fit).differences(answer)) + ["directions"] * bool(row["cpdag_differs"])
        sets = len(answer.sepset[0]) + out["empty_sets"] + int(np.triu(answer.skeleton).sum())
        differs += ["empty_sets"] * (sets != table.p * (table.p - 1) // 2)
        row |= {"checked_by": QUIRKS, "differs": ", ".join(differs)}
    return row


def too_long(peer, table, rows, limit):
    """Why a run is not started: for pcalg its number of tests, which is known; for others a run that was stopped.

    pcalg makes the tests that we make with `quirks`. The others make tests of their own; one of them that was stopped
    at this limit, or a longer one, is not started on a problem on which we make at least as many tests.
    """
    (own,) = where(rows, set=table.name, alpha=table.alpha, engine=QUIRKS if peer == "pcalg" else CPU)
    if peer == "pcalg":
        return estimate(rows, peer, table.name, own["tests"], limit, table.alpha)
    for row in where(rows, engine=peer, outcome="stopped"):
        if row["limit"] >= limit and row["tests"] <= own["tests"]:
            return {"outcome": "not started", "why": f"stopped on {row['set']}, alpha {row['alpha']:g}"}
    return None
