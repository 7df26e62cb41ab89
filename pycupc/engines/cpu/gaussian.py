"""The Gaussian tests over the graph between levels: which code runs which level, and the data of a level.

`setwise_levels` has the other tests, by the same methods.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.cpu import level0, level0_sieve, level1
from pycupc.engines.cpu.graph import ANSWERED, TESTED, Findings, Graph, Indices, Separated, Targets
from pycupc.engines.cpu.pruning.bounded_tasks import PrunedSide, load
from pycupc.engines.cpu.pruning.largest_p_values import PrunedTests, SmallestZ
from pycupc.engines.cpu.pruning.plan import Pruning, PruningMode, Way
from pycupc.engines.cpu.row_tasks import Queue
from pycupc.engines.cpu.set_walk import walk_items
from pycupc.engines.cpu.submatrices import ColumnSource, CorrelationSource, MatrixSource, canonical_of, walks
from pycupc.engines.cpu.threads import CAREFUL, DOUBTFUL, STOP, WANTED, State, Task
from pycupc.engines.cpu.tuning import (
    BLOCK,
    GATHER_SHARE,
    HUB,
    INLINE_TESTS,
    MOST_TASKS,
    PREFIX_SECONDS,
    ROWS_SHARE,
    TASK_TESTS,
    TEST_SECONDS,
    TESTS_PER_SECOND,
)
from pycupc.engines.cpu.walk_arrays import Cutoff, Items, Matrices, Outcomes, Side, WalkWork, work_space
from pycupc.engines.protocol import Division, Floats, Ints, Mask, Pairs
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.centred_columns import Columns
from pycupc.independence.gaussian.correlations import Correlations
from pycupc.independence.gaussian.partial_correlation import canonical_space, careful_address
from pycupc.system.machine import free_memory

#: See `GaussianTests`.
Reading = Literal["dense", "rows", "sieve"]


class GaussianTests:
    """Tests of partial correlations.

    `n`: number of observations. `pruning`, bool or {"always", "checked"}: as of `CpuEngine`. `reading`, {"dense",
    "rows", "sieve"}: whether tests read the matrix of all variables, or matrices of rows; "sieve": what costs less
    after level 0.
    """

    #: The tests are symmetric, see `setwise_levels.SetwiseTests`.
    side_b_of_level0 = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0)

    def __init__(
        self, correlations: Correlations, n: float, pruning: PruningMode, n_threads: int, reading: Reading
    ) -> None:
        self._correlations, self._n, self._n_threads, self._reading = correlations, n, n_threads, reading
        dense = reading == "dense"
        self._source: CorrelationSource = (
            MatrixSource(correlations.dense()) if dense else ColumnSource(correlations.columns())
        )
        self._pruning = Pruning(self._source, pruning, n_threads)
        self._pruned_sides: list[PrunedSide] = []  # of the level that is running
        self._pruned_levels: list[PrunedTests] = []

    @property
    def columns(self) -> Columns | None:
        """The data, if the tests read matrices of rows."""
        return self._source.columns if isinstance(self._source, ColumnSource) else None

    def level0(self, cutoff: float, gaps: Pairs | None, fixed: Pairs | None, division: Division) -> Graph:
        """The graph that level 0 leaves."""
        source, how = self._source, (self._n, cutoff, gaps, fixed, self._n_threads)
        if isinstance(source, MatrixSource):
            return level0.level0(source.C, *how)
        graph = level0_sieve.level0(source.columns, *how, self._correlations.progress, division)
        self._choose_source(source, graph)
        return graph

    def _choose_source(self, source: ColumnSource, graph: Graph) -> None:
        """With the reading "sieve", go on with the matrix of all variables if that costs less for this graph."""
        entries = float(((graph.degrees + 1.0) ** 2).sum())
        if self._reading == "sieve" and entries > ROWS_SHARE * source.p**2 and 8 * source.p**2 < free_memory():
            self._source = MatrixSource(self._correlations.dense())
            self._pruning = Pruning(self._source, self._pruning.mode, self._n_threads)

    def resume(self, levels: list[PrunedTests], graph: Graph) -> None:
        """Go on with `graph`, after levels of which some are pruned."""
        self._pruned_levels = levels
        if isinstance(self._source, ColumnSource):
            self._choose_source(self._source, graph)

    def answered(self, level: int) -> Mask | None:
        """The entries of this level, the last one, that pruning answered; None if it answered none."""
        last = self._pruned_levels[-1] if self._pruned_levels else None
        return last.pruned if last is not None and last.level == level else None

    def load_pruning(self, graph: Graph, level: int) -> None:
        """Load the code that will prune a level, or compile it."""
        for way in self._pruning.ways(graph, level):
            targets = graph.targets(level, False, graph.no_findings())
            if self._pruning.choose(graph, targets, level, way).any():
                load(way)

    def at_once(self, graph: Graph, level: int, cutoff: float, findings: Findings) -> int | None:
        """Make the tests of a level >= 1 if it is small; returns how many are doubtful, None if they are not made.

        Both sides together: rows ascend, so that side A of a pair comes before its side B.
        """
        source, widest, wide = self._source, graph.widest, subsets.is_wide(graph.widest, level)
        if wide or self._pruning.mode == "always" or not isinstance(source, MatrixSource):
            return None
        rows, table = np.flatnonzero(graph.degrees > level), subsets.binomial_table(widest, level)
        d = graph.degrees[rows]
        prefixes, tests = table[d - 1, level - 1], d * table[d - 1, level].astype(np.float64)
        seconds = PREFIX_SECONDS * prefixes.sum(dtype=np.float64) + TEST_SECONDS * tests.sum()
        if TESTS_PER_SECOND * seconds >= INLINE_TESTS:
            return None
        targets, certain, mirror = Targets(~graph.fixed, graph.degrees), Cutoff.around(cutoff), graph.lists.mirror
        state = np.zeros(4, dtype=np.int64)
        if level == 1:
            level1.run_rows(source, graph, targets, certain, np.arange(source.p), findings, state, mirror)
        elif len(rows):
            side = Side.of(graph, targets, level, certain)._replace(C=source.C)
            outcomes = Outcomes(np.empty_like(mirror), *findings[:3])
            _walk(side, Items(rows, np.zeros_like(rows), prefixes, mirror), outcomes, _walk_space(level, widest), state)
        return int(state[DOUBTFUL])

    def rounds(
        self, graph: Graph, targets: Targets, level: int, cutoff: float, findings: Findings
    ) -> Iterator[tuple[Iterator[Task], int]]:
        """The tests of one side of a level >= 1: rounds of tasks, one after the other, with their work."""
        self._pruning.refuse(graph, targets, level)
        certain = Cutoff.around(cutoff)
        for way in self._pruning.ways(graph, level):
            rows = self._pruning.choose(graph, targets, level, way)
            if rows.any():
                chosen = targets.chosen & np.repeat(rows, graph.degrees)
                left = yield from self._pruned(graph, chosen, level, way, certain, findings)
                targets = graph.targets_at(targets.chosen & ~chosen | left)
        if level > 1:
            walk = _Walk(self._source, graph, targets, Side.of(graph, targets, level, certain), findings)
            yield walk.tasks(), int(walk.work.sum())
        else:
            tests = subsets.level_tests(graph.degrees, targets.per_row, level)
            yield self._level1_tasks(graph, targets, certain, findings), tests

    def _pruned(
        self, graph: Graph, chosen: Mask, level: int, way: Way, cutoff: Cutoff, findings: Findings
    ) -> Generator[tuple[Iterator[Task], int], None, Mask]:
        """Rounds that prune targets one way: a trial, and the others if that pays. Returns the targets left over."""
        left, trial = chosen.copy(), self._pruning.on_trial(graph, chosen, level, way)
        for some in filter(np.any, (trial, chosen & ~trial)):
            targets = graph.targets_at(some)
            side = PrunedSide(self._source, graph, targets, way, Side.of(graph, targets, level, cutoff), findings)
            yield side.tasks(), subsets.level_tests(graph.degrees, targets.per_row, level)
            side.forget_left()
            self._pruned_sides.append(side)
            left &= ~some | side.left
            if not side.pays():
                break
        return left

    def complete(
        self, graph: Graph, level: int, cutoff: float, findings: Findings, separated: Separated
    ) -> tuple[int, int]:
        """Compute r where pruning left it out, and remember the pairs that it answered; returns numbers of tests made
        and of bounds."""
        pruned = findings.done == ANSWERED
        if not self._pruned_sides and not pruned.any():
            return separated.n_tests, 0
        left = np.flatnonzero(np.isnan(separated.r))
        tests = separated.x[left], separated.y[left], separated.S[left]
        separated.r[left] = canonical_of(self._source, *tests, self._n_threads)
        found = findings.rank >= 0
        in_vain = np.bincount(graph.rows()[pruned & ~found], minlength=len(graph.offsets) - 1)
        made = separated.n_tests + sum(side.made for side in self._pruned_sides)
        made -= findings.n_tests(np.flatnonzero(pruned & found)) + subsets.level_tests(graph.degrees, in_vain, level)
        bounds = sum(side.bounds for side in self._pruned_sides)
        self._pruned_levels.append(PrunedTests(level, Cutoff.around(cutoff), graph, pruned))
        self._pruned_sides = []
        return made, bounds

    def unfinished_z(self, x: Ints, y: Ints, z: Floats) -> SmallestZ | None:
        """The object that finds the smallest |z| of each edge; None if all tests were made."""
        if not self._pruned_levels:
            return None
        return SmallestZ(self._source, self._n, self._n_threads, self._pruned_levels, x, y, z)

    def z(self, smallest: Floats, level: int) -> Floats:
        """|z| of the smallest statistic among the tests of a level; inf stays inf."""
        return np.where(np.isinf(smallest), np.inf, fisher_z.z_score(np.sqrt(smallest), self._n, level))

    def _level1_tasks(self, graph: Graph, targets: Targets, cutoff: Cutoff, findings: Findings) -> Iterator[Task]:
        """The tests of level 1."""
        tests, source, lock = targets.per_row * (graph.degrees - 1), self._source, threading.Lock()
        wide = (graph.degrees > HUB) & isinstance(source, ColumnSource)
        least = max(2 * TASK_TESTS, int(tests.sum()) // MOST_TASKS)
        for low, high in _row_blocks(tests, least, np.flatnonzero(wide)):

            def task(state: State, low: int = low, high: int = high) -> int:
                level1.run_rows(source, graph, targets, cutoff, np.arange(low, high), findings, state)
                if not state[STOP]:
                    entries = slice(graph.offsets[low], graph.offsets[high])
                    findings.done[entries][targets.chosen[entries]] = TESTED
                return int(tests[low:high].sum())

            if not wide[low]:
                yield task
        for x in np.flatnonzero(wide & (targets.per_row > 0)).tolist():
            assert isinstance(source, ColumnSource)
            for entries in source.parts_of_hub(graph, x):
                yield partial(level1.run_part_of_hub, source, graph, entries, targets, cutoff, findings, lock)


class _Walk(Queue):
    """Gaussian tests of a level >= 2: the parts of a row are its prefixes."""

    def __init__(
        self, source: CorrelationSource, graph: Graph, targets: Targets, side: Side, findings: Findings
    ) -> None:
        prefixes = side.binomials[graph.degrees - 1, side.level - 1]
        super().__init__(graph, targets, side, findings, prefixes)
        self._source = source
        seconds = PREFIX_SECONDS * prefixes * (targets.per_row > 0) + TEST_SECONDS * self._tests
        self.work = TESTS_PER_SECOND * seconds

    def _least_work(self, d: int) -> int:
        return max(TASK_TESTS, GATHER_SHARE * d * d)

    def _make_space(self, d: int) -> tuple[Matrices, WalkWork]:
        return _walk_space(self._side.level, d)

    def _walk(self, items: Items, outcomes: Outcomes, widest: int, state: State) -> None:
        space = self._space(widest)
        for _, side, some, found in walks(self._source, self._graph, self._side, items, outcomes):
            _walk(side, some, found, space, state)


def _walk_space(level: int, d: int) -> tuple[Matrices, WalkWork]:
    """Work space of a walk through rows with up to d neighbours."""
    lengths = {"t": level - 1, "d": d, "width": d + BLOCK}
    work = work_space(WalkWork, level=level, elimination=canonical_space(level), **lengths)
    return work_space(Matrices, **lengths), work


def _walk(side: Side, items: Items, outcomes: Outcomes, space: tuple[Matrices, WalkWork], state: State) -> None:
    """`walk_items`, with the code for doubtful tests where it is needed."""
    doubtful = state[DOUBTFUL]
    walk_items(side, items, outcomes, *space, state)
    if state[WANTED]:  # for the first time: load it and begin again
        state[DOUBTFUL], state[CAREFUL], state[WANTED] = doubtful, careful_address(), 0
        walk_items(side, items, outcomes, *space, state)


def _row_blocks(tests: Indices, least: int, alone: Indices) -> list[tuple[int, int]]:
    """Consecutive rows low .. high - 1 of about `least` tests each; the rows `alone` are blocks of their own."""
    cuts = np.flatnonzero(np.diff(np.cumsum(tests) // least)) + 1
    return list(pairwise(np.unique(np.concatenate([[0, len(tests)], cuts, alone, alone + 1])).tolist()))
