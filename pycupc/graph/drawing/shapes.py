"""A picture as shapes, for programs that draw themselves: boxes or dots with names, and lines with marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.drawing.canvas import EDGE_STYLES, short
from pycupc.graph.drawing.draw import MAX_LABELLED, Variables, describe, is_labelled, look_of
from pycupc.graph.drawing.labelled import box_sizes, in_layers
from pycupc.graph.drawing.network import MAX_NAMED, place_dots
from pycupc.graph.drawing.routes import Routes
from pycupc.graph.sparse import KINDS, SparseGraph

#: Variables that are named in a larger network.
HUBS = 24
#: Most variables and edges of a picture of shapes.
MAX_DOTS, MAX_LINES = 3_000, 9_000


@dataclass(frozen=True)
class Shapes:
    """Texts, and arrays of numbers; lengths are in inches.

    texts: `title`; `form`, "boxes" or "dots"; `names` of the variables, "" for a dot without; `fill` and `line`, the
    colour of each; `colours` of the edges; `alone`, the variables without an edge; `groups`, `group_fill`,
    `group_line`; `styles`, for each kind of edge there its name and colour, whether it is dashed, and its width.

    numbers: `x`, `y`, `width`, `height` of the boxes or dots; `points`, of all lines one after the other x and y in
    turn, `length` points each; `tail_mark` and `head_mark`, 1 circle, 2 arrowhead, 3 nothing; `line_width`; `dashed`;
    `on_path`.
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
    tail, head, kind = drawn.edge_list()
    if boxes:
        sizes = box_sizes(texts)
        xy = in_layers(drawn, sizes, look)
        routes = Routes(xy, sizes)
        lines = [routes.curve(u, v) for u, v in zip(tail.tolist(), head.tolist(), strict=True)]
    else:
        xy, dot = place_dots(drawn)
        sizes = np.repeat(2 * dot[:, None], 2, axis=1)
        lines = [_between(xy[u], xy[v], dot[u], dot[v]) for u, v in zip(tail.tolist(), head.tolist(), strict=True)]
        if drawn.p > MAX_NAMED:
            named = set(np.argsort(-drawn.degrees(), kind="stable")[:HUBS].tolist())
            texts = [text if v in named else "" for v, text in enumerate(texts)]
    of_nodes = [look.style(v) for v in range(drawn.p)]
    groups = look.groups_there()
    styles = {name: EDGE_STYLES[name] for name, n in graph.counts().items() if n}
    marks = np.array([KINDS[name] for name in kind.tolist()], dtype=np.float64).reshape(-1, 2)
    values = {
        "title": title,
        "form": "boxes" if boxes else "dots",
        "names": texts,
        "fill": ["#f3f6f9" if style is None else style.fill for style in of_nodes],
        "line": ["#5b6b7a" if style is None else style.line for style in of_nodes],
        "chosen": [v + 1 for v in look.centres],
        "alone": alone,
        "groups": [name for name, _ in groups],
        "group_fill": [style.fill for _, style in groups],
        "group_line": [style.line for _, style in groups],
        "kinds": list(styles),
        "kind_colour": [style.color for style in styles.values()],
        "colours": [EDGE_STYLES[name].color for name in kind.tolist()],
    }
    numbers = {
        "x": xy[:, 0],
        "y": xy[:, 1],
        "width": sizes[:, 0],
        "height": sizes[:, 1],
        "points": np.concatenate([np.zeros((0, 2)), *lines]).reshape(-1),
        "length": np.array([len(line) for line in lines], dtype=np.float64),
        "tail_mark": marks[:, 0],
        "head_mark": marks[:, 1],
        "line_width": np.array([EDGE_STYLES[name].width for name in kind.tolist()], dtype=np.float64),
        "dashed": np.array([EDGE_STYLES[name].dashes != "solid" for name in kind.tolist()], dtype=np.float64),
        "on_path": np.zeros(len(graph)) if look.on_path is None else look.on_path.astype(np.float64),
        "kind_mark": np.array([KINDS[name] for name in styles], dtype=np.float64).reshape(-1),
        "kind_dashed": np.array([style.dashes != "solid" for style in styles.values()], dtype=np.float64),
    }
    return Shapes(values, numbers)


def _between(start: NDArray[np.float64], end: NDArray[np.float64], before: float, after: float) -> NDArray[np.float64]:
    step = (end - start) / max(float(np.hypot(*(end - start))), 1e-9)
    return np.array([start + before * step, end - after * step])
