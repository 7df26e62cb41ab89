"""A result as flat arrays, and back: the one serialisation, which files and both bridges to R share.

    graph_from, _to, _mark            nonzero cells of the graph matrix, row to column, in row order      int32
    sepset_x, _y, _len, _members      stored cells in row order, members one set after the other          int32
    gap_x, _y                         pairs x < y without an edge and without a set (fixedGaps)           int32
    n_edgetests                       tests per level (R has no 64-bit integer)                           float64

With ``p_values="matrix"``, for R:

    pMax                              (p, p); symmetric, so that row order and column order agree         float64

With ``p_values="evidence"``, for files, everything from which p-values and explanations are computed:

    found_x, ..., found_gap_y         the sets as the tests found them, if orientation changed some       int32
    removed_x, _y, _level, removed_r  the edges removed at levels from 1 on                               int32, float64
    edge_p                            largest p-value of each edge, in the order of `SparseGraph`         float64
    C or pMax                         upper triangle, row by row: correlations, or recorded p-values      float64

All indices count from 0. A pair x < y that is neither adjacent nor a gap and has no cell has the empty set in cell
(x, y): there may be millions of those, so they are implied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.results.evidence import Floats, GaussianPValues, PValues, RecordedPValues, Removals
from pycupc.results.sepset import FlatCells, SepSets
from pycupc.sparse_graph import Ints, SparseGraph

Arrays = Mapping[str, NDArray[Any]]

#: The arrays that every result has, all int32 but the last.
ANSWER = (
    "graph_from", "graph_to", "graph_mark", "sepset_x", "sepset_y", "sepset_len", "sepset_members", "gap_x", "gap_y",
    "n_edgetests",
)  # fmt: skip


def graph_arrays(graph: SparseGraph) -> dict[str, NDArray[Any]]:
    row, column, mark = graph.cells()
    return {"graph_from": row, "graph_to": column, "graph_mark": mark.astype(np.int32)}


def graph_from_arrays(arrays: Arrays, p: int) -> SparseGraph:
    return SparseGraph.from_cells(p, *(arrays[f"graph_{name}"] for name in ("from", "to", "mark")))


def sepset_arrays(sepset: SepSets, name: str = "sepset_", gap: str = "gap_") -> dict[str, NDArray[Any]]:
    cells, gaps = sepset.flat(), sepset.gaps()
    out = {f"{name}{key}": values for key, values in zip(("x", "y", "len", "members"), cells, strict=True)}
    return out | {f"{gap}x": gaps[:, 0], f"{gap}y": gaps[:, 1]}


def sepset_from_arrays(arrays: Arrays, skeleton: SparseGraph, name: str = "sepset_", gap: str = "gap_") -> SepSets:
    cells = FlatCells(*(np.asarray(arrays[f"{name}{key}"]) for key in ("x", "y", "len", "members")))
    gaps = np.asarray(arrays[f"{gap}x"], dtype=np.int64) * skeleton.p + np.asarray(arrays[f"{gap}y"])
    return SepSets.from_flat(skeleton, cells, gaps)


def only_stored_cells(arrays: Arrays, p: int) -> dict[str, NDArray[Any]]:
    """Arrays in which every cell that holds a set is named, as in R's list of lists, in the form of this module.

    Gaps are found: they are the pairs that are not adjacent and have no cell.
    """
    cells = FlatCells(*(np.asarray(arrays[f"sepset_{key}"]) for key in ("x", "y", "len", "members")))
    return {**arrays, **sepset_arrays(SepSets.from_named_cells(graph_from_arrays(arrays, p), cells))}


def evidence_arrays(p_values: PValues, removals: Removals) -> dict[str, NDArray[Any]]:
    out: dict[str, NDArray[Any]] = {f"removed_{name}": getattr(removals, name) for name in ("x", "y", "level", "r")}
    match p_values:
        case GaussianPValues(C=C):
            out["edge_p"] = p_values.edges
            return out if C is None else out | {"C": upper_triangle(C)}
        case _:
            return out | {"pMax": upper_triangle(p_values.dense())}


def removals_from_arrays(arrays: Arrays) -> Removals:
    if "removed_x" not in arrays:
        return Removals()
    x, y, level, r = (arrays[f"removed_{name}"] for name in ("x", "y", "level", "r"))
    return Removals([(x, y, level, r)])


def p_values_from_arrays(
    arrays: Arrays, graph: SparseGraph, gaps: Ints, removals: Removals, n: float | None
) -> PValues:
    """The p-values that the arrays hold; those of the edges only, or unknown ones, if they hold no more."""
    p = graph.p
    if "pMax" in arrays:
        recorded = np.asarray(arrays["pMax"], dtype=np.float64)
        packed = recorded.size == p * (p + 1) // 2
        return RecordedPValues(full_matrix(recorded, p) if packed else recorded.reshape(p, p, order="F"))
    C = full_matrix(arrays["C"], p) if "C" in arrays else None
    edges = np.asarray(arrays["edge_p"]) if "edge_p" in arrays else np.full(len(graph), np.nan)
    return GaussianPValues(graph, edges, np.nan if n is None else n, removals, gaps, C)


def upper_triangle(matrix: Floats) -> Floats:
    """The upper triangle with the diagonal, row by row."""
    return np.concatenate([matrix[i, i:] for i in range(len(matrix))])


def full_matrix(packed: Floats, p: int) -> Floats:
    """The symmetric matrix whose `upper_triangle` is given."""
    matrix = np.empty((p, p))
    at = 0
    for i in range(p):
        matrix[i, i:] = matrix[i:, i] = packed[at : at + p - i]
        at += p - i
    return matrix


PValueForm = Literal["matrix", "evidence"]
