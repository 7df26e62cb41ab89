"""The G^2 tests over the graph between levels: the sibling of `gaussian`, with the same methods."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import comb

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.base import Division, Floats, Ints, Mask, Pairs
from pycupc.engines.cpu.contingency_walk import DiscreteSide, walk_sets, work_space
from pycupc.engines.cpu.graph import Findings, Graph, Made, Separated, Targets
from pycupc.engines.cpu.pruning.smallest import PrunedTests
from pycupc.engines.cpu.queue import Queue
from pycupc.engines.cpu.threads import State, Task
from pycupc.engines.cpu.tuning import INLINE_TESTS, OBSERVATIONS_PER_GAUSSIAN_TEST, TASK_OBSERVATIONS
from pycupc.engines.cpu.walk_state import Items, Outcomes
from pycupc.independence.discrete import contingency
from pycupc.independence.discrete.contingency import Data
from pycupc.independence.discrete.family import DiscreteTest
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.system.machine import in_threads


class DiscreteTests:
    """G^2 tests of codes."""

    #: Levels from here on share their compiled code.
    LEVELS_COMPILED = 1

    def __init__(self, data: Data) -> None:
        self._data = data
        self._n = int(data.codes.shape[1])

    @staticmethod
    def rehearsal() -> DiscreteTest:
        """A test of four variables that are copies of each other, for compiling."""
        codes = np.tile(np.arange(2), 100)[:, None].repeat(4, axis=1)
        return DiscreteTest(DiscreteSuffStat(codes, adaptDF=False), 0.01)

    def level0(
        self, cutoff: float, gaps: Pairs | None, fixed: Pairs | None, n_threads: int, division: Division
    ) -> Graph:
        """The graph that level 0 leaves; it is not divided."""
        p = len(self._data.codes)
        blocks = pairwise([*range(0, p, max(1, TASK_OBSERVATIONS // (p * self._n))), p])
        threads = n_threads if self._work(p * (p - 1) // 2) >= INLINE_TESTS else 1
        found = in_threads(lambda rows: self._pairs(*rows, gaps, fixed), blocks, threads)
        x, y, z, is_fixed = map(np.concatenate, zip(*found, strict=True))
        return Graph.of_edges(p, x, y, is_fixed, z)

    def _pairs(self, low: int, high: int, gaps: Pairs | None, fixed: Pairs | None) -> tuple[Ints, Ints, Floats, Mask]:
        """Edges x < y of rows low .. high - 1: x, y, minus their p-value (inf if fixed), and whether they are fixed."""
        p = len(self._data.codes)
        pairs = np.arange(p)[None, :] > np.arange(low, high)[:, None]
        if gaps is not None:
            pairs &= ~gaps.block(low, high)
        x, y = np.nonzero(pairs)
        x += low
        is_fixed = np.zeros(len(x), dtype=np.bool_) if fixed is None else fixed.holds(x, y)
        kept, p_value = is_fixed.copy(), np.full(len(x), -np.inf)
        tested = np.flatnonzero(~is_fixed)
        none = np.empty((len(tested), 0), np.int64)
        independent, p_value[tested] = contingency.single_tests(self._data, x[tested], y[tested], none)
        kept[tested] = ~independent
        return x[kept].astype(np.int32), y[kept].astype(np.int32), -p_value[kept], is_fixed[kept]

    def resume(self, levels: list[PrunedTests], graph: Graph) -> None:
        """All tests were made."""

    def load(self, graph: Graph, level: int) -> None:
        """Nothing to load beside the code of the tests themselves."""

    def rounds(
        self, graph: Graph, targets: Targets, level: int, cutoff: float, findings: Findings
    ) -> Iterator[tuple[Iterator[Task], int]]:
        """The tests of one side of a level >= 1: one round of tasks, and the work in it."""
        degrees = graph.degrees()
        too_many = (targets.per_row > 0) & subsets.are_too_many(degrees, level)
        subsets.refuse(too_many, degrees, level, "tests of discrete data have no bounds")
        hint = np.full(len(graph.neighbours), -1, dtype=np.int64)
        binomials = subsets.binomial_table(int(degrees.max(initial=0)), level)
        side = DiscreteSide(self._data, graph.offsets, graph.neighbours, targets.chosen, hint, binomials, level)
        work = self._work(subsets.level_tests(degrees, targets.per_row, level))
        yield Queue(graph, targets, level, findings, _Sets(side), hint).tasks(), work

    def complete(self, graph: Graph, level: int, cutoff: float, findings: Findings, separated: Separated) -> Made:
        """All tests were made."""
        return Made(separated.n_tests, 0)

    def unfinished_z(self, n_threads: int, x: Ints, y: Ints, z: Floats) -> None:
        """All tests were made."""
        return

    def z(self, smallest: Floats, level: int) -> Floats:
        """Minus the largest p-value of the tests of a level; inf stays inf."""
        return smallest

    def _work(self, tests: int) -> int:
        return tests * max(self._n // OBSERVATIONS_PER_GAUSSIAN_TEST, 1)


class _Sets:
    """G^2 tests of a level, for the queue: the parts of a row are the subsets of its neighbours."""

    def __init__(self, side: DiscreteSide) -> None:
        self._side = side

    def parts(self, d: int) -> int:
        return comb(d, self._side.level)

    def task_tests(self, d: int) -> int:
        return max(1, TASK_OBSERVATIONS // int(self._side.data.codes.shape[1]))

    def walk(self, items: Items, outcomes: Outcomes, widest: int, state: State) -> None:
        data, level = self._side.data, self._side.level
        walk_sets(self._side, items, outcomes, work_space(level, widest), contingency.work_space(data, level), state)
