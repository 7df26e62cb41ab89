"""The arrays and facts that a result consists of, one row each, and the checks of a file that holds them.

Files, pickles, checkpoints and R share the rows: a new array or fact of a result is a row here, beside the attribute
that holds it. `serialisation.py` and `pag_arrays.py` make the arrays, and results from them.

All arrays are vectors, and their indices count from 0. A pair x < y that is neither adjacent nor a gap and has no cell
has the empty set in cell (x, y): there may be millions of such pairs, so their cells are not stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from pycupc.data.names import check_labels
from pycupc.graph.sparse import TAIL
from pycupc.graph.tiers import NO_TIER, Tiers
from pycupc.independence.gaussian.suffstat import check_n
from pycupc.orientation.trace import OrientationStatus
from pycupc.results.facts_in_texts import engine_in_text, orientation_in_texts, skeleton_or_pc
from pycupc.results.methods import WITHOUT_HIDDEN
from pycupc.results.summary import LevelSummary

Arrays = Mapping[str, NDArray[Any]]
Trace = Mapping[tuple[int, int], tuple[Any, ...]]


class Array(NamedTuple):
    """An array: its name, what it has an element `of`, and the values that it may hold.

    kind     "index" of a variable, "mark" or "size", int32; "number", float64
    of       arrays of the same are equally long, and errors name it
    low, high   the range of the values; of indices all variables
    in_r     its name in the plain form of R (r_wrapper/R/pcalgo.R), where an index counts from 1; "" if R has it not
    """

    name: str
    kind: Literal["index", "mark", "size", "number"]
    of: str
    low: float = 0
    high: float = math.inf
    optional: bool = False
    in_r: str = ""

    @property
    def dtype(self) -> type[np.generic]:
        return np.float64 if self.kind == "number" else np.int32


def _sets(name: str, gap: str, in_r: str = "", *, optional: bool = False) -> tuple[Array, ...]:
    """Separating sets: cells in any order, and the members of one set after the other; and the pairs without a set."""
    cells = (("x", "index"), ("y", "index"), ("len", "size"))
    columns = {"x": "x", "y": "y", "len": "length", "members": "members"}
    named = {key: in_r and f"{in_r}.{column}" for key, column in columns.items()}
    return (
        *(Array(f"{name}{key}", kind, name, in_r=named[key], optional=optional) for key, kind in cells),  # type: ignore[arg-type]
        Array(f"{name}members", "index", f"{name}members", in_r=named["members"], optional=optional),
        *(Array(f"{gap}{end}", "index", gap, in_r=in_r and f"{in_r}.gap_{end}", optional=optional) for end in "xy"),
    )


def _edges(prefix: str = "", in_r: str = "") -> tuple[Array, ...]:
    """Edges low < high, in order, and their marks at these ends: 1 circle, 2 arrowhead, 3 tail."""
    ends = (("edge_low", "low"), ("edge_high", "high")), (("mark_low", "low_mark"), ("mark_high", "high_mark"))
    return (
        *(Array(prefix + name, "index", "edges", in_r=in_r and f"{in_r}.{end}") for name, end in ends[0]),
        *(Array(prefix + name, "mark", "edges", 1, TAIL, in_r=in_r and f"{in_r}.{mark}") for name, mark in ends[1]),
    )


#: The arrays of a graph; of the answer; and, in place of the edges, the nonzero cells of the graph matrix, row to
#: column, in row order, which R has of a graph without circles.
EDGES = _edges(in_r="edge")
SETS = _sets("sepset_", "gap_", "sepset")
COUNTS = (Array("n_edgetests", "number", "levels", in_r="n.edgetests"),)  # R has no 64-bit integers
CELLS = (
    Array("graph_from", "index", "cells", in_r="graph.from"),
    Array("graph_to", "index", "cells", in_r="graph.to"),
    Array("graph_mark", "mark", "cells", 1, 2, in_r="graph.mark"),
)
#: What the answer does not have: the sets as the tests found them, if orientation changed some; r of the tests that
#: found the stored cells, in the order of these; the largest p-value of each edge; the correlations, or p-values that
#: were recorded rather than computed, as upper triangles, row by row; x, y, level and needed of `UntestedPairs`, one
#: after the other, and their `there`, where it is not n.
EVIDENCE = (
    *_sets("found_", "found_gap_", "found", optional=True),
    Array("removed_r", "number", "removed", -1.0, 1.0, optional=True),
    Array("edge_p", "number", "p-values of edges", -math.inf, 1.0, optional=True),
    Array("C", "number", "triangle", -1 - 1e-6, 1 + 1e-6, optional=True),
    Array("pMax", "number", "triangle", -math.inf, 1 + 1e-6, optional=True, in_r="pMax"),
    Array("untested", "number", "untested", 0.0, 2.0**53, optional=True),
    Array("untested_there", "number", "untested pairs", 0.0, 2.0**53, optional=True),
)
#: A `PcAlgo`.
RESULT = (*EDGES, *SETS, *COUNTS, *EVIDENCE)

#: A `PagAlgo` has its skeleton's arrays, and: edges, marks and sets in the end; edges removed after the levels, with
#: their sets, r (or p) and p of the tests that removed them; cells of pMax that these tests raised; pairs whose sets
#: were not all tested; the sets of allPdsep, if the fact `pdsep` is true.
OF_PAG = "pag_"
PAG = (
    *_edges(OF_PAG),
    *_sets("pag_sepset_", "pag_gap_"),
    Array("later_x", "index", "later_x", in_r="later.x"),
    Array("later_y", "index", "later_x", in_r="later.y"),
    Array("later_len", "size", "later_x"),
    Array("later_value", "number", "later_x", -math.inf),
    Array("later_p", "number", "later_x", -math.inf),
    Array("later_members", "index", "later_members"),
    Array("raised_x", "index", "raised_x"),
    Array("raised_y", "index", "raised_x"),
    Array("raised_p", "number", "raised_x", -math.inf),
    Array("open_x", "index", "open_x"),
    Array("open_y", "index", "open_x"),
    Array("pdsep_len", "size", "pdsep_len", in_r="pdsep.length"),
    Array("pdsep_members", "index", "pdsep_members", in_r="pdsep.members"),
)
#: Only R has this.
ONLY_R = (Array("n_edgetests_pdsep", "number", "sizes", in_r="n.edgetestsPDSEP"),)
#: All arrays that R has, by its names.
IN_R = {array.in_r: array for array in (*RESULT, *CELLS, *PAG, *ONLY_R) if array.in_r}


def names(arrays: Iterable[Array]) -> tuple[str, ...]:
    return tuple(array.name for array in arrays)


# -- checks -----------------------------------------------------------------------------------------------------------


def require(condition: bool | np.bool_, name: str, value: object) -> None:
    """Raise ValueError, which says that `name` cannot be `value`, unless `condition` holds."""
    if not condition:
        raise ValueError(f"{name} cannot be {value}")


def indices(arrays: Arrays, name: str, limit: float = math.inf) -> NDArray[np.int64]:
    """The array of this name, which must be a vector of whole numbers from 0 to `limit` - 1; else ValueError."""
    require(arrays[name].ndim == 1 and arrays[name].dtype.kind == "i", name, arrays[name].dtype)
    values: NDArray[np.int64] = np.asarray(arrays[name], dtype=np.int64)
    require(int(values.min(initial=0)) >= 0 and int(values.max(initial=0)) < limit, name, "outside of the range")
    return values


def numbers(arrays: Arrays, name: str, low: float, high: float) -> NDArray[np.float64]:
    """The array of this name, which must be a vector of float64 numbers in the range, or NaN; else ValueError."""
    values: NDArray[np.float64] = arrays[name]
    require(values.dtype.kind == "f" and values.ndim == 1, name, values.shape if values.ndim != 1 else values.dtype)
    with np.errstate(invalid="ignore"):
        require(not ((values < low) | (values > high)).any(), name, "outside of the range")
    return values


def check(rows: Sequence[Array], arrays: Arrays, p: int, sizes: Mapping[str, int] | None = None) -> None:
    """Raise ValueError unless `arrays` has these, of `p` variables, with values of the right kind and range.

    `sizes`: the numbers of elements that are known.
    """
    if missing := [row.name for row in rows if not row.optional and row.name not in arrays]:
        raise ValueError(f"without {', '.join(missing)}")
    there = [row for row in rows if row.name in arrays]
    for row in there:
        if row.kind == "number":
            numbers(arrays, row.name, row.low, row.high)
        else:
            values = indices(arrays, row.name, p if row.kind == "index" else row.high + 1)
            require(not (values < row.low).any(), f"a {row.kind}", 0)
    lengths: dict[str, list[int]] = {}
    for row in there:
        lengths.setdefault(row.of, []).append(len(arrays[row.name]))
    for of, found in lengths.items():
        require(len(set(found)) == 1, of, tuple(found))
    for row in there:
        require(
            len(arrays[row.name]) == (sizes or {}).get(row.of, lengths[row.of][0]), row.name, arrays[row.name].shape
        )


# -- facts ------------------------------------------------------------------------------------------------------------


def _same(value: Any) -> Any:
    return value


def _is(*kinds: type) -> Callable[[Any, int], bool]:
    return lambda value, p: isinstance(value, kinds)


class Fact(NamedTuple):
    """An attribute of a `PcAlgo` that is no array: the check of its value in a file of `p` variables, and both ways.

    `written` makes a value for JSON, of which `read` makes the attribute. A wrong value is `shown` in the error. Older
    files and pickles may lack the fact if ``older(what they hold, number of edges)`` gives it.
    """

    name: str
    fits: Callable[[Any, int], bool | np.bool_]
    written: Callable[[Any], Any] = _same
    read: Callable[[Any], Any] = _same
    shown: Callable[[Any], Any] = _same
    older: Callable[[Mapping[str, Any], int], Any] | None = None


def _levels_fit(levels: Any, p: int) -> bool:
    if not isinstance(levels, list):
        return False
    for level in levels:
        summary = LevelSummary(**level)
        whole = (summary.level, summary.n_tests, summary.n_removed, summary.edges_left, summary.n_careful)
        require(all(type(v) is int and v >= 0 for v in whole), "levels", level)
        require(type(summary.seconds) in (int, float) and math.isfinite(summary.seconds), "levels", level)
        require(all(type(v) is int for v in (summary.n_made, summary.n_bounds)), "levels", level)
    return True


def trace_fits(entries: Any, p: int) -> bool:
    """Whether these are entries of a trace on p variables; a ValueError or TypeError says which of them is not."""
    if not isinstance(entries, list):
        return False
    for entry in entries:
        a, b, kind, *variables = entry
        require(isinstance(kind, str), "trace", entry)
        require(all(type(v) is int and 0 <= v < p for v in (a, b, *variables)), "trace", entry)
    return True


def trace_entries(trace: Trace) -> list[list[Any]]:
    """A trace for a file: each [x, y, rule, variable, ...]."""
    return [[*pair, *reason] for pair, reason in trace.items()]


def trace_from(entries: Sequence[Any]) -> Trace:
    return {(entry[0], entry[1]): tuple(entry[2:]) for entry in entries}


def _tiers_entries(tiers: Tiers | None) -> list[Any] | None:
    return None if tiers is None else [tiers.tier.tolist(), tiers.latent, tiers.lost.tolist()]


def _tiers_from(entries: Any) -> Tiers | None:
    if entries is None:
        return None
    tier, latent, lost = entries
    return Tiers(np.array(tier, np.int64), latent, np.array(lost, np.int32).reshape(-1, 2))


def _tiers_fit(entries: Any, p: int) -> bool | np.bool_:
    found = _tiers_from(entries)
    if found is None:
        return True
    fits = len(found.tier) == p and (found.tier >= NO_TIER).all() and ((found.lost >= 0) & (found.lost < p)).all()
    return bool(fits) and type(found.latent) is bool


def _labels_fit(labels: Any, p: int) -> bool:
    if not isinstance(labels, list) or not labels:
        raise ValueError("labels are missing")
    check_labels(labels, len(labels))
    return True


def _n_fits(n: Any, p: int) -> bool:
    if n is not None:
        check_n(n)
    return True


def _kind(value: Any) -> str:
    return type(value).__name__


#: The facts of a `PcAlgo`.
FACTS = (
    Fact("labels", _labels_fit, list, tuple),
    Fact("max_ord", lambda value, p: type(value) is int and value >= -1),
    Fact("call", _is(str), shown=_kind),
    Fact("engine", _is(str), shown=_kind),
    Fact("notes", _is(dict), shown=_kind),
    Fact("levels", _levels_fit, lambda levels: [dict(vars(level)) for level in levels],
         lambda levels: tuple(LevelSummary(**level) for level in levels), shown=_kind),
    Fact("trace", trace_fits, trace_entries, trace_from, shown=_kind),
    Fact("method", lambda value, p: value in WITHOUT_HIDDEN,
         older=lambda held, n_edges: skeleton_or_pc(held["call"])),
    Fact("orientation", lambda value, p: value in (None, *get_args(OrientationStatus)), older=orientation_in_texts),
    Fact("engine_name", _is(str), older=engine_in_text),
    Fact("n", _n_fits),
    Fact("alpha", lambda value, p: value is None or (type(value) in (int, float) and 0 <= value <= 1)),
    Fact("tiers", _tiers_fit, _tiers_entries, _tiers_from, older=lambda held, n_edges: None),
)  # fmt: skip
#: The facts that files and pickles of 0.2.0 may lack.
NEW_FACTS = tuple(fact.name for fact in FACTS if fact.older is not None)


def facts_of(result: Any) -> dict[str, Any]:
    """The facts of a `PcAlgo`, for a file."""
    return {fact.name: fact.written(getattr(result, fact.name)) for fact in FACTS}


def check_facts(meta: Mapping[str, Any]) -> None:
    """Raise ValueError, TypeError or KeyError unless these facts of a file are of the right kind and range."""
    p = len(meta["labels"]) if isinstance(meta["labels"], list) else 0
    for fact in FACTS:
        if fact.older is None or fact.name in meta:
            value = meta[fact.name]
            require(fact.fits(value, p), fact.name, fact.shown(value))


def facts_from(meta: Mapping[str, Any], n_edges: int) -> dict[str, Any]:
    """The attributes of a `PcAlgo`, by name, from the facts of a file, which may be an older one."""
    there = {fact.name: fact.read(meta[fact.name]) for fact in FACTS if fact.name in meta}
    return there | older_facts(meta, n_edges)


def older_facts(held: Mapping[str, Any], n_edges: int) -> dict[str, Any]:
    """The attributes that an older file or pickle does not have, from those that it `held`."""
    lacking = (fact for fact in FACTS if fact.name not in held)
    return {fact.name: fact.read(fact.older(held, n_edges)) for fact in lacking if fact.older is not None}
