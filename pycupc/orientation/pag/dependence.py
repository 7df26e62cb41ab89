"""The tests of rfci that remove edges: tests of unshielded triples, and tests of discriminating paths.

Both need a minimal separating set of a pair that is not adjacent, and remove edges that a subset of that set separates
(docs/contracts/latent.md, section 5). A removal never changes the set of another pair, so the tests of all triples are
made at once, and only those that find an independence are looked at one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.lists import Lists, starts
from pycupc.graph.pairs import Pairs
from pycupc.graph.questions import Answers, Questions
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import look_up, pair_keys
from pycupc.orientation.pag.orienting import Orienting

Indices = NDArray[np.int64]
Pair = tuple[int, int]
Triple = tuple[int, int, int]
#: The common neighbours of x and y, all or some.
CommonNeighbours = Callable[[int, int], Iterable[int]]


class Removed(NamedTuple):
    """An edge that a test of rfci removed: the pair in the order of the test, the set, r (or p), and p."""

    x: int
    y: int
    S: tuple[int, ...]
    value: float
    p: float


class Dependence:
    """The graph and its separating sets, as the skeleton phase left them, while tests of rfci change them.

    Attributes: `removed`, in the order of removal; `n_tests` by the size of the set, without tests made ahead for
    triples that a removal has broken.

    `ask`: `Engine.first_separating` of an engine that has taken the test. `in_order`: whether the test is to be asked
    one set after the other, in pcalg's order. `kept`: pairs whose edge must not be tested. `quirks`: leave triples that
    removals make untested, as pcalg does.
    """

    def __init__(
        self,
        graph: Orienting,
        sepset: SepSets,
        ask: Callable[[Questions], Answers],
        *,
        in_order: bool = False,
        kept: Pairs | None = None,
        quirks: bool = False,
    ) -> None:
        self._graph, self._sepset, self._ask = graph, sepset, ask
        self._in_order, self._kept, self._quirks = in_order, kept, quirks
        self._cells: dict[Pair, tuple[int, ...]] = {}  # written by these tests, or by a rule for triples
        self.removed: list[Removed] = []
        self.n_tests: list[int] = []

    # -- separating sets ----------------------------------------------------------------------------------------------

    def set_of(self, x: int, z: int, *without: int) -> list[int]:
        """The members of cell (x, z), then the members of cell (z, x), each once."""
        cells = (self._cells[cell] if cell in self._cells else self._sepset.get(*cell) for cell in ((x, z), (z, x)))
        return [v for v in dict.fromkeys(v for S in cells for v in S or ()) if v not in without]

    def sepset(self) -> SepSets:
        """The separating sets now."""
        if not self._cells:
            return self._sepset
        x, y = np.array(list(self._cells), dtype=np.int32).T
        sets = Lists.of(self._cells.values())
        new = FlatCells(x, y, sets.sizes.astype(np.int32), sets.members)
        return self._sepset.changed(new).of_skeleton(self._graph.left())

    def changed_cells(self) -> frozenset[tuple[Pair, tuple[int, ...]]]:
        """The cells that have changed since the skeleton, with their sets; each edge removed is among them."""
        return frozenset(self._cells.items())

    def write(self, cells: FlatCells) -> None:
        """Enter the sets of these cells, which a rule for triples has changed."""
        sets = Lists(starts(cells.length), cells.members)
        for i, cell in enumerate(zip(cells.x.tolist(), cells.y.tolist(), strict=True)):
            self._cells[cell] = tuple(sets.of_one(i))

    # -- triples ------------------------------------------------------------------------------------------------------

    def examine(self, triples: Indices, common: CommonNeighbours | None = None) -> list[Triple]:
        """Test both edges of these triples given the set of its ends, and remove those that are independent.

        `triples`, int64 (k, 3), are unshielded; one that has lost an edge before its turn is not tested. A removal
        makes new triples over the neighbours of `common`, by default all common ones. They are returned, and examined
        after the others except with quirks.
        """
        made: list[Triple] = []
        while len(triples):
            new = self._examine_once(triples, common or self.common_neighbours)
            made += new
            triples = np.array([] if self._quirks else new, dtype=np.int64).reshape(-1, 3)
        return made

    def _examine_once(self, triples: Indices, common: CommonNeighbours) -> list[Triple]:
        sets, made = self._sets(triples), []
        separated = None if self._in_order else self._separated(triples, sets)
        turns = np.flatnonzero(sets.sizes if separated is None else separated.any(axis=1))
        when = [-1] * len(self.removed)  # the turn of each removal
        for t in turns.tolist():
            x, y, z = map(int, triples[t])
            if not (self._graph.adjacent(x, y) and self._graph.adjacent(z, y)):
                continue
            S = sets.of_one(t)
            for side, end in enumerate((x, z)):
                if self._is_kept(end, y):
                    continue
                independent = self._search(end, y, S, len(S)) if separated is None else separated[t, side]
                if independent and (found := self._search(end, y, S)):
                    self._remove(found)
                    when.append(t)
                    made += triples_over(end, y, common(end, y))
        if separated is not None:
            self._count_first_tests(triples, sets.sizes, when)
        return made

    def _sets(self, triples: Indices) -> Lists:
        """The set of each triple: both cells of its ends without its middle."""
        if self._cells:
            return Lists.of([self.set_of(x, z, y) for x, y, z in triples.tolist()])
        n, (x, y, z) = len(triples), triples.T
        _, cells = self._sepset.stored_of(np.append(x, z), np.append(z, x))
        owner = np.repeat(np.tile(np.arange(n), 2), cells.length)
        order = np.argsort(owner, kind="stable")
        owner, members = owner[order], cells.members[order]
        first = np.unique(owner * self._graph.p + members, return_index=True)[1]
        first = np.sort(first[members[first] != y[owner[first]]])
        return Lists.by_owner(owner[first], members[first], n)

    def _separated(self, triples: Indices, sets: Lists) -> NDArray[np.bool_]:
        """Whether the set of each triple separates x and y, and z and y, bool (k, 2); False where it is empty."""
        size, out = sets.sizes, np.zeros((len(triples), 2), dtype=np.bool_)
        for n in np.unique(size[size > 0]).tolist():
            at = np.flatnonzero(size == n)
            members = np.tile(sets.members[sets.offsets[at, None] + np.arange(n)].ravel(), 2)
            candidates = Lists(np.arange(2 * len(at) + 1) * n, members)
            x, y = triples[at][:, [0, 2]].T.ravel(), np.tile(triples[at, 1], 2)
            out[at] = self._ask(Questions(x, y, candidates, n, n, largest_p=False)).found.reshape(2, -1).T
        return out

    def _count_first_tests(self, triples: Indices, size: Indices, when: list[int]) -> None:
        """Count the tests of `_separated` of triples that were whole at their turn, in each of which one set is tested.

        `when` is the turn of each removal, -1 for earlier removals.
        """
        ends, p = (triples[:, [0, 2]], triples[:, [1, 1]]), self._graph.p
        gone = pair_keys([edge.x for edge in self.removed], [edge.y for edge in self.removed], p)
        order = np.argsort(gone)
        turn = np.append(np.array(when, dtype=np.int64)[order], len(triples))[look_up(gone[order], pair_keys(*ends, p))]
        tested = np.repeat((turn.min(axis=1) >= np.arange(len(triples))) & (size > 0), 2).reshape(-1, 2)
        if self._kept is not None:
            tested &= ~self._kept.holds(*ends)
        self._count(np.bincount(np.repeat(size, tested.sum(axis=1))))

    # -- paths --------------------------------------------------------------------------------------------------------

    def cut(self, path: Sequence[int]) -> Removed | None:
        """Test the edges of a discriminating path given subsets of the set of its ends; remove the first independent.

        None if all edges stay. Of a path that pcalg has cut short, two neighbours need not be adjacent. With quirks
        they are tested all the same, and their set is entered if they are independent.
        """
        for x, y in pairwise(path):
            S = self.set_of(path[0], path[-1], x, y)
            if not S or self._is_kept(x, y) or not (self._quirks or self._graph.adjacent(x, y)):
                continue
            if found := self._search(x, y, S):
                self._remove(found)
                return found
        return None

    # -- single pairs -------------------------------------------------------------------------------------------------

    def common_neighbours(self, x: int, y: int) -> list[int]:
        """The common neighbours of x and y now, ascending."""
        return sorted({*self._graph.neighbours(x)} & {*self._graph.neighbours(y)})

    def _search(self, x: int, y: int, S: Sequence[int], smallest: int = 1) -> Removed | None:
        """The first subset of S, by size, that separates x and y."""
        question = Questions(np.array([x]), np.array([y]), Lists.of([S]), smallest, len(S), largest_p=False)
        answer = self._ask(question)
        self._count(answer.n_tests[0])
        if not answer.found[0]:
            return None
        return Removed(x, y, tuple(answer.S.of_one(0)), float(answer.value[0]), float(answer.p[0]))

    def _is_kept(self, x: int, y: int) -> bool:
        return self._kept is not None and bool(self._kept.holds(np.array(x), np.array(y)))

    def _remove(self, edge: Removed) -> None:
        self._cells[edge.x, edge.y] = self._cells[edge.y, edge.x] = edge.S
        if self._graph.adjacent(edge.x, edge.y):
            self._graph.remove(edge.x, edge.y)
            self.removed.append(edge)

    def _count(self, by_size: Iterable[int]) -> None:
        """Add numbers of tests by the size of the set."""
        pairs = zip_longest(self.n_tests, map(int, by_size), fillvalue=0)
        self.n_tests = [had + more for had, more in pairs]


def triples_over(x: int, y: int, middles: Iterable[int]) -> list[Triple]:
    """The triples x - m - y over these middles, the smaller end first."""
    return [(min(x, y), m, max(x, y)) for m in middles]
