"""A result as flat arrays, and back: the one serialisation, which files and both bridges to R share.

    edge_low, edge_high               edges low < high, in order                                          int32
    mark_low, mark_high               their marks: 1 circle, 2 arrowhead, 3 tail                          int32
    sepset_x, _y, _len, _members      stored cells in any order, members one set after the other          int32
    gap_x, _y                         pairs x < y without an edge and without a set (fixedGaps)           int32
    n_edgetests                       tests per level (R has no 64-bit integer)                           float64

For R (``p_values="matrix"`` or None), and in files of format 3 and before, in place of the edges, the last only with
``p_values="matrix"``:

    graph_from, _to, _mark            nonzero cells of the graph matrix, row to column, in row order      int32
    pMax                              (p, p); symmetric, so that row order and column order agree         float64

With ``p_values="evidence"``, for files, everything from which p-values and explanations are computed:

    found_x, ..., found_gap_y         the sets as the tests found them, if orientation changed some       int32
    edge_p                            largest p-value of each edge, in the order of `SparseGraph`         float64
    removed_r                         r of the tests that found the stored cells, in their order          float64
    C                                 correlations: upper triangle, row by row                            float64

    untested                          x, y, level and needed of `UntestedPairs`, one after the other      float64
    untested_there                    their `there`, where it is not n                                    float64

or, if the p-values were recorded rather than computed,

    removed_r, pMax                   the same; all p-values: upper triangle, row by row                  float64

`removed_r` and C have as many numbers as the problem has pairs, and can be computed again from the data. Either is left
out if it has more than `MOST_NUMBERS`, unless it is requested.

All indices count from 0. A pair x < y that is neither adjacent nor a gap and has no cell has the empty set in cell
(x, y): there may be millions of such pairs, so their cells are not stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_labels
from pycupc.graph.removals import Removals
from pycupc.graph.sepset import FlatCells, SepSets
from pycupc.graph.sparse import TAIL, Ints, SparseGraph, look_up, pair_keys
from pycupc.graph.tiers import Tiers
from pycupc.independence.gaussian.correlations import Correlations
from pycupc.independence.gaussian.p_values import GaussianPValues
from pycupc.independence.gaussian.suffstat import check_n
from pycupc.independence.p_values import Floats, PValues, RecordedPValues
from pycupc.orientation.trace import OrientationStatus
from pycupc.results.level_summary import LevelSummary
from pycupc.results.methods import WITHOUT_HIDDEN


def check_meta(meta: Mapping[str, Any]) -> None:
    """Raise ValueError, TypeError or KeyError unless labels, counts and arguments are of the right kind and range."""
    if not isinstance(meta["labels"], list) or not meta["labels"]:
        raise ValueError("labels are missing")
    check_labels(meta["labels"], len(meta["labels"]))
    require(type(meta["max_ord"]) is int and meta["max_ord"] >= -1, "max_ord", meta["max_ord"])
    for name, kind in {"call": str, "engine": str, "notes": dict, "levels": list, "trace": list}.items():
        require(isinstance(meta[name], kind), name, type(meta[name]).__name__)
    status = (None, *get_args(OrientationStatus))
    for name, values in {"method": WITHOUT_HIDDEN, "orientation": status}.items():
        require(name not in meta or meta[name] in values, name, meta.get(name))
    require(isinstance(meta.get("engine_name", ""), str), "engine_name", meta.get("engine_name"))
    if meta["n"] is not None:
        check_n(meta["n"])
    alpha = meta["alpha"]
    require(alpha is None or (type(alpha) in (int, float) and 0 <= alpha <= 1), "alpha", alpha)
    for level in meta["levels"]:
        summary = LevelSummary(**level)
        numbers = (summary.level, summary.n_tests, summary.n_removed, summary.edges_left, summary.n_careful)
        require(all(type(v) is int and v >= 0 for v in numbers), "levels", level)
        require(type(summary.seconds) in (int, float) and math.isfinite(summary.seconds), "levels", level)
        require(all(type(v) is int for v in (summary.n_made, summary.n_bounds)), "levels", level)
    check_trace(meta["trace"], len(meta["labels"]))


def check_trace(entries: Sequence[Any], p: int) -> None:
    """Raise ValueError or TypeError unless these are entries of a trace on p variables."""
    for entry in entries:
        a, b, kind, *variables = entry
        require(isinstance(kind, str), "trace", entry)
        require(all(type(v) is int and 0 <= v < p for v in (a, b, *variables)), "trace", entry)


def trace_entries(trace: Trace) -> list[list[Any]]:
    """A trace for a file: each [x, y, rule, variable, ...]."""
    return [[*pair, *reason] for pair, reason in trace.items()]


def trace_from(entries: Sequence[Any]) -> Trace:
    return {(entry[0], entry[1]): tuple(entry[2:]) for entry in entries}


def tiers_entries(tiers: Tiers | None) -> list[Any] | None:
    """Tiers for a file."""
    return None if tiers is None else [tiers.tier.tolist(), tiers.latent, tiers.lost.tolist()]


def tiers_from(meta: Mapping[str, Any]) -> Tiers | None:
    """The reverse of `tiers_entries`; files of version 0.2 have none."""
    if meta.get("tiers") is None:
        return None
    tier, latent, lost = meta["tiers"]
    p, numbers, edges = len(meta["labels"]), np.array(tier, np.int64), np.array(lost, np.int32).reshape(-1, 2)
    fits = len(numbers) == p and (numbers >= 0).all() and ((edges >= 0) & (edges < p)).all()
    require(fits and type(latent) is bool, "tiers", meta["tiers"])
    return Tiers(numbers, latent, edges)


def check_arrays(arrays: Arrays, p: int) -> None:
    """Raise ValueError unless the arrays of a file describe a result of `p` variables."""
    graph = CELLS if "graph_from" in arrays else EDGES
    if missing := [name for name in (*graph, *ANSWER) if name not in arrays]:
        raise ValueError(f"without {', '.join(missing)}")
    edges = graph_from_arrays(arrays, p).keys if graph is CELLS else check_edges(arrays, p)
    found = "found_" if "found_x" in arrays else "sepset_"
    for name in dict.fromkeys(("sepset_", found)):
        check_sets(arrays, name, p, edges)
    counts = arrays["n_edgetests"]
    require(bool(np.isfinite(counts).all() and (counts >= 0).all()), "n_edgetests", counts.tolist()[:5])
    n_removed = len(arrays["removed_x"] if "removed_x" in arrays else arrays[f"{found}x"])
    for name in arrays.keys() & {"removed_x", "removed_y", "removed_level"}:  # of format 2
        require(len(indices(arrays, name, p)) == n_removed, name, len(arrays[name]))
    triangle = p * (p + 1) // 2
    _check_range(arrays, "removed_r", n_removed, -1.0, 1.0)
    _check_range(arrays, "edge_p", len(edges), -math.inf, 1.0)
    _check_range(arrays, "C", triangle, -1 - 1e-6, 1 + 1e-6)
    _check_range(arrays, "pMax", triangle, -math.inf, 1 + 1e-6)
    if "untested" in arrays:
        table = arrays["untested"]
        require(table.dtype.kind == "f" and table.ndim == 1 and len(table) % 4 == 0, "untested", table.shape)
        limits = np.repeat([p, p, p, 2.0**53], len(table) // 4)
        require(bool(((table >= 0) & (table < limits)).all()), "untested", "outside of the range")
        _check_range(arrays, "untested_there", len(table) // 4, 0.0, 2.0**53)
        require(not np.isnan(arrays.get("untested_there", 0.0)).any(), "untested_there", "not numbers")


def check_edges(arrays: Arrays, p: int) -> NDArray[np.int64]:
    """Check the edges; returns their `pair_keys`, ascending."""
    keys = pairs_in_order(arrays, *EDGES[:2], p, "edges")
    marks = [indices(arrays, name, TAIL + 1) for name in EDGES[2:]]
    require({len(keys)} == {*map(len, marks)}, "edges", (len(keys), *map(len, marks)))
    require(all((mark > 0).all() for mark in marks), "a mark", 0)
    return keys


def pairs_in_order(arrays: Arrays, low: str, high: str, p: int, name: str) -> NDArray[np.int64]:
    """The `pair_keys` of the pairs in two arrays; ValueError, about `name`, unless they are low < high and ascend."""
    x, y = indices(arrays, low, p), indices(arrays, high, p)
    require(len(x) == len(y), name, (len(x), len(y)))
    keys = x * p + y
    require(bool((x < y).all() and (np.diff(keys) > 0).all()), name, "in another order")
    return keys


def check_sets(arrays: Arrays, name: str, p: int, edges: NDArray[np.int64]) -> None:
    gap = GAPS[name]
    x, y, members = (indices(arrays, f"{name}{key}", p) for key in ("x", "y", "members"))
    length = np.asarray(arrays[f"{name}len"], dtype=np.int64)
    require(len(x) == len(y) == len(length), name, (len(x), len(y), len(length)))
    require(int(length.min(initial=0)) >= 0 and int(length.sum()) == len(members), f"{name}len", int(length.sum()))
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


def indices(arrays: Arrays, name: str, limit: float = math.inf) -> NDArray[np.int64]:
    """The array of this name, which must be a vector of whole numbers from 0 to `limit` - 1; else ValueError."""
    require(arrays[name].ndim == 1 and arrays[name].dtype.kind == "i", name, arrays[name].dtype)
    values: NDArray[np.int64] = np.asarray(arrays[name], dtype=np.int64)
    require(int(values.min(initial=0)) >= 0 and int(values.max(initial=0)) < limit, name, "outside of the range")
    return values


def _check_range(arrays: Arrays, name: str, size: int, low: float, high: float) -> None:
    if name in arrays:
        values = arrays[name]
        require(values.dtype.kind == "f" and values.shape == (size,), name, values.shape)
        with np.errstate(invalid="ignore"):
            require(not ((values < low) | (values > high)).any(), name, "outside of the range")


def require(condition: bool | np.bool_, name: str, value: object) -> None:
    """Raise ValueError, which says that `name` cannot be `value`, unless `condition` holds."""
    if not condition:
        raise ValueError(f"{name} cannot be {value}")


Arrays = Mapping[str, NDArray[Any]]
Trace = Mapping[tuple[int, int], tuple[Any, ...]]
PValueForm = Literal["matrix", "evidence"]

#: Largest array of evidence that is saved unless more is requested: 8 MB.
MOST_NUMBERS = 1_000_000

#: The arrays of a graph, and its arrays where it has no circles, for R and in older files; all int32.
EDGES, CELLS = ("edge_low", "edge_high", "mark_low", "mark_high"), ("graph_from", "graph_to", "graph_mark")
#: The other arrays that every result has, all int32 but the last.
ANSWER = ("sepset_x", "sepset_y", "sepset_len", "sepset_members", "gap_x", "gap_y", "n_edgetests")
#: The prefixes of the arrays of sets, final and as the tests found them, with the prefixes of their gaps.
GAPS = {"sepset_": "gap_", "found_": "found_gap_"}


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
    p_values: PValues, removals: Removals, graph: SparseGraph, *, everything: bool | None = None
) -> dict[str, NDArray[Any]]:
    """The arrays of evidence; the optional arrays if `everything`, or if it is None and they are not too large."""
    out: dict[str, NDArray[Any]] = {}

    def wanted(numbers: int) -> bool:
        return numbers <= MOST_NUMBERS if everything is None else everything

    if len(removals) and removals.r_known and wanted(len(removals)):
        out["removed_r"] = removals.r
    if not isinstance(p_values, GaussianPValues):
        return out | {"pMax": upper_triangle(p_values.dense())}
    out["edge_p"], p = p_values.of_edges(graph), graph.p
    if wanted(p * (p + 1) // 2) and p_values.C is not None:
        out["C"] = upper_triangle(p_values.C)
    return out


def removals_from_arrays(arrays: Arrays, found: SepSets, known: Correlations | None = None) -> Removals:
    """The removals, in the order of the sets that the tests `found`; their r from `known` where the arrays lack it."""
    if "removed_r" not in arrays and "edge_p" not in arrays:  # from R
        return Removals()
    x, y, level, members = found.flat(by_row=False)
    ends = np.cumsum(level, dtype=np.int64)
    if "removed_r" in arrays:
        # format 2 has pairs of its own for the values
        name = next(name for name in ("removed", "found", "sepset") if f"{name}_x" in arrays)
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
