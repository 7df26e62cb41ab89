"""The paper's sweeps over p, n and density, and schur up to p = 20,000; `gpu-all` runs all GPU experiments."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from .. import generator, record, runs, workloads
from .gpu import Clock, baselines, brief, configurations, engines_of, heavy, measure, rival, table

#: Seconds that one run of a sweep may take.
SWEEP_LIMIT = 10.0
#: Graphs of a point that may pass it before the point is given up.
GIVE_UP = 4


def run_all(args: Any) -> None:
    """All GPU experiments, most wanted first; what does not fit into `args.deadline` seconds is left out and said."""
    clock = Clock(args.deadline)
    table(args, clock)
    scaling_large(args, clock)
    heavy(args, clock)
    baselines(args, clock)
    configurations(args, clock)
    if clock.left() > 20 and (args.peer_path or args.cupc_library):
        rival(args, clock)
    if clock.left() > 20:
        scaling(args, clock)


def scaling_large(args: Any, clock: Clock) -> None:
    """schur up to p = 20,000 (degree 10, n = 200, alpha .01), with the memory it took beside the estimate."""
    result = record.new("scaling-large", args)
    engine = "gpu" if "gpu" in engines_of(args) else "cpu"
    for p in (100, 200, 400) if args.quick else (1000, 2000, 5000, 10000, 20000):
        if clock.left() < 60:
            break
        w = _random("standardised", p, 10 / (p - 1), 200, 0, alpha=0.01, device=engine != "cpu")
        row: dict[str, Any] = {"p": p, "n": w.n, "alpha": w.alpha, "source": w.source, "engine": engine}
        if engine != "cpu":
            row["memory_bytes_estimate"] = _estimate(w, engine)
            _pool().free_all_blocks()
        out = measure(w, engine, None, least=5, budget=20.0, limit=60.0)
        if engine != "cpu":
            row["memory_bytes"] = int(_pool().total_bytes())
        fit = out.pop("fit", None)
        row["tests_by_level"], row["edges"] = out.get("tests_by_level"), out.get("edges")
        row["orientation"] = runs.orientation(fit, 1) if fit is not None else None
        row["run"] = out
        del fit, w
        gc.collect()
        result["rows"].append(row)
        record.say(f"p = {p}: {brief(out)}")
        record.write(result, args.out)


def scaling(args: Any, clock: Clock) -> None:
    """The paper's sweeps with both generators: graph by graph, so that a deadline costs graphs and no points."""
    result = record.new("scaling", args)
    rows = result["rows"]
    engines = [e for e in engines_of(args) if e != "cpu"] or ["cpu"]
    points = [point[1:] for point in workloads.sweeps(args.quick) if point[0] in args.sweeps]
    points = [point for point in dict.fromkeys(points) if args.variables is None or point[0] in args.variables]
    if not points:
        raise SystemExit(f"scaling: no point of these sweeps has {' or '.join(map(str, args.variables))} variables")
    limit = SWEEP_LIMIT if args.limit is None else args.limit
    for engine in map(runs.make_engine, engines):
        if hasattr(engine, "compile"):
            engine.compile()  # a graph deep in a sweep may be the first that needs some kernel
    for seed in range(args.first, args.first + (args.graphs or (3 if args.quick else 10))):
        for kind in args.generators:
            for p, density, n in points:
                point = {"kind": kind, "p": p, "density": density, "n": n, "seed": seed}
                row = next((r for r in rows if point.items() <= r.items()), None)
                left = (
                    []
                    if row and _stopped(row, limit)
                    else [
                        e
                        for e in engines
                        if not (row and row["seconds"].get(e)) and not _hopeless(rows, point, e, limit)
                    ]
                )
                if left and clock.left() < len(left) * limit:
                    record.say(f"scaling: out of time at graph {seed}, {kind}, p = {p}, density {density}, n = {n}")
                    return
                if left:
                    if row is None:
                        row = dict(point)
                        rows.append(row)
                    _run_point(row, left, limit)
                    record.write(result, args.out)
        record.say(f"scaling: graph {seed} done, {clock.left():.0f} s left")


def _stopped(row: dict[str, Any], limit: float) -> set[str]:
    """Engines that this limit stops: those that passed it, or a longer one. Others are tried again."""
    return {engine for engine, at in row["stopped_at"].items() if at["limit"] >= limit}


def _hopeless(rows: list[dict[str, Any]], point: dict[str, Any], engine: str, limit: float) -> bool:
    """On `GIVE_UP` graphs of this point the engine, or whatever was tried, passed the limit, and on none it did not."""
    seen = [r for r in rows if all(r[k] == v for k, v in point.items() if k != "seed")]
    stopped = [engines for r in seen if (engines := _stopped(r, limit))]
    finished = {e for r in seen for e, seconds in r["seconds"].items() if seconds}
    own = sum(engine in engines for engines in stopped)
    return (own >= GIVE_UP and engine not in finished) or (len(stopped) >= GIVE_UP and not finished)


def _run_point(row: dict[str, Any], engines: list[str], limit: float) -> None:
    """Run engines on one random graph: seconds (None: passed the limit) and answer of each, into `row`.

    The second of two runs counts where one takes less than a second. Once an engine was stopped on a graph, the others
    are not tried on it.
    """
    kind, p, density, n, seed = (row[k] for k in ("kind", "p", "density", "n", "seed"))
    w = _random(kind, p, density, n, seed, alpha=0.05, device="cpu" not in engines)
    off = w.C[np.triu_indices(p, 1)]
    row.update(alpha=w.alpha, near_one=float((1 - np.abs(off) < 1e-12).mean()), largest_r=float(np.abs(off).max()))
    for key in ("seconds", "stopped_at", "careful", "answers"):
        row.setdefault(key, {})
    for engine in engines:
        try:
            fit, times = runs.once(w, runs.make_engine(engine), limit)
            if times["engine"] < 1:
                fit = None  # its page-locked memory can then be used again
                fit, times = runs.once(w, runs.make_engine(engine), limit)
        except runs.TooSlow as slow:
            row["seconds"][engine], row["stopped_at"][engine] = None, {"limit": limit, **slow.reached}
            return
        row["seconds"][engine] = times["engine"]
        row["stopped_at"].pop(engine, None)
        row["tests"], row["levels"] = sum(fit.n_edgetests), len(fit.n_edgetests) - 1
        row["careful"][engine] = sum(s.n_careful for s in fit.levels)
        row["answers"][engine] = workloads.Answer.of(fit).digest


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
