"""Two experiments without a GPU and without timing: how conditioning sets are shared, and how accurate the CPDAG is."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import pycupc

from .. import generator, peers, record, workloads


def sharing(args: Any) -> None:
    """Experiment "sharing": in how many rows does each conditioning set of level 2 occur?

    Row i uses the set {a, b} if both are neighbours of i after level 1, so the number of rows that share the set is the
    number of common neighbours of a and b. Within row i it serves deg(i) - 2 edges.
    """
    result = record.new("sharing", args)
    names = ("std_150_6_300",) if args.quick else ("nci60", "mcc", "saureus", "tcga_brca_jive", "std_1000_20_1000")
    for name in workloads.available(args.sets or names, args.data):
        w = workloads.load(name, args.data)
        fit = pycupc.skeleton({"C": w.C, "n": w.n}, alpha=w.alpha, m_max=1, engine="cpu")
        A = fit.skeleton.astype(np.float32)
        degrees = fit.skeleton.sum(axis=1).astype(int)
        A = A[degrees > 2]  # rows with at least one set of size 2 and one edge to test
        rows = (A.T @ A)[np.triu_indices(w.p, 1)].round().astype(int)
        histogram = np.bincount(rows[rows > 0])
        served = degrees[degrees > 2]
        local = np.zeros(int(served.max(initial=2)) - 1, dtype=np.int64)  # [k] sets that serve k edges of a row
        np.add.at(local, served - 2, served * (served - 1) // 2)
        result["rows"].append(
            {
                "set": name,
                "p": w.p,
                "alpha": w.alpha,
                "edges_after_level_1": int(degrees.sum() // 2),
                "sets": int(histogram.sum()),
                "rows_sharing": histogram.tolist(),
                "edges_served": local.tolist(),
            }
        )
        few = histogram[:3].sum() / max(1, histogram.sum())
        record.progress(f"sharing {name}: {histogram.sum()} sets, {few:.0%} in 1 or 2 rows")
        record.write(result, args.out)


def accuracy(args: Any) -> None:
    """Experiment "accuracy": true discovery rate of the skeleton and structural Hamming distance to the true CPDAG."""
    result = record.new("accuracy", args)
    p, degree, alpha = (30, 3, 0.01) if args.quick else (50, 3, 0.01)
    sizes = (100, 1000) if args.quick else (100, 200, 500, 1000, 2000, 5000, 10000)
    graphs = 2 if args.quick else 6
    result.update(p=p, degree=degree, alpha=alpha, graphs=graphs)
    for n in sizes:
        for seed in range(graphs):
            X, dag = generator.standardised_graph(p, degree, n, seed)
            truth = generator.cpdag(dag)
            w = workloads.Workload("", workloads.correlation(X), n, alpha, "")
            ours = pycupc.pc({"C": w.C, "n": n}, alpha=alpha, engine="cpu").graph
            found: dict[str, Any] = {"pycupc": ours}
            live = peers.pcalg(w, "stable", os.cpu_count() or 1, repeats=1, orient=True)
            if "graph" in live:
                found["pcalg"] = live["graph"]
                result.setdefault("versions", {}).update(live["versions"])
            if args.peer_python is not None and seed < (2 if args.quick else 3):
                for peer in (*peers.PYTHON_PEERS, "causal-learn, its default"):
                    out = peers.python_peer(peer, X, alpha, args.peer_python, peers.Effort(repeats=1, limit=120))
                    if "graph" in out:
                        found[peer] = out["graph"]
                        result.setdefault("versions", {}).update(out["versions"])
                    else:
                        why = [n, seed, peer, out.get("failed", str(out))]
                        result.setdefault("peers_without_answer", []).append(why)
            for who, graph in found.items():
                row = {"n": n, "seed": seed, "who": who, **measures(graph, truth)}
                row["differs_from_pycupc"] = int(np.triu((graph != ours) | (graph != ours).T, 1).sum())
                result["rows"].append(row)
        record.progress(f"accuracy n = {n}: {sorted({r['who'] for r in result['rows'] if r['n'] == n})}")
        record.write(result, args.out)


def measures(graph: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """True discovery rate, true positive rate, structural Hamming distance (pairs that are not marked equally)."""
    g, t = np.asarray(graph) != 0, truth
    found, true = np.triu(g | g.T, 1), np.triu(t | t.T, 1)
    hits = int((found & true).sum())
    differ = np.triu((g != t) | (g != t).T, 1)
    return {
        "tdr": hits / max(1, int(found.sum())),
        "tpr": hits / max(1, int(true.sum())),
        "shd": int(differ.sum()),
        "edges": int(found.sum()),
        "true_edges": int(true.sum()),
    }
