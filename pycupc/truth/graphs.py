"""A DAG or CPDAG that a user gives: a result, a matrix or a graph of networkx."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from pycupc.data.names import check_labels, default_labels, listed
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import BIDIRECTED, SparseGraph
from pycupc.results.causal_graph import CausalGraph
from pycupc.results.pagalgo import PagAlgo

#: How a matrix is read: from row to column, or from column to row as pcalg's amat.cpdag.
Coding = Literal["matrix", "amat"]


def as_causal_graph(
    graph: Any,
    argument: str,
    *,
    labels: Sequence[str] | None = None,
    coding: Coding | None = None,
    default: Sequence[str] | None = None,
    acyclic: bool = True,
) -> CausalGraph:
    """The graph in the form of the package: directed and undirected edges, and no directed cycle if `acyclic`.

    `default` are the names of the variables if neither `labels` nor `graph` has names. Bidirected edges are accepted
    unless the graph must be `acyclic`.
    """
    if coding not in (None, "matrix", "amat"):
        raise ValueError(f'coding must be "matrix" (row to column) or "amat" (column to row), got {coding!r}')
    if isinstance(graph, PagAlgo):
        raise TypeError(f"{argument} must be a DAG or a CPDAG, got the result of fci or rfci, whose marks mean more")
    if isinstance(graph, NamedGraph):
        names, edges = graph.labels, graph.sparse_graph
    elif hasattr(graph, "nodes") and hasattr(graph, "edges"):
        names, edges = _of_networkx(graph, argument)
    else:
        names, edges = _of_matrix(graph, argument, coding, default)
    found = CausalGraph(labels=names if labels is None else check_labels(labels, edges.p), sparse_graph=edges)
    _check_kinds(found, argument, acyclic)
    return found


def _check_kinds(graph: CausalGraph, argument: str, acyclic: bool) -> None:
    """Raise ValueError if the graph has circles, or if it must be acyclic and is not."""
    counts = graph.sparse_graph.counts()
    if len(counts) > 3:
        raise ValueError(f"{argument} must be a DAG or a CPDAG, but has edges with circles: {graph.kinds_of_edges()}")
    if acyclic and counts[BIDIRECTED]:
        raise ValueError(f"{argument} must be a DAG or a CPDAG, but has bidirected edges: {graph.kinds_of_edges()}")
    if acyclic and (cycle := graph.cycle()):
        way = listed([graph.labels[v] for v in (*cycle, cycle[0])], " --> ")
        raise ValueError(f"{argument} must be a DAG or a CPDAG, but has the directed cycle {way}")


def _of_networkx(graph: Any, argument: str) -> tuple[tuple[str, ...], SparseGraph]:
    """Nodes and arcs of a DiGraph; two arcs between a pair are an undirected edge, unless their type is bidirected."""
    if not graph.is_directed() or graph.is_multigraph():
        raise TypeError(f"{argument} must be a networkx.DiGraph, got {type(graph).__name__}, which has no directions")
    place = {node: i for i, node in enumerate(graph.nodes)}
    for u, v, kind in graph.edges(data="type"):
        if kind not in (None, "directed", "undirected"):
            raise ValueError(f"{argument} must be a DAG or a CPDAG, but its edge {u} - {v} is {kind}")
    cells = [(place[u], place[v]) for u, v in graph.edges]
    row, column = np.array(cells, dtype=np.int32).reshape(-1, 2).T
    edges = SparseGraph.from_cells(len(place), row, column, np.ones(len(row), dtype=np.int8))
    return check_labels(list(map(str, place)), len(place)), edges


def _of_matrix(
    matrix: Any, argument: str, coding: Coding | None, default: Sequence[str] | None
) -> tuple[tuple[str, ...], SparseGraph]:
    """Names and edges of a matrix of numbers, of which those other than 0 are edges."""
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        given = f"shape {values.shape}" if values.ndim == 2 else type(matrix).__name__
        raise TypeError(f"{argument} must be a result, a square matrix or a networkx.DiGraph, got {given}")
    written = getattr(matrix, "attrs", {}).get("coding")
    if written == "amat_pag":
        raise ValueError(f"{argument} is of pcalg's type amat.pag; give the result, or its matrix()")
    if coding is not None and written == "amat" != coding:
        raise ValueError(f'{argument} is the amat() of a result, and coding="{coding}" reads it the wrong way round')
    if (coding or written) == "amat":
        values = values.T
    both = (values != 0) & (values.T != 0) & ((values != 1) | (values.T != 1))
    wrong = both | ~np.isfinite(values)
    if wrong.any():
        i, j = (int(k) for k in np.argwhere(wrong)[0])
        raise ValueError(
            f"{argument}: {values[i, j]:g} from variable {i} to {j} with {values[j, i]:g} back is no edge of a DAG or "
            "a CPDAG: expected a 0 and another number for an arrow, 1 and 1 for an undirected edge, 0 and 0 for none"
        )
    p = len(values)
    names = [str(name) for name in getattr(matrix, "columns", ())]
    if not names:
        names = [*(default if default is not None and len(default) == p else default_labels(p))]
    elif [str(name) for name in matrix.index] not in (names, list(map(str, range(p)))):
        raise ValueError(f"{argument} must have the same names of rows and columns, in the same order")
    return check_labels(names, p), SparseGraph.from_dense((values != 0).astype(np.int8))
