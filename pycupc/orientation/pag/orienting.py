"""The loops of the rules for PAGs over the compiled functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import ARROW, CIRCLE, TAIL, SparseGraph
from pycupc.orientation import Orientation
from pycupc.orientation.colliders import mark_triples
from pycupc.orientation.mixed_graph import (
    AMBIGUOUS,
    KIND,
    MIRROR,
    NEIGHBOUR,
    MixedGraph,
    find,
    owners,
    steps_of,
    trace,
    triple_number,
    undirected,
)
from pycupc.orientation.pag import local_rules, mark_lists, path_rules
from pycupc.orientation.pag.rules import Decide, JointCausalInference
from pycupc.orientation.trace import COLLIDER, FIRST_KNOWN, KNOWN, Reason
from pycupc.system.code_cache import loads
from pycupc.system.jit import always_compiled, plain_if_small

Indices = NDArray[np.int64]
_TIER, _JCI = FIRST_KNOWN + KNOWN.index("tier"), FIRST_KNOWN + KNOWN.index("JCI")


def in_sets(sepset: SepSets) -> Decide:
    """Whether b of a discriminating path (d, ..., a, b, c) is in a separating set of d and c."""

    def decide(path: tuple[int, ...]) -> bool:
        d, b, c = path[0], path[-2], path[-1]
        return any(b in (sepset[x][y] or ()) for x, y in ((d, c), (c, d)))

    return decide


class Orienting:
    """A skeleton while it becomes a PAG, whose lists are described in `pycupc.orientation.pag.mark_lists`.

    `quirks`: search for paths as pcalg does, and with `of_rfci` as its rfci does.
    """

    graph: MixedGraph

    def __init__(self, skeleton: SparseGraph, quirks: bool = False, *, of_rfci: bool = False) -> None:
        self.p, self._quirks, self._of_rfci = skeleton.p, quirks, of_rfci and quirks
        self._steps = steps_of(skeleton)
        self._paths: list[Reason] = []
        self._seen = np.zeros(max(self.p, 2 * len(skeleton)) + 1, dtype=np.int64)
        self._work = np.zeros((3, self.p + 3), dtype=np.int64)
        with plain_if_small(self._steps // 2, "PAGs", path_rules.next_path):
            self.graph = undirected(skeleton)
        self.graph.entry[KIND] = CIRCLE
        self._owner = owners(self.graph.entry)

    def compiling(self) -> AbstractContextManager[bool]:
        """For what follows, of which small graphs are oriented by plain Python."""
        return plain_if_small(self._steps // 2, "PAGs", path_rules.next_path)

    def left(self) -> SparseGraph:
        """The edges left, with their marks."""
        return mark_lists.to_sparse(self.graph, self.p)

    def oriented(self) -> Orientation:
        """The result."""
        return Orientation(self.left(), trace(self.graph, (ARROW, TAIL), local_rules.FORMS, self._paths))

    # -- before the rules ---------------------------------------------------------------------------------------------

    def assume(self, jci: JointCausalInference | None, arrowheads: Iterable[tuple[int, int]]) -> None:
        """Set the marks that are known beforehand."""
        if jci is not None:
            for x in sorted(set(jci.context)):
                for e in range(self.graph.start[x], self.graph.start[x + 1]):
                    among = int(self.graph.entry[NEIGHBOUR, e]) in jci.context
                    if among and jci.assumptions == "123":
                        self._put(e, ARROW, _JCI)
                        self._put(self._mirror(e), ARROW, _JCI)
                    elif not among:
                        self._put(self._mirror(e), ARROW, _JCI)
                        if jci.assumptions != "1":
                            self._put(e, TAIL, _JCI)
        for a, b in arrowheads:
            self._put(self._find(b, a), ARROW, _TIER)

    def mark_triples(self, sepset: SepSets, ambiguous: Indices | None = None) -> None:
        """Mark the triples that are no colliders by their sets, and the ambiguous ones, int64 (k, 3)."""
        mark_triples(self.graph, sepset, ambiguous)

    def orient_colliders(self, jci: JointCausalInference | None = None) -> None:
        """Every unshielded x - y - z that is not marked: x *-> y <-* z."""
        chosen = np.flatnonzero(self.graph.entry[KIND] == CIRCLE)
        if jci is not None and jci.assumptions == "123":
            chosen = chosen[~np.isin(self._owner[chosen], list(jci.context))]
        local_rules.colliders(*self.graph, chosen, self._owner)

    def mark_ambiguous(self, a: int, b: int, c: int) -> None:
        """From now on the triple is ambiguous."""
        number = triple_number(self.graph.entry, self._find(b, a), self._find(b, c))
        self.graph.triple[number] |= AMBIGUOUS

    def neighbours(self, v: int) -> list[int]:
        """The neighbours of v now, ascending."""
        near = self.graph.entry[:, self.graph.start[v] : self.graph.start[v + 1]]
        out: list[int] = near[NEIGHBOUR, near[KIND] != mark_lists.NONE].tolist()
        return out

    def adjacent(self, x: int, y: int) -> bool:
        """Is there an edge between x and y now?"""
        e = self._find(x, y)
        return e >= 0 and bool(self.graph.entry[KIND, e] != mark_lists.NONE)

    def remove(self, x: int, y: int) -> None:
        """Remove an edge."""
        e = self._find(x, y)
        self.graph.entry[KIND, [e, self._mirror(e)]] = mark_lists.NONE

    def put_collider(self, x: int, y: int, z: int) -> None:
        """x *-> y <-* z."""
        for end, other in ((x, z), (z, x)):
            self._put(self._find(y, end), ARROW, COLLIDER, other)

    def marks(self) -> bytes:
        """All marks, to be compared."""
        return bytes(self.graph.entry[KIND])

    def has_circles(self, x: int, y: int) -> bool:
        """Whether x o-o y."""
        e = self._find(x, y)
        return e >= 0 and bool(self.graph.entry[KIND, e] == self.graph.entry[KIND, self._mirror(e)] == CIRCLE)

    # -- the rules ----------------------------------------------------------------------------------------------------

    def apply_rules(
        self, rules: Sequence[bool], loops: Iterable[range], decide: Decide, spare_tails: bool = False
    ) -> None:
        """Repeat the rules of each loop until a pass changes nothing.

        `spare_tails`: an inner tail of a discriminating path stays, as with assumptions about context variables.
        """
        kind = self.graph.entry[KIND]
        for loop in loops:
            before = None
            while before is None or not np.array_equal(before, kind):
                before = kind.copy()
                for number in loop:
                    if not rules[number - 1] or not len(
                        chosen := mark_lists.scan(self.graph, local_rules.SCANNED[number])
                    ):
                        continue
                    if number in local_rules.LOCAL_RULES:
                        local_rules.LOCAL_RULES[number](*self.graph, chosen, self._owner)
                    else:
                        self._apply_paths(number, chosen, decide, spare_tails)

    def _apply_paths(self, number: int, chosen: Indices, decide: Decide, spare_tails: bool) -> None:
        """Rules 4, 5, 9 and 10."""
        at = np.zeros(2, dtype=np.int64)
        while path := self._next(number, chosen, at):
            if number == 10:
                self._put(self._mirror(chosen[at[0]]), TAIL, 10, *path)
                continue
            marks = [(path[-1], path[0], TAIL)]  # at the second variable, on the edge of both
            if number == 4:
                a, b, c = path[-3:]
                member = decide(path)
                if member is None:  # an edge of the path has been removed: is there another one?
                    at[1] -= 1
                    continue
                marks = [(b, c, ARROW), (c, b, TAIL if member else ARROW)]
                if not member and not (spare_tails and self.graph.entry[KIND, self._find(b, a)] == TAIL):
                    marks.append((a, b, ARROW))
            elif number == 5:
                steps = (*pairwise(path), marks[0][:2])
                marks = [(*ends, TAIL) for u, v in steps for ends in ((u, v), (v, u))]
            for u, v, mark in marks:
                self._put(self._find(v, u), mark, number, len(self._paths))
            self._paths.append((f"R{number}", *path))

    def _next(self, number: int, chosen: Indices, at: Indices) -> tuple[int, ...]:
        """The next path of a rule, empty at the end; with a longer work space where that is needed."""
        how = number, self._quirks, self._of_rfci
        while True:
            length = path_rules.next_path(*self.graph, chosen, self._owner, at, self._seen, self._work, *how)
            if length != path_rules.FULL:
                return tuple(self._work[path_rules.PATH, :length].tolist())
            self._work = np.zeros((3, 2 * self._work.shape[1]), dtype=np.int64)

    def _find(self, v: int, w: int) -> int:
        return int(find(self.graph.start, self.graph.entry, v, w))

    def _mirror(self, e: int) -> int:
        return int(self.graph.entry[MIRROR, e])

    def _put(self, e: int, mark: int, rule: int, first: int = 0, second: int = 0) -> None:
        mark_lists.put(self.graph.entry, e, mark, rule, first, second)


@loads(path_rules.next_path)
def load_rules() -> None:
    """Load the code of all rules, or compile it, the searches for paths last, by three variables in a line."""
    line = SparseGraph.undirected(3, [0, 1], [1, 2])
    x, y, S = (np.array(values, dtype=np.int32) for values in ([0], [2], [[1]]))
    with always_compiled():
        work = Orienting(line)
        work.mark_triples(SepSets(line, [(x, y, S)]))
        work.orient_colliders()
        first = np.zeros(1, dtype=np.int64)
        for rule in local_rules.LOCAL_RULES.values():
            rule(*work.graph, first, work._owner)
        work._next(5, first, np.zeros(2, dtype=np.int64))
