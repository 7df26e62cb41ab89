"""Running an implementation in a process of its own, so that its start-up and its peak memory can be measured."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from .record import ROOT
from .workloads import Answer, Workload


def in_process(command, files, job, limit, environment=None):
    """Run a worker that is given a folder with FILES (NumPy arrays) and job.json and leaves out.json and out.npz there.

    Returns the contents of out.json, and those of out.npz as "arrays"; or the columns of a run without a time.
    """
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        for file, array in files.items():
            np.save(folder / file, array)
        (folder / "job.json").write_text(json.dumps(job))
        if why := run_limited([*command, name], limit, environment):
            return why
        out = json.loads((folder / "out.json").read_text())
        if (folder / "out.npz").exists():
            with np.load(folder / "out.npz") as z:
                out["arrays"] = {k: z[k] for k in z}
        return out


def run_limited(command, limit, environment=None):
    """Run a command. Returns {} or why it gave no result; after `limit` seconds its own processes are ended with it."""
    env = {**os.environ, **(environment or {})}
    how = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(list(map(str, command)), cwd=ROOT, env=env, **how) as process:
        try:
            _, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return {"outcome": "stopped", "limit": limit}
    if process.returncode:
        last = (errors.strip().splitlines() or [f"exit code {process.returncode}"])[-1][:200]
        return {"outcome": "not installed" if "No module named" in last else "failed", "why": last}
    return {}


def repeat_in_fresh_process(w, engine, threads, *, least, budget, limit):
    """The columns of `runs.repeat` in a fresh process, with its start-up and orientation, and the answer or None."""
    job = {"engine": engine, "threads": threads, "least": least, "budget": budget, "alpha": w.alpha, "n": w.n}
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    command = [sys.executable, "-m", "benchmarks.processes"]
    out = in_process(command, {"C.npy": w.C}, job, limit, {"PYTHONPATH": path})
    arrays = out.pop("arrays", None)
    if arrays is None:
        return out, None
    sets = tuple(arrays[f"sepset{i}"] for i in range(4))
    return out, Answer(arrays["skeleton"], sets, tuple(arrays["n_edgetests"].tolist()))


def _worker(folder):
    """The fresh process of `repeat_in_fresh_process`."""
    job = json.loads((folder / "job.json").read_text())
    C = np.load(folder / "C.npy")
    began = time.perf_counter()
    from . import runs  # imports pycupc, which is part of the start-up

    engine = runs.make_engine(job["engine"], job["threads"])
    runs.once(Workload("warm-up", np.eye(24) * 0.7 + 0.3, 100, 0.05), engine)
    start_up = time.perf_counter() - began
    w = Workload("job", C, job["n"], job["alpha"])
    row, fit, _ = runs.repeat(w, engine, runs.Check(w), least=job["least"], budget=job["budget"])
    row |= {"start_up": start_up, "orientation": runs.orientation(fit, 3)}
    answer = Answer.of(fit)
    sets = {f"sepset{i}": part for i, part in enumerate(answer.sepset)}
    np.savez(folder / "out.npz", skeleton=answer.skeleton, n_edgetests=answer.n_edgetests, **sets)
    (folder / "out.json").write_text(json.dumps(row, default=lambda value: value.item()))


def peak_memory():
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
