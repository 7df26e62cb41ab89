"""Overviews of a large graph: a network of dots with the hubs named, or the pattern of the adjacency matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pycupc.plotting.canvas import EDGE_STYLES, GREY, INK, Canvas, Floats, filled_figure, short
from pycupc.plotting.layout import layout
from pycupc.sparse_graph import BIDIRECTED, DIRECTED, UNDIRECTED, SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Places = NDArray[np.integer]
Kinds = NDArray[np.str_]

#: Most connected variables that are drawn as a network; if there are more, the pattern of the matrix is drawn.
MAX_NETWORK = 600
#: Number of variables that the network names: those with the most neighbours.
HUBS = 12


def draw_overview(graph: SparseGraph, labels: Sequence[str], ax: Axes, title: str) -> None:
    """Draw the variables that have edges."""
    degree = graph.degrees()
    connected = np.flatnonzero(degree)
    isolated = graph.p - len(connected)
    title += f"\n{isolated} variables without an edge are not drawn" if isolated else ""
    ends, other_ends, kind = graph.edge_list()
    tail, head = connected.searchsorted(ends), connected.searchsorted(other_ends)
    if 0 < len(connected) <= MAX_NETWORK:
        _draw_network(tail, head, kind, [labels[v] for v in connected.tolist()], ax, title)
    else:
        _draw_matrix(tail, head, kind, len(connected), ax, title)


def _draw_network(tail: Places, head: Places, kind: Kinds, labels: Sequence[str], ax: Axes, title: str) -> None:
    """Draw each variable as a dot whose radius grows with its number of neighbours, and name the hubs."""
    degree = np.bincount(np.concatenate((tail, head)), minlength=len(labels))
    radius = 0.03 + 0.011 * np.sqrt(degree)
    xy = layout(tail, head, kind == DIRECTED, np.repeat(2 * radius[:, None], 2, axis=1), spacing=0.42)
    title_height = 0.05 * max(10.0, np.ptp(xy[:, 0]))
    low, high = xy.min(axis=0) - 0.35 - (0.0, 0.3), xy.max(axis=0) + (0.35, 0.35 + title_height)
    canvas = Canvas.fit(ax, low, high, min_width=5.0)
    low, high = canvas.low, canvas.high
    enlarged = max(1.0, (high[0] - low[0]) / 10)  # text of a large picture, which is viewed from a greater distance
    _draw_edges(canvas, xy, radius, tail, head, kind)
    hubs = np.argsort(-degree, kind="stable")[:HUBS]
    fill = np.full(len(labels), "#e3ebf2", dtype=object)
    fill[hubs] = "#f2c14e"
    area, outline = (144 * radius * canvas.scale) ** 2, 0.5 * canvas.scale
    ax.scatter(xy[:, 0], xy[:, 1], s=area, c=list(fill), edgecolors=GREY, linewidths=outline, zorder=3)
    plate = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
    style = {"ha": "center", "va": "center", "zorder": 5, "color": INK, "parse_math": False, "bbox": plate}
    for v in hubs:
        canvas.text(xy[v, 0], xy[v, 1] + radius[v] + 0.1 * enlarged, short(labels[v]), 8 * enlarged, **style)
    note = "named: the variables with most neighbours"
    note += "; dashed: undirected" if (kind == UNDIRECTED).any() else ""
    note += "; thick, two arrowheads: bidirected" if (kind == BIDIRECTED).any() else ""
    canvas.text(low[0] + 0.1, high[1] - 0.1, title, 10 * enlarged, va="top", color=INK)
    canvas.text(low[0] + 0.1, low[1] + 0.1, note, 8 * enlarged, va="center", color=GREY)


def _draw_edges(canvas: Canvas, xy: Floats, radius: Floats, tail: Places, head: Places, kind: Kinds) -> None:
    """Draw all edges of one kind together, which is much faster than one patch per edge."""
    from matplotlib.collections import LineCollection, PolyCollection

    for name in (UNDIRECTED, DIRECTED, BIDIRECTED):
        style = EDGE_STYLES[name]
        u, v = tail[kind == name], head[kind == name]
        lines = LineCollection(list(np.stack([xy[u], xy[v]], axis=1)), colors=style.color, alpha=0.55, zorder=1)
        lines.set(linewidths=0.45 * style.width * canvas.scale, linestyles=style.dashes)
        canvas.ax.add_collection(lines)
        ends = {UNDIRECTED: [], DIRECTED: [(v, u)], BIDIRECTED: [(v, u), (u, v)]}[name]
        for tip, source in ends:
            triangles = list(_arrowheads(xy[tip], xy[source], radius[tip]))
            canvas.ax.add_collection(PolyCollection(triangles, facecolors=style.color, linewidths=0, zorder=2))


def _arrowheads(tip: Floats, source: Floats, radius: Floats, length: float = 0.085) -> Floats:
    """Triangles (m, 3, 2) that touch the circles of `radius` around `tip` and point away from `source`."""
    along = tip - source
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    across = along[:, ::-1] * (-1.0, 1.0) * (0.38 * length)
    front = tip - along * (radius[:, None] + 0.005)
    back = front - along * length
    return np.stack([front, back + across, back - across], axis=1)


def _draw_matrix(tail: Places, head: Places, kind: Kinds, k: int, ax: Axes, title: str) -> None:
    """Draw the pattern of the matrix of k variables, in an order that puts neighbours near the diagonal."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    figure = filled_figure(ax)
    if figure is not None:
        figure.set_size_inches(8, 8.4)
        ax.set_position((0.08, 0.06, 0.88, 0.86))
    ends, other_ends = np.concatenate((tail, head)), np.concatenate((head, tail))
    pattern = coo_array((np.ones(len(ends)), (ends, other_ends)), shape=(k, k)).tocsr()
    place = np.empty(k, dtype=np.int64)
    if k:
        place[reverse_cuthill_mckee(pattern, symmetric_mode=True)] = np.arange(k)
    size = max(1.0, min(9.0, (700.0 / max(k, 1)) ** 2 * 9))
    for name, marker in ((DIRECTED, "s"), (UNDIRECTED, "o"), (BIDIRECTED, "D")):
        if not (kind == name).any():
            continue
        row, column = place[tail[kind == name]], place[head[kind == name]]
        if name != DIRECTED:
            row, column = np.concatenate((row, column)), np.concatenate((column, row))
        ax.scatter(column, row, s=size, marker=marker, color=EDGE_STYLES[name].color, linewidths=0, label=name)
    ax.set(xlim=(-0.5, max(k, 1) - 0.5), ylim=(max(k, 1) - 0.5, -0.5), aspect="equal")
    ax.set_xlabel("to (column)", fontsize=9)
    ax.set_ylabel("from (row)", fontsize=9)
    ax.tick_params(labelsize=7)
    ax.set_title(title, fontsize=10, loc="left")
    if k:
        ax.legend(loc="upper right", fontsize=8, markerscale=3 / np.sqrt(size))
