"""d-separation: whether a graph implies that variables are independent given others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pycupc.data.names import positions
from pycupc.graph.sparse import UNDIRECTED
from pycupc.system.nearest import hinted
from pycupc.truth.graphs import Coding, as_causal_graph

Variables = int | str | Iterable[int | str]


@hinted
def d_separated(
    graph: Any,
    x: Variables,
    y: Variables,
    S: Variables = (),
    *,
    labels: Sequence[str] | None = None,
    coding: Coding | None = None,
) -> bool:
    """Whether S d-separates x and y: whether the graph implies that they are independent given S.

    Parameters
    ----------
    graph : PcAlgo, CausalGraph, NamedGraph, networkx.DiGraph or array-like of numbers (p, p)
        A DAG, or a graph that a DAG extends, such as a CPDAG: the answer is the same for all DAGs of the class.
        Matrices and graphs of networkx as in `evaluate`.
    x, y : str or int, or several
        Variables by label or position from 0 on; of several, each of x must be separated from each of y.
    S : str or int, or several
        The conditioning set; by default empty.
    labels : sequence of p str, optional
        Names of the variables; by default the names in `graph`, else "1" to "p".
    coding : "matrix" or "amat", optional
        How a matrix is read, as in `evaluate`.

    Returns
    -------
    bool

    Raises
    ------
    TypeError, IndexError
        If `graph` is none of these (such as the result of `fci`), or a variable is neither a label nor a position.
    ValueError
        If x or y is empty; x, y and S have a variable in common; there is no variable of this name; or no DAG extends
        the graph.

    Notes
    -----
    x and y are d-separated by S if each path between them in the moral graph of the ancestors of x, y and S passes S
    (Lauritzen, Dawid, Larsen and Leimer 1990, Networks 20, 491-505). Time is in proportion to the edges.
    """
    known = as_causal_graph(graph, "graph", labels=labels, coding=coding)
    first, second, given = (set(positions(part, known.labels)) for part in (x, y, S))
    if not first or not second:
        raise ValueError(f"x and y must name a variable each, got {x!r} and {y!r}")
    if common := first & second | first & given | second & given:
        raise ValueError(
            f"x, y and S must have no variable in common, got {known.labels[min(common)]!r} more than once"
        )
    edges = (known.to_dag() if known.sparse_graph.counts()[UNDIRECTED] else known).sparse_graph
    parents: list[list[int]] = [[] for _ in range(known.p)]
    tail, head, _ = edges.edge_list()
    for a, b in zip(tail.tolist(), head.tolist(), strict=True):
        parents[b].append(a)
    return not _reached(first, given, parents, _with_ancestors(first | second | given, parents)) & second


def _with_ancestors(variables: set[int], parents: list[list[int]]) -> set[int]:
    found, stack = set(variables), [*variables]
    while stack:
        more = set(parents[stack.pop()]) - found
        found |= more
        stack += more
    return found


def _reached(start: set[int], closed: set[int], parents: list[list[int]], among: set[int]) -> set[int]:
    """The variables that paths outside `closed` reach in the moral graph of `among`: families are complete."""
    families: dict[int, list[int]] = {v: [v] for v in among}
    for child in among:
        for parent in parents[child]:
            families[parent].append(child)
    found, joined, stack = set(start), set[int](), [*start]
    while stack:
        for child in families[stack.pop()]:
            if child not in joined:
                joined.add(child)
                more = {child, *parents[child]} - closed - found
                found |= more
                stack += more
    return found
