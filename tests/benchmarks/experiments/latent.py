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
        C = np.ascontiguousarray(w.C[np.ix_(kept, kept)])
        facts = {"set": name, "p": len(C), "n": w.n, "alpha": 0.01, "call": call}
        row, graph = _ours(function, C, w.n, m_max, args.threads)
        yield {**facts, "engine": "cpu", **row}
        job = [function, len(C), w.n, 0.01, m_max, 3, 60]
        packages = ("pcalg", "tpc") if function == "tpc" else ("pcalg",)
        out, arrays = peers.in_r("latent.R", packages, {"C": C}, job, args.limit or 600.0)
        if "graph" in arrays:
            out["differs"] = "graph" * (not np.array_equal(arrays["graph"].reshape(graph.shape), graph))
            out |= {"ratio": float(np.median(out["times"])) / row["seconds"]}
        times = record.statistics(out.pop("times", []))
        yield {**facts, "engine": packages[-1], **times, **{name: out[name] for name in out if name != "tests"}}


def _ours(function, C, n, m_max, threads):
    """The columns of our runs, and the graph as R has it."""
    data = pycupc.SuffStat(C, n)
    how = {"alpha": 0.01, "m_max": m_max, "engine": "cpu", "numCores": threads}
    if function == "tpc":
        run, how = pycupc.pc, how | {"tiers": tiers_of(len(C))}
    else:
        run, how = getattr(pycupc, function), how | {"quirks": True}
    fit, first = runs.timed(run, data, **how)
    graph = fit.sparse_graph.dense() if function == "tpc" else fit.sparse_graph.amat_pag()
    times = [seconds for _, seconds in runs.warm(lambda: run(data, **how), RUNS, BUDGET)]
    return {"first": first, "edges": len(fit.sparse_graph), **record.statistics(times)}, graph


def tiers_of(p):
    """Three tiers of equal size, as in latent.R."""
    return [3 * v // p for v in range(p)]
