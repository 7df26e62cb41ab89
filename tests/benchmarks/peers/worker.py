"""Run one Python peer on data, in the peer's own environment: ``python worker.py FOLDER``. It does not import pycupc.

FOLDER holds job.json ({"peer", "alpha", "repeats", "budget", "warm_up"}), X.npy and, for runs on resamples, rows.npy;
leaves out.json and out.npz ("graph": row to column; of each resample).
"""

import importlib.metadata
import json
import logging
import sys
import time
import warnings
from pathlib import Path

import numpy as np


def causal_learn(X, alpha, uc_priority=0, test="fisherz"):
    """With uc_priority=0 a later collider overwrites an earlier one, as in pcalg; the default (2) keeps the earlier."""
    from causallearn.search.ConstraintBased.PC import pc

    how = {"indep_test": test, "stable": True, "uc_rule": 0, "uc_priority": uc_priority, "show_progress": False}

    def run():
        return pc(X, alpha=alpha, **how)

    def graph(out):
        g = out.G.graph  # [i, j] = -1 and [j, i] = 1: i --> j; both -1: undirected
        return (g == -1).astype(np.int8)

    return run, graph


def pgmpy(X, alpha, test="fisher_z"):
    import pandas
    from pgmpy.causal_discovery import PC

    names = [f"v{i}" for i in range(X.shape[1])]
    data = pandas.DataFrame(X, columns=names)

    def run():
        # "stable" in one process; the default ("parallel") starts processes. No limit on the conditioning sets.
        return PC(
            variant="stable",
            ci_test=test,
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


def gpucsl(X, alpha):
    _adapt_gpucsl()
    from gpucsl.pc.kernel_management import Kernels
    from gpucsl.pc.pc import GaussianPC

    C = np.corrcoef(X, rowvar=False)
    last = 6  # its default would ask for p x p x (p - 2) integers; 6 is what fits for p in the thousands
    kernels = [Kernels.for_gaussian_ci(X.shape[1], 1, last)]  # compiled once, out of the times

    def run():
        job = GaussianPC(X, last, alpha=alpha, kernels=kernels)
        return job.set_distribution_specific_options(correlation_matrix=C).execute()[0]

    def graph(out):
        import networkx

        return networkx.to_numpy_array(out.directed_graph, nodelist=range(X.shape[1])).astype(np.int8)

    return run, graph


def _adapt_gpucsl():
    """Let gpucsl 0.0.7 run with CuPy 14 and CUDA 13: it needs a name that NumPy 2 dropped, and CuPy without jitify.

    CuPy's jitify step, which looks up the C++ headers that the kernels include, did not end within minutes there. The
    kernels use nothing of these headers but `assert` and names of integers: empty ones let NVRTC compile the same code.
    """
    import tempfile

    import cupy

    if not hasattr(cupy, "float_"):
        cupy.float_ = cupy.float64
    headers = Path(tempfile.mkdtemp(prefix="pycupc-bench-headers-"))
    for name in ("algorithm", "cmath", "cstdio", "cstring"):
        (headers / name).write_text("")
    for name in ("assert.h", "cassert"):
        (headers / name).write_text("#undef assert\n#define assert(x)\n")
    (headers / "stdint.h").write_text("#pragma once\ntypedef unsigned int uint32_t;\ntypedef int int32_t;\n")
    module = cupy.RawModule

    def without_jitify(*, code, jitify, name_expressions, options):
        del jitify
        return module(code=code, name_expressions=name_expressions, options=(*options, f"-I{headers}"))

    cupy.RawModule = without_jitify


def causal_learn_default(X, alpha):
    return causal_learn(X, alpha, uc_priority=2)


def causal_learn_discrete(X, alpha):
    return causal_learn(X, alpha, test="gsq")


def pgmpy_discrete(X, alpha):
    return pgmpy(X, alpha, test="g_sq")


PACKAGES = {
    "causal-learn": causal_learn,
    "causal-learn, its default": causal_learn_default,
    "pgmpy": pgmpy,
    "causal-learn, gsq": causal_learn_discrete,
    "pgmpy, g_sq": pgmpy_discrete,
    "gpucsl": gpucsl,
}


def main(folder):
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    job = json.loads((folder / "job.json").read_text())
    X, resamples = np.load(folder / "X.npy"), folder / "rows.npy"
    tables = [X[rows] for rows in np.load(resamples)] if resamples.exists() else [X] * job["repeats"]
    times, graphs, began = [], [], time.perf_counter()
    for i, table in enumerate(tables):
        if i == 0 or table is not X:
            run, graph = PACKAGES[job["peer"]](table, job["alpha"])
        if i == 0 and job["warm_up"]:
            run()
        t = time.perf_counter()
        out = run()
        # gpucsl: the time of the skeleton, as the package itself reports it
        times.append(getattr(out, "discover_skeleton_runtime", time.perf_counter() - t))
        if i == 0 or table is not X:
            graphs.append(graph(out))
        if time.perf_counter() - began > job["budget"]:
            break
    np.savez(folder / "out.npz", graph=np.array(graphs) if resamples.exists() else graphs[0])
    package = job["peer"].split(",")[0]
    version = f"{package} {importlib.metadata.version(package)}"
    (folder / "out.json").write_text(json.dumps({"times": times, "version": version}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
