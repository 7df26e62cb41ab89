"""Run one Python peer on data, in the peer's own environment: ``python worker.py FOLDER``. It does not import pycupc.

FOLDER holds job.json ({"peer", "alpha", "repeats", "budget"}) and X.npy; leaves out.json and out.npz ("graph": row to
column).
"""

import importlib.metadata
import json
import logging
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def causal_learn(X, alpha, discrete):
    from causallearn.search.ConstraintBased.PC import pc

    # uc_priority = 0: a later collider overwrites an earlier one, as in pcalg; the default (2) keeps the earlier one
    how = {"stable": True, "uc_rule": 0, "uc_priority": 0, "show_progress": False}

    def run():
        return pc(X, alpha=alpha, indep_test="gsq" if discrete else "fisherz", **how)

    def graph(out):
        g = out.G.graph  # [i, j] = -1 and [j, i] = 1: i --> j; both -1: undirected
        return (g == -1).astype(np.int8)

    return run, graph


def pgmpy(X, alpha, discrete):
    import pandas
    from pgmpy.causal_discovery import PC

    names = [f"v{i}" for i in range(X.shape[1])]
    data = pandas.DataFrame(X, columns=names)

    def run():
        # "stable" in one process; the default ("parallel") starts processes. No limit on the conditioning sets.
        return PC(
            variant="stable",
            ci_test="g_sq" if discrete else "fisher_z",
            return_type="pdag",
            significance_level=alpha,
            max_cond_vars=X.shape[1],
            show_progress=False,
        ).fit(data)

    def graph(out):
        g = np.zeros((len(names), len(names)), dtype=np.int8)
        index = {name: i for i, name in enumerate(names)}
        pdag = out.causal_graph_
        for a, b in pdag.directed_edges:
            g[index[a], index[b]] = 1
        for a, b in pdag.undirected_edges:
            g[index[a], index[b]] = g[index[b], index[a]] = 1
        return g

    return run, graph


PACKAGES = {"causal-learn": causal_learn, "pgmpy": pgmpy}


def main(folder):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    job = json.loads((folder / "job.json").read_text())
    X = np.load(folder / "X.npy")  # integers: the levels of discrete variables
    run, graph = PACKAGES[job["peer"]](X, job["alpha"], X.dtype.kind == "i")
    times, began = [], time.perf_counter()
    while len(times) < job["repeats"] and (not times or time.perf_counter() - began <= job["budget"]):
        t = time.perf_counter()
        out = run()
        times.append(time.perf_counter() - t)
    np.savez(folder / "out.npz", graph=graph(out))
    version = f"{job['peer']} {importlib.metadata.version(job['peer'])}"
    (folder / "out.json").write_text(json.dumps({"times": times, "version": version}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
