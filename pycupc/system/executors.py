"""Work on any executor of `concurrent.futures`: processes, the workers of a Dask cluster, the ranks of MPI.

A task computes one item. It names the data that all items share by their keys; a worker that lacks some of them replies
so, whereupon the task is sent again with these data. So each worker gets the data about once, whatever the kind of
executor, and a restarted worker gets them again.
"""

from __future__ import annotations

import itertools
import os
import platform
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

from pycupc.system.machine import available_cores

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")
#: Host, process, thread.
Worker = tuple[str, int, int]

#: Seconds between two looks for an interrupt.
TICK = 0.1
#: Number of shared values that a worker keeps.
_MOST_KEPT = 4

_kept: OrderedDict[str, Any] = OrderedDict()
_lock = threading.Lock()
#: Numbers of tasks, in which no two of this process agree.
_numbers = itertools.count()


class Shared(NamedTuple):
    """Data of many items; `key`, such as a hash, tells it from all other data."""

    key: str
    value: Any


class ItemFailed(Exception, Generic[Key]):
    """An item could not be computed, although it was tried twice; `__cause__` is the reason."""

    def __init__(self, key: Key) -> None:
        super().__init__(str(key))
        self.key = key


class _Task(NamedTuple):
    """A task that was submitted."""

    number: int
    key: Any
    arguments: tuple[Any, ...]


class Workers:
    """The workers of an executor. One object serves several calls of `results`, as for the levels of a run.

    A value that an earlier call has sent is not sent again, except to the workers that lack it.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._replied: set[Worker] = set()
        self._sent: set[str] = set()  # keys that a task has brought
        #: Processes that lacked a value, and its key: the last task that was to bring it.
        self._brought: dict[tuple[str, int, str], int] = {}

    @property
    def n_replied(self) -> int:
        """The number of workers that have replied so far."""
        return len(self._replied)

    def results(
        self, work: Callable[..., Result], items: Iterable[tuple[Key, tuple[Any, ...]]], shared: Sequence[Shared] = ()
    ) -> Iterator[tuple[Key, Result]]:
        """Yield the key of each item, and ``work(*values of shared, *arguments)``, as the workers finish them.

        `items` are keys, no two of them equal, and arguments, taken when they are submitted. At any time there are two
        tasks for each worker that has replied, so that none waits for work, and one more for each core of this machine,
        which find the other workers. The results of tasks that finish together come in the order of the items.

        A task that fails is sent once more: Dask may fail a task whose worker dies while it replies. ItemFailed, or
        KeyboardInterrupt, may end the iteration; tasks that have not begun are then cancelled.
        """
        values, left = {one.key: one.value for one in shared}, iter(items)
        running: dict[Future[tuple[Worker, tuple[str, ...], Any]], _Task] = {}
        waiting: deque[tuple[Key, tuple[Any, ...]]] = deque()  # to be sent again
        again: set[Key] = set()  # items that have failed once
        if values:
            _keep(values)  # for workers that are threads of this process, or forked from it

        def submit(key: Key, arguments: tuple[Any, ...], bring: Iterable[str]) -> int:
            number, brought = next(_numbers), {name: values[name] for name in bring}
            with _naming(key):
                future = self._executor.submit(compute, number, work, tuple(values), arguments, brought)
            running[future] = _Task(number, key, arguments)
            self._sent.update(brought)
            return number

        try:
            while True:
                while len(running) < 2 * len(self._replied) + available_cores():
                    if (item := waiting.popleft() if waiting else next(left, None)) is None:
                        break
                    submit(*item, values.keys() - self._sent)
                if not running:
                    return
                done = _first_done(running)
                # in order: one that failed must not hide an earlier result
                for future in sorted(done, key=lambda future: running[future].number):
                    number, key, arguments = running.pop(future)
                    if key not in again and not future.cancelled() and isinstance(future.exception(), Exception):
                        again.add(key)
                        waiting.appendleft((key, arguments))
                        continue
                    with _naming(key):
                        worker, lacking, result = future.result()
                    self._replied.add(worker)
                    if not lacking:
                        yield key, result
                    elif wanted := [name for name in lacking if number > self._brought.get((*worker[:2], name), -1)]:
                        bringing = submit(key, arguments, wanted)
                        self._brought |= dict.fromkeys(((*worker[:2], name) for name in wanted), bringing)
                    else:  # a task that brings them is on its way; if a later one comes back, another worker took it
                        waiting.appendleft((key, arguments))
        finally:
            for future in running:
                future.cancel()
            _forget(values)


def _first_done(running: Iterable[Future[Any]]) -> set[Future[Any]]:
    """The futures that are done, once one is; a thread that is not the main one notices an interrupt meanwhile."""
    while not (done := wait(running, TICK, FIRST_COMPLETED).done):
        pass
    return done


def compute(
    number: int, work: Callable[..., Result], keys: Sequence[str], arguments: Sequence[Any], brought: dict[str, Any]
) -> tuple[Worker, tuple[str, ...], Result | None]:
    """One task: the worker, the keys of the values that it lacks, and the result if it lacks none.

    The `number` makes the call different from all others: Dask answers a call that equals an earlier one with the
    earlier reply, if it still has it.
    """
    worker = platform.node(), os.getpid(), threading.get_ident()
    _keep(brought)
    with _lock:
        there = {key: _kept[key] for key in keys if key in _kept}
        for key in there:
            _kept.move_to_end(key)
    if lacking := tuple(key for key in keys if key not in there):
        return worker, lacking, None
    return worker, (), work(*(there[key] for key in keys), *arguments)


def _keep(values: dict[str, Any]) -> None:
    with _lock:
        for key, value in values.items():
            _kept[key] = value
            _kept.move_to_end(key)
        while len(_kept) > max(_MOST_KEPT, len(values)):
            _kept.popitem(last=False)


def _forget(keys: Iterable[str]) -> None:
    with _lock:
        for key in keys:
            _kept.pop(key, None)


@contextmanager
def _naming(key: Hashable) -> Iterator[None]:
    """Turn an exception into `ItemFailed`, which names the item."""
    try:
        yield
    except Exception as error:
        raise ItemFailed(key) from error
