"""Running something in a process of its own: a function of this package, or a program that may be ended."""

import json
import multiprocessing
import os
import signal
import subprocess
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from .record import ROOT


def pool(processes=1, initializer=None, *arguments):
    """New processes, which inherit nothing but the module path."""
    spawn = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(processes, mp_context=spawn, initializer=initializer, initargs=arguments)


def in_fresh_process(call, *arguments):
    """The result of a function in a new process; BrokenProcessPool if it ends the process."""
    with pool() as fresh:
        return fresh.submit(call, *arguments).result()


def in_process(command, files, job, limit, environment=None):
    """Run a worker that is given a folder with FILES (NumPy arrays) and job.json and leaves out.json and out.npz there.

    Returns the contents of both; or the columns of a run without a time.
    """
    with tempfile.TemporaryDirectory(prefix="pycupc-bench-") as name:
        folder = Path(name)
        for file, array in files.items():
            np.save(folder / file, array)
        (folder / "job.json").write_text(json.dumps(job))
        if why := run_limited([*command, name], limit, environment):
            return why
        with np.load(folder / "out.npz") as z:
            return json.loads((folder / "out.json").read_text()) | dict(z)


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


def peak_memory():
    """Largest resident memory of this process so far, in bytes; 0 where the system is not Linux.

    getrusage would count the memory of the process that started this one, too.
    """
    status = Path("/proc/self/status")
    found = status.read_text().splitlines() if status.exists() else []
    return 1024 * sum(int(line.split()[1]) for line in found if line.startswith("VmHWM:"))
