"""The queue of a level: rows cut into work items, those with most tests first, small ones gathered into a task.

The kind of tests determines the content of an item, consecutive parts of a row: conditioning sets, prefixes of them,
or the sets that have the same first member.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np

from pycupc.engines.cpu.graph import TESTED, Findings, Graph, Indices, Targets
from pycupc.engines.cpu.threads import STOP, State, Task
from pycupc.engines.cpu.walk_state import NO_TARGET, Items, Outcomes

#: A work item: (row, number of its first part, the number after its last part).
Item = tuple[int, int, int]


class Queue(ABC):
    """Tasks for the tests of one side of a level; each merges its findings into the findings of the level.

    `side`: `walk_state.Side`, or another with its `hint` and `level`.
    """

    def __init__(self, graph: Graph, targets: Targets, side: Any, findings: Findings) -> None:
        self._graph, self._targets, self._side, self._findings = graph, targets, side, findings
        self._degree, self._lock = graph.degrees(), threading.Lock()

    @abstractmethod
    def _cut(self, d: int, piece: int, pieces: int) -> int:
        """First part of a piece of a row with d neighbours, whose pieces have about as many tests each."""

    @abstractmethod
    def _least_tests(self, d: int) -> int:
        """Smallest number of tests of such a row that is worth a separate task."""

    @abstractmethod
    def _walk(self, items: Items, outcomes: Outcomes, widest: int, state: State) -> None:
        """Make the tests of the items, whose rows have up to `widest` neighbours."""

    def tasks(self) -> Iterator[Task]:
        """The tasks; rows with most tests come first."""
        degree, per_row, level = self._degree, self._targets.per_row, self._side.level
        rows = np.flatnonzero(per_row)
        sets = {d: comb(d - 1, level) for d in np.unique(degree[rows]).tolist()}
        gathered: list[Item] = []
        gathered_tests, enough = 0, self._least_tests(0)
        for x in sorted(rows.tolist(), key=lambda x: -int(per_row[x]) * sets[int(degree[x])]):
            d = int(degree[x])
            tests, parts = sets[d] * int(per_row[x]), self._cut(d, 1, 1)
            pieces = max(1, min(tests // self._least_tests(d), parts))
            if pieces > 1:
                yield from self._pieces(x, d, tests, pieces)
                continue
            gathered.append((x, 0, parts))
            gathered_tests += tests
            if gathered_tests >= enough:
                yield self._task(gathered, gathered_tests)
                gathered, gathered_tests = [], 0
        if gathered:
            yield self._task(gathered, gathered_tests)

    def _pieces(self, x: int, d: int, tests: int, pieces: int) -> Iterator[Task]:
        """A row in several tasks, until the targets are separated by the parts up to there."""
        entries = slice(self._graph.offsets[x], self._graph.offsets[x + 1])
        targets, hint = self._targets.chosen[entries], self._side.hint[entries]
        row = _RowInPieces(pieces, self._graph.offsets[x] + np.flatnonzero(targets))
        for piece in range(pieces):
            if not (targets & (hint < 0)).any():
                yield self._rest(row, pieces - piece, tests // pieces * (pieces - piece))
                return
            first, end = (self._cut(d, k, pieces) for k in (piece, piece + 1))
            yield self._task([(x, first, end)], tests // pieces, row) if first < end else self._rest(row, 1, 0)

    def _rest(self, row: _RowInPieces, pieces: int, tests: int) -> Task:
        """A task for pieces in which nothing needs to be tested."""

        def skip(state: State) -> int:
            with self._lock:
                if not state[STOP]:
                    self._note_final(row.close(pieces))
            return tests

        return skip

    def _task(self, items: list[Item], tests: int, row: _RowInPieces | None = None) -> Task:
        columns = Items(*np.array(items, dtype=np.int64).T.copy())

        def walk(state: State) -> int:
            degree = self._degree[columns.row]
            outcomes = Outcomes.of(int(degree.sum()))
            self._walk(columns, outcomes, int(degree.max()), state)
            found = [column[outcomes.rank != NO_TARGET] for column in outcomes]
            with self._lock:
                self._findings.add(*found)
                if not state[STOP]:
                    self._note_final(row.close(1) if row else found[0])
            return tests

        return walk

    def _note_final(self, entries: Indices) -> None:
        """Note that the findings about these entries are final."""
        self._findings.done[entries] = TESTED


class _RowInPieces:
    """The pieces of a row that are not finished, and its targets."""

    def __init__(self, pieces: int, targets: Indices) -> None:
        self._open, self._targets = pieces, targets

    def close(self, pieces: int) -> Indices:
        """Finish some pieces; returns the targets if these were the last ones, else none."""
        self._open -= pieces
        return self._targets[: 0 if self._open else None]
