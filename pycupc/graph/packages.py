"""Graphs of other packages: causal-learn's GeneralGraph, pgmpy's PDAG, igraph's Graph.

Every function is a pure function of a `SparseGraph` and its labels, or returns both. The packages are imported when a
graph is handed over to them, and are not needed to read one of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pycupc.graph.exports import Attributes, arcs_of, edge_columns
from pycupc.graph.sparse import ARROW, CIRCLE, DIRECTED, TAIL, UNDIRECTED, SparseGraph
from pycupc.system.log import counted

#: The name of each mark in causal-learn's Endpoint.
_ENDPOINTS = {"CIRCLE": CIRCLE, "ARROW": ARROW, "TAIL": TAIL}


def to_igraph(graph: SparseGraph, labels: Sequence[str], attributes: Attributes | None = None) -> Any:
    """``igraph.Graph``, directed; the arcs and attributes of `pycupc.graph.exports.to_networkx`, "name" of a vertex."""
    import igraph

    arcs = list(arcs_of(graph))
    columns = edge_columns(graph, labels, attributes)
    data = {name: values[[k for _, _, k in arcs]].tolist() for name, values in [*columns.items()][2:]}
    names = {"name": list(map(str, labels))}
    return igraph.Graph(graph.p, [(u, v) for u, v, _ in arcs], True, vertex_attrs=names, edge_attrs=data)


def to_causallearn(graph: SparseGraph, labels: Sequence[str]) -> Any:
    """causal-learn's ``GeneralGraph`` with the same mark at each end."""
    from causallearn.graph.Edge import Edge
    from causallearn.graph.Endpoint import Endpoint
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphNode import GraphNode

    point = {mark: Endpoint[name] for name, mark in _ENDPOINTS.items()}
    nodes = [GraphNode(str(label)) for label in labels]
    out = GeneralGraph(nodes)
    ends = (graph.low, graph.high, graph.low_mark, graph.high_mark)
    for x, y, at_x, at_y in zip(*(values.tolist() for values in ends), strict=True):
        edge = nodes[x], nodes[y], point[at_x], point[at_y]
        if (at_x, at_y) == (CIRCLE, TAIL):  # add_edge() of causal-learn 0.1.4 drops such an edge, but not its reverse
            edge = nodes[y], nodes[x], point[at_y], point[at_x]
        out.add_edge(Edge(*edge))
    return out


def from_causallearn(graph: Any) -> tuple[SparseGraph, list[str]]:
    """The edges and names of causal-learn's GeneralGraph, or of what its ``pc`` returns, which has it as ``.G``.

    TypeError if `graph` is neither, ValueError if an edge has an end other than circle, arrow and tail.
    """
    graph = getattr(graph, "G", graph)
    if not hasattr(graph, "get_graph_edges"):
        raise TypeError(f"graph must be causal-learn's GeneralGraph or its result, got {type(graph).__name__}")
    labels = [str(node.get_name()) for node in graph.get_nodes()]
    place = {node: i for i, node in enumerate(graph.get_nodes())}
    amat = np.zeros((len(labels), len(labels)), dtype=np.int8)
    for edge in graph.get_graph_edges():
        x, y = place[edge.get_node1()], place[edge.get_node2()]
        marks = [_ENDPOINTS.get(end.name, 0) for end in (edge.get_endpoint1(), edge.get_endpoint2())]
        if not all(marks) or amat[x, y]:
            raise ValueError(f"graph: the edge {edge} is none with a circle, an arrowhead or a tail at each end")
        amat[y, x], amat[x, y] = marks
    return SparseGraph.from_amat_pag(amat), labels


def to_pgmpy(graph: SparseGraph, labels: Sequence[str]) -> Any:
    """pgmpy's ``PDAG``. ValueError if there are edges other than directed and undirected ones."""
    from pgmpy.base import PDAG

    others = {kind: n for kind, n in graph.counts().items() if n and kind not in (DIRECTED, UNDIRECTED)}
    if others:
        kind, n = next(iter(others.items()))
        raise ValueError(f"a PDAG has directed and undirected edges only, got {counted(n, f'{kind} edge')}")
    columns = edge_columns(graph, labels)
    ends = [*zip(columns["from"].tolist(), columns["to"].tolist(), strict=True)]
    directed = columns["type"] == DIRECTED
    out = PDAG(
        [end for end, arrow in zip(ends, directed, strict=True) if arrow],
        [end for end, arrow in zip(ends, directed, strict=True) if not arrow],
    )
    out.add_nodes_from(map(str, labels))
    return out


def from_pgmpy(graph: Any) -> tuple[SparseGraph, list[str]]:
    """The edges and names of pgmpy's PDAG, DAG or network; TypeError if `graph` is none of them.

    Two arcs between a pair are an undirected edge, as in pgmpy. The variables are in the order of ``graph.nodes``.
    """
    if not (hasattr(graph, "nodes") and any(base.__module__.startswith("pgmpy.") for base in type(graph).__mro__)):
        raise TypeError(f"graph must be pgmpy's PDAG, DAG or network, got {type(graph).__name__}")
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    cells = [(place[u], place[v]) for u, v in graph.edges()]
    row, column = np.array(cells, dtype=np.int32).reshape(-1, 2).T
    return SparseGraph.from_cells(len(nodes), row, column, np.ones(len(row), dtype=np.int8)), list(map(str, nodes))
