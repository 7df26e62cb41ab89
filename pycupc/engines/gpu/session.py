"""Is there a device, and working on it: what can go wrong becomes an `EngineError`, and memory goes back."""

from __future__ import annotations

from typing import Any

from pycupc.engines import EngineError
from pycupc.engines.gpu.launch import Device, device


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


_working: dict[int, str] = {}


def probe(index: int = 0) -> tuple[bool, str]:
    """Whether the GPU engine can run here, and why or why not. Cheap, never raises; a yes is remembered."""
    if index not in _working:
        works, why = _probe(index)
        if not works:
            return False, why
        _working[index] = why
    return True, _working[index]


def _probe(index: int) -> tuple[bool, str]:
    try:
        import cupy as cp
    except Exception as error:
        return False, f"CuPy cannot be imported ({type(error).__name__}: {error}); install pycupc[cuda12] or [cuda13]"
    try:
        count = cp.cuda.runtime.getDeviceCount()
    except Exception as error:
        return False, f"no CUDA device or a driver too old for this CuPy ({error}); check nvidia-smi"
    if not 0 <= index < count:
        return False, f"CUDA device {index} does not exist; {count} found"
    try:
        from cupy.cuda import nvrtc

        version = nvrtc.getVersion()
    except Exception as error:
        return False, f"NVRTC, CUDA's run-time compiler, does not load ({error}); install nvidia-cuda-nvrtc"
    try:
        properties = cp.cuda.runtime.getDeviceProperties(index)
    except Exception as error:
        return False, f"CUDA device {index} does not answer ({error})"
    major, minor = int(properties["major"]), int(properties["minor"])
    if major < 7:
        return False, f"CUDA device {index} has compute capability {major}.{minor}; 7.0 or newer is needed"
    nvrtc_version = ".".join(map(str, version))
    return True, f"{properties['name'].decode()}, compute capability {major}.{minor}, NVRTC {nvrtc_version}"


def open_device(index: int) -> Device:
    """The device, or an EngineError that says why not."""
    works, why = probe(index)
    if not works:
        raise EngineError(f"the GPU engine cannot run: {why}; or use engine='cpu'")
    try:
        return device(index)
    except Exception as error:
        raise EngineError(f"the GPU engine cannot run: CUDA device {index} failed to start: {error}") from error
