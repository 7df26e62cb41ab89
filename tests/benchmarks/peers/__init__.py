"""Other implementations, used where they are present: each returns its graph and its times, or why it did not run.

pcalg is run by the Rscript on the PATH with R's own library path. causal-learn and pgmpy are installed from PyPI into
an environment of their own under the cache folder. gpucsl and a shared library with cuPC's C entry point are given by
path.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pycupc.gaussian.fisher_z import cutoff

from .. import record
from ..processes import in_process
from ..workloads import Workload

HERE = Path(__file__).resolve().parent
PYTHON_PEERS = ("causal-learn", "pgmpy")
PARALLEL_PC = {"FALSE": "ParallelPC", "TRUE": "ParallelPC, mem.efficient"}
#: cuPC stops after this level: a cell of its array of separating sets has room for this many members.
CUPC_LEVELS = 14


def pcalg(
    w: Workload,
    method: str,
    threads: int,
    *,
    repeats: int = 3,
    budget: float = 120.0,
    limit: float = 600.0,
    orient: bool = False,
    library: Path | None = None,
) -> dict[str, Any]:
    """pcalg's skeleton (or relaxed CPDAG) from the same correlations; `budget` seconds of repeats, killed at `limit`.

    `method` "pc" is a whole call of pc() with stable.fast, "cu_pc" a whole call of pycupc's cu_pc(), "ParallelPC" or
    "ParallelPC, mem.efficient" one of that package's pc_parallel(). `library` is an R library folder to be searched
    before R's own ones.

    Returns
    -------
    dict
        "seconds", "cpu_seconds" (all threads), "graph" int (p, p) row to column, "tests" per level, "versions"; or
        "absent", "too_slow", "failed".
    """
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "RETICULATE_PYTHON": sys.executable,
        "PYCUPC_CU_PC": str(record.ROOT / "r_wrapper" / "R" / "cu_pc.R"),
    }
    if library is not None:
        folders = [str(library.resolve()), environment.get("R_LIBS", "")]
        environment["R_LIBS"] = os.pathsep.join(folders).strip(os.pathsep)
    needed = ("pcalg", "ParallelPC") if method.startswith("ParallelPC") else ("pcalg",)
    for package in needed:
        if not has_r_package(package):
            return {"absent": f"no Rscript with the R package {package}"}
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        np.asfortranarray(w.C).ravel(order="F").tofile(folder / "C.bin")
        job = [w.p, w.n, repr(w.alpha), method, threads, repeats, budget, int(orient)]
        (folder / "job.txt").write_text("\n".join(map(str, job)) + "\n")
        try:
            done = subprocess.run(
                ["Rscript", "--vanilla", str(HERE / "pcalg.R"), str(folder)],
                capture_output=True,
                text=True,
                timeout=limit,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            return {"too_slow": limit}
        if done.returncode:
            return {"failed": done.stderr.strip()[-600:]}
        versions = (folder / "versions.txt").read_text().splitlines()
        return {
            **{
                name: [float(v) for v in (folder / f"{name}.txt").read_text().split()]
                for name in ("seconds", "cpu_seconds")
            },
            "graph": np.fromfile(folder / "graph.bin", dtype=np.int32).reshape(w.p, w.p),
            "tests": [int(float(v)) for v in (folder / "tests.txt").read_text().split()],
            "versions": dict(zip(("R", *needed), versions, strict=True)),
        }


def has_r_package(name: str) -> bool:
    """Is there an R with this package?"""
    if shutil.which("Rscript") is None:
        return False
    test = f"q(status = !requireNamespace('{name}', quietly = TRUE))"
    return subprocess.run(["Rscript", "--vanilla", "-e", test], capture_output=True).returncode == 0


def parallel_pc(w: Workload, threads: int, **how: Any) -> dict[str, Any]:
    """ParallelPC's pc_parallel(), at least two processes: the faster of mem.efficient = FALSE and TRUE.

    Arguments as of `pcalg`; what that returns, and "mem_efficient", the seconds of either way or why it has none.
    """
    ways = {name: pcalg(w, method, threads, **how) for name, method in PARALLEL_PC.items()}
    timed = [name for name in ways if "seconds" in ways[name]]
    best = min(timed, key=lambda name: float(np.median(ways[name]["seconds"]))) if timed else next(iter(ways))
    both = {name: way.get("seconds", way) for name, way in ways.items()}
    return {**ways[best], "mem_efficient": both} if timed else ways[best]


def environment(cache: Path, offline: bool = False) -> Path | str:
    """The Python of the peers' environment, which is made on first use; or a sentence on why there is none."""
    python = cache / "peers" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if python.exists():
        return python
    if offline:
        return "there is no environment for the peers under the cache folder"
    cache.mkdir(parents=True, exist_ok=True)
    commands = (
        [sys.executable, "-m", "venv", str(cache / "peers")],
        [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check", *PYTHON_PEERS],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            shutil.rmtree(cache / "peers", ignore_errors=True)
            return f"{' '.join(command[1:4])} failed: {done.stderr.strip()[-300:]}"
    return python


@dataclass(frozen=True)
class Effort:
    """How much time a peer may take: at most `repeats` runs, no new one after `budget` seconds, killed at `limit`."""

    repeats: int = 3
    budget: float = 60.0
    limit: float = 300.0


def python_peer(
    peer: str,
    X: np.ndarray,
    alpha: float,
    python: Path | str,
    effort: Effort,
    *,
    warm_up: bool = False,
    path: Path | None = None,
) -> dict[str, Any]:
    """Run causal-learn, pgmpy or gpucsl on data, in a process of its own.

    Parameters
    ----------
    peer : str
    X : float64 (n, p)
        Observations.
    alpha : float
    python : Path or str
        The Python to run it with; a str says why there is none.
    effort : Effort
    warm_up : bool, default False
        Run once more before the first timed run.
    path : Path, optional
        A folder to import the peer from.

    Returns
    -------
    dict
        "seconds", "graph", "versions"; or "absent", "too_slow", "failed".
    """
    if isinstance(python, str):
        return {"absent": python}
    job = {"peer": peer, "alpha": alpha, "warm_up": warm_up, **asdict(effort)}
    extra = {"PYTHONPATH": str(path)} if path is not None else {}
    out = in_process(
        [str(HERE / "worker.py")],
        Workload(peer, np.empty((0, 0)), len(X), alpha, ""),
        job,
        effort.limit,
        str(python),
        {"OMP_NUM_THREADS": str(os.cpu_count() or 1), **extra},
        lambda folder: np.save(folder / "X.npy", X),
    )
    if "arrays" in out:
        out["graph"] = out.pop("arrays")["graph"]
    elif "No module named" in out.get("failed", ""):
        out = {"absent": out["failed"].splitlines()[-1]}
    return out


def cupc_library(
    path: Path, w: Workload, *, repeats: int = 3, budget: float = 20.0, limit: float = 120.0
) -> dict[str, Any]:
    """cuPC's C entry point ``Skeleton(C, p, G, Th, l, maxlevel, pMax, SepSet)`` in a shared library.

    It is given the right cutoffs and runs in a process of its own, because it ends its process on a CUDA error.
    """
    last = min(CUPC_LEVELS, w.n - 4)
    job = {
        "library": str(path.resolve()),
        "repeats": repeats,
        "budget": budget,
        "room": CUPC_LEVELS,
        "thresholds": [math.atanh(cutoff(w.alpha, w.n, level)) for level in range(last + 1)],
    }
    out = in_process([str(HERE / "cupc_worker.py")], w, job, limit)
    if "arrays" in out:
        out["graph"] = out.pop("arrays")["graph"]
    return out


def summary(peer: dict[str, Any], skeleton: np.ndarray) -> dict[str, Any]:
    """What goes into the raw file: all but the graph, and the number of edges in which it differs from `skeleton`."""
    out = {k: v for k, v in peer.items() if k != "graph"}
    if "graph" in peer:
        theirs = (peer["graph"] != 0) | (peer["graph"] != 0).T
        out["edges"] = int(np.triu(theirs, 1).sum())
        out["edges_only_there"] = int(np.triu(theirs & ~skeleton, 1).sum())
        out["edges_only_here"] = int(np.triu(skeleton & ~theirs, 1).sum())
    return out
