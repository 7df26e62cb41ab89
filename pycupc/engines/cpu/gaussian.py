"""The Gaussian tests over the graph between levels: which code runs which level, and the data of a level.

Its sibling for the G^2 tests, with the same methods, is `discrete`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.base import EngineError, Floats, Ints, Mask, Pairs
from pycupc.engines.cpu import level1, matrix
from pycupc.engines.cpu.graph import Findings, Graph, Made, Separated, Targets
from pycupc.engines.cpu.pruning.plan import WAYS, Pruning, PruningMode, Way, split
from pycupc.engines.cpu.pruning.smallest import PrunedTests, SmallestZ
from pycupc.engines.cpu.pruning.tasks import PrunedSide, contradicted, load, sample
from pycupc.engines.cpu.queue import Queue
from pycupc.engines.cpu.threads import CAREFUL, DOUBTFUL, WANTED, State, Task
from pycupc.engines.cpu.tuning import GATHER_SHARE, TASK_TESTS
from pycupc.engines.cpu.walk import walk_items
from pycupc.engines.cpu.walk_state import Cutoff, Items, Outcomes, Side, work_space
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.partial_correlation import canonical_r, careful_address
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.system.compiled import frozen


class GaussianTests:
    """Tests of partial correlations.

    Parameters
    ----------
    C : float64 (p, p), contiguous
    n : float
        Number of observations.
    pruning : bool or {"always", "checked"}
        As of `CpuEngine`.
    """

    #: Levels from here on share their compiled code.
    LEVELS_COMPILED = 2

    def __init__(self, C: Floats, n: float, pruning: PruningMode) -> None:
        self._C, self._n = frozen(C), n
        self._pruning = Pruning(self._C, pruning)
        self._pruned_sides: list[tuple[PrunedSide, Targets]] = []  # of the level that is running
        self._pruned_levels: list[PrunedTests] = []

    @staticmethod
    def rehearsal() -> GaussianTest:
        """A test of four variables, for compiling."""
        return GaussianTest(SuffStat(np.where(np.eye(4), 1.0, 0.5), 100), 0.9)

    def level0(self, cutoff: float, gaps: Pairs | None, fixed: Pairs | None, n_threads: int) -> Graph:
        """The graph that level 0 leaves."""
        return matrix.level0(self._C, self._n, cutoff, gaps, fixed, n_threads)

    def load(self, graph: Graph, level: int) -> None:
        """Load the code that will prune a level, or compile it."""
        if not self._pruning.may_pay(graph.degrees(), level):
            return
        targets = graph.targets(level, False, graph.no_findings())
        for way in WAYS:
            if self._pruning.choose(graph, targets, level, way).any():
                load(way)

    def rounds(
        self, graph: Graph, targets: Targets, level: int, cutoff: float, findings: Findings
    ) -> Iterator[tuple[Iterator[Task], int]]:
        """The tests of one side of a level >= 1: rounds of tasks, one after the other, with the tests in each."""
        self._pruning.refuse(graph, targets, level)
        certain = Cutoff.around(cutoff)
        for way in WAYS:
            rows = self._pruning.choose(graph, targets, level, way)
            if rows.any():
                pruned, targets = split(graph, targets, rows)
                left = yield from self._pruned(graph, pruned, level, way, certain, findings)
                targets = graph.with_targets(targets, left)
        if level > 1:
            tasks = self._walks(graph, targets, level, certain, findings)
        else:
            tasks = self._level1_tasks(graph, targets, certain, findings)
        yield tasks, subsets.level_tests(graph.degrees(), targets.per_row, level)

    def _pruned(
        self, graph: Graph, pruned: Targets, level: int, way: Way, cutoff: Cutoff, findings: Findings
    ) -> Generator[tuple[Iterator[Task], int], None, Mask]:
        """Rounds that prune targets one way: a trial, and the others if that pays. Returns the targets left over."""
        bound, left = np.full(len(graph.neighbours), cutoff.high), pruned.chosen.copy()
        trial = self._pruning.on_trial(graph, pruned, level, way)
        for chosen in filter(np.any, (trial, pruned.chosen & ~trial)):
            targets = graph.targets_at(chosen)
            side = PrunedSide(self._C, graph, targets, level, way, cutoff, findings, bound)
            yield side.tasks(), subsets.level_tests(graph.degrees(), targets.per_row, level)
            side.forget_left()
            self._pruned_sides.append((side, targets))
            if self._pruning.mode == "checked":
                yield from self.check(graph, side.decided, level, cutoff, findings)
            left &= ~chosen | side.left
            if not side.pays():
                break
        return left

    def check(
        self, graph: Graph, decided: Mask, level: int, cutoff: Cutoff, findings: Findings
    ) -> Iterator[tuple[Iterator[Task], int]]:
        """Make tests of some pairs that bounds have decided: all, or in rows with many sets random ones.

        Raises
        ------
        EngineError
            If a test contradicts the findings, once the tasks have been run.
        """
        few, many = sample(graph, decided, level)
        chosen, again = np.zeros(len(findings.rank), dtype=np.bool_), graph.no_findings()
        chosen[few] = True
        targets = graph.targets_at(chosen)
        tests = subsets.level_tests(graph.degrees(), targets.per_row, level)
        yield self._walks(graph, targets, level, cutoff, again), tests
        wrong = few[again.rank[few] != findings.rank[few]].tolist()
        wrong += contradicted(self._C, graph, many, findings, level, cutoff.value)
        if wrong:
            x, y = int(graph.rows()[wrong[0]]), int(graph.neighbours[wrong[0]])
            raise EngineError(
                f"a bound is wrong at level {level}: it says rank {findings.first(wrong[0])} for the first separating "
                f"set of variables {x} and {y} (-1: none), the tests say something else; so for {len(wrong)} of "
                f"{len(few) + len(many)} pairs checked. Please report this with your data"
            )

    def complete(self, graph: Graph, level: int, cutoff: float, findings: Findings, separated: Separated) -> Made:
        """Compute the partial correlations that pruning left out, and remember which tests it answered."""
        if not self._pruned_sides:
            return Made(separated.n_tests, 0)
        for i in np.flatnonzero(np.isnan(separated.r)):
            separated.r[i] = canonical_r(self._C, separated.x[i], separated.y[i], separated.S[i])
        made, bounds, pruned = separated.n_tests, 0, np.zeros(len(graph.neighbours), dtype=np.bool_)
        for side, targets in self._pruned_sides:
            answered = targets.chosen & ~side.left
            pruned |= answered
            found = findings.rank >= 0
            in_vain = np.bincount(graph.rows()[answered & ~found], minlength=len(graph.offsets) - 1)
            made += side.made - findings.n_tests(np.flatnonzero(answered & found))
            made -= subsets.level_tests(graph.degrees(), in_vain, level)
            bounds += side.bounds
        self._pruned_levels.append(PrunedTests(level, Cutoff.around(cutoff), graph, pruned))
        self._pruned_sides = []
        return Made(made, bounds)

    def unfinished_z(self, n_threads: int, x: Ints, y: Ints, z: Floats) -> SmallestZ | None:
        """The object that finds the smallest |z| of each edge; None if all tests were made."""
        if not self._pruned_levels:
            return None
        return SmallestZ(self._C, self._pruning, self._n, n_threads, self._pruned_levels, x, y, z)

    def z(self, smallest: Floats, level: int) -> Floats:
        """|z| of the smallest statistic among the tests of a level; inf stays inf."""
        return np.where(np.isinf(smallest), np.inf, fisher_z.z_score(np.sqrt(smallest), self._n, level))

    def _walks(self, graph: Graph, targets: Targets, level: int, cutoff: Cutoff, findings: Findings) -> Iterator[Task]:
        """The tests of a level >= 2 by walks over prefixes."""
        hint = np.full(len(graph.neighbours), -1, dtype=np.int64)
        binomials = subsets.binomial_table(int(graph.degrees().max(initial=0)), level)
        side = Side(self._C, graph.offsets, graph.neighbours, targets.chosen, hint, binomials, cutoff, level)
        return Queue(graph, targets, level, findings, _Walk(side), hint).tasks()

    def _level1_tasks(self, graph: Graph, targets: Targets, cutoff: Cutoff, findings: Findings) -> Iterator[Task]:
        tests = targets.per_row * (graph.degrees() - 1)
        for low, high in _row_blocks(tests):

            def task(state: State, rows: tuple[int, int] = (low, high)) -> int:
                level1.run_rows(self._C, graph, targets, cutoff, rows, findings, state)
                return int(tests[rows[0] : rows[1]].sum())

            yield task


class _Walk:
    """Gaussian tests of a level >= 2, for the queue: the parts of a row are its prefixes."""

    def __init__(self, side: Side) -> None:
        self._side = side

    def parts(self, d: int) -> int:
        return comb(d - 1, self._side.level - 1)

    def task_tests(self, d: int) -> int:
        return max(TASK_TESTS, GATHER_SHARE * d * d)

    def walk(self, items: Items, outcomes: Outcomes, widest: int, state: State) -> None:
        space, doubtful = work_space(self._side.level, widest), state[DOUBTFUL]
        walk_items(self._side, items, outcomes, *space, state)
        if state[WANTED]:  # for the first time: load it and begin again
            state[DOUBTFUL], state[CAREFUL], state[WANTED] = doubtful, careful_address(), 0
            walk_items(self._side, items, outcomes, *space, state)


def _row_blocks(tests: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Consecutive rows low .. high - 1 of about `TASK_TESTS` tests each."""
    cuts = np.flatnonzero(np.diff(np.cumsum(tests) // TASK_TESTS)) + 1
    return list(pairwise([0, *cuts.tolist(), len(tests)]))
