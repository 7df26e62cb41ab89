"""Rules 1, 2, 3 in pcalg's order, round after round until nothing changes (tests/CONTRACT.md, section 4).

pcalg lists, at the start of each rule, all pairs of the graph down the columns of its matrix (second index outermost)
and goes through them. The order shows in the answer wherever orientations disagree, so it is kept exactly; the lists
are not. A listed pair can do something only if an arrow that its condition needs is new since the rule last looked at
it, so each rule visits just those pairs, in the same order, and the cost follows the arrows set and not p^2 a round.

    without conflict solving   a rule sees its own arrows at once: pairs that they concern and that are still to come
                               in this pass are queued, those already passed wait for the next round
    with conflict solving      a rule reads the graph as it was when it started; an arrow against one set meanwhile
                               makes the edge bidirected
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator

from pycupc.orientation.colliders import Triple, is_ambiguous
from pycupc.orientation.mixed_graph import MixedGraph, Reason

#: Neighbours of a node over edges that were undirected when the rule started.
_Listed = Callable[[int], set[int]]
_Concerned = Callable[[int, int, _Listed], Iterator[tuple[int, int]]]
_Why = Callable[[int, int, _Listed], Reason | None]


class MeekRules:
    """The rules as one pass each over a graph that holds its colliders.

    Parameters
    ----------
    graph : MixedGraph
        Changed in place.
    ambiguous : collection of (a, b, c)
        Triples that no rule may use as colliders or non-colliders.
    solve_confl : bool
        Let arrows that disagree become bidirected.
    arrow_is_gap : bool
        Rule 3 also takes c1, c2 with an arrow between them for not adjacent. So does pcalg's version of the rules for
        "rand" and "retry"; it shows only where earlier colliders were overwritten.
    """

    def __init__(
        self,
        graph: MixedGraph,
        ambiguous: Collection[Triple] = (),
        solve_confl: bool = False,
        arrow_is_gap: bool = False,
    ) -> None:
        self.graph = graph
        self.arrow_is_gap = arrow_is_gap
        self.ambiguous = ambiguous
        self.solve_confl = solve_confl
        graph.arrows = graph.directed()  # everything is new to every rule
        self._seen = {1: 0, 2: 0, 3: 0}  # how much of graph.arrows each rule has looked at

    def run(self) -> None:
        """Rules 1, 2, 3 in turn until a whole round changes nothing."""
        while any([self.rule1(), self.rule2(), self.rule3()]):
            pass

    def _new_arrows(self, rule: int) -> list[tuple[int, int]]:
        """Arrows of the graph that appeared since this rule last started."""
        arrows = self.graph.arrows
        new, self._seen[rule] = arrows[self._seen[rule] :], len(arrows)
        return [(a, b) for a, b in dict.fromkeys(new) if a in self.graph.parents[b]]

    def rule1(self) -> bool:
        """a -> b, b - c, a and c not adjacent: b -> c (else a new collider)."""
        graph, changed = self.graph, False
        turned: dict[int, set[int]] = {}  # with conflict solving: neighbours that were undirected when the rule started
        for b, a in sorted((b, a) for a, b in self._new_arrows(1)):
            candidates = (graph.undirected[b] | turned.get(b, set())) - graph.adjacent[a]
            for c in sorted(candidates):
                if is_ambiguous(self.ambiguous, a, b, c):
                    continue
                reason = ("R1", a, b, c)
                if self.solve_confl:
                    changed |= c in graph.undirected[b] or c in graph.parents[b]
                    graph.point(b, c, reason)
                    turned.setdefault(b, set()).add(c)
                    turned.setdefault(c, set()).add(b)
                else:
                    graph.direct(b, c, reason)
                    changed = True
        return changed

    def rule2(self) -> bool:
        """a -> c -> b, a - b: a -> b (else a cycle)."""
        graph = self.graph

        def concerned(u: int, v: int, listed: _Listed) -> Iterator[tuple[int, int]]:
            """Listed (a, b) with u -> v as one half of a -> c -> b."""
            for b in graph.children[v] & listed(u):
                yield u, b
            for a in graph.parents[u] & listed(v):
                yield a, v

        def reason(a: int, b: int, listed: _Listed) -> Reason | None:
            via = graph.children[a] & graph.parents[b]
            if self.solve_confl:
                via -= listed(a) | listed(b)
            return ("R2", a, min(via), b) if via else None

        return self._pass(2, concerned, reason)

    def rule3(self) -> bool:
        """a - c1 -> b, a - c2 -> b, a - b, c1 and c2 not adjacent: a -> b (else a cycle or a new collider)."""
        graph = self.graph

        def concerned(u: int, v: int, listed: _Listed) -> Iterator[tuple[int, int]]:
            """Listed (a, b) with u -> v as one of the two arrows, so b = v."""
            for a in listed(u) & listed(v):
                yield a, v
                if self.arrow_is_gap:  # u -> v may as well be the gap between c1 and c2
                    for b in graph.children[u] & graph.children[v] & listed(a):
                        yield a, b

        def reason(a: int, b: int, listed: _Listed) -> Reason | None:
            both = (listed(a) - listed(b) if self.solve_confl else graph.undirected[a]) & graph.parents[b]
            close = graph.undirected if self.arrow_is_gap else graph.adjacent
            for c1 in sorted(both):
                for c2 in sorted(both - close[c1]):
                    if c2 > c1 and not is_ambiguous(self.ambiguous, c1, a, c2):
                        return "R3", a, c1, c2, b
            return None

        return self._pass(3, concerned, reason)

    def _pass(self, rule: int, concerned: _Concerned, reason: _Why) -> bool:
        """One pass of rule 2 or 3 over the pairs (a, b) that were undirected at its start, b outermost.

        `concerned(u, v, listed)` gives the pairs to look at because of an arrow u -> v, `reason(a, b, listed)` says
        why a -> b, or None. `listed(a)` holds the neighbours of a over edges undirected when the pass started. Without
        conflict solving a listed pair is directed even if its mirror image has been meanwhile: pcalg does not look.
        """
        graph = self.graph
        turned: dict[int, set[int]] = {}

        def listed(a: int) -> set[int]:
            return graph.undirected[a] | turned[a] if a in turned else graph.undirected[a]

        queue = list({(b, a) for u, v in self._new_arrows(rule) for a, b in concerned(u, v, listed)})
        heapq.heapify(queue)
        queued = set(queue)
        changed = False
        while queue:
            b, a = heapq.heappop(queue)
            why = reason(a, b, listed)
            if why is None:
                continue
            changed |= not self.solve_confl or b in graph.undirected[a] or b in graph.parents[a]
            turned.setdefault(a, set()).add(b)
            turned.setdefault(b, set()).add(a)
            if self.solve_confl:
                graph.point(a, b, why)
                continue
            graph.direct(a, b, why)
            for first, second in concerned(a, b, listed):
                pair = (second, first)
                if pair > (b, a) and pair not in queued:
                    queued.add(pair)
                    heapq.heappush(queue, pair)
        return changed
