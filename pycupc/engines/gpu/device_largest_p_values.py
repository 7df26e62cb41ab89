"""The smallest |z| of all tests of each edge, which gives pMax, where pruning has answered tests without making them.

The decisions of a run do not need it, so it is found when somebody asks: for the edges of the final graph alone, level
by level. The search (kernels/pruning/search_pairs.cu) then looks for the smallest r^2 of each pair, with the
smallest known so far in place of the cutoff; pairs that it cannot decide are tested given all their sets. The rest,
where that would take too long, is left to the CPU.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from pycupc.engines.gpu import device_correlation, hubs, schur
from pycupc.engines.gpu.device import Device, borrowed_device, session
from pycupc.engines.gpu.device_graph import LIVE
from pycupc.engines.gpu.levels import GraphOfHost, Outlook
from pycupc.engines.gpu.pruning import device_branch_and_bound
from pycupc.engines.protocol import EngineError, Floats, Ints
from pycupc.independence.gaussian.fisher_z import z_score
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.independence.gaussian.tolerances import R_MAX
from pycupc.system.localised_message import Message
from pycupc.system.logging import LARGEST_P, logger
from pycupc.system.machine import available_cores

#: A level with at most FEW_TESTS tests makes them all. If the pairs that no search decides have more than MANY_TESTS
#: tests, they are left to the CPU.
FEW_TESTS, MANY_TESTS = 1e10, 2e12


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


@dataclass(frozen=True)
class SmallestZ:
    """Finds the smallest |z| of all tests of each edge when it is called; see `pycupc.engines.protocol.UnfinishedZ`."""

    index: int  # number of the CUDA device
    data: SuffStat
    cutoffs: dict[int, float]  # of the levels at which pruning decided pairs; see `PendingLevel`
    removed: list[tuple[int, Ints, Ints]]  # each level from 1 on, and the ends of the edges that it removed
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
        begin, z, left = time.perf_counter(), self.z, self._pending()
        try:
            with borrowed_device(self.index) as dev, session(dev, dev.scratch.release):
                z, left = Search(dev, self.data, self.x, self.y, by_rows=self._has_rows).levels(left, z)
            logger.info("smallest |z| of all tests of %d edges, for pMax: %.3f s", len(z), time.perf_counter() - begin)
        except EngineError as error:
            text = Message("the largest p-values are searched for on the CPU: {error}", error=error)
            warnings.warn(text, stacklevel=2)
        return self._on_cpu(left, z) if left else z

    def _pending(self) -> list[PendingLevel]:
        """The graph of a level has the edges of the next graph, and the edges that the level removed."""
        p, keys, out = self.data.p, self._keys(self.x, self.y), []
        for level, x, y in reversed(self.removed):
            keys = np.sort(np.concatenate([keys, self._keys(x, y)]))
            if level in self.cutoffs:
                offsets, neighbours = np.searchsorted(keys, np.arange(p + 1) * p), (keys % p).astype(np.int32)
                out.append(PendingLevel(level, self.cutoffs[level], offsets, neighbours))
        return out[::-1]

    def _keys(self, x: Ints, y: Ints) -> NDArray[np.int64]:
        p = self.data.p
        return np.concatenate([x.astype(np.int64) * p + y, y.astype(np.int64) * p + x])

    def _on_cpu(self, left: list[PendingLevel], z: Floats) -> Floats:
        from pycupc.engines.cpu.pruning import (
            largest_p_values,  # here: it loads Numba, which most runs on the GPU do without
        )
        from pycupc.engines.cpu.submatrices import ColumnSource, MatrixSource

        source = ColumnSource(self.data.correlations.columns()) if self._has_rows else MatrixSource(self.data.C)
        levels = [
            largest_p_values.PrunedTests.whole(v.level, v.cutoff, v.offsets, v.neighbours, v.unknown) for v in left
        ]
        return largest_p_values.SmallestZ(source, self.data.n, available_cores(), levels, self.x, self.y, z)()


class Search:
    """The search on one device; use it inside a `session`. Arguments as of `SmallestZ`."""

    def __init__(self, dev: Device, data: SuffStat, x: Ints, y: Ints, *, by_rows: bool) -> None:
        self._dev, self._n, self._x, self._y, self._p, self._by_rows = dev, data.n, x, y, data.p, by_rows
        self._tests = schur.SchurTests(dev.processors, dev.shared_block, prune=False)
        self._C: Any = None  # the correlations, and then the states, of all pairs; else the columns
        self._G: Any = None
        self._columns: Any = None
        if data.has_C or data.rows is None:
            self._C = dev.transfers.copied(data.C.astype(np.float64, copy=False))
        elif by_rows:
            self._columns = device_correlation.centred(dev, data.rows, by_column=True)
        else:
            self._C = device_correlation.correlation(dev, data.rows)

    def levels(self, pending: list[PendingLevel], z: Floats) -> tuple[Floats, list[PendingLevel]]:
        """The smallest |z| after these levels, and the remaining levels, with `unknown` pairs."""
        z, tested, left = z.copy(), np.isfinite(z), []
        if not self._by_rows:
            G = np.zeros((self._p, self._p), dtype=np.uint8)
            G[self._x[tested], self._y[tested]] = G[self._y[tested], self._x[tested]] = LIVE
            self._G = self._dev.transfers.copied(G)
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

        dev.scratch.reset()
        graph = self._graph(degrees, entries, start=at.offsets, column=at.neighbours, source=source, least=least)
        unknown = self._launch(graph, at, Outlook.of(at.level, degrees, targets), degrees)
        (lowest,) = dev.fetch((graph.on_device.least, np.float64, (len(keys),)))

        lower = lowest[entries] < least[entries]
        new = np.where(lower, z_score(np.sqrt(lowest[entries]), self._n, at.level), np.inf).reshape(2, -1).min(axis=0)
        z[tested] = np.minimum(z[tested], new)
        wanted = np.zeros(len(keys), dtype=np.bool_)
        wanted[entries[made]] = True
        return unknown & wanted

    def _graph(self, degrees: NDArray[np.int64], entries: NDArray[np.int64], **lists: NDArray[Any]) -> GraphOfHost:
        """The graph of a level, in which `entries` are tested, with its correlations."""
        if not self._by_rows:
            return GraphOfHost(self._dev, self._p, **lists, C=self._C, G=self._G)
        lists["G"] = np.zeros(len(lists["column"]), dtype=np.uint8)
        lists["G"][entries] = LIVE
        matrix, lists["width"], lists["place"] = hubs.layout(degrees)
        graph = GraphOfHost(self._dev, self._p, **lists, matrix=matrix, C=self._dev.cp.empty(int(matrix[-1])))
        hubs.launch_matrices(self._dev, graph.on_device, self._columns, graph.arrays["C"], int(self._n))
        return graph

    def _launch(
        self, graph: GraphOfHost, at: PendingLevel, outlook: Outlook, degrees: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Launch search and tests; returns the ordered pairs that are left, which may be no targets at all."""
        dev, pairs, level = self._dev, outlook.pairs, graph.begin(at.level, at.cutoff)
        wanted = [*device_branch_and_bound.kernels(at.level), *self._tests.kernels(at.level, outlook)]
        dev.kernels.load(wanted, self._by_rows, "compiling the search for the largest p-values, once per machine")
        found, decided = None, np.ones(pairs, dtype=np.uint8)
        if outlook.tests_at_most > FEW_TESTS:
            found = device_branch_and_bound.launch(dev, graph.on_device, level, outlook, minimum=True)
            opened, decided = dev.fetch((found.left, np.int32, (len(degrees),)), (found.decided, np.uint8, (pairs,)))
            if float((opened * comb(degrees - 1, at.level)).sum()) > MANY_TESTS:
                return np.not_equal(decided, 1)
        self._tests.launch_walk(dev, graph.on_device, level, outlook, found.left if found else None)
        return np.zeros(pairs, dtype=np.bool_)
