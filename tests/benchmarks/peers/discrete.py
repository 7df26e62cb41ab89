"""Other implementations on discrete data: pcalg and bnlearn in R, pgmpy and causal-learn in Python.

All are given the same codes, the same alpha, the stable variant, the G^2 test and no limit on the level.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..networks import Table
from ..workloads import Answer
from . import HERE, Effort, has_r_package, python_peer

IN_PYTHON = {"pgmpy": "pgmpy, g_sq", "causal-learn": "causal-learn, gsq"}
PEERS = ("pcalg", "bnlearn", *IN_PYTHON)
#: bnlearn is also tried in one process where several took less: starting and feeding them takes a part of a second.
QUICK = 30.0


def run(peer: str, table: Table, python: Path | str | None, threads: int, effort: Effort) -> dict[str, Any]:
    """Run a peer: "seconds", "graph" (row to column), "versions", of pcalg "answer"; or why there are none."""
    if peer in IN_PYTHON:
        return _in_python(peer, table, python, effort)
    if peer == "pcalg":
        return _in_r(peer, table, 1, effort)
    return _bnlearn(table, threads, effort)


def _bnlearn(table: Table, threads: int, effort: Effort) -> dict[str, Any]:
    """bnlearn with a cluster of `threads` processes, and with one where that is quick; the smaller time counts."""
    ways = {threads: _in_r("bnlearn", table, threads, effort)}
    if threads > 1 and min(ways[threads].get("seconds", [QUICK])) < QUICK:
        ways[1] = _in_r("bnlearn", table, 1, effort)
    timed = [k for k in ways if "seconds" in ways[k]]
    best = min(timed, key=lambda k: float(np.median(ways[k]["seconds"]))) if timed else threads
    both = {str(k): way.get("seconds", way) for k, way in ways.items()}
    return {**ways[best], "processes": both} if timed else ways[best]


def _in_python(peer: str, table: Table, python: Path | str | None, effort: Effort) -> dict[str, Any]:
    """Without the variables that are constant in the sample: to pgmpy these depend on everything."""
    kept = table.varying
    missing = "no environment for the peers: give --cache FOLDER, with --install-peers to make one"
    out = python_peer(IN_PYTHON[peer], table.codes[:, kept], table.alpha, python or missing, effort)
    if "graph" in out:
        graph = np.zeros((table.p, table.p), dtype=np.int8)
        graph[np.ix_(kept, kept)] = out["graph"]
        out["graph"] = graph
    return out


def _in_r(package: str, table: Table, processes: int, effort: Effort) -> dict[str, Any]:
    if not has_r_package(package):
        return {"absent": f"no Rscript with the R package {package}"}
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        table.codes.T.astype(np.int32).tofile(folder / "codes.bin")
        table.nlev.astype(np.int32).tofile(folder / "nlev.bin")
        job = [package, table.n, table.p, repr(table.alpha), processes, effort.repeats, effort.budget]
        (folder / "job.txt").write_text("\n".join(map(str, job)) + "\n")
        done = with_limit(["Rscript", "--vanilla", str(HERE / "discrete.R"), name], effort.limit)
        if done is None:
            return {"too_slow": effort.limit}
        if done.returncode:
            return {"failed": done.stderr.strip()[-600:]}
        return _read(package, folder, table.p)


def with_limit(command: list[str], limit: float) -> subprocess.CompletedProcess[str] | None:
    """Run a command; None if it took longer: then its own processes are ended with it."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            _, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None
    return subprocess.CompletedProcess(command, process.returncode, "", errors)


def _read(package: str, folder: Path, p: int) -> dict[str, Any]:
    """What discrete.R left."""
    graph = np.fromfile(folder / "graph.bin", dtype=np.int32).reshape(p, p)
    out: dict[str, Any] = {
        "seconds": [float(v) for v in (folder / "seconds.txt").read_text().split()],
        "graph": graph,
        "versions": dict(zip(("R", package), (folder / "versions.txt").read_text().splitlines(), strict=True)),
    }
    if package == "pcalg":
        x, y, length, members = (
            np.fromfile(folder / f"sepset_{part}.bin", dtype=np.int32) for part in ("x", "y", "len", "members")
        )
        tests = tuple(int(float(v)) for v in (folder / "tests.txt").read_text().split())
        kept = length > 0  # pycupc does not store the empty sets of level 0; their number follows from the rest
        skeleton = (graph != 0) | (graph != 0).T
        out["answer"] = Answer(skeleton, (x[kept], y[kept], length[kept], members), tests)
        out["empty_sets"] = int((~kept).sum())
    return out
