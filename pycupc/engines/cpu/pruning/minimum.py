"""The smallest |z| of the tests of an edge, which gives pMax, where pruning has answered tests without making them.

The decisions of a run do not need it, so it is found afterwards: for the edges of the final graph alone, and with the
smallest value known so far in place of the cutoff.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass

import numpy as np

from pycupc.engines.base import Floats, Ints, Mask
from pycupc.engines.cpu import threads
from pycupc.engines.cpu.certainty import Cutoff
from pycupc.engines.cpu.graph import Graph, Targets
from pycupc.engines.cpu.pruning.plan import WAYS, PrunedSide, rows_of_way, split
from pycupc.gaussian import fisher_z

logger = logging.getLogger("pycupc")


@dataclass(frozen=True)
class PrunedTests:
    """A level with pruned rows.

    Attributes
    ----------
    level : int
    cutoff : Cutoff
    graph : Graph
        At the start of the level.
    pruned : bool (E,)
        Ordered pairs whose tests were answered by pruning.
    """

    level: int
    cutoff: Cutoff
    graph: Graph
    pruned: Mask


@dataclass(frozen=True)
class SmallestZ:
    """Finds the smallest |z| of the tests of each edge when it is called.

    Attributes
    ----------
    C : float64 (p, p)
    n : float
        Number of observations.
    n_threads : int
    levels : list of PrunedTests
    x, y : int32 (m,)
        The edges.
    z : float64 (m,)
        The smallest |z| of the tests that were made.
    """

    C: Floats
    n: float
    n_threads: int
    levels: list[PrunedTests]
    x: Ints
    y: Ints
    z: Floats

    def __call__(self) -> Floats:
        """The smallest |z| of all tests of each edge, float64 (m,)."""
        begin, z = time.perf_counter(), self.z.copy()
        for tests in self.levels:
            for x, y in ((self.x, self.y), (self.y, self.x)):
                self._lower(z, tests, x, y)
        logger.info("smallest |z| of all tests of %d edges, for pMax: %.3f s", len(z), time.perf_counter() - begin)
        return z

    def _lower(self, z: Floats, tests: PrunedTests, x: Ints, y: Ints) -> None:
        """Lower z where a test of the ordered pairs (x, y) at this level is smaller."""
        graph, level = tests.graph, tests.level
        entry = graph.entries(x, y)
        at = np.flatnonzero(tests.pruned[entry])
        entry = entry[at]
        if not len(entry):
            return
        chosen = np.zeros(len(graph.neighbours), dtype=np.bool_)
        chosen[entry] = True
        bound = np.zeros(len(graph.neighbours))
        bound[entry] = np.maximum(np.tanh(z[at] / np.sqrt(self.n - level - 3)) ** 2, tests.cutoff.high)
        targets = Targets(chosen, np.bincount(x[at], minlength=len(graph.offsets) - 1), more=False)
        findings = graph.no_findings()
        for way in WAYS:
            part, _ = split(graph, targets, rows_of_way(way, graph.degrees(), level))
            work = PrunedSide(self.C, graph, part, level, way, tests.cutoff, findings, bound, minimum=True)
            threads.run(work.tasks(), self.n_threads, threads.INLINE_TESTS)
        found = findings.smallest[entry]
        lower = np.isfinite(found)
        z[at[lower]] = np.minimum(z[at[lower]], fisher_z.z_score(np.sqrt(found[lower]), self.n, level))
