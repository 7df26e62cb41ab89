"""The executor of a call: one that the user has made, processes of this machine, or the workers of a Dask scheduler."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from pycupc.system.extras import needed
from pycupc.system.limits import EngineError
from pycupc.system.machine import available_cores

#: An executor; or a number of processes; or the address of a Dask scheduler.
Workplace = Executor | int | str


@contextmanager
def opened(where: Workplace | None, argument: str = "executor") -> Iterator[Executor | None]:
    """The executor of a call; what is opened here is closed at the end.

    EngineError if no scheduler answers at the address, ImportError without Dask; `argument`: named in both.
    """
    if isinstance(where, str):
        with _of_scheduler(where, argument) as executor:
            yield executor
    elif isinstance(where, (int, float)):  # R's numbers are float
        with _processes(int(where)) as executor:
            yield executor
    else:
        yield where


def threads_of(where: Workplace | None, numCores: int | None) -> int | None:
    """The threads of each worker: processes of this machine share its cores; None: each takes all that it has."""
    if numCores is None and isinstance(where, (int, float)):
        return max(available_cores() // int(where), 1)
    return numCores


@contextmanager
def _processes(number: int) -> Iterator[Executor]:
    """Processes that end with the call, at once after an error or Ctrl-C, and with this process."""
    import multiprocessing  # which takes a while
    from concurrent.futures import ProcessPoolExecutor

    pool = ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("spawn"), initializer=_obey_the_parent)
    try:
        yield pool
    except BaseException:
        processes = [*(getattr(pool, "_processes", None) or {}).values()]
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        raise
    pool.shutdown()


def _obey_the_parent() -> None:
    """Leave Ctrl-C to the parent, and end when it has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _of_scheduler(address: str, argument: str) -> Iterator[Any]:
    distributed = needed("distributed", argument, "cluster")
    try:
        client = distributed.Client(address)
    except (OSError, ValueError) as error:
        raise EngineError(f"{argument} {address}: {error}") from error
    with client:
        yield client.get_executor()
