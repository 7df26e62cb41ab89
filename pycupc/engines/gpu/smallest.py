"""The smallest |z| of all tests of each edge, which gives pMax, where pruning has answered tests without making them.

The decisions of a run do not need it, so it is found when somebody asks: for the edges of the final graph alone, level
by level. The search (kernels/pruning/search.cu) then looks for the smallest r^2 of each pair, with the smallest known
so far in place of the cutoff; pairs that it cannot decide are tested given all their sets. The rest, where that would
take too long, is left to the CPU.
"""

from __future__ import annotations

import ctypes
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from pycupc.engines.base import EngineError, Floats, Ints
from pycupc.engines.gpu import correlation, hubs, schur, sieve, tuning
from pycupc.engines.gpu.device import Device, Session, borrowed_device
from pycupc.engines.gpu.levels import Outlook, level_of
from pycupc.engines.gpu.pruning import search
from pycupc.engines.gpu.records import PendingLevel
from pycupc.engines.gpu.structures import Counters, Graph, Level
from pycupc.independence.gaussian.fisher_z import z_score
from pycupc.independence.gaussian.limits import R_MAX
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.system.log import LARGEST_P, logger
from pycupc.system.machine import available_cores
from pycupc.system.message import Message

#: A level with at most this many tests makes them all; so many that no search decides are left to the CPU.
FEW_TESTS, MANY_TESTS = 1e10, 2e12
_LIVE = 1  # kernels/common/structures.cuh


@dataclass(frozen=True)
class SmallestZ:
    """Finds the smallest |z| of all tests of each edge when it is called; see `pycupc.engines.base.UnfinishedZ`."""

    index: int  # number of the CUDA device
    data: SuffStat
    pending: list[PendingLevel]
    # x, y: (m,): the edges, x < y.
    x: Ints
    y: Ints
    z: Floats  # (m,): the smallest |z| of the tests that were made, inf for an edge that is never tested
    # Whether each row gets a matrix of its own from the data, instead of one matrix of all correlations.
    by_rows: bool = False

    @property
    def _has_rows(self) -> bool:
        return self.by_rows and not self.data.has_C

    def __call__(self) -> Floats:
        begin, z, left = time.perf_counter(), self.z, self.pending
        try:
            with borrowed_device(self.index) as dev, Session(dev, dev.scratch.release):
                kind = RowSearch if self._has_rows else Search
                z, left = kind(dev, self.data, self.x, self.y).levels(left, z)
            logger.info("smallest |z| of all tests of %d edges, for pMax: %.3f s", len(z), time.perf_counter() - begin)
        except EngineError as error:
            text = Message("the largest p-values are searched for on the CPU: {error}", error=error)
            warnings.warn(text, stacklevel=2)
        return self._on_cpu(left, z) if left else z

    def _on_cpu(self, left: list[PendingLevel], z: Floats) -> Floats:
        from pycupc.engines.cpu.extracts import ColumnSource, MatrixSource
        from pycupc.engines.cpu.pruning import smallest  # here: it loads Numba, which most runs on the GPU do without

        source = ColumnSource(self.data.correlations.columns()) if self._has_rows else MatrixSource(self.data.C)
        levels = [smallest.PrunedTests.whole(v.level, v.cutoff, v.offsets, v.neighbours, v.unknown) for v in left]
        return smallest.SmallestZ(source, self.data.n, available_cores(), levels, self.x, self.y, z)()


class Search:
    """The search on one device; use it inside a `Session`. Arguments as of `SmallestZ`."""

    def __init__(self, dev: Device, data: SuffStat, x: Ints, y: Ints) -> None:
        self._dev, self._n, self._x, self._y, self._p = dev, data.n, x, y, data.p
        self._counters = dev.cp.zeros(ctypes.sizeof(Counters), dtype=np.uint8)
        self._tests = self._read(data)

    def _read(self, data: SuffStat) -> schur.SchurTests:
        """Take the correlations; returns the tests that read them."""
        dev = self._dev
        if data.has_C:
            self._C = self._upload(np.ascontiguousarray(data.C, dtype=np.float64))
        else:
            assert data.rows is not None
            self._C = correlation.correlation(dev, data.rows)
        self._G = dev.cp.empty(self._C.shape, dtype=np.uint8)
        return schur.SchurTests(dev.processors, dev.shared_block, prune=False)

    def _put_states(self, tested: NDArray[np.bool_]) -> None:
        """The states of the pairs, before the first level."""
        G = np.zeros((self._p, self._p), dtype=np.uint8)
        G[self._x[tested], self._y[tested]] = G[self._y[tested], self._x[tested]] = _LIVE
        self._dev.transfers.upload(G, self._G)

    def _matrices(self, graph: Graph, degrees: NDArray[np.int64], entries: NDArray[np.int64]) -> list[Any]:
        """Complete the graph of a level, in which `entries` are tested; returns what must be kept as long."""
        graph.C, graph.G = self._C.data.ptr, self._G.data.ptr
        return []

    def _upload(self, array: NDArray[Any]) -> Any:
        out = self._dev.cp.empty(array.shape, dtype=array.dtype)
        self._dev.transfers.upload(array, out)
        return out

    def levels(self, pending: list[PendingLevel], z: Floats) -> tuple[Floats, list[PendingLevel]]:
        """The smallest |z| after these levels, and the remaining levels, with `unknown` pairs."""
        z, tested, left = z.copy(), np.isfinite(z), []
        self._put_states(tested)
        for done, level in enumerate(reversed(pending)):
            logger.info(LARGEST_P, level.level, done, len(pending))
            unknown = self._level(level, z, tested)
            if unknown.any():
                left.append(replace(level, unknown=unknown))
        return z, left[::-1]

    def _level(self, at: PendingLevel, z: Floats, tested: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Lower z where tests of this level are smaller; returns the ordered pairs of which that is not known."""
        dev, p = self._dev, self._p
        degrees = np.diff(at.offsets)
        source = np.repeat(np.arange(p, dtype=np.int32), degrees)
        keys = source.astype(np.int64) * p + at.neighbours
        x, y = self._x[tested].astype(np.int64), self._y[tested]
        entries = np.concatenate([np.searchsorted(keys, x * p + y), np.searchsorted(keys, y.astype(np.int64) * p + x)])
        root = np.sqrt(max(self._n - at.level - 3, 0.0))
        made = degrees[source[entries]] > at.level
        any_test = np.where(made.reshape(2, -1).any(axis=0), z_score(R_MAX, self._n, at.level), np.inf)
        z[tested] = np.minimum(z[tested], any_test)
        least = np.zeros(len(keys))
        least[entries] = np.tile(np.tanh(z[tested] / root) ** 2, 2)
        targets = np.bincount(source[entries], minlength=p)
        outlook = outlook_of(at.level, degrees, targets)

        dev.scratch.reset()
        arrays = [self._upload(a) for a in (at.offsets, at.neighbours, source, least)]
        best = dev.cp.empty(len(keys), dtype=np.uint64)
        dev.cp.cuda.runtime.memsetAsync(best.data.ptr, 0xFF, best.nbytes, dev.stream.ptr)
        dev.cp.cuda.runtime.memsetAsync(self._counters.data.ptr, 0, self._counters.nbytes, dev.stream.ptr)
        start, column, rows, smallest = (int(a.data.ptr) for a in arrays)
        graph = Graph(None, None, start, column, rows, best.data.ptr, smallest, None, p)
        kept = self._matrices(graph, degrees, entries)
        level = level_of(dev, p, self._counters, at.level, at.cutoff)
        unknown = self._launch(graph, level, outlook, degrees)
        (lowest,) = dev.transfers.download((smallest, np.float64, (len(keys),)))
        dev.wait()
        kept.clear()

        lower = lowest[entries] < least[entries]
        new = np.where(lower, z_score(np.sqrt(lowest[entries]), self._n, at.level), np.inf).reshape(2, -1).min(axis=0)
        z[tested] = np.minimum(z[tested], new)
        wanted = np.zeros(len(keys), dtype=np.bool_)
        wanted[entries[made]] = True
        return unknown & wanted

    def _launch(self, graph: Graph, level: Level, outlook: Outlook, degrees: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Launch search and tests; returns the ordered pairs that are left, which may be no targets at all."""
        dev, pairs = self._dev, outlook.pairs
        self._load(level.level, outlook)
        found, decided = None, np.ones(pairs, dtype=np.uint8)
        if outlook.tests_at_most > FEW_TESTS:
            found = search.launch(dev, graph, level, outlook, minimum=True)
            opened, decided = dev.transfers.download(
                (found.left, np.int32, (len(degrees),)), (found.decided, np.uint8, (pairs,))
            )
            dev.wait()
            if float((opened * comb(degrees - 1, level.level)).sum()) > MANY_TESTS:
                return np.not_equal(decided, 1)
        self._tests.launch_walk(dev, graph, level, outlook, found.left if found else None)
        return np.zeros(pairs, dtype=np.bool_)

    def _load(self, level: int, outlook: Outlook) -> None:
        wanted = [*self._tests.of_pruning(search.kernels(level)), *self._tests.kernels(level, outlook)]
        self._dev.kernels.load(wanted, "compiling the search for the largest p-values, once per machine")


class RowSearch(Search):
    """The search with a matrix for each row, which is computed anew for each level."""

    def _read(self, data: SuffStat) -> schur.SchurTests:
        assert data.rows is not None
        self._columns = correlation.centred(self._dev, data.rows, by_column=True)
        return sieve.RowTests(self._dev.processors, self._dev.shared_block, prune=False)

    def _put_states(self, tested: NDArray[np.bool_]) -> None:
        """They lie in a list of the pairs of each level."""

    def _matrices(self, graph: Graph, degrees: NDArray[np.int64], entries: NDArray[np.int64]) -> list[Any]:
        state = np.zeros(int(degrees.sum()), dtype=np.uint8)
        state[entries] = _LIVE
        arrays = state, *hubs.layout(degrees)
        kept = [self._upload(a) for a in arrays]
        graph.G, graph.matrix, graph.width, graph.place = (int(a.data.ptr) for a in kept)
        C = self._dev.cp.empty(int(arrays[1][-1]))
        graph.C = C.data.ptr
        hubs.launch_matrices(self._dev, graph, self._columns, C, int(self._n))
        return [*kept, C]


def outlook_of(level: int, degrees: NDArray[np.int64], targets: NDArray[np.int64]) -> Outlook:
    """The tests of `targets` pairs in each row."""
    rows = (targets > 0) & (degrees > level)
    classes = np.bincount(np.searchsorted(tuning.BOUNDS, degrees[rows]), minlength=6)
    sets, tests = comb(degrees, level)[rows].sum(), (targets * comb(degrees - 1, level))[rows].sum()
    widest = int(degrees.max(initial=0))
    return Outlook(int(degrees.sum()), widest, 0, tuple(classes.tolist()), float(sets), float(tests), False)
