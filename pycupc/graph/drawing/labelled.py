"""The drawing of a small graph: one labelled box per variable, one arrow per edge, and a legend."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.graph.drawing.canvas import CHOSEN, GREY, INK, Canvas, Floats, room_of, short
from pycupc.graph.drawing.layered import ASPECT, layered_layout, row_of
from pycupc.graph.drawing.layout import layout
from pycupc.graph.drawing.look import GroupStyle, Look
from pycupc.graph.drawing.routes import CORNER, Routes, corners
from pycupc.graph.sparse import SparseGraph
from pycupc.graph.tiers import NO_TIER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path


def draw_labelled(graph: SparseGraph, labels: Sequence[str], ax: Axes, title: str, look: Look) -> None:
    """Draw a box for every variable with an edge, and for the highlighted ones; name the others below."""
    shown = [short(label) for label in labels]
    boxed = graph.degrees() > 0
    boxed[list(look.centres)] = True
    alone = [label for label, box in zip(shown, boxed.tolist(), strict=True) if not box]
    nodes = np.flatnonzero(boxed)
    drawn, shown = graph.subgraph(nodes), [shown[v] for v in nodes.tolist()]
    look = look.part(nodes, np.arange(len(graph)))
    sizes = box_sizes(shown)
    room = room_of(ax, look.figsize)
    xy = _places(drawn, sizes, look, room)
    below = Below.of(graph, look, alone, title, corners(xy, sizes))
    low, high = corners(xy, sizes)
    margin = np.array([0.15, 0.2])
    tiered = 0.75 * (look.tier is not None)
    heading = 0.3 + 0.18 * title.count("\n") if title else 0.0
    low, high = low - margin - (tiered, below.height), high + margin + (0, heading)
    canvas = Canvas.fit(ax, low, high, room, min_width=0.2 + below.width)
    if look.tier is not None:
        _tiers(canvas, xy, look.tier)
    for v, (place, size, label) in enumerate(zip(xy, sizes, shown, strict=True)):
        _box(canvas, place, size, label, look.style(v), chosen=v in look.centres)
    _edges(canvas, drawn, Routes(xy, sizes), look)
    if title:
        canvas.text(canvas.low[0] + 0.1, canvas.high[1] - 0.08, title, 10, va="top", color=INK)
    below.draw(canvas)


def _places(graph: SparseGraph, sizes: Floats, look: Look, room: Floats | None) -> Floats:
    """Centres of the boxes; for a given room, of several shapes the one that can be drawn largest."""
    if room is None:
        return in_layers(graph, sizes, look)
    found = [in_layers(graph, sizes, look, aspect) for aspect in (0.6, 0.9, 1.3, 1.8, ASPECT, 3.2)]
    extents = [np.subtract(*corners(xy, sizes)[::-1]) + 0.6 for xy in found]
    return found[int(np.argmax([(room / extent).min() for extent in extents]))]


def box_sizes(labels: Sequence[str]) -> Floats:
    """Widths and heights of boxes that hold these labels, float64 (p, 2), in inches."""
    return np.array([[0.16 + 0.078 * max(len(short(label)), 2), 0.27] for label in labels]).reshape(-1, 2)


def in_layers(graph: SparseGraph, sizes: Floats, look: Look, aspect: float = ASPECT) -> Floats:
    """Centres of the boxes of a graph, by tiers if the look has them."""
    if look.tier is not None and graph.p:
        return layered_layout(graph, sizes, look.tier, aspect)
    return layout(graph, sizes, aspect=aspect)


def _edges(canvas: Canvas, graph: SparseGraph, routes: Routes, look: Look) -> None:
    tail, head, kind = graph.edge_list()
    for name in (name for name, n in graph.counts().items() if n):
        some = np.flatnonzero(kind == name)
        lines = np.array([routes.curve(u, v) for u, v in zip(tail[some], head[some], strict=True)])
        opacity: Any = 1.0
        if look.on_path is not None:
            canvas.halo(list(lines[look.on_path[some]]))
            opacity = np.where(look.on_path[some], 1.0, 0.45)
        canvas.edges(name, lines, None if look.strength is None else look.strength[some], opacity=opacity)


def _tiers(canvas: Canvas, xy: Floats, tier: Any) -> None:
    """A band behind the boxes of each tier, every second one shaded, with its number at the left."""
    from matplotlib.patches import Rectangle

    rows = row_of(tier)
    bounds = [(float(xy[rows == t, 1].min()), float(xy[rows == t, 1].max())) for t in np.unique(rows).tolist()]
    edges = [canvas.high[1], *((lower + upper) / 2 for (lower, _), (_, upper) in pairwise(bounds))]
    edges = [min(edges[0], bounds[0][1] + 0.4), *edges[1:], bounds[-1][0] - 0.4]
    for k, (t, top, bottom) in enumerate(zip(np.unique(rows).tolist(), edges, edges[1:], strict=False)):
        x, width = canvas.low[0], float(canvas.high[0] - canvas.low[0])
        shade = "#f6f3ea" if k % 2 else "#ffffff"
        canvas.ax.add_patch(Rectangle((x, bottom), width, top - bottom, facecolor=shade, edgecolor="none", zorder=0))
        name = "no tier" if (tier[rows == t] == NO_TIER).any() else f"tier {t + 1}"
        canvas.text(x + 0.1, (top + bottom) / 2, name, 8.5, va="center", color=GREY)


@dataclass(frozen=True)
class Below:
    """The text below a graph: the variables without an edge, the groups, the kinds of edges."""

    without: list[str]
    groups: list[tuple[str, GroupStyle]]
    kinds: dict[str, float]  # with their widths
    width: float

    @classmethod
    def of(cls, graph: SparseGraph, look: Look, alone: list[str], title: str, box: tuple[Floats, Floats]) -> Below:
        """The text for a graph whose boxes lie in the rectangle `box`, below the `title`."""
        kinds = {k: 1.9 if "part" in k else 1.45 for k, n in graph.counts().items() if n} if look.legend else {}
        groups = look.groups_there() if look.legend else []
        written = 0.085 * max(map(len, title.split("\n")))
        beside = sum(0.75 + 0.075 * len(short(name)) for name, _ in groups)
        width = max(
            1.2 if look.figsize else 4.4,
            sum(kinds.values()),
            written,
            min(beside, 10.0),
            0.1 + float(box[1][0] - box[0][0]),
        )
        text = f"without an edge: {', '.join(alone)}"
        return cls(textwrap.wrap(text, int(width / 0.072)) if alone else [], groups, kinds, width)

    @property
    def height(self) -> float:
        return 0.18 * len(self.without) + 0.28 * bool(self.kinds) + 0.28 * bool(self.groups)

    def draw(self, canvas: Canvas) -> None:
        """Write it in the lower left corner of the canvas."""
        x, y = canvas.low + (0.1, 0.15)
        for form, width in self.kinds.items():
            canvas.edges(form, np.array([[[x, y], [x + 0.5, y]]]))
            canvas.text(x + 0.58, y, form, 8.5, va="center", color=GREY)
            x += width
        x, y = canvas.low + (0.1, 0.15 + 0.28 * bool(self.kinds))
        for name, style in self.groups:
            _box(canvas, np.array([x + 0.15, y]), np.array([0.3, 0.18]), "", style)
            canvas.text(x + 0.38, y, short(name), 8.5, va="center", color=GREY, parse_math=False)
            x += 0.75 + 0.075 * len(short(name))
        if self.without:
            y += 0.28 * bool(self.groups) - 0.07
            canvas.text(canvas.low[0] + 0.1, y, "\n".join(self.without), 8.5, va="bottom", color=GREY, parse_math=False)


def _box(
    canvas: Canvas, centre: Floats, size: Floats, label: str, style: GroupStyle | None, chosen: bool = False
) -> None:
    """Draw the box of one variable, highlighted if it is `chosen`."""
    from matplotlib.patches import FancyBboxPatch, PathPatch

    (x, y), (width, height) = centre, size
    fill, line = ("#f3f6f9", "#5b6b7a") if style is None else (style.fill, style.line)
    form = "round" if style is None else style.box
    rounding = {"round": CORNER, "square": 1e-6, "pill": 0.49 * height, "cut": CORNER}[form]
    shape = f"round,pad=0,rounding_size={rounding}"
    box: Any = FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle=shape, zorder=3)
    if form == "cut":
        box = PathPatch(_cut_corners(x, y, width / 2, height / 2), zorder=3)
    wide = (0.9 if style is None else 1.4) * canvas.scale
    box.set(facecolor=CHOSEN if chosen else fill, edgecolor=line, linewidth=wide)
    canvas.ax.add_patch(box)
    canvas.text(x, y - 0.01, label, 9, ha="center", va="center", zorder=4, color=INK, parse_math=False)


def _cut_corners(x: float, y: float, right: float, up: float, cut: float = 0.07) -> Path:
    """A rectangle with its corners cut off, given by its centre and half its sides."""
    from matplotlib.path import Path

    turn = [(right - cut, up), (right, up - cut)]
    corners = [turn, [(a, -b) for a, b in turn[::-1]], [(-a, -b) for a, b in turn], [(-a, b) for a, b in turn[::-1]]]
    points = [(x + a, y + b) for corner in corners for a, b in corner]
    return Path([*points, points[0]], closed=True)
