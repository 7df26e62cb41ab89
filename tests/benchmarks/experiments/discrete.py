"""Discrete data: the engines beside pcalg, bnlearn, pgmpy and causal-learn, whole calls of pc() on sampled networks."""

import numpy as np

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest

from .. import networks, peers, record, runs
from ..workloads import Answer
from .cpu import estimate

#: Our own runs: the default answer, and pcalg's with its faults, by which pcalg is judged.
CPU, QUIRKS, GPU = "cpu", "cpu, quirks", "gpu"
#: At most this many warm runs of ours, none begun after this many seconds.
RUNS, BUDGET = 9, 20.0


def discrete(args):
    """Discrete data: the cpu engine, pcalg, bnlearn, pgmpy, causal-learn."""
    limit = args.limit or 600.0
    for name, alpha in _problems(args):
        table = networks.load(name, alpha, args.data, args.peer_python)
        fits = {}
        for who in (CPU, QUIRKS):
            how = {"alpha": alpha, "quirks": who == QUIRKS, "engine": "cpu", "numCores": args.threads}
            row, fits[who] = _repeat(table, how, limit)
            if who == QUIRKS:
                row.pop("answer", None)  # it need not equal the others' answer
            yield {**table.facts, "engine": who, **row}
        for peer in args.engines or peers.DISCRETE if None not in fits.values() else ():
            if args.has(set=name, alpha=alpha, engine=peer):
                continue
            row = too_long(peer, table, args, limit)
            if row is None:
                found = peers.discrete(peer, table, args.peer_python, args.threads, peers.Effort(5, 60, limit))
                row = _compared(found, peer, fits, table)
            tests = sum(fits[QUIRKS if peer == "pcalg" else CPU].n_edgetests)
            yield {**table.facts, "engine": peer, "tests": tests, **row}


def discrete_gpu(args):
    """The gpu engine on the tables of discrete data that prepare made, checked by the same machine's cpu engine.

    With ``--engines gpu`` the cpu engine, which needs minutes, does not run; the report compares the answers with those
    of the experiment "discrete" in any case.
    """
    limit = args.limit or 60.0
    for name, alpha in _problems(args):
        if args.has(set=name, alpha=alpha, engine=GPU):
            continue
        table, how, fit = (
            networks.load(name, alpha, args.data, args.peer_python),
            {"alpha": alpha, "quirks": False},
            None,
        )
        if args.engines != [GPU]:
            how |= {"numCores": args.threads}
            _, fit = _repeat(table, {**how, "engine": "cpu"}, limit, runs_at_most=0)
        row, _ = _repeat(table, {**how, "engine": "gpu"}, limit, check=fit)
        yield {**table.facts, "engine": GPU, **row}


def _problems(args):
    """Names and levels of significance, those with fewer tests first."""
    return [(name, alpha) for name in args.sets or networks.NETWORKS for alpha in sorted(networks.ALPHAS)]


def _repeat(table, how, limit, runs_at_most=RUNS, check=None):
    """Whole calls of pc(): a first run, which is compared with `check`; then warm ones, if its answer is right.

    Returns the columns of the run, and its result or None.
    """
    suff = table.suff_stat()
    pycupc.pc(_copies(), disCItest, **how)  # loads the code
    try:
        fit, first = runs.timed(pycupc.pc, suff, disCItest, **how, progress=runs.stop_at(limit))
    except runs.TooSlow as stopped:
        return stopped.args[0], None
    row = {"first": first, "answer": Answer.of(fit).digest, "edges": len(fit.sparse_graph)}
    row |= {"tests": sum(fit.n_edgetests), "last_level": len(fit.n_edgetests) - 1}
    if check is not None:
        row |= {"checked_by": "cpu engine", "differs": ", ".join(Answer.of(check).differences(Answer.of(fit)))}
    times, most = [], 0 if row.get("differs") else runs_at_most
    for again, taken in runs.warm(lambda: pycupc.pc(suff, disCItest, **how), most, BUDGET):
        times.append(taken)
        if Answer.of(again).digest != row["answer"]:
            row["differs"] = "between runs"
    return row | record.statistics(times), fit


def _copies():
    """Four variables that are noisy copies of each other."""
    rng = np.random.default_rng(0)
    return DiscreteSuffStat(rng.integers(0, 2, (400, 1)) ^ (rng.random((400, 4)) < 0.1), adaptDF=False)


def _compared(out, peer, fits, table):
    """The columns of a peer's run, compared with ours; pcalg with our answer with its faults, sets included."""
    fit, p = fits[QUIRKS if peer == "pcalg" else CPU], len(table.nlev)
    row = peers.summary(out, fit.skeleton)
    if "graph" in out:
        row["cpdag_differs"] = peers.pairs_marked_otherwise(out["graph"], fit.graph)
    if "answer" in out:
        answer = out["answer"]
        differs = list(Answer.of(fit).differences(answer)) + ["directions"] * bool(row["cpdag_differs"])
        sets = len(answer.sepset[0]) + out["empty_sets"] + int(np.triu(answer.skeleton).sum())
        differs += ["empty_sets"] * (sets != p * (p - 1) // 2)
        row |= {"checked_by": QUIRKS, "differs": ", ".join(differs)}
    return row


def too_long(peer, table, args, limit):
    """Why a run is not started: its estimate for pcalg, which makes the tests that we make with `quirks`.

    The others make tests of their own: one that was stopped is not started on the problems that follow.
    """
    if peer == "pcalg":
        (own,) = args.where(**table.facts, engine=QUIRKS)
        return estimate(args, peer, table.name, own["tests"], limit, table.alpha)
    stopped = [line for line in args.where(engine=peer, outcome="stopped") if line["limit"] >= limit]
    return {"outcome": "not started", "why": f"stopped on {stopped[0]['set']}"} if stopped else None
