"""Copies between host and device, and device memory for the length of a level."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pycupc.engines.gpu import tuning

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

        While the block runs, other threads copy a large array to staging memory. After the block, this thread helps
        them and sends the array to the device. Arrays uploaded within the block are copied without staging memory.
        """
        source, target, total = array.ctypes.data, int(out.data.ptr), array.nbytes
        if total <= tuning.DIRECT or self._filling:
            self._copy(target, source, total, 1, self._stream.ptr)
            yield
            return
        if self._staging is None:
            self._staging = self._cp.cuda.alloc_pinned_memory(tuning.STAGING)
        staging, through = int(self._staging.ptr), self._stream.ptr
        for start in range(0, total, tuning.STAGING):
            self._stream.synchronize()  # an earlier copy may still read the staging memory
            staged = _StagedCopy(source + start, staging, min(tuning.STAGING, total - start))
            self._filling = True
            try:
                if start == 0:
                    yield
                for at, nbytes in staged.stretches():
                    self._copy(target + start + at, staging + at, nbytes, 1, through)
            except BaseException:
                staged.abandon()
                raise
            finally:
                self._filling = False

    def write(self, target: int, array: NDArray[Any]) -> None:
        """Copy a C-contiguous host array to an address in device memory, and wait for it."""
        self._copy(target, array.ctypes.data, array.nbytes, 1, self._stream.ptr)
        self._stream.synchronize()

    def duplicate(self, source: int, out: Any) -> None:
        """Copy from an address in device memory to a device array."""
        self._copy(out.data.ptr, source, out.nbytes, 3, self._stream.ptr)

    def download(self, *pieces: Piece) -> list[NDArray[Any]]:
        """Start copying device memory to the host; wait for the stream before reading the arrays.

        The arrays share one block of memory; see `_host_memory`.
        """
        sizes = [-(-math.prod(shape) * np.dtype(dtype).itemsize // 64) * 64 for _, dtype, shape in pieces]
        memory, address = self._host_memory(sum(sizes))
        out, offset = [], 0
        for (source, dtype, shape), size in zip(pieces, sizes, strict=True):
            count = math.prod(shape)
            if count:
                self._copy(address + offset, source, count * np.dtype(dtype).itemsize, 2, self._stream.ptr)
            out.append(np.frombuffer(memory, dtype=dtype, count=count, offset=offset).reshape(shape))
            offset += size
        return out

    def download_bytes(self, source: int, nbytes: int, stream: Any) -> Any:
        """Start copying `nbytes` of device memory through `stream`; returns a buffer for `numpy.frombuffer`."""
        memory, address = self._host_memory(nbytes)
        self._copy(address, source, nbytes, 2, stream.ptr)
        return memory

    def _host_memory(self, nbytes: int) -> tuple[Any, int]:
        """Memory for a download, and its address.

        Up to `tuning.MOST_LOCKED` bytes it is page-locked and comes from CuPy's pool, which takes it back when the last
        array in it is gone.
        """
        if nbytes > tuning.MOST_LOCKED:
            memory = np.empty(nbytes, dtype=np.uint8)
            return memory, memory.ctypes.data
        locked = self._cp.cuda.alloc_pinned_memory(max(nbytes, 64))
        return locked, int(locked.ptr)


class _StagedCopy:
    """Fills staging memory with pieces of an array, in several threads; helpers begin at once.

    One thread sends them to the device. If each thread sent its own, they would wait for each other in the driver.
    """

    def __init__(self, source: int, staging: int, total: int) -> None:
        self._source, self._staging, self._total = source, staging, total
        self._next = itertools.count(0, tuning.PIECE).__next__  # where the next piece that nobody has taken begins
        self._filled = bytearray(-(-total // tuning.PIECE))
        self._helpers = min(tuning.COPY_THREADS - 1, total // tuning.BYTES_PER_THREAD)
        self._ended: SimpleQueue[None] = SimpleQueue()
        for _ in range(self._helpers):
            jobs().put(self._help)

    def _fill(self) -> bool:
        """Fill the next piece, unless all are taken."""
        at = self._next()
        if at >= self._total:
            return False
        size = min(tuning.PIECE, self._total - at)
        ctypes.memmove(self._staging + at, self._source + at, size)  # without Python's lock
        self._filled[at // tuning.PIECE] = True
        return True

    def _help(self) -> None:
        while self._fill():
            pass
        self._ended.put(None)

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Copy the remaining pieces; yield the first byte and the number of bytes of each stretch that is ready."""
        sent = 0
        while sent < self._total:
            if not self._fill():
                time.sleep(0)  # lets the others finish their last pieces
            missing = self._filled.find(0, sent // tuning.PIECE)
            end = self._total if missing < 0 else missing * tuning.PIECE
            if end > sent:
                yield sent, end - sent
                sent = end

    def abandon(self) -> None:
        """Wait until no thread reads the array any more."""
        while self._next() < self._total:
            pass
        for _ in range(self._helpers):
            self._ended.get()


@functools.cache
def jobs() -> SimpleQueue[Callable[[], None]]:
    """The queue of functions for the threads started here; a pool of futures would take twice the time."""
    queue: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def work() -> None:
        while True:
            queue.get()()

    for _ in range(tuning.COPY_THREADS - 1):
        threading.Thread(target=work, name="pycupc-copy", daemon=True).start()
    return queue


class Scratch:
    """Device memory for the length of a level, handed out by address and taken back all at once."""

    def __init__(self, cp: Any) -> None:
        self._cp = cp
        self._blocks: list[Any] = []
        self._first = self._next = self._end = 0  # addresses in the last block
        self._full = 0  # bytes handed out from the blocks before it

    def reset(self) -> None:
        """Take everything back. If one block was not enough, it is replaced by one that would have been."""
        if len(self._blocks) > 1:
            used = self._full + self._next - self._first
            self.release()
            self._add(used + used // 4)
        self._next = self._first

    def _add(self, nbytes: int) -> None:
        block = self._cp.empty(nbytes, dtype=np.uint8)
        self._blocks.append(block)
        self._full += self._next - self._first
        self._first = self._next = int(block.data.ptr)
        self._end = self._first + nbytes

    @property
    def size(self) -> int:
        return sum(int(b.nbytes) for b in self._blocks)

    def release(self) -> None:
        self._blocks, self._first, self._next, self._end, self._full = [], 0, 0, 0, 0

    def take(self, nbytes: int) -> int:
        """Address of `nbytes` bytes, 256-byte aligned."""
        nbytes = ((nbytes + 255) & ~255) or 256
        if self._next + nbytes > self._end:
            self._add(max(nbytes, 8 << 20))
        address = self._next
        self._next = address + nbytes
        return address
