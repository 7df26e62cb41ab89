"""Other implementations, used where they are present: each returns its graph and its times, or why it did not run.

pcalg, ParallelPC and bnlearn are run by the Rscript on the PATH with R's own library path. causal-learn and pgmpy are
in the Python that --peer-python names; a shared library with cuPC's C entry point is given by path. A result is a
dictionary: "times" (seconds of each run), "graph" (row to column), "version" and, where R says it, "tests"
by level; or the columns of a run without a time ("outcome", ...).
"""

import ctypes
import functools
import math
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pycupc.independence.gaussian.fisher_z import cutoff

from .. import record
from ..processes import in_fresh_process, in_process, run_limited
from ..workloads import Answer

HERE = Path(__file__).resolve().parent
PYTHON_PEERS = ("causal-learn", "pgmpy")
PARALLEL_PC = {"FALSE": "ParallelPC", "TRUE": "ParallelPC, mem.efficient"}
DISCRETE = ("pcalg", "bnlearn", "pgmpy", "causal-learn")
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
    row = {key: out[key] for key in columns if key in out} | record.statistics(out.get("times", []))
    if "graph" in out:
        theirs = (out["graph"] != 0) | (out["graph"] != 0).T
        row |= {"edges": int(np.triu(theirs, 1).sum()), "edges_only_there": int(np.triu(theirs & ~skeleton, 1).sum())}
        row["edges_only_here"] = int(np.triu(skeleton & ~theirs, 1).sum())
    return row


def pairs_marked_otherwise(graph, other):
    """The number of pairs of variables whose edge is not marked equally in two graphs."""
    differ = (graph != 0) != (other != 0)
    return int(np.triu(differ | differ.T).sum())


@functools.cache
def has_r_package(name):
    """Is there an R with this package?"""
    find = ["Rscript", "--vanilla", "-e", f"q(status = !nzchar(system.file(package = '{name}')))"]
    return shutil.which("Rscript") is not None and subprocess.run(find, capture_output=True).returncode == 0


def in_r(call, packages, arrays, w, effort, *, processes=1, m_max=math.inf, environment=None):
    """Run a call of worker.R on arrays, with the p, n and alpha of a problem.

    Returns "times", "version", "tests", "cpu_seconds" (all threads, median), and the int32 arrays that R left.
    """
    for package in packages:
        if not has_r_package(package):
            return {"outcome": "not installed", "why": f"no Rscript with the R package {package}"}
    job = [call, " ".join(packages), w.p, w.n, repr(w.alpha), processes, m_max, effort.repeats, effort.budget]
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        for file, array in arrays.items():
            np.asarray(array).ravel(order="F").tofile(folder / f"{file}.bin")
        (folder / "job.txt").write_text("\n".join(map(str, job)) + "\n")
        if why := run_limited(["Rscript", "--vanilla", HERE / "worker.R", folder], effort.limit, environment):
            return why

        def numbers(file):
            path = folder / f"{file}.txt"
            return [float(v) for v in path.read_text().split()] if path.exists() else []

        versions = (folder / "versions.txt").read_text().splitlines()
        named = zip(("R", *packages), (v.removeprefix("R version ") for v in versions), strict=True)
        out = {"times": numbers("seconds"), "version": ", ".join(map(" ".join, named))}
        out |= {"tests": tuple(int(v) for v in numbers("tests"))}
        out |= {"cpu_seconds": float(np.median(numbers("cpu_seconds")))}
        new = [path for path in folder.glob("*.bin") if path.stem not in arrays]
        out |= {path.stem: np.fromfile(path, dtype=np.int32) for path in new}
        return out | {"graph": out["graph"].reshape(w.p, w.p)}


def pcalg(w, method, threads, effort, *, library=None):
    """The skeleton by a `method` of worker.R, from the same correlations.

    `library` is an R library folder to be searched before R's own ones.
    """
    environment = {"OMP_NUM_THREADS": str(threads)}
    if library is not None:
        folders = [str(library.resolve()), os.environ.get("R_LIBS", "")]
        environment["R_LIBS"] = os.pathsep.join(folders).strip(os.pathsep)
    packages = ("pcalg", "ParallelPC") if method.startswith("ParallelPC") else ("pcalg",)
    return in_r(method, packages, {"C": w.C}, w, effort, processes=threads, environment=environment)


def faster(ways):
    """The run with the smallest median of several ways to run one program; "processes" names the way."""
    timed = [name for name, out in ways.items() if "times" in out]
    best = min(timed, key=lambda name: np.median(ways[name]["times"]), default=next(iter(ways)))
    return {**ways[best], "processes": best} if timed else ways[best]


def parallel_pc(w, threads, effort):
    """ParallelPC's pc_parallel(), at least two processes: the faster of mem.efficient = FALSE and TRUE."""
    return faster({f"mem.efficient {name}": pcalg(w, way, threads, effort) for name, way in PARALLEL_PC.items()})


def python_peer(peer, X, alpha, python, effort):
    """Run causal-learn or pgmpy on data X, float64 (n, p), with the Python that has it, or None."""
    if python is None:
        return {"outcome": "not installed", "why": f"--peer-python names no Python with {peer}"}
    job = {"peer": peer, "alpha": alpha, **effort._asdict()}
    threads = {"OMP_NUM_THREADS": str(os.cpu_count() or 1)}
    return in_process([python, HERE / "worker.py"], {"X.npy": X}, job, effort.limit, threads)


def cupc_library(path, w, effort):
    """cuPC's C entry point in a shared library, in a process of its own: it ends its process on a CUDA error."""
    try:
        return in_fresh_process(_call_cupc, path.resolve(), w, effort)
    except BrokenProcessPool:
        return {"outcome": "failed", "why": "it ended its process"}


def _call_cupc(path, w, effort):
    """``Skeleton(C, p, G, Th, l, maxlevel, pMax, SepSet)`` with the right cutoffs; the first run is a warm-up."""
    skeleton = ctypes.CDLL(str(path)).Skeleton
    doubles, ints = (np.ctypeslib.ndpointer(dtype=t, flags="C_CONTIGUOUS") for t in (np.float64, np.int32))
    skeleton.argtypes, skeleton.restype = [doubles, ints, ints, doubles, ints, ints, doubles, ints], None
    cutoffs = np.array([math.atanh(cutoff(w.alpha, w.n, level)) for level in range(min(CUPC_LEVELS, w.n - 4) + 1)])
    seconds, began = [], time.perf_counter()
    while len(seconds) <= effort.repeats and (len(seconds) < 2 or time.perf_counter() - began <= effort.budget):
        C, G = w.C.copy(), np.ones((w.p, w.p), dtype=np.int32) - np.eye(w.p, dtype=np.int32)
        level, most = np.zeros(1, np.int32), np.full(1, len(cutoffs) - 1, np.int32)
        p_max, sets = np.zeros((w.p, w.p)), np.full(w.p * w.p * CUPC_LEVELS, -1, np.int32)
        t = time.perf_counter()
        skeleton(C, np.array([w.p], np.int32), G, cutoffs, level, most, p_max, sets)
        seconds.append(time.perf_counter() - t)
    return {"times": seconds[1:], "last_level": int(level[0]), "graph": (G > 0).astype(np.int8)}


def discrete(peer, table, python, threads, effort):
    """A peer on discrete data: the same codes and alpha, the stable variant, the G^2 test, no limit on the level.

    Of pcalg also "answer", and "empty_sets", the number of empty separating sets, which pycupc does not store.
    """
    if peer in PYTHON_PEERS:  # without constant variables: pgmpy connects them with all others
        kept, graph = table.varying, np.zeros((len(table.nlev),) * 2, dtype=np.int8)
        out = python_peer(peer, table.codes[:, kept], table.alpha, python, effort)
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
    out = in_r(package, (package,), arrays, table, effort, processes=processes)
    if "sepset_x" in out:
        x, y, length, members = (out[f"sepset_{part}"] for part in ("x", "y", "len", "members"))
        kept, skeleton = length > 0, (out["graph"] != 0) | (out["graph"] != 0).T
        out["answer"] = Answer(skeleton, (x[kept], y[kept], length[kept], members), out["tests"])
        out["empty_sets"] = int((~kept).sum())
    return out
