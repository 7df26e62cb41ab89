"""What this machine has: cores, memory, and a GPU that works or the reason why it does not."""

from __future__ import annotations

import importlib.util
import os


def available_cores() -> int:
    """Cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        return os.cpu_count() or 1


def free_memory() -> int:
    """Bytes of memory that can be had without swapping; a large number where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        try:
            return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            return 2**62


_working: dict[int, str] = {}


def gpu_works(index: int = 0) -> tuple[bool, str]:
    """Whether the GPU engine can run here, and why or why not. Cheap, never raises; a yes is remembered."""
    if index not in _working:
        if importlib.util.find_spec("cupy") is None:
            return False, "CuPy is not installed (pip install 'pycupc[gpu]')"
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
