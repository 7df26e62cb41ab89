"""The Gaussian tests over the graph between levels: which code runs which level, and the data of a level.

`setwise_levels` has the other tests, by the same methods.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Literal

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.cpu import level0, level0_sieve, level1, level1_from_columns, threads
from pycupc.engines.cpu.graph import ANSWERED, Findings, Graph, Indices, Separated, Targets
from pycupc.engines.cpu.pruning.delta import Proofs
from pycupc.engines.cpu.pruning.largest_p_values import PrunedTests, SmallestZ
from pycupc.engines.cpu.pruning.plan import LevelWalk, Pruning, PruningMode, Way
from pycupc.engines.cpu.pruning.pruned_sides import load, pruned_side
from pycupc.engines.cpu.row_items import Merged, RowWork, cuts, items_of, number_of_items, whole_rows
from pycupc.engines.cpu.set_walk import walk_items
from pycupc.engines.cpu.submatrices import ColumnSource, CorrelationSource, MatrixSource, canonical_of
from pycupc.engines.cpu.threads import DOUBTFUL, State, Work
from pycupc.engines.cpu.tuning import (
    BLOCK,
    GATHER_SHARE,
    INLINE_TESTS,
    MOST_ITEMS,
    NARROW,
    PREFIX_SECONDS,
    ROOMY,
    ROWS_SHARE,
    SLOWER_PER_MEMBER,
    TASK_TESTS,
    TEST_SECONDS,
    TESTS_PER_SECOND,
)
from pycupc.engines.cpu.walk_arrays import (
    END,
    FIRST,
    NO_MIRROR,
    PIECES,
    ROW,
    WORK,
    Cutoff,
    Matrices,
    Outcomes,
    Part,
    Side,
    WalkWork,
    work_space,
)
from pycupc.engines.protocol import Division, Floats, Ints, Mask, Pairs
from pycupc.independence.gaussian import fisher_z
from pycupc.independence.gaussian.centred_columns import Columns
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.partial_correlation import canonical_space
from pycupc.system.machine import free_memory

#: See `GaussianTests`.
Reading = Literal["dense", "rows", "sieve"]
#: The arrays of a thread; without outcomes, these are the findings themselves.
Space = tuple[Outcomes | None, Matrices, WalkWork]
#: Those that no thread uses, by the largest level and the number of neighbours that they have room for.
Spaces = dict[tuple[int, int], list[Space]]


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
        self._mode: PruningMode = pruning
        self._spaces: Spaces = {}
        self._walk: LevelWalk | None = None  # of the level that is running
        self._made = self._bounds = 0  # numbers of tests that pruned sides of the level made, and of bounds
        self._pruned_levels: list[PrunedTests] = []
        self._proofs: tuple[Graph, Proofs] | None = None  # of the graph of the level that is running

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

    @cached_property
    def _pruning(self) -> Pruning:
        """The pruning of rows, which a level of at least 2 asks, unless it is small."""
        return Pruning(self._source, self._mode, self._n_threads)

    def _proofs_of(self, graph: Graph) -> Proofs:
        """The proofs about the rows of a graph, which both sides of a level share."""
        if self._proofs is None or self._proofs[0] is not graph:
            self._proofs = graph, Proofs.of(graph)
        return self._proofs[1]

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
        if level < 2 or self._rows_at_once(graph, level) is not None:
            return
        for way in self._pruning.ways(level, self._seconds_of(graph, level)):
            targets = graph.targets(level, False, graph.no_findings(), self._n_threads)
            if self._pruning.choose(graph, targets, level, way).any():
                load(way)

    def _rows_at_once(self, graph: Graph, level: int) -> tuple[Indices, Indices] | None:
        """The rows with tests of a level, if it is small, and their numbers of prefixes; else None."""
        if self._mode == "always" or not isinstance(self._source, MatrixSource):
            return None
        if TESTS_PER_SECOND * self._seconds_of(graph, level) >= INLINE_TESTS:
            return None
        assert self._walk is not None
        return self._walk.rows, self._walk.prefixes

    def _seconds_of(self, graph: Graph, level: int) -> float:
        """Estimated seconds of the walk over all rows of a level, both sides at once; inf if a row is wide."""
        if self._walk is None or self._walk.graph is not graph or self._walk.level != level:
            self._walk = LevelWalk.of(graph, level)
        return self._walk.seconds

    def at_once(self, graph: Graph, level: int, cutoff: float, findings: Findings) -> int | None:
        """Make the tests of a level >= 1 if it is small; returns how many are doubtful, None if they are not made.

        Both sides together: rows ascend, so that side A of a pair comes before its side B.
        """
        found, source = self._rows_at_once(graph, level), self._source
        if found is None or not isinstance(source, MatrixSource):
            return None
        rows, prefixes = found
        certain, state = Cutoff.around(cutoff), threads.new_state()[0]
        if level == 1:
            level1.test_both_sides(source.C, graph, certain, findings, state)
        elif len(rows):
            side = Side.of(graph, Targets(~graph.fixed, graph.degrees), level, certain)
            PlainWalk.of_both_sides(source, graph, side, rows, prefixes, findings, graph.lists.mirror)(state)
        return int(state[DOUBTFUL])

    def rounds(
        self, graph: Graph, targets: Targets, level: int, cutoff: float, findings: Findings
    ) -> Iterator[tuple[Work, int]]:
        """The tests of one side of a level >= 1: rounds of work, one after the other, and how many tests it has."""
        certain = Cutoff.around(cutoff)
        if level == 1:  # a test costs no more than a bound, and the sets of a row are few
            tests = subsets.level_tests(graph.degrees, targets.per_row, level)
            yield self._level1(graph, targets, certain, findings), tests
            return
        self._pruning.refuse(graph, targets, level)
        for way in self._pruning.ways(level, self._seconds_of(graph, level)):
            rows = self._pruning.choose(graph, targets, level, way)
            if rows.any():
                chosen = targets.chosen & np.repeat(rows, graph.degrees)
                left = yield from self._pruned(graph, chosen, level, way, certain, findings)
                targets = graph.targets_at(targets.chosen & ~chosen | left)
        side = Side.of(graph, targets, level, certain)
        self._spaces = {kind: free for kind, free in self._spaces.items() if kind[0] >= level}
        yield PlainWalk.of_side(self._source, graph, targets, side, findings, self._spaces)

    def _pruned(
        self, graph: Graph, chosen: Mask, level: int, way: Way, cutoff: Cutoff, findings: Findings
    ) -> Generator[tuple[Work, int], None, Mask]:
        """Rounds that prune targets one way: a trial, and the others if that pays. Returns the targets left over."""
        left, trial = chosen.copy(), self._pruning.on_trial(graph, chosen, level, way)
        for some in filter(np.any, (trial, chosen & ~trial)):
            targets = graph.targets_at(some)
            side = Side.of(graph, targets, level, cutoff)
            pruned = pruned_side(way, self._source, graph, targets, side, findings, self._proofs_of(graph))
            yield pruned, subsets.level_tests(graph.degrees, targets.per_row, level)
            pruned.settle()
            self.count_pruned(pruned.made, pruned.bounds)
            left &= ~some | pruned.left
            if not pruned.pays():
                break
        return left

    def seconds(self, graph: Graph, targets: Targets, level: int) -> Floats:
        """Estimated seconds of one thread for the targets of each row, float64 (p,)."""
        return self._pruning.seconds(graph, targets, level)

    def count_pruned(self, made: int, bounds: int) -> None:
        """Count tests that pruned sides have made, and bounds."""
        self._made, self._bounds = self._made + made, self._bounds + bounds

    def take_counts(self) -> tuple[int, int]:
        """The numbers of `count_pruned`, which begin at 0 again."""
        counts, self._made, self._bounds = (self._made, self._bounds), 0, 0
        return counts

    def complete(
        self, graph: Graph, level: int, cutoff: float, findings: Findings, separated: Separated
    ) -> tuple[int, int]:
        """Compute r where pruning left it out, and remember the pairs that it answered; returns numbers of tests made
        and of bounds."""
        missing = np.flatnonzero(np.isnan(separated.r)) if level > 1 else ()
        if len(missing):
            tests = separated.x[missing], separated.y[missing], separated.S[missing]
            separated.r[missing] = canonical_of(self._source, *tests, self._n_threads)
        pruned, (made_so_far, bounds) = findings.done == ANSWERED, self.take_counts()
        if not (made_so_far or bounds or pruned.any()):
            return separated.n_tests, 0
        found = findings.rank >= 0
        in_vain = np.bincount(graph.rows()[pruned & ~found], minlength=len(graph.offsets) - 1)
        made = separated.n_tests + made_so_far
        made -= findings.n_tests(np.flatnonzero(pruned & found)) + subsets.level_tests(graph.degrees, in_vain, level)
        self._pruned_levels.append(PrunedTests(level, Cutoff.around(cutoff), graph.without_z(), pruned))
        self._proofs = None
        return made, bounds

    def unfinished_z(self, x: Ints, y: Ints, z: Floats) -> SmallestZ | None:
        """The object that finds the smallest |z| of each edge; None if all tests were made."""
        if not self._pruned_levels:
            return None
        return SmallestZ(self._source, self._n, self._n_threads, self._pruned_levels, x, y, z)

    def z(self, smallest: Floats, level: int) -> Floats:
        """|z| of the smallest statistic among the tests of a level; inf stays inf."""
        return np.where(np.isinf(smallest), np.inf, fisher_z.z_score(np.sqrt(smallest), self._n, level))

    def _level1(self, graph: Graph, targets: Targets, cutoff: Cutoff, findings: Findings) -> Work:
        """The tests of level 1."""
        if isinstance(self._source, ColumnSource):
            return level1_from_columns.work_on_rows(self._source, graph, targets, cutoff, findings)
        tests = targets.per_row * (graph.degrees - 1)
        least = max(2 * TASK_TESTS, int(tests.sum()) // MOST_ITEMS)
        blocks = level1.row_blocks(tests, least, np.zeros(0, dtype=np.int64))
        blocks = np.ascontiguousarray(blocks[np.argsort(-blocks[:, 2], kind="stable")])
        return level1.work_on_blocks(self._source.C, graph, targets, cutoff, blocks, findings)


class PlainWalk(RowWork):
    """The tests of a level >= 2 without bounds: items for the walk over rows, whose parts are the prefixes of a row."""

    def __init__(
        self, parts: Iterable[Part], side: Side, findings: Findings, unfinished: Indices, mirror: Indices = NO_MIRROR,
        spaces: Spaces | None = None,
    ) -> None:  # fmt: skip
        super().__init__(parts)
        self._spaces: Spaces = {} if spaces is None else spaces
        self._side, self._mirror = side, mirror
        self._merged = Merged(*findings[:3], findings.done, np.zeros(len(side.chosen), dtype=np.bool_), unfinished)
        self._of_findings = Outcomes(*findings[:3]) if len(mirror) else None

    @classmethod
    def of_side(
        cls, source: CorrelationSource, graph: Graph, targets: Targets, side: Side, findings: Findings, spaces: Spaces
    ) -> tuple[PlainWalk, int]:
        """The tests of one side, and their number, as they take time."""
        binomials, d, level = side.binomials, graph.degrees, side.level
        prefixes, sets = binomials[d - 1, level - 1], binomials[d - 1, level].astype(np.float64)
        seconds = PREFIX_SECONDS * prefixes * (targets.per_row > 0) + TEST_SECONDS * targets.per_row * sets
        least = np.maximum(TASK_TESTS / max(SLOWER_PER_MEMBER * level, 1.0), GATHER_SHARE * d * d)
        items, piece = items_of(graph, TESTS_PER_SECOND * seconds, least, prefixes)
        ends = prefixes[items[:, ROW]], items[:, PIECES]
        items[:, FIRST], items[:, END] = cuts(*ends, piece), cuts(*ends, piece + 1)
        walk = cls(source.parts(graph, items), side, findings, number_of_items(items, source.p), spaces=spaces)
        return walk, int(items[:, WORK].sum(dtype=np.float64))

    @classmethod
    def of_both_sides(
        cls, source: MatrixSource, graph: Graph, side: Side, rows: Indices, prefixes: Indices, findings: Findings,
        mirror: Indices,
    ) -> PlainWalk:  # fmt: skip
        """The tests of these rows, ascending and with these numbers of prefixes, for one thread."""
        items = whole_rows(graph, rows)
        items[:, END] = prefixes
        part = Part(source.C, graph.neighbours, items, np.zeros(1, dtype=np.int64), graph.widest)
        return cls([part], side, findings, part.following, mirror)

    def _make_space(self, d: int) -> Space:
        level = self._side.level
        most = -(-level // ROOMY) * ROOMY if d <= NARROW else level
        with suppress(KeyError, IndexError):
            return self._spaces[most, d].pop()
        lengths = {"t": most - 1, "d": d, "width": d + BLOCK}
        work = work_space(WalkWork, level=most, elimination=canonical_space(most), **lengths)
        return self._of_findings or Outcomes.of(d), work_space(Matrices, **lengths), work

    def _finish(self, space: Space) -> None:
        t, d = space[1].column.shape
        self._spaces.setdefault((t + 1, d), []).append(space)

    def _walk(self, part: Part, space: Space, state: State) -> None:
        side = self._side._replace(C=part.C, neighbours=part.neighbours)
        walk_items(side, part.items, part.following, self._mirror, self._merged, *space, state)
