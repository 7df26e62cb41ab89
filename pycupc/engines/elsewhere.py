"""A problem of an engine at the workers of an executor: each worker makes its own engine, which takes the same test."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from pycupc.engines.protocol import AnyEngine, EngineError
from pycupc.system.executors import ItemFailed, Shared, Workers

Result = TypeVar("Result")


class ProblemThere:
    """The problem as a worker holds it: the engine is made when the first piece of work comes, and kept.

    `make`: makes an engine that has taken the test.
    """

    def __init__(self, make: Callable[[], AnyEngine]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._engine: AnyEngine | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return ProblemThere, (self._make,)

    @contextmanager
    def engine(self) -> Iterator[AnyEngine]:
        """The engine, for one thread at a time: a piece of work uses all threads that the engine has."""
        with self._lock:
            if self._engine is None:
                self._engine = self._make()
            yield self._engine


class Raised(NamedTuple):
    """An error of the tests themselves, which they would raise at home as well."""

    error: Exception


class WorkersOfEngine:
    """See `protocol.Elsewhere`.

    `make`: called when the first engine is needed; returns the function that makes an engine at a worker.
    """

    def __init__(self, executor: Executor, make: Callable[[], Callable[[], AnyEngine]]) -> None:
        self._workers, self._make = Workers(executor), make
        self._name = uuid.uuid4().hex  # of the problem: no worker has another one of this name
        self._problem: Shared | None = None

    @property
    def n_workers(self) -> int:
        return self._workers.n_replied

    def results(
        self, work: Callable[..., Result], items: Iterable[tuple[int, tuple[Any, ...]]], total: int, words: str
    ) -> Iterator[tuple[int, Result]]:
        return self._results(work, items, total, words, ())

    def results_of_engines(
        self,
        work: Callable[..., Result],
        items: Iterable[tuple[int, tuple[Any, ...]]],
        total: int,
        words: str,
        shared: tuple[str, Any] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        if self._problem is None:
            self._problem = Shared(self._name, ProblemThere(self._make()))
        items = ((key, (work, *arguments)) for key, arguments in items)
        if shared is None:
            return self._results(_with_engine, items, total, words, [self._problem])
        sent = [self._problem, Shared(f"{self._name} {shared[0]}", shared[1])]
        return self._results(_with_engine_and_value, items, total, words, sent)

    def _results(
        self,
        work: Callable[..., Any],
        items: Iterable[tuple[int, tuple[Any, ...]]],
        total: int,
        words: str,
        shared: Sequence[Shared],
    ) -> Iterator[tuple[int, Any]]:
        done = 0
        try:
            for done, (key, found) in enumerate(self._workers.results(work, items, shared), start=1):  # noqa: B007
                if isinstance(found, Raised):
                    raise found.error
                yield key, found
        except ItemFailed as failed:
            error = failed.__cause__
            raise EngineError(
                f"executor failed with {done} of {total} {words} done ({type(error).__name__}: {error})"
            ) from error


def _with_engine_and_value(
    problem: ProblemThere, value: Any, work: Callable[..., Result], *arguments: Any
) -> Result | Raised:
    return _with_engine(problem, work, value, *arguments)


def _with_engine(problem: ProblemThere, work: Callable[..., Result], *arguments: Any) -> Result | Raised:
    """A piece of work at a worker, with its engine."""
    try:
        with problem.engine() as engine:
            return work(engine, *arguments)
    except (MemoryError, OSError):  # of the worker, not of the tests
        raise
    except Exception as error:
        return Raised(error)
