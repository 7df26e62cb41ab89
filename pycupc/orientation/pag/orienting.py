"""The loops of the rules for PAGs over the compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import ARROW, CIRCLE, TAIL, SparseGraph
from pycupc.orientation.colliders import mark_triples
from pycupc.orientation.mixed_graph import AMBIGUOUS, KIND, MIRROR, MixedGraph, find, owners, triple_number
from pycupc.orientation.pag import Decide, JointCausalInference, PagOrientation, lists, local_rules, paths
from pycupc.orientation.pag.lists import COLLIDER, JCI, KNOWN, NONE
from pycupc.orientation.trace import Reason
from pycupc.system.compiled import announced, plain_if_small

Search = Callable[..., int]


def in_sets(sepset: SepSets) -> Decide:
    """Whether b of a discriminating path (d, ..., a, b, c) is in a separating set of d and c."""

    def decide(path: tuple[int, ...]) -> bool:
        d, b, c = path[0], path[-2], path[-1]
        return any(b in (sepset[x][y] or ()) for x, y in ((d, c), (c, d)))

    return decide


class Orienting:
    """A skeleton while it becomes a PAG, whose lists are described in `pycupc.orientation.pag.lists`."""

    graph: MixedGraph

    def __init__(
        self,
        skeleton: SparseGraph,
        sepset: SepSets,
        ambiguous: NDArray[np.int64] | None = None,
        quirks: bool = False,
        *,
        of_rfci: bool = False,
    ) -> None:
        self._p, self._degrees, self._quirks = skeleton.p, skeleton.degrees(), quirks
        self._of_rfci = of_rfci and quirks  # whose rule 10 is another one in pcalg
        self._skeleton, self._sepset = skeleton, sepset
        self._ambiguous = np.zeros((0, 3), dtype=np.int64) if ambiguous is None else ambiguous
        self._paths: dict[int, Reason] = {}  # by entry
        self._seen = np.zeros(max(self._p, 2 * len(skeleton)) + 1, dtype=np.int64)
        self._work = np.zeros((3, self._p + 3), dtype=np.int64)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Small graphs are oriented by plain Python, see `plain_if_small`; makes the lists."""
        steps = 20 * int((self._degrees**2).sum())
        with announced("compiling for the orientation, once per machine"), plain_if_small(steps):
            self.graph = lists.all_circles(self._skeleton, self._degrees)
            self._owner = owners(self.graph.entry)
            mark_triples(self.graph, self._sepset, self._ambiguous)
            yield

    def oriented(self) -> PagOrientation:
        """The result."""
        return PagOrientation(lists.to_sparse(self.graph, self._p), lists.reasons(self.graph, self._paths))

    # -- before the rules ---------------------------------------------------------------------------------------------

    def assume(self, jci: JointCausalInference | None, arrowheads: Iterable[tuple[int, int]]) -> None:
        """Set the marks that are known beforehand."""
        if jci is not None:
            for x in sorted(set(jci.context)):
                for e in range(self.graph.start[x], self.graph.start[x + 1]):
                    among = int(self.graph.entry[0, e]) in jci.context
                    if among and jci.assumptions == "123":
                        self._put(e, ARROW, JCI)
                        self._put(self._mirror(e), ARROW, JCI)
                    elif not among:
                        self._put(self._mirror(e), ARROW, JCI)
                        if jci.assumptions != "1":
                            self._put(e, TAIL, JCI)
        for a, b in arrowheads:
            self._put(self._find(b, a), ARROW, KNOWN)

    def orient_colliders(self, jci: JointCausalInference | None = None) -> None:
        """Every unshielded x - y - z whose y is in no set of x and z and that is not ambiguous: x *-> y <-* z."""
        chosen = np.flatnonzero(self.graph.entry[KIND] == CIRCLE)
        if jci is not None and jci.assumptions == "123":
            chosen = chosen[~np.isin(self._owner[chosen], list(jci.context))]
        local_rules.colliders(*self.graph, chosen, self._owner)

    def mark_ambiguous(self, a: int, b: int, c: int) -> None:
        """From now on the triple is ambiguous."""
        number = triple_number(self.graph.entry, self._find(b, a), self._find(b, c))
        self.graph.triple[number] |= AMBIGUOUS

    def remove(self, x: int, y: int) -> None:
        """Remove an edge, if there is one."""
        e = self._find(x, y)
        for i in (e, self._mirror(e)) if e >= 0 else ():
            self.graph.entry[KIND, i] = NONE
            self._paths.pop(i, None)

    def put_collider(self, x: int, y: int, z: int) -> None:
        """x *-> y <-* z."""
        for end, other in ((x, z), (z, x)):
            e = self._find(y, end)
            self._paths.pop(e, None)
            lists.put(self.graph.entry, e, ARROW, COLLIDER, other, 0)

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
                    if rules[number - 1]:
                        self._apply(number, decide, spare_tails)

    def _apply(self, number: int, decide: Decide, spare_tails: bool) -> None:
        chosen = lists.scan(self.graph, *local_rules.SCANNED[number])
        if not len(chosen):
            return
        if number in local_rules.LOCAL_RULES:
            local_rules.LOCAL_RULES[number](*self.graph, chosen, self._owner)
        elif number == 4:
            self._rule_4(chosen, decide, spare_tails)
        elif number == 10:
            # it finds no paths, but may need room
            list(self._found(paths.rule_10, self.graph, chosen, self._quirks, self._of_rfci))
        else:
            self._tails_by_paths(number, chosen)

    def _rule_4(self, chosen: NDArray[np.int64], decide: Decide, spare_tails: bool) -> None:
        start, entry, _, near = self.graph
        at = np.zeros(2, dtype=np.int64)
        while path := self._next(paths.next_discriminating, (start, entry, near), chosen, at):
            member = decide(path)
            if member is None:  # an edge of the path has been removed: is there another one?
                at[1] -= 1
                continue
            a, b, c = path[-3:]
            at_b, reason = self._find(b, c), ("R4", *path)
            self._put_by_path(self._mirror(at_b), ARROW, reason)
            self._put_by_path(at_b, TAIL if member else ARROW, reason)
            at_b = self._find(b, a)
            if not member and not (spare_tails and entry[KIND, at_b] == TAIL):
                self._put_by_path(at_b, ARROW, reason)

    def _tails_by_paths(self, number: int, chosen: NDArray[np.int64]) -> None:
        """Rules 5 and 9."""
        for path in self._found(
            paths.next_cycle if number == 5 else paths.next_directed, self.graph, chosen, self._quirks
        ):
            reason = (f"R{number}", *path)
            if number == 9:
                self._put_by_path(self._find(path[0], path[-1]), TAIL, reason)
                continue
            for u, v in zip(path, (*path[1:], path[0]), strict=True):
                e = self._find(u, v)
                self._put_by_path(e, TAIL, reason)
                self._put_by_path(self._mirror(e), TAIL, reason)

    def _found(
        self, search: Search, graph: Iterable[NDArray[Any]], chosen: NDArray[np.int64], *options: bool
    ) -> Iterator[tuple[int, ...]]:
        """The paths that a function of `pycupc.orientation.pag.paths` finds, one after the other."""
        at = np.zeros(2, dtype=np.int64)
        while path := self._next(search, graph, chosen, at, *options):
            yield path

    def _next(
        self,
        search: Search,
        graph: Iterable[NDArray[Any]],
        chosen: NDArray[np.int64],
        at: NDArray[np.int64],
        *options: bool,
    ) -> tuple[int, ...]:
        """The next path, empty at the end; with a longer work space where that is needed."""
        while (length := search(*graph, chosen, self._owner, at, self._seen, self._work, *options)) == paths.FULL:
            self._work = np.zeros((3, 2 * self._work.shape[1]), dtype=np.int64)
        return tuple(self._work[paths.PATH, :length].tolist())

    def _find(self, v: int, w: int) -> int:
        return int(find(self.graph.start, self.graph.entry, v, w))

    def _mirror(self, e: int) -> int:
        return int(self.graph.entry[MIRROR, e])

    def _put(self, e: int, mark: int, rule: int) -> None:
        lists.put(self.graph.entry, e, mark, rule, 0, 0)

    def _put_by_path(self, e: int, mark: int, reason: Reason) -> None:
        self._put(e, mark, int(reason[0][1:]))
        self._paths[e] = reason
