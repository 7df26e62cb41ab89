"""A picture as shapes, for programs that draw themselves: boxes or dots with names, and lines with marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.drawing.canvas import EDGE_STYLES, Floats, short
from pycupc.graph.drawing.draw import MAX_LABELLED, Variables, describe, is_labelled, look_of
from pycupc.graph.drawing.labelled import box_sizes, in_layers
from pycupc.graph.drawing.look import Look
from pycupc.graph.drawing.network import HUBS, MAX_NAMED, place_dots
from pycupc.graph.drawing.routes import Routes
from pycupc.graph.sparse import KINDS, SparseGraph

#: Most variables and edges of a picture of shapes.
MAX_DOTS, MAX_LINES = 3_000, 9_000


@dataclass(frozen=True)
class Shapes:
    """Texts, and arrays of numbers, of which lengths are in inches; r_wrapper/R/plot.R draws them.

    `points` holds x and y in turn of the points of all lines, `length` the number of points of each; a mark is 1 for a
    circle, 2 for an arrowhead, 3 for nothing; a dot without a name has the name "".
    """

    texts: dict[str, Any]
    numbers: dict[str, NDArray[Any]]


def shapes(
    graph: SparseGraph, labels: Sequence[str], *, around: Variables | None = None, radius: int = 2, **options: Any
) -> Shapes:
    """The shapes of a picture; arguments and errors as of `plot`, and ValueError of more than 3,000 variables."""
    graph, names, look, heading = look_of(graph, labels, around, radius, MAX_LABELLED, options)
    title = "\n".join([heading] * bool(heading) + [describe(graph)])
    degree = graph.degrees()
    shown = degree > 0
    shown[list(look.centres)] = True
    nodes = np.flatnonzero(shown)
    alone = [short(names[v]) for v in np.flatnonzero(~shown).tolist()]
    boxes = is_labelled(graph, len(nodes))
    if look.tier is not None and not boxes:
        raise ValueError(f"tiers are drawn as rows of at most {MAX_LABELLED} variables, got {len(nodes):,}")
    if len(nodes) > MAX_DOTS or len(graph) > MAX_LINES:
        most = f"a picture holds at most {MAX_DOTS:,} variables and {MAX_LINES:,} edges"
        raise ValueError(f"{most}, got {len(nodes):,} and {len(graph):,}: choose some with around")
    look = look.part(nodes, np.arange(len(graph)))
    drawn, texts = graph.subgraph(nodes), [short(names[v]) for v in nodes.tolist()]
    xy, sizes, lines = _placed(drawn, texts, look, boxes=boxes)
    if not boxes and drawn.p > MAX_NAMED:
        named = set(np.argsort(-drawn.degrees(), kind="stable")[:HUBS].tolist())
        texts = [text if v in named else "" for v, text in enumerate(texts)]
    facts = {"title": title, "form": "boxes" if boxes else "dots", "names": texts, "alone": alone}
    of_edges, numbers = _edges(drawn, graph, look)
    numbers |= {"x": xy[:, 0], "y": xy[:, 1], "width": sizes[:, 0], "height": sizes[:, 1]}
    numbers["points"] = np.concatenate([np.zeros((0, 2)), *lines]).reshape(-1)
    numbers["length"] = np.array([len(line) for line in lines], dtype=np.float64)
    return Shapes(facts | _variables(drawn, look) | of_edges, numbers)


def _placed(
    graph: SparseGraph, texts: Sequence[str], look: Look, *, boxes: bool
) -> tuple[Floats, Floats, list[Floats]]:
    """Centres and sizes of the boxes or dots, and the points of all lines."""
    tail, head, _ = graph.edge_list()
    ends = list(zip(tail.tolist(), head.tolist(), strict=True))
    if boxes:
        sizes = box_sizes(texts)
        xy = in_layers(graph, sizes, look)
        routes = Routes(xy, sizes)
        return xy, sizes, [routes.curve(u, v) for u, v in ends]
    xy, dot = place_dots(graph)
    return xy, np.repeat(2 * dot[:, None], 2, axis=1), [_between(xy[u], xy[v], dot[u], dot[v]) for u, v in ends]


def _variables(graph: SparseGraph, look: Look) -> dict[str, Any]:
    """The colours of the variables and of the groups, and the positions, from 1, of the highlighted variables."""
    styles, groups = [look.style(v) for v in range(graph.p)], look.groups_there()
    return {
        "fill": ["#f3f6f9" if style is None else style.fill for style in styles],
        "line": ["#5b6b7a" if style is None else style.line for style in styles],
        "chosen": [v + 1 for v in look.centres],
        "groups": [name for name, _ in groups],
        "group_fill": [style.fill for _, style in groups],
        "group_line": [style.line for _, style in groups],
    }


def _edges(drawn: SparseGraph, graph: SparseGraph, look: Look) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The colours, marks and forms of the edges, and of the kinds of edges."""
    kind = drawn.edge_list()[2].tolist()
    there = [name for name, n in graph.counts().items() if n]
    texts = {
        "kinds": there,
        "kind_colour": [EDGE_STYLES[name].color for name in there],
        "colours": [EDGE_STYLES[name].color for name in kind],
    }
    marks = np.array([KINDS[name] for name in kind], dtype=np.float64).reshape(-1, 2)
    numbers = {
        "tail_mark": marks[:, 0],
        "head_mark": marks[:, 1],
        "line_width": np.array([EDGE_STYLES[name].width for name in kind], dtype=np.float64),
        "dashed": np.array([EDGE_STYLES[name].dashes != "solid" for name in kind], dtype=np.float64),
        "on_path": np.zeros(len(drawn)) if look.on_path is None else look.on_path.astype(np.float64),
        "kind_mark": np.array([KINDS[name] for name in there], dtype=np.float64).reshape(-1),
        "kind_dashed": np.array([EDGE_STYLES[name].dashes != "solid" for name in there], dtype=np.float64),
    }
    return texts, numbers


def _between(start: Floats, end: Floats, before: float, after: float) -> Floats:
    """The line from the outline of one dot to the outline of the other."""
    step = (end - start) / max(float(np.hypot(*(end - start))), 1e-9)
    return np.array([start + before * step, end - after * step])
