"""The G^2 tests over the graph between levels: one walk of a row for all its targets.

The walk visits the subsets of all neighbours in lexicographic order, so each target meets the sets without itself in
pcalg's order and stops at its first separating set. The configurations of x and of the members that a set shares with
the set before it are kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.base import Floats, Ints, Mask
from pycupc.engines.cpu.combinations import next_subset, rank_without, unrank
from pycupc.engines.cpu.enumerated import EnumeratedTests
from pycupc.engines.cpu.graph import Findings, Graph, Indices, Targets
from pycupc.engines.cpu.queue import Queue
from pycupc.engines.cpu.threads import DOUBTFUL, STOP, State, Task
from pycupc.engines.cpu.tuning import OBSERVATIONS_PER_GAUSSIAN_TEST, TASK_OBSERVATIONS
from pycupc.engines.cpu.walk import drop_separated, start_row
from pycupc.engines.cpu.walk_state import Items, Outcomes, Place, work_space
from pycupc.independence.discrete import contingency
from pycupc.independence.discrete.chi_square import upper_tail
from pycupc.independence.discrete.contingency import (
    Data,
    configurations,
    extend_configuration,
    is_tested,
    run_test,
    start_configuration,
)
from pycupc.independence.discrete.family import DiscreteTest
from pycupc.independence.discrete.suffstat import DiscreteSuffStat
from pycupc.system.compiled import compiled, part


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
        degrees = graph.degrees
        too_many = (targets.per_row > 0) & subsets.are_too_many(degrees, level)
        subsets.refuse(too_many, degrees, level, "tests of discrete data have no bounds")
        hint = np.full(len(graph.neighbours), -1, dtype=np.int64)
        binomials = subsets.binomial_table(int(degrees.max(initial=0)), level)
        side = DiscreteSide(self._data, graph.offsets, graph.neighbours, targets.chosen, hint, binomials, level)
        work = self._work(subsets.level_tests(degrees, targets.per_row, level))
        yield _Sets(graph, targets, side, findings, binomials[degrees, level]).tasks(), work

    def _work(self, tests: int) -> int:
        return tests * max(self._n // OBSERVATIONS_PER_GAUSSIAN_TEST, 1)


class _Sets(Queue):
    """G^2 tests of a level: the parts of a row are the subsets of its neighbours."""

    def _least_work(self, d: int) -> int:
        return max(1, TASK_OBSERVATIONS // int(self._side.data.codes.shape[1]))

    def _make_space(self, d: int) -> tuple[DiscreteWork, Any]:
        level = self._side.level
        return work_space(DiscreteWork, level=level, d=d), contingency.work_space(self._side.data, level)

    def _walk(self, items: Items, outcomes: Outcomes, widest: int, state: State) -> None:
        work, counting = self._space(widest)
        walk_sets(self._side, items, outcomes, work, counting, state)


class DiscreteSide(NamedTuple):
    """The data shared by all walks of one side of a level; fields as in `walk_state.Side`, the data instead of C."""

    data: Data
    offsets: Indices
    neighbours: Ints
    chosen: Mask
    hint: Indices
    binomials: Indices
    level: int


class DiscreteWork(NamedTuple):
    """Work space of a walk over rows of up to d neighbours."""

    chosen: Annotated[Indices, "level"]  # positions of the set
    S: Annotated[Indices, "level"]  # and its variables
    bound: Annotated[Floats, "d"]  # by position: -1 for a variable that is no target, or no longer one; else inf
    # g2, df, p: by position, of the test with the largest p-value; p is -1 where there was none.
    g2: Annotated[Floats, "d"]
    df: Annotated[Indices, "d"]
    p: Annotated[Floats, "d"]


@part
def _ready_configurations(side, x, ready, work, counting):
    """Make the configurations of x and the whole set. The first `ready` members are done; -1: not even x is."""
    if ready < 0:
        start_configuration(side.data, x, counting)
        ready = 0
    for t in range(ready, side.level):
        extend_configuration(side.data, work.S[t], t, counting)


@part
def _keep_largest(work, i, g2, df):
    """Remember the test with the largest p-value, which falls with G^2 and grows with the degrees of freedom."""
    if work.p[i] < 0.0 or g2 < work.g2[i] or df > work.df[i]:
        p = upper_tail(g2, df)
        if p > work.p[i]:
            work.p[i], work.g2[i], work.df[i] = p, g2, df


@compiled
def walk_sets(side, items, outcomes, work, counting, state):  # noqa: C901 - the hot loop
    data, level, n = side.data, side.level, side.data.codes.shape[1]
    out = 0
    for item in range(len(items.row)):
        x, first = items.row[item], items.first[item]
        start = side.offsets[x]
        d = side.offsets[x + 1] - start
        n_open = start_row(side, Place(x, d, start, out, first), outcomes, work.bound)
        for i in range(d):
            work.p[i] = -1.0
        unrank(side.binomials, d, level, first, work.chosen)
        ready, changed = -1, 0
        for number in range(first, items.end[item]):
            if number % 64 == 0:
                n_open -= drop_separated(side.hint, Place(x, d, start, out, number), work.bound)
            if n_open == 0 or state[STOP] != 0:
                break
            for t in range(changed, level):
                work.S[t] = side.neighbours[start + work.chosen[t]]
            ready = min(ready, changed)
            q = configurations(data.levels, work.S, level, n)
            for i in range(d):
                member = False
                for t in range(level):
                    member = member or work.chosen[t] == i
                if member or work.bound[i] < 0.0:
                    continue
                y = side.neighbours[start + i]
                independent, p = True, 1.0  # too few observations count as independence
                if is_tested(data, x, y, level, q):
                    if ready < level:
                        _ready_configurations(side, x, ready, work, counting)
                        ready = level
                    independent, doubtful, g2, df = run_test(data, x, y, level, q, counting)
                    state[DOUBTFUL] += doubtful
                    if independent:
                        p = upper_tail(g2, df)
                    else:
                        _keep_largest(work, i, g2, df)
                if independent:
                    o = out + i
                    outcomes.rank[o] = rank_without(side.binomials, d - 1, level, work.chosen, i)
                    outcomes.r[o] = p
                    work.bound[i] = -1.0
                    n_open -= 1
                    known = side.hint[start + i]
                    if known < 0 or number < known:
                        side.hint[start + i] = number
            changed = next_subset(work.chosen, level, d)
            if changed < 0:
                break
        for i in range(d):
            outcomes.smallest[out + i] = np.inf if work.p[i] < 0.0 else -work.p[i]
        out += d
