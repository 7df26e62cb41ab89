"""Matrices of rows; and hubs, variables with too many neighbours after level 0 to have a matrix at level 1.

The tests of a hub read stripes of the matrix that it would have: correlations of some neighbours with all neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import LevelTests, Outlook
from pycupc.engines.gpu.schur import LEVEL1_ROWS
from pycupc.engines.gpu.structures import Graph, Level, Records, i32, i64, ptr
from pycupc.engines.protocol import Ints
from pycupc.graph.lists import spans, starts

MATRICES, STRIPE, OF_RECORDS = (
    ("sieve/lists", name) for name in ("row_matrices", "stripe_of_hub", "correlate_records")
)


def launch_matrices(dev: Device, graph: Graph, columns: tuple[Any, Any], C: Any, n: int) -> None:
    """Launch the kernel that fills C with the matrices of the rows; `columns`: of `device_correlation.centred`."""
    args = (graph, *map(ptr, (*columns, C)), i32(n))
    dev.launch(*MATRICES, (min(graph.p, 32 * dev.processors),), (64,), args)


def layout(degrees: NDArray[np.int64], without: Any = ()) -> tuple[NDArray[np.int64], Ints, Ints]:
    """`matrix`, one longer, with the cells of all, `width` and `place` of a graph; rows `without` get no matrix."""
    width = (degrees + 1).astype(np.int32)
    width[np.asarray(without, dtype=np.int64)] = 0
    place = spans(0, degrees)
    return starts(width.astype(np.int64) ** 2), width, place.astype(np.int32)


def hubs_among(degrees: NDArray[np.int64], room: float) -> NDArray[np.int64]:
    """The rows that are hubs, so that the matrices of the others need at most half of `room` bytes."""
    order = np.argsort(degrees, kind="stable")
    nbytes = np.cumsum(8.0 * (degrees[order] + 1.0) ** 2)
    return np.sort(order[(nbytes > room / 2) | (degrees[order] > device_tuning.HUB)])


class HubTests:
    """The tests of level 1 of a run with hubs, see `LevelTests`; `tests` makes the tests of the other rows.

    `columns`: of `device_correlation.centred`. `rows`: the hubs. `degrees`: of all variables.
    """

    def __init__(
        self, dev: Device, tests: LevelTests, columns: tuple[Any, Any], rows: NDArray[np.int64],
        degrees: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self._tests, self._columns, self._rows, self._n = tests, columns, rows, int(columns[0].shape[1])
        self._start = starts(degrees)
        room = min(device_tuning.STRIPE_BYTES, dev.free_memory() // 4) // 8
        self._stripe = dev.cp.empty(max(room, 2 * (int(degrees.max()) + 1)))

    def kernels(self, level: int, outlook: Outlook) -> list[KernelName]:
        return [*self._tests.kernels(level, outlook), STRIPE, OF_RECORDS]

    def launch(self, dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None) -> None:
        self._tests.launch(dev, graph, level, outlook, rows)
        hubs = self._rows
        if rows is not None:
            (mine,) = dev.fetch((rows, np.int32, (graph.p,)))
            hubs = hubs[mine[hubs] > 0]
        for begin, last in zip(self._start[hubs].tolist(), self._start[hubs + 1].tolist(), strict=True):
            width = last - begin + 1
            height = self._stripe.size // width - 1
            for first in range(begin, last, height):
                end = min(first + height, last)
                args = (graph, *map(ptr, (*self._columns, self._stripe)), i64(first), i64(end), i32(self._n))
                dev.launch(*STRIPE, (-(-width // 32), -(-(end - first + 1) // 32)), (64,), args)
                of_pairs = (graph, level, i64(first), i64(end), ptr(self._stripe))
                dev.launch(*LEVEL1_ROWS, (dev.blocks(32 * (end - first)),), (256,), of_pairs)

    def correlate_records(self, dev: Device, graph: Graph, records: Records, most: int) -> None:
        """Launch the kernel that computes r of the records of hubs."""
        args = (graph, records, *map(ptr, self._columns), i32(self._n))
        dev.launch(*OF_RECORDS, (dev.blocks(most),), (256,), args)
