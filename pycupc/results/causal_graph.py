"""`CausalGraph`: a named graph that is meant to be a CPDAG; it need not be one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from pycupc.data.names import check_labels
from pycupc.graph.cycles import directed_cycle
from pycupc.graph.exports import ENDPOINTS
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import BIDIRECTED, DIRECTED, SparseGraph
from pycupc.system.localised_message import Message, Words

if TYPE_CHECKING:
    import networkx

#: The remedies where a graph is not a CPDAG: if a DAG extends the graph, and if none does.
CPDAG = Words("to_cpdag()", "cu_to_cpdag()", "--to-cpdag")
RETRY = Words('u2pd="retry"', 'u2pd = "retry"', "--u2pd retry")


@dataclass(kw_only=True, eq=False, repr=False)
class CausalGraph(NamedGraph):
    """A graph on named variables, and the DAGs behind it. Attributes as of `NamedGraph`."""

    _OFFERED: ClassVar[Sequence[str]] = (
        *("graph", "amat", "markov_blanket"),
        *("is_cpdag", "to_cpdag", "to_dag", "to_dowhy"),
    )
    _MAKERS: ClassVar[Sequence[str]] = ("from_causallearn", "from_pgmpy")

    @staticmethod
    def from_causallearn(graph: Any) -> CausalGraph:
        """The graph of causal-learn: a GeneralGraph, or a result of its ``pc``, which has it as ``.G``.

        TypeError for anything else, ValueError if an edge has an end other than circle, arrow and tail.
        """
        graph = getattr(graph, "G", graph)
        if not hasattr(graph, "get_graph_edges"):
            raise TypeError(f"graph must be causal-learn's GeneralGraph or its result, got {type(graph).__name__}")
        place = {node: i for i, node in enumerate(graph.get_nodes())}
        amat = np.zeros((len(place), len(place)), dtype=np.int8)
        for edge in graph.get_graph_edges():
            x, y = place[edge.get_node1()], place[edge.get_node2()]
            marks = [ENDPOINTS.get(end.name, 0) for end in (edge.get_endpoint1(), edge.get_endpoint2())]
            if not all(marks) or amat[x, y]:
                raise ValueError(f"graph: the edge {edge} is none with a circle, an arrowhead or a tail at each end")
            amat[y, x], amat[x, y] = marks
        labels = check_labels([str(node.get_name()) for node in place], len(place))
        return CausalGraph(labels=labels, sparse_graph=SparseGraph.from_amat_pag(amat))

    @staticmethod
    def from_pgmpy(graph: Any) -> CausalGraph:
        """The graph of pgmpy: a PDAG, DAG or network, its variables in the order of ``graph.nodes``.

        Two arcs between a pair are an undirected edge, as in pgmpy. TypeError for anything else.
        """
        if not (hasattr(graph, "nodes") and any(base.__module__.startswith("pgmpy.") for base in type(graph).__mro__)):
            raise TypeError(f"graph must be pgmpy's PDAG, DAG or network, got {type(graph).__name__}")
        place = {node: i for i, node in enumerate(graph.nodes)}
        cells = [(place[u], place[v]) for u, v in graph.edges()]
        row, column = np.array(cells, dtype=np.int32).reshape(-1, 2).T
        edges = SparseGraph.from_cells(len(place), row, column, np.ones(len(row), dtype=np.int8))
        return CausalGraph(labels=check_labels(list(map(str, place)), len(place)), sparse_graph=edges)

    def _with_marks(self, graph: SparseGraph) -> dict[str, Any]:
        """The attributes that change if the edges get the marks of `graph`."""
        return {"sparse_graph": graph}

    @cached_property
    def _dag_and_cpdag(self) -> tuple[SparseGraph, SparseGraph] | None:
        from pycupc.orientation.dag_extension import dag_and_cpdag  # loads Numba

        return dag_and_cpdag(self.sparse_graph)

    @property
    def is_cpdag(self) -> bool:
        """Whether the graph is a CPDAG: the arrows that some DAG has in common with all DAGs equivalent to it.

        A graph with bidirected edges or a directed cycle is none, nor is one with more arrows, or fewer, than the DAGs
        that extend it have in common. `_not_a_cpdag` says which.
        """
        return self._dag_and_cpdag is not None and self._dag_and_cpdag[1] == self.sparse_graph

    @property
    def _has_dag(self) -> bool:
        """Whether a DAG extends the graph: whether `to_dag` gives one."""
        return self._dag_and_cpdag is not None

    def cycle(self) -> tuple[int, ...] | None:
        """Positions of the variables of a directed cycle in the order of its arrows, from the lowest on, or None.

        Of the cycles through its first variable it is a shortest one.
        """
        tail, head, kind = self.sparse_graph.edge_list()
        return directed_cycle(tail[kind == DIRECTED], head[kind == DIRECTED], self.p)

    def _not_a_cpdag(self) -> str:
        """Why the graph is not a CPDAG, as a sentence without its full stop; "" if it is one. With a remedy."""
        if self.is_cpdag:
            return ""
        if self._has_dag:
            text = "not a CPDAG: a DAG extends the graph, but its CPDAG has other arrows; {cpdag} gives it"
            return Message(text, cpdag=CPDAG)
        counts = self.sparse_graph.counts()
        if n := sum(counts[kind] for kind in [*counts][3:]):
            return f"not a CPDAG: {n:,} edge{'s have circles' if n > 1 else ' has a circle'}"
        text = "not a CPDAG: {why}; {retry} gives a graph that a DAG extends"
        return Message(text, why=self._without_dag(), retry=RETRY)

    def _without_dag(self) -> str:
        """Why no DAG extends this graph, which has none and has no circles, in a few words."""
        if n := self.sparse_graph.counts()[BIDIRECTED]:
            return f"{n:,} edge{'s are' if n > 1 else ' is'} bidirected"
        if cycle := self.cycle():
            return f"directed cycle {' --> '.join(self.labels[v] for v in (*cycle, cycle[0]))}"
        return "every direction of its undirected edges adds a collider or a cycle"

    def to_dag(self) -> CausalGraph:
        """A DAG that extends the graph: it directs the undirected edges and adds no unshielded collider.

        Of a CPDAG it is one of the DAGs of its class, which the data cannot tell apart (Dor and Tarsi 1992). ValueError
        if there is no such DAG, as with a directed cycle or bidirected edges; the message says why.
        """
        return self._extended(0)

    def to_dowhy(self) -> networkx.DiGraph:
        """`to_dag` as the argument `graph` of ``dowhy.CausalModel``; ValueError as there.

        One DAG stands for the class: what DoWhy identifies may differ between its DAGs. The sets of
        `pycupc.adjustment_set` hold for all of them.
        """
        return self.to_dag().to_networkx()

    def to_cpdag(self) -> CausalGraph:
        """The CPDAG of the DAGs that extend the graph, which all have the same; the graph itself if it is a CPDAG.

        ValueError as of `to_dag`.
        """
        return self._extended(1)

    def _extended(self, which: int) -> CausalGraph:
        if self._dag_and_cpdag is None:
            raise ValueError(f"no DAG extends this graph: {self._not_a_cpdag()}")
        return CausalGraph(labels=self.labels, sparse_graph=self._dag_and_cpdag[which])
