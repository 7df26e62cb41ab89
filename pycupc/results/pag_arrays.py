"""A `PagAlgo` as arrays: for R the answer's arrays, for a file its skeleton's, with more arrays and metadata.

`schema.PAG` has the rows. The metadata have "pag": method, call, notes, trace, stage, pdsep, n_tests,
n_edgetests_pdsep, max_ord_pdsep.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.lists import Lists, starts
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import Ints, SparseGraph
from pycupc.results import schema
from pycupc.results import serialisation as flat
from pycupc.results.explanation import STAGES
from pycupc.results.methods import HIDDEN
from pycupc.results.schema import OF_PAG, Arrays, require
from pycupc.results.tests_after_levels import LaterTests

_GRAPH = schema.names((*schema.EDGES, *schema.SETS))
_NUMBERS = ("stage", "n_tests", "n_edgetests_pdsep", "max_ord_pdsep")


def file_arrays(
    graph: SparseGraph, sepset: SepSets, later: LaterTests, *, raised: bool = True
) -> dict[str, NDArray[Any]]:
    """The arrays that a `PagAlgo` adds to its skeleton's; without `raised` cells of pMax, those are empty."""
    final = flat.edge_arrays(graph) | flat.sepset_arrays(sepset, by_row=False)
    higher = later.largest_p() if raised else LaterTests().largest_p()
    cells = dict(zip(("x", "y", "len", "members"), later.cells(), strict=True))
    return (
        {OF_PAG + name: values for name, values in final.items()}
        | {f"later_{name}": values for name, values in cells.items()}
        | {"later_value": later.value, "later_p": later.p}
        | dict(zip(("raised_x", "raised_y", "raised_p"), higher, strict=True))
        | {"open_x": later.open_pairs[:, 0], "open_y": later.open_pairs[:, 1]}
        | _pdsep_arrays(later)
    )


def answer_arrays(graph: SparseGraph, sepset: SepSets, later: LaterTests) -> dict[str, NDArray[Any]]:
    """The arrays of the answer for R that are not about the levels: edges, sets, Possible-D-SEP, later removals."""
    counts = {"n_edgetests_pdsep": np.array(later.n_edgetests_pdsep, dtype=np.float64)}
    removed = {"later_x": later.x, "later_y": later.y}
    return flat.edge_arrays(graph) | flat.sepset_arrays(sepset) | _pdsep_arrays(later) | counts | removed


def _pdsep_arrays(later: LaterTests) -> dict[str, NDArray[Any]]:
    pdsep = Lists.of([members.tolist() for members in later.all_pdsep or ()])
    return {"pdsep_len": pdsep.sizes.astype(np.int32), "pdsep_members": pdsep.members}


def all_pdsep_from(arrays: Arrays) -> list[Ints]:
    """pcalg's allPdsep, from 0."""
    pdsep = _lists(arrays, "pdsep")
    return np.split(pdsep.members, pdsep.offsets[1:-1])


def of_levels(
    arrays: Arrays, p: int, *, as_found: bool | None, recomputed: bool
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays of the skeleton after the levels; of `LaterTests` x, y, S, p and value of the pairs removed later.

    `recomputed`: the p-values of the levels will be computed from the correlations.

    `as_found`: the sets are as the tests found them, which other arrays may hold, too ("found_x", ...). Then a set that
    is not empty and in both cells of its pair was found after the levels; the cell with the larger p-value gives the
    order of the pair in that test. Unless `as_found` is None, both cells of pMax get the larger p-value.
    """
    found = "found_" if "found_x" in arrays else "sepset_"
    x, y, size, members = (np.asarray(arrays[f"{found}{name}"]) for name in ("x", "y", "len", "members"))
    key, mirrored = x.astype(np.int64) * p + y, y.astype(np.int64) * p + x
    late = (size > 0) & np.isin(mirrored, key[size > 0]) & (bool(as_found) or found == "found_")
    once = late & (x < y)
    S = Lists(starts(size[once]), members[np.repeat(once, size)])
    low, high = x[once], y[once]
    ends = np.append(arrays["edge_low"], low), np.append(arrays["edge_high"], high)
    order = np.lexsort(ends[::-1])
    skeleton = SparseGraph.undirected(p, *(end[order] for end in ends))
    kept = {"x": x[~late], "y": y[~late], "len": size[~late], "members": members[np.repeat(~late, size)]}
    gaps = {f"gap_{end}": arrays[f"{flat.GAPS[found]}{end}"] for end in "xy"}
    others = {name: values for name, values in arrays.items() if not name.startswith("found_")}
    out = {**others, **gaps, **flat.edge_arrays(skeleton), **{f"sepset_{name}": part for name, part in kept.items()}}
    p_max = np.asarray(arrays["pMax"], dtype=np.float64).reshape(p, p, order="F")
    turned = p_max[high, low] > p_max[low, high]
    x, y = np.where(turned, high, low).astype(np.int32), np.where(turned, low, high).astype(np.int32)
    if recomputed:
        del out["pMax"]
        out["edge_p"] = np.full(len(skeleton), np.nan)
    elif as_found is not None:
        out["pMax"] = np.maximum(p_max, p_max.T).ravel()
    return out, {"x": x, "y": y, "S": S, "p": p_max[x, y], "value": np.full(len(x), np.nan)}


def later_meta(later: LaterTests) -> dict[str, Any]:
    """The metadata about the tests after the levels."""
    return {"pdsep": later.all_pdsep is not None, **{name: getattr(later, name) for name in _NUMBERS}}


def check_pag(meta: Mapping[str, Any], arrays: Arrays, p: int) -> None:
    """Raise ValueError, TypeError or KeyError unless these describe the PAG of a file."""
    for name, kind in {"call": str, "notes": dict, "trace": list, "pdsep": bool, "max_ord_pdsep": int}.items():
        require(isinstance(meta[name], kind), name, meta[name])
    require(meta["method"] in HIDDEN and meta["stage"] in STAGES, "method", (meta["method"], meta["stage"]))
    schema.trace_fits(meta["trace"], p)
    for name in ("n_tests", "n_edgetests_pdsep"):
        require(isinstance(meta[name], list) and all(type(v) is int and v >= 0 for v in meta[name]), name, meta[name])
    schema.check(schema.PAG, arrays, p, {"pdsep_len": p if meta["pdsep"] else 0})
    of_pag = {name: arrays[OF_PAG + name] for name in _GRAPH}
    flat.check_sets(of_pag, "sepset_", p, flat.check_edges(of_pag, p))
    for name in ("later", "pdsep"):
        total = int(arrays[f"{name}_len"].sum())
        require(total == len(arrays[f"{name}_members"]), f"{name}_len", total)


def graph_and_sets(arrays: Arrays, p: int) -> tuple[SparseGraph, SepSets]:
    of_pag = {name: arrays[OF_PAG + name] for name in _GRAPH}
    graph = flat.graph_from_arrays(of_pag, p)
    return graph, flat.sepset_from_arrays(of_pag, graph)


def later_from(meta: Mapping[str, Any], arrays: Arrays) -> LaterTests:
    return LaterTests(
        x=arrays["later_x"],
        y=arrays["later_y"],
        S=_lists(arrays, "later"),
        value=arrays["later_value"],
        p=arrays["later_p"],
        raised=(arrays["raised_x"], arrays["raised_y"], arrays["raised_p"]),
        open_pairs=np.column_stack([arrays["open_x"], arrays["open_y"]]),
        all_pdsep=all_pdsep_from(arrays) if meta["pdsep"] else None,
        **{name: meta[name] for name in _NUMBERS},
    )


def _lists(arrays: Arrays, name: str) -> Lists:
    return Lists(starts(arrays[f"{name}_len"]), arrays[f"{name}_members"])
