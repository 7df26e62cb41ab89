"""Compiling and launching the CUDA kernels of `kernels/`."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import logging
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pycupc.engines.gpu import device_tuning
from pycupc.engines.protocol import EngineError
from pycupc.system.limits import NoThreadError, start
from pycupc.system.machine import available_cores, run_in_threads

_PACKAGE = Path(__file__).resolve().parents[2]
#: In a wheel the kernels lie inside the package, in a checkout beside it.
KERNEL_DIR = next((d for d in (_PACKAGE / "kernels", _PACKAGE.parent / "kernels") if d.is_dir()), _PACKAGE / "kernels")

#: A kernel: its file below `KERNEL_DIR`, without ".cu", and its name with template arguments.
KernelName = tuple[str, str]

logger = logging.getLogger("pycupc")


#: Files whose kernels are compiled once more, with the macro ROW_MATRICES, for a graph with a matrix for each row.
WITH_ROW_MATRICES = {
    *("graph/removals", "graph/share", "schur/sets", "schur/tiles"),
    *("pruning/decided", "pruning/delta", "pruning/search_pairs", "pruning/bounded_walk"),
}


@functools.cache
def source_options() -> tuple[str, ...]:
    """NVRTC options common to all kernels. CuPy's cache key ignores included files, so their hash is one of them."""
    headers = b"".join(f.read_bytes() for f in sorted(KERNEL_DIR.rglob("*.cuh")))
    stamp = hashlib.sha256(headers).hexdigest()[:12]
    return ("-std=c++17", "--fmad=false", f"-I{KERNEL_DIR}", f"-DPYCUPC_HEADERS=0x{stamp}")


class Kernel:
    """One compiled kernel on one device."""

    def __init__(self, function: Any, driver: Any) -> None:
        self._raw = function  # keeps the module loaded
        self._address = function.kernel.ptr
        self._driver = driver
        self._shared_limit = 48 * 1024 - int(function.shared_size_bytes)  # dynamic bytes that need no permission
        self._blocks: dict[tuple[int, int], int] = {}
        self._lock = threading.Lock()

    def allow_shared(self, nbytes: int) -> None:
        if nbytes > self._shared_limit:
            with self._lock:
                nbytes = max(nbytes, self._shared_limit)
                self._raw.max_dynamic_shared_size_bytes = nbytes
                self._shared_limit = nbytes

    def blocks_per_processor(self, block: int, shared: int) -> int:
        """Blocks, at least 1, of `block` threads and `shared` bytes of dynamic memory that fit one multiprocessor."""
        key = (block, shared)
        if key not in self._blocks:
            self.allow_shared(shared)
            most = self._driver.occupancyMaxActiveBlocksPerMultiprocessor(self._address, block, shared)
            self._blocks[key] = max(1, int(most))
        return self._blocks[key]

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        *,
        stream: int,
        shared: int = 0,
        cooperative: bool = False,
    ) -> None:
        """Launch the kernel.

        `args` are ctypes values and structures in the order of the kernel's parameters; `stream` is the address of a
        stream; `shared` is the dynamic shared memory per block in bytes. With `cooperative`, blocks may wait for each
        other, so all of them must be resident at once.
        """
        if shared:
            self.allow_shared(shared)
        addresses = (ctypes.c_void_p * len(args))(*[ctypes.addressof(a) for a in args])
        gx, gy, gz = (*grid, 1, 1)[:3]
        bx, by, bz = (*block, 1, 1)[:3]
        geometry = (self._address, gx, gy, gz, bx, by, bz, shared, stream, ctypes.addressof(addresses))
        if cooperative:
            self._driver.launchCooperativeKernel(*geometry)
        else:
            self._driver.launchKernel(*geometry, 0)


#: A kernel, and whether it is for a graph with a matrix for each row.
_Key = tuple[str, str, bool]
#: A compiled file: its name, the kernel with template arguments that it is compiled for or "", and as above.
_ModuleKey = tuple[str, str, bool]


class Kernels:
    """The kernels that this process has loaded on the device `index`. CuPy keeps compiled kernels on disk.

    Several are compiled side by side: NVRTC needs neither the interpreter's lock nor the device.
    """

    def __init__(self, cp: Any, index: int) -> None:
        self._cp, self._index = cp, index
        self._locks: dict[_ModuleKey, threading.Lock] = {}
        self._modules: dict[_ModuleKey, Any] = {}
        self._ahead: list[threading.Thread] = []
        self.loaded: dict[_Key, Kernel] = {}

    def get(self, file: str, name: str, rows: bool = False) -> Kernel:
        """Kernel `name` of `file`, loaded at its first use; EngineError if it cannot be read or does not compile.

        `rows`: whether it is for a graph with a matrix for each row.
        """
        return self.loaded.get(key := _key(file, name, rows)) or self._load_once(key)

    def missing(self, wanted: Iterable[KernelName], rows: bool) -> list[KernelName]:
        """The `wanted` kernels that are not loaded yet."""
        return [kernel for kernel in wanted if _key(*kernel, rows) not in self.loaded]

    def load(self, wanted: Iterable[KernelName], rows: bool, notice: str) -> None:
        """Load kernels; `notice` is logged if that takes so long that they must be compiling."""
        timer = threading.Timer(device_tuning.NOTICE_AFTER, logger.info, args=(notice,))
        timer.daemon = True
        timer.start()
        try:
            modules = self._by_module(wanted, rows)
            run_in_threads(self._load_all, modules, min(len(modules), available_cores()) or 1)
        finally:
            timer.cancel()

    def load_ahead(self, wanted: Iterable[KernelName], rows: bool) -> None:
        """Begin to load kernels that are likely to be needed soon, each file in a thread of its own, and return.

        Whoever needs one of them waits for its thread, and reports its failure. The end of the program waits as well:
        the compiler must not run while its library is taken down.
        """
        for keys in self._by_module(wanted, rows):
            if _module_key(*keys[0]) not in self._locks:
                with contextlib.suppress(NoThreadError):  # then it is loaded when it is needed
                    start(thread := threading.Thread(target=self._try, args=(keys,)))
                    self._ahead.append(thread)

    @property
    def loading_ahead(self) -> bool:
        """Whether threads still load kernels, so that this process is among the first that need them."""
        self._ahead = [thread for thread in self._ahead if thread.is_alive()]
        return bool(self._ahead)

    def _by_module(self, wanted: Iterable[KernelName], rows: bool) -> list[list[_Key]]:
        """The keys of the `wanted` kernels that are not loaded, those of the same compiled file together."""
        of_module: dict[_ModuleKey, list[_Key]] = {}
        for kernel in self.missing(wanted, rows):
            of_module.setdefault(_module_key(*(key := _key(*kernel, rows))), []).append(key)
        return list(of_module.values())

    def _try(self, keys: Sequence[_Key]) -> None:
        with contextlib.suppress(Exception):  # raised again where the kernel is needed
            self._load_all(keys)

    def _load_all(self, keys: Sequence[_Key]) -> None:
        for key in keys:
            self._load_once(key)

    def _load_once(self, key: _Key) -> Kernel:
        """Load a kernel, or wait for the thread that compiles its file."""
        with self._locks.setdefault(_module_key(*key), threading.Lock()):
            if (kernel := self.loaded.get(key)) is None:
                with self._cp.cuda.Device(self._index):
                    kernel = self.loaded[key] = self._load(*key)
        return kernel

    def _load(self, file: str, name: str, rows: bool) -> Kernel:
        source, key = KERNEL_DIR / f"{file}.cu", _module_key(file, name, rows)
        try:
            if (module := self._modules.get(key)) is None:
                code, options = source.read_text(encoding="utf-8"), source_options()
                options = (*options, "-DROW_MATRICES") if rows else options
                expressions = (name,) if key[1] else None
                module = self._modules[key] = self._cp.RawModule(
                    code=code, options=options, name_expressions=expressions
                )
            return Kernel(module.get_function(name), self._cp.cuda.driver)
        except OSError as error:
            raise EngineError(f"kernel file {source} cannot be read: {error}") from error
        except self._cp.cuda.compiler.CompileException as error:
            raise EngineError(f"kernel {name} of {source.name} does not compile here: {error}") from error


def _key(file: str, name: str, rows: bool) -> _Key:
    return file, name, rows and file in WITH_ROW_MATRICES


def _module_key(file: str, name: str, rows: bool) -> _ModuleKey:
    """Kernels without template arguments are compiled together, with their file."""
    return file, name if "<" in name else "", rows
