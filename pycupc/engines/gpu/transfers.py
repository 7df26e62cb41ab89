"""Copies between host and device, and device memory for the length of a level."""

from __future__ import annotations

import ctypes
import functools
import math
import os
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: Bytes of staging memory for uploads, page-locked and kept between runs; most bytes that a thread copies at a time.
STAGING, CHUNK = 64 << 20, 4 << 20
#: Up to this many bytes CUDA's own staging is as fast (kernels/LOG.md).
DIRECT = 4 << 20
#: Most threads that copy, including the calling one; bytes for which one more of them pays.
THREADS, PER_THREAD = max(1, min(6, os.cpu_count() or 1)), 5 << 20
#: Results of more bytes than this go to ordinary memory, not to page-locked memory.
MOST_LOCKED = 2 << 30

#: Device memory to copy to the host: address, dtype, shape.
Piece = tuple[int, DTypeLike, tuple[int, ...]]


class Transfers:
    """Copies on one stream of one device."""

    def __init__(self, cp: Any, index: int, stream: Any) -> None:
        self._cp = cp
        self._index = index
        self._stream = stream
        self._copy = cp.cuda.runtime.memcpyAsync
        self._staging: Any = None

    def upload(self, array: NDArray[Any], out: Any) -> None:
        """Copy a C-contiguous host array to a device array; several threads stage a large one in page-locked memory."""
        source, target, total = array.ctypes.data, int(out.data.ptr), array.nbytes
        if total <= DIRECT:
            self._copy(target, source, total, 1, self._stream.ptr)
            return
        if self._staging is None:
            self._staging = self._cp.cuda.alloc_pinned_memory(STAGING)
        for start in range(0, total, STAGING):
            self._stream.synchronize()  # an earlier copy may still read the staging memory
            self._upload_staged(source + start, target + start, min(STAGING, total - start))

    def _upload_staged(self, source: int, target: int, total: int) -> None:
        staging, threads = int(self._staging.ptr), min(THREADS, 1 + total // PER_THREAD)
        # two pieces or more for each, so that one travels while the next is copied; multiples of a page
        chunk = min(CHUNK, -(-total // (2 * threads) // 4096) * 4096)

        def work(thread: int) -> None:
            self._cp.cuda.runtime.setDevice(self._index)
            for at in range(thread * chunk, total, threads * chunk):
                size = min(chunk, total - at)
                ctypes.memmove(staging + at, source + at, size)  # releases the interpreter's lock
                self._copy(target + at, staging + at, size, 1, self._stream.ptr)

        others = [copiers().submit(work, thread) for thread in range(1, threads)]
        try:
            work(0)
        finally:
            wait(others)
        for other in others:
            other.result()

    def duplicate(self, source: int, out: Any) -> None:
        """Copy from an address in device memory to a device array."""
        self._copy(out.data.ptr, source, out.nbytes, 3, self._stream.ptr)

    def download(self, *pieces: Piece, stream: Any = None) -> list[NDArray[Any]]:
        """Start copying device memory to the host; wait for the stream before reading the arrays.

        The arrays share one block of memory. Up to `MOST_LOCKED` bytes it is page-locked and comes from CuPy's pool,
        which takes it back when the last of the arrays is gone.
        """
        through = (stream or self._stream).ptr
        sizes = [-(-math.prod(shape) * np.dtype(dtype).itemsize // 64) * 64 for _, dtype, shape in pieces]
        total = sum(sizes)
        memory: Any
        if total > MOST_LOCKED:
            memory = np.empty(total, dtype=np.uint8)
            address = memory.ctypes.data
        else:
            memory = self._cp.cuda.alloc_pinned_memory(max(total, 64))
            address = int(memory.ptr)
        out, offset = [], 0
        for (source, dtype, shape), size in zip(pieces, sizes, strict=True):
            count = math.prod(shape)
            if count:
                self._copy(address + offset, source, count * np.dtype(dtype).itemsize, 2, through)
            out.append(np.frombuffer(memory, dtype=dtype, count=count, offset=offset).reshape(shape))
            offset += size
        return out


@functools.cache
def copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="pycupc-copy")


class Scratch:
    """Device memory for the length of a level, handed out by address and taken back all at once."""

    def __init__(self, cp: Any) -> None:
        self._cp = cp
        self._blocks: list[Any] = []
        self._next = self._end = self._peak = 0  # addresses in the last block; bytes handed out

    def reset(self) -> None:
        """Take everything back. If one block was not enough, it is replaced by one that would have been."""
        if len(self._blocks) > 1:
            self._blocks = []
            self._add(self._peak + self._peak // 4)
        elif self._blocks:
            self._next = int(self._blocks[0].data.ptr)
        self._peak = 0

    def _add(self, nbytes: int) -> None:
        block = self._cp.empty(nbytes, dtype=np.uint8)
        self._blocks.append(block)
        self._next = int(block.data.ptr)
        self._end = self._next + nbytes

    @property
    def size(self) -> int:
        return sum(int(b.nbytes) for b in self._blocks)

    def release(self) -> None:
        self._blocks, self._next, self._end, self._peak = [], 0, 0, 0

    def take(self, nbytes: int) -> int:
        """Address of `nbytes` bytes, 256-byte aligned."""
        nbytes = max(256, (nbytes + 255) & ~255)
        self._peak += nbytes
        if self._next + nbytes > self._end:
            self._add(max(nbytes, 8 << 20))
        address = self._next
        self._next += nbytes
        return address
