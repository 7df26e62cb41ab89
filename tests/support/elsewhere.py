"""Executors for tests: `Elsewhere`, whose workers share nothing with this process; two processes; MPI."""

import multiprocessing
import pickle
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import Executor, Future, ProcessPoolExecutor

import numpy as np
import pytest

from pycupc.engines import divided
from pycupc.engines.elsewhere import WorkersOfEngine
from pycupc.system import executors


def two_processes():
    """An executor of two processes that are not forks of this one."""
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def note_sent_work(monkeypatch):
    """Send questions however small they are; returns the list that receives the names of all work that is sent."""
    monkeypatch.setattr(divided, "PART_SECONDS", 1e-12)
    monkeypatch.setattr(divided, "MOST_PARTS", 5)
    words, original = [], WorkersOfEngine.results_of_engines

    def noted(self, work, items, total, name, shared=None):
        words.append(name)
        return original(self, work, items, total, name, shared)

    monkeypatch.setattr(WorkersOfEngine, "results_of_engines", noted)
    return words


def printed_with_mpi(script, text):
    """The words that a program prints, with two workers of MPI and its text written to `script`; and its errors."""
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    mpiexec = shutil.which("mpiexec", path=sysconfig.get_path("scripts"))
    if mpiexec is None:
        pytest.skip("mpich is not installed")
    script.write_text(text)
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    return run.stdout.split(), run.stderr


class Elsewhere(Executor):
    """Runs each task at once, as a worker that shares nothing with this process and is restarted after `lifetime`.

    Of several workers, a task gets any. Equal calls are made once, as with Dask. `sent` counts the tasks of more than
    2,000 bytes; `kept` has the shared values that each worker keeps.
    """

    def __init__(self, lifetime=1000, names=("one",)):
        self.sent, self.lifetime, self.tasks, self.names, self.kept = 0, lifetime, 0, names, {}
        self._rng, self._replies = np.random.default_rng(0), {}

    def submit(self, function, /, *args, **kwargs):
        task = pickle.dumps((function, args, kwargs))
        self.sent += len(task) > 2000
        if self.tasks % self.lifetime == 0:
            self.kept = {}
        self.tasks += 1
        if task not in self._replies:
            self._replies[task] = self._reply(task, str(self._rng.choice(self.names)))
        return self._replies[task]

    def _reply(self, task, worker):
        function, args, kwargs = pickle.loads(task)
        here = dict(executors._kept)
        executors._kept.clear()
        executors._kept.update(self.kept.get(worker, {}))
        future = Future()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(executors.platform, "node", lambda: worker)
            try:
                future.set_result(function(*args, **kwargs))
            except Exception as error:
                future.set_exception(error)
        self.kept[worker] = dict(executors._kept)
        executors._kept.clear()
        executors._kept.update(here)
        return future
