"""Run one Python peer on data, in the peer's own environment: ``python worker.py FOLDER``. Imports nothing of pycupc.

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


def causal_learn(X, alpha, uc_priority=0):
    """uc_priority=0: a later collider overwrites an earlier one, as in pcalg; its own default (2) keeps the earlier."""
    from causallearn.search.ConstraintBased.PC import pc

    how = {"indep_test": "fisherz", "stable": True, "uc_rule": 0, "uc_priority": uc_priority, "show_progress": False}

    def run():
        return pc(X, alpha=alpha, **how)

    def graph(out):
        g = out.G.graph  # [i, j] = -1 and [j, i] = 1: i --> j; both -1: undirected
        return (g == -1).astype(np.int8)

    return run, graph


def pgmpy(X, alpha):
    import pandas
    from pgmpy.causal_discovery import PC

    names = [f"v{i}" for i in range(X.shape[1])]
    data = pandas.DataFrame(X, columns=names)

    def run():
        # "stable" in one process; the default ("parallel") starts processes. No limit on the conditioning sets.
        return PC(
            variant="stable", ci_test="fisher_z", return_type="pdag", significance_level=alpha,
            max_cond_vars=X.shape[1], show_progress=False,
        ).fit(data)  # fmt: skip

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


def gpucsl(X, alpha):
    from gpucsl.pc.pc import GaussianPC

    C = np.corrcoef(X, rowvar=False)

    def run():
        # Default max_level would ask for p x p x (p - 2) integers; 6 is what fits for p in the thousands.
        return GaussianPC(X, 6, alpha=alpha).set_distribution_specific_options(correlation_matrix=C).execute()[0]

    def graph(out):
        import networkx

        return networkx.to_numpy_array(out.directed_graph, nodelist=range(X.shape[1])).astype(np.int8)

    return run, graph


def causal_learn_default(X, alpha):
    return causal_learn(X, alpha, uc_priority=2)


PACKAGES = {
    "causal-learn": causal_learn,
    "causal-learn, its default": causal_learn_default,
    "pgmpy": pgmpy,
    "gpucsl": gpucsl,
}


def main(folder):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    job = json.loads((folder / "job.json").read_text())
    run, graph = PACKAGES[job["peer"]](np.load(folder / "X.npy"), job["alpha"])
    seconds, skeleton_seconds, began = [], [], time.perf_counter()
    if job.get("warm_up"):
        run()
    for i in range(job["repeats"]):
        t = time.perf_counter()
        out = run()
        seconds.append(time.perf_counter() - t)
        skeleton_seconds.append(getattr(out, "discover_skeleton_runtime", None))
        if i == 0:
            np.savez(folder / "out.npz", graph=graph(out))
        if time.perf_counter() - began > job["budget"]:
            break
    package = job["peer"].split(",")[0]
    versions = {package: importlib.metadata.version(package)}
    out = {"seconds": seconds, "versions": versions}
    if None not in skeleton_seconds:  # as the package itself reports it; "seconds" have the orientation too
        out["skeleton_seconds"] = skeleton_seconds
    (folder / "out.json").write_text(json.dumps(out))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
