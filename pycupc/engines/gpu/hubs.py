"""Variables with so many neighbours after level 0 that their correlations with each other are not stored.

At level 1 their tests read stripes: the correlations of some neighbours with all of them. After level 1 the rows have
matrices as all others, of the neighbours that are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import EngineError
from pycupc.engines.gpu import tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.levels import LevelTests, Outlook
from pycupc.engines.gpu.structures import Graph, Level, Records, i32, ptr
from pycupc.system.message import Argument, Message

MATRICES: KernelName = ("sieve/lists", "row_matrices")
#: The kernels of level 1 of hubs.
KERNELS = STRIPE, LEVEL1, OF_RECORDS = (
    ("sieve/lists", "stripe_of_hub"), ("rows/level1", "level1_stripe"), ("sieve/lists", "correlate_records")
)  # fmt: skip


def hubs_among(degrees: NDArray[np.int64], room: int) -> NDArray[np.int64]:
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
        self._tests, self._rows, self._degrees, self._n = tests, rows, degrees, int(columns[0].shape[1])
        self._columns: Any = columns
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

    def store_matrices(self, dev: Device, graph: Graph) -> Any:
        """Matrices of the hubs, with their neighbours in this graph, for the levels from 2 on; a device array.

        Raises EngineError if they do not fit the device.
        """
        pieces = ((graph.start, np.int64, (graph.p + 1,)), (graph.matrix, np.int64, (graph.p + 1,)))
        start, place, widths = dev.transfers.download(*pieces, (graph.width, np.int32, (graph.p,)))
        dev.wait()
        self._stripe, hubs = None, self._rows
        of_hubs = np.zeros_like(widths)
        of_hubs[hubs] = np.diff(start)[hubs] + 1
        ends = np.cumsum(of_hubs[hubs].astype(np.int64) ** 2)
        need, free = 8 * int(ends[-1]), dev.free_memory()
        if need > free:
            raise EngineError(
                Message(
                    "{edges:,} edges are left after level 1, and the correlations among the neighbours of variables "
                    "with up to {d:,} of them need {need:.2f} GiB on {device}, where {free:.2f} GiB are free; set "
                    "{m_max} to 1, use a smaller alpha or fewer variables",
                    edges=int(start[-1]) // 2,
                    d=int(of_hubs.max()) - 1,
                    need=need / 2**30,
                    device=dev.name,
                    free=free / 2**30,
                    m_max=Argument("m_max"),
                )
            )
        C = dev.cp.empty(int(ends[-1]))
        place = place.copy()
        place[hubs] = (C.data.ptr - (graph.C or 0)) // 8 + ends - of_hubs[hubs].astype(np.int64) ** 2
        for x in hubs.tolist():
            dev.transfers.write(graph.place + 4 * int(start[x]), np.arange(start[x + 1] - start[x], dtype=np.int32))
        dev.transfers.write(graph.matrix, place)
        dev.transfers.write(graph.width, of_hubs)  # of no other row, for the kernel
        launch_matrices(dev, graph, self._columns, graph.C, self._n)
        dev.transfers.write(graph.width, np.maximum(widths, of_hubs))
        self._columns = None
        return C


def launch_matrices(dev: Device, graph: Graph, columns: tuple[Any, Any], C: int, n: int) -> None:
    """Launch the kernel that fills the matrices of the rows, from C on; `columns`: of `correlation.centred`."""
    args = (graph, *map(ptr, (*columns, C)), i32(n))
    dev.launch(*MATRICES, (min(graph.p, 32 * dev.processors),), (64,), args)
