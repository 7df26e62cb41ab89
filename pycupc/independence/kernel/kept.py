"""Values that several threads share: kept for later, and each made once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar, cast


class Sized(Protocol):
    """Anything of which the bytes are known."""

    @property
    def nbytes(self) -> int: ...


Value = TypeVar("Value", bound=Sized)


class Kept:
    """Values by key, those used last; several threads may use it."""

    def __init__(self, room: int) -> None:
        self._room, self._used, self._values, self._lock = room, 0, OrderedDict[Hashable, Any](), threading.Lock()

    def find(self, key: Hashable) -> Any:
        """The value of a key, None if it is not there."""
        with self._lock:
            return self._values.get(key)

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key, which is made if it is not there; its size must not change."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast("Value", self._values[key])
        value = make()
        with self._lock:
            if key not in self._values and value.nbytes <= self._room:
                self._values[key] = value
                self._used += value.nbytes
                while self._used > self._room:
                    self._used -= self._values.popitem(last=False)[1].nbytes
        return value


class Once:
    """Values by key, each made once, by the thread that asks first; others wait for it."""

    def __init__(self) -> None:
        self._of, self._lock = dict[Hashable, Future[Any]](), threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key; the error of making it, in all threads that ask."""
        with self._lock:
            future, mine = self._of.get(key), key not in self._of
            if future is None:
                future = self._of[key] = Future()
        if mine:
            try:
                future.set_result(make())
            except BaseException as error:
                future.set_exception(error)
        return cast("Value", future.result())
