"""The Gaussian tests over the graph between levels: which code runs which level, and what a level needs.

A second family of tests is a sibling with the same three methods.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pycupc.engines.base import Floats, Mask
from pycupc.engines.cpu import level1, matrix
from pycupc.engines.cpu.certainty import Cutoff
from pycupc.engines.cpu.graph import Findings, Graph, Targets
from pycupc.engines.cpu.queue import TASK_TESTS, Queue
from pycupc.engines.cpu.threads import State, Task
from pycupc.gaussian import fisher_z


class GaussianTests:
    """Tests of partial correlations.

    Parameters
    ----------
    C : float64 (p, p), contiguous
    n : float
        Number of observations.
    """

    def __init__(self, C: Floats, n: float) -> None:
        self._C, self._n = C.view(), n
        self._C.flags.writeable = False  # Numba compiles for either kind of array, so there is one only

    def level0(self, cutoff: float, gaps: Mask | None, fixed: Mask | None, n_threads: int) -> Graph:
        """The graph that level 0 leaves."""
        return matrix.level0(self._C, self._n, cutoff, gaps, fixed, n_threads)

    def tasks(self, graph: Graph, targets: Targets, level: int, cutoff: float, findings: Findings) -> Iterator[Task]:
        """The tests of one side of a level >= 1."""
        certain = Cutoff.around(cutoff)
        if level > 1:
            return Queue(self._C, graph, targets, level, certain, findings).tasks()
        return self._level1_tasks(graph, targets, certain, findings)

    def z(self, smallest: Floats, level: int) -> Floats:
        """|z| of the smallest statistic among the tests of a level; inf stays inf."""
        return np.where(np.isinf(smallest), np.inf, fisher_z.z_score(np.sqrt(smallest), self._n, level))

    def _level1_tasks(self, graph: Graph, targets: Targets, cutoff: Cutoff, findings: Findings) -> Iterator[Task]:
        tests = targets.per_row * (graph.degrees() - 1)
        for low, high in _row_blocks(tests):

            def task(state: State, rows: tuple[int, int] = (low, high)) -> int:
                level1.run_rows(self._C, graph, targets, cutoff, rows, findings, state)
                return int(tests[rows[0] : rows[1]].sum())

            yield task


def _row_blocks(tests: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Consecutive rows low .. high - 1 of about `TASK_TESTS` tests each."""
    cuts = np.flatnonzero(np.diff(np.cumsum(tests) // TASK_TESTS)) + 1
    return list(pairwise([0, *cuts.tolist(), len(tests)]))
