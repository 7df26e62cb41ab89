"""The drawing of a small graph: one labelled box per variable, one arrow per edge, and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pycupc.graph.drawing.canvas import CHOSEN, GREY, INK, Canvas, Floats, short
from pycupc.graph.drawing.layout import layout
from pycupc.graph.sparse import SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SINGLE = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.45, -0.45, 0.7, -0.7, 1.0, -1.0)
#: Curvatures at both ends that are tried for an edge, in order of preference.
_BENDS = sorted(
    ((a, b) for a in _SINGLE for b in _SINGLE),
    key=lambda bend: abs(bend[0]) + abs(bend[1]) + 0.3 * (bend[0] != bend[1]),
)
#: Radius of the corners of boxes, in inches, and points of a drawn curve.
CORNER, POINTS = 0.08, 40


def draw_labelled(
    graph: SparseGraph,
    labels: Sequence[str],
    ax: Axes,
    title: str,
    centres: Sequence[int] = (),
    strength: Floats | None = None,
) -> None:
    """Draw every variable with its label, and `centres` highlighted; `strength` (m,): the strength of each edge."""
    tail, head, kind = graph.edge_list()
    shown = [short(label) for label in labels]
    sizes = np.array([[0.16 + 0.078 * max(len(label), 2), 0.27] for label in shown])
    degree = graph.degrees()
    xy = layout(graph, sizes)
    margin = np.array([0.15, 0.5])  # the height includes the title and the legend
    low, high = (xy - sizes / 2).min(axis=0) - margin, (xy + sizes / 2).max(axis=0) + margin
    high[1] += 0.18 * title.count("\n")
    kinds = {k: 1.9 if "part" in k else 1.45 for k, n in graph.counts().items() if n}  # with their widths in the legend
    written = 0.085 * max(map(len, title.split("\n")))  # the width of the title
    canvas = Canvas.fit(ax, low, high, min_width=0.2 + max(4.4, sum(kinds.values()), written))
    fill = np.where(degree > 0, "#f3f6f9", "white").astype(object)
    fill[list(centres)] = CHOSEN
    for box in zip(xy, sizes, shown, fill.tolist(), (degree > 0).tolist(), strict=True):
        _box(canvas, *box)
    for name in kinds:
        some = np.flatnonzero(kind == name)
        lines = np.array([_curve(u, v, xy, sizes) for u, v in zip(tail[some], head[some], strict=True)])
        canvas.edges(name, lines, None if strength is None else strength[some])
    canvas.text(canvas.low[0] + 0.1, canvas.high[1] - 0.08, title, 10, va="top", color=INK)
    x, y = canvas.low + (0.1, 0.15)
    for form, width in kinds.items():  # the legend
        canvas.edges(form, np.array([[[x, y], [x + 0.5, y]]]))
        canvas.text(x + 0.58, y, form, 8.5, va="center", color=GREY)
        x += width


def _box(canvas: Canvas, centre: Floats, size: Floats, label: str, fill: str, connected: bool) -> None:
    """Draw the box of one variable, with a paler outline if it has no edge."""
    from matplotlib.patches import FancyBboxPatch

    (x, y), (width, height), form = centre, size, f"round,pad=0,rounding_size={CORNER}"
    box = FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle=form, zorder=3)
    box.set(facecolor=fill, edgecolor="#5b6b7a" if connected else "#b8bfc6", linewidth=0.9 * canvas.scale)
    canvas.ax.add_patch(box)
    canvas.text(x, y - 0.01, label, 9, ha="center", va="center", zorder=4, color=INK, parse_math=False)


def _curve(u: int, v: int, xy: Floats, sizes: Floats) -> Floats:
    """Points on the curve of an edge from the outline of one box to the outline of the other, float64 (`POINTS`, 2)."""
    curve = _points(xy[u], xy[v], _bend(u, v, xy, sizes), np.linspace(0, 1, 10 * POINTS))
    outside = []
    for w in (u, v):
        beyond = np.maximum(np.abs(curve - xy[w]) - sizes[w] / 2 + CORNER, 0)
        outside.append(np.hypot(*beyond.T) > CORNER + 0.012)
    first, last = int(outside[0].argmax()), len(curve) - 1 - int(outside[1][::-1].argmax())
    drawn: Floats = curve[np.linspace(first, max(first, last), POINTS).astype(int)]
    return drawn


def _bend(u: int, v: int, xy: Floats, sizes: Floats) -> tuple[float, float]:
    """The smallest curvatures at both ends with which the edge u, v crosses the fewest boxes of other variables.

    To leave the rectangle around all boxes, and perhaps the picture, counts as five crossed boxes.
    """
    low, high = (xy - sizes / 2).min(axis=0) - 0.1, (xy + sizes / 2).max(axis=0) + 0.1
    others = np.ones(len(xy), dtype=bool)
    others[[u, v]] = False
    best, fewest = (0.0, 0.0), np.inf
    t = np.linspace(0.05, 0.95, 31)
    for bend in _BENDS:
        curve = _points(xy[u], xy[v], bend, t)
        inside = np.abs(curve[:, None, :] - xy[None, others]) < sizes[None, others] / 2 + 0.03
        outside = bool(((curve < low) | (curve > high)).any())
        if (hits := int(inside.all(axis=2).any(axis=0).sum()) + 5 * outside) < fewest:
            best, fewest = bend, hits
        if not fewest:
            break
    return best


def _points(a: Floats, b: Floats, bend: tuple[float, float], t: Floats) -> Floats:
    """Points at `t` on the cubic curve from a, at 0, to b, at 1; with equal curvatures it is a parabola."""
    across, t = np.array([b[1] - a[1], a[0] - b[0]]) * (2 / 3), t[:, None]
    one, two = a + (b - a) / 3 + bend[0] * across, b + (a - b) / 3 + bend[1] * across
    points: Floats = (1 - t) ** 3 * a + 3 * t * (1 - t) * ((1 - t) * one + t * two) + t**3 * b
    return points
