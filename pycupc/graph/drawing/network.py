"""The drawing of a medium-sized graph as a network of dots, with as many labels as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.drawing.canvas import GREY, HEAD, INK, Canvas, Floats, room_of, short
from pycupc.graph.drawing.layout import layout
from pycupc.graph.drawing.look import Look
from pycupc.graph.drawing.modules import modules_of
from pycupc.graph.sparse import BIDIRECTED, KINDS, UNDIRECTED, SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Places = NDArray[np.integer]

#: Largest graph in which all variables are named, as far as there is room for their labels.
MAX_NAMED = 300
#: Number of variables that are named in a larger network: those with the most neighbours.
HUBS = 24
#: Smallest module whose variable with most neighbours is named before all others.
LARGER = 12
#: Size of labels in points.
POINTS = 7.0


def draw_network(graph: SparseGraph, labels: Sequence[str], ax: Axes, title: str, look: Look) -> None:
    """Draw each variable as a dot that grows with its number of neighbours, and name those there is room for."""
    degree = graph.degrees()
    named = graph.p if graph.p <= MAX_NAMED else HUBS
    module = modules_of(graph)
    xy, radius = place_dots(graph, module)
    wide = max(10.0, float(np.ptp(xy[:, 0])))
    enlarged = wide / 10  # text of a large picture, which is viewed from a greater distance
    points = POINTS if named == graph.p else 8 * enlarged
    order = _named_first(degree, module)[:named]
    boxes = [_text_size(short(labels[v]), points) for v in order.tolist()]
    margin = np.array([0.25 + max(width for width, _ in boxes) if named == graph.p else 0.35, 0.55 * enlarged])
    low = xy.min(axis=0) - margin
    high = xy.max(axis=0) + margin + (0.0, 0.25 * enlarged * (1 + title.count("\n")) * bool(title))
    room, strength = room_of(ax, look.figsize), look.strength
    canvas = Canvas.fit(ax, low, high, room, min_width=8.0, most=30.0 if named == graph.p else 16.0)
    tail, head, kind = graph.edge_list()
    lines = _between_dots(xy[tail], xy[head], radius[tail], radius[head])
    opacity = np.full(len(graph), 0.55)
    if module is not None:
        opacity[module[tail] != module[head]] = 0.22
        _areas(canvas, xy, module)
    heads = [np.zeros((2, 0, 2))]
    for name in KINDS:
        if len(some := np.flatnonzero(kind == name)):
            of_some = None if strength is None else strength[some]
            heads.append(canvas.edges(name, lines[some], of_some, thin=0.45, opacity=opacity[some]))
    if look.on_path is not None:
        canvas.halo(list(lines[look.on_path]))
    _dots(canvas, xy, radius, look)
    obstacles = np.zeros((2, 0, 2))  # in an overview, hubs are named over the small dots and arrowheads of others
    if named == graph.p:
        dots = np.stack([xy - radius[:, None], xy + radius[:, None]])
        obstacles = np.concatenate([dots, *heads], axis=1)
    places = place_labels(xy, radius, order, np.array(boxes).reshape(-1, 2), obstacles, lines)
    style: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 5, "color": INK, "parse_math": False}
    style["bbox"] = {"facecolor": "white", "linewidth": 0, "pad": 0.5}  # lines end at a label and go on behind it
    for v, (x, y) in places.items():
        canvas.text(x, y, short(labels[v]), points, **style)
    canvas.text(canvas.low[0] + 0.1, canvas.high[1] - 0.1, title, 10 * enlarged, va="top", color=INK)
    if look.legend:
        note = _note(len(places), graph, module)
        canvas.text(canvas.low[0] + 0.1, canvas.low[1] + 0.05 * enlarged, note, 8 * enlarged, va="bottom", color=GREY)
        _name_groups(canvas, look, enlarged)


def _dots(canvas: Canvas, xy: Floats, radius: Floats, look: Look) -> None:
    """Draw the dots, each group in its colour and form."""
    size, outline = (144 * radius * canvas.scale) ** 2, 0.5 * canvas.scale
    group = np.full(len(xy), -1) if look.group is None else look.group
    for k in np.unique(group).tolist():
        own = np.flatnonzero(group == k)
        style = look.style(int(own[0]))
        fill, line, form = ("#e3ebf2", GREY, "o") if style is None else (style.fill, style.line, style.dot)
        wide = outline if style is None else 2 * outline
        canvas.ax.scatter(
            xy[own, 0], xy[own, 1], size[own], fill, marker=form, edgecolors=line, linewidths=wide, zorder=3
        )


def _name_groups(canvas: Canvas, look: Look, enlarged: float) -> None:
    """Name the groups beside their forms, in the upper right corner."""
    for k, (name, style) in enumerate(look.groups_there()):
        x, y = canvas.high - np.array([0.15, 0.2 + 0.22 * k]) * enlarged
        size = (9 * enlarged * canvas.scale) ** 2
        canvas.ax.scatter(x, y, size, style.fill, marker=style.dot, edgecolors=style.line, zorder=6)
        canvas.text(x - 0.12 * enlarged, y, name, 8 * enlarged, ha="right", va="center", color=INK, parse_math=False)


def _named_first(degree: Places, module: Places | None) -> Places:
    """The variables in the order in which they are named: the hub of each larger module, then by their neighbours."""
    order = np.argsort(-degree, kind="stable")
    if module is None:
        return order
    numbers, first = np.unique(module[order], return_index=True)
    larger = (numbers >= 0) & (np.bincount(module + 1)[numbers + 1] >= LARGER)
    hubs = order[np.sort(first[larger])]
    return np.concatenate([hubs, order[~np.isin(order, hubs)]])


def _areas(canvas: Canvas, xy: Floats, module: Places) -> None:
    """A pale ellipse behind each module."""
    from matplotlib.patches import Ellipse

    for k in range(int(module.max()) + 1):
        own = xy[module == k]
        (x, y), (width, height) = (own.min(axis=0) + own.max(axis=0)) / 2, 1.2 * np.ptp(own, axis=0) + 0.2
        canvas.ax.add_patch(Ellipse((x, y), width, height, facecolor="#f2f5f8", edgecolor="none", zorder=0))


def _between_dots(start: Floats, end: Floats, at_start: Floats, at_end: Floats) -> Floats:
    """Lines (m, 2, 2) without the lengths (m,) that dots cover at their ends: a line takes time by its length."""
    step = end - start
    length = np.maximum(np.linalg.norm(step, axis=1), 1e-9)
    first = np.minimum(at_start / length, 1.0)
    last = np.maximum(1.0 - at_end / length, first)
    return np.stack([start + first[:, None] * step, start + last[:, None] * step], axis=1)


def place_dots(graph: SparseGraph, module: NDArray[np.int64] | None = None) -> tuple[Floats, Floats]:
    """Where the dots of a network lie, float64 (p, 2), and their radii, float64 (p,); `module` as of `layout`."""
    degree = graph.degrees()
    radius: Floats = 0.03 + 0.011 * np.sqrt(degree)
    spacing = 0.42
    if (connected := int((degree > 0).sum())) <= MAX_NAMED:  # room for labels, between arrowheads
        spacing = 0.8 * min(2.0, max(1.0, len(graph) / (2 * max(connected, 1))))
    sizes = np.repeat(np.where(degree > 0, 2 * radius, spacing)[:, None], 2, axis=1)
    return layout(graph, sizes, spacing, module), radius


#: How to read the lines of each kind of edge but directed ones.
_FORMS = {
    UNDIRECTED: "dashed",
    BIDIRECTED: "thick, two arrowheads",
    "partially directed": "circle and arrowhead",
    "nondirected": "two circles",
    "partially undirected": "one circle",
}


def _note(named: int, graph: SparseGraph, module: Places | None) -> str:
    """The caption: which variables are named, what the dots and axes mean, and how to read the lines."""
    note = "" if named == graph.p else f"named: {named} of {graph.p:,} variables, those with most neighbours first; "
    there = [f"; {_FORMS[kind]}: {kind}" if n and kind in _FORMS else "" for kind, n in graph.counts().items()]
    note += "" if module is None else "areas: modules, with many edges inside; paler: edges between modules; "
    note += f"larger dots have more neighbours{''.join(there[3:])}\n"
    return f"{note}neighbours lie near each other, the axes have no unit{''.join(there[:3])}"


def _text_size(text: str, points: float) -> tuple[float, float]:
    """Width and height of a text in inches, as it will be drawn."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    width, _, _ = TextToPath().get_text_width_height_descent(text, FontProperties(size=points), False)
    return width / 72 + 0.03, 1.25 * points / 72


def place_labels(
    xy: Floats, radius: Floats, order: Places, sizes: Floats, obstacles: Floats, lines: Floats
) -> dict[int, tuple[float, float]]:
    """Centres of labels beside their dots, so that no label covers another label or an obstacle.

    A label covers no line either, unless each free place beside its dot does.

    `xy` (p, 2) and `radius` (p,) are the dots; `order`, int (k,), the variables to name, the most important first;
    `sizes` (k, 2) the widths and heights of their labels; `obstacles` (2, q, 2) the lower left and upper right corners
    of dots and arrowheads; `lines` (m, 2, 2) the ends of edges. Returns the centres of the labels for
    which there is room, by variable.
    """
    taken_low, taken_high = obstacles
    sides = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1)])
    diagonal = np.where(np.abs(sides).sum(axis=1, keepdims=True) == 2, 0.72, 1.0)
    placed: dict[int, tuple[float, float]] = {}
    for v, size in zip(order.tolist(), sizes, strict=True):
        beside = max(radius[v], 0.05) + 0.015  # further candidates lie beyond the arrowheads at this dot
        away = diagonal * [[[beside]], [[beside + HEAD]], [[beside + 2 * HEAD]]]
        chosen = None
        for centre in (xy[v] + sides * (size / 2 + away)).reshape(-1, 2):
            low, high = centre - size / 2, centre + size / 2
            if ((taken_low < high) & (taken_high > low)).all(axis=1).any():
                continue
            free = not crossed(low, high, lines).any()
            if free or chosen is None:
                chosen = low, high
            if free:
                break
        if chosen is not None:
            low, high = chosen
            taken_low, taken_high = np.vstack([taken_low, low]), np.vstack([taken_high, high])
            placed[v] = float((low[0] + high[0]) / 2), float((low[1] + high[1]) / 2)
    return placed


def crossed(low: Floats, high: Floats, lines: Floats) -> NDArray[np.bool_]:
    """Which of the `lines` (m, 2, 2) meet the rectangle with these corners."""
    start, step = lines[:, 0], lines[:, 1] - lines[:, 0]
    step = np.where(np.abs(step) < 1e-9, 1e-9, step)
    one, two = (low - start) / step, (high - start) / step
    enter, leave = np.minimum(one, two).max(axis=1), np.maximum(one, two).min(axis=1)
    return np.asarray((enter < leave) & (leave > 0) & (enter < 1))
