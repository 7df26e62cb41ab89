"""Discrete data: the engines beside pcalg, bnlearn, pgmpy and causal-learn, whole calls of pc() on sampled networks."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import numpy as np

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest

from .. import networks, record, runs
from ..peers import Effort, summary
from ..peers import discrete as peers
from ..workloads import Answer
from .cpu import brief, predicted
from .gpu import Deadline

#: Keys of our own runs: the default answer, and pcalg's with its faults, by which pcalg is judged.
CPU, QUIRKS, GPU = "cpu", "cpu, quirks", "gpu"


def discrete(args: Any) -> None:
    """Experiment "discrete": the cpu engine and the peers."""
    args.limit = args.limit or 600.0
    result = record.new("discrete", args)
    result["threads"] = args.threads or len(os.sched_getaffinity(0))
    for name, alpha in _problems(args):
        table = networks.load(name, alpha, args.data, args.peer_python)
        row = _row(result, table)
        fits = _ours(row, table, "cpu", args, result["threads"])
        record.write(result, args.out)
        for peer in _wanted(args, peers.PEERS):
            if peer not in row["runs"] and fits.keys() >= {CPU, QUIRKS}:
                row["runs"][peer] = _peer(peer, table, row, result, fits, args)
                record.progress(f"  {peer}: {brief(row['runs'][peer])}")
                record.write(result, args.out)


def discrete_gpu(args: Any, deadline: Deadline) -> None:
    """Experiment "discrete-gpu": the gpu engine on the tables of `prepare`, checked by the same machine's cpu engine.

    With ``--engines gpu`` the cpu engine, which needs minutes, does not run again: the check is the answer that it gave
    in the recorded experiment "discrete". The report compares with that one in any case.
    """
    args.limit = args.limit or 60.0
    result = record.new("discrete-gpu", args)
    for name, alpha in _problems(args):
        if deadline.left() < args.limit:
            record.progress(f"{name}, alpha {alpha:g}: not run, the deadline has passed")
            continue
        table = networks.load(name, alpha, args.data, args.peer_python)
        row = _row(result, table)
        _ours(row, table, "gpu", args, args.threads or len(os.sched_getaffinity(0)))
        if args.engines == [GPU] and (gpu := row["runs"][GPU]).get("answer") != _recorded(row):
            gpu["differs"] = {"recorded": True}
            record.progress(f"  {GPU}: this is not the recorded answer of {CPU}, {_recorded(row)}")
        record.write(result, args.out)


def _recorded(row: dict[str, Any]) -> str | None:
    """The answer of the cpu engine in the recorded experiment "discrete"; None if it has none for this problem."""
    rows = (record.read(record.RESULTS, "discrete") or {"rows": []})["rows"]
    own = {key: row[key] for key in ("set", "alpha", "n", "source")}
    return next((r["runs"][CPU].get("answer") for r in rows if own.items() <= r.items()), None)


def _problems(args: Any) -> list[tuple[str, float]]:
    """Names and levels of significance."""
    names = args.sets or (networks.NETWORKS[:1] if args.quick else networks.NETWORKS)
    return [(name, alpha) for name in names for alpha in sorted(args.alphas)]  # fewer tests first


def _wanted(args: Any, known: tuple[str, ...]) -> list[str]:
    return [who for who in known if args.engines is None or who in args.engines]


def _row(result: dict[str, Any], table: networks.Table) -> dict[str, Any]:
    """The row of a problem, a new one or that of an earlier call, whose runs of the peers it keeps."""
    own = {"set": table.name, "alpha": table.alpha}
    row = next((r for r in result["rows"] if own.items() <= r.items()), None)
    if row is None:
        row = {**own, "p": table.p, "n": table.n, "source": table.source, "runs": {}}
        row["levels_of_variables"] = [int(table.nlev.min()), int(table.nlev.max())]
        row["constant_in_sample"] = table.p - len(table.varying)
        result["rows"].append(row)
    record.progress(f"{table.source}, {table.p} variables, alpha {table.alpha:g}")
    return row


def _ours(row: dict[str, Any], table: networks.Table, engine: str, args: Any, threads: int) -> dict[str, Any]:
    """Run our engine and note its times; returns its results by key.

    On a GPU the cpu engine runs first: its answer is the one to be reproduced.
    """
    suff, fits = table.suff_stat(), {}
    plans = [(CPU, "cpu", False), (QUIRKS, "cpu", True) if engine == "cpu" else (GPU, "gpu", False)]
    for key, name, quirks in plans:
        if args.engines is not None and key not in args.engines and engine == GPU:
            continue
        check = fits.get(CPU) if key == GPU else None
        budget = None if engine != name else 1 if args.quick else 20
        how = {"alpha": table.alpha, "quirks": quirks, "engine": name}
        out = _repeat(suff, how, threads, (args.limit, budget), check)
        fit = out.pop("fit", None)
        if fit is not None:
            fits[key] = fit
            row["tests" if not quirks else "tests_quirks"] = sum(fit.n_edgetests)
            if not quirks:
                row["edges"], row["last_level"] = int(np.triu(fit.skeleton).sum()), len(fit.n_edgetests) - 1
        row["runs"][key] = out
        record.progress(f"  {key}: {brief(out)}")
    return fits


def _repeat(
    suff: DiscreteSuffStat, how: dict[str, Any], threads: int, times: tuple[float, float | None], check: Any
) -> dict[str, Any]:
    """Times of whole calls of pc(): a first run, whose answer is checked and kept, then warm ones.

    `times` are the limit of the first run and, in seconds, how long warm ones are begun: at least one, at most nine;
    None for no warm run.
    """
    (limit, budget), how = times, {**how, "numCores": threads if how["engine"] == "cpu" else None}
    began = time.perf_counter()

    def stop(level: int, _: int, most: int, edges: int) -> None:
        if time.perf_counter() - began > limit:
            raise runs.TooSlow(limit, {"level": level, "tests_at_most": most, "edges_left": edges})

    pycupc.pc(_copies(), disCItest, **how)  # loads the code
    try:
        began = time.perf_counter()
        fit = pycupc.pc(suff, disCItest, **how, progress=stop)
        first = time.perf_counter() - began
    except runs.TooSlow as stopped:
        return {"too_slow": limit, "reached": stopped.reached, "seconds": []}
    seconds, ends, again = [], time.perf_counter() + (budget or 0), fit
    with runs.quick_collection():
        while budget is not None and len(seconds) < 9 and (not seconds or time.perf_counter() < ends):
            began = time.perf_counter()
            again = pycupc.pc(suff, disCItest, **how)
            seconds.append(time.perf_counter() - began)
            gc.collect()
    answer = Answer.of(fit)
    differs = {} if Answer.of(again).digest == answer.digest else {"between_runs": True}
    if check is not None:
        differs |= Answer.of(check).differences(answer)
        differs |= {} if np.array_equal(check.graph, fit.graph) else {"directions": True}
    return {"first": first, "seconds": seconds, "answer": answer.digest, "differs": differs, "fit": fit}


def _copies() -> DiscreteSuffStat:
    """Four variables that are noisy copies of each other."""
    rng = np.random.default_rng(0)
    return DiscreteSuffStat(rng.integers(0, 2, (400, 1)) ^ (rng.random((400, 4)) < 0.1), adaptDF=False)


def _peer(
    peer: str, table: networks.Table, row: dict[str, Any], result: dict[str, Any], fits: dict[str, Any], args: Any
) -> dict[str, Any]:
    """Run a peer, unless it is known to take too long, and compare its answer with ours."""
    if (why := _too_long(peer, row, result, args.limit)) is not None:
        return why
    effort = Effort(repeats=5, budget=10 if args.quick else 60, limit=args.limit)
    out = peers.run(peer, table, args.peer_python, result["threads"], effort)
    answer, empty = out.pop("answer", None), out.pop("empty_sets", None)
    fit = fits[QUIRKS if peer == "pcalg" else CPU]
    found = summary(out, fit.skeleton)
    if "graph" in out:
        theirs, ours = out["graph"] != 0, fit.graph != 0
        found["cpdag_differs"] = int(np.triu((theirs != ours) | (theirs != ours).T).sum())
    if answer is not None:
        found["differs"] = Answer.of(fit).differences(answer)
        sets = len(answer.sepset[0]) + empty + int(np.triu(answer.skeleton).sum())
        found["differs"] |= {} if sets == table.p * (table.p - 1) // 2 else {"empty_sets": True}
        found["differs"] |= {"directions": found["cpdag_differs"]} if found["cpdag_differs"] else {}
    return found


def _too_long(peer: str, row: dict[str, Any], result: dict[str, Any], limit: float) -> dict[str, Any] | None:
    """Why a run is not started: for pcalg its number of tests, which is known; for others a run that was stopped.

    pcalg makes the tests that we make with `quirks`. The others make tests of their own; one of them that was stopped
    at this limit, or a longer one, is not started on a problem on which we make at least as many tests.
    """
    if peer == "pcalg":
        rows = [{**r, "tests": r["tests_quirks"]} for r in result["rows"] if "tests_quirks" in r]
        here = {**row, "tests": row["tests_quirks"]}
        others = [r for r in rows if (r["set"], r["alpha"]) != (row["set"], row["alpha"])]
        return predicted(peer, here, {"rows": others}, limit)
    for r in result["rows"]:
        stopped = r["runs"].get(peer, {}).get("too_slow", 0)
        if stopped >= limit and r.get("tests", np.inf) <= row["tests"]:
            return {"given_up": stopped, "stopped_on": [r["set"], r["alpha"], r["tests"]]}
    return None
