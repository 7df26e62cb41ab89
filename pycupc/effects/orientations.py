"""A graph as sets of neighbours, and further arrows with all that Meek's rules derive from them.

An edge with the same mark at both ends counts as undirected, as in pcalg's functions for effects: its direction is not
known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import ARROW, TAIL, SparseGraph
from pycupc.orientation.known import is_closed
from pycupc.orientation.meek import with_arrows
from pycupc.orientation.mixed_graph import IN, KIND, NEIGHBOUR, UNDIRECTED, directed_as, owners
from pycupc.results.causal_graph import CausalGraph

#: A set of variables, ascending; one parent set for each of several causes.
Set = tuple[int, ...]
Nodes = frozenset[int]


@dataclass(frozen=True)
class Orientations:
    """The neighbours of each variable by what is known of the edge: three lists of p sets."""

    adjacent: list[Nodes]
    parents: list[Nodes]  # those with an arrow to the variable; of a bidirected edge each end is one of the other
    siblings: list[Nodes]  # those joined by an edge without an arrowhead

    @classmethod
    def of(cls, graph: SparseGraph, *, hidden: bool = False) -> Orientations:
        """The orientations of a graph without circles; ValueError if it has some.

        With `hidden` variables, circles are tails, and bidirected edges remain what they are.
        """
        ends, heads = np.array([graph.low, graph.high]), np.array([graph.low_mark, graph.high_mark]) == ARROW
        if not hidden:
            graph.cells()  # refuses circles
            heads &= ~heads.all(axis=0)
        into, undirected = np.concatenate((heads[1], heads[0])), ~heads.any(axis=0)
        both = np.hstack([ends, ends[::-1]])
        return cls(*(_sets_of(graph.p, *both[:, kept]) for kept in (slice(None), into, np.tile(undirected, 2))))

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.adjacent)

    def onward(self, v: int) -> Nodes:
        """The variables that v may be a cause of: no arrow leads from them to v."""
        return self.adjacent[v] - self.parents[v]

    def back(self, v: int) -> Nodes:
        """The variables that may be causes of v: no arrow leads from v to them."""
        return frozenset(w for w in self.adjacent[v] if v not in self.parents[w])

    def extensions(self, xs: Sequence[int]) -> Callable[[Iterable[tuple[int, int]]], Orientations | None]:
        """A function of arrows at `xs`: the graph with them and all that Meek's rules 1 to 4 derive from them.

        It sets one arrow after the other, and gives None if one contradicts an arrow of the graph or one derived from
        those before it (Meek 1995). Only edges that undirected edges join to `xs` can be directed by the rules.
        """
        nodes = sorted({v for x in xs for v in self.component(x)})
        place = {v: k for k, v in enumerate(nodes)}
        edges = [(a, b) for a in nodes for b in sorted(self.adjacent[a]) if a < b and b in place]
        low, high = np.array([(place[a], place[b]) for a, b in edges], dtype=np.int32).reshape(-1, 2).T
        low_mark = np.array([ARROW if b in self.parents[a] else TAIL for a, b in edges], dtype=np.int8)
        high_mark = np.array([ARROW if a in self.parents[b] else TAIL for a, b in edges], dtype=np.int8)
        part = directed_as(SparseGraph(len(nodes), low, high, low_mark, high_mark))
        undirected = np.flatnonzero(part.entry[KIND] == UNDIRECTED)
        of = np.array(nodes)
        tails, heads = of[part.entry[NEIGHBOUR, undirected]].tolist(), of[owners(part.entry)[undirected]].tolist()

        def extended(arrows: Iterable[tuple[int, int]]) -> Orientations | None:
            kind = with_arrows(part, [(place[a], place[b]) for a, b in arrows])
            if kind is None:
                return None
            out = Orientations(self.adjacent, self.parents.copy(), self.siblings.copy())
            for tail, head, is_now in zip(tails, heads, kind[undirected].tolist(), strict=True):
                if is_now == IN:
                    out._direct(tail, head)
            return out

        return extended

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
    def check_maximal(graph: CausalGraph) -> None:
        """ValueError unless a DAG extends the graph, and Meek's rules add nothing to it."""
        graph.to_dag()
        if not graph.is_cpdag and not is_closed(graph.sparse_graph):
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


def _sets_of(p: int, member: NDArray[np.int64], of: NDArray[np.int64]) -> list[Nodes]:
    """The members of each variable's set, from pairs; most sets are empty, and one object."""
    order = np.argsort(of, kind="stable")
    start, members = np.searchsorted(of[order], np.arange(p + 1)).tolist(), member[order].tolist()
    return [frozenset(members[a:b]) for a, b in pairwise(start)]


def sparse_graph_of(graph: NamedGraph | SparseGraph | ArrayLike) -> SparseGraph:
    """A result, a graph, or a graph matrix (row to column, any number but 0 is an edge) as a sparse graph.

    Raises ValueError if the matrix is not square or has an edge from a variable to itself.
    """
    if isinstance(graph, NamedGraph):
        return graph.sparse_graph
    if isinstance(graph, SparseGraph):
        return graph
    return SparseGraph.from_dense((np.asarray(graph) != 0).astype(np.int8))


def causal_graph_of(graph: NamedGraph | SparseGraph | ArrayLike, labels: tuple[str, ...]) -> CausalGraph:
    """As `sparse_graph_of`, with names; a graph that has them is returned, since it keeps what it knows of its DAGs."""
    return graph if isinstance(graph, CausalGraph) else CausalGraph(labels=labels, sparse_graph=sparse_graph_of(graph))


def ends_between(xs: Sequence[int], graph: Orientations) -> list[tuple[int, int]]:
    """The arrows (sibling, x) that the undirected edges at `xs` may become, in the order of `xs` and of siblings."""
    return [(s, x) for x in xs for s in sorted(graph.siblings[x])]
