"""Whole calls on data too large for the matrix of all correlations."""

import gc

import numpy as np

import pycupc
from pycupc.algorithm.arguments import Options, Variables, check_arguments
from pycupc.algorithm.estimate import run_stages

from .. import generators, runs
from ..processes import peak_memory

#: (p, n, alpha); beyond `LONG` variables, a run is made once.
SIZES = [(10_000, 200, 1e-5), (20_000, 300, 1e-4), (50_000, 200, 1e-5), (100_000, 200, 1e-6), (200_000, 200, 1e-6)]
SIZES += [(1_000_000, 200, 1e-6), (1_000_000, 1000, 1e-8), (10_000_000, 200, 1e-8)]
LONG = 1_000_000
#: From this number of variables on, `pycupc estimate` takes a sample of them on every engine.
SAMPLED = 100_000


def many(args):
    """Data of 10,000 to 10,000,000 variables in modules, float32 in memory, to the graph: time, memory, estimates."""
    engine = (args.engines or ["gpu"])[0]
    for p, n, alpha in (size for size in SIZES if size[0] in (args.variables or [size[0]])):
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


def _pool():
    import cupy

    return cupy.get_default_memory_pool()
