"""Tests without bounds over the graph between levels: each pair is tested given one set after the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.cpu.graph import Findings, Graph, Targets
from pycupc.engines.cpu.row_items import MOST_COUNTED
from pycupc.engines.cpu.setwise_walk import Found, pairs_of_level, tests_of_sets
from pycupc.engines.cpu.threads import Work
from pycupc.engines.cpu.tuning import INLINE_TESTS, TASK_TESTS
from pycupc.engines.cpu.turn_walk import unconditional, work_on_sets
from pycupc.engines.protocol import Division, Floats, Ints, Mask, Pairs
from pycupc.independence.setwise import SetwiseTest
from pycupc.system.machine import in_threads


class SetwiseTests:
    """Tests of which only p-values are known; `gaussian.GaussianTests` has the same methods.

    `side_b_of_level0`, tuple of int32 (m,), int32 (m,), float64 (m,): the pairs x > y that level 0 has removed on side
    B, because the test is not symmetric, and their p-values.
    """

    def __init__(self, test: SetwiseTest, n_threads: int) -> None:
        self._test, self._n_threads, test.threads = test, n_threads, n_threads
        none = np.zeros(0, dtype=np.int32)
        self.side_b_of_level0 = none, none, np.zeros(0)

    def level0(self, cutoff: float, gaps: Pairs | None, fixed: Pairs | None, division: Division) -> Graph:
        """The graph that level 0 leaves; it is not divided."""
        p, at_once = self._test.p, self._test.at_once
        rows = max(1, (at_once or TASK_TESTS // self._work(1)) // p)
        threads = 1 if at_once or self._work(p * (p - 1) // 2) < INLINE_TESTS else self._n_threads
        blocks = pairwise([*range(0, p, rows), p])
        found = in_threads(lambda block: self._pairs(*block, gaps, fixed), blocks, threads)
        x, y, z, is_fixed = map(np.concatenate, zip(*found, strict=True))
        if not self._test.symmetric:
            x, y, z, is_fixed = self._tested_back(x, y, z, is_fixed)
        return Graph.of_edges(p, x, y, is_fixed, z)

    def _pairs(self, low: int, high: int, gaps: Pairs | None, fixed: Pairs | None) -> tuple[Ints, Ints, Floats, Mask]:
        """Edges x < y of rows low .. high - 1: x, y, minus their p-value (inf if fixed), and whether they are fixed."""
        pairs = np.arange(self._test.p)[None, :] > np.arange(low, high)[:, None]
        if gaps is not None:
            pairs &= ~gaps.block(low, high)
        x, y = np.nonzero(pairs)
        x += low
        is_fixed = np.zeros(len(x), dtype=np.bool_) if fixed is None else fixed.holds(x, y)
        kept, p_value = is_fixed.copy(), np.full(len(x), -np.inf)
        tested = np.flatnonzero(~is_fixed)
        independent, p_value[tested] = unconditional(self._test, x[tested], y[tested])
        kept[tested] = ~independent
        return x[kept].astype(np.int32), y[kept].astype(np.int32), -p_value[kept], is_fixed[kept]

    def _tested_back(self, x: Ints, y: Ints, z: Floats, fixed: Mask) -> tuple[Ints, Ints, Floats, Mask]:
        """The edges of side A that side B leaves as well."""
        stays, again = np.ones(len(x), dtype=np.bool_), np.flatnonzero(~fixed)
        independent, p = unconditional(self._test, y[again].astype(np.int64), x[again].astype(np.int64))
        z[again] = np.minimum(z[again], -p)
        gone = again[independent]
        stays[gone] = False
        order = np.lexsort((x[gone], y[gone]))
        self.side_b_of_level0 = y[gone][order], x[gone][order], p[independent][order]
        return x[stays], y[stays], z[stays], fixed[stays]

    def rounds(
        self, graph: Graph, targets: Targets, level: int, cutoff: float, findings: Findings
    ) -> Iterator[tuple[Work, int]]:
        """The tests of one side of a level >= 1: one round, and the work in it."""
        degrees = graph.degrees
        too_many = (targets.per_row > 0) & subsets.are_too_many(degrees, level)
        subsets.refuse(too_many, degrees, level, f"tests of {self._test.name} data have no bounds")
        entries = np.flatnonzero(targets.chosen)
        tests = tests_of_sets(np.repeat(degrees, degrees)[entries] - 1, level)
        pairs = pairs_of_level(graph, entries, tests)
        total = 0 if self._test.at_once else self._work(tests.sum())
        n_threads = self._n_threads if total >= INLINE_TESTS else 1
        yield work_on_sets(self._test, pairs, level, Found.of_level(findings), n_threads), total

    def seconds(self, graph: Graph, targets: Targets, level: int) -> Floats:
        """Estimated seconds of one thread for the targets of each row, float64 (p,)."""
        sets = subsets.by_degree(lambda d: subsets.about(d - 1, level), graph.degrees)
        seconds: Floats = targets.per_row * sets * self._test.seconds
        return seconds

    def count_pruned(self, made: int, bounds: int) -> None:
        """As `GaussianTests.count_pruned`: there are none."""

    def take_counts(self) -> tuple[int, int]:
        """As `GaussianTests.take_counts`."""
        return 0, 0

    def z(self, smallest: Floats, level: int) -> Floats:
        """Minus the largest p-value of the tests of a level; inf stays inf."""
        return smallest

    def _work(self, tests: float) -> int:
        return int(min(tests * max(self._test.cost, 1.0), MOST_COUNTED))
