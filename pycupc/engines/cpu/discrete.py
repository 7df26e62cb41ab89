"""The G^2 tests over the graph between levels: one walk of a row for all its targets."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.cpu.contingency_walk import DiscreteSide, walk_sets, work_space
from pycupc.engines.cpu.enumerated import EnumeratedTests
from pycupc.engines.cpu.graph import Findings, Graph, Targets
from pycupc.engines.cpu.queue import Queue
from pycupc.engines.cpu.threads import State, Task
from pycupc.engines.cpu.tuning import OBSERVATIONS_PER_GAUSSIAN_TEST, TASK_OBSERVATIONS
from pycupc.engines.cpu.walk_state import Items, Outcomes
from pycupc.independence.discrete import contingency
from pycupc.independence.discrete.family import DiscreteTest
from pycupc.independence.discrete.suffstat import DiscreteSuffStat


class DiscreteTests(EnumeratedTests):
    """G^2 tests of codes."""

    def __init__(self, test: DiscreteTest) -> None:
        super().__init__(test)
        self._data = test.prepared
        self._n = int(self._data.codes.shape[1])

    def rehearsal(self) -> DiscreteTest:
        """A test of four variables that are copies of each other, for compiling."""
        codes = np.tile(np.arange(2), 100)[:, None].repeat(4, axis=1)
        return DiscreteTest(DiscreteSuffStat(codes, adaptDF=False), 0.01)

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
