"""The paper's sweeps over p, n and density, and `gpu` up to p = 20,000; `gpu-all` runs all GPU experiments."""

from __future__ import annotations

import gc
import itertools
from typing import Any

import numpy as np

import pycupc
from pycupc.estimate import run_stages

from .. import generator, record, runs, workloads
from .gpu import Deadline, baselines, brief, configurations, engines_of, heavy, measure, peers_on_gpu, table

#: Time limit of one run of a sweep, in seconds.
SWEEP_LIMIT = 10.0
#: Number of graphs at one point on which an engine may exceed the limit before it is given up there.
GIVE_UP = 4


def run_all(args: Any, deadline: Deadline) -> None:
    """All GPU experiments, the most important first; what the deadline does not allow is left out."""
    table(args, deadline)
    scaling_large(args, deadline)
    heavy(args, deadline)
    baselines(args, deadline)
    configurations(args, deadline)
    if deadline.left() > 20 and (args.peer_path or args.cupc_library):
        peers_on_gpu(args, deadline)
    if deadline.left() > 20:
        scaling(args, deadline)


def scaling_large(args: Any, deadline: Deadline) -> None:
    """`gpu` up to p = 20,000 (degree 10, n = 200, alpha 0.01), with the memory it took beside the predicted memory."""
    result = record.new("scaling-large", args)
    engine = "gpu" if "gpu" in engines_of(args) else "cpu"
    for p in (100, 200, 400) if args.quick else (1000, 2000, 5000, 10000, 20000):
        if deadline.left() < 60:
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
        row["orientation"] = runs.orientation(fit, 4)[-3:] if fit is not None else None  # the first loads its code
        row["run"] = out
        del fit, w
        gc.collect()
        result["rows"].append(row)
        record.progress(f"p = {p}: {brief(out)}")
        record.write(result, args.out)


def scaling(args: Any, deadline: Deadline) -> None:
    """The paper's sweeps with both generators, graph by graph: a deadline then costs graphs and not points."""
    result = record.new("scaling", args)
    rows = result["rows"]
    engines = [e for e in engines_of(args) if e != "cpu"] or ["cpu"]
    points = [point[1:] for point in workloads.sweeps(args.quick) if point[0] in args.sweeps]
    points = [point for point in dict.fromkeys(points) if args.variables is None or point[0] in args.variables]
    if not points:
        raise SystemExit(f"scaling: no point of these sweeps has {' or '.join(map(str, args.variables))} variables")
    limit = SWEEP_LIMIT if args.limit is None else args.limit
    for seed in range(args.first, args.first + (args.graphs or (3 if args.quick else 10))):
        for kind, (p, density, n) in itertools.product(args.generators, points):
            point = {"kind": kind, "p": p, "density": density, "n": n, "seed": seed}
            row = next((r for r in rows if point.items() <= r.items()), None)
            left = _engines_left(rows, row, point, engines, limit)
            if not left:
                continue
            if deadline.left() < len(left) * limit:
                record.progress(f"scaling: out of time at graph {seed}, {kind}, p = {p}, density {density}, n = {n}")
                return
            if row is None:
                row = dict(point)
                rows.append(row)
            _run_point(row, left, limit)
            record.write(result, args.out)
        record.progress(f"scaling: graph {seed} done, {deadline.left():.0f} s left")


def _engines_left(
    rows: list[dict[str, Any]], row: dict[str, Any] | None, point: dict[str, Any], engines: list[str], limit: float
) -> list[str]:
    """The engines that are still to be run on the graph of `row`: none if one of them was stopped on it."""
    if row and _stopped(row, limit):
        return []
    done = {e for e, seconds in row["seconds"].items() if seconds} if row else set()
    return [e for e in engines if e not in done and not _hopeless(rows, point, e, limit)]


def _stopped(row: dict[str, Any], limit: float) -> set[str]:
    """Engines that exceeded this limit or a longer one on this graph. The others are tried on it."""
    return {engine for engine, at in row["stopped_at"].items() if at["limit"] >= limit}


def _hopeless(rows: list[dict[str, Any]], point: dict[str, Any], engine: str, limit: float) -> bool:
    """Did the engine, or every engine, exceed the limit on `GIVE_UP` graphs of this point and finish none?"""
    seen = [r for r in rows if all(r[k] == v for k, v in point.items() if k != "seed")]
    stopped = [engines for r in seen if (engines := _stopped(r, limit))]
    finished = {e for r in seen for e, seconds in r["seconds"].items() if seconds}
    own = sum(engine in engines for engines in stopped)
    return (own >= GIVE_UP and engine not in finished) or (len(stopped) >= GIVE_UP and not finished)


def _run_point(row: dict[str, Any], engines: list[str], limit: float) -> None:
    """Run engines on one random graph and note seconds (None: over the limit) and answer of each in `row`.

    Of two runs the second counts if one takes less than a second. Once an engine has been stopped on a graph, the
    remaining engines are not tried on it.
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
                fit = None  # frees its page-locked memory for the second run
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
    """A random workload, made on the GPU if there is one: NumPy takes minutes for the large ones."""
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
    """Device memory in bytes, as `pycupc estimate` predicts it."""
    e = run_stages(pycupc.SuffStat(w.C, w.n), w.alpha, runs.make_engine(engine))
    return max(e.memory_needed, *(s.memory for s in e.stages[1:]))


def _pool() -> Any:
    import cupy

    return cupy.get_default_memory_pool()
