"""Copies between host and device, and device memory for the length of a level."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import time
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
        staging = int(self._staging.ptr)
        for start in range(0, total, device_tuning.STAGING):
            self._stream.synchronize()  # an earlier copy may still read the staging memory
            filling = _Filling(source + start, staging, min(device_tuning.STAGING, total - start))
            self._filling = True
            try:
                if start == 0:
                    yield
                for at, size in filling.stretches():
                    self._copy(target + start + at, staging + at, size, 1, self._stream.ptr)
            finally:
                filling.end()
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


class _Filling:
    """Copies an array to staging memory, piece by piece, in several threads, which begin at once.

    One thread sends the pieces to the device: if each sent its own, they would wait for each other in the driver.
    """

    def __init__(self, source: int, staging: int, total: int) -> None:
        self._source, self._staging, self._total = source, staging, total
        self._next = itertools.count(
            0, device_tuning.PIECE
        ).__next__  # where the next piece begins that nobody has taken
        self._filled = bytearray(-(-total // device_tuning.PIECE))
        helpers = min(device_tuning.COPY_THREADS, len(self._filled)) - 1
        self._helpers = [_threads().submit(self._fill_all) for _ in range(helpers)]

    def _fill(self) -> bool:
        """Fill the next piece, unless all are taken."""
        at = self._next()
        if at >= self._total:
            return False
        ctypes.memmove(self._staging + at, self._source + at, min(device_tuning.PIECE, self._total - at))
        self._filled[at // device_tuning.PIECE] = True
        return True

    def _fill_all(self) -> None:
        while self._fill():
            pass

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Fill what nobody has taken; where each stretch that is ready begins, and its number of bytes."""
        sent = 0
        while sent < self._total:
            if not self._fill():
                time.sleep(0)  # the others finish their last pieces
            missing = self._filled.find(0, sent // device_tuning.PIECE)
            end = self._total if missing < 0 else missing * device_tuning.PIECE
            if end > sent:
                yield sent, end - sent
                sent = end

    def end(self) -> None:
        """Wait until no thread reads the array any more, also where pieces are left."""
        while self._next() < self._total:
            pass
        wait(self._helpers)


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
