"""Copies between host and device, and device memory for the length of a level."""

from __future__ import annotations

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: Staging memory for copies from the host: CHUNK bytes per slot, SLOTS slots, page-locked, kept between runs.
CHUNK, SLOTS = 4 << 20, 32
#: Up to this many bytes one thread is as fast (kernels/LOG.md).
DIRECT = 32 << 20
#: Larger results are not page-locked.
MOST_LOCKED = 2 << 30

#: Device memory to copy to the host: address, dtype, shape.
Piece = tuple[int, DTypeLike, tuple[int, ...]]


class Transfers:
    """Copies on one stream of one device."""

    def __init__(self, cp: Any, stream: Any) -> None:
        self._cp = cp
        self._stream = stream
        self._copy = cp.cuda.runtime.memcpyAsync
        self._staging: tuple[Any, NDArray[np.uint8], int] | None = None

    def upload(self, array: NDArray[Any], out: Any) -> None:
        """Copy a C-contiguous host array to device memory through page-locked staging, several threads copying."""
        source = array.reshape(-1).view(np.uint8)
        total = source.size
        if total <= DIRECT:  # CUDA's own staging is as fast
            self._copy(out.data.ptr, array.ctypes.data, total, 1, self._stream.ptr)
            return
        if self._staging is None:
            memory = self._cp.cuda.alloc_pinned_memory(CHUNK * SLOTS)
            self._staging = (memory, np.frombuffer(memory, dtype=np.uint8, count=CHUNK * SLOTS), int(memory.ptr))
        _, view, address = self._staging
        self._stream.synchronize()  # staging of an earlier upload is free now
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
                self._copy(out.data.ptr + a, address + a - start, b - a, 1, self._stream.ptr)
            if stop < total:
                self._stream.synchronize()

    def download(self, *pieces: Piece) -> list[NDArray[Any]]:
        """Start copying device memory to the host; wait for the stream before reading.

        The arrays share one page-locked block of CuPy's pool, which takes it back when the last of them is gone.
        """
        sizes = [-(-int(np.prod(shape)) * np.dtype(dtype).itemsize // 64) * 64 for _, dtype, shape in pieces]
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
            count = int(np.prod(shape))
            if count:
                self._copy(address + offset, source, count * np.dtype(dtype).itemsize, 2, self._stream.ptr)
            out.append(np.frombuffer(memory, dtype=dtype, count=count, offset=offset).reshape(shape))
            offset += size
        return out


@functools.cache
def copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=max(1, min(4, os.cpu_count() or 1)), thread_name_prefix="pycupc-copy")


class Scratch:
    """Device memory for one level, handed out by address and taken back all at once."""

    def __init__(self, cp: Any) -> None:
        self._cp = cp
        self._blocks: list[Any] = []
        self._used = self._peak = 0

    def reset(self) -> None:
        """Take everything back; one block then holds what the largest level needed."""
        if len(self._blocks) > 1:
            self._blocks = []
            self._blocks = [self._cp.empty(self._peak + self._peak // 4, dtype=np.uint8)]
        self._used = self._peak = 0

    @property
    def size(self) -> int:
        return sum(int(b.nbytes) for b in self._blocks)

    def release(self) -> None:
        self._blocks, self._used, self._peak = [], 0, 0

    def take(self, nbytes: int) -> int:
        """Address of `nbytes` bytes, 256-byte aligned."""
        nbytes = -(-max(1, nbytes) // 256) * 256
        self._peak += nbytes
        if not self._blocks or self._used + nbytes > self._blocks[-1].nbytes:
            self._blocks.append(self._cp.empty(max(nbytes, 8 << 20), dtype=np.uint8))
            self._used = 0
        address = int(self._blocks[-1].data.ptr) + self._used
        self._used += nbytes
        return address
