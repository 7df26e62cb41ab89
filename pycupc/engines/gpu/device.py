"""One CUDA device: its kernels, streams, tables and scratch memory, kept between runs, and work on it."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.kernels import Kernels
from pycupc.engines.gpu.structures import Binomials, Graph
from pycupc.engines.gpu.transfers import Piece, Scratch, Transfers
from pycupc.engines.protocol import EngineError
from pycupc.engines.subsets import TOO_MANY, binomial_table
from pycupc.system.localised_message import Message, Setting
from pycupc.system.machine import gpu_works


class Device:
    """The memory and the kernels that one thread keeps on one device between runs. Use it inside a `session`.

    Runs in two threads have nothing in common but the compiled kernels, so they can use the device at the same time.
    """

    def __init__(self, index: int) -> None:
        import cupy as cp

        self.cp = cp
        self.index = index
        with cp.cuda.Device(index):
            properties = cp.cuda.runtime.getDeviceProperties(index)
            self.name: str = properties["name"].decode()
            self.processors = int(properties["multiProcessorCount"])
            self.shared_block = int(properties["sharedMemPerBlockOptin"])
            self.stream = cp.cuda.Stream(non_blocking=True)
            self.side = [cp.cuda.Stream(non_blocking=True) for _ in range(6)]
            self._signals = cp.cuda.Stream(non_blocking=True)  # for copies that must not wait for running kernels
            self._done = cp.cuda.Event(disable_timing=True)
            self.copies = cp.cuda.Stream(non_blocking=True)  # for copies of results while the next level runs
            self._answer = cp.cuda.alloc_pinned_memory(4096)
            self._locked = cp.cuda.alloc_pinned_memory(4096)
            self._words = np.frombuffer(self._locked, dtype=np.int32, count=1024)
            self._words[:2] = (0, 1)  # the values of the stop flag, to copy from; `peek` uses the words behind
            self.stop = cp.zeros(1, dtype=np.int32)  # in device memory, since kernels poll it for every work item
            cp.cuda.runtime.deviceSynchronize()
        self.kernels = _kernels(index)
        self.transfers = Transfers(cp, self.stream)
        self.scratch = Scratch(cp)
        self.lock = threading.RLock()
        self.tick: Callable[[], None] | None = None  # called at times while the host waits in a level
        self._binom: Any = None
        self._tables: dict[int, Any] = {}

    def free_memory(self, enough: int = 1 << 62) -> int:
        """Bytes that can be allocated in CuPy's pool, and beyond if it has fewer than `enough`: the driver is slow."""
        with self.cp.cuda.Device(self.index):
            held = int(self.cp.get_default_memory_pool().free_bytes())
            if held >= enough:
                return held
            free, _ = self.cp.cuda.runtime.memGetInfo()
            return int(free) + held

    def launch(
        self, file: str, name: str, grid: tuple[int, ...], block: tuple[int, ...], args: Sequence[Any], shared: int = 0
    ) -> None:
        """Launch a kernel on the main stream."""
        rows = isinstance(args[0], Graph) and args[0].in_rows
        self.kernels.get(file, name, rows)(grid, block, args, stream=self.stream.ptr, shared=shared)

    def product(self, A: Any, B: Any, out: Any, scale: float = 1.0, keep: float = 0.0) -> None:
        """Write scale A B + keep `out` to `out`, for m matrices float64 each (m, rows, columns), on the current stream.

        A and B may be transposed, and all may be parts of larger matrices: nothing is copied, unlike by CuPy's ``@``.
        """
        cublas, coefficients = self.cp.cuda.cublas, np.array([scale, keep])
        (m, rows, columns), at = out.shape, coefficients.ctypes.data
        (b_transposed, b), (a_transposed, a), (_, c) = map(_layout, (B, A, out))  # cuBLAS counts by columns
        cublas.dgemmStridedBatched(
            self.cp.cuda.get_cublas_handle(), b_transposed, a_transposed, columns, rows, A.shape[2],
            at, *b, *a, at + 8, *c, m,
        )  # fmt: skip

    def blocks(self, work: int) -> int:
        """The number of blocks of 256 threads for `work` elements, for a kernel that takes any number of blocks."""
        return max(1, min(8 * self.processors, -(-work // 256)))

    @property
    def answer(self) -> int:
        """Address of page-locked memory, 4096 bytes, to which a kernel writes its answer."""
        return int(self._answer.ptr)

    def wait(self) -> None:
        """Wait for the main stream, and call `tick` at times. Ctrl-C works: it stops running kernels."""
        done = self._done
        done.record(self.stream)
        began = ticked = time.perf_counter()
        try:
            while not done.done:
                now = time.perf_counter()
                if now - began > 0.02:
                    time.sleep(0.0002)
                if self.tick is not None and now - ticked > device_tuning.TICK:
                    ticked = now
                    self.tick()
        except BaseException:
            self.stop_kernels()
            raise

    def fetch(self, *pieces: Piece) -> list[NDArray[Any]]:
        """Copies of pieces of device memory, after a wait."""
        out = self.transfers.download(*pieces)
        self.wait()
        return out

    def peek(self, address: int, nbytes: int) -> bytes:
        """Read at most 4000 bytes of device memory while kernels run."""
        target = int(self._locked.ptr) + 64
        self.cp.cuda.runtime.memcpyAsync(target, address, nbytes, 2, self._signals.ptr)
        self._signals.synchronize()
        return self._words[16:].tobytes()[:nbytes]

    def stop_kernels(self) -> None:
        """Set the stop flag, which kernels poll, by a copy: a kernel would wait; clear it once they have returned."""
        copy, order = self.cp.cuda.runtime.memcpyAsync, int(self._locked.ptr)
        try:
            copy(self.stop.data.ptr, order + 4, 4, 1, self._signals.ptr)
            self.stream.synchronize()
        finally:  # also after another Ctrl-C, else all later kernels would return at once
            self.stream.synchronize()
            copy(self.stop.data.ptr, order, 4, 1, self._signals.ptr)
            self._signals.synchronize()

    def binomials(self, n: int, columns: int) -> Binomials:
        """Table of C(m, k) for m <= n and k < columns, at least."""
        rows, stride = self._binom.shape if self._binom is not None else (0, 0)
        if stride <= n or rows < columns:
            rows, stride = max(columns + 8, 24), max(n + 1, stride)
            table = np.minimum(binomial_table(stride - 1, rows - 1).T, TOO_MANY)
            self._binom = self.transfers.copied(table.astype(np.uint64))
        return Binomials(self._binom.data.ptr, stride)

    def subsets(self, size: int, n: int) -> Any:
        """The `size`-subsets of range(n), colexicographic, a byte per member, uint32; one `n` for each `size`.

        In this order, the subsets of range(m) are the first ones.
        """
        if size not in self._tables:
            table = np.arange(n, dtype=np.uint32)
            for j in range(1, size):
                table = np.concatenate([table[: comb(top, j)] | np.uint32(top << 8 * j) for top in range(n)])
            self._tables[size] = self.transfers.copied(table)
        return self._tables[size]


def _layout(matrices: Any) -> tuple[int, tuple[int, int, int]]:
    """Whether matrices (m, rows, columns) are transposed; their address, and the numbers between rows and matrices."""
    each, by_row, by_column = (step // 8 for step in matrices.strides)
    transposed = by_column != 1
    return int(transposed), (matrices.data.ptr, by_column if transposed else by_row, each)


@contextlib.contextmanager
def session(dev: Device, release: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Makes a device and its stream current. Any error but Ctrl-C calls `release`; CUDA's become an `EngineError`."""
    cp = dev.cp
    with dev.lock, cp.cuda.Device(dev.index), dev.stream:
        try:
            yield
        except KeyboardInterrupt:  # the levels that had finished can still be read
            raise
        except BaseException as error:
            release()
            cp.get_default_memory_pool().free_all_blocks()
            cp.get_default_pinned_memory_pool().free_all_blocks()
            if isinstance(error, cp.cuda.memory.OutOfMemoryError):
                text = "out of device memory on {device}: {error}; use fewer variables or {cpu}"
                cpu = Setting("engine", "cpu")
                raise EngineError(Message(text, device=dev.name, error=str(error), cpu=cpu)) from error
            if isinstance(error, (cp.cuda.runtime.CUDARuntimeError, cp.cuda.driver.CUDADriverError)):
                raise EngineError(f"the GPU engine failed on {dev.name}: {error}") from error
            raise


@functools.cache
def _kernels(index: int) -> Kernels:
    import cupy as cp

    return Kernels(cp, index)


class _OwnedDevice:
    """A device with one owner, a thread or a borrower. When the owner ends, the next owner gets it with its memory."""

    free: ClassVar[dict[int, list[Device]]] = {}

    def __init__(self, index: int) -> None:
        waiting = self.free.setdefault(index, [])
        self.device = waiting.pop() if waiting else Device(index)

    def __del__(self, free: dict[int, list[Device]] = free) -> None:
        with contextlib.suppress(AttributeError):  # there is no device if it failed to start
            free[self.device.index].append(self.device)


_of_thread = threading.local()  # its `devices`, by number


def open_device(index: int) -> Device:
    """This thread's `Device` for the CUDA device with this number; EngineError says why there is none that works."""
    devices: dict[int, _OwnedDevice] = vars(_of_thread).setdefault("devices", {})
    if index not in devices:
        devices[index] = _own(index)
    return devices[index].device


@contextlib.contextmanager
def borrowed_device(index: int) -> Iterator[Device]:
    """A `Device` that is not this thread's own, on which a run may be under way; errors as of `open_device`."""
    owned = _own(index)  # which gives the device back when it goes
    yield owned.device


def _own(index: int) -> _OwnedDevice:
    works, why = gpu_works(index)
    if not works:
        cpu = Setting("engine", "cpu")
        raise EngineError(Message("the GPU engine cannot run: {why}; or use {cpu}", why=why, cpu=cpu))
    try:
        return _OwnedDevice(index)
    except Exception as error:
        raise EngineError(f"the GPU engine cannot run: CUDA device {index} failed to start: {error}") from error
