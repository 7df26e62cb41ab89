"""The paper's sweeps over p, n and density, `gpu` up to p = 20,000, and data too large for all correlations."""

import gc
import itertools

import numpy as np

import pycupc
from pycupc.algorithm.arguments import problem_of
from pycupc.algorithm.estimate import run_stages
from pycupc.algorithm.parameters import Arguments

from .. import generators, runs, workloads
from ..processes import peak_memory

#: With the density of the true graph; the degree is its expectation.
GENERATORS = {
    "paper": generators.paper,
    "standardised": lambda p, density, n, seed: generators.standardised(p, density * (p - 1), n, seed),
}
#: (p, density, n) of the paper's three sweeps, which have one point in common.
POINTS = [(p, 0.1, 10000) for p in (1000, 2000, 3000, 4000)]
POINTS += [(1000, 0.1, n) for n in (2000, 4000, 6000, 8000)] + [(1000, d, 10000) for d in (0.2, 0.3, 0.4, 0.5)]
#: Number of graphs at one point on which an engine may exceed the limit before it is given up there.
GIVE_UP = 4
LARGE = (1000, 2000, 5000, 10000, 20000)
#: (p, n, alpha) of data too large for the matrix of all correlations; beyond `LONG` variables, a run is made once.
MANY = [(10_000, 200, 1e-5), (20_000, 300, 1e-4), (50_000, 200, 1e-5), (100_000, 200, 1e-6), (200_000, 200, 1e-6)]
MANY += [(1_000_000, 200, 1e-6), (1_000_000, 1000, 1e-8), (10_000_000, 200, 1e-8)]
LONG = 1_000_000
#: From this number of variables on, `pycupc estimate` takes a sample of them on every engine.
SAMPLED = 100_000


def scaling(args):
    """The cuPC paper's sweeps over p, n and density: two generators, ten graphs per point.

    Graph by graph, so that an end before time costs graphs and not points. Once an engine has been stopped on a graph,
    the remaining engines are not tried on it.
    """
    engines, limit = args.engines or runs.GPU_ENGINES, args.limit or 10.0
    for engine in engines:
        runs.once(runs.WARM_UP, engine)
    points = [point for point in POINTS if point[0] in (args.variables or [point[0]])]
    for seed, kind, (p, density, n) in itertools.product(args.seeds, args.generators or GENERATORS, points):
        point = {"generator": kind, "p": p, "density": density, "n": n}
        left = engines_left(args.where(**point), seed, engines, limit)
        if not left:
            continue
        w = workloads.of("", GENERATORS[kind](p, density, n, seed)[0], 0.05)
        off, check = np.abs(w.C[np.triu_indices(p, 1)]), runs.Check(w)
        facts = {**point, "seed": seed, "alpha": w.alpha, "data": workloads.digest(w.C)}
        facts |= {"near_one": (1 - off < 1e-12).mean(), "below_one": 1 - off.max()}
        for engine in left:
            row, fit, _ = runs.repeat(w, engine, check, least=1, limit=limit)
            yield {**facts, "engine": engine, **row}
            if fit is None:
                break


def engines_left(lines, seed, engines, limit):
    """The engines that are still to be run on a graph; `lines` are the lines of all graphs of its point.

    None if one of them was stopped on it at this limit or a longer one. An engine that exceeded the limit on `GIVE_UP`
    graphs of the point and finished none is given up.
    """
    stopped = [line for line in lines if line.get("limit", 0) >= limit]
    if seed in {line["seed"] for line in stopped}:
        return []
    finished = {line["engine"] for line in lines if "seconds" in line}
    done = {line["engine"] for line in lines if "seconds" in line and line["seed"] == seed}
    given_up = {e for e in engines if sum(line["engine"] == e for line in stopped) >= GIVE_UP} - finished
    return [e for e in engines if e not in done | given_up]


def scaling_large(args):
    """The engine gpu up to p = 20,000 (degree 10, n = 200, alpha 0.01): time and memory."""
    engine = (args.engines or ["gpu"])[0]
    for p in args.variables or LARGE:
        w = workloads.of("", generators.standardised(p, 10, 200, 0)[0], 0.01)
        row, fit, _ = runs.repeat(w, engine, runs.Check(w), budget=20.0, limit=60.0)
        row |= {} if fit is None else {"orientation": runs.orientation(fit, 3)}
        yield {**w.facts, "engine": engine, **row, **_memory(engine)}
        del fit, w
        gc.collect()


def many(args):
    """Data of 10,000 to 10,000,000 variables in modules, float32 in memory, to the graph: time, memory, estimates."""
    engine = (args.engines or ["gpu"])[0]
    for p, n, alpha in (size for size in MANY if size[0] in (args.variables or [size[0]])):
        X = generators.modules(p, n, 0).T
        times, row = [], {"set": "modules", "p": p, "n": n, "alpha": alpha, "engine": engine}
        row |= _estimated(X, alpha, engine)
        for _ in range(3 if p <= LONG and engine != "cpu" else 1):
            if engine != "cpu":
                _pool().free_all_blocks()
            fit, seconds = runs.timed(pycupc.pc, X, alpha=alpha, engine=engine, numCores=args.threads)
            times.append(seconds)
        row |= {"seconds": min(times), "levels_seconds": sum(level.seconds for level in fit.levels)}
        row |= {"tests": sum(fit.n_edgetests), "edges": len(fit.sparse_graph), "peak_bytes": peak_memory()}
        yield {**row, **_memory(engine)}
        del fit, X
        gc.collect()


def _estimated(X, alpha, engine):
    """Seconds of the levels and bytes as `pycupc estimate` gives them, from a sample of the variables."""
    if X.shape[1] < SAMPLED:
        return {}
    problem = problem_of(Arguments(function="pc", suffStat=X, alpha=alpha, engine=engine))
    found = run_stages(problem, trial=5)
    return {"estimated_seconds": found.trial.seconds, "estimated_bytes": found.stages[-1].memory}


def _memory(engine):
    return {} if engine == "cpu" else {"memory_bytes": int(_pool().total_bytes())}


def _pool():
    import cupy

    return cupy.get_default_memory_pool()
