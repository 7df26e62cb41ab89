"""This machine: its cores and work on them, its memory, its processor, and whether the GPU engines can run on it."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from pycupc.system.caches import set_environment
from pycupc.system.limits import left_of_address_space, start_another
from pycupc.system.localised_message import Message, Words
from pycupc.system.progress import CountHook

if TYPE_CHECKING:
    from concurrent.futures import Future

#: Distributions of CuPy, of which a machine needs exactly one.
CUPY = ("cupy-cuda12x", "cupy-cuda13x", "cupy")

_INSTALL = Words(
    "pip install 'pycupc[gpu]' for an NVIDIA driver of CUDA 12, 'pycupc[gpu13]' for one of CUDA 13",
    'cu_install(source, gpu = "gpu") for an NVIDIA driver of CUDA 12, gpu = "gpu13" for one of CUDA 13',
)
_FORKED = Message(
    "the GPU was used before this process was forked, and CUDA works in no fork; {remedy}",
    remedy=Words(
        "start processes anew (multiprocessing's method 'spawn' or 'forkserver')",
        'use new R processes (parallel::makeCluster(), future::plan("multisession"))',
    ),
)
#: The library of NVIDIA's driver, by system; there is none for others.
_DRIVERS = {"linux": "libcuda.so.1", "win32": "nvcuda.dll"}
_CHECK_DRIVER = "check with nvidia-smi that the driver works and finds the GPU"
#: Bytes for whose sake the free memory is not looked up, which takes a tenth of a millisecond.
SURELY_FREE = 1 << 30
_PROC, _CGROUP = Path("/proc"), Path("/sys/fs/cgroup")

#: Threads that have asked for `single_products`, and the functions and numbers that end it.
_single, _before, _switching = 0, list[tuple[Any, int]](), threading.Lock()

Item = TypeVar("Item")
Result = TypeVar("Result")


def available_cores() -> int:
    """The number of cores that this process may use; a granted share of processor time is rounded up to whole cores."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows
        cores = os.cpu_count() or 1
    return min(cores, _cores_of_groups())


def in_threads(work: Callable[[Item], Result], items: Iterable[Item], n_threads: int) -> Iterator[Result]:
    """Yield ``work(item)`` for each item, in order. Threads are a few items ahead only: Ctrl-C takes effect soon."""
    if n_threads == 1:
        yield from map(work, items)
        return
    from concurrent.futures import Future

    tasks: SimpleQueue[tuple[Future[Result], Item] | None] = SimpleQueue()
    threads, ahead = list[threading.Thread](), deque[Future[Result]]()

    try:
        for item in items:
            ahead.append(Future())
            tasks.put((ahead[-1], item))
            if len(threads) < n_threads and not start_another(
                threading.Thread(target=_take, args=(tasks, work), daemon=True), threads
            ):
                n_threads = len(threads)
            if len(ahead) >= 2 * n_threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        for future in ahead:
            future.cancel()
        for _ in threads:
            tasks.put(None)
        for thread in threads:
            thread.join()


def _take(tasks: SimpleQueue[tuple[Future[Result], Item] | None], work: Callable[[Item], Result]) -> None:
    """Do the tasks of `in_threads`, until one is None."""
    while (task := tasks.get()) is not None:
        future, item = task
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work(item))
            except BaseException as error:  # raised in the calling thread
                future.set_exception(error)


def run_in_threads(
    work: Callable[[Item], object], items: Iterable[Item], n_threads: int, report: CountHook | None = None, n: int = 0
) -> None:
    """Do work without results as `in_threads` does; after each item, ``report(done, n)`` is called."""
    for done, _ in enumerate(in_threads(work, items, n_threads), start=1):
        if report is not None:
            report(done, n)


@contextlib.contextmanager
def single_products() -> Iterator[None]:
    """Let each thread multiply its matrices alone: NumPy's OpenBLAS, on Linux, uses one thread per product meanwhile.

    Threads of the library wait for each other in every product: on two cores that others use as well, products of 1,024
    by 1,024 took three times as much processor time. Several threads may do this at the same time.
    """
    global _single
    with _switching:
        _single += 1
        if _single == 1:
            _before[:] = [(put, get()) for put, get in _openblas("scipy.linalg" in sys.modules)]
            for put, _ in _before:
                put(1)
    try:
        yield
    finally:
        with _switching:
            _single -= 1
            for put, before in () if _single else _before:
                put(before)


@cache
def _openblas(of_scipy: bool) -> list[tuple[Any, Any]]:
    """For each OpenBLAS that is loaded, also SciPy's if it is: set the number of its threads, and get it."""
    found = []
    with contextlib.suppress(OSError):
        paths = {line.split()[-1] for line in (_PROC / "self/maps").read_text().splitlines() if "openblas" in line}
        for library in map(ctypes.CDLL, paths):
            for prefix, suffix in itertools.product(("scipy_openblas", "openblas"), ("64_", "")):
                with contextlib.suppress(AttributeError):
                    put, get = (getattr(library, f"{prefix}_{verb}_num_threads{suffix}") for verb in ("set", "get"))
                    found.append((put, get))
    return found


def physical_memory() -> int | None:
    """Bytes of memory installed; None where the system does not provide the number."""
    return _pages("SC_PHYS_PAGES")


def free_memory() -> int:
    """Bytes of memory available without swapping; a very large number where the system does not provide it.

    No more than what is left of the limits of the process (``ulimit -v``) and of its control groups (containers, jobs).
    """
    available = _linux_field("/proc/meminfo", "MemAvailable")
    pages = _pages("SC_AVPHYS_PAGES") if available is None else int(available.split()[0]) * 1024
    free = 2**62 if pages is None else pages
    return max(0, min(free, left_of_address_space(), *(_left_of_group(*group) for group in _memory_groups())))


def check_room(p: int, cell: int, what: str) -> None:
    """Raise MemoryError if a matrix (p, p) of `what`, with cells of this many bytes, does not fit free memory."""
    need = cell * p * p
    if need > SURELY_FREE and need > (free := free_memory()):
        raise MemoryError(
            f"{what} of {p:,} variables would take {need / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free; ask for "
            "the edges, single pairs, or a subgraph instead"
        )


def _left_of_group(limit: int, usage: Path) -> int:
    """Bytes left of the limit on the memory of a control group; `usage` is the file of the bytes that it uses."""
    used = _number(usage)
    if used is None:
        return 2**62
    # files in the page cache count as used, and make room when it is needed; "total" is the name in version 1
    names, statistics = ("total_inactive_file", "inactive_file"), str(usage.with_name("memory.stat"))
    cached = next(filter(None, (_linux_field(statistics, name, " ") for name in names)), "0")
    return limit - used + int(cached)


@cache
def _memory_groups() -> tuple[tuple[int, Path], ...]:
    """Limit and file of usage of the control groups of this process, of either version, that limit its memory."""
    found = []
    for folder in _groups("memory"):
        for limit, usage in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            if (most := _number(folder / limit)) is not None and most < 2**60:  # version 1 has a huge number for none
                found.append((most, folder / usage))
    return tuple(found)


@cache
def _cores_of_groups() -> int:
    """Processor time that control groups grant, in whole cores, rounded up; a very large number without a limit."""
    cores = 2**62
    for folder in _groups("cpu"):
        quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        with contextlib.suppress(OSError, ValueError):  # "max 100000" without a limit
            quota, period = map(int, (folder / "cpu.max").read_text().split())
        if quota is not None and period and quota > 0:
            cores = min(cores, -(-quota // period))
    return cores


def _groups(controller: str) -> list[Path]:
    """The folders of this process's control group and of those around it, as far as they can be seen."""
    folders = []
    with contextlib.suppress(OSError, ValueError):
        for line in (_PROC / "self/cgroup").read_text().splitlines():
            number, controllers, path = line.split(":", 2)
            if number == "0" or controller in controllers.split(","):
                # inside a container the path may be the host's; its own group is then at the root
                for root in (
                    (_CGROUP, _CGROUP / "unified") if number == "0" else (_CGROUP / controllers, _CGROUP / controller)
                ):
                    group = root / path.lstrip("/")
                    folders += [f for f in (group, *group.parents) if f.is_relative_to(root) and f.is_dir()]
    return list(dict.fromkeys(folders))


def _number(path: Path) -> int | None:
    """The number in a file of a control group; None without one."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def processor_name() -> str:
    """Name of the processor model, as far as the system knows it."""
    import platform

    return _linux_field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()


def version_of(distribution: str) -> str | None:
    """Version of an installed distribution; None if it is not installed."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def several_cupys() -> Message | None:
    """A message if more than one distribution of CuPy is installed: they overwrite each other's files."""
    names = [name for name in CUPY if version_of(name)]
    text = "{cupys} are installed and overwrite each other; uninstall all of them, then {install}"
    return Message(text, cupys=" and ".join(names), install=_INSTALL) if len(names) > 1 else None


_usable: dict[int, str] = {}
#: The process that found a device usable. CUDA does not work in a process that was forked from it.
_user: int | None = None


def gpu_works(device: int = 0) -> tuple[bool, str]:
    """Whether the GPU engines can run on the CUDA device with this number, and a description of the device.

    If they cannot run, the text is the reason and the remedy. A positive answer is cached.
    """
    global _user
    if _user not in (None, os.getpid()):
        return False, _FORKED
    if device not in _usable:
        try:
            _usable[device], _user = _describe(_import_cupy(), device), os.getpid()
        except _Unusable as reason:
            return False, reason.args[0]
    return True, _usable[device]


def has_driver() -> bool:
    """Whether NVIDIA's driver can be loaded."""
    try:
        ctypes.CDLL(_DRIVERS[sys.platform])
    except (KeyError, OSError):
        return False
    return True


class _Unusable(Exception):
    """The GPU engines cannot run; the message, a template and its facts, names the reason and the remedy."""

    def __init__(self, template: str, **facts: object) -> None:
        super().__init__(Message(template, **facts))


def _import_cupy() -> Any:
    # CuPy, whose import takes a third of a second, is of no use without a driver
    if "cupy" not in sys.modules and not has_driver():
        library = _DRIVERS.get(sys.platform, "its library")
        raise _Unusable(f"no NVIDIA driver: {library} cannot be loaded; {_CHECK_DRIVER}")
    if importlib.util.find_spec("cupy") is None:
        raise _Unusable("CuPy is not installed; {install}", install=_INSTALL)
    set_environment()
    try:
        import cupy
    except Exception as error:
        text, why = "CuPy cannot be imported ({why}); {remedy}", f"{type(error).__name__}: {error}"
        raise _Unusable(text, why=why, remedy=several_cupys() or _INSTALL) from error
    return cupy


def _describe(cupy: Any, device: int) -> str:
    template = f"no CUDA device, or a driver too old for this CuPy ({{why}}); {_CHECK_DRIVER}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
        if not 0 <= device < count:
            raise _Unusable(f"CUDA device {device} does not exist; {count} found, numbered from 0")
        template = "NVRTC, CUDA's run-time compiler, cannot be loaded ({why}); {install}"
        from cupy.cuda import nvrtc

        compiler = ".".join(map(str, nvrtc.getVersion()))
        template = f"CUDA device {device} does not respond ({{why}}); {_CHECK_DRIVER}"
        properties = cupy.cuda.runtime.getDeviceProperties(device)
    except _Unusable:
        raise
    except Exception as error:
        raise _Unusable(template, why=str(error), install=_INSTALL) from error
    major, minor = int(properties["major"]), int(properties["minor"])
    if major < 7:
        raise _Unusable(f"CUDA device {device} has compute capability {major}.{minor}; 7.0 or newer is needed")
    return f"{properties['name'].decode()}, compute capability {major}.{minor}, NVRTC {compiler}"


def _linux_field(path: str, name: str, separator: str = ":") -> str | None:
    """The value in the first line ``name: value`` of a file of the system; None if there is none."""
    try:
        with open(path) as lines:
            return next((line.split(separator, 1)[1].strip() for line in lines if line.startswith(name)), None)
    except OSError:
        return None


def _pages(name: str) -> int | None:
    """A number of memory pages by its sysconf name, in bytes."""
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
