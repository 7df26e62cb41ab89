"""One side of a paired measurement: runs the pycupc of one checkout on request (see `paired`).

Every line of stdin is a request and every line of stdout its reply, both JSON. So that the worker can run checkouts of
any age, it uses nothing of pycupc but `pycupc.skeleton`, `pycupc.pc`, `pycupc.SuffStat.from_data`,
`pycupc.EngineError`, and of a result `graph`, `skeleton`, `n_edgetests` and the flat form of `sepset`.
"""

import gc
import json
import os
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np

from .processes import peak_memory
from .workloads import digest


class Worker:
    """Holds one data set and runs it: `load`, then `first` once per engine, then `repeat` as often as wanted."""

    def __init__(self, checkout):
        import pycupc

        found = Path(pycupc.__file__).resolve()
        if checkout.resolve() not in found.parents:
            raise SystemExit(f"imported pycupc from {found}, not from {checkout}")
        self._pycupc = pycupc
        self._suff_stat = dict
        self._alpha = 0.05

    def load(self, numbers, n, alpha, source="C"):
        """Take a data set: correlations, or (source "data") observations, with which every run begins anew."""
        matrix, self._alpha = np.load(numbers), alpha
        if source == "data":
            self._suff_stat = lambda: self._pycupc.SuffStat.from_data(matrix)
        else:
            self._suff_stat = lambda: {"C": matrix, "n": n}
        return {}

    def first(self, call, engine, threads):
        """Run a small problem, then the data set once: seconds, hashes of the answer, peak memory in bytes."""
        run = self._call(call, engine, threads)
        try:
            run({"C": np.eye(24) * 0.7 + 0.3, "n": 100})
        except self._pycupc.EngineError as error:
            return {"absent": str(error)}
        gc.collect()
        _reset_peak_memory()
        device = _DevicePeak() if engine != "cpu" else None
        with device.hook if device else nullcontext():
            began = time.perf_counter()
            fit = run(self._suff_stat())
            seconds = time.perf_counter() - began
        peak = {"host": peak_memory(), "device": device.bytes if device else None}
        x, y, length, members = _flat(fit.sepset)
        answer = {
            "edges": digest(np.packbits(fit.skeleton)),
            "separating sets": digest(*(np.asarray(part, dtype=np.int32) for part in (x, y, length, members))),
            "numbers of tests": [int(v) for v in fit.n_edgetests],
        }
        if call == "pc":
            answer["graph"] = digest(np.asarray(fit.graph, dtype=np.int8))
        return {"seconds": seconds, "answer": answer, "tests": sum(fit.n_edgetests), "peak_bytes": peak}

    def repeat(self, call, engine, threads, calls):
        """Run the data set `calls` times: elapsed seconds and processor seconds of each run."""
        run = self._call(call, engine, threads)
        elapsed, processor = [], []
        for _ in range(calls):
            gc.collect()
            began, began_cpu = time.perf_counter(), time.process_time()
            fit = run(self._suff_stat())
            elapsed.append(time.perf_counter() - began)
            processor.append(time.process_time() - began_cpu)
            del fit
        return {"elapsed": elapsed, "processor": processor}

    def _call(self, call, engine, threads):
        function = self._pycupc.pc if call == "pc" else self._pycupc.skeleton
        return lambda suff_stat: function(suff_stat, alpha=self._alpha, engine=engine, numCores=threads)


class _DevicePeak:
    """Largest number of bytes that CuPy's memory pool has handed out at one time, while `hook` is active."""

    def __init__(self):
        import cupy

        self.bytes = self.now = int(cupy.get_default_memory_pool().used_bytes())
        change = self.change
        steps = {"malloc_postprocess": lambda _, **facts: change(facts["mem_size"])}
        steps["free_postprocess"] = lambda _, **facts: change(-facts["mem_size"])
        self.hook = type("Hook", (cupy.cuda.MemoryHook,), {"name": "peak", **steps})()

    def change(self, size):
        self.now += size
        self.bytes = max(self.bytes, self.now)


def _flat(sepset):
    """The separating sets as x, y, length, members; in version 0.1 the method had another name."""
    try:
        return sepset.flat()
    except AttributeError:
        return sepset.arrays()


def _reset_peak_memory():
    """Let `peak_memory` count from now on; only Linux can do that, elsewhere it counts from the start."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main():
    """Answer requests until stdin ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever is printed meanwhile goes to stderr
    worker = Worker(Path(sys.argv[1]))
    gc.collect()
    gc.freeze()  # later collections look only at what the runs leave behind
    for line in sys.stdin:
        request = json.loads(line)
        reply = getattr(worker, request.pop("do"))(**request)
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
