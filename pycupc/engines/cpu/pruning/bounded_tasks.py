"""Tasks for the rows of a level that are pruned, and the merging of their outcomes into the findings of the level."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.cpu import tuning
from pycupc.engines.cpu.combinations import ranked
from pycupc.engines.cpu.conditional_covariances import Sizes
from pycupc.engines.cpu.graph import ANSWERED, FAR, FarSet, Findings, Graph, Indices, Targets
from pycupc.engines.cpu.pruning.bounded_walk import walk_rows
from pycupc.engines.cpu.pruning.bounded_walk_arrays import BOUNDS, LEFT, TESTS, BoundedWork
from pycupc.engines.cpu.pruning.branch import NONE, SEPARATED
from pycupc.engines.cpu.pruning.branch_and_bound import LEAST_DELTA, PairOutcomes, search_pairs
from pycupc.engines.cpu.pruning.delta import find_delta
from pycupc.engines.cpu.pruning.node import search_space
from pycupc.engines.cpu.pruning.plan import Way, pair_seconds
from pycupc.engines.cpu.row_tasks import Queue
from pycupc.engines.cpu.submatrices import CorrelationSource, MatrixSource, Submatrix, walks
from pycupc.engines.cpu.threads import STOP, State, Task
from pycupc.engines.cpu.walk_arrays import Cutoff, Items, Outcomes, Side, work_space
from pycupc.engines.protocol import Floats
from pycupc.system.localised_message import Message, Variable


@functools.cache
def load(way: Way) -> None:
    """Load the code of a way, or compile it, by a run on six variables."""
    C = np.where(np.eye(6), 1.0, 0.5)
    neighbours = np.tile(np.arange(6, dtype=np.int32), (6, 1))[~np.eye(6, dtype=np.bool_)]
    graph = Graph.of_lists(np.arange(0, 31, 5), neighbours)
    findings = graph.no_findings()
    targets = graph.targets(2, False, findings)
    side = Side.of(graph, targets, 2, Cutoff.around(0.1))
    for task in PrunedSide(MatrixSource(C), graph, targets, way, side, findings).tasks():
        task(np.zeros(2, dtype=np.int64))


class PrunedSide(Queue):
    """Tasks for the rows of one side of a level that are pruned one way.

    `graph`, `targets`, `findings`: of the level; `targets` are in the rows to prune. With `bound`, float64 (E,), the
    smallest squared partial correlation below it is searched for instead of a separating set. A search that takes too
    long marks its entry in `unsure`: there may be a smaller one than has been found.
    """

    def __init__(
        self, source: CorrelationSource, graph: Graph, targets: Targets, way: Way, side: Side, findings: Findings,
        bound: Floats | None = None,
    ) -> None:  # fmt: skip
        super().__init__(graph, targets, side, findings, graph.degrees - side.level + 1)
        self._source, self._way, self._level, self._minimum = source, way, side.level, bound is not None
        self._bound = np.full(len(graph.neighbours), side.cutoff.high) if bound is None else bound
        self._too_many = subsets.are_too_many(self._degree, side.level)
        self.left = np.zeros(len(graph.neighbours), dtype=np.bool_)
        self.unsure = np.zeros_like(self.left)
        self.made = self.bounds = 0
        self._spent = self._replaced = 0  # nanoseconds: of the searches, of the tests that they replace

    def pays(self) -> bool:
        """Whether the searches took clearly less time than the tests that they replace."""
        return self._spent < tuning.WORTHWHILE * self._replaced

    def forget_left(self) -> None:
        """Forget the findings about the targets that are left to the walk."""
        self._findings.rank[self.left] = -1

    def tasks(self) -> Iterator[Task]:
        """The tasks; large rows come first."""
        if self._way == "walk":
            return super().tasks()
        rows = np.flatnonzero(self._targets.per_row)
        return self._search_tasks(rows[np.argsort(-self._degree[rows], kind="stable")])

    # ---------------------------------------------------------------- the walk with bounds, in the order of a `Queue`

    def _cut(self, x: int, piece: int, pieces: int) -> int:
        """Of the parts of a row, which are the first members of its sets."""
        d, level = int(self._degree[x]), self._level
        sets = comb(d, level) * (pieces - piece)
        return next(first for first in range(d + 1) if comb(d - first, level) * pieces <= sets)

    def _least_work(self, d: int) -> int:
        return max(tuning.WALKED_TESTS, tuning.GATHER_SHARE * d * d)

    def _walk(self, items: Items, outcomes: Outcomes, widest: int, state: State) -> None:
        work = self._space(widest)
        work.counts[:], outcomes.r[:] = 0, np.nan  # r is computed later
        for own, side, some, found in walks(self._source, self._graph, self._side, items, outcomes):
            walk_rows(side, self._bound[own.entries], some, found, work, state)
        self._count(outcomes.entry[outcomes.rank == LEFT], work)

    def _note_final(self, entries: Indices) -> None:
        self._findings.done[entries[~self.left[entries]]] = ANSWERED

    # ---------------------------------------------------------------- the search

    def _search_tasks(self, rows: NDArray[np.int64]) -> Iterator[Task]:
        for x in rows.tolist():
            positions = np.flatnonzero(self._side.chosen[self._side.offsets[x] : self._side.offsets[x + 1]])
            row = functools.cache(functools.partial(self._row, x))  # made by the first of the tasks about it
            seconds = tuning.PAIR_SECONDS + tuning.PAIR_SECONDS_PER_SQUARE * float(self._degree[x]) ** 2
            pairs = max(1, min(tuning.TASK_PAIRS, int(tuning.SEARCH_SECONDS / seconds)))
            for part in np.array_split(positions, -(-len(positions) // pairs)):
                yield self._search_task(x, part, row)

    def _row(self, x: int) -> tuple[Submatrix, Floats, Floats]:
        """A submatrix of row x, the correlations of its neighbours and, last, the row itself, and their delta."""
        ((_, own),) = self._source.submatrices(self._graph, np.array([x]))
        at = own.rows[0]
        members = np.append(own.neighbours[own.offsets[at] : own.offsets[at + 1]], at)
        R: Floats = own.C[np.ix_(members, members)]
        np.fill_diagonal(R, 1.0)
        return own, R, find_delta(R)

    def _search_task(
        self, x: int, positions: NDArray[np.int64], of_row: Callable[[], tuple[Submatrix, Floats, Floats]]
    ) -> Task:
        n_sets = comb(int(self._degree[x]) - 1, self._level)
        walk = float(pair_seconds(self._degree[x : x + 1], self._level)[0])
        allowance = 1e9 * self._patience(x, walk)
        entries = self._side.offsets[x] + positions
        sizes = Sizes.single(self._level, self._side.cutoff)

        def decide(state: State) -> int:
            nodes, sets, work = self._space(int(self._degree[x]))
            work.counts[:], work.spent[:] = 0, 0.0
            outcomes = PairOutcomes.of(len(positions), sizes)
            own, R, delta = of_row()
            sound = bool(delta.min() >= LEAST_DELTA)
            if sound:
                side, row = own.side(self._side), int(own.rows[0])
                bound = self._bound[own.entries]
                search_pairs(
                    side, bound, row, positions, sizes, allowance, outcomes, R, delta, nodes, sets, work, state
                )
            left = outcomes.found == LEFT
            if self._minimum:
                self.unsure[entries[left & sound & (allowance < np.inf)]] = True
            elif self._too_many[x] and left.any() and not state[STOP]:
                y = self._side.neighbours[entries[left.argmax()]]
                why = Message("bounds could not decide about its edge to variable {y}", y=Variable(int(y)))
                raise subsets.refusal(x, int(self._degree[x]), self._level, why)
            rank = self._ranks(x, entries, outcomes)
            replaced = float((outcomes.found == NONE).sum()) + float((rank[rank >= 0] + 1.0).sum()) / max(n_sets, 1)
            with self._lock:
                r = np.full(len(rank), np.nan)  # it is computed later
                self._findings.add(entries, rank, r, outcomes.smallest[:, 0])
                self._findings.done[entries[~left]] = ANSWERED
                if not self._too_many[x]:
                    self._spent += int(work.spent[1])
                    self._replaced += int(1e9 * walk * replaced)
            self._count(entries[left], work)
            return n_sets * int((~left).sum())

        return decide

    def _patience(self, x: int, walk: float) -> float:
        """Seconds that a search about a pair of row x may take, where its tests would take `walk` seconds."""
        if self._minimum:
            return np.inf if walk < tuning.ENDLESS else tuning.PATIENCE_FOR_MINIMUM
        return tuning.PATIENCE if self._too_many[x] else walk

    def _ranks(self, x: int, entries: NDArray[np.int64], outcomes: PairOutcomes) -> NDArray[np.int64]:
        """Ranks of the sets found, -1 or `LEFT`; in wide rows `FAR`, and the sets are added to the findings."""
        rank = np.where(outcomes.found == NONE, -1, LEFT)
        separated = np.flatnonzero(outcomes.found == SEPARATED)
        n, members = int(self._degree[x]) - 1, outcomes.members[separated]
        if not subsets.is_wide(n + 1, self._level):
            rank[separated] = ranked(self._side.binomials, n, members)
            return rank
        rank[separated] = FAR
        sets = [FarSet(subsets.exact_rank(positions, n), tuple(positions)) for positions in members.tolist()]
        with self._lock:
            self._findings.far.update(zip(entries[separated].tolist(), sets, strict=True))
        return rank

    # ---------------------------------------------------------------- shared by both ways

    def _make_space(self, d: int) -> Any:
        minimum = np.full(1, self._minimum)
        if self._way == "search":
            return search_space(self._level, d, minimum=minimum)
        return work_space(BoundedWork, u=self._level - 1, d=d, level=self._level, minimum=minimum)

    def _count(self, left: Indices, work: Any) -> None:
        """Enter the entries that a task has left, and the tests and bounds that it has made."""
        with self._lock:
            self.left[left] = True
            self.made += int(work.counts[TESTS])
            self.bounds += int(work.counts[BOUNDS])
