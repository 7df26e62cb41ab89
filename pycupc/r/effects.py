"""pcalg's functions for causal effects, called by R: `cu_ida`, `cu_idaFast`, `cu_jointIda`, `cu_adjustment`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.effects.adjustment import adjustment_set, is_adjustment_set
from pycupc.effects.ida import ida, ida_fast, joint_ida
from pycupc.graph.named import NamedGraph
from pycupc.graph.sparse import SparseGraph


def effects(sent: Mapping[str, NDArray[Any]], options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The values of `options["function"]`: "ida", "idaFast", "jointIda", or "adjustment", see `_adjustment`.

    `sent` holds C, float64 (p, p); `graph`, the graph matrix, int32, column by column, unless `all_pasets` are given;
    and `dags`, int32, row by row. `options` are `x`, `y`, lists of positions from 0; `labels`; and `arguments` of the
    function by name. Returns no values, and as arrays `values`, float64, the matrices of all y one after the other,
    each column by column, and `sizes`, the number of values of each y.
    """
    labels = tuple(map(str, options["labels"]))
    if options["function"] == "adjustment":
        return {}, {"values": _adjustment(sent["graph"].reshape(len(labels), -1, order="F"), labels, options)}
    C, p = sent["C"].reshape(len(labels), -1, order="F"), len(labels)
    arguments, y = dict(options["arguments"]), [int(v) for v in options["y"]]
    x = [int(v) for v in options["x"]]
    graph = None
    if "graph" in sent:
        dense = (sent["graph"].reshape(p, p, order="F") != 0).astype(np.int8)
        graph = NamedGraph(labels=labels, sparse_graph=SparseGraph.from_dense(dense))
    if options["function"] == "ida":
        if "dags" in sent:
            arguments["all_dags"] = sent["dags"].reshape(-1, p * p)
        found = ida(x, y, C, graph, **arguments)  # type: ignore[arg-type]
    elif options["function"] == "idaFast":
        found = [ida_fast(x[0], y, C, graph)]  # type: ignore[arg-type]
    else:
        if "all_pasets" in arguments:
            arguments["all_pasets"] = [
                [list(map(int, members)) for members in sets] for sets in arguments["all_pasets"]
            ]
        found = joint_ida(x, y, C, graph, **arguments)
    values = [np.asarray(matrix).ravel(order="F") for matrix in found]
    sizes = np.array([len(v) for v in values], dtype=np.float64)
    return {}, {"values": np.concatenate(values), "sizes": sizes}


def _adjustment(marks: NDArray[np.int32], labels: tuple[str, ...], options: Mapping[str, Any]) -> NDArray[np.float64]:
    """Positions of an adjustment set of this `kind`, from 0; with `z`, whether it is one: 0 or 1.

    `marks` are a graph matrix, or amat.pag where the `type` is "mag" or "pag".
    """
    read = SparseGraph.from_amat_pag if options["type"] in ("mag", "pag") else SparseGraph.from_dense
    graph = NamedGraph(labels=labels, sparse_graph=read(marks.astype(np.int8)))
    x, y, z = ([int(v) for v in options[name]] if name in options else None for name in ("x", "y", "z"))
    if z is None:
        found = adjustment_set(graph, x, y, options["kind"])  # type: ignore[arg-type]
        return np.array([labels.index(name) for name in found], dtype=np.float64)
    return np.array([is_adjustment_set(graph, x, y, z, options["type"], quirks=options["quirks"])], dtype=np.float64)  # type: ignore[arg-type]
