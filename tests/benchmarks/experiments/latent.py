"""Hidden variables and tiers: fci(), rfci() and pc() with tiers beside pcalg and tpc, whole calls, answers compared."""

import numpy as np

import pycupc

from .. import peers, record, runs, workloads

#: Name of a call, its data, whether every fourth variable is hidden, the function, and the largest size of a set.
POINTS = (
    ("fci", "std_26_3_500", True, "fci", np.inf),
    ("fci, m.max 3", "std_106_3_500", True, "fci", 3),
    ("rfci", "std_400_3_1000", True, "rfci", np.inf),
    ("rfci", "std_1333_3_1000", True, "rfci", np.inf),
    ("tpc", "std_100_3_1000", False, "tpc", np.inf),
    ("tpc", "std_400_3_1000", False, "tpc", np.inf),
)
#: Runs of ours, no new one after these seconds.
RUNS, BUDGET = 15, 20.0


def latent(args):
    """Hidden variables and tiers: fci, rfci, tpc beside pcalg and tpc; --sets: of these data only."""
    for call, name, hidden, function, m_max in POINTS:
        if args.sets and name not in args.sets:
            continue
        w = workloads.load(name, args.data, 0.01)
        kept = np.arange(len(w.C)) % 4 != 3 if hidden else np.ones(len(w.C), dtype=bool)
        w = workloads.Workload(name, np.ascontiguousarray(w.C[np.ix_(kept, kept)]), w.n, w.alpha)
        row, graph = _ours(function, w, m_max, args.threads)
        yield {**w.facts, "call": call, "engine": "cpu", **row}
        packages = ("pcalg", "tpc") if function == "tpc" else ("pcalg",)
        out = peers.in_r(function, packages, {"C": w.C}, w, peers.Effort(limit=args.limit or 600.0), m_max=m_max)
        theirs = peers.summary({name: out[name] for name in out if name != "graph"}, None)
        if "graph" in out:
            theirs["differs"] = "graph" * (not np.array_equal(out["graph"], graph))
            theirs["ratio"] = theirs["seconds"] / row["seconds"]
        yield {**w.facts, "call": call, "engine": packages[-1], **theirs}


def _ours(function, w, m_max, threads):
    """The columns of our runs, and the graph as R has it."""
    data = pycupc.SuffStat(w.C, w.n)
    how = {"alpha": w.alpha, "m_max": m_max, "engine": "cpu", "numCores": threads}
    if function == "tpc":
        run, how = pycupc.pc, how | {"tiers": tiers_of(w.p)}
    else:
        run, how = getattr(pycupc, function), how | {"quirks": True}
    fit, first = runs.timed(run, data, **how)
    graph = fit.sparse_graph.dense() if function == "tpc" else fit.sparse_graph.amat_pag()
    times = [seconds for _, seconds in runs.warm(lambda: run(data, **how), RUNS, BUDGET)]
    return {"first": first, "edges": len(fit.sparse_graph), **record.statistics(times)}, graph


def tiers_of(p):
    """Three tiers of equal size, as in worker.R."""
    return [3 * v // p for v in range(p)]
