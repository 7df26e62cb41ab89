"""Copies between host and device, and device memory for the length of a level."""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pycupc.engines.gpu import device_tuning

#: Device memory to copy to the host: address, dtype, shape.
Piece = tuple[int, DTypeLike, tuple[int, ...]]


class Transfers:
    """Copies on one stream of one device."""

    def __init__(self, cp: Any, stream: Any) -> None:
        self._cp = cp
        self._stream = stream
        self._copy = cp.cuda.runtime.memcpyAsync
        self._staging: Any = None
        self._filling = False  # whether the staging memory is in use

    def upload(self, array: NDArray[Any], out: Any) -> None:
        """Copy a C-contiguous host array to a device array."""
        with self.uploading(array, out):
            pass

    def copied(self, array: NDArray[Any]) -> Any:
        """A device array with the contents of a host array."""
        out = self._cp.empty(array.shape, dtype=array.dtype)
        self.upload(np.ascontiguousarray(array), out)
        return out

    @contextmanager
    def uploading(self, array: NDArray[Any], out: Any) -> Iterator[None]:
        """As `upload`, with work of the caller, the block of the `with` statement, done at the same time.

        While the block runs, threads copy a large array to staging memory. After the block, this thread sends it to the
        device. Arrays uploaded within the block are copied without staging memory.
        """
        source, target, total = array.ctypes.data, int(out.data.ptr), array.nbytes
        if total <= device_tuning.DIRECT or self._filling:
            self._copy(target, source, total, 1, self._stream.ptr)
            yield
            return
        if self._staging is None:
            self._staging = self._cp.cuda.alloc_pinned_memory(device_tuning.STAGING)
        for start in range(0, total, device_tuning.STAGING):
            self._stream.synchronize()  # an earlier copy may still read the staging memory
            pieces = [
                (int(self._staging.ptr) + at - start, at, min(device_tuning.PIECE, total - at))
                for at in range(start, min(start + device_tuning.STAGING, total), device_tuning.PIECE)
            ]
            fills = [_threads().submit(ctypes.memmove, to, source + at, size) for to, at, size in pieces]
            self._filling = True
            try:
                if start == 0:
                    yield
                for (to, at, size), fill in zip(pieces, fills, strict=True):
                    fill.result()
                    self._copy(target + at, to, size, 1, self._stream.ptr)
            finally:
                wait(fills)  # then no thread reads the array any more
                self._filling = False

    def write(self, target: int, array: NDArray[Any]) -> None:
        """Copy a C-contiguous host array to an address in device memory, and wait for it."""
        self._copy(target, array.ctypes.data, array.nbytes, 1, self._stream.ptr)
        self._stream.synchronize()

    def duplicate(self, source: int, out: Any) -> None:
        """Copy from an address in device memory to a device array."""
        self._copy(out.data.ptr, source, out.nbytes, 3, self._stream.ptr)

    def download(self, *pieces: Piece) -> list[NDArray[Any]]:
        """Start copying device memory to the host; wait for the stream before reading the arrays."""
        out = []
        for source, dtype, shape in pieces:
            count = math.prod(shape)
            memory = self.download_bytes(source, count * np.dtype(dtype).itemsize, self._stream)
            out.append(np.frombuffer(memory, dtype, count).reshape(shape))
        return out

    def download_bytes(self, source: int, nbytes: int, stream: Any) -> Any:
        """Start copying `nbytes` of device memory through `stream`; returns a buffer for `numpy.frombuffer`.

        Up to `device_tuning.MOST_LOCKED` bytes it is page-locked and comes from CuPy's pool, which takes it back when
        the last array in it is gone.
        """
        if nbytes == 0:
            return b""
        if nbytes > device_tuning.MOST_LOCKED:
            memory = np.empty(nbytes, dtype=np.uint8)
            address = memory.ctypes.data
        else:
            memory = self._cp.cuda.alloc_pinned_memory(nbytes)
            address = int(memory.ptr)
        self._copy(address, source, nbytes, 2, stream.ptr)
        return memory


@functools.cache
def _threads() -> ThreadPoolExecutor:
    """Threads that fill staging memory; a copy by `ctypes` needs no lock of Python's."""
    return ThreadPoolExecutor(device_tuning.COPY_THREADS, thread_name_prefix="pycupc-copy")


class Scratch:
    """Device memory for the length of a level, handed out by address and taken back all at once."""

    def __init__(self, cp: Any) -> None:
        self._cp = cp
        self.release()

    def release(self) -> None:
        self._blocks: list[Any] = []
        self._next = self._end = 0  # addresses in the last block

    def reset(self) -> None:
        """Take everything back. If one block was not enough, it is replaced by one of the size of all."""
        if len(self._blocks) > 1:
            size = self.size
            self.release()
            self._add(size)
        self._next = int(self._blocks[0].data.ptr) if self._blocks else 0

    def _add(self, nbytes: int) -> None:
        self._blocks.append(self._cp.empty(nbytes, dtype=np.uint8))
        self._next = int(self._blocks[-1].data.ptr)
        self._end = self._next + nbytes

    @property
    def size(self) -> int:
        return sum(int(b.nbytes) for b in self._blocks)

    def take(self, nbytes: int) -> int:
        """Address of `nbytes` bytes, 256-byte aligned."""
        nbytes = ((nbytes + 255) & ~255) or 256
        if self._next + nbytes > self._end:
            self._add(max(nbytes, 8 << 20))
        address = self._next
        self._next = address + nbytes
        return address
