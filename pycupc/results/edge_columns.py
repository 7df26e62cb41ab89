"""The columns of edges, one row each: of `edges`, of the files of edges, of R's data frame and of the explorer.

And the columns of the separating sets of pairs without an edge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sepset import FlatCells
from pycupc.independence.gaussian import fisher_z, tolerances
from pycupc.independence.gaussian.p_values import GaussianPValues
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


def sepset_columns(fit: Any) -> dict[str, NDArray[Any]]:
    """Columns of the table of the non-empty separating sets that the tests found, as in sepsets.csv.

    ValueError if the result of a Gaussian test was loaded without its partial correlations.
    """
    names = np.array(fit.labels, dtype=object)
    of_levels, later = fit._tests_of_levels(), fit.later
    cells = FlatCells(*map(np.concatenate, zip(of_levels.found_sepset.flat(by_row=False), later.cells(), strict=True)))
    by_row = np.lexsort((cells.y, cells.x))
    x, y, length, members = cells.take(by_row)
    flat, ends = names[members].tolist(), np.cumsum(length, dtype=np.int64).tolist()
    sets = [" | ".join(flat[end - size : end]) for size, end in zip(length.tolist(), ends, strict=True)]
    columns = {"x": names[x], "y": names[y], "level": length, "set": np.array(sets, dtype=object)}
    if fit.is_pag:
        stages = np.repeat(np.array(["levels", later.stage], dtype=object), [len(x) - len(later), len(later)])
        columns["stage"] = stages[by_row]
    if not isinstance(of_levels.p_values, GaussianPValues):
        p = [fit.p_values.at(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
        few = [values.tolist() for values in of_levels.untested.needed_by(x, y)]
        told = "not enough data: {:,} observations needed, {:,.10g} there"
        note = [told.format(needed, there) if needed else "" for needed, there in zip(*few, strict=True)]
        columns["p"] = np.array(p, dtype=np.float64)
        return {**columns, "note": np.array(note, dtype=object)} if any(note) else columns
    if fit.n is None or fit.alpha is None:
        raise ValueError("the table of separating sets needs n and alpha")
    r = np.append(of_levels.removals.r, later.value)[by_row]
    kept_r = np.clip(np.nan_to_num(r), -tolerances.R_MAX, tolerances.R_MAX)
    z = np.copysign(fisher_z.z_score(kept_r, fit.n, length), kept_r)
    cutoffs = np.array([fisher_z.cutoff(fit.alpha, fit.n, level) for level in range(int(length.max(initial=0)) + 1)])
    return {**columns, "r": r, "z": z, "p": fisher_z.z_to_p(z), "margin": cutoffs[length] - np.abs(kept_r)}
