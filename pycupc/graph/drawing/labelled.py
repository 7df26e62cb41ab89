"""The drawing of a small graph: one labelled box per variable, one arrow per edge, and a legend."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pycupc.graph.drawing.canvas import CHOSEN, GREY, INK, Canvas, Floats, short
from pycupc.graph.drawing.layout import layout
from pycupc.graph.drawing.routes import CORNER, Routes, corners
from pycupc.graph.sparse import SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a line of the text that names variables without an edge, in inches.
LINE = 0.18


def draw_labelled(
    graph: SparseGraph,
    labels: Sequence[str],
    ax: Axes,
    title: str,
    centres: Sequence[int] = (),
    strength: Floats | None = None,
) -> None:
    """Draw a box for every variable with an edge, and for `centres`, which are highlighted; name the others below.

    `strength`, (m,), is the strength of each edge.
    """
    shown = [short(label) for label in labels]
    boxed = graph.degrees() > 0
    boxed[list(centres)] = True
    alone = [label for label, box in zip(shown, boxed.tolist(), strict=True) if not box]
    nodes = np.flatnonzero(boxed)
    drawn, shown = graph.subgraph(nodes), [shown[v] for v in nodes.tolist()]
    sizes = np.array([[0.16 + 0.078 * max(len(label), 2), 0.27] for label in shown]).reshape(-1, 2)
    xy = layout(drawn, sizes)
    kinds = {k: 1.9 if "part" in k else 1.45 for k, n in graph.counts().items() if n}  # with their widths in the legend
    low, high = corners(xy, sizes)
    written = 0.085 * max(map(len, title.split("\n")))  # the width of the title
    wide = max(4.4, sum(kinds.values()), written, 0.1 + high[0] - low[0])
    without = textwrap.wrap(f"without an edge: {', '.join(alone)}", int(wide / 0.072)) if alone else []
    margin = np.array([0.15, 0.5])  # the height includes the title and the legend
    low, high = low - margin - (0, LINE * len(without)), high + margin + (0, 0.18 * title.count("\n"))
    canvas = Canvas.fit(ax, low, high, min_width=0.2 + wide)
    fill = np.where(np.isin(nodes, list(centres)), CHOSEN, "#f3f6f9")
    for box in zip(xy, sizes, shown, fill.tolist(), strict=True):
        _box(canvas, *box)
    tail, head, kind = drawn.edge_list()
    routes = Routes(xy, sizes)
    for name in kinds:
        some = np.flatnonzero(kind == name)
        lines = np.array([routes.curve(u, v) for u, v in zip(tail[some], head[some], strict=True)])
        canvas.edges(name, lines, None if strength is None else strength[some])
    canvas.text(canvas.low[0] + 0.1, canvas.high[1] - 0.08, title, 10, va="top", color=INK)
    x, y = canvas.low + (0.1, 0.15)
    if without:
        text, at = "\n".join(without), canvas.low[1] + 0.28 * bool(kinds)
        canvas.text(x, at + 0.08, text, 8.5, va="bottom", color=GREY, parse_math=False)
    for form, width in kinds.items():  # the legend
        canvas.edges(form, np.array([[[x, y], [x + 0.5, y]]]))
        canvas.text(x + 0.58, y, form, 8.5, va="center", color=GREY)
        x += width


def _box(canvas: Canvas, centre: Floats, size: Floats, label: str, fill: str) -> None:
    """Draw the box of one variable."""
    from matplotlib.patches import FancyBboxPatch

    (x, y), (width, height), form = centre, size, f"round,pad=0,rounding_size={CORNER}"
    box = FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle=form, zorder=3)
    box.set(facecolor=fill, edgecolor="#5b6b7a", linewidth=0.9 * canvas.scale)
    canvas.ax.add_patch(box)
    canvas.text(x, y - 0.01, label, 9, ha="center", va="center", zorder=4, color=INK, parse_math=False)
