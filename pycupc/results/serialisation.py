"""A result as flat arrays, and back: the arrays of `schema.py`, which files and both bridges to R share.

R has, for ``p_values="matrix"`` or None, the cells of the graph matrix in place of the edges, and with "matrix" `pMax`,
(p, p), symmetric, so that row order and column order agree. A file has, for "evidence", everything from which p-values
and explanations are computed. Of it `removed_r` and C have as many numbers as the problem has pairs, and can be
computed again from the data: either is left out if it has more than `MOST_NUMBERS`, unless it is requested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.removals import Removals
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import Ints, SparseGraph, look_up, pair_keys
from pycupc.independence.gaussian.correlation import Correlations
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.independence.p_values import Floats, PValues, RecordedPValues
from pycupc.results import schema
from pycupc.results.base import TestedResult
from pycupc.results.schema import Arrays, indices, names, require
from pycupc.results.summary import LevelSummary

PValueForm = Literal["matrix", "evidence", "edges", "removals"]

#: Largest array of evidence that is saved unless more is requested: 8 MB.
MOST_NUMBERS = 1_000_000

#: The names of the arrays of a graph, of its cells, and of everything else that every result has.
EDGES, CELLS, ANSWER = names(schema.EDGES), names(schema.CELLS), names((*schema.SETS, *schema.COUNTS))
#: The prefixes of the arrays of sets, final and as the tests found them, with the prefixes of their gaps.
GAPS = {"sepset_": "gap_", "found_": "found_gap_"}


def check_arrays(arrays: Arrays, p: int) -> None:
    """Raise ValueError unless the arrays of a file describe a result of `p` variables."""
    found = "found_" if "found_x" in arrays else "sepset_"
    n_edges, n_removed, n_untested = (len(arrays.get(name, ())) for name in ("edge_low", f"{found}x", "untested"))
    sizes = {"triangle": p * (p + 1) // 2, "p-values of edges": n_edges, "removed": n_removed}
    sizes["untested pairs"] = n_untested // 4
    schema.check(schema.RESULT, arrays, p, sizes)
    edges = check_edges(arrays, p)
    for name in dict.fromkeys(("sepset_", found)):
        check_sets(arrays, name, p, edges)
    require(bool(np.isfinite(counts := arrays["n_edgetests"]).all()), "n_edgetests", counts.tolist()[:5])
    if "untested" in arrays:
        require(n_untested % 4 == 0, "untested", arrays["untested"].shape)
        limits = np.repeat([p, p, p, 2.0**53], n_untested // 4)
        require(bool((arrays["untested"] < limits).all()), "untested", "outside of the range")
        require(not np.isnan(arrays.get("untested_there", 0.0)).any(), "untested_there", "not numbers")


def check_edges(arrays: Arrays, p: int) -> NDArray[np.int64]:
    """Raise ValueError unless the edges are in order; returns their `pair_keys`, ascending."""
    return pairs_in_order(arrays, "edge_low", "edge_high", p, "edges")


def pairs_in_order(arrays: Arrays, low: str, high: str, p: int, name: str) -> NDArray[np.int64]:
    """The `pair_keys` of the pairs in two arrays; ValueError, about `name`, unless they are low < high and ascend."""
    x, y = indices(arrays, low, p), indices(arrays, high, p)
    require(len(x) == len(y), name, (len(x), len(y)))
    keys = x * p + y
    require(bool((x < y).all() and (np.diff(keys) > 0).all()), name, "in another order")
    return keys


def check_sets(arrays: Arrays, name: str, p: int, edges: NDArray[np.int64]) -> None:
    """Raise ValueError unless the sets, whose arrays have been checked one by one, fit each other and the edges."""
    gap = GAPS[name]
    x, y, length, members = (np.asarray(arrays[f"{name}{key}"], np.int64) for key in ("x", "y", "len", "members"))
    require(int(length.sum()) == len(members), f"{name}len", int(length.sum()))
    require(not (x == y).any(), name, "a variable separated from itself")
    cells = np.sort(x * p + y, kind="stable")  # which is quick where they are nearly in order, as they are
    require(bool((np.diff(cells) > 0).all()), name, "a cell twice")
    pairs = pair_keys(x, y, p)
    require((look_up(edges, pairs) < 0).all(), name, "a set of variables that are joined by an edge")
    gaps = pairs_in_order(arrays, f"{gap}x", f"{gap}y", p, gap)
    require((look_up(edges, gaps) < 0).all(), gap, "an edge")
    require((look_up(gaps, pairs) < 0).all(), gap, "a separated pair")
    owner = np.repeat(np.arange(len(x)), length)
    require(not ((members == x[owner]) | (members == y[owner])).any(), name, "a set that holds what it separates")


def edge_arrays(graph: SparseGraph) -> dict[str, NDArray[Any]]:
    """The arrays `EDGES` of a graph."""
    values: tuple[NDArray[Any], ...] = (graph.low, graph.high, graph.low_mark, graph.high_mark)
    return {name: part.astype(np.int32, copy=False) for name, part in zip(EDGES, values, strict=True)}


def cell_arrays(graph: SparseGraph) -> dict[str, NDArray[Any]]:
    """The arrays `CELLS` of a graph without circles."""
    row, column, cell = graph.cells()
    return dict(zip(CELLS, (row, column, cell.astype(np.int32)), strict=True))


def graph_from_arrays(arrays: Arrays, p: int) -> SparseGraph:
    """The graph on p variables; a ValueError says which cells are no edge."""
    if CELLS[0] in arrays:
        return SparseGraph.from_cells(p, *(arrays[name] for name in CELLS))
    low, high, *marks = (np.asarray(arrays[name]) for name in EDGES)
    return SparseGraph(p, low, high, *(mark.astype(np.int8) for mark in marks))


def sepset_arrays(sepset: SepSets, name: str = "sepset_", *, by_row: bool = True) -> dict[str, NDArray[Any]]:
    """The arrays of separating sets, whose prefix is `name`, one of `GAPS`; `by_row` as in `SepSets.flat`."""
    cells, gaps, gap = sepset.flat(by_row=by_row), sepset.gaps(), GAPS[name]
    out = {f"{name}{key}": values for key, values in zip(("x", "y", "len", "members"), cells, strict=True)}
    return out | {f"{gap}x": gaps[:, 0], f"{gap}y": gaps[:, 1]}


def sepset_from_arrays(arrays: Arrays, skeleton: SparseGraph, name: str = "sepset_") -> SepSets:
    """The reverse of `sepset_arrays`."""
    cells = FlatCells(*(np.asarray(arrays[f"{name}{key}"]) for key in ("x", "y", "len", "members")))
    gap = GAPS[name]
    gaps = np.asarray(arrays[f"{gap}x"], dtype=np.int64) * skeleton.p + np.asarray(arrays[f"{gap}y"])
    return SepSets.from_flat(skeleton, cells, gaps)


def only_stored_cells(arrays: Arrays, p: int, name: str = "sepset_") -> dict[str, NDArray[Any]]:
    """Convert arrays that list every cell with a set, as R's list of lists does, to the form of this module.

    The gaps follow: they are the pairs that are not adjacent and have no cell.
    """
    cells = FlatCells(*(np.asarray(arrays[f"{name}{key}"]) for key in ("x", "y", "len", "members")))
    return {**arrays, **sepset_arrays(SepSets.from_named_cells(graph_from_arrays(arrays, p), cells), name)}


def evidence_arrays(
    fit: TestedResult, form: PValueForm = "evidence", *, everything: bool | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of evidence in the `form` of `PcAlgo.to_arrays`; C and r if `everything`, or if it is None and they
    are not too large. For "removals" nothing is computed: C is left out if it is not there.
    """
    p_values, removals = fit.p_values, fit.removals
    out: dict[str, NDArray[Any]] = {}

    def wanted(numbers: int) -> bool:
        return numbers <= MOST_NUMBERS if everything is None else everything

    if len(removals) and removals.r_known and wanted(len(removals)):
        out["removed_r"] = removals.r
    if not isinstance(p_values, GaussianPValues):
        return out | ({"pMax": upper_triangle(p_values.dense())} if form == "evidence" else {})
    if form != "removals":
        out["edge_p"] = p_values.of_edges(fit.sparse_graph)
    p = fit.p
    computed = form != "removals" or (p_values.known is not None and p_values.known.has_dense)
    if wanted(p * (p + 1) // 2) and computed and p_values.C is not None:
        out["C"] = upper_triangle(p_values.C)
    return out


def removals_from_arrays(arrays: Arrays, found: SepSets, known: Correlations | None = None) -> Removals:
    """The removals, in the order of the sets that the tests `found`; their r from `known` where the arrays lack it."""
    if "removed_r" not in arrays and "edge_p" not in arrays:  # from R
        return Removals()
    x, y, level, members = found.flat(by_row=False)
    ends = np.cumsum(level, dtype=np.int64)
    if "removed_r" in arrays:
        name = "found" if "found_x" in arrays else "sepset"
        pairs, r = (arrays[f"{name}_y"], arrays[f"{name}_x"]), np.array(arrays["removed_r"])
        if not (np.array_equal(x, pairs[1]) and np.array_equal(y, pairs[0])):
            r[np.lexsort((y, x))] = arrays["removed_r"][np.lexsort(pairs)]
        return Removals(found, np.split(r, np.cumsum([len(block.x) for block in found.blocks])[:-1]))

    def r_of(k: int) -> float:
        from pycupc.independence.gaussian.partial_correlation import canonical_among  # imports Numba

        assert known is not None
        return canonical_among(known, x[k], y[k], sorted(members[ends[k] - level[k] : ends[k]].tolist()))

    return Removals(found, r_of=None if known is None else r_of)


def p_values_from_arrays(
    arrays: Arrays,
    graph: SparseGraph,
    gaps: Ints,
    removals: Removals,
    n: float | None,
    known: Correlations | None = None,
) -> PValues:
    """The p-values that the arrays hold: of all pairs, of the edges only, or none."""
    p = graph.p
    if "pMax" in arrays:
        recorded = np.asarray(arrays["pMax"], dtype=np.float64)
        packed = recorded.size == p * (p + 1) // 2
        return RecordedPValues(full_matrix(recorded, p) if packed else recorded.reshape(p, p, order="F"))
    known = Correlations(full_matrix(arrays["C"], p)) if "C" in arrays else known
    edges = np.asarray(arrays["edge_p"]) if "edge_p" in arrays else np.full(len(graph), np.nan)
    return GaussianPValues(graph, removals, gaps, edges, np.nan if n is None else n, known)


def counts_from_arrays(arrays: Arrays, levels: Sequence[LevelSummary]) -> list[int]:
    """The numbers of tests per level; from `levels` if they agree, because float64 is exact only up to 2^53."""
    counts, exact = [int(v) for v in arrays["n_edgetests"]], [level.n_tests for level in levels]
    return exact if list(map(float, exact)) == list(map(float, counts)) else counts


def upper_triangle(matrix: Floats) -> Floats:
    """The upper triangle with the diagonal, row by row."""
    return matrix[~np.tri(len(matrix), k=-1, dtype=np.bool_)]


def full_matrix(packed: Floats, p: int) -> Floats:
    """The symmetric matrix whose `upper_triangle` is given."""
    matrix, upper = np.empty((p, p)), ~np.tri(p, k=-1, dtype=np.bool_)
    matrix[upper] = matrix.T[upper] = packed
    return matrix
