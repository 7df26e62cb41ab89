"""The smallest |z| of the tests of an edge, which gives pMax, where pruning has answered tests without making them.

The decisions of a run do not need it, so it is found afterwards: for the edges of the final graph alone, and with the
smallest value known so far in place of the cutoff.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass

import numpy as np

from pycupc.engines.cpu import threads
from pycupc.engines.cpu.graph import Graph, Indices
from pycupc.engines.cpu.pruning.delta import Proofs
from pycupc.engines.cpu.pruning.plan import WAYS, Pruning, rows_of_way
from pycupc.engines.cpu.pruning.pruned_sides import pruned_side
from pycupc.engines.cpu.submatrices import CorrelationSource
from pycupc.engines.cpu.tuning import INLINE_TESTS
from pycupc.engines.cpu.walk_arrays import Cutoff, Side
from pycupc.engines.protocol import Floats, Ints, Mask
from pycupc.independence.gaussian import fisher_z
from pycupc.system.logging import LARGEST_P, logger


def say_unsure(n: int) -> None:
    """Warn of n pairs whose largest p-value is not sure, if there are any."""
    if n:
        warnings.warn(
            f"pMax of {n} edges is the largest p-value met, and may be larger: the search for the largest p-value of "
            "all tests was stopped at its limit of operations (the edges themselves are certain)",
            stacklevel=3,
        )


@dataclass(frozen=True)
class PrunedTests:
    """A level with pruned rows."""

    level: int
    cutoff: Cutoff
    graph: Graph  # at the start of the level
    pruned: Mask  # (E,): ordered pairs whose tests were answered by pruning

    @classmethod
    def whole(
        cls, level: int, cutoff: float, offsets: Indices, neighbours: Ints, pruned: Mask | None = None
    ) -> PrunedTests:
        """A level of another engine; `cutoff` is the largest |r| that is independent; pruned: None for all pairs."""
        mask = np.ones(len(neighbours), dtype=np.bool_) if pruned is None else pruned
        return cls(level, Cutoff.around(cutoff), Graph.of_lists(offsets, neighbours), mask)


@dataclass(frozen=True)
class SmallestZ:
    """Finds the smallest |z| of the tests of each edge when it is called."""

    source: CorrelationSource
    n: float  # number of observations
    n_threads: int
    levels: list[PrunedTests]
    # x, y: (m,): the edges.
    x: Ints
    y: Ints
    z: Floats  # (m,): the smallest |z| of the tests that were made

    def __call__(self) -> Floats:
        """The smallest |z| of all tests of each edge, float64 (m,); of those met, with a warning, if it takes long."""
        begin, z, unsure = time.perf_counter(), self.z.copy(), np.zeros(len(self.z), dtype=np.bool_)
        pruning = Pruning(self.source, True, self.n_threads)
        for done, tests in enumerate(reversed(self.levels)):
            logger.info(LARGEST_P, tests.level, done, len(self.levels))
            proofs = Proofs.of(tests.graph)
            for x, y in ((self.x, self.y), (self.y, self.x)):
                unsure |= self._lower(z, tests, (x, y), pruning, proofs)
        say_unsure(int(unsure.sum()))
        logger.info("smallest |z| of all tests of %d edges, for pMax: %.3f s", len(z), time.perf_counter() - begin)
        return z

    def _lower(self, z: Floats, tests: PrunedTests, ends: tuple[Ints, Ints], pruning: Pruning, proofs: Proofs) -> Mask:
        """Lower z where this level has smaller tests of the ordered pairs `ends`; returns where one may be missing."""
        graph, level = tests.graph, tests.level
        entry = graph.entries(*ends)
        at = np.flatnonzero(tests.pruned[entry])
        entry, unsure = entry[at], np.zeros(len(z), dtype=np.bool_)
        if not len(entry):
            return unsure
        bound = np.zeros(len(graph.neighbours))
        bound[entry] = np.maximum(np.tanh(z[at] / np.sqrt(self.n - level - 3)) ** 2, tests.cutoff.high)
        targets = graph.targets_at(entry)
        findings = graph.no_findings()
        for way in WAYS:
            rows = (targets.per_row > 0) & rows_of_way(way, graph.degrees, level)
            rows = pruning.sound(graph, rows) if way == "walk" else rows
            part = graph.targets_at(targets.chosen & np.repeat(rows, graph.degrees))
            side = Side.of(graph, part, level, tests.cutoff)
            work = pruned_side(way, self.source, graph, part, side, findings, proofs, bound)
            threads.run(work, self.n_threads, INLINE_TESTS)
            work.settle()
            unsure[at] |= work.unsure[entry]
        found = findings.smallest[entry]
        lower = np.isfinite(found)
        z[at[lower]] = np.minimum(z[at[lower]], fisher_z.z_score(np.sqrt(found[lower]), self.n, level))
        return unsure
