"""The paper's sweeps over p, n and density, and `gpu` up to p = 20,000."""

import gc
import itertools

import numpy as np

import pycupc
from pycupc.algorithm.estimate import run_stages

from .. import generator, record, runs, workloads
from .gpu import engines_of, measure

#: Time limit of one run of a sweep, in seconds.
SWEEP_LIMIT = 10.0
#: Number of graphs at one point on which an engine may exceed the limit before it is given up there.
GIVE_UP = 4


def sweeps(quick):
    """(sweep, p, density, n) of the paper's three sweeps, which have one point in common."""
    if quick:
        p, n, d = (50, 100, 150), (250, 500, 1000), (0.03, 0.05, 0.07)
        return [("p", v, 0.05, 500) for v in p] + [("n", 100, 0.05, v) for v in n] + [("d", 100, v, 500) for v in d]
    p, n, d = (1000, 2000, 3000, 4000), (2000, 4000, 6000, 8000, 10000), (0.1, 0.2, 0.3, 0.4, 0.5)
    return [("p", v, 0.1, 10000) for v in p] + [("n", 1000, 0.1, v) for v in n] + [("d", 1000, v, 10000) for v in d]


def scaling_large(args, deadline):
    """`gpu` up to p = 20,000 (degree 10, n = 200, alpha 0.01), with the memory it took beside the predicted memory."""
    results = record.Results("scaling-large", args)
    engine = "gpu" if "gpu" in engines_of(args) else "cpu"
    for p in (100, 200, 400) if args.quick else (1000, 2000, 5000, 10000, 20000):
        if deadline.left() < 60:
            break
        w, row = _random("standardised", p, 10 / (p - 1), 200, 0, alpha=0.01, device=engine != "cpu"), {}
        if engine != "cpu":
            e = run_stages(pycupc.SuffStat(w.C, w.n), w.alpha, runs.make_engine(engine))
            row["memory_bytes_estimate"] = max(e.memory_needed, *(s.memory for s in e.stages[1:]))
            _pool().free_all_blocks()
        out, fit, _ = measure(w, engine, runs.Check(w), least=5, budget=20.0, limit=60.0)
        if engine != "cpu":
            row["memory_bytes"] = int(_pool().total_bytes())
        if fit is not None:
            row["orientation"] = runs.orientation(fit, 3)
        results.add(**w.facts, engine=engine, **row, **out)
        record.progress(f"p = {p}: {runs.brief(out)}")
        del fit, w
        gc.collect()


def scaling(args, deadline):
    """The paper's sweeps with both generators, graph by graph: a deadline then costs graphs and not points."""
    results = record.Results("scaling", args)
    engines = [e for e in engines_of(args) if e != "cpu"] or ["cpu"]
    points = [point[1:] for point in sweeps(args.quick) if point[0] in args.sweeps]
    points = [point for point in dict.fromkeys(points) if args.variables is None or point[0] in args.variables]
    if not points:
        raise SystemExit(f"scaling: no point of these sweeps has {' or '.join(map(str, args.variables))} variables")
    limit = SWEEP_LIMIT if args.limit is None else args.limit
    for seed in range(args.first, args.first + (args.graphs or (3 if args.quick else 10))):
        for kind, (p, density, n) in itertools.product(args.generators, points):
            point = {"generator": kind, "p": p, "density": density, "n": n}
            left = engines_left(record.where(results.rows, **point), seed, engines, limit)
            if left and deadline.left() < len(left) * limit:
                record.progress(f"scaling: out of time at graph {seed}, {kind}, p = {p}, density {density}, n = {n}")
                return
            if left:
                _run_point(results, {**point, "seed": seed, "alpha": 0.05}, left, limit)
        record.progress(f"scaling: graph {seed} done, {deadline.left():.0f} s left")


def engines_left(rows, seed, engines, limit):
    """The engines that are still to be run on a graph; `rows` are those of all graphs of its point.

    None if one of them was stopped on it at this limit or a longer one. An engine, or all of them, that exceeded the
    limit on `GIVE_UP` graphs of the point and finished none is given up.
    """
    stopped = [row for row in rows if row.get("limit", 0) >= limit]
    finished = {row["engine"] for row in rows if "seconds" in row}
    if any(row["seed"] == seed for row in stopped):
        return []
    if len({row["seed"] for row in stopped}) >= GIVE_UP and not finished:
        return []
    done = {row["engine"] for row in rows if row["seed"] == seed and "seconds" in row}
    count = {e: sum(row["engine"] == e for row in stopped) for e in engines}
    return [e for e in engines if e not in done and not (count[e] >= GIVE_UP and e not in finished)]


def _run_point(results, point, engines, limit):
    """Run engines on one random graph; of two runs the second counts if one takes less than a second.

    Once an engine has been stopped on a graph, the remaining engines are not tried on it.
    """
    how = {"alpha": point["alpha"], "device": "cpu" not in engines}
    w = _random(*(point[k] for k in ("generator", "p", "density", "n", "seed")), **how)
    off = np.abs(w.C[np.triu_indices(w.p, 1)])
    facts = {"near_one": (1 - off < 1e-12).mean(), "below_one": 1 - off.max(), "data": workloads.digest(w.C)}
    for engine in engines:
        try:
            fit, times = runs.once(w, runs.make_engine(engine), limit)
            if times["engine"] < 1:
                fit = None  # frees its page-locked memory for the second run
                fit, times = runs.once(w, runs.make_engine(engine), limit)
        except runs.TooSlow as slow:
            results.add(**point, engine=engine, **facts, **slow.columns)
            return
        row = {"tests": sum(fit.n_edgetests), "last_level": len(fit.n_edgetests) - 1}
        row |= {"careful": sum(s.n_careful for s in fit.levels), "answer": workloads.Answer.of(fit).digest}
        results.add(**point, engine=engine, seconds=times["engine"], **row, **facts)
    if wrong := record.disagreements(record.where(results.rows, **point)):
        raise SystemExit(f"scaling: the engines disagree on {wrong[0]}")


def _random(kind, p, density, n, seed, *, alpha, device):
    """A random workload, made on the GPU if there is one: NumPy takes minutes for the large ones."""
    xp = np
    if device:
        import cupy as xp
    if kind == "paper":
        X, _ = generator.paper_graph(p, density, n, seed, xp)
    else:
        X, _ = generator.standardised_graph(p, density * (p - 1), n, seed, xp=xp)
    if not device:
        return workloads.of("", X, alpha)
    X -= X.mean(axis=0)
    X /= xp.linalg.norm(X, axis=0)
    product = xp.triu(X.T @ X)  # a product need not be symmetric to the last bit
    product += xp.triu(product, 1).T
    C = np.clip(xp.asnumpy(product), -1, 1)
    del X, product
    _pool().free_all_blocks()
    np.fill_diagonal(C, 1.0)
    return workloads.Workload("", C, n, alpha)


def _pool():
    import cupy

    return cupy.get_default_memory_pool()
