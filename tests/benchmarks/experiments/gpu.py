"""What needs a GPU: the table, the paper's baselines and configurations, scaling. `gpu-all` runs them in one go."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import numpy as np

from .. import generator, peers, record, runs, workloads

#: The paper's baselines: a thread an edge, all its tests in sequence; a block an edge, all its tests in parallel.
BASELINES = {
    "one thread an edge": ("cupc-e", {"beta": 64, "gamma": 1}),
    "one block an edge": ("cupc-e", {"beta": 1, "gamma": 256}),
    "cupc-e": ("cupc-e", {}),
    "cupc-s": ("cupc-s", {}),
}
BETA_GAMMA = [(b, t // b) for t in (32, 64, 128, 256) for b in (1, 2, 4, 8, 16, 32, 64, 128, 256) if b <= t]
THETA_DELTA = [(t, d) for t in (32, 64, 128, 256) for d in (1, 2, 4, 8)]
#: cupc-e and cupc-s take seconds on these.
HEAVY = ("stock_logret", "std_1000_100_2000")


class Clock:
    """Time left of one call."""

    def __init__(self, seconds: float) -> None:
        self._end = time.perf_counter() + seconds

    def left(self) -> float:
        return self._end - time.perf_counter()


def run_all(args: Any) -> None:
    """All GPU experiments, most wanted first; what does not fit into `args.deadline` seconds is left out and said."""
    clock = Clock(args.deadline)
    table(args, clock)
    baselines(args, clock)
    configurations(args, clock)
    scaling_large(args, clock)
    heavy(args, clock)
    if clock.left() > 20:
        rival(args, clock)
    if clock.left() > 20:
        scaling(args, clock)


def _engines(args: Any) -> list[str]:
    return [e for e in (args.engines or runs.GPU_ENGINES) if e in runs.GPU_ENGINES or e == "cpu"]


def table(args: Any, clock: Clock) -> None:
    """Issue 3's table: every algorithm on every set, warm, split into transfer, levels, orientation."""
    result = record.new("gpu", args)
    names = list(args.sets or (workloads.QUICK if args.quick else workloads.SETS))
    for name in workloads.available(names, args.data):
        w = workloads.load(name, args.data)
        row: dict[str, Any] = {"set": name, "p": w.p, "n": w.n, "alpha": w.alpha, "source": w.source, "runs": {}}
        result["rows"].append(row)
        check = w.expected
        for engine in _engines(args):
            if name in HEAVY and engine not in ("gpu", "cpu"):
                continue
            out = _measure(w, engine, check, least=9, budget=8.0, limit=min(30.0, clock.left()))
            fit = out.pop("fit", None)
            if fit is not None:
                if engine == "gpu":
                    row["tests"], row["edges"], row["levels"] = out["tests"], out["edges"], len(fit.n_edgetests) - 1
                    row["orientation"] = runs.orientation(fit)
                if check is None:
                    check, out["checked_against"] = workloads.Answer.of(fit), "first engine"
                elif out["differs"] and check is w.expected:
                    check = _second_opinion(w, fit, out)
            row["runs"][engine] = out
            record.say(f"{name} {engine}: {_brief(out)}")
            record.write(result, args.out)
            del fit


def _second_opinion(w: workloads.Workload, fit: Any, out: dict[str, Any]) -> workloads.Answer:
    """Where this machine's NumPy rounds C otherwise than the recorder's, the cpu engine's answer for this C decides."""
    cpu, _ = runs.once(w, runs.make_engine("cpu"))
    answer = workloads.Answer.of(cpu)
    out["differs_from_recorded"], out["differs"] = out["differs"], answer.differences(workloads.Answer.of(fit))
    out["checked_against"] = "cpu engine on this machine"
    return answer


def heavy(args: Any, clock: Clock) -> None:
    """cupc-e and cupc-s on the two sets that take them seconds; adds to the table's file."""
    result = record.read(args.out, "gpu")
    if result is None:
        return
    for row in result["rows"]:
        for engine in ("cupc-s", "cupc-e"):
            if row["set"] not in HEAVY or engine not in _engines(args) or clock.left() < 30:
                continue
            w = workloads.load(row["set"], args.data)
            limit = min(60.0, clock.left() / 2)
            out = _measure(w, engine, w.expected, least=5, budget=min(25.0, clock.left() / 5), limit=limit)
            out.pop("fit", None)
            row["runs"][engine] = out
            record.say(f"{row['set']} {engine}: {_brief(out)}")
            record.write(result, args.out)


def rival(args: Any, clock: Clock) -> None:
    """gpucsl and a library with cuPC's entry point, where they are; adds to the table's file."""
    result = record.read(args.out, "gpu")
    if result is None or (args.peer_path is None and args.cupc_library is None):
        return
    for row in result["rows"]:
        if clock.left() < 40 or row["set"] in HEAVY or row["set"] == "riboflavin":
            continue
        w = workloads.load(row["set"], args.data)
        fit, _ = runs.once(w, runs.make_engine("gpu"))
        if args.peer_path is not None:
            X = _data(row["set"], args.data)
            out = peers.python_peer(
                "gpucsl", X, w.alpha, Path(_python()), repeats=3, budget=20, limit=min(60, clock.left()), warm_up=True,
                path=args.peer_path.resolve(),
            )  # fmt: skip
            row["runs"]["gpucsl"] = peers.summary(out, fit.skeleton)
        if args.cupc_library is not None:
            row["runs"]["cuPC-library"] = peers.summary(peers.cupc_library(args.cupc_library, w), fit.skeleton)
        for who in ("gpucsl", "cuPC-library"):
            if who in row["runs"]:
                record.say(f"{row['set']} {who}: {_brief(row['runs'][who])}")
        record.write(result, args.out)
        if "absent" in row["runs"].get("gpucsl", {}) and args.cupc_library is None:
            break


def _python() -> str:
    import sys

    return sys.executable


def _data(name: str, folder: Path) -> np.ndarray:
    if name.startswith("std_"):
        p, degree, n = (int(v) for v in name.split("_")[1:])
        return generator.standardised(p, degree, n, seed=0)
    return workloads.read_data(folder, name)


def baselines(args: Any, clock: Clock) -> None:
    """The paper's two baseline algorithms against cupc-e and cupc-s."""
    result = record.new("baselines", args)
    for name in workloads.available(_light(args), args.data):
        w = workloads.load(name, args.data)
        row: dict[str, Any] = {"set": name, "p": w.p, "n": w.n, "alpha": w.alpha, "runs": {}}
        result["rows"].append(row)
        check = w.expected
        for label, (engine, options) in BASELINES.items():
            if clock.left() < 20:
                break
            out = _measure(w, engine, check, least=5, budget=4.0, limit=20.0, **options)
            check = _keep_check(out, check, w)
            row["runs"][label] = {"engine": engine, **options, **out}
            record.say(f"{name} {label}: {_brief(out)}")
        record.write(result, args.out)


def configurations(args: Any, clock: Clock) -> None:
    """(beta, gamma) of cupc-e and (theta, delta) of cupc-s on the grids of the paper."""
    result = record.new("configurations", args)
    cells = [("cupc-e", {"beta": b, "gamma": g}) for b, g in BETA_GAMMA]
    cells += [("cupc-s", {"theta": t, "delta": d}) for t, d in THETA_DELTA]
    for name in workloads.available(_light(args), args.data):
        w = workloads.load(name, args.data)
        row: dict[str, Any] = {"set": name, "p": w.p, "n": w.n, "alpha": w.alpha, "cells": []}
        result["rows"].append(row)
        check = w.expected
        for engine, options in cells[:: 8 if args.quick else 1]:
            if clock.left() < 20:
                break
            out = _measure(w, engine, check, least=3, budget=1.0, limit=5.0, **options)
            check = _keep_check(out, check, w)
            row["cells"].append({
                "engine": engine, **options, "differs": out.get("differs"), "too_slow": out.get("too_slow"),
                "seconds": [r["engine"] for r in out["repeats"]],
            })  # fmt: skip
        record.say(f"configurations {name}: {len(row['cells'])} cells, {clock.left():.0f} s left")
        record.write(result, args.out)


def scaling_large(args: Any, clock: Clock) -> None:
    """schur up to p = 20,000 (degree 10, n = 200, alpha .01), with the memory it took beside the estimate."""
    result = record.new("scaling-large", args)
    engine = "gpu" if "gpu" in _engines(args) else "cpu"
    for p in (100, 200, 400) if args.quick else (1000, 2000, 5000, 10000, 20000):
        if clock.left() < 60:
            break
        w = _random("standardised", p, 10 / (p - 1), 200, 0, alpha=0.01, device=engine != "cpu")
        row: dict[str, Any] = {"p": p, "n": w.n, "alpha": w.alpha, "source": w.source, "engine": engine}
        if engine != "cpu":
            row["memory_bytes_estimate"] = _estimate(w, engine)
            _pool().free_all_blocks()
        out = _measure(w, engine, None, least=5, budget=20.0, limit=60.0)
        if engine != "cpu":
            row["memory_bytes"] = int(_pool().total_bytes())
        fit = out.pop("fit", None)
        row["tests_by_level"], row["edges"] = out.get("tests_by_level"), out.get("edges")
        row["orientation"] = runs.orientation(fit, 1) if fit is not None else None
        row["run"] = out
        del fit, w
        gc.collect()
        result["rows"].append(row)
        record.say(f"p = {p}: {_brief(out)}")
        record.write(result, args.out)


def points(quick: bool) -> list[tuple[str, int, float, int]]:
    """(sweep, p, density, n) of the paper's three sweeps."""
    if quick:
        return [("p", p, 0.05, 500) for p in (50, 100, 150)] + [("n", 100, 0.05, n) for n in (250, 500, 1000)] + [
            ("d", 100, d, 500) for d in (0.03, 0.05, 0.07)
        ]
    return (
        [("p", p, 0.1, 10000) for p in (1000, 2000, 3000, 4000)]
        + [("n", 1000, 0.1, n) for n in (2000, 4000, 6000, 8000, 10000)]
        + [("d", 1000, d, 10000) for d in (0.1, 0.2, 0.3, 0.4, 0.5)]
    )


def scaling(args: Any, clock: Clock) -> None:
    """The paper's sweeps with both generators: graph by graph, so that a deadline costs graphs and no points."""
    result = record.new("scaling", args)
    engines = [e for e in _engines(args) if e != "cpu"] or ["cpu"]
    graphs = 3 if args.quick else 10
    limit = min(args.limit, 5.0)
    hopeless: set[tuple[str, ...]] = set()
    for seed in range(graphs):
        for kind in ("paper", "standardised"):
            done: dict[tuple[int, float, int], dict[str, Any]] = {}
            for sweep, p, density, n in points(args.quick):
                if clock.left() < 15:
                    record.say(f"scaling: out of time at graph {seed}")
                    return
                if (p, density, n) in done:
                    result["rows"].append({**done[p, density, n], "sweep": sweep})
                    continue
                row = _point(kind, p, density, n, seed, engines, limit, hopeless)
                done[p, density, n] = row
                result["rows"].append({**row, "sweep": sweep})
            record.write(result, args.out)
        record.say(f"scaling: graph {seed} done, {clock.left():.0f} s left")


def _point(
    kind: str, p: int, density: float, n: int, seed: int, engines: list[str], limit: float, hopeless: set
) -> dict[str, Any]:
    if all((kind, str((p, density, n)), e) in hopeless for e in engines):
        return {"kind": kind, "p": p, "density": density, "n": n, "seed": seed, "seconds": dict.fromkeys(engines)}
    w = _random(kind, p, density, n, seed, alpha=0.05, device="cpu" not in engines)
    off = w.C[np.triu_indices(p, 1)]
    row: dict[str, Any] = {
        "kind": kind, "p": p, "density": density, "n": n, "seed": seed, "alpha": 0.05,
        "near_one": float((1 - np.abs(off) < 1e-12).mean()), "largest_r": float(np.abs(off).max()), "seconds": {},
    }  # fmt: skip
    answers = {}
    for engine in engines:
        key = (kind, str((p, density, n)), engine)
        if key in hopeless:
            row["seconds"][engine] = None
            continue
        try:
            if seed == 0:
                runs.once(w, runs.make_engine(engine), limit)  # compiles and warms up
            fit, times = runs.once(w, runs.make_engine(engine), limit)
        except runs.TooSlow:
            hopeless.add(key)
            row["seconds"][engine], row["limit"] = None, limit
            continue
        row["seconds"][engine] = times["engine"]
        row["tests"], row["levels"] = sum(fit.n_edgetests), len(fit.n_edgetests) - 1
        row["careful"] = sum(s.n_careful for s in fit.levels)
        answers[engine] = workloads.Answer.of(fit).digest
    row["engines_agree"] = len(set(answers.values())) <= 1
    return row


def _random(kind: str, p: int, density: float, n: int, seed: int, *, alpha: float, device: bool) -> workloads.Workload:
    """A random workload, made on the GPU where there is one: NumPy's way takes minutes for the large ones."""
    xp: Any = np
    if device:
        import cupy as xp
    if kind == "paper":
        X, _ = generator.paper_graph(p, density, n, seed, xp)
    else:
        X, _ = generator.standardised_graph(p, density * (p - 1), n, seed, xp=xp)
    if not device:
        return workloads.Workload("", workloads.correlation(X), n, alpha, f"{kind}({p}, {density:g}, {n}, seed={seed})")
    X -= X.mean(axis=0)
    X /= xp.linalg.norm(X, axis=0)
    product = xp.triu(X.T @ X)  # a product need not be symmetric to the last bit
    product += xp.triu(product, 1).T
    C = np.clip(xp.asnumpy(product), -1, 1)
    del X, product
    _pool().free_all_blocks()
    np.fill_diagonal(C, 1.0)
    return workloads.Workload("", C, n, alpha, f"{kind}({p}, {density:g}, {n}, seed={seed}), made on the GPU")


def _estimate(w: workloads.Workload, engine: str) -> int:
    """Device memory as `pycupc estimate` says."""
    from pycupc import SuffStat
    from pycupc.estimate import run_stages

    e = run_stages(SuffStat(w.C, w.n), w.alpha, runs.make_engine(engine))
    return max(e.memory_needed, *(s.memory for s in e.stages[1:]))


def _pool() -> Any:
    import cupy

    return cupy.get_default_memory_pool()


def _light(args: Any) -> list[str]:
    return list(args.sets or (workloads.QUICK if args.quick else workloads.LIGHT))


def _measure(w: workloads.Workload, engine: str, check: Any, **how: Any) -> dict[str, Any]:
    """`runs.repeat` that turns an engine's failure into a row that says so."""
    from pycupc.engines import EngineError

    timing = {k: how.pop(k) for k in ("least", "budget", "limit")}
    try:
        return runs.repeat(w, runs.make_engine(engine, **how), check=check, **timing)
    except EngineError as error:
        return {"failed": str(error), "repeats": []}


def _keep_check(out: dict[str, Any], check: Any, w: workloads.Workload) -> Any:
    fit = out.pop("fit", None)
    if fit is None:
        return check
    if check is None:
        return workloads.Answer.of(fit)
    if out["differs"] and check is w.expected:
        return _second_opinion(w, fit, out)
    return check


def _brief(out: dict[str, Any]) -> str:
    if out.get("repeats"):
        e = runs.median(out["repeats"], "engine")
        return f"{runs.median(out['repeats']):.4f} s ({e:.4f} in the engine), differs: {out['differs']}"
    if out.get("seconds"):
        return f"{np.median(out['seconds']):.4f} s"
    return str({k: v for k, v in out.items() if k != "repeats"})
