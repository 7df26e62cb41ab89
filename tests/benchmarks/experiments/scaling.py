"""The paper's sweeps over p, n and density, and `gpu` up to p = 20,000."""

import gc
import itertools

import numpy as np

import pycupc
from pycupc.algorithm.arguments import Options, Variables, check_arguments
from pycupc.algorithm.estimate import run_stages

from .. import generators, paired, runs, workloads

GENERATORS = ("paper", "standardised")
#: (p, density, n) of the paper's three sweeps, which have one point in common.
POINTS = [(p, 0.1, 10000) for p in (1000, 2000, 3000, 4000)]
POINTS += [(1000, 0.1, n) for n in (2000, 4000, 6000, 8000)] + [(1000, d, 10000) for d in (0.2, 0.3, 0.4, 0.5)]
LARGE = (1000, 2000, 5000, 10000, 20000)
#: (p, n, alpha) of data too large for the matrix of all correlations; beyond `LONG` variables, a run is made once.
MANY = [(10_000, 200, 1e-5), (20_000, 300, 1e-4), (50_000, 200, 1e-5), (100_000, 200, 1e-6), (200_000, 200, 1e-6)]
MANY += [(1_000_000, 200, 1e-6), (1_000_000, 1000, 1e-8), (10_000_000, 200, 1e-8)]
LONG = 1_000_000
#: From this number of variables on, `pycupc estimate` takes a sample of them on every engine.
SAMPLED = 100_000
#: Time limit of one run of a sweep, in seconds.
SWEEP_LIMIT = 10.0
#: Number of graphs at one point on which an engine may exceed the limit before it is given up there.
GIVE_UP = 4


def scaling_large(args):
    """The engine gpu up to p = 20,000 (degree 10, n = 200, alpha 0.01): time and memory."""
    engine = (args.engines or ["gpu"])[0]
    for p in args.variables or LARGE:
        w, row = _random("standardised", p, 10 / (p - 1), 200, 0, alpha=0.01, device=engine != "cpu"), {}
        out, fit, _ = runs.repeat(w, engine, runs.Check(w), budget=20.0, limit=60.0)
        if engine != "cpu":
            row["memory_bytes"] = int(_pool().total_bytes())
        if fit is not None:
            row["orientation"] = runs.orientation(fit, 3)
        yield {**w.facts, "engine": engine, **row, **out}
        del fit, w
        gc.collect()


def many(args):
    """Data of 10,000 to 10,000,000 variables in modules, float32 in memory, to the graph: time, memory, estimates."""
    engine = (args.engines or ["gpu"])[0]
    for p, n, alpha in [size for size in MANY if size[0] in args.variables] if args.variables else MANY:
        X = generators.modules(p, n, 0).T
        times, row = [], {"set": "modules", "p": p, "n": n, "alpha": alpha, "engine": engine}
        row |= _estimated(X, alpha, engine)
        for _ in range(3 if p <= LONG and engine != "cpu" else 1):
            if engine != "cpu":
                _pool().free_all_blocks()
            fit, seconds = runs.timed(pycupc.pc, X, alpha=alpha, engine=engine, numCores=args.threads)
            times.append(seconds)
        row |= {"seconds": min(times), "levels_seconds": sum(level.seconds for level in fit.levels)}
        row |= {"tests": sum(fit.n_edgetests), "edges": len(fit.sparse_graph), "peak_bytes": paired.peak_memory()}
        yield row | ({} if engine == "cpu" else {"memory_bytes": int(_pool().total_bytes())})
        del fit, X
        gc.collect()


def _estimated(X, alpha, engine):
    """Seconds of the levels and bytes as `pycupc estimate` gives them, from a sample of the variables."""
    if X.shape[1] < SAMPLED:
        return {}
    problem = check_arguments("pc", Variables(X), Options(alpha, np.inf, "stable", True, None), engine)
    found = run_stages(problem, trial=5)
    return {"estimated_seconds": found.trial.seconds, "estimated_bytes": found.stages[-1].memory}


def scaling(args):
    """The cuPC paper's sweeps over p, n and density: two generators, ten graphs per point.

    Graph by graph, so that an end before time costs graphs and not points.
    """
    engines, limit = args.engines or runs.GPU_ENGINES, args.limit or SWEEP_LIMIT
    for engine in engines:
        runs.once(runs.WARM_UP, engine)
    points = [point for point in POINTS if args.variables is None or point[0] in args.variables]
    for seed, kind, (p, density, n) in itertools.product(args.seeds, args.generators or GENERATORS, points):
        point = {"generator": kind, "p": p, "density": density, "n": n}
        if left := engines_left(args.where(**point), seed, engines, limit):
            yield from _run_point({**point, "seed": seed, "alpha": 0.05}, left, limit)
            answers = {line["answer"] for line in args.where(**point, seed=seed) if "answer" in line}
            if len(answers) > 1:
                raise SystemExit(f"scaling: the engines disagree on {point}, graph {seed}")


def engines_left(lines, seed, engines, limit):
    """The engines that are still to be run on a graph; `lines` are the lines of all graphs of its point.

    None if one of them was stopped on it at this limit or a longer one. An engine, or all of them, that exceeded the
    limit on `GIVE_UP` graphs of the point and finished none is given up.
    """
    stopped = [line for line in lines if line.get("limit", 0) >= limit]
    finished = {line["engine"] for line in lines if "seconds" in line}
    graphs = {line["seed"] for line in stopped}
    if seed in graphs or (len(graphs) >= GIVE_UP and not finished):
        return []
    done = {line["engine"] for line in lines if line["seed"] == seed and "seconds" in line}
    given_up = {e for e in engines if sum(line["engine"] == e for line in stopped) >= GIVE_UP} - finished
    return [e for e in engines if e not in done | given_up]


def _run_point(point, engines, limit):
    """Run engines on one random graph; of two runs the second counts if one takes less than a second.

    Once an engine has been stopped on a graph, the remaining engines are not tried on it.
    """
    how = {"alpha": point["alpha"], "device": "cpu" not in engines}
    w = _random(*(point[k] for k in ("generator", "p", "density", "n", "seed")), **how)
    off = np.abs(w.C[np.triu_indices(w.p, 1)])
    facts = {**point, "near_one": (1 - off < 1e-12).mean(), "below_one": 1 - off.max(), "data": workloads.digest(w.C)}
    for engine in engines:
        try:
            fit, seconds = runs.once(w, engine, limit=limit)
            if seconds < 1:
                fit = None  # frees its page-locked memory for the second run
                fit, seconds = runs.once(w, engine, limit=limit)
        except runs.TooSlow as slow:
            yield {**facts, "engine": engine, **slow.columns}
            return
        row = {"tests": sum(fit.n_edgetests), "last_level": len(fit.n_edgetests) - 1}
        row |= {"careful": sum(s.n_careful for s in fit.levels), "answer": workloads.Answer.of(fit).digest}
        yield {**facts, "engine": engine, "seconds": seconds, **row}


def _random(kind, p, density, n, seed, *, alpha, device):
    """A random workload, made on the GPU if there is one: NumPy takes minutes for the large ones."""
    xp = np
    if device:
        import cupy as xp
    if kind == "paper":
        X, _ = generators.paper(p, density, n, seed, xp)
    else:
        X, _ = generators.standardised(p, density * (p - 1), n, seed, xp)
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
