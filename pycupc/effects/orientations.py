"""A graph as sets of neighbours, and further arrows with all that Meek's rules derive from them.

An edge with the same mark at both ends counts as undirected, as in pcalg's functions for effects: its direction is not
known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import DIRECTED, SparseGraph
from pycupc.orientation.known import is_closed
from pycupc.results.causal_graph import CausalGraph

#: A set of variables, ascending; one parent set for each of several causes.
Set = tuple[int, ...]
Nodes = frozenset[int]


@dataclass(frozen=True)
class Orientations:
    """The neighbours of each variable by what is known of the edge: three lists of p sets.

    Attributes
    ----------
    adjacent : list of frozenset
    parents : list of frozenset
        Those with an arrow to the variable.
    siblings : list of frozenset
        Those joined by an undirected edge.
    """

    adjacent: list[Nodes]
    parents: list[Nodes]
    siblings: list[Nodes]

    @classmethod
    def of(cls, graph: SparseGraph) -> Orientations:
        """The orientations of a graph without circles; ValueError if it has some."""
        graph.cells()  # refuses circles
        lists: list[list[set[int]]] = [[set() for _ in range(graph.p)] for _ in range(3)]
        adjacent, parents, siblings = lists
        tail, head, kind = graph.edge_list()
        for a, b, directed in zip(tail.tolist(), head.tolist(), (kind == DIRECTED).tolist(), strict=True):
            adjacent[a].add(b)
            adjacent[b].add(a)
            if directed:
                parents[b].add(a)
            else:
                siblings[a].add(b)
                siblings[b].add(a)
        return cls(*([frozenset(s) for s in sets] for sets in lists))

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.adjacent)

    def children(self, v: int) -> Nodes:
        """The variables that v has an arrow to."""
        return self.adjacent[v] - self.parents[v] - self.siblings[v]

    def with_arrows(self, arrows: Iterable[tuple[int, int]]) -> Orientations | None:
        """The graph with these arrows, one after the other, each with all that rules 1 to 4 derive from it.

        None if one of them contradicts an arrow of the graph or one derived from those before it (Meek 1995).
        """
        out = Orientations(self.adjacent, self.parents.copy(), self.siblings.copy())
        for a, b in arrows:
            if b in out.siblings[a]:
                out._direct(a, b)
                out._derive(a, b)
            elif a not in out.parents[b]:
                return None
        return out

    def with_edge_from(self, x: int, y: int, *, turn: bool) -> Orientations:
        """The graph with an undirected edge between x and y as an arrow to y.

        An arrow from y to x is turned, or else taken away, as pcalg does for its methods "local" and "global".
        """
        out = Orientations(self.adjacent.copy(), self.parents.copy(), self.siblings.copy())
        if y in out.siblings[x] or (turn and y in out.parents[x]):
            out.parents[x] -= {y}
            out._direct(x, y)
        elif y in out.parents[x]:
            out.parents[x] -= {y}
            out.adjacent[x] -= {y}
            out.adjacent[y] -= {x}
        return out

    @staticmethod
    def check_maximal(graph: SparseGraph, labels: tuple[str, ...]) -> None:
        """ValueError unless a DAG extends the graph, and Meek's rules add nothing to it."""
        named = CausalGraph(labels=labels, sparse_graph=graph)
        named.to_dag()
        if not named.is_cpdag and not is_closed(graph):
            raise ValueError(
                "the graph must be a CPDAG, or one with background knowledge and all that Meek's rules derive from it; "
                "the rules direct more of its edges"
            )

    def component(self, x: int) -> list[int]:
        """The variables that undirected edges join to x, in the order of a depth-first search."""
        found: dict[int, None] = {}
        stack = [x]
        while stack:
            v = stack.pop()
            if v not in found:
                found[v] = None
                stack += sorted(self.siblings[v], reverse=True)
        return list(found)

    def undirected_part(self, nodes: Sequence[int]) -> Orientations:
        """The undirected edges among these variables, which are renumbered 0, 1, ... in the order given."""
        place = {v: k for k, v in enumerate(nodes)}
        siblings = [frozenset(place[w] for w in self.siblings[v] if w in place) for v in nodes]
        return Orientations(siblings, [frozenset()] * len(nodes), siblings)

    def _direct(self, a: int, b: int) -> None:
        self.siblings[a] -= {b}
        self.siblings[b] -= {a}
        self.parents[b] |= {a}

    def _derive(self, a: int, b: int) -> None:
        """Direct all edges that rules 1 to 4 direct because of the new arrow from a to b."""
        new = [(a, b)]
        while new:
            a, b = new.pop()
            for c, d in [*self._beyond(a, b), *self._into(a, b)]:
                if d in self.siblings[c]:
                    self._direct(c, d)
                    new.append((c, d))

    def _beyond(self, a: int, b: int) -> Iterable[tuple[int, int]]:
        """Arrows out of b, or into a child of b, that follow from the arrow from a to b."""
        near, parents, siblings = self.adjacent, self.parents, self.siblings
        yield from ((b, c) for c in siblings[b] - near[a])  # rule 1
        yield from ((a, c) for c in siblings[a] if b in parents[c])  # rule 2, first arrow
        for e in self.children(b) - near[a]:  # rule 4, first arrow
            yield from ((c, e) for c in siblings[a] & siblings[e] & near[b])

    def _into(self, a: int, b: int) -> Iterable[tuple[int, int]]:
        """Arrows into b that follow from the arrow from a to b."""
        near, parents, siblings = self.adjacent, self.parents, self.siblings
        yield from ((c, b) for c in siblings[b] & parents[a])  # rule 2, second arrow
        for c in parents[b] - near[a] - {a}:  # rule 3
            yield from ((d, b) for d in siblings[a] & siblings[c] & siblings[b])
        for c in parents[a] - near[b]:  # rule 4, second arrow
            yield from ((d, b) for d in siblings[b] & siblings[c] & near[a])


def sparse_graph_of(graph: NamedGraph | SparseGraph | ArrayLike) -> SparseGraph:
    """A result, a graph, or a graph matrix (row to column, any number but 0 is an edge) as a sparse graph.

    Raises
    ------
    ValueError
        If the matrix is not square or has an edge from a variable to itself.
    """
    if isinstance(graph, NamedGraph):
        return graph.sparse_graph
    if isinstance(graph, SparseGraph):
        return graph
    return SparseGraph.from_dense((np.asarray(graph) != 0).astype(np.int8))


def ends_between(xs: Sequence[int], graph: Orientations) -> list[tuple[int, int]]:
    """The arrows (sibling, x) that the undirected edges at `xs` may become, in the order of `xs` and of siblings."""
    return [(s, x) for x in xs for s in sorted(graph.siblings[x])]
