"""The rows of one side of a level that are pruned: their items, and what follows when all of them are done."""

from __future__ import annotations

import functools
import threading
from abc import abstractmethod
from typing import Any

import numpy as np

from pycupc.engines import subsets
from pycupc.engines.cpu import tuning
from pycupc.engines.cpu.conditional_covariances import Sizes
from pycupc.engines.cpu.graph import FAR, FarSet, Findings, Graph, Indices, Targets
from pycupc.engines.cpu.pruning.bounded_walk import bounded_walk
from pycupc.engines.cpu.pruning.bounded_walk_arrays import BOUNDS, REPLACED, SPENT, TESTS, BoundedWork
from pycupc.engines.cpu.pruning.branch import SEPARATED
from pycupc.engines.cpu.pruning.branch_and_bound import PairOutcomes, Search, search_items
from pycupc.engines.cpu.pruning.delta import Proofs, row_space
from pycupc.engines.cpu.pruning.node import search_space
from pycupc.engines.cpu.pruning.plan import Way, pair_seconds
from pycupc.engines.cpu.row_items import Merged, RowWork, cuts, items_of, number_of_items, repeated
from pycupc.engines.cpu.submatrices import CorrelationSource, MatrixSource
from pycupc.engines.cpu.threads import REFUSED, State, new_state
from pycupc.engines.cpu.walk_arrays import END, FIRST, LEFT, PIECES, ROW, Cutoff, Outcomes, Part, Side, work_space
from pycupc.engines.protocol import Floats
from pycupc.graph.lists import starts
from pycupc.system.localised_message import Message, Variable


@functools.cache
def load(way: Way) -> None:
    """Load the code of a way, or compile it, by a run on six variables."""
    side = small_side()
    pruned_side(way, *side, Proofs.of(side[1]))(new_state()[0])


def small_side() -> tuple[MatrixSource, Graph, Targets, Side, Findings]:
    """A side of level 2 of six variables, all of which are neighbours, for runs that load code."""
    neighbours = np.tile(np.arange(6, dtype=np.int32), (6, 1))[~np.eye(6, dtype=np.bool_)]
    graph = Graph.of_lists(np.arange(0, 31, 5), neighbours)
    findings = graph.no_findings()
    targets = graph.targets(2, False, findings)
    side = Side.of(graph, targets, 2, Cutoff.around(0.1))
    return MatrixSource(np.where(np.eye(6), 1.0, 0.5)), graph, targets, side, findings


def pruned_side(
    way: Way, source: CorrelationSource, graph: Graph, targets: Targets, side: Side, findings: Findings, proofs: Proofs,
    bound: Floats | None = None,
) -> PrunedSide:  # fmt: skip
    """The work on the rows of one side that are pruned this way; `targets` are in these rows.

    With `bound`, float64 (E,), the smallest squared partial correlation below it is searched for instead of a
    separating set.
    """
    if way == "walk":
        return WalkedSide(source, graph, targets, side, findings, bound)
    return SearchedSide(source, graph, targets, side, findings, bound, proofs)


class PrunedSide(RowWork):
    """See `pruned_side`. After the work is done and `settle` is called:

    `left`, bool (E,): targets that are left to the walk. `unsure`, likewise: a search took too long, so there may be a
    smaller squared partial correlation than has been found. `made`, `bounds`: number of tests made, of bounds.
    """

    def __init__(
        self, source: CorrelationSource, graph: Graph, side: Side, findings: Findings, items: Indices,
        bound: Floats | None,
    ) -> None:  # fmt: skip
        super().__init__(source.parts(graph, items))
        self._graph, self._side, self._findings = graph, side, findings
        self._minimum, self._bound = bound is not None, np.zeros(0) if bound is None else bound
        self.left = np.zeros(len(graph.neighbours), dtype=np.bool_)
        self.unsure = np.zeros_like(self.left)
        self._counts, self._lock = np.zeros(4, dtype=np.int64), threading.Lock()
        unfinished = number_of_items(items, source.p)
        self._merged = Merged(*findings[:3], findings.done, self.left, unfinished)

    @abstractmethod
    def _own_counts(self, space: Any) -> Indices:
        """The counts of a thread."""

    def _finish(self, space: Any) -> None:
        with self._lock:
            self._counts += self._own_counts(space)

    @property
    def made(self) -> int:
        return int(self._counts[TESTS])

    @property
    def bounds(self) -> int:
        return int(self._counts[BOUNDS])

    def pays(self) -> bool:
        """Whether the searches took clearly less time than the tests that they replace."""
        return bool(self._counts[SPENT] < tuning.WORTHWHILE * self._counts[REPLACED])

    def settle(self) -> None:
        """After all work: complete the findings."""
        self.forget_left()

    def forget_left(self) -> None:
        """Forget the findings about the targets that are left to the walk."""
        self._findings.rank[self.left] = -1


class WalkedSide(PrunedSide):
    """The walk with bounds: the parts of a row are the first members of its sets."""

    def __init__(
        self, source: CorrelationSource, graph: Graph, targets: Targets, side: Side, findings: Findings,
        bound: Floats | None,
    ) -> None:  # fmt: skip
        d, level = graph.degrees, side.level
        work = targets.per_row * side.binomials[d - 1, level].astype(np.float64)
        least = np.maximum(tuning.WALKED_TESTS, tuning.GATHER_SHARE * d * d)
        items, piece = items_of(graph, work, least, np.maximum(d - level + 1, 1))
        for column, k in ((FIRST, piece), (END, piece + 1)):
            items[:, column] = _first_members(side.binomials[:, level], d[items[:, ROW]], items[:, PIECES], k)
        super().__init__(source, graph, side, findings, items, bound)

    def pays(self) -> bool:
        return True

    def _make_space(self, d: int) -> tuple[Outcomes, BoundedWork]:
        level, minimum = self._side.level, np.full(1, self._minimum)
        return Outcomes.of(d), work_space(BoundedWork, u=level - 1, d=d, level=level, minimum=minimum)

    def _own_counts(self, space: tuple[Outcomes, BoundedWork]) -> Indices:
        return space[1].counts

    def _walk(self, part: Part, space: tuple[Outcomes, BoundedWork], state: State) -> None:
        side = self._side._replace(C=part.C, neighbours=part.neighbours)
        bounded_walk(side, self._bound, part.items, part.following, self._merged, *space, state)


def _first_members(sets: Indices, d: Indices, pieces: Indices, k: Indices) -> Indices:
    """The first member with which piece k of a row with d neighbours begins: pieces have about as many sets.

    `sets`: number of sets of 0, 1, 2, ... neighbours.
    """
    rest = cuts(sets[d], pieces, pieces - k)  # sets that come from there on
    return d - (np.searchsorted(sets, rest, side="right") - 1)


class SearchedSide(PrunedSide):
    """Searches: the parts of a row are its targets."""

    def __init__(
        self, source: CorrelationSource, graph: Graph, targets: Targets, side: Side, findings: Findings,
        bound: Floats | None, proofs: Proofs,
    ) -> None:  # fmt: skip
        entries, rows = np.flatnonzero(targets.chosen), np.flatnonzero(targets.per_row)
        super().__init__(source, graph, side, findings, _items_of_searches(graph, rows, targets.per_row), bound)
        self._too_many = subsets.are_too_many(graph.degrees, side.level)
        walk = pair_seconds(graph.degrees, side.level)
        allowance, price = 1e9 * self._patience(walk), np.where(self._too_many, 0.0, 1e9 * walk)
        wide = subsets.are_wide(graph.degrees, side.level)
        first, everything, none = np.zeros_like(entries), np.zeros(0, dtype=np.bool_), np.full_like(graph.degrees, -1)
        self._search = Search(entries, self._bound, allowance, price, wide, first, first + 1, everything, none)
        self._proofs = proofs
        self._sizes = Sizes.single(side.level, side.cutoff)
        self._outcomes = PairOutcomes.of(len(entries), side.level, members=bool(wide.any()))

    def _patience(self, walk: Floats) -> Floats:
        """Seconds that a search about a pair of each row may take, where its tests would take `walk` seconds."""
        if self._minimum:
            return np.where(walk < tuning.ENDLESS, np.inf, tuning.PATIENCE_FOR_MINIMUM)
        return np.where(self._too_many, tuning.PATIENCE, walk)

    def _make_space(self, d: int) -> Any:
        return row_space(d), *search_space(self._side.level, d, minimum=np.full(1, self._minimum))

    def _own_counts(self, space: Any) -> Indices:
        counts: Indices = space[-1].counts
        return counts

    def _walk(self, part: Part, space: Any, state: State) -> None:
        side, (own, nodes, sets, w) = self._side._replace(C=part.C, neighbours=part.neighbours), space
        own.row[0] = 0
        shared = self._sizes, self._proofs, self._outcomes, self._merged
        search_items(side, self._search, part.items, part.following, *shared, own, nodes, sets, w, state)
        if state[REFUSED]:
            entry = int(self._search.targets[state[REFUSED] - 1])
            x, y = int(np.searchsorted(self._graph.offsets, entry, side="right")) - 1, self._graph.neighbours[entry]
            why = Message("bounds could not decide about its edge to variable {y}", y=Variable(int(y)))
            raise subsets.refusal(x, int(self._graph.degrees[x]), self._side.level, why)

    def settle(self) -> None:
        found, targets = self._outcomes.found, self._search.targets
        if self._minimum:
            row = self._graph.rows()[targets]
            self.unsure[targets[(found == LEFT) & (self._search.allowance[row] < np.inf)]] = True
        if len(self._outcomes.members):
            self._add_far(np.flatnonzero(found == SEPARATED))
        super().settle()

    def _add_far(self, separated: Indices) -> None:
        """Add the sets found in wide rows."""
        for o in separated[self._findings.rank[self._search.targets[separated]] == FAR].tolist():
            entry, positions = int(self._search.targets[o]), self._outcomes.members[o].tolist()
            n = int(self._graph.degrees[np.searchsorted(self._graph.offsets, entry, side="right") - 1]) - 1
            self._findings.far[entry] = FarSet(subsets.exact_rank(positions, n), tuple(positions))


def _items_of_searches(graph: Graph, rows: Indices, targets: Indices) -> Indices:
    """Items of these rows with some of the `targets`, int64 (p,), of a row: the first of each row come first."""
    seconds = tuning.PAIR_SECONDS + tuning.PAIR_SECONDS_PER_SQUARE * graph.degrees[rows].astype(np.float64) ** 2
    pairs = np.clip(tuning.SEARCH_SECONDS // seconds, 1, tuning.ITEM_PAIRS).astype(np.int64)
    number, before = targets[rows], starts(targets[rows])[:-1]
    pieces = -(-number // pairs)
    items, piece = repeated(graph, rows, pieces)
    at = np.repeat(np.arange(len(rows)), pieces)
    for column, k in ((FIRST, piece), (END, piece + 1)):
        items[:, column] = before[at] + cuts(number[at], pieces[at], k)
    order = np.lexsort((-graph.degrees[items[:, ROW]], piece))
    return items[order]
