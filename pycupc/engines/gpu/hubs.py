"""Variables with so many neighbours after level 0 that their correlations with each other are not stored.

At level 1 their tests read stripes: the correlations of some neighbours with all of them. After level 1 all rows have
matrices, of the neighbours that are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.gpu import tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import LevelTests, Outlook
from pycupc.engines.gpu.structures import Graph, Level, Records, i32, ptr

MATRICES: KernelName = ("sieve/lists", "row_matrices")
#: The kernels of level 1 of hubs.
KERNELS = STRIPE, LEVEL1, OF_RECORDS = (
    ("sieve/lists", "stripe_of_hub"), ("rows/level1", "level1_stripe"), ("sieve/lists", "correlate_records")
)  # fmt: skip


def hubs_among(degrees: NDArray[np.int64], room: float) -> NDArray[np.int64]:
    """The rows that are hubs, so that the matrices of the others need at most half of `room` bytes."""
    order = np.argsort(degrees, kind="stable")
    nbytes = np.cumsum(8.0 * (degrees[order] + 1.0) ** 2)
    return np.sort(order[(nbytes > room / 2) | (degrees[order] > tuning.HUB)])


class HubTests:
    """The tests of a run with hubs, see `LevelTests`: at level 1 those of the hubs here, all others by `tests`.

    `columns`: of `correlation.centred`. `rows`: the hubs. `degrees`: of all variables.
    """

    def __init__(
        self, dev: Device, tests: LevelTests, columns: tuple[Any, Any], rows: NDArray[np.int64],
        degrees: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self._tests, self._columns, self._rows, self._degrees = tests, columns, rows, degrees
        self._n = int(columns[0].shape[1])
        room = min(tuning.STRIPE_BYTES, dev.free_memory() // 4) // 8
        self._stripe = dev.cp.empty(max(room, 2 * (int(degrees[rows].max()) + 1)))

    def kernels(self, level: int, outlook: Outlook) -> list[KernelName]:
        return self._tests.kernels(level, outlook) + (list(KERNELS) if level == 1 else [])

    def launch(self, dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None) -> None:
        self._tests.launch(dev, graph, level, outlook, rows)
        hubs = self._rows
        if level.level > 1:
            return
        if rows is not None:
            (mine,) = dev.transfers.download((rows, np.int32, (graph.p,)))
            dev.wait()
            hubs = hubs[mine[hubs] > 0]
        for x in hubs.tolist():
            d = int(self._degrees[x])
            height = self._stripe.size // (d + 1) - 1
            for first in range(0, d, height):
                count = min(height, d - first)
                args = (graph, *map(ptr, (*self._columns, self._stripe)), i32(x), i32(first), i32(count), i32(self._n))
                dev.launch(*STRIPE, (-(-(d + 1) // 32), -(-(count + 1) // 32)), (64,), args)
                of_stripe = (ptr(self._stripe), i32(x), i32(first), i32(count))
                dev.launch(*LEVEL1, (dev.blocks(32 * count),), (256,), (graph, level, *of_stripe))

    def correlate_records(self, dev: Device, graph: Graph, records: Records, most: int) -> None:
        """Launch the kernel that computes r of the records of hubs at level 1."""
        args = (graph, records, *map(ptr, self._columns), i32(self._n))
        dev.launch(*OF_RECORDS, (dev.blocks(most),), (256,), args)


def launch_matrices(dev: Device, graph: Graph, columns: tuple[Any, Any], C: Any, n: int) -> None:
    """Launch the kernel that fills the matrices of the rows, from C on; `columns`: of `correlation.centred`."""
    args = (graph, *map(ptr, (*columns, C)), i32(n))
    dev.launch(*MATRICES, (min(graph.p, 32 * dev.processors),), (64,), args)
