"""The drawing of a small graph: one labelled box per variable, one arrow per edge, and a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pycupc.plotting.canvas import CHOSEN, GREY, INK, Canvas, Floats, short
from pycupc.plotting.layout import layout
from pycupc.sparse_graph import BIDIRECTED, DIRECTED, UNDIRECTED, SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import PathPatch

#: Curvatures tried for an edge, in order of preference (matplotlib's arc3 ``rad``).
_BENDS = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.45, -0.45, 0.7, -0.7, 1.0, -1.0)
#: Round corners become polygons with an error of less than a pixel if a unit, an inch, is so many pixels.
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
    canvas = Canvas.fit(ax, low, high, min_width=4.6)
    fill = np.where(degree > 0, "#f3f6f9", "white").astype(object)
    fill[list(centres)] = CHOSEN
    boxes = [_box(canvas, *box) for box in zip(xy, sizes, shown, fill.tolist(), (degree > 0).tolist(), strict=True)]
    strengths = [None] * len(kind) if strength is None else strength.tolist()
    for u, v, k, s in zip(tail, head, kind.tolist(), strengths, strict=True):
        patches = {"patchA": boxes[u], "patchB": boxes[v], "shrinkA": 1.0, "shrinkB": 1.0}
        curve = f"arc3,rad={_bend(u, v, xy, sizes)}"
        canvas.edge(xy[u], xy[v], k, s, **patches, connectionstyle=curve, joinstyle="miter", zorder=2)
    canvas.text(canvas.low[0] + 0.1, canvas.high[1] - 0.08, title, 10, va="top", color=INK)
    _legend(canvas, [k for k in (DIRECTED, UNDIRECTED, BIDIRECTED) if (kind == k).any()])


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


def _bend(u: int, v: int, xy: Floats, sizes: Floats) -> float:
    """The curvature with which the edge u, v crosses the fewest boxes of others; the least one where several do."""
    a, b = xy[u], xy[v]
    others = np.ones(len(xy), dtype=bool)
    others[[u, v]] = False
    if not others.any():
        return 0.0
    t = np.linspace(0.05, 0.95, 31)[:, None]
    hits = []
    for bend in _BENDS:
        control = (a + b) / 2 + bend * np.array([b[1] - a[1], a[0] - b[0]])
        curve = (1 - t) ** 2 * a + 2 * t * (1 - t) * control + t**2 * b
        inside = np.abs(curve[:, None, :] - xy[None, others]) < sizes[None, others] / 2 + 0.03
        hits.append(int(inside.all(axis=2).any(axis=0).sum()))
    return _BENDS[int(np.argmin(hits))]


def _legend(canvas: Canvas, kinds: Sequence[str]) -> None:
    """Show the form of each kind of edge in the lower left corner."""
    x, y = canvas.low + (0.1, 0.15)
    for kind in kinds:
        canvas.edge(np.array([x, y]), np.array([x + 0.5, y]), kind, shrinkA=0, shrinkB=0)
        canvas.text(x + 0.58, y, kind, 8.5, va="center", color=GREY)
        x += 1.45
