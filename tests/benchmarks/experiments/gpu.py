"""Experiments on a GPU: all algorithms on all data sets, GPU implementations of others, the configurations of cuPC."""

import sys
import time
from pathlib import Path

import pycupc

from .. import peers, record, runs, workloads

BETA_GAMMA = [(b, t // b) for t in (32, 64, 128, 256) for b in (1, 2, 4, 8, 16, 32, 64, 128, 256) if b <= t]
THETA_DELTA = [(t, d) for t in (32, 64, 128, 256) for d in (1, 2, 4, 8)]
#: The grids of the paper. (64, 1) and (1, 256) of cupc-e are its baselines: one thread per edge, one block per edge.
CONFIGURATIONS = [("cupc-e", {"beta": b, "gamma": g}) for b, g in BETA_GAMMA]
CONFIGURATIONS += [("cupc-s", {"theta": t, "delta": d}) for t, d in THETA_DELTA]
#: Data sets on which cupc-e and cupc-s take seconds.
HEAVY = ("stock_logret", "std_1000_100_2000")
PEERS = ("cuPC-library", "gpucsl")


class Deadline:
    """The time that is left for this call."""

    def __init__(self, seconds):
        self._end = time.perf_counter() + seconds

    def left(self):
        return self._end - time.perf_counter()


def engines_of(args):
    """The engines that were asked for, of those that these experiments run; `GPU_PLAIN` only if it was asked for."""
    return [e for e in (args.engines or runs.GPU_ENGINES) if e in (*runs.GPU_ENGINES, runs.GPU_PLAIN, "cpu")]


def gpu(args, deadline):
    """Experiment "gpu": every engine, split into transfer, levels and orientation. --resume keeps the peers' runs."""
    results = record.Results("gpu", args)
    results.rows = [row for row in results.rows if row["engine"] in PEERS]
    names, checks = workloads.wanted(args, workloads.SETS), {}
    plan = [(name, e) for name in names for e in engines_of(args)]
    plan.sort(key=lambda job: job[0] in HEAVY and job[1] in ("cupc-e", "cupc-s"))  # the slow ones last
    w = None
    for name, engine in plan:
        if deadline.left() < 10:
            record.progress(f"{name} {engine}: not run, the deadline has passed")
            continue
        w = w if w is not None and w.name == name else workloads.load(name, args.data)
        check = checks.setdefault(name, runs.Check(w))
        heavy = name in HEAVY and engine != "gpu"
        how = {"least": 25 if engine == "gpu" else 5 if heavy else 9, "budget": 25.0 if heavy else 8.0}
        row, fit, levels = measure(w, engine, check, limit=min(60.0, deadline.left()), **how)
        if fit is not None and engine == "gpu":
            row["orientation"] = runs.orientation(fit)
        for level, seconds in enumerate(levels):
            results.add(**w.facts, engine=engine, level=level, seconds=seconds, tests=fit.n_edgetests[level])
        results.add(**w.facts, engine=engine, **row)
        record.progress(f"{name} {engine}: {runs.brief(row)}")
        del fit


def gpu_peers(args, deadline):
    """Experiment "gpu-peers": add gpucsl and a library with cuPC's entry point to the results of "gpu" in --out.

    SystemExit if --out holds no results to which the peers could be added.
    """
    if not record.read(args.out, "gpu"):
        raise SystemExit(f"gpu-peers: {args.out} holds no gpu.csv; run the experiment gpu first")
    results = record.Results("gpu", args, resume=True)
    names = list(dict.fromkeys(row["set"] for row in results.rows))
    for name in sorted(names, key=lambda name: name in HEAVY):
        if (args.sets and name not in args.sets) or deadline.left() < 60:
            continue
        w = workloads.load(name, args.data)
        fit, _ = runs.once(w, runs.make_engine("gpu"))
        effort = peers.Effort(3, 20, deadline.left() - 5)
        out = {}
        if args.cupc_library is not None:
            out["cuPC-library"] = peers.cupc_library(args.cupc_library, w, effort)
        if args.peer_path is not None:
            X, how = workloads.observations(name, args.data)[0], {"warm_up": True, "path": args.peer_path.resolve()}
            out["gpucsl"] = peers.python_peer("gpucsl", X, w.alpha, Path(sys.executable), effort, **how)
        for who, found in out.items():
            row = peers.summary(found, fit.skeleton)
            results.add(**w.facts, engine=who, tests=sum(fit.n_edgetests), **row)
            record.progress(f"{name} {who}: {runs.brief(row)}")


def configurations(args, deadline):
    """Experiment "configurations": (beta, gamma) of cupc-e and (theta, delta) of cupc-s on the grids of the paper."""
    results = record.Results("configurations", args)
    for name in workloads.wanted(args, (*workloads.LIGHT, "paper_2000_0.1_10000")):
        w = workloads.load(name, args.data)
        check = runs.Check(w)
        for i, (engine, options) in enumerate(CONFIGURATIONS):
            if (args.quick and i % 8) or results.find(set=name, engine=engine, **options) or deadline.left() < 20:
                continue
            row, _, _ = measure(w, engine, check, least=3, budget=1.0, limit=5.0, **options)
            results.add(**w.facts, engine=engine, **options, **row)
        record.progress(f"configurations {name}: {deadline.left():.0f} s left")


def measure(w, engine, check, *, least, budget, limit, **options):
    """`runs.repeat`; the failure of an engine becomes a run without a time."""
    try:
        return runs.repeat(w, runs.make_engine(engine, **options), check, least=least, budget=budget, limit=limit)
    except pycupc.EngineError as error:
        return {"outcome": "failed", "why": str(error)}, None, []
