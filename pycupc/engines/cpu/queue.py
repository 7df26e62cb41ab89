"""The queue of a level >= 2: rows cut into work items, those with most tests first, small ones gathered into a task."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from math import comb

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.base import Floats
from pycupc.engines.cpu.certainty import Cutoff
from pycupc.engines.cpu.graph import Findings, Graph, Targets
from pycupc.engines.cpu.threads import CAREFUL, DOUBTFUL, WANTED, State, Task
from pycupc.engines.cpu.walk import walk_items
from pycupc.engines.cpu.walk_state import NO_TARGET, Items, Outcomes, Side, work_space
from pycupc.gaussian.partial_correlation import careful_address

#: Tests a task aims at: about a millisecond, so that threads end together.
TASK_TESTS = 250_000
#: A task has at least this many tests for each number it first gathers from C (d x d for a row of degree d).
GATHER_SHARE = 20

#: A work item as (row, number of its first prefix, number of prefixes).
Item = tuple[int, int, int]


class Queue:
    """Tasks for the tests of one side of a level; each merges its findings into those of the level."""

    def __init__(
        self, C: Floats, graph: Graph, targets: Targets, level: int, cutoff: Cutoff, findings: Findings
    ) -> None:
        self._degree, self._targets, self._findings = graph.degrees(), targets, findings
        hint = np.full(len(graph.neighbours), -1, dtype=np.int64)
        binomials = subsets.binomial_table(int(self._degree.max(initial=0)), level)
        self._side = Side(C, graph.offsets, graph.neighbours, targets.chosen, hint, binomials, cutoff, level)
        self._lock = threading.Lock()

    def tasks(self) -> Iterator[Task]:
        degree, per_row, level = self._degree, self._targets.per_row, self._side.level
        rows = np.flatnonzero(per_row)
        sets = {d: comb(d - 1, level) for d in np.unique(degree[rows]).tolist()}
        gathered: list[Item] = []
        gathered_tests = 0
        for x in sorted(rows.tolist(), key=lambda x: -int(per_row[x]) * sets[int(degree[x])]):
            d = int(degree[x])
            tests, prefixes = sets[d] * int(per_row[x]), comb(d - 1, level - 1)
            parts = max(1, min(tests // max(TASK_TESTS, GATHER_SHARE * d * d), prefixes))
            if parts > 1:
                yield from self._parts(x, tests, prefixes, parts)
                continue
            gathered.append((x, 0, prefixes))
            gathered_tests += tests
            if gathered_tests >= TASK_TESTS:
                yield self._task(gathered, gathered_tests)
                gathered, gathered_tests = [], 0
        if gathered:
            yield self._task(gathered, gathered_tests)

    def _parts(self, x: int, tests: int, prefixes: int, parts: int) -> Iterator[Task]:
        """A row in several tasks, until the targets are separated by the prefixes up to there."""
        entries = slice(self._side.offsets[x], self._side.offsets[x + 1])
        targets, hint = self._targets.chosen[entries], self._side.hint[entries]
        for part in range(parts):
            if not (targets & (hint < 0)).any():
                yield _nothing(tests // parts * (parts - part))
                return
            first = prefixes * part // parts
            yield self._task([(x, first, prefixes * (part + 1) // parts - first)], tests // parts)

    def _task(self, items: list[Item], tests: int) -> Task:
        columns = Items(*np.array(items, dtype=np.int64).T.copy())

        def walk(state: State) -> int:
            degree = self._degree[columns.row]
            n = int(degree.sum())
            outcomes = Outcomes(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n))
            space, doubtful = work_space(self._side.level, int(degree.max())), state[DOUBTFUL]
            walk_items(self._side, columns, outcomes, *space, state)
            if state[WANTED]:  # for the first time: load it and begin again
                state[DOUBTFUL], state[CAREFUL], state[WANTED] = doubtful, careful_address(), 0
                walk_items(self._side, columns, outcomes, *space, state)
            self._merge(outcomes)
            return tests

        return walk

    def _merge(self, outcomes: Outcomes) -> None:
        """Add the outcomes of a task, which has each entry once at most."""
        findings = self._findings
        entry, rank, r, smallest = (column[outcomes.rank != NO_TARGET] for column in outcomes)
        with self._lock:
            better = (rank >= 0) & ((findings.rank[entry] < 0) | (rank < findings.rank[entry]))
            findings.rank[entry[better]], findings.r[entry[better]] = rank[better], r[better]
            findings.smallest[entry] = np.minimum(findings.smallest[entry], smallest)


def _nothing(tests: int) -> Task:
    """A task for tests that need not be made, since every target is separated: it only counts them."""
    return lambda _: tests
