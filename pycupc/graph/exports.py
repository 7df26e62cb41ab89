"""Tables of a graph, and its exports for other programs and packages.

The direction of edges in adjacency matrices is a frequent source of errors, so every export states which way its edges
point. The packages are imported when a graph is handed over to them, and are not needed to read one of theirs.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import writer
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import ARROW, BIDIRECTED, CIRCLE, DIRECTED, KINDS, TAIL, UNDIRECTED, SparseGraph
from pycupc.system.extras import data_frame, needed
from pycupc.system.shown import OfferedNames
from pycupc.system.text import counted, distinct, printable

if TYPE_CHECKING:
    import networkx
    import pandas as pd

PCALG_AMAT = "[i, j] = 1 and [j, i] = 0: j --> i; both 1: i --- j; both 2: i <-> j (column to row, pcalg's amat.cpdag)"
EDGE_LIST = "from --> to where type is directed; undirected and bidirected edges are listed once, order without meaning"
BOTH_WAYS = "source --> target where type is directed; an undirected or bidirected edge is stored as two arcs"

#: What a convention says in addition where a graph has circles.
CIRCLES = "; partially directed: from o-> to; partially undirected: from o-- to; nondirected: o-o, order as above"
PAG_AMAT = "[i, j] is the mark at j of the edge i - j: 0 no edge, 1 circle, 2 arrowhead, 3 tail (pcalg's amat.pag)"

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: The name of each mark in causal-learn's Endpoint.
ENDPOINTS = {"CIRCLE": CIRCLE, "ARROW": ARROW, "TAIL": TAIL}

_DOT_ENDS = {CIRCLE: "odot", ARROW: "normal", TAIL: "none"}
#: The attributes of each kind of edge in DOT.
_DOT_STYLES = {
    kind: f" [dir=both, arrowtail={_DOT_ENDS[first]}, arrowhead={_DOT_ENDS[second]}]"
    for kind, (first, second) in KINDS.items()
} | {DIRECTED: "", UNDIRECTED: " [dir=none, style=dashed]", BIDIRECTED: " [dir=both, penwidth=2]"}


@dataclass(kw_only=True, eq=False, repr=False)
class Exported(OfferedNames):
    """A graph on named variables, as other programs read it."""

    _OFFERED: ClassVar[Sequence[str]] = (
        *("to_networkx", "to_igraph", "to_causallearn", "to_pgmpy"),
        *("to_graphml", "to_dot", "to_json", "to_tikz"),
    )

    labels: tuple[str, ...]  # tuple of p str
    sparse_graph: SparseGraph  # the edges with their marks

    def edge_attributes(self) -> Mapping[str, NDArray[Any]]:
        """Attributes of each edge in tables and exports, in the order of `SparseGraph.edge_list`."""
        return {}

    def _names(self) -> list[str]:
        names, p = [str(label) for label in self.labels], self.sparse_graph.p
        if len(names) != p:
            raise ValueError(f"labels must name the {p} variables of the graph, got {len(names)} labels")
        return names

    def convention(self, directions: str) -> str:
        """How to read the edges: `directions`, and what circles mean if there are some."""
        return directions + CIRCLES * (len(self.sparse_graph.counts()) > 3)

    # -- tables -------------------------------------------------------------------------------------------------------

    def amat(self) -> pd.DataFrame:
        """pcalg's ``as(fit, "amat")``: amat[i, j] = 1 and amat[j, i] = 0 means j --> i (column to row).

        ValueError for a graph with circles, whose matrix is `amat_pag`.
        """
        return self._with_labels(self.sparse_graph.dense().T, coding="amat")

    def amat_pag(self) -> pd.DataFrame:
        """pcalg's amat.pag: [i, j] is the mark at j; 0 without an edge, 1 circle, 2 arrowhead, 3 tail."""
        return self._with_labels(self.sparse_graph.amat_pag(), coding="amat_pag")

    def matrix(self) -> pd.DataFrame:
        """`graph` with labels: [i, j] = 1 and [j, i] = 0 means i --> j (row to column)."""
        return self._with_labels(self.sparse_graph.dense())

    def _with_labels(self, matrix: NDArray[np.int8], **attrs: str) -> pd.DataFrame:
        names = self._names()
        out = data_frame(matrix, index=names, columns=names)
        out.attrs |= attrs
        return out

    def edges(self) -> pd.DataFrame:
        """Edge list: from, to, type (from --> to where directed), and pMax, r and what set the arrow."""
        return data_frame(self._edge_columns())

    def _edge_columns(self) -> dict[str, NDArray[Any]]:
        """The columns of `edges`."""
        tail, head, kind = self.sparse_graph.edge_list()
        names = np.array(self._names(), dtype=object)
        return {"from": names[tail], "to": names[head], "type": kind.astype(object), **self.edge_attributes()}

    def _amat_csv(self, *, pag: bool = False) -> str:
        """pcalg's amat.cpdag, or its amat.pag, as CSV text."""
        names = self._names()
        amat = self.sparse_graph.amat_pag() if pag else self.sparse_graph.dense().T
        rows = ([name, *row] for name, row in zip(names, amat.tolist(), strict=True))
        return csv_text([["", *names], *rows])

    # -- packages -----------------------------------------------------------------------------------------------------

    def to_networkx(self) -> networkx.DiGraph:
        """``networkx.DiGraph`` on the labels; the edge attribute ``type`` tells the kinds apart.

        u --> v where type is "directed"; "partially directed" (u o-> v) and "partially undirected" (u o-- v) are one
        arc as well. An edge with the same mark at both ends is stored as two arcs, u to v and v to u, both with its
        type. Needs networkx (extra ``plot``).
        """
        nx = needed("networkx", "to_networkx()", "plot")
        names, (_, _, *columns) = self._names(), self._edge_columns().items()
        data = {name: values.tolist() for name, values in columns}
        out: networkx.DiGraph = nx.DiGraph(convention=self.convention(BOTH_WAYS))
        out.add_nodes_from(names)
        for u, v, k in _arcs(self.sparse_graph):
            out.add_edge(names[u], names[v], **{name: values[k] for name, values in data.items()})
        return out

    def to_igraph(self) -> Any:
        """igraph.Graph with the arcs of `to_networkx`; the labels are the vertex attribute ``name``. Needs igraph."""
        import igraph

        arcs = list(_arcs(self.sparse_graph))
        columns = self._edge_columns()
        data = {name: values[[k for _, _, k in arcs]].tolist() for name, values in [*columns.items()][2:]}
        ends, names = [(u, v) for u, v, _ in arcs], {"name": list(map(str, self.labels))}
        return igraph.Graph(self.sparse_graph.p, ends, True, vertex_attrs=names, edge_attrs=data)

    def to_causallearn(self) -> Any:
        """causal-learn's GeneralGraph with the same mark at each end. Needs causal-learn."""
        from causallearn.graph.Edge import Edge
        from causallearn.graph.Endpoint import Endpoint
        from causallearn.graph.GeneralGraph import GeneralGraph
        from causallearn.graph.GraphNode import GraphNode

        point = {mark: Endpoint[name] for name, mark in ENDPOINTS.items()}
        nodes = [GraphNode(str(label)) for label in self.labels]
        out = GeneralGraph(nodes)
        graph = self.sparse_graph
        ends = (graph.low, graph.high, graph.low_mark, graph.high_mark)
        for x, y, at_x, at_y in zip(*(values.tolist() for values in ends), strict=True):
            edge = nodes[x], nodes[y], point[at_x], point[at_y]
            if (at_x, at_y) == (CIRCLE, TAIL):  # add_edge() of causal-learn 0.1.4 drops such an edge, not its reverse
                edge = nodes[y], nodes[x], point[at_y], point[at_x]
            out.add_edge(Edge(*edge))
        return out

    def to_pgmpy(self) -> Any:
        """pgmpy's PDAG; ValueError if there are other than directed and undirected edges. Needs pgmpy."""
        from pgmpy.base import PDAG

        others = {kind: n for kind, n in self.sparse_graph.counts().items() if n and kind not in (DIRECTED, UNDIRECTED)}
        if others:
            kind, n = next(iter(others.items()))
            raise ValueError(f"a PDAG has directed and undirected edges only, got {counted(n, f'{kind} edge')}")
        columns = self._edge_columns()
        ends = [*zip(columns["from"].tolist(), columns["to"].tolist(), strict=True)]
        directed = columns["type"] == DIRECTED
        out = PDAG(
            [end for end, arrow in zip(ends, directed, strict=True) if arrow],
            [end for end, arrow in zip(ends, directed, strict=True) if not arrow],
        )
        out.add_nodes_from(map(str, self.labels))
        return out

    # -- texts --------------------------------------------------------------------------------------------------------

    def to_graphml(self) -> str:
        """GraphML text: source --> target where ``type`` is "directed".

        The arcs are the same as in `to_networkx`, because common readers (networkx, igraph) refuse or ignore files that
        mix directed and undirected edges. The label is the node's attribute ``label``.
        """
        graph, columns = self.sparse_graph, self.edge_attributes()
        kinds = {name: "double" if values.dtype.kind in "fiub" else "string" for name, values in columns.items()}
        keys = ['  <key id="label" for="node" attr.name="label" attr.type="string"/>']
        keys += ['  <key id="type" for="edge" attr.name="type" attr.type="string"/>']
        for k, (name, type_) in enumerate(kinds.items()):
            keys.append(f'  <key id="a{k}" for="edge" attr.name="{_xml(name)}" attr.type="{type_}"/>')
        about = self.convention(BOTH_WAYS).replace("-->", "to").replace("--", "-")  # no two hyphens in an XML comment
        lines = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<!-- pycupc: {about} -->",
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
            *keys,
            '  <graph edgedefault="directed">',
        ]
        shown = map(_xml, distinct(self._names(), _without_controls))
        lines += [f'    <node id="n{i}"><data key="label">{label}</data></node>' for i, label in enumerate(shown)]
        texts = [_digits(a) if kinds[name] == "double" else map(_xml, a.tolist()) for name, a in columns.items()]
        form = '<data key="type">%s</data>' + "".join(f'<data key="a{k}">%s</data>' for k in range(len(texts)))
        data = [form % row for row in zip(graph.edge_list()[2].tolist(), *texts, strict=True)]
        lines += [f'    <edge source="n{u}" target="n{v}">{data[k]}</edge>' for u, v, k in _arcs(graph)]
        lines += ["  </graph>", "</graphml>"]
        return "\n".join(lines) + "\n"

    def to_dot(self) -> str:
        """Graphviz DOT text: ``a -> b`` for a --> b, ``dir=none`` for undirected, ``dir=both`` for bidirected edges.

        Edges with circles have ``arrowtail`` and ``arrowhead``, of which ``odot`` is a circle.
        """
        escaped = [label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for label in self._names()]
        quoted = [f'"{label}"' for label in distinct(escaped, printable)]
        lines = [f"// {self.convention(EDGE_LIST)}", "digraph pycupc {", "  node [shape=box, style=rounded];"]
        lines += [f"  {name};" for name in quoted]
        edges = zip(*(values.tolist() for values in self.sparse_graph.edge_list()), strict=True)
        lines += [f"  {quoted[u]} -> {quoted[v]}{_DOT_STYLES[kind]};" for u, v, kind in edges]
        return "\n".join(lines) + "\n}\n"

    def to_tikz(self, **options: Any) -> str:
        """A picture for LaTeX, as ``plot`` draws it, with its options `around`, `radius`, `groups`, `tiers`, `paths`.

        Needs ``\\usetikzlibrary{arrows.meta,shapes.misc}``. ValueError for more than 60 variables with an edge or 180
        edges.
        """
        from pycupc.graph.drawing import tikz_of

        return tikz_of(self.sparse_graph, self._names(), **options)

    def to_json(self) -> str:
        """JSON text: nodes and edges, ``convention`` says how to read an edge. Numbers that are not finite are null."""
        columns = self._edge_columns()
        for name, values in columns.items():
            if values.dtype.kind == "f":
                columns[name] = values.astype(object)
                columns[name][~np.isfinite(values)] = None
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        edges = [dict(zip(columns, row, strict=True)) for row in rows]
        about = {"format": "pycupc graph, version 1", "convention": self.convention(EDGE_LIST)}
        parts = {**about, "nodes": self._names(), "edges": edges}
        return json.dumps(parts, separators=(",\n", ": "), ensure_ascii=False, allow_nan=False) + "\n"


def csv(columns: Mapping[str, NDArray[Any]]) -> str:
    """Columns as CSV text, as pandas would write it: floats with all their digits, an empty cell for NaN."""
    every = columns.values()
    cells = ([t.removesuffix("nan") for t in _digits(a)] if a.dtype.kind == "f" else a.tolist() for a in every)
    return csv_text([[*columns], *zip(*cells, strict=True)])


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV text; its lines end with a line feed."""
    lines: list[str] = []
    out: Any = SimpleNamespace(write=lines.append)
    writer(out, lineterminator="\r\n").writerows(rows)  # which also quotes cells with a carriage return
    return "".join(f"{line[:-2]}\n" for line in lines)


def _digits(values: NDArray[Any]) -> list[str]:
    """Each number as the shortest text that is read back as the same float64."""
    return list(map(repr, values.astype(np.float64).tolist()))


def _arcs(graph: SparseGraph) -> Iterator[tuple[int, int, int]]:
    """Yield (u, v, number of the edge): two arcs for an edge with the same mark at both ends, one for the others."""
    tail, head, _ = graph.edge_list()
    both_ways = (graph.low_mark == graph.high_mark).tolist()
    for k, (u, v, twice) in enumerate(zip(tail.tolist(), head.tolist(), both_ways, strict=True)):
        yield u, v, k
        if twice:
            yield v, u, k


def _without_controls(text: str) -> str:
    """`text` with a question mark for each character that XML does not allow."""
    return _NOT_XML.sub("?", text)


def _xml(text: object) -> str:
    """As text of XML; a carriage return as a reference, which readers would turn into a new line."""
    return html.escape(_without_controls(str(text))).replace("\r", "&#13;")
