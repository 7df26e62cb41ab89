"""Other implementations, used where they are present: each returns its graph and its times, or why it did not run.

pcalg, ParallelPC and bnlearn are run by the Rscript on the PATH with R's own library path. causal-learn and pgmpy are
installed from PyPI into an environment of their own under the cache folder. gpucsl and a shared library with cuPC's C
entry point are given by path. A result is a dictionary: "times" (seconds of each run), "graph" (row to column),
"version" and, where R says it, "tests" by level; or the columns of a run without a time ("outcome", ...).
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pycupc.independence.gaussian.fisher_z import cutoff

from .. import record
from ..processes import in_process, run_limited
from ..record import statistics
from ..workloads import Answer

HERE = Path(__file__).resolve().parent
PYTHON_PEERS = ("causal-learn", "pgmpy")
PARALLEL_PC = {"FALSE": "ParallelPC", "TRUE": "ParallelPC, mem.efficient"}
DISCRETE = {"pcalg": "pcalg", "bnlearn": "bnlearn", "pgmpy": "pgmpy, g_sq", "causal-learn": "causal-learn, gsq"}
#: cuPC stops after this level: a cell of its array of separating sets has room for this many members.
CUPC_LEVELS = 14
#: bnlearn is also tried in one process where several took less: starting and feeding them takes a part of a second.
QUICK = 30.0


class Effort(NamedTuple):
    """How much time a peer may take: at most `repeats` runs, no new one after `budget` seconds, killed at `limit`."""

    repeats: int = 3
    budget: float = 60.0
    limit: float = 300.0


def summary(out, skeleton):
    """The columns of a peer's run; of its graph, the number of edges in which it differs from `skeleton`."""
    columns = ("outcome", "limit", "estimate", "why", "version", "processes", "cpu_seconds", "last_level")
    row = {key: out[key] for key in columns if key in out} | statistics(out.get("times", []))
    if "graph" in out:
        theirs = (out["graph"] != 0) | (out["graph"] != 0).T
        row |= {"edges": int(np.triu(theirs, 1).sum()), "edges_only_there": int(np.triu(theirs & ~skeleton, 1).sum())}
        row["edges_only_here"] = int(np.triu(skeleton & ~theirs, 1).sum())
    return row


def pairs_marked_otherwise(graph, other):
    """The number of pairs of variables whose edge is not marked equally in two graphs."""
    differ = (graph != 0) != (other != 0)
    return int(np.triu(differ | differ.T).sum())


def has_r_package(name):
    """Is there an R with this package?"""
    if shutil.which("Rscript") is None:
        return False
    test = f"q(status = !requireNamespace('{name}', quietly = TRUE))"
    return subprocess.run(["Rscript", "--vanilla", "-e", test], capture_output=True).returncode == 0


def in_r(script, packages, arrays, job, limit, environment=None):
    """Run one of the R scripts here: it is given arrays as NAME.bin and the lines of job.txt.

    Returns "times", "version", "tests", "cpu_seconds" (all threads, median); and the int32 NAME.bin that it left.
    """
    for package in packages:
        if not has_r_package(package):
            return {"outcome": "not installed", "why": f"no Rscript with the R package {package}"}, {}
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        for file, array in arrays.items():
            np.asarray(array).ravel(order="F").tofile(folder / f"{file}.bin")
        (folder / "job.txt").write_text("\n".join(map(str, job)) + "\n")
        if why := run_limited(["Rscript", "--vanilla", HERE / script, folder], limit, environment):
            return why, {}

        def numbers(file):
            path = folder / f"{file}.txt"
            return [float(v) for v in path.read_text().split()] if path.exists() else []

        versions = (folder / "versions.txt").read_text().splitlines()
        named = zip(("R", *packages), (v.removeprefix("R version ") for v in versions), strict=True)
        out = {"times": numbers("seconds"), "version": ", ".join(map(" ".join, named))}
        out |= {"tests": tuple(int(v) for v in numbers("tests"))}
        if cpu := numbers("cpu_seconds"):
            out["cpu_seconds"] = float(np.median(cpu))
        new = [path for path in folder.glob("*.bin") if path.stem not in arrays]
        return out, {path.stem: np.fromfile(path, dtype=np.int32) for path in new}


def pcalg(w, method, threads, effort, *, orient=False, library=None):
    """pcalg's skeleton (or relaxed CPDAG) from the same correlations.

    `method` "pc" is a whole call of pc() with stable.fast, "cu_pc" a whole call of pycupc's cu_pc(), "ParallelPC" or
    "ParallelPC, mem.efficient" one of that package's pc_parallel(). `library` is an R library folder to be searched
    before R's own ones.
    """
    environment = {"OMP_NUM_THREADS": str(threads), "RETICULATE_PYTHON": sys.executable}
    environment["PYCUPC_CU_PC"] = str(record.ROOT / "r_wrapper" / "R" / "cu_pc.R")
    if library is not None:
        environment["R_LIBS"] = os.pathsep.join([str(library.resolve()), os.environ.get("R_LIBS", "")]).strip(
            os.pathsep
        )
    packages = ("pcalg", "ParallelPC") if method.startswith("ParallelPC") else ("pcalg",)
    job = [w.p, w.n, repr(w.alpha), method, threads, effort.repeats, effort.budget, int(orient)]
    out, arrays = in_r("pcalg.R", packages, {"C": w.C}, job, effort.limit, environment)
    return out | {name: array.reshape(w.p, w.p) for name, array in arrays.items()}


def faster(ways):
    """The run with the smallest median of several ways to run one program; "processes" names the way."""
    timed = [name for name, out in ways.items() if "times" in out]
    best = min(timed, key=lambda name: np.median(ways[name]["times"]), default=next(iter(ways)))
    return {**ways[best], "processes": best} if timed else ways[best]


def parallel_pc(w, threads, effort):
    """ParallelPC's pc_parallel(), at least two processes: the faster of mem.efficient = FALSE and TRUE."""
    return faster({f"mem.efficient {name}": pcalg(w, way, threads, effort) for name, way in PARALLEL_PC.items()})


def environment(cache, offline=False):
    """The Python of the peers' environment, which is made on first use; or a sentence on why there is none."""
    python = cache / "peers" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if python.exists():
        return python
    if offline:
        return "there is no environment for the peers under the cache folder"
    cache.mkdir(parents=True, exist_ok=True)
    install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PYTHON_PEERS]
    for command in ([sys.executable, "-m", "venv", cache / "peers"], install):
        if why := run_limited(command, None):
            shutil.rmtree(cache / "peers", ignore_errors=True)
            return f"{' '.join(map(str, command[1:4]))} failed: {why['why']}"
    return python


def python_peer(peer, X, alpha, python, effort, *, rows=None, warm_up=False, path=None):
    """Run causal-learn, pgmpy or gpucsl on data X, float64 (n, p), in a process of its own.

    `python` is the Python to run it with, None, or a sentence on why there is none. With `rows`, int (resamples, n), it
    runs once on each resample, and "graph" has a graph for each. `warm_up`: run once more before the first timed run.
    `path`: a folder to import the peer from.
    """
    if not isinstance(python, Path):
        why = python or "no environment for the peers: give --cache FOLDER, with --install-peers to make one"
        return {"outcome": "not installed", "why": why}
    job = {"peer": peer, "alpha": alpha, "warm_up": warm_up, **effort._asdict()}
    files = {"X.npy": X} | ({} if rows is None else {"rows.npy": rows})
    extra = {"OMP_NUM_THREADS": str(os.cpu_count() or 1)} | ({"PYTHONPATH": str(path)} if path is not None else {})
    out = in_process([python, HERE / "worker.py"], files, job, effort.limit, extra)
    return {**{k: v for k, v in out.items() if k != "arrays"}, **out.get("arrays", {})}


def cupc_library(path, w, effort):
    """cuPC's C entry point ``Skeleton(C, p, G, Th, l, maxlevel, pMax, SepSet)`` in a shared library.

    It is given the right cutoffs and runs in a process of its own, because it ends its process on a CUDA error.
    """
    levels = range(min(CUPC_LEVELS, w.n - 4) + 1)
    job = {"library": str(path.resolve()), **effort._asdict(), "room": CUPC_LEVELS}
    job["thresholds"] = [math.atanh(cutoff(w.alpha, w.n, level)) for level in levels]
    out = in_process([sys.executable, HERE / "cupc_worker.py"], {"C.npy": w.C}, job, effort.limit)
    return {**{k: v for k, v in out.items() if k != "arrays"}, **out.get("arrays", {})}


def discrete(peer, table, python, threads, effort):
    """A peer on discrete data: the same codes and alpha, the stable variant, the G^2 test, no limit on the level.

    Of pcalg also "answer", and "empty_sets", the number of empty separating sets, which pycupc does not store.
    """
    if (
        peer in PYTHON_PEERS
    ):  # without the variables that are constant in the sample: pgmpy connects them with all others
        kept, graph = table.varying, np.zeros((table.p, table.p), dtype=np.int8)
        out = python_peer(DISCRETE[peer], table.codes[:, kept], table.alpha, python, effort)
        if "graph" in out:
            graph[np.ix_(kept, kept)] = out["graph"]
            out["graph"] = graph
        return out
    if peer == "pcalg":
        return _discrete_in_r(peer, table, 1, effort)
    ways = {f"{threads} processes": _discrete_in_r(peer, table, threads, effort)}
    if threads > 1 and min(next(iter(ways.values())).get("times", [QUICK])) < QUICK:
        ways["1 process"] = _discrete_in_r(peer, table, 1, effort)
    return faster(ways)


def _discrete_in_r(package, table, processes, effort):
    arrays = {"codes": table.codes.astype(np.int32), "nlev": table.nlev.astype(np.int32)}
    job = [package, table.n, table.p, repr(table.alpha), processes, effort.repeats, effort.budget]
    out, found = in_r("discrete.R", (package,), arrays, job, effort.limit)
    if "graph" in found:
        out["graph"] = found["graph"].reshape(table.p, table.p)
    if "sepset_x" in found:
        x, y, length, members = (found[f"sepset_{part}"] for part in ("x", "y", "len", "members"))
        kept, skeleton = length > 0, (out["graph"] != 0) | (out["graph"] != 0).T
        out["answer"] = Answer(skeleton, (x[kept], y[kept], length[kept], members), out["tests"])
        out["empty_sets"] = int((~kept).sum())
    return out


def resamples(peer, X, rows, alpha, python, limit):
    """A loop over a peer's `pc` on resamples of the rows of X, in one process; "times" and "graph" of each resample."""
    if peer in PYTHON_PEERS:
        return python_peer(peer, X, alpha, python, Effort(len(rows), limit, limit), rows=rows)
    (n, p), count = X.shape, len(rows)
    arrays = {"X": X, "rows": (rows.T + 1).astype(np.int32)}
    out, found = in_r("stability.R", ("pcalg",), arrays, [n, p, count, repr(alpha)], limit)
    return out | ({"graph": found["graphs"].reshape(count, p, p)} if found else {})
