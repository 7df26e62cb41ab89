"""Which rows of a level are pruned, and how: the tasks for them. All other rows go to the walk.

Pruning answers tests without making them (tests/PRUNING.md). It decides only what is certain: a pair with a doubtful
test, or whose search takes longer than the walk would, is left to the walk.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.engines import subsets
from pycupc.engines.base import Floats, Ints, Mask
from pycupc.engines.cpu.certainty import Cutoff
from pycupc.engines.cpu.graph import Findings, Graph, Targets
from pycupc.engines.cpu.pruning.pair_work import PairOutcomes, pair_work
from pycupc.engines.cpu.pruning.pairs import LEAST_DELTA, open_row, search_row
from pycupc.engines.cpu.pruning.row_work import BOUNDS, LEFT, TESTS, RowItems, RowSide, row_work
from pycupc.engines.cpu.pruning.rows import walk_rows
from pycupc.engines.cpu.threads import State, Task
from pycupc.engines.cpu.walk_state import NO_TARGET, Outcomes

#: Off, on, wherever it is possible, on with some certificates checked by the tests themselves.
PruningMode = bool | Literal["always", "checked"]

#: The two ways: the walk with bounds, and the searches.
Way = Literal["rows", "pairs"]
WAYS: tuple[Way, ...] = ("rows", "pairs")
#: Up to this level rows are walked with bounds, and at the next one those with so many neighbours; above, and in other
#: rows, a search decides each pair of variables.
ROW_LEVEL, WIDE_ROW = 4, 64
#: A level is pruned if that saves so many seconds: more if the code has yet to be loaded, which takes some ten seconds
#: on a new machine and half a second later.
WORTH_LOADING, WORTH = 1.0, 0.01
#: Rows with fewer neighbours are not walked with bounds.
ROW_DEGREE = 32
#: Nor are rows with more neighbours pruned, so that the work space of a thread stays below 200 MB.
MOST_NEIGHBOURS: dict[Way, int] = {"rows": 2000, "pairs": 512}
#: Smallest eigenvalue of the correlations of a row that is walked with bounds.
LEAST_EIGENVALUE = 1e-4
#: What the walk takes per set of all but the last member, and per test.
PREFIX_SECONDS, TEST_SECONDS = 1.3e-7, 6e-10
#: What a search may spend, in the arithmetic of one second. With ten times as much, searches of graphs with hubs took
#: four times as long as the walk, and those of dense graphs no less than now.
SPEED = 1e9
#: A check takes about so many pairs, of at most so many conditioning sets each.
CHECK_PAIRS, CHECK_SETS = 500, 1_000_000
#: Tests that a task of the walk with bounds answers, and pairs that a task of searches decides.
TASK_TESTS, TASK_PAIRS = 10_000_000, 64

#: The ways whose code this process has loaded.
_loaded: set[Way] = set()


def rows_of_way(way: Way, degrees: NDArray[np.int64], level: int) -> Mask:
    """The rows that go this way if they are pruned, bool (p,)."""
    if level < 2:  # a test of level 1 costs no more than a bound
        return np.zeros(len(degrees), dtype=np.bool_)
    wide = (level <= ROW_LEVEL) | (level == ROW_LEVEL + 1) & (degrees >= WIDE_ROW)
    return wide if way == "rows" else ~wide


@functools.cache
def load(way: Way) -> None:
    """Load the code of a way, or compile it, by a run on six variables."""
    C = np.where(np.eye(6), 1.0, 0.5)
    C.flags.writeable = False
    neighbours = np.tile(np.arange(6, dtype=np.int32), (6, 1))[~np.eye(6, dtype=np.bool_)]
    graph = Graph(np.arange(0, 31, 5), neighbours, np.zeros(30, dtype=np.bool_), np.full(30, np.inf))
    findings, bound = graph.no_findings(), np.full(30, 0.01)
    targets, cutoff = graph.targets(2, False, findings), Cutoff.around(0.1)
    for task in PrunedSide(C, graph, targets, 2, way, cutoff, findings, bound).tasks():
        task(np.zeros(2, dtype=np.int64))


def _sets(n: int, size: int) -> float:
    """C(n, size), as far as floating-point numbers go."""
    return float(min(comb(max(n, 0), size), 10**300))


def walk_seconds(degrees: NDArray[np.int64], targets: NDArray[np.int64], level: int) -> Floats:
    """About what the walk takes for rows with so many neighbours and targets: so much per prefix and per test."""
    kinds, row = np.unique(degrees, return_inverse=True)
    prefixes, sets = (np.array([_sets(d - 1, k) for d in kinds.tolist()]) for k in (level - 1, level))
    seconds: Floats = PREFIX_SECONDS * prefixes[row] + TEST_SECONDS * sets[row] * targets
    return seconds


def _pruned_seconds(degrees: NDArray[np.int64], targets: NDArray[np.int64], walk: Floats, way: Way) -> Floats:
    """About what pruning takes for the same rows."""
    searches: Floats = 50e-6 + (15e-6 + 0.03e-6 * degrees.astype(np.float64) ** 2) * targets
    return 0.4 * walk if way == "rows" else searches


class Pruning:
    """Pruning for one problem.

    Parameters
    ----------
    C : float64 (p, p), contiguous, not writeable
    mode : bool or {"always", "checked"}
    """

    def __init__(self, C: Floats, mode: PruningMode) -> None:
        self._C, self.mode = C, mode
        self._by_cost = mode in (True, "checked")  # else everywhere or nowhere
        self._all_sound: bool | None = None
        self._sound: dict[int, bool] = {}  # by row; a row that is sound stays so, as it only loses neighbours

    def choose(self, graph: Graph, targets: Targets, level: int, way: Way) -> Mask:
        """The rows to prune this way, bool (p,)."""
        degrees, per_row = graph.degrees(), targets.per_row
        if not self.may_pay(degrees, level):
            return np.zeros(len(degrees), dtype=np.bool_)
        rows = (per_row > 0) & rows_of_way(way, degrees, level) & (degrees <= MOST_NEIGHBOURS[way])
        if way == "rows":
            rows &= degrees >= ROW_DEGREE
        if not rows.any():
            return rows
        walk = walk_seconds(degrees, per_row, level)
        saved = walk - _pruned_seconds(degrees, per_row, walk, way)
        if self._by_cost:
            rows &= saved > 0.2 * walk
            if float(saved[rows].sum()) < (WORTH if way in _loaded else WORTH_LOADING):
                return np.zeros_like(rows)
        _loaded.add(way)
        return self.sound(graph, rows) if way == "rows" else rows

    def may_pay(self, degrees: NDArray[np.int64], level: int) -> bool:
        """False where a level is surely too small: quicker than to look at every row."""
        if not self._by_cost:
            return bool(self.mode)
        d = int(degrees.max(initial=0))
        at_most = len(degrees) * (PREFIX_SECONDS * _sets(d - 1, level - 1) + TEST_SECONDS * d * _sets(d - 1, level))
        return level > 1 and at_most > (WORTH if _loaded else WORTH_LOADING)

    def sound(self, graph: Graph, rows: Mask) -> Mask:
        """Those of the rows that are well conditioned, bool (p,)."""
        sound = np.zeros_like(rows)
        sound[rows] = [self._is_sound(graph, x) for x in np.flatnonzero(rows).tolist()]
        return sound

    def _is_sound(self, graph: Graph, x: int) -> bool:
        """Whether no set of variables in the row has a pivot that might be doubtful."""
        if self._all_sound is None:
            self._all_sound = len(self._C) <= 1024 and _is_well_conditioned(self._C)
        if not self._all_sound and not self._sound.get(x):
            members = np.append(graph.neighbours[graph.offsets[x] : graph.offsets[x + 1]], x)
            self._sound[x] = _is_well_conditioned(self._C[np.ix_(members, members)])
        return self._all_sound or self._sound[x]


def _is_well_conditioned(matrix: Floats) -> bool:
    try:
        np.linalg.cholesky(matrix - LEAST_EIGENVALUE * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return False
    return True


def split(graph: Graph, targets: Targets, rows: Mask) -> tuple[Targets, Targets]:
    """The targets in the rows to prune, and the others."""
    pruned = targets.chosen & np.repeat(rows, graph.degrees())
    return (
        Targets(pruned, np.where(rows, targets.per_row, 0), targets.more),
        Targets(targets.chosen & ~pruned, np.where(rows, 0, targets.per_row), targets.more),
    )


class PrunedSide:
    """Tasks for the rows of one side of a level that are pruned one way.

    Parameters
    ----------
    C : float64 (p, p)
    graph, targets, findings
        Of the level; `targets` are in the rows to prune.
    way : {"rows", "pairs"}
    cutoff : Cutoff
    bound : float64 (E,)
        Squared partial correlation below which a test is looked at.
    minimum : bool
        Search for the smallest squared partial correlation below the bound instead of for a separating set.
    """

    def __init__(  # noqa: PLR0913
        self, C: Floats, graph: Graph, targets: Targets, level: int, way: Way, cutoff: Cutoff, findings: Findings,
        bound: Floats, minimum: bool = False,
    ) -> None:  # fmt: skip
        self._degree, self._targets, self._findings, self._level = graph.degrees(), targets, findings, level
        self._way = way
        binomials = subsets.binomial_table(int(self._degree.max(initial=0)), level)
        hint = np.full(len(graph.neighbours), -1, dtype=np.int64)
        self._side = RowSide(
            C, graph.offsets, graph.neighbours, targets.chosen, bound, hint, binomials, cutoff, level, minimum
        )
        self._widest = int(self._degree[targets.per_row > 0].max(initial=0))
        self._spaces: list[Any] = []  # work spaces that no thread uses
        self._lock = threading.Lock()
        self.left = np.zeros(len(graph.neighbours), dtype=np.bool_)
        self.made = self.bounds = 0

    def sample(self, row: Ints) -> Targets:
        """Targets that were decided, of rows where that takes few tests: all, or some of them."""
        degree = self._degree[row]
        sets = np.array([_sets(d - 1, self._level) for d in range(int(self._degree.max()) + 1)])
        decided = np.flatnonzero(self._side.chosen & ~self.left & (sets[degree] <= CHECK_SETS))
        decided = decided[:: max(1, len(decided) // CHECK_PAIRS)]
        chosen = np.zeros_like(self.left)
        chosen[decided] = True
        return Targets(chosen, np.bincount(row[decided], minlength=len(self._degree)), more=False)

    def give_up_left(self) -> None:
        """Forget what was found about the targets that are left to the walk."""
        self._findings.rank[self.left] = -1

    def tasks(self) -> Iterator[Task]:
        """The tasks, those of large rows first."""
        rows = np.flatnonzero(self._targets.per_row)
        rows = rows[np.argsort(-self._degree[rows], kind="stable")]
        return self._row_tasks(rows) if self._way == "rows" else self._pair_tasks(rows)

    # ---------------------------------------------------------------- the walk with bounds

    def _row_tasks(self, rows: NDArray[np.int64]) -> Iterator[Task]:
        level, gathered, total = self._level, [], 0
        for x in rows.tolist():
            d = int(self._degree[x])
            per_set = int(self._targets.per_row[x])
            begin, tests = 0, 0
            for first in range(d - level + 1):
                tests += comb(d - 1 - first, level - 1) * per_set
                if tests >= TASK_TESTS or first == d - level:
                    gathered.append((x, begin, first + 1))
                    total, begin, tests = total + tests, first + 1, 0
                if total >= TASK_TESTS:
                    yield self._row_task(gathered, total)
                    gathered, total = [], 0
        if gathered:
            yield self._row_task(gathered, total)

    def _row_task(self, items: list[tuple[int, int, int]], tests: int) -> Task:
        columns = RowItems(*np.array(items, dtype=np.int64).T.copy())

        def walk(state: State) -> int:
            n = int(self._degree[columns.row].sum())
            outcomes = Outcomes(np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n))
            work = self._take_space()
            work.counts[:] = 0
            walk_rows(self._side, columns, outcomes, work, state)
            tested = outcomes.rank != NO_TARGET
            self._merge(outcomes.entry[tested], outcomes.rank[tested], outcomes.smallest[tested], work.counts)
            self._spaces.append(work)
            return tests

        return walk

    # ---------------------------------------------------------------- the searches

    def _pair_tasks(self, rows: NDArray[np.int64]) -> Iterator[Task]:
        for x in rows.tolist():
            positions = np.flatnonzero(self._side.chosen[self._side.offsets[x] : self._side.offsets[x + 1]])
            parts = -(-len(positions) // TASK_PAIRS)
            for part in np.array_split(positions, parts):
                yield self._pair_task(x, part)

    def _pair_task(self, x: int, positions: NDArray[np.int64]) -> Task:
        sets, targets = comb(int(self._degree[x]) - 1, self._level), self._targets.per_row[x : x + 1]
        walk = float(walk_seconds(self._degree[x : x + 1], targets, self._level)[0] / targets[0])
        allowance = np.inf if self._side.minimum else 0.5 * SPEED * walk

        def decide(state: State) -> int:
            work = self._take_space()
            row, base, nodes, leaf, frame = work
            frame.counts[:] = 0
            frame.minimum[:] = self._side.minimum
            outcomes = PairOutcomes(np.full(len(positions), LEFT), np.full(len(positions), np.inf))
            if open_row(self._side, x, row) >= LEAST_DELTA:
                search_row(self._side, x, positions, allowance, outcomes, row, base, nodes, leaf, frame, state)
            self._merge(self._side.offsets[x] + positions, outcomes.rank, outcomes.smallest, frame.counts)
            self._spaces.append(work)
            return sets * int((outcomes.rank != LEFT).sum())

        return decide

    # ---------------------------------------------------------------- what they share

    def _take_space(self) -> Any:
        try:
            return self._spaces.pop()
        except IndexError:
            make = row_work if self._way == "rows" else pair_work
            return make(self._level, self._widest)

    def _merge(self, entry: NDArray[np.int64], rank: NDArray[np.int64], smallest: Floats, counts: Any) -> None:
        """Add what a task has found; it has each entry once at most."""
        with self._lock:
            findings = self._findings
            better = (rank >= 0) & ((findings.rank[entry] < 0) | (rank < findings.rank[entry]))
            findings.rank[entry[better]], findings.r[entry[better]] = rank[better], np.nan  # to be computed
            findings.smallest[entry] = np.minimum(findings.smallest[entry], smallest)
            self.left[entry[rank == LEFT]] = True
            self.made += int(counts[TESTS])
            self.bounds += int(counts[BOUNDS])
