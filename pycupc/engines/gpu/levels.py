"""A level before it runs: the knowledge of the host about it, the parameters of its kernels, and its tests."""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from pycupc.engines.gpu import device_tuning
from pycupc.engines.gpu.device import Device
from pycupc.engines.gpu.kernels import KernelName
from pycupc.engines.gpu.structures import Counters, Graph, Level
from pycupc.independence.gaussian.tolerances import CUTOFF_BAND


def canonical_doubles(level: int) -> int:
    """As in kernels/common/structures.cuh."""
    return 2 * (level + 2) * (level + 4) + level + 2


class Outlook(NamedTuple):
    """The knowledge of the host about the next level when it plans it."""

    # pairs, widest, busiest: ordered pairs of the graph; the largest degree, and the first variable that has it.
    pairs: int
    widest: int
    busiest: int
    rows: tuple[int, ...]  # tuple of 6 int: rows with tests, in each class of degrees
    # sets, tests_at_most: conditioning sets over all rows; number of tests if none of them separates an edge.
    sets: float
    tests_at_most: float
    ill_conditioned: bool  # whether many tests of the level before were doubtful (`device_tuning.ILL_SHARE`)
    adjacent: Any = None  # device array uint32 (p, ceil(p/32)) or None: before level 1, the graph as bits
    rough: Any = None  # device array uint16 (p, p) or None: before level 1, C in two bytes, see kernels/graph/rough.cuh
    mirrored: bool = False  # before level 1, whether C equals its transpose to `graph.LAST_BITS`

    @classmethod
    def after(cls, c: Counters) -> Outlook:
        """From the counters of the level before."""
        ill = c.doubtful > device_tuning.ILL_SHARE * c.tests
        busiest = 0xFFFFFFFF - (c.widest & 0xFFFFFFFF)
        return cls(c.pairs, c.widest >> 32, busiest, tuple(c.rows), c.sets, c.tests_at_most, ill)

    def later(self, level: int, later: int) -> Outlook:
        """A guess at the outlook of a `later` level, from the outlook of `level`: which kernels it may need.

        As if all rows had the same number of neighbours, of which each level leaves `device_tuning.LEFT`.
        """
        first, each = device_tuning.LEFT
        share = math.prod(first if l == 1 else each for l in range(level, later))
        n = sum(self.rows) or self.widest + 1
        pairs, widest, degree = share * self.pairs, math.ceil(share * self.widest), share * self.pairs / n
        rows = [0] * len(self.rows)
        rows[int(np.searchsorted(device_tuning.BOUNDS, degree))] = n
        sets, tests = float(n * comb(degree, later)), float(pairs * comb(max(degree - 1, 0.0), later))
        return Outlook(int(pairs), widest, 0, tuple(rows), sets, tests, self.ill_conditioned)

    @classmethod
    def of(cls, level: int, degrees: NDArray[np.int64], targets: NDArray[np.int64]) -> Outlook:
        """The tests of `targets` pairs in each row."""
        rows = (targets > 0) & (degrees > level)
        classes = np.bincount(np.searchsorted(device_tuning.BOUNDS, degrees[rows]), minlength=6)
        sets, tests = comb(degrees, level)[rows].sum(), (targets * comb(degrees - 1, level))[rows].sum()
        widest = int(degrees.max(initial=0))
        return cls(int(degrees.sum()), widest, 0, tuple(classes.tolist()), float(sets), float(tests), False)


def level_of(dev: Device, widest: int, counters: Any, level: int, cutoff: float) -> Level:
    """The parameters of a level for the kernels; `counters`: a device array of the size of `Counters`.

    `widest`: the largest degree, if level >= 1.
    """
    square = cutoff * cutoff
    thresholds = (cutoff, square * (1 - CUTOFF_BAND), square * (1 + CUTOFF_BAND))
    return Level(dev.binomials(widest, level + 3), counters.data.ptr, None, dev.stop.data.ptr, *thresholds, level, 0)


def degrees_of(dev: Device, graph: Graph) -> NDArray[np.int64]:
    """Neighbours of each variable, after a wait."""
    (start,) = dev.fetch((graph.start, np.int64, (graph.p + 1,)))
    return np.diff(start)


class GraphOfHost:
    """A graph whose arrays the host makes, for tests apart from a run.

    `arrays`: by their names in `Graph`, of the host or of the device; those on the device live as long as this object.
    """

    def __init__(self, dev: Device, p: int, **arrays: Any) -> None:
        self._dev, self._counters = dev, dev.cp.empty(ctypes.sizeof(Counters), dtype=np.uint8)
        self._widest = int(np.diff(arrays["start"]).max())
        arrays["best"] = dev.cp.empty(len(arrays["column"]), dtype=np.uint64)
        self.arrays = {k: dev.transfers.copied(a) if isinstance(a, np.ndarray) else a for k, a in arrays.items()}
        self.on_device = Graph(p=p, **{name: array.data.ptr for name, array in self.arrays.items()})

    def begin(self, level: int, cutoff: float) -> Level:
        """The parameters of a level, of which nothing is found yet."""
        for array, value in ((self.arrays["best"], 0xFF), (self._counters, 0)):
            self._dev.cp.cuda.runtime.memsetAsync(array.data.ptr, value, array.nbytes, self._dev.stream.ptr)
        return level_of(self._dev, self._widest, self._counters, level, cutoff)


class LevelTests(Protocol):
    """The tests of a level >= 1: a family of tests, and the algorithm that makes them."""

    def kernels(self, level: int, outlook: Outlook) -> list[KernelName]:
        """Kernels that the level needs."""

    def launch(self, dev: Device, graph: Graph, level: Level, outlook: Outlook, rows: int | None = None) -> None:
        """Launch the tests, which write best, least (or z) and side A's removals in G of `graph`, and the counters.

        `rows`: address of ints [p], 0 where a row has no targets; None: not known.
        """
