"""Running an implementation in a process of its own, so that its start-up and its peak memory can be measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .record import ROOT
from .workloads import Answer, Workload


def repeat_in_fresh_process(
    w: Workload, engine: str, threads: int, *, least: int, budget: float, limit: float
) -> dict[str, Any]:
    """`runs.repeat` in a fresh process, with its start-up, peak memory and orientation."""
    job = {"engine": engine, "threads": threads, "least": least, "budget": budget, "alpha": w.alpha, "n": w.n}
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    return in_process(["-m", "benchmarks.processes"], w, job, limit, environment={"PYTHONPATH": path})


def in_process(
    command: list[str],
    w: Workload,
    job: dict[str, Any],
    limit: float,
    python: str = sys.executable,
    environment: dict[str, str] | None = None,
    before: Callable[[Path], None] | None = None,
) -> dict[str, Any]:
    """Run a Python worker on a workload: it is given a folder with C.npy and job.json and leaves out.json and out.npz.

    Returns
    -------
    dict
        The contents of out.json, and those of out.npz as "arrays"; or "too_slow" (the limit in seconds), or "failed"
        (the end of the worker's error output).
    """
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        np.save(folder / "C.npy", w.C)
        (folder / "job.json").write_text(json.dumps(job))
        if before is not None:
            before(folder)
        try:
            done = subprocess.run(
                [python, *command, str(folder)],
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                capture_output=True,
                text=True,
                timeout=limit,
            )
        except subprocess.TimeoutExpired:
            return {"too_slow": limit, "repeats": []}
        if done.returncode or not (folder / "out.json").exists():
            why = (done.stderr or done.stdout).strip()[-600:] or f"exit code {done.returncode}"
            return {"failed": why, "repeats": []}
        out = json.loads((folder / "out.json").read_text())
        if (folder / "out.npz").exists():
            with np.load(folder / "out.npz") as z:
                out["arrays"] = {k: z[k] for k in z}
        return out


def _worker(folder: Path) -> None:
    """The fresh process of `repeat_in_fresh_process`."""
    job = json.loads((folder / "job.json").read_text())
    C = np.load(folder / "C.npy")
    began = time.perf_counter()
    from . import runs  # imports pycupc, which is part of the start-up

    tiny = Workload("warm-up", np.eye(24) * 0.7 + 0.3, 100, 0.05, "")
    engine = runs.make_engine(job["engine"], job["threads"])
    runs.once(tiny, engine)
    start_up = time.perf_counter() - began
    w = Workload("job", C, job["n"], job["alpha"], "")
    before = peak_memory()
    out = runs.repeat(w, engine, least=job["least"], budget=job["budget"])
    fit = out.pop("fit")
    out["start_up"], out["peak_before_bytes"] = start_up, before
    out["orientation"] = runs.orientation(fit, 3)
    answer = Answer.of(fit)
    np.savez(
        folder / "out.npz",
        skeleton=answer.skeleton,
        n_edgetests=answer.n_edgetests,
        **{f"sepset{i}": part for i, part in enumerate(answer.sepset)},
    )
    (folder / "out.json").write_text(json.dumps(out))


def answer_of(arrays: dict[str, np.ndarray]) -> Answer:
    """The answer that `_worker` stored."""
    sets = tuple(arrays[f"sepset{i}"] for i in range(4))
    return Answer(arrays["skeleton"], sets, tuple(int(v) for v in arrays["n_edgetests"]))


def peak_memory() -> int:
    """Largest resident memory of this process so far, in bytes; 0 where it is not known."""
    try:  # on Linux getrusage would count the memory of the process that started this one, too
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    _worker(Path(sys.argv[1]))
