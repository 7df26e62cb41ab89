"""One run on several CUDA devices: an engine for each, which share the tests; see sharing.py."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu.gpu_engine import GpuEngine
from pycupc.engines.gpu.sharing import Meeting, Member
from pycupc.engines.protocol import (
    Answers,
    CountHook,
    Counts,
    Engine,
    EngineError,
    Finished,
    Floats,
    How,
    LevelResult,
    Questions,
    State,
)
from pycupc.independence.base import IndependenceTest

_T = TypeVar("_T")


class DevicesEngine(Engine):
    """Levels on several CUDA devices, a thread for each; the answer is the same as on one device.

    Each device holds the graph and the correlations. Level 0 without a matrix of all correlations is shared by squares
    of the matrix, and the levels from 1 on by rows. `LevelResult.n_made` may be too small, since a pair may be answered
    by pruning on one device that another one has removed.

    `engines`: one for each device, with the same options. Tests of discrete data run on one device only.
    """

    side_by_side = 2
    correlates_on_device = True
    compiles_beside = True

    def __init__(self, engines: list[GpuEngine]) -> None:
        self._engines, self.name = engines, engines[0].name
        self._meeting = Meeting(len(engines))
        for number, engine in enumerate(engines):
            engine.member = Member(self._meeting, number)
        self._threads = ThreadPoolExecutor(len(engines), thread_name_prefix="pycupc-device")

    def memory(self, test: IndependenceTest) -> tuple[int, int]:
        """The need of the device that has the least room for it."""
        if not test.has_r:
            raise EngineError(f"several devices share tests of correlations only; take one for {test.name} data")
        return max((engine.memory(test) for engine in self._engines), key=lambda need: need[0] - need[1])

    def correlation(self, X: Floats) -> Floats:
        return self._engines[0].correlation(X)

    def close(self) -> None:
        for engine in self._engines:
            engine.close()

    def _begin(self, names: Sequence[str]) -> None:
        def take(engine: GpuEngine) -> None:
            how: How = {"gaps": self._gaps, "fixed": self._fixed, "m_max": self._m_max, "division": self._division}
            if engine is self._engines[0]:
                how["progress"] = self._progress
            engine.take(self._test, names, **how)

        self._everywhere(take)

    def resume(self, levels: Sequence[Finished]) -> None:
        self._everywhere(lambda engine: engine.resume(levels))

    def _compile(self, level: int) -> None:
        for engine in self._engines:
            engine._compile(level)

    def _run(self, level: int) -> LevelResult:
        return self._everywhere(lambda engine: engine._run(level))

    def _everywhere(self, call: Callable[[GpuEngine], _T]) -> _T:
        """Make the same call for each engine at the same time; the result of the first one, made in this thread."""
        self._meeting.barrier.reset()
        others: list[Future[_T]] = [self._threads.submit(self._meet, call, engine) for engine in self._engines[1:]]
        try:
            out = self._meet(call, self._engines[0])
        except BaseException as error:
            for engine in self._engines[1:]:
                engine.device.stop_kernels()
            causes = [error, *(other.exception() for other in others)]
            raise next((e for e in causes if e and not isinstance(e, threading.BrokenBarrierError)), error) from None
        for other in others:
            other.result()
        return out

    def _meet(self, call: Callable[[GpuEngine], _T], engine: GpuEngine) -> _T:
        """Call; in the case of an error no other thread waits for this one any more."""
        try:
            return call(engine)
        except BaseException:
            self._meeting.barrier.abort()
            raise

    def state(self) -> State:
        for engine in self._engines[1:]:
            engine.state()
        return self._engines[0].state()

    def answered(self, level: int) -> NDArray[np.bool_] | None:
        return self._engines[0].answered(level)

    def first_separating(self, questions: Questions, progress: CountHook | None = None) -> Answers:
        return self._engines[0].first_separating(questions, progress)

    def count_separating(self, questions: Questions) -> Counts:
        return self._engines[0].count_separating(questions)


def on_devices(devices: Any, engine_on: Callable[[int], GpuEngine]) -> Engine:
    """The engine on the devices that the option `devices` names; `engine_on` makes the engine of a single device.

    Raises ValueError if `devices` is neither "all" nor a list of different numbers from 0 on. EngineError if one of
    them cannot be used.
    """
    if isinstance(devices, str) and devices == "all":
        import cupy

        numbers = list(range(cupy.cuda.runtime.getDeviceCount()))
    else:
        numbers = list(devices) if isinstance(devices, Sequence) and not isinstance(devices, str) else []
        whole = all(isinstance(i, int) and not isinstance(i, bool) and i >= 0 for i in numbers)
        if not numbers or not whole or len(set(numbers)) < len(numbers):
            raise ValueError(f"devices must be 'all' or a list of different numbers from 0 on, got {devices!r}")
    engines = [engine_on(i) for i in numbers]
    return DevicesEngine(engines) if len(engines) > 1 else engines[0]
