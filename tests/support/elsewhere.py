"""`Elsewhere`: an executor whose workers share nothing with this process, for tests."""

import pickle
from concurrent.futures import Executor, Future

import numpy as np
import pytest

from pycupc.system import executors


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
