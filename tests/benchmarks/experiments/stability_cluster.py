"""Resamples on several GPUs: Dask workers, one per GPU, beside one worker and beside no executor at all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import pycupc

from .. import record, runs, workloads
from .gpu import Deadline
from .stability_times import ALPHA, ON_GPU, SEED

N_RESAMPLES, TURNS = 1000, 3


def stability_cluster(args: Any, deadline: Deadline) -> None:
    """Experiment "stability-cluster": the same resamples on 1, 2, ... workers (--workers), all answers equal."""
    result = record.new("stability-cluster", args)
    names = args.sets or (("std_50_3_200",) if args.quick else ON_GPU)
    engine = (args.engines or ["gpu"])[0]
    for name in workloads.available(list(names), args.data):
        X = np.ascontiguousarray(workloads.observations(name, args.data)[0])
        row: dict[str, Any] = {"set": name, "p": X.shape[1], "n": len(X), "alpha": ALPHA, "engine": engine}
        row |= {"n_resamples": 40 if args.quick else N_RESAMPLES, "runs": []}
        result["rows"].append(row)
        expected, seconds = _timed(X, row)
        row["runs"].append({"workers": 0, "seconds": seconds, "equal": True})
        for workers in args.workers:
            if deadline.left() < 0:
                record.progress(f"{name}, {workers} workers: not run, the deadline has passed")
                continue
            with _one_worker_per_gpu(workers) as executor:
                found, seconds = _timed(X, row, executor)
            row["runs"].append({"workers": workers, "seconds": seconds, "equal": found == expected})
            record.progress(f"{name}: {row['runs'][-1]}")
            record.write(result, args.out)


def _timed(X: np.ndarray, row: dict[str, Any], executor: Any = None) -> tuple[pycupc.Stability, list[float]]:
    """The result, and the seconds of each turn, from the data in memory here to the frequencies.

    The first call, with another seed, makes the workers load the package and the kernels; every study is sent to them
    anew, so that the times include sending the data.
    """
    call: dict[str, Any] = {"alpha": ALPHA, "engine": row["engine"], "executor": executor}
    pycupc.stability(X, n_resamples=row["n_resamples"] // 4, random_state=SEED + 1, **call)
    seconds = []
    with runs.quick_collection():
        for turn in range(TURNS):
            began = time.perf_counter()
            result = pycupc.stability(X, n_resamples=row["n_resamples"], random_state=SEED + 2 + turn, **call)
            seconds.append(time.perf_counter() - began)
    return result, seconds


@contextmanager
def _one_worker_per_gpu(n: int) -> Iterator[Any]:
    """The executor of a Dask cluster on this machine, of which worker i sees GPU i alone.

    dask-cuda's ``LocalCUDACluster`` makes the same cluster; it is not needed for this.
    """
    from distributed import Client, Nanny, Scheduler, SpecCluster

    common = {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0"}
    own = [{"nthreads": 1, "silence_logs": 50, "env": {"CUDA_VISIBLE_DEVICES": str(i)}} for i in range(n)]
    workers = {i: {"cls": Nanny, "options": {**common, **options}} for i, options in enumerate(own)}
    scheduler = {"cls": Scheduler, "options": common}
    with SpecCluster(workers, scheduler, silence_logs=50) as cluster, Client(cluster) as client:
        client.wait_for_workers(n)
        yield client.get_executor()
