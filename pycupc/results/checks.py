"""Checks of a saved result before anything is computed from it: a file may be damaged or made by hand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_labels
from pycupc.gaussian.suffstat import check_n
from pycupc.graph.sparse import look_up, pair_keys
from pycupc.results.arrays import ANSWER, GAPS, Arrays
from pycupc.results.evidence import LevelSummary


def check_meta(meta: Mapping[str, Any]) -> None:
    """Raise ValueError, TypeError or KeyError unless labels, counts and arguments are of the right kind and range."""
    if not isinstance(meta["labels"], list) or not meta["labels"]:
        raise ValueError("labels are missing")
    check_labels(meta["labels"], len(meta["labels"]))
    require(type(meta["max_ord"]) is int and meta["max_ord"] >= -1, "max_ord", meta["max_ord"])
    for name, kind in {"call": str, "engine": str, "notes": dict, "levels": list, "trace": list}.items():
        require(isinstance(meta[name], kind), name, type(meta[name]).__name__)
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
    p = len(meta["labels"])
    for entry in meta["trace"]:
        a, b, kind, *variables = entry
        require(isinstance(kind, str), "trace", entry)
        require(all(type(v) is int and 0 <= v < p for v in (a, b, *variables)), "trace", entry)


def check_arrays(arrays: Arrays, p: int) -> None:
    """Raise ValueError unless the arrays of a file describe a result of `p` variables."""
    if missing := [name for name in ANSWER if name not in arrays]:
        raise ValueError(f"without {', '.join(missing)}")
    edges = _check_graph(arrays, p)
    found = "found_" if "found_x" in arrays else "sepset_"
    for name in dict.fromkeys(("sepset_", found)):
        _check_sets(arrays, name, p, edges)
    counts = arrays["n_edgetests"]
    require(bool(np.isfinite(counts).all() and (counts >= 0).all()), "n_edgetests", counts.tolist()[:5])
    n_removed = len(arrays["removed_x"] if "removed_x" in arrays else arrays[f"{found}x"])
    for name in ("removed_x", "removed_y", "removed_level", "removed_r"):
        require(name not in arrays or len(arrays[name]) == n_removed, name, len(arrays.get(name, ())))
    for name in ("removed_x", "removed_y", "removed_level"):
        if name in arrays:
            indices(arrays, name, p)
    _check_range(arrays, "removed_r", n_removed, -1.0, 1.0)
    _check_range(arrays, "edge_p", len(edges), -math.inf, 1.0)
    _check_range(arrays, "C", p * (p + 1) // 2, -1 - 1e-6, 1 + 1e-6)
    if "untested" in arrays:
        table = arrays["untested"]
        require(table.dtype.kind == "f" and table.ndim == 1 and len(table) % 4 == 0, "untested", table.shape)
        limits = np.repeat([p, p, p, 2.0**53], len(table) // 4)
        require(bool(((table >= 0) & (table < limits)).all()), "untested", "outside of the range")
    _check_range(arrays, "pMax", p * (p + 1) // 2, -math.inf, 1 + 1e-6)


def _check_graph(arrays: Arrays, p: int) -> NDArray[np.int64]:
    """Check the cells of the graph matrix; returns the `pair_keys` of the edges, ascending."""
    row, column = (indices(arrays, f"graph_{name}", p) for name in ("from", "to"))
    mark = indices(arrays, "graph_mark", 3)
    require(len(row) == len(column) == len(mark), "graph", (len(row), len(column), len(mark)))
    cells = row * p + column
    require(len(np.unique(cells)) == len(cells), "graph", "a cell twice")
    return np.unique(pair_keys(row, column, p))


def _check_sets(arrays: Arrays, name: str, p: int, edges: NDArray[np.int64]) -> None:
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
    gap_x, gap_y = indices(arrays, f"{gap}x", p), indices(arrays, f"{gap}y", p)
    require(len(gap_x) == len(gap_y) and bool((gap_x < gap_y).all()), gap, "no pairs x < y")
    gaps = gap_x * p + gap_y
    require(bool((np.diff(gaps) > 0).all()), gap, "not in order")
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
