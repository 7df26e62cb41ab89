"""The queue of a level: rows cut into work items, the largest first, and small items gathered into a task.

The kind of walk determines the content of an item, consecutive parts of a row: prefixes of conditioning sets, or the
sets that have the same first member.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from pycupc.engines.cpu.graph import TESTED, Findings, Graph, Indices, Targets
from pycupc.engines.cpu.threads import STOP, State, Task
from pycupc.engines.cpu.tuning import MOST_TASKS, SPACE
from pycupc.engines.cpu.walk_arrays import NO_TARGET, Items, Outcomes, Side


class Queue(ABC):
    """Tasks for the tests of one side of a level; each merges its findings into the findings of the level.

    `parts`, (p,): how many a row has.
    """

    def __init__(self, graph: Graph, targets: Targets, side: Side, findings: Findings, parts: Indices) -> None:
        self._graph, self._targets, self._side, self._findings = graph, targets, side, findings
        self._degree, self._parts, self._lock = graph.degrees, parts, threading.Lock()
        self._tests = targets.per_row * side.binomials[self._degree - 1, side.level].astype(np.float64)
        self._own = threading.local()
        self._unfinished: dict[int, int] = {}  # number of pieces of a row in several tasks
        self.work = self._tests  # float64 (p,), of each row, as `_least_work`

    def _cut(self, x: int, piece: int, pieces: int) -> int:
        """First part of a piece of row x, whose pieces have about the same number of tests."""
        return int(self._parts[x]) * piece // pieces

    @abstractmethod
    def _least_work(self, d: int) -> int:
        """Smallest work in a row with d neighbours that is worth a separate task."""

    @abstractmethod
    def _make_space(self, d: int) -> Any:
        """Work space for rows with up to d neighbours."""

    def _space(self, widest: int) -> Any:
        """Work space of this thread, as its last task has left it: rows with similar numbers of neighbours follow each
        other."""
        d, own = -(-widest // SPACE) * SPACE, self._own
        if getattr(own, "d", 0) != d:
            own.d, own.space = d, self._make_space(d)
        return own.space

    @abstractmethod
    def _walk(self, items: Items, outcomes: Outcomes, widest: int, state: State) -> None:
        """Make the tests of the items, whose rows have up to `widest` neighbours."""

    def tasks(self) -> Iterator[Task]:
        """The tasks; rows with most work come first."""
        least = max(self._least_work(0), int(self.work.sum() / MOST_TASKS))
        rows = np.argsort(-self.work, kind="stable")[: np.count_nonzero(self.work)]
        n_large = int(np.count_nonzero(self.work >= 2 * least))
        for x in rows[:n_large].tolist():
            pieces = int(self.work[x] // max(least, self._least_work(int(self._degree[x]))))
            yield from self._pieces(x, max(1, min(pieces, int(self._parts[x]))))
        rows = rows[n_large:]
        task = np.cumsum(self.work[rows]) // least
        for first, end in pairwise([0, *(np.flatnonzero(task[1:] > task[:-1]) + 1).tolist(), len(rows)]):
            if first < end:
                some = rows[first:end]
                yield self._task(Items(some, np.zeros_like(some), self._parts[some]), int(self._tests[some].sum()))

    def _pieces(self, x: int, pieces: int) -> Iterator[Task]:
        """A row in several tasks, until the targets are separated by the parts up to there."""
        entries = slice(self._graph.offsets[x], self._graph.offsets[x + 1])
        targets, hint, tests = self._targets.chosen[entries], self._side.hint[entries], int(self._tests[x])
        self._unfinished[x] = pieces
        for piece in range(pieces):
            if not (targets & (hint < 0)).any():
                with self._lock:
                    self._finish_pieces(x, pieces - piece)
                return
            first, end = (self._cut(x, k, pieces) for k in (piece, piece + 1))
            yield self._task(Items(*np.array([[x], [first], [end]])), tests // pieces, in_pieces=True)

    def _task(self, items: Items, tests: int, *, in_pieces: bool = False) -> Task:
        def walk(state: State) -> int:
            degree = self._degree[items.row]
            outcomes = Outcomes.of(int(degree.sum()))
            self._walk(items, outcomes, int(degree.max()), state)
            tested = outcomes.rank != NO_TARGET
            found = [column[tested] for column in outcomes]
            with self._lock:
                self._findings.add(*found)
                if not state[STOP] and in_pieces:
                    self._finish_pieces(int(items.row[0]), 1)
                elif not state[STOP]:
                    self._note_final(found[0])
            return tests

        return walk

    def _finish_pieces(self, x: int, pieces: int) -> None:
        """Count finished pieces of row x; after the last one, the findings about its targets are final."""
        self._unfinished[x] -= pieces
        if not self._unfinished[x]:
            first, end = self._graph.offsets[x : x + 2]
            self._note_final(first + np.flatnonzero(self._targets.chosen[first:end]))

    def _note_final(self, entries: Indices) -> None:
        """Note that the findings about these entries are final."""
        self._findings.done[entries] = TESTED
