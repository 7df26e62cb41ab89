"""Is there a device, and working on it: what can go wrong becomes an `EngineError`, and memory goes back."""

from __future__ import annotations

from typing import Any

from pycupc.engines.base import EngineError
from pycupc.engines.gpu.launch import Device, device
from pycupc.machine import gpu_works


class Session:
    """Device and stream of an engine made current; CUDA's errors become ours, and a failure releases device memory."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def __enter__(self) -> None:
        dev = self.engine._dev
        dev.lock.acquire()
        self._device = dev.cp.cuda.Device(dev.index)
        self._device.__enter__()
        dev.stream.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        dev = self.engine._dev
        cp = dev.cp
        dev.stream.__exit__(kind, error, trace)
        self._device.__exit__(kind, error, trace)
        dev.lock.release()
        if error is None or isinstance(error, KeyboardInterrupt):
            return  # interrupted: the levels that had finished can still be read
        self.engine.close()
        release(cp)
        if isinstance(error, cp.cuda.memory.OutOfMemoryError):
            remedy = "use fewer variables or engine='cpu'"
            raise EngineError(f"out of device memory on {dev.name}: {error}; {remedy}") from error
        if isinstance(error, (cp.cuda.runtime.CUDARuntimeError, cp.cuda.driver.CUDADriverError)):
            raise EngineError(f"the GPU engine failed on {dev.name}: {error}") from error


def release(cp: Any) -> None:
    """Give unused pooled memory back to the device."""
    cp.get_default_memory_pool().free_all_blocks()
    cp.get_default_pinned_memory_pool().free_all_blocks()


def open_device(index: int) -> Device:
    """The device, or an EngineError that says why not."""
    works, why = gpu_works(index)
    if not works:
        raise EngineError(f"the GPU engine cannot run: {why}; or use engine='cpu'")
    try:
        return device(index)
    except Exception as error:
        raise EngineError(f"the GPU engine cannot run: CUDA device {index} failed to start: {error}") from error
