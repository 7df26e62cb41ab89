"""Other implementations of PC on resamples of some rows, one after the other in one process: a loop over `pc`."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..processes import in_process
from ..workloads import Workload
from . import HERE, PYTHON_PEERS, has_r_package

PEERS = ("pcalg", *PYTHON_PEERS)


def run(peer: str, X: np.ndarray, rows: np.ndarray, alpha: float, python: Path | str | None, limit: float) -> Any:
    """Run a peer on each resample.

    Parameters
    ----------
    X : float64 (n, p)
    rows : int64 (resamples, n)
        0-based rows of each resample.
    limit : float
        Seconds after which the loop is stopped.

    Returns
    -------
    dict
        "seconds" of each resample, correlations included, "graphs" (resamples, p, p) row to column, "versions"; or
        "absent", "too_slow", "failed".
    """
    if peer == "pcalg":
        return _pcalg(X, rows, alpha, limit)
    if not isinstance(python, Path):
        return {"absent": python or "no environment for the peers: give --cache FOLDER"}

    def leave(folder: Path) -> None:
        np.savez(folder / "resamples.npz", X=X, rows=rows)

    job, nothing = {"peer": peer, "alpha": alpha}, Workload(peer, np.empty((0, 0)), len(X), alpha, "")
    out = in_process([str(HERE / "stability_worker.py")], nothing, job, limit, str(python), None, leave)
    if "arrays" in out:
        out["graphs"] = out.pop("arrays")["graphs"]
    return out


def _pcalg(X: np.ndarray, rows: np.ndarray, alpha: float, limit: float) -> dict[str, Any]:
    if not has_r_package("pcalg"):
        return {"absent": "no Rscript with the R package pcalg"}
    (n, p), resamples = X.shape, len(rows)
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        np.asfortranarray(X).ravel(order="F").tofile(folder / "X.bin")
        (rows + 1).astype(np.int32).tofile(folder / "rows.bin")
        (folder / "job.txt").write_text("\n".join(map(str, (n, p, resamples, repr(alpha)))) + "\n")
        try:
            command = ["Rscript", "--vanilla", str(HERE / "stability.R"), name]
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired:
            return {"too_slow": limit}
        if done.returncode:
            return {"failed": done.stderr.strip()[-600:]}
        return {
            "seconds": [float(v) for v in (folder / "seconds.txt").read_text().split()],
            "graphs": np.fromfile(folder / "graphs.bin", dtype=np.int32).reshape(resamples, p, p),
            "versions": dict(zip(("R", "pcalg"), (folder / "versions.txt").read_text().splitlines(), strict=True)),
        }
