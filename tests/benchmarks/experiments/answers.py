"""Two experiments without a GPU and without timing: how conditioning sets are shared, and how accurate the CPDAG is."""

import numpy as np

import pycupc

from .. import generator, peers, record, workloads


def sharing(args):
    """Experiment "sharing": in how many rows does each conditioning set of level 2 occur?

    Row i uses the set {a, b} if both are neighbours of i after level 1, so the number of rows that share the set is the
    number of common neighbours of a and b. Within row i it serves deg(i) - 2 edges.
    """
    results = record.Results("sharing", args)
    for name in workloads.wanted(args, workloads.LIGHT, ("std_150_6_300",)):
        w = workloads.load(name, args.data)
        fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, m_max=1, engine="cpu")
        degrees = fit.skeleton.sum(axis=1).astype(int)
        served = degrees[degrees > 2]  # rows with at least one set of size 2 and one edge to test
        A = fit.skeleton[degrees > 2].astype(np.float32)
        rows = (A.T @ A)[np.triu_indices(w.p, 1)].round().astype(int)
        sets, uses = int((rows > 0).sum()), served * (served - 1) // 2
        shares = {f"used_by_{k}": int(((rows >= low) & (rows <= high)).sum()) for k, low, high in SHARED}
        results.add(
            **w.facts, sets=sets, **shares, edges_served=float((uses * (served - 2)).sum() / max(1, uses.sum()))
        )
        record.progress(f"sharing {name}: {sets} sets, {shares}")


#: Numbers of rows that use a set: the name of the column, the least and the most.
SHARED = (("1", 1, 1), ("2_to_9", 2, 9), ("10_or_more", 10, np.inf))


def accuracy(args):
    """Experiment "accuracy": true discovery rate of the skeleton and structural Hamming distance to the true CPDAG."""
    results = record.Results("accuracy", args)
    p, degree, alpha = (30, 3, 0.01) if args.quick else (50, 3, 0.01)
    graphs = 2 if args.quick else 6
    for n in (100, 1000) if args.quick else (100, 200, 500, 1000, 2000, 5000, 10000):
        for seed in range(graphs):
            X, dag = generator.standardised_graph(p, degree, n, seed)
            w, truth = workloads.of(f"standardised, degree {degree}", X, alpha), generator.cpdag(dag)
            ours = pycupc.pc({"C": w.C, "n": n}, alpha=alpha, engine="cpu").graph
            found = {"pycupc": {"graph": ours}}
            found["pcalg"] = peers.pcalg(w, "stable", 1, peers.Effort(1, limit=600), orient=True)
            for peer in (*peers.PYTHON_PEERS, "causal-learn, its default") if seed < graphs // 2 else ():
                effort = peers.Effort(1, limit=120)
                found[peer] = peers.python_peer(peer, X, alpha, args.peer_python, effort)
            for who, out in found.items():
                row = {key: out[key] for key in ("outcome", "why", "version") if key in out}
                if "graph" in out:
                    row |= measures(out["graph"], truth)
                    row["cpdag_differs"] = peers.pairs_marked_otherwise(out["graph"], ours)
                results.add(**w.facts, seed=seed, engine=who, **row)
        record.progress(f"accuracy n = {n}: done")


def measures(graph, truth):
    """True discovery rate, true positive rate, structural Hamming distance (pairs that are not marked equally)."""
    g, t = np.asarray(graph) != 0, truth
    found, true = np.triu(g | g.T, 1), np.triu(t | t.T, 1)
    hits, edges = int((found & true).sum()), int(found.sum())
    rates = {"tdr": hits / max(1, edges), "tpr": hits / max(1, int(true.sum()))}
    return rates | {"shd": peers.pairs_marked_otherwise(g, t), "edges": edges, "true_edges": int(true.sum())}
