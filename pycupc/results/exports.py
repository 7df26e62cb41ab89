"""A graph in the forms other programs read: pure functions of the graph matrix and the labels.

The graph matrix is pcalg's ``as(fit@graph, "matrix")``, int8 (p, p):

    graph[i, j] = 1, graph[j, i] = 0    i --> j      directed
    graph[i, j] = 1, graph[j, i] = 1    i --- j      undirected
    graph[i, j] = 2, graph[j, i] = 2    i <-> j      bidirected (two colliders disagree)

Matrices of graphs are mixed up more often than anything else here, so every function says which way its edges point.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

if TYPE_CHECKING:
    import networkx
    import pandas as pd

DIRECTED, UNDIRECTED, BIDIRECTED = "directed", "undirected", "bidirected"

ROW_TO_COLUMN = "[i, j] = 1 and [j, i] = 0: i --> j; both 1: i --- j; both 2: i <-> j (row to column)"
PCALG_AMAT = "[i, j] = 1 and [j, i] = 0: j --> i; both 1: i --- j; both 2: i <-> j (column to row, pcalg's amat.cpdag)"
EDGE_LIST = "from --> to where type is directed; undirected and bidirected edges are listed once, order without meaning"
BOTH_WAYS = "source --> target where type is directed; an undirected or bidirected edge is stored as two arcs"

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _checked(graph: np.ndarray, labels: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    graph = np.asarray(graph)
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1]:
        raise ValueError(f"graph must be a square matrix, got shape {graph.shape}")
    labels = [str(label) for label in labels]
    if len(labels) != len(graph):
        raise ValueError(f"labels must name the {len(graph)} variables of the graph, got {len(labels)} labels")
    return graph, labels


def edge_list(graph: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """List the edges of a graph, each once.

    Parameters
    ----------
    graph : int8 (p, p)
        Row to column, as at the head of this module.

    Returns
    -------
    tail, head : int64 (m,)
        Ends of each edge, 0-based; tail --> head where directed, else tail < head.
    kind : str (m,)
        "directed", "undirected" or "bidirected".
        Edges are sorted by (smaller end, larger end), the order of ``Engine.kept``.

    Raises
    ------
    ValueError
        If a pair of cells is none of the three forms.
    """
    graph = np.asarray(graph)
    low, high = np.nonzero(np.triu((graph != 0) | (graph.T != 0), 1))
    forward, backward = graph[low, high], graph[high, low]
    kind = np.full(len(low), DIRECTED, dtype="<U10")
    kind[(forward == 1) & (backward == 1)] = UNDIRECTED
    kind[(forward == 2) & (backward == 2)] = BIDIRECTED
    wrong = (kind == DIRECTED) & ((forward + backward != 1) | (forward * backward != 0))
    if wrong.any():
        k = int(np.argmax(wrong))
        i, j = int(low[k]), int(high[k])
        raise ValueError(
            f"graph[{i}, {j}] = {int(forward[k])} with graph[{j}, {i}] = {int(backward[k])} is no edge: "
            "expected 1 and 0, 0 and 1, 1 and 1, or 2 and 2"
        )
    flip = (kind == DIRECTED) & (backward == 1)
    return np.where(flip, high, low), np.where(flip, low, high), kind


def row_to_column(graph: np.ndarray, labels: Sequence[str]) -> pd.DataFrame:
    """Adjacency matrix, row to column: [i, j] = 1 and [j, i] = 0 means i --> j. What R's ``as(g, "matrix")`` holds."""
    import pandas as pd

    graph, labels = _checked(graph, labels)
    return pd.DataFrame(graph.astype(np.int8), index=labels, columns=labels)


def amat(graph: np.ndarray, labels: Sequence[str]) -> pd.DataFrame:
    """Adjacency matrix in pcalg's coding ``amat.cpdag``: [i, j] = 1 and [j, i] = 0 means **j --> i**.

    This is what R's ``as(fit, "amat")`` gives: the transpose of `row_to_column`.
    """
    return row_to_column(np.asarray(graph).T, labels)


def edges(graph: np.ndarray, labels: Sequence[str], attributes: Mapping[str, np.ndarray] | None = None) -> pd.DataFrame:
    """Table of edges: columns from, to, type, then one a given attribute.

    Parameters
    ----------
    graph : int8 (p, p)
    labels : sequence of p str
    attributes : mapping of str to array (m,), optional
        More columns, in the order of `edge_list`.

    Returns
    -------
    pandas.DataFrame
        from --> to where type is "directed"; "undirected" and "bidirected" edges are listed once.
    """
    import pandas as pd

    graph, labels = _checked(graph, labels)
    tail, head, kind = edge_list(graph)
    names = np.array(labels, dtype=object)
    table = {"from": names[tail], "to": names[head], "type": kind.astype(object)}
    return pd.DataFrame({**table, **_aligned(attributes, len(tail))})


def _aligned(attributes: Mapping[str, np.ndarray] | None, m: int) -> dict[str, np.ndarray]:
    out = {}
    for name, values in (attributes or {}).items():
        values = np.asarray(values)
        if values.shape != (m,):
            raise ValueError(
                f"attribute {name!r} must have one value for each of the {m} edges, got shape {values.shape}"
            )
        out[name] = values
    return out


def to_networkx(
    graph: np.ndarray, labels: Sequence[str], attributes: Mapping[str, np.ndarray] | None = None
) -> networkx.DiGraph:
    """``networkx.DiGraph`` on the labels; the edge attribute ``type`` tells the three kinds apart.

    u --> v where type is "directed". An undirected or bidirected edge is stored as two arcs, u to v and v to u, both
    with that type. Needs networkx (extra ``plot``).
    """
    import networkx as nx

    graph, labels = _checked(graph, labels)
    out = nx.DiGraph(convention=BOTH_WAYS)
    out.add_nodes_from(labels)
    for u, v, data in _arcs(graph, attributes):
        out.add_edge(labels[u], labels[v], **data)
    return out


def _arcs(graph: np.ndarray, attributes: Mapping[str, np.ndarray] | None):
    """Yield (u, v, data): one arc for a directed edge, two for the others."""
    tail, head, kind = edge_list(graph)
    columns = {name: values.tolist() for name, values in _aligned(attributes, len(tail)).items()}
    for k, (u, v, type_) in enumerate(zip(tail.tolist(), head.tolist(), kind.tolist(), strict=True)):
        data = {"type": type_, **{name: values[k] for name, values in columns.items()}}
        yield u, v, data
        if type_ != DIRECTED:
            yield v, u, data


def to_graphml(graph: np.ndarray, labels: Sequence[str], attributes: Mapping[str, np.ndarray] | None = None) -> str:
    """GraphML text: source --> target where ``type`` is "directed".

    An undirected or bidirected edge is stored as two arcs of that type, because common readers (networkx, igraph)
    refuse or ignore files that mix directed and undirected edges. The label is the node's attribute ``label``.
    """
    graph, labels = _checked(graph, labels)
    columns = _aligned(attributes, len(edge_list(graph)[0]))
    kinds = {name: "double" if values.dtype.kind in "fiub" else "string" for name, values in columns.items()}
    keys = ['  <key id="label" for="node" attr.name="label" attr.type="string"/>']
    keys += ['  <key id="type" for="edge" attr.name="type" attr.type="string"/>']
    for k, (name, kind) in enumerate(kinds.items()):
        keys.append(f'  <key id="a{k}" for="edge" attr.name={quoteattr(name)} attr.type="{kind}"/>')
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<!-- pycupc: {_comment(BOTH_WAYS)} -->",
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *keys,
        '  <graph edgedefault="directed">',
    ]
    for i, label in enumerate(labels):
        lines.append(f'    <node id="n{i}"><data key="label">{_xml(label)}</data></node>')
    for u, v, data in _arcs(graph, attributes):
        told = (repr(float(data[name])) if kind == "double" else _xml(data[name]) for name, kind in kinds.items())
        more = "".join(f'<data key="a{k}">{value}</data>' for k, value in enumerate(told))
        lines.append(f'    <edge source="n{u}" target="n{v}"><data key="type">{data["type"]}</data>{more}</edge>')
    lines += ["  </graph>", "</graphml>"]
    return "\n".join(lines) + "\n"


def _xml(text: object) -> str:
    return escape(_NOT_XML.sub("?", str(text)))


def _comment(text: str) -> str:
    """`text` as it may stand in an XML comment, which must not hold two hyphens in a row."""
    return text.replace("-->", "to").replace("--", "-")


def to_dot(graph: np.ndarray, labels: Sequence[str]) -> str:
    """Graphviz DOT text: ``a -> b`` for a --> b, ``dir=none`` for undirected, ``dir=both`` for bidirected edges."""
    graph, labels = _checked(graph, labels)
    names = ['"' + label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"' for label in labels]
    style = {DIRECTED: "", UNDIRECTED: " [dir=none, style=dashed]", BIDIRECTED: " [dir=both, penwidth=2]"}
    lines = [f"// {EDGE_LIST}", "digraph pycupc {", "  node [shape=box, style=rounded];"]
    lines += [f"  {name};" for name in names]
    tail, head, kind = edge_list(graph)
    lines += [f"  {names[u]} -> {names[v]}{style[k]};" for u, v, k in zip(tail, head, kind.tolist(), strict=True)]
    return "\n".join(lines) + "\n}\n"


def to_dict(
    graph: np.ndarray, labels: Sequence[str], attributes: Mapping[str, np.ndarray] | None = None
) -> dict[str, Any]:
    """Plain dict of nodes and edges, ready for JSON; ``convention`` says how to read an edge."""
    graph, labels = _checked(graph, labels)
    tail, head, kind = edge_list(graph)
    rows = [
        {"from": labels[u], "to": labels[v], "type": k}
        for u, v, k in zip(tail.tolist(), head.tolist(), kind.tolist(), strict=True)
    ]
    for name, values in _aligned(attributes, len(tail)).items():
        for row, value in zip(rows, values.tolist(), strict=True):
            row[name] = value if not isinstance(value, float) or np.isfinite(value) else None
    return {"format": "pycupc graph, version 1", "convention": EDGE_LIST, "nodes": labels, "edges": rows}


def to_json(graph: np.ndarray, labels: Sequence[str], attributes: Mapping[str, np.ndarray] | None = None) -> str:
    """`to_dict` as JSON text; a number that is not finite becomes null."""
    return json.dumps(to_dict(graph, labels, attributes), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
