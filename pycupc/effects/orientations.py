"""A graph as sets of neighbours, and further arrows with all that Meek's rules derive from them.

An edge with the same mark at both ends counts as undirected, as in pcalg's functions for effects: its direction is not
known.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.data.in_memory import column_names, is_frame, row_names
from pycupc.data.names import default_labels
from pycupc.graph.named import NamedGraph
from pycupc.graph.pairs import in_order_of
from pycupc.graph.sparse import ARROW, TAIL, SparseGraph
from pycupc.orientation.known import is_closed
from pycupc.results.causal_graph import CausalGraph
from pycupc.system.localised_message import Message

Graph = NamedGraph | SparseGraph | ArrayLike
Variable = int | str
Ints = NDArray[np.int64]
#: A set of variables.
Nodes = frozenset[int]


@dataclass(frozen=True)
class Orientations:
    """The neighbours of each variable by what is known of the edge: three lists of p sets."""

    adjacent: list[Nodes]
    parents: list[Nodes]  # neighbours with an arrow to the variable
    siblings: list[Nodes]  # neighbours joined by an edge without an arrowhead

    @classmethod
    def of(cls, graph: SparseGraph) -> Orientations:
        """The orientations of a graph, circles as tails."""
        ends, heads = np.array([graph.low, graph.high]), np.array([graph.low_mark, graph.high_mark]) == ARROW
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

    def directed(self, arrows: Iterable[tuple[int, int]]) -> Orientations:
        """The graph with some undirected edges as arrows."""
        out = Orientations(self.adjacent, self.parents.copy(), self.siblings.copy())
        for a, b in arrows:
            out.siblings[a] -= {b}
            out.siblings[b] -= {a}
            out.parents[b] |= {a}
        return out

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


def _sets_of(p: int, member: NDArray[np.int64], of: NDArray[np.int64]) -> list[Nodes]:
    """The members of each variable's set, from pairs; most sets are empty, and one object."""
    order = np.argsort(of, kind="stable")
    start, members = np.searchsorted(of[order], np.arange(p + 1)).tolist(), member[order].tolist()
    return [frozenset(members[a:b]) for a, b in pairwise(start)]


def causal_graph_of(graph: Graph, names: Any = None) -> CausalGraph:
    """A result, a graph, or a graph matrix (row to column, any number but 0 is an edge) as a graph with names.

    They are its own, or `names`, or "1" to "p". A `CausalGraph` is returned, since it keeps what it knows of its DAGs.
    The rows of a DataFrame go by their names. ValueError if a matrix is not square or has an edge from a variable to
    itself, or is an `amat()`, whose arrows go from column to row.
    """
    if isinstance(graph, CausalGraph):
        return graph
    if isinstance(graph, NamedGraph):
        return CausalGraph(labels=graph.labels, sparse_graph=graph.sparse_graph)
    own = getattr(graph, "columns", None)
    if isinstance(graph, SparseGraph):
        sparse = graph
    else:
        if coding := getattr(graph, "attrs", {}).get("coding"):
            raise ValueError(f"graph must have arrows from row to column, got {coding}(); give the result, or matrix()")
        matrix = np.asarray(graph) if own is None else in_order_of(graph, "graph", [*map(str, own)])
        if (matrix != matrix).any():
            raise ValueError("graph must be a matrix without NaN")
        sparse = SparseGraph.from_dense((matrix != 0).astype(np.int8))
    return CausalGraph(labels=names_of(sparse.p, own, names), sparse_graph=sparse)


def names_of(p: int, *given: Collection[Any] | None) -> tuple[str, ...]:
    """The first of the `given` sequences that has p names, or "1" to "p"."""
    found = next((names for names in given if names is not None and len(names) == p), default_labels(p))
    return tuple(map(str, found))


def check_names(what: str, data: Any, labels: tuple[str, ...]) -> None:
    """ValueError unless the columns and the rows of `data`, a table or matrix, have the graph's names in its order."""
    of_frame = (column_names(data), row_names(data)) if is_frame(data) else None
    names, rows = of_frame or (getattr(data, "labels", None), None)
    if names is None:
        return
    if rows is not None and rows != names and sorted(rows) == sorted(names):
        raise ValueError(f"{what} must have its rows in the order of its columns, got {rows[0]!r} as the first row")
    given, p = tuple(names), len(labels)
    if given == labels or len(given) != p or default_labels(p) in (given, labels):
        return
    if set(given) == set(labels):
        raise ValueError(f"{what} must have the order of the variables of the graph, got the names in another order")
    k = next(k for k in range(p) if given[k] != labels[k])
    raise ValueError(f"{what} must have the variables of the graph, got {given[k]!r} in the place of {labels[k]!r}")


def check_maximal(graph: CausalGraph) -> None:
    """ValueError unless a DAG extends the graph, and Meek's rules add nothing to it."""
    graph.to_dag()
    if not graph.is_cpdag and not is_closed(graph.sparse_graph):
        raise ValueError(
            "the graph must be a CPDAG, or one with background knowledge and all that Meek's rules derive from it; "
            "the rules direct more of its edges"
        )


def warn_unless_cpdag(graph: CausalGraph, stacklevel: int) -> None:
    """A warning where pcalg has a message: the answer is computed all the same."""
    if text := graph._not_a_cpdag():
        text = Message("effects were computed although the graph is {text}", text=text)
        warnings.warn(text, stacklevel=stacklevel)


def parents_of(x: int, graph: SparseGraph) -> Nodes:
    """The variables with an arrow to x."""
    low = (graph.high == x) & (graph.high_mark == ARROW) & (graph.low_mark != ARROW)
    high = (graph.low == x) & (graph.low_mark == ARROW) & (graph.high_mark != ARROW)
    return frozenset(graph.low[low].tolist() + graph.high[high].tolist())


def with_edge_from(x: int, y: int, graph: SparseGraph, *, turn: bool) -> SparseGraph:
    """The graph with an undirected edge between x and y as an arrow to y.

    An arrow from y to x is turned, or else taken away, as pcalg does for its methods "local" and "global".
    """
    e = int(graph.edge_number(x, y))
    if e < 0:
        return graph
    if y in parents_of(x, graph) and not turn:
        return graph.with_edges(np.delete(np.arange(len(graph)), e))
    marks = np.array([graph.low_mark, graph.high_mark])
    marks[:, e] = (TAIL, ARROW) if x < y else (ARROW, TAIL)
    return replace(graph, low_mark=marks[0], high_mark=marks[1])
