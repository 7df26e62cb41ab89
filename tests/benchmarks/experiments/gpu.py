"""All algorithms on a GPU on all data sets, and the original cuPC."""

from .. import peers, runs, workloads

#: Data sets on which cupc-e and cupc-s take seconds.
HEAVY = ("stock_logret", "std_1000_100_2000")


def gpu(args):
    """The engines gpu, cupc-e and cupc-s on every data set, as a whole and level by level; the slow ones last."""
    names, checks = workloads.wanted(args, workloads.SETS), {}
    engines = args.engines or runs.GPU_ENGINES
    for engine in engines:
        runs.once(runs.WARM_UP, engine)
    plan = [(name, engine) for name in names for engine in engines]
    for name, engine in sorted(plan, key=lambda job: job[0] in HEAVY and job[1] != "gpu"):
        if args.has(set=name, engine=engine, level=None):
            continue
        w, heavy = workloads.load(name, args.data), name in HEAVY and engine != "gpu"
        how = {"least": 25 if engine == "gpu" else 5 if heavy else 9, "budget": 25.0 if heavy else 8.0}
        check = checks.setdefault(name, runs.Check(w))
        row, fit, levels = runs.repeat(w, engine, check, limit=args.limit or 60.0, **how)
        if fit is not None and engine == "gpu":
            row["orientation"] = runs.orientation(fit)
        for level, seconds in enumerate(levels):
            yield {**w.facts, "engine": engine, "level": level, "seconds": seconds, "tests": fit.n_edgetests[level]}
        yield {**w.facts, "engine": engine, **row}


def gpu_peers(args):
    """A library with cuPC's entry point (--cupc-library), compared with the gpu engine."""
    for name in sorted(workloads.wanted(args, workloads.SETS), key=lambda name: name in HEAVY):
        if not args.has(set=name, engine="cuPC-library"):
            w = workloads.load(name, args.data)
            fit, _ = runs.once(w, "gpu")
            out = peers.cupc_library(args.cupc_library, w, peers.Effort(3, 20))
            row = {"engine": "cuPC-library", "tests": sum(fit.n_edgetests), **peers.summary(out, fit.skeleton)}
            yield {**w.facts, **row}
