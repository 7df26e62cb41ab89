"""The columns of edges, one row each: of `edges`, of the files of edges, of R's data frame and of the explorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.results.explanation import reason_of_arrow, reason_of_mark


class EdgeColumn(NamedTuple):
    """A column: its name, and the values `of` all edges of a `TestedGraph`, in the order of `SparseGraph.edge_list`.

    Values are float64, or texts (object). `only_pag`: only PAGs have it. `on_page`: its title in the explorer, whose
    table and panel then show it; "" where the explorer shows the same in a form of its own.
    """

    name: str
    of: Callable[[Any], NDArray[Any]]
    only_pag: bool = False
    on_page: str = ""


def _largest_p(fit: Any) -> NDArray[Any]:
    values: NDArray[Any] = fit.p_values.of_edges(fit.sparse_graph)
    return values


def _correlation(fit: Any) -> NDArray[Any]:
    graph = fit.sparse_graph
    values: NDArray[Any] | None = fit.p_values.correlations(graph.low, graph.high)
    return np.full(len(graph), np.nan) if values is None else values


def _reasons(fit: Any, *, at_head: bool) -> NDArray[Any]:
    """What set the mark at the head of each edge, or at its tail."""
    tail, head, _ = fit.sparse_graph.edge_list()
    trace, of = dict(fit.trace.items()), reason_of_mark if fit.is_pag else reason_of_arrow  # a dict is quicker
    ends = (tail, head) if at_head else (head, tail)
    pairs = zip(*(end.tolist() for end in ends), strict=True)
    return np.array([" ".join(of(trace, fit.labels, *pair) or ()) for pair in pairs], dtype=object)


#: All columns beside the ends and the type of an edge, in their order.
COLUMNS = (
    EdgeColumn("pMax", _largest_p),
    EdgeColumn("r", _correlation),
    EdgeColumn("set_by", lambda fit: _reasons(fit, at_head=True)),
    EdgeColumn("from_set_by", lambda fit: _reasons(fit, at_head=False), only_pag=True),
)


def columns_of(fit: Any) -> dict[str, NDArray[Any]]:
    """The columns of a result, by name."""
    return {column.name: column.of(fit) for column in COLUMNS if fit.is_pag or not column.only_pag}


def columns_on_page(fit: Any) -> dict[str, NDArray[Any]]:
    """The columns that the explorer shows as they are, by their titles."""
    found = fit.edge_attributes()
    return {column.on_page: found[column.name] for column in COLUMNS if column.on_page and column.name in found}
