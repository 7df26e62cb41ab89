"""A running level, the records of levels that have ended, and levels at which the smallest |z| is found later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import Finished, Floats, Ints
from pycupc.engines.gpu.device import Device


@dataclass(frozen=True)
class PendingLevel:
    """A level at which pruning decided pairs without all their tests."""

    level: int
    cutoff: float  # largest |r| that a test of the level calls independent
    offsets: NDArray[np.int64]  # (p + 1,)
    # (E,): the graph that the level tested: the neighbours of x are neighbours[offsets[x] : offsets[x + 1]], ascending.
    neighbours: Ints
    # bool (E,) or None: ordered pairs whose smallest |z| at this level is still to be found; None: all.
    unknown: NDArray[np.bool_] | None = None


def pending_of(levels: Sequence[Finished], p: int, cutoff: Callable[[int], float]) -> list[PendingLevel]:
    """The levels of a run that bounds have answered in part."""
    out = []
    for level, before in zip(levels[1:], levels, strict=False):
        if level.answered is not None:
            x, y = before.x.astype(np.int64), before.y.astype(np.int64)
            keys, k = np.sort(np.concatenate([x * p + y, y * p + x])), level.result.level
            out.append(
                PendingLevel(k, cutoff(k), np.searchsorted(keys, np.arange(p + 1) * p), (keys % p).astype(np.int32))
            )
    return out


@dataclass(frozen=True)
class Running:
    """A level that has been launched."""

    level: int
    cutoff: float  # largest |r| that a test of the level calls independent
    pairs: int  # ordered pairs of the graph that it tests
    found: Any  # device array uint8, or None at level 0: room for its records


def record_bytes(level: int) -> int:
    """Bytes per record: r, x, y, S; see `Found` in kernels/graph/record.cuh."""
    return 16 + 4 * level


def no_records(level: int) -> tuple[Ints, Ints, Ints, Floats]:
    """x, y, S and r of a level without records."""
    none = np.empty(0, np.int32)
    return none, none, np.empty((0, level), np.int32), np.empty(0)


def download(dev: Device, found: Any, m: int, level: int) -> tuple[Ints, Ints, Ints, Floats]:
    """Start copying the m records in a device array, through `Device.copies`; returns x, y, S and r."""
    if not m:
        return no_records(level)
    raw = dev.transfers.download_bytes(found.data.ptr, m * record_bytes(level), dev.copies)
    x, y = np.frombuffer(raw, np.int32, m, 8 * m), np.frombuffer(raw, np.int32, m, 12 * m)
    S = np.frombuffer(raw, np.int32, m * level, 16 * m).reshape(m, level)
    return x, y, S, np.frombuffer(raw, np.float64, m)
