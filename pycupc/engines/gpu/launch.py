"""Compile, cache and launch the kernels; what one device keeps between runs."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from pycupc.engines.base import EngineError

_PACKAGE = Path(__file__).resolve().parents[2]
KERNEL_DIR = next((d for d in (_PACKAGE / "kernels", _PACKAGE.parent / "kernels") if d.is_dir()), _PACKAGE / "kernels")

#: Staging memory for copies from the host: CHUNK bytes a slot, SLOTS slots, page-locked, kept between runs.
CHUNK, SLOTS = 4 << 20, 32
#: Up to this many bytes one thread is as fast (kernels/NOTES.md).
DIRECT = 32 << 20


class Graph(ctypes.Structure):
    """struct Graph of kernels/engine.cuh."""

    _fields_ = [(f, ctypes.c_void_p) for f in ("C", "G", "start", "column", "source", "best", "least")] + [
        ("p", ctypes.c_longlong)
    ]


class Level(ctypes.Structure):
    """struct Level of kernels/engine.cuh."""

    _fields_ = (
        [(f, ctypes.c_void_p) for f in ("binom", "careful", "work", "stop")]
        + [(f, ctypes.c_double) for f in ("cutoff", "sure_in", "sure_out")]
        + [(f, ctypes.c_int) for f in ("stride", "level", "lanes")]
    )


class Queue(ctypes.Structure):
    """struct Queue of kernels/engine.cuh."""

    _fields_ = [(f, ctypes.c_void_p) for f in ("offsets", "chunk", "next")] + [
        (f, ctypes.c_int) for f in ("phases", "p")
    ]


def i32(v: int) -> ctypes.c_int:
    return ctypes.c_int(v)


def i64(v: int) -> ctypes.c_longlong:
    return ctypes.c_longlong(v)


def f64(v: float) -> ctypes.c_double:
    return ctypes.c_double(v)


def ptr(array: Any) -> ctypes.c_void_p:
    """Address of a device array (or an address), or null for None."""
    return ctypes.c_void_p(array if array is None or isinstance(array, int) else array.data.ptr)


@functools.cache
def source_options() -> tuple[str, ...]:
    """NVRTC options common to all kernels. CuPy's cache key ignores headers, so their hash is one of them."""
    headers = b"".join(f.read_bytes() for f in sorted(KERNEL_DIR.glob("*.cuh")))
    stamp = hashlib.sha256(headers).hexdigest()[:12]
    return ("-std=c++17", "--fmad=false", f"-I{KERNEL_DIR}", f"-DPYCUPC_HEADERS=0x{stamp}")


class Kernel:
    """One compiled kernel on one device."""

    def __init__(self, function: Any, driver: Any) -> None:
        self._raw = function  # keeps the module loaded
        self._address = function.kernel.ptr
        self._driver = driver
        self._shared_limit = 48 * 1024
        self._blocks: dict[tuple[int, int], int] = {}

    def allow_shared(self, nbytes: int) -> None:
        if nbytes > self._shared_limit:
            self._raw.max_dynamic_shared_size_bytes = nbytes
            self._shared_limit = nbytes

    def blocks_per_processor(self, block: int, shared: int) -> int:
        """Blocks of this size that fit one multiprocessor."""
        key = (block, shared)
        if key not in self._blocks:
            self.allow_shared(shared)
            self._blocks[key] = self._driver.occupancyMaxActiveBlocksPerMultiprocessor(self._address, block, shared)
        return self._blocks[key]

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], args: tuple, *, stream: int, shared: int = 0
    ) -> None:
        """Launch; `args` are ctypes values and structures in the order of the kernel's parameters."""
        if shared:
            self.allow_shared(shared)
        addresses = (ctypes.c_void_p * len(args))(*[ctypes.addressof(a) for a in args])
        gx, gy, gz = (*grid, 1, 1)[:3]
        bx, by, bz = (*block, 1, 1)[:3]
        self._driver.launchKernel(self._address, gx, gy, gz, bx, by, bz, shared, stream, ctypes.addressof(addresses), 0)


class Scratch:
    """Device memory for one level, handed out by address and taken back all at once."""

    def __init__(self, cp: Any) -> None:
        self._cp = cp
        self._blocks: list[Any] = []
        self._used = self._peak = 0

    def reset(self) -> None:
        """Everything handed out is free again; one block then holds what the largest level needed."""
        if len(self._blocks) > 1:
            self._blocks = []
            self._blocks = [self._cp.empty(self._peak + self._peak // 4, dtype=np.uint8)]
        self._used = self._peak = 0

    @property
    def size(self) -> int:
        return sum(b.nbytes for b in self._blocks)

    def release(self) -> None:
        self._blocks, self._used, self._peak = [], 0, 0

    def take(self, nbytes: int) -> int:
        """Address of `nbytes` bytes, 256-byte aligned."""
        nbytes = -(-max(1, nbytes) // 256) * 256
        self._peak += nbytes
        if not self._blocks or self._used + nbytes > self._blocks[-1].nbytes:
            self._blocks.append(self._cp.empty(max(nbytes, 8 << 20), dtype=np.uint8))
            self._used = 0
        address = self._blocks[-1].data.ptr + self._used
        self._used += nbytes
        return address


class Device:
    """What one card keeps between runs: compiled kernels, streams, tables, staging memory."""

    def __init__(self, index: int) -> None:
        import cupy as cp

        self.cp = cp
        self.index = index
        self.driver = cp.cuda.driver
        with cp.cuda.Device(index):
            properties = cp.cuda.runtime.getDeviceProperties(index)
            self.name = properties["name"].decode()
            self.processors = int(properties["multiProcessorCount"])
            self.shared_block = int(properties["sharedMemPerBlockOptin"])
            self.stream = cp.cuda.Stream(non_blocking=True)
            self.side = [cp.cuda.Stream(non_blocking=True) for _ in range(6)]
            self._halt = cp.cuda.Stream(non_blocking=True)
            self._orders = cp.cuda.alloc_pinned_memory(8)
            np.frombuffer(self._orders, dtype=np.int32, count=2)[:] = (0, 1)
            self.stop = cp.zeros(1, dtype=np.int32)  # in device memory: kernels poll it at every item of work
            cp.cuda.runtime.deviceSynchronize()
        self._kernels: dict[str, Kernel] = {}
        self._binom: tuple[Any, int, int] | None = None
        self._tables: dict[int, Any] = {}
        self._staging: Any = None
        self.scratch = Scratch(cp)
        self.lock = threading.RLock()

    def ask_to_stop(self) -> None:
        """Make running kernels leave at their next item, wait for them, and be ready for the next run."""
        # A copy, not a kernel: running kernels may hold every register of the device.
        copy, order = self.cp.cuda.runtime.memcpyAsync, int(self._orders.ptr)
        copy(self.stop.data.ptr, order + 4, 4, 1, self._halt.ptr)
        self.stream.synchronize()
        copy(self.stop.data.ptr, order, 4, 1, self._halt.ptr)
        self._halt.synchronize()

    def kernel(self, file: str, name: str) -> Kernel:
        """Kernel `name` of kernels/`file`.cu, compiled at its first use on this machine, then from CuPy's cache."""
        key = f"{file}:{name}"
        if key not in self._kernels:
            source = KERNEL_DIR / f"{file}.cu"
            try:
                code = source.read_text(encoding="utf-8")
                expressions = (name,) if "<" in name else None
                module = self.cp.RawModule(code=code, options=source_options(), name_expressions=expressions)
                self._kernels[key] = Kernel(module.get_function(name), self.driver)
            except OSError as error:
                raise EngineError(f"kernel file {source} cannot be read: {error}") from error
            except self.cp.cuda.compiler.CompileException as error:
                raise EngineError(f"kernel {name} of {source.name} does not compile here: {error}") from error
        return self._kernels[key]

    def binomials(self, p: int, columns: int) -> tuple[Any, int]:
        """Device table of C(n, k), n <= p, k < columns at least; its stride."""
        if self._binom is None or self._binom[1] < p + 1 or self._binom[2] < columns:
            stride = max(p + 1, self._binom[1] if self._binom else 0)
            count = max(columns + 8, 24)
            table = self.cp.empty((count, stride), dtype=np.uint64)
            args = (ptr(table), i32(stride), i32(0), i32(count))
            self.kernel("queue", "binomial_table")((-(-stride // 128),), (128,), args, stream=self.stream.ptr)
            self._binom = (table, stride, count)
        return self._binom[0], self._binom[1]

    def subsets(self, size: int, n: int) -> Any:
        """Device table of the `size`-subsets of range(n), colexicographic, one byte a member."""
        from math import comb

        if size not in self._tables:
            entries = comb(n, size)
            table = self.cp.empty(entries, dtype=np.uint32)
            args = (ptr(table), i32(size), i32(n), ctypes.c_uint(entries))
            self.kernel("queue", "subset_table")((-(-entries // 128),), (128,), args, stream=self.stream.ptr)
            self._tables[size] = table
        return self._tables[size]

    def upload(self, array: np.ndarray, out: Any) -> None:
        """Copy a C-contiguous host array to device memory through page-locked staging, several threads copying."""
        source = array.reshape(-1).view(np.uint8)
        total = source.size
        runtime = self.cp.cuda.runtime
        if total <= DIRECT:  # CUDA's own staging is as fast
            runtime.memcpyAsync(out.data.ptr, array.ctypes.data, total, 1, self.stream.ptr)
            return
        if self._staging is None:
            memory = self.cp.cuda.alloc_pinned_memory(CHUNK * SLOTS)
            self._staging = (memory, np.frombuffer(memory, dtype=np.uint8, count=CHUNK * SLOTS), int(memory.ptr))
        _, view, address = self._staging
        self.stream.synchronize()  # staging of an earlier upload is free now
        for start in range(0, total, CHUNK * SLOTS):
            stop = min(total, start + CHUNK * SLOTS)
            size = min(CHUNK, -(-(stop - start) // 16))
            pieces = [(a, min(a + size, stop)) for a in range(start, stop, size)]

            def stage(piece: tuple[int, int], start: int = start) -> tuple[int, int]:
                a, b = piece
                np.copyto(view[a - start : b - start], source[a:b])
                return piece

            moved = map(stage, pieces) if len(pieces) == 1 else copiers().map(stage, pieces)
            for a, b in moved:
                runtime.memcpyAsync(out.data.ptr + a, address + a - start, b - a, 1, self.stream.ptr)
            if stop < total:
                self.stream.synchronize()

    def download(self, *pieces: tuple[int, Any, tuple[int, ...]]) -> list[np.ndarray]:
        """Start copying device memory to the host: (address, dtype, shape) each. Wait before reading.

        The arrays share one page-locked block of CuPy's pool, which takes it back when the last of them is gone.
        """
        sizes = [-(-int(np.prod(shape)) * np.dtype(dtype).itemsize // 64) * 64 for _, dtype, shape in pieces]
        total = sum(sizes)
        if total > 2 << 30:  # too much to lock
            memory = np.empty(total, dtype=np.uint8)
            address = memory.ctypes.data
        else:
            memory = self.cp.cuda.alloc_pinned_memory(max(total, 64))
            address = int(memory.ptr)
        out, offset = [], 0
        for (source, dtype, shape), size in zip(pieces, sizes, strict=True):
            count = int(np.prod(shape))
            if count:
                nbytes = count * np.dtype(dtype).itemsize
                self.cp.cuda.runtime.memcpyAsync(address + offset, source, nbytes, 2, self.stream.ptr)
            out.append(np.frombuffer(memory, dtype=dtype, count=count, offset=offset).reshape(shape))
            offset += size
        return out


@functools.cache
def copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=max(1, min(4, os.cpu_count() or 1)), thread_name_prefix="pycupc-copy")


@functools.cache
def device(index: int) -> Device:
    """The one `Device` of a card in this process."""
    return Device(index)
