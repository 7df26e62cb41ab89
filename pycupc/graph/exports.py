"""Exports of a graph for other programs: pure functions of a `SparseGraph` and its labels.

The direction of edges in adjacency matrices is a frequent source of errors, so every function states which way its
edges point.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import ARROW, BIDIRECTED, CIRCLE, DIRECTED, KINDS, TAIL, UNDIRECTED, SparseGraph
from pycupc.system.extras import data_frame, needed
from pycupc.system.log import distinct, printable

if TYPE_CHECKING:
    import networkx
    import pandas as pd

#: Further columns of an edge table, in the order of `SparseGraph.edge_list`.
Attributes = Mapping[str, NDArray[Any]]

PCALG_AMAT = "[i, j] = 1 and [j, i] = 0: j --> i; both 1: i --- j; both 2: i <-> j (column to row, pcalg's amat.cpdag)"
EDGE_LIST = "from --> to where type is directed; undirected and bidirected edges are listed once, order without meaning"
BOTH_WAYS = "source --> target where type is directed; an undirected or bidirected edge is stored as two arcs"

#: What a convention says in addition where a graph has circles.
CIRCLES = "; partially directed: from o-> to; partially undirected: from o-- to; nondirected: o-o, order as above"
PAG_AMAT = "[i, j] is the mark at j of the edge i - j: 0 no edge, 1 circle, 2 arrowhead, 3 tail (pcalg's amat.pag)"

_QUOTED = re.compile('[",\r\n]')
_PLAIN = re.compile("[\\w .-]*")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _names(graph: SparseGraph, labels: Sequence[str]) -> list[str]:
    names = [str(label) for label in labels]
    if len(names) != graph.p:
        raise ValueError(f"labels must name the {graph.p} variables of the graph, got {len(names)} labels")
    return names


def convention(graph: SparseGraph, directions: str) -> str:
    """How to read the edges of `graph`: `directions`, and what circles mean if it has some."""
    return directions + CIRCLES * (len(graph.counts()) > 3)


def with_labels(matrix: NDArray[np.int8], graph: SparseGraph, labels: Sequence[str]) -> pd.DataFrame:
    """A matrix (p, p) of `graph` with the labels of its rows and columns."""
    names = _names(graph, labels)
    return data_frame(matrix, index=names, columns=names)


def edges(graph: SparseGraph, labels: Sequence[str], attributes: Attributes | None = None) -> pd.DataFrame:
    """The table of `edge_columns`."""
    return data_frame(edge_columns(graph, labels, attributes))


def edge_columns(
    graph: SparseGraph, labels: Sequence[str], attributes: Attributes | None = None
) -> dict[str, NDArray[Any]]:
    """Each edge once, as `SparseGraph.edge_list`: from, to (from --> to if directed), type, then the `attributes`."""
    tail, head, kind = graph.edge_list()
    names = np.array(_names(graph, labels), dtype=object)
    table = {"from": names[tail], "to": names[head], "type": kind.astype(object)}
    return {**table, **_aligned(attributes, len(tail))}


def csv(columns: Mapping[str, NDArray[Any]]) -> str:
    """Columns as CSV text, as pandas would write it: floats with all their digits, an empty cell for NaN."""
    cells = zip(*map(_cells, columns.values()), strict=True)
    return "\n".join(map(",".join, [_cells(np.array([*columns], dtype=object)), *cells])) + "\n"


def _cells(values: NDArray[Any]) -> list[str]:
    if values.dtype.kind == "f":
        return ["" if text == "nan" else text for text in _digits(values)]
    texts = list(map(str, values.tolist()))
    if values.dtype.kind in "iub" or not _QUOTED.search("".join(texts)):
        return texts
    return ['"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text for text in texts]


def _digits(values: NDArray[Any]) -> list[str]:
    """Each number as the shortest text that is read back as the same float64."""
    return list(map(repr, values.astype(np.float64).tolist()))


def amat_csv(graph: SparseGraph, labels: Sequence[str], *, pag: bool = False) -> str:
    """pcalg's amat.cpdag, or its amat.pag, as CSV text."""
    names = np.array(["", *_names(graph, labels)], dtype=object)
    columns = graph.amat_pag().T if pag else graph.dense()  # amat.cpdag is the transpose of the graph matrix
    _, _, body = csv({"": names[1:], **dict(zip(map(str, range(graph.p)), columns, strict=True))}).partition("\n")
    return ",".join(_cells(names)) + "\n" + body


def _aligned(attributes: Attributes | None, m: int) -> dict[str, NDArray[Any]]:
    out = {}
    for name, values in (attributes or {}).items():
        values = np.asarray(values)
        if values.shape != (m,):
            raise ValueError(
                f"attribute {name!r} must have one value for each of the {m} edges, got shape {values.shape}"
            )
        out[name] = values
    return out


def to_networkx(graph: SparseGraph, labels: Sequence[str], attributes: Attributes | None = None) -> networkx.DiGraph:
    """``networkx.DiGraph`` on the labels; the edge attribute ``type`` tells the kinds apart.

    u --> v where type is "directed"; "partially directed" (u o-> v) and "partially undirected" (u o-- v) are one arc as
    well. An edge with the same mark at both ends is stored as two arcs, u to v and v to u, both with its type. Needs
    networkx (extra ``plot``).
    """
    nx = needed("networkx", "to_networkx()", "plot")
    names = _names(graph, labels)
    columns = {"type": graph.edge_list()[2], **_aligned(attributes, len(graph))}
    data = {name: values.tolist() for name, values in columns.items()}
    out: networkx.DiGraph = nx.DiGraph(convention=convention(graph, BOTH_WAYS))
    out.add_nodes_from(names)
    for u, v, k in arcs_of(graph):
        out.add_edge(names[u], names[v], **{name: values[k] for name, values in data.items()})
    return out


def arcs_of(graph: SparseGraph) -> Iterator[tuple[int, int, int]]:
    """Yield (u, v, number of the edge): two arcs for an edge with the same mark at both ends, one for the others."""
    tail, head, _ = graph.edge_list()
    both_ways = (graph.low_mark == graph.high_mark).tolist()
    for k, (u, v, twice) in enumerate(zip(tail.tolist(), head.tolist(), both_ways, strict=True)):
        yield u, v, k
        if twice:
            yield v, u, k


def to_graphml(graph: SparseGraph, labels: Sequence[str], attributes: Attributes | None = None) -> str:
    """GraphML text: source --> target where ``type`` is "directed".

    The arcs are those of `to_networkx`, because common readers (networkx, igraph) refuse or ignore files that mix
    directed and undirected edges. The label is the node's attribute ``label``.
    """
    names = _names(graph, labels)
    columns = _aligned(attributes, len(graph))
    kinds = {name: "double" if values.dtype.kind in "fiub" else "string" for name, values in columns.items()}
    keys = ['  <key id="label" for="node" attr.name="label" attr.type="string"/>']
    keys += ['  <key id="type" for="edge" attr.name="type" attr.type="string"/>']
    for k, (name, type_) in enumerate(kinds.items()):
        keys.append(f'  <key id="a{k}" for="edge" attr.name="{_xml([name])[0]}" attr.type="{type_}"/>')
    about = convention(graph, BOTH_WAYS).replace("-->", "to").replace("--", "-")  # no two hyphens in an XML comment
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<!-- pycupc: {about} -->",
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        *keys,
        '  <graph edgedefault="directed">',
    ]
    shown = _xml(distinct(names, _without_controls))
    lines += [f'    <node id="n{i}"><data key="label">{label}</data></node>' for i, label in enumerate(shown)]
    texts = [_digits(values) if kinds[name] == "double" else _xml(values.tolist()) for name, values in columns.items()]
    form = '<data key="type">%s</data>' + "".join(f'<data key="a{k}">%s</data>' for k in range(len(texts)))
    data = [form % row for row in zip(graph.edge_list()[2].tolist(), *texts, strict=True)]
    lines += [f'    <edge source="n{u}" target="n{v}">{data[k]}</edge>' for u, v, k in arcs_of(graph)]
    lines += ["  </graph>", "</graphml>"]
    return "\n".join(lines) + "\n"


def _xml(values: Sequence[object]) -> list[str]:
    texts = list(map(str, values))
    if _PLAIN.fullmatch("".join(texts)):
        return texts
    return [text if _PLAIN.fullmatch(text) else _escaped(text) for text in texts]


def _without_controls(text: str) -> str:
    """`text` with a question mark for each character that XML does not allow."""
    return _NOT_XML.sub("?", text)


def _escaped(text: str) -> str:
    return html.escape(_without_controls(text)).replace("\r", "&#13;")  # which readers would turn into a new line


_DOT_ENDS = {CIRCLE: "odot", ARROW: "normal", TAIL: "none"}
#: The attributes of each kind of edge in DOT.
_DOT_STYLES = {
    kind: f" [dir=both, arrowtail={_DOT_ENDS[first]}, arrowhead={_DOT_ENDS[second]}]"
    for kind, (first, second) in KINDS.items()
} | {DIRECTED: "", UNDIRECTED: " [dir=none, style=dashed]", BIDIRECTED: " [dir=both, penwidth=2]"}


def to_dot(graph: SparseGraph, labels: Sequence[str]) -> str:
    """Graphviz DOT text: ``a -> b`` for a --> b, ``dir=none`` for undirected, ``dir=both`` for bidirected edges.

    Edges with circles have ``arrowtail`` and ``arrowhead``, of which ``odot`` is a circle.
    """
    names = _names(graph, labels)
    escaped = [label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for label in names]
    quoted = [f'"{label}"' for label in distinct(escaped, printable)]
    lines = [f"// {convention(graph, EDGE_LIST)}", "digraph pycupc {", "  node [shape=box, style=rounded];"]
    lines += [f"  {name};" for name in quoted]
    edges = zip(*(values.tolist() for values in graph.edge_list()), strict=True)
    lines += [f"  {quoted[u]} -> {quoted[v]}{_DOT_STYLES[kind]};" for u, v, kind in edges]
    return "\n".join(lines) + "\n}\n"


def to_json(graph: SparseGraph, labels: Sequence[str], attributes: Attributes | None = None) -> str:
    """JSON text: nodes and edges, ``convention`` says how to read an edge. A number that is not finite becomes null."""
    names, columns = _names(graph, labels), edge_columns(graph, labels, attributes)
    for name, values in columns.items():
        if values.dtype.kind == "f":
            columns[name] = np.where(np.isfinite(values), values, None)
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    edges = [dict(zip(columns, row, strict=True)) for row in rows]
    about = {"format": "pycupc graph, version 1", "convention": convention(graph, EDGE_LIST)}
    parts = {**about, "nodes": names, "edges": edges}
    return json.dumps(parts, separators=(",\n", ": "), ensure_ascii=False, allow_nan=False) + "\n"
