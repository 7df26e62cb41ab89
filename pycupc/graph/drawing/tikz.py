"""The picture of a small graph as TikZ, for LaTeX: the boxes and edges of the drawing, as text that can be edited."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from pycupc.graph.drawing.canvas import EDGE_STYLES
from pycupc.graph.drawing.labelled import box_sizes, in_layers
from pycupc.graph.drawing.look import GROUP_STYLES, GroupStyle, Look
from pycupc.graph.drawing.routes import Routes
from pycupc.graph.sparse import ARROW, CIRCLE, KINDS, TAIL, UNDIRECTED, SparseGraph
from pycupc.system.text import printable

#: Most variables with an edge, and most edges, of a picture.
MAX_VARIABLES, MAX_EDGES = 60, 180

_TIPS = {ARROW: "{Stealth[length=2.6mm,width=2mm]}", CIRCLE: "{Circle[open,length=2mm]}", TAIL: ""}
_SPECIAL = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
_CORNERS = {"round": "rounded corners=2mm", "square": "sharp corners", "pill": "rounded corners=3.3mm"}
_CORNERS["cut"] = "chamfered rectangle, chamfered rectangle xsep=1.5mm, chamfered rectangle ysep=1.5mm"


def too_many(graph: SparseGraph) -> str | None:
    """Why a graph has no picture as TikZ; None if it has one."""
    p = int((graph.degrees() > 0).sum())
    if p <= MAX_VARIABLES and len(graph) <= MAX_EDGES:
        return None
    most = f"TikZ holds at most {MAX_VARIABLES} variables with an edge and {MAX_EDGES} edges"
    return f"{most}, got {p:,} and {len(graph):,}"


def tikz(graph: SparseGraph, labels: Sequence[str], look: Look | None = None) -> str:
    """A tikzpicture, with the groups, tiers and paths of a `look`; ValueError for a graph that is too large."""
    if (reason := too_many(graph)) is not None:
        raise ValueError(f"{reason}: draw a part of the graph")
    look = Look() if look is None else look
    nodes = np.flatnonzero(graph.degrees())
    drawn, look = graph.subgraph(nodes), look.part(nodes, np.arange(len(graph)))
    names = [labels[v] for v in nodes.tolist()]
    sizes = box_sizes(names)
    xy = in_layers(drawn, sizes, look)
    groups = {style: f"group{k + 1}" for k, style in enumerate(GROUP_STYLES)}
    lines = [
        r"% needs \usetikzlibrary{arrows.meta,shapes.misc}",
        r"\begin{tikzpicture}[x=1in, y=1in,",
        r"  named/.style={draw, rounded corners=2mm, inner sep=1.2mm, minimum height=0.27in, font=\sffamily\small},",
        *(f"  {_style(kind)}/.style={{{_look_of(kind)}}}," for kind, n in graph.counts().items() if n),
        *(f"  {groups[style]}/.style={{{_form(style)}}}, % {_plain(name)}" for name, style in look.groups_there()),
        r"  on path/.style={preaction={draw, line width=2.5mm, -, solid, yellow!60!orange}}]",
    ]
    for v, ((x, y), name) in enumerate(zip(xy.tolist(), names, strict=True)):
        style = look.style(v)
        of_group = "" if style is None else f", {groups[style]}"
        lines.append(rf"  \node[named{of_group}] (v{v}) at ({x:.3f}, {y:.3f}) {{{_escaped(name)}}};")
    routes = Routes(xy, sizes)
    for k, (u, v, kind) in enumerate(zip(*(end.tolist() for end in drawn.edge_list()), strict=True)):
        marked = ", on path" if look.on_path is not None and look.on_path[k] else ""
        lines.append(_edge(routes, u, v, _style(kind) + marked))
    alone = [_escaped(label) for label, d in zip(labels, graph.degrees().tolist(), strict=True) if not d]
    if alone:
        low = float((xy - sizes / 2)[:, 1].min(initial=0.0)) - 0.3
        text = f"without an edge: {', '.join(alone)}"
        lines.append(
            rf"  \node[anchor=north west, font=\sffamily\footnotesize, text width=4in] at (0, {low:.3f}) {{{text}}};"
        )
    return "\n".join([*lines, r"\end{tikzpicture}"]) + "\n"


def _edge(routes: Routes, u: int, v: int, style: str) -> str:
    way = routes.way(u, v)
    if way.kind == "straight":
        return rf"  \draw[{style}] (v{u}) -- (v{v});"
    points = [f"({x:.3f}, {y:.3f})" for x, y in way.points.tolist()]
    if way.kind == "curve":
        return rf"  \draw[{style}] (v{u}) .. controls {points[0]} and {points[1]} .. (v{v});"
    return rf"  \draw[{style}, rounded corners=2mm] (v{u}) -- {' -- '.join(points)} -- (v{v});"


def _style(kind: str) -> str:
    return kind.replace(" ", "-")


def _look_of(kind: str) -> str:
    """The options of an edge of a kind: its ends, its width, its colour and dashes."""
    first, second = (_TIPS[mark] for mark in KINDS[kind])
    style = EDGE_STYLES[kind]
    dashes = ", dashed" if kind == UNDIRECTED else ""
    return f"{first}-{second}, line width={style.width:g}pt, draw={_colour(style.color)}{dashes}"


def _form(style: GroupStyle) -> str:
    return f"{_CORNERS[style.box]}, draw={_colour(style.line)}, fill={_colour(style.fill)}"


def _colour(code: str) -> str:
    red, green, blue = (int(code[k : k + 2], 16) for k in (1, 3, 5))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"


def _escaped(label: str) -> str:
    """A label as LaTeX's text."""
    return re.sub(r"[\\^~#$%&_{}]", lambda found: _SPECIAL.get(found[0], "\\" + found[0]), _plain(label))


def _plain(label: str) -> str:
    return printable(" ".join(label.split()))
