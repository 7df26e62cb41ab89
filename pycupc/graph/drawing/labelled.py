"""The drawing of a small graph: one labelled box per variable, one arrow per edge, and a legend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pycupc.graph.drawing.canvas import CHOSEN, GREY, INK, Canvas, Floats, short
from pycupc.graph.drawing.layout import layout
from pycupc.graph.sparse import DIRECTED, SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import PathPatch

_SINGLE = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.45, -0.45, 0.7, -0.7, 1.0, -1.0)
#: Curvatures at both ends that are tried for an edge, in order of preference.
_BENDS = sorted(
    ((a, b) for a in _SINGLE for b in _SINGLE),
    key=lambda bend: abs(bend[0]) + abs(bend[1]) + 0.3 * (bend[0] != bend[1]),
)
#: Pixels per unit, which is an inch: with these, round corners become polygons with an error of less than a pixel.
_FINE = 1000


def draw_labelled(
    graph: SparseGraph,
    labels: Sequence[str],
    ax: Axes,
    title: str,
    centres: Sequence[int] = (),
    strength: Floats | None = None,
) -> None:
    """Draw every variable with its label, and `centres` highlighted; `strength` (m,) is that of the edges."""
    tail, head, kind = graph.edge_list()
    shown = [short(label) for label in labels]
    sizes = np.array([[0.16 + 0.078 * max(len(label), 2), 0.27] for label in shown])
    degree = graph.degrees()
    density = 2 * len(graph) / max(1, (degree > 0).sum())  # mean degree of the connected variables
    spacing = 0.95 * float(np.clip(density / 4, 0.9, 1.8))
    xy = layout(tail, head, kind == DIRECTED, sizes, spacing=spacing)
    margin = np.array([0.15, 0.5])  # the height includes the title and the legend
    low, high = (xy - sizes / 2).min(axis=0) - margin, (xy + sizes / 2).max(axis=0) + margin
    high[1] += 0.18 * title.count("\n")
    kinds = {k: 1.9 if "part" in k else 1.45 for k, n in graph.counts().items() if n}  # with their widths in the legend
    canvas = Canvas.fit(ax, low, high, min_width=max(4.6, sum(kinds.values()) + 0.2))
    fill = np.where(degree > 0, "#f3f6f9", "white").astype(object)
    fill[list(centres)] = CHOSEN
    boxes = [_box(canvas, *box) for box in zip(xy, sizes, shown, fill.tolist(), (degree > 0).tolist(), strict=True)]
    curve_of = _curves()
    strengths = [None] * len(kind) if strength is None else strength.tolist()
    for u, v, k, s in zip(tail, head, kind.tolist(), strengths, strict=True):
        patches = {"patchA": boxes[u], "patchB": boxes[v], "shrinkA": 1.0, "shrinkB": 1.0}
        curve = curve_of(*_bend(u, v, xy, sizes))
        canvas.edge(xy[u], xy[v], k, s, **patches, connectionstyle=curve, joinstyle="miter", zorder=2)
    canvas.text(canvas.low[0] + 0.1, canvas.high[1] - 0.08, title, 10, va="top", color=INK)
    x, y = canvas.low + (0.1, 0.15)
    for form, width in kinds.items():  # the legend
        canvas.edge(np.array([x, y]), np.array([x + 0.5, y]), form, shrinkA=0, shrinkB=0)
        canvas.text(x + 0.58, y, form, 8.5, va="center", color=GREY)
        x += width


def _box(canvas: Canvas, centre: Floats, size: Floats, label: str, fill: str, connected: bool) -> PathPatch:
    """Draw the box of one variable, with a paler outline if it has no edge; returns that outline, to end edges at it.

    To find where an edge meets it, matplotlib tries dozens of points, and would make a round box anew for each of them.
    """
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    (x, y), (width, height) = centre, size
    box = FancyBboxPatch(
        (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.08", zorder=3
    )
    box.set(facecolor=fill, edgecolor="#5b6b7a" if connected else "#b8bfc6")
    box.set(linewidth=0.9 * canvas.scale)
    canvas.ax.add_patch(box)
    canvas.text(x, y - 0.01, label, 9, ha="center", va="center", zorder=4, color=INK, parse_math=False)
    (polygon,) = box.get_path().to_polygons(Affine2D().scale(_FINE))
    style = {"linewidth": box.get_linewidth(), "edgecolor": box.get_edgecolor()}
    return PathPatch(Path(np.asarray(polygon) / _FINE), transform=canvas.ax.transData, **style)


def _bend(u: int, v: int, xy: Floats, sizes: Floats) -> tuple[float, float]:
    """The curvatures at both ends with which the edge u, v crosses the fewest boxes of others; the least ones of those.

    To leave the rectangle around all boxes, and perhaps the picture, counts as much as to cross five of them.
    """
    low, high = (xy - sizes / 2).min(axis=0) - 0.1, (xy + sizes / 2).max(axis=0) + 0.1
    others = np.ones(len(xy), dtype=bool)
    others[[u, v]] = False
    best, fewest = (0.0, 0.0), np.inf
    t = np.linspace(0.05, 0.95, 31)[:, None]
    for bend in _BENDS:
        one, two = _controls(xy[u], xy[v], bend)
        curve = (1 - t) ** 3 * xy[u] + 3 * t * (1 - t) * ((1 - t) * one + t * two) + t**3 * xy[v]
        inside = np.abs(curve[:, None, :] - xy[None, others]) < sizes[None, others] / 2 + 0.03
        outside = bool(((curve < low) | (curve > high)).any())
        if (hits := int(inside.all(axis=2).any(axis=0).sum()) + 5 * outside) < fewest:
            best, fewest = bend, hits
        if not fewest:
            break
    return best


def _controls(a: Floats, b: Floats, bend: tuple[float, float]) -> tuple[Floats, Floats]:
    """The control points of the cubic curve from a to b; with equal curvatures it is a parabola."""
    across = np.array([b[1] - a[1], a[0] - b[0]]) * (2 / 3)
    return a + (b - a) / 3 + bend[0] * across, b + (a - b) / 3 + bend[1] * across


def _curves() -> Callable[[float, float], Any]:
    """The class of matplotlib's connection styles for these curves."""
    from matplotlib.patches import ConnectionStyle
    from matplotlib.path import Path

    class Curve(ConnectionStyle._Base):
        def __init__(self, first: float, last: float) -> None:
            self.bend = first, last

        def connect(self, a: tuple[float, float], b: tuple[float, float]) -> Path:
            points = np.vstack([a, *_controls(np.array(a), np.array(b), self.bend), b])
            return Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])

    return Curve
