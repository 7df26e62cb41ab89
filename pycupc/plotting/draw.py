"""Pictures of a graph: labelled boxes up to about sixty variables, above that an overview.

Kinds of edge are told apart by form, not by colour alone, so that they survive a black and white printer:

    directed      solid line, one arrowhead
    undirected    dashed line, no arrowhead
    bidirected    thick line, arrowheads at both ends
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pycupc.plotting.layout import layout
from pycupc.sparse_graph import BIDIRECTED, DIRECTED, UNDIRECTED, SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Most variables drawn with labels.
MAX_LABELLED = 60
#: Most connected variables for which the overview draws a network; above, the pattern of the matrix.
MAX_NETWORK = 600

_STYLE = {
    DIRECTED: {"color": "#1d3d5c", "linewidth": 1.2, "linestyle": "solid", "arrowstyle": "-|>"},
    UNDIRECTED: {"color": "#8a5a00", "linewidth": 1.2, "linestyle": (0, (5, 3)), "arrowstyle": "-"},
    BIDIRECTED: {"color": "#b3261e", "linewidth": 2.2, "linestyle": "solid", "arrowstyle": "<|-|>"},
}
_FONT_POINTS = 9.0
_BENDS = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.45, -0.45, 0.7, -0.7, 1.0, -1.0)


def plot(
    graph: SparseGraph,
    labels: Sequence[str],
    *,
    ax: Axes | None = None,
    title: str | None = None,
    max_labelled: int = MAX_LABELLED,
) -> Axes:
    """Draw a graph.

    Parameters
    ----------
    graph : SparseGraph
    labels : sequence of p str
    ax : matplotlib Axes, optional
        Where to draw; a new figure of a fitting size by default.
    title : str, optional
        By default the numbers of variables and of edges of each kind.
    max_labelled : int
        Most variables drawn with labels; above, an overview without arrowheads.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install 'pycupc[plot]'") from error
    tail, head, kind = graph.edge_list()
    if title is None:
        title = describe(len(labels), kind)
    if len(labels) <= max_labelled:
        return _draw_labelled(tail, head, kind, [str(label) for label in labels], ax, title)
    return _draw_overview(tail, head, kind, [str(label) for label in labels], ax, title)


def save(
    graph: SparseGraph, labels: Sequence[str], *paths: str | Path, title: str | None = None, dpi: int = 150
) -> None:
    """Draw a graph into files; the endings choose the formats (png, svg, pdf). Needs no display."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _new_figure()
    FigureCanvasAgg(figure)
    plot(graph, labels, ax=figure.add_axes((0, 0, 1, 1)), title=title)
    with matplotlib.rc_context({"svg.hashsalt": "pycupc", "svg.fonttype": "none"}):  # the same file every time
        for path in map(Path, paths):
            undated = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
            ending = path.suffix.lower().lstrip(".")
            figure.savefig(path, dpi=dpi, metadata=undated.get(ending), bbox_inches="tight", pad_inches=0.1)


def describe(p: int, kind: np.ndarray) -> str:
    """One line: variables, edges and how many of each kind."""
    parts = [f"{int((kind == k).sum())} {k}" for k in (DIRECTED, UNDIRECTED, BIDIRECTED) if (kind == k).any()]
    edges = f"{len(kind)} edge{'s' * (len(kind) != 1)}"
    return f"{p} variables, {edges}" + (
        f": {', '.join(parts)}" if len(parts) > 1 else f", all {kind[0]}" if parts else ""
    )


def _new_figure() -> Figure:
    from matplotlib.figure import Figure

    return Figure(facecolor="white")


def _new_axes() -> Axes:
    import matplotlib.pyplot as plt

    return plt.figure(facecolor="white").add_axes((0, 0, 1, 1))


def _fit(ax: Axes, low: np.ndarray, high: np.ndarray, own: bool) -> float:
    """Show [low, high] (inches) in `ax`; a figure of our own takes that size. Returns points of text a point wanted."""
    ax.set_axis_off()
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    width, height = high - low
    if own:
        scale = min(1.0, 40.0 / max(width, height))
        ax.figure.set_size_inches(width * scale, height * scale)
        return scale
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return float(min(box.width / width, box.height / height))


def _is_ours(ax: Axes) -> bool:
    """Whether these axes fill the figure, which then may take the drawing's size."""
    return len(ax.figure.axes) == 1 and tuple(ax.get_position().bounds) == (0, 0, 1, 1)


def _draw_labelled(tail, head, kind, labels, ax, title) -> Axes:
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    ax = ax or _new_axes()
    shown = [_short(label) for label in labels]
    sizes = np.array([[0.16 + 0.078 * max(len(s), 2), 0.27] for s in shown])
    degree = np.bincount(np.r_[tail, head], minlength=len(labels))
    crowd = float(np.clip(2 * len(tail) / max(1, (degree > 0).sum()) / 4, 0.9, 1.8))  # denser graphs get more room
    xy = layout(tail, head, kind == DIRECTED, sizes, spacing=0.95 * crowd)
    low, high = (xy - sizes / 2).min(axis=0) - 0.15, (xy + sizes / 2).max(axis=0) + 0.15
    wide = max(high[0] - low[0], 4.6)  # room for the title and the legend
    middle = (low[0] + high[0]) / 2
    low[0], high[0] = middle - wide / 2, middle + wide / 2
    high[1] += 0.35
    low[1] -= 0.35
    scale = _fit(ax, low, high, _is_ours(ax))
    boxes = []
    for (x, y), (w, h), label, d in zip(xy, sizes, shown, degree, strict=True):
        edge = "#5b6b7a" if d else "#b8bfc6"
        boxes.append(
            FancyBboxPatch(
                (x - w / 2, y - h / 2),
                w,
                h,
                boxstyle="round,pad=0,rounding_size=0.08",
                facecolor="#f3f6f9" if d else "white",
                edgecolor=edge,
                linewidth=0.9 * scale,
                zorder=3,
            )
        )
        ax.add_patch(boxes[-1])
        ax.text(
            x,
            y - 0.01,
            label,
            ha="center",
            va="center",
            fontsize=_FONT_POINTS * scale,
            zorder=4,
            color="#10202e",
            parse_math=False,
        )
    for u, v, k in zip(tail, head, kind.tolist(), strict=True):
        style = _STYLE[k]
        ax.add_patch(
            FancyArrowPatch(
                xy[u],
                xy[v],
                patchA=boxes[u],
                patchB=boxes[v],
                shrinkA=1.0,
                shrinkB=1.0,
                zorder=2,
                connectionstyle=f"arc3,rad={_bend(u, v, xy, sizes)}",
                arrowstyle=style["arrowstyle"],
                mutation_scale=11 * scale,
                color=style["color"],
                linewidth=style["linewidth"] * scale,
                linestyle=style["linestyle"],
                joinstyle="miter",
            )
        )
    ax.text(low[0] + 0.1, high[1] - 0.18, title, fontsize=10 * scale, va="center", color="#10202e")
    _legend(ax, low, kind, scale)
    return ax


def _short(label: str) -> str:
    """A label on one line of bounded length."""
    label = " ".join(label.split())
    return label if len(label) <= 28 else label[:13] + "\u2026" + label[-13:]


def _bend(u: int, v: int, xy: np.ndarray, sizes: np.ndarray) -> float:
    """The least curvature with which the edge u, v passes no other box (matplotlib's arc3 ``rad``)."""
    a, b = xy[u], xy[v]
    others = np.ones(len(xy), dtype=bool)
    others[[u, v]] = False
    if not others.any():
        return 0.0
    t = np.linspace(0.05, 0.95, 31)[:, None]
    hits = []
    for rad in _BENDS:
        control = (a + b) / 2 + rad * np.array([b[1] - a[1], a[0] - b[0]])
        curve = (1 - t) ** 2 * a + 2 * t * (1 - t) * control + t**2 * b
        inside = np.abs(curve[:, None, :] - xy[None, others]) < sizes[None, others] / 2 + 0.03
        hits.append(int(inside.all(axis=2).any(axis=0).sum()))
    return _BENDS[int(np.argmin(hits))]


def _legend(ax: Axes, low: np.ndarray, kind: np.ndarray, scale: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    x, y = low[0] + 0.1, low[1] + 0.15
    for k in (DIRECTED, UNDIRECTED, BIDIRECTED):
        if not (kind == k).any():
            continue
        style = _STYLE[k]
        ax.add_patch(
            FancyArrowPatch(
                (x, y),
                (x + 0.5, y),
                arrowstyle=style["arrowstyle"],
                mutation_scale=11 * scale,
                shrinkA=0,
                shrinkB=0,
                color=style["color"],
                linewidth=style["linewidth"] * scale,
                linestyle=style["linestyle"],
            )
        )
        ax.text(x + 0.58, y, k, fontsize=8.5 * scale, va="center", color="#33424f")
        x += 1.45


def _draw_overview(tail, head, kind, labels, ax, title) -> Axes:
    degree = np.bincount(np.r_[tail, head], minlength=len(labels))
    connected = np.flatnonzero(degree)
    lonely = len(labels) - len(connected)
    title += f"\n{lonely} variables without an edge are not drawn" if lonely else ""
    ax = ax or _new_axes()
    if len(connected) > MAX_NETWORK or len(connected) == 0:
        return _draw_matrix(tail, head, kind, connected, ax, title)
    return _draw_network(tail, head, kind, labels, degree, connected, ax, title)


def _draw_network(tail, head, kind, labels, degree, connected, ax, title) -> Axes:
    from matplotlib.collections import LineCollection, PolyCollection

    local = np.full(len(labels), -1)
    local[connected] = np.arange(len(connected))
    radius = 0.03 + 0.011 * np.sqrt(degree[connected])
    sizes = np.repeat(2 * radius[:, None], 2, axis=1)
    xy = layout(local[tail], local[head], kind == DIRECTED, sizes, spacing=0.42)
    low, high = xy.min(axis=0) - 0.35, xy.max(axis=0) + np.array([0.35, 0.35 + 0.05 * max(10.0, np.ptp(xy[:, 0]))])
    wide = max(high[0] - low[0], 5.0)
    middle = (low[0] + high[0]) / 2
    low[0], high[0] = middle - wide / 2, middle + wide / 2
    low[1] -= 0.3
    scale = _fit(ax, low, high, _is_ours(ax))
    text = scale * max(1.0, (high[0] - low[0]) / 10)  # a large picture is looked at from farther away
    for k in (UNDIRECTED, DIRECTED, BIDIRECTED):
        chosen = kind == k
        style = _STYLE[k]
        segments = np.stack([xy[local[tail[chosen]]], xy[local[head[chosen]]]], axis=1)
        ax.add_collection(
            LineCollection(
                segments,
                colors=style["color"],
                linewidths=0.45 * style["linewidth"] * scale,
                alpha=0.55,
                zorder=1,
                linestyles=style["linestyle"],
            )
        )
        tips = [(local[head[chosen]], local[tail[chosen]])] if k != UNDIRECTED else []
        tips += [(local[tail[chosen]], local[head[chosen]])] if k == BIDIRECTED else []
        for at, far in tips:
            heads = _arrowheads(xy[at], xy[far], radius[at])
            ax.add_collection(PolyCollection(heads, facecolors=style["color"], linewidths=0, zorder=2))
    hubs = np.argsort(-degree[connected], kind="stable")[:12]
    fill = np.full(len(connected), "#e3ebf2", dtype=object)
    fill[hubs] = "#f2c14e"
    area = (144 * radius * scale) ** 2
    ax.scatter(*xy.T, s=area, c=list(fill), edgecolors="#33424f", linewidths=0.5 * scale, zorder=3)
    box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
    for i in hubs:
        above = xy[i] + (0, radius[i] + 0.1 * text / scale)
        ax.annotate(
            _short(labels[connected[i]]),
            above,
            fontsize=8 * text,
            ha="center",
            va="center",
            zorder=5,
            color="#10202e",
            parse_math=False,
            bbox=box,
        )
    note = "named: the variables with most neighbours"
    note += "; dashed: undirected" if (kind == UNDIRECTED).any() else ""
    note += "; thick, two arrowheads: bidirected" if (kind == BIDIRECTED).any() else ""
    ax.text(low[0] + 0.1, high[1] - 0.1, title, fontsize=10 * text, va="top", color="#10202e")
    ax.text(low[0] + 0.1, low[1] + 0.1, note, fontsize=8 * text, va="center", color="#33424f")
    return ax


def _arrowheads(tip: np.ndarray, source: np.ndarray, radius: np.ndarray, length: float = 0.085) -> np.ndarray:
    """Triangles (m, 3, 2) that touch the circles of `radius` round `tip` and point away from `source`."""
    along = tip - source
    along = along / np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    across = along[:, ::-1] * (-1.0, 1.0) * (0.38 * length)
    front = tip - along * (radius[:, None] + 0.005)
    back = front - along * length
    return np.stack([front, back + across, back - across], axis=1)


def _draw_matrix(tail, head, kind, connected, ax, title) -> Axes:
    """Pattern of the graph matrix, rows and columns ordered so that neighbours come near the diagonal."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    if _is_ours(ax):
        ax.figure.set_size_inches(8, 8.4)
        ax.set_position((0.08, 0.06, 0.88, 0.86))
    k = len(connected)
    local = np.full(int(connected.max(initial=0)) + 1, -1)
    local[connected] = np.arange(k)
    a, b = local[tail], local[head]
    pattern = coo_array((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), shape=(k, k)).tocsr()
    place = np.empty(k, dtype=np.int64)
    if k:
        place[reverse_cuthill_mckee(pattern, symmetric_mode=True)] = np.arange(k)
    size = max(1.0, min(9.0, (700.0 / max(k, 1)) ** 2 * 9))
    for name, marker in ((DIRECTED, "s"), (UNDIRECTED, "o"), (BIDIRECTED, "D")):
        chosen = kind == name
        if not chosen.any():
            continue
        rows, columns = place[a[chosen]], place[b[chosen]]
        if name != DIRECTED:
            rows, columns = np.r_[rows, columns], np.r_[columns, rows]
        ax.scatter(columns, rows, s=size, marker=marker, color=_STYLE[name]["color"], linewidths=0, label=name)
    ax.set(xlim=(-0.5, max(k, 1) - 0.5), ylim=(max(k, 1) - 0.5, -0.5), aspect="equal")
    ax.set_xlabel("to (column)", fontsize=9)
    ax.set_ylabel("from (row)", fontsize=9)
    ax.tick_params(labelsize=7)
    ax.set_title(title, fontsize=10, loc="left")
    if k:
        ax.legend(loc="upper right", fontsize=8, markerscale=3 / np.sqrt(size))
    return ax
