"""The overview of a graph that is too large to be drawn as a network: the pattern of its adjacency matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.drawing.canvas import EDGE_STYLES, GREY, filled_figure
from pycupc.graph.sparse import KINDS, SparseGraph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Most cells of the picture along each side; a larger matrix shares them.
CELLS = 500


def draw_matrix(graph: SparseGraph, ax: Axes, title: str) -> None:
    """Draw the pattern of the matrix, its variables in an order that puts neighbours near the diagonal.

    It is drawn as an image, so that the time does not depend on the number of edges. A cell of the image takes the
    colour of the kind of most of its edges, and is darker the more there are.
    """
    from matplotlib.colors import ListedColormap, NoNorm
    from matplotlib.patches import Patch

    figure = filled_figure(ax)
    if figure is not None:
        figure.set_size_inches(8, 8.6)
        ax.set_position((0.09, 0.08, 0.87, 0.82))
    p = max(graph.p, 1)
    place = _order(graph)
    image, colours, kinds = _image(graph, place)
    # numbers of colours: for colours themselves matplotlib takes several times as long, and 50 MB
    style: dict[str, Any] = {"cmap": ListedColormap(colours), "norm": NoNorm(), "interpolation_stage": "data"}
    ax.imshow(image, extent=(0.5, p + 0.5, p + 0.5, 0.5), interpolation="nearest", **style)
    order = "neighbours near each other: reverse Cuthill-McKee order"
    ax.set_xlabel(f"position of the variable an edge goes to (column), 1 to {p:,}\n{order}", fontsize=9)
    ax.set_ylabel(f"position of the variable an edge comes from (row), 1 to {p:,}", fontsize=9)
    ax.tick_params(labelsize=7)
    ax.set_title(title, fontsize=10, loc="left", y=1.005)  # matplotlib takes long to find a place itself
    if kinds:
        forms = {kind: "in both cells" if one == two else "from row to column" for kind, (one, two) in KINDS.items()}
        patches = [Patch(color=EDGE_STYLES[kind].color, label=f"{kind} ({forms[kind]})") for kind in kinds]
        legend = ax.legend(handles=patches, loc="upper right", fontsize=8, framealpha=0.9)
        legend.get_frame().set_edgecolor(GREY)


def _order(graph: SparseGraph) -> NDArray[np.int64]:
    """Position of each variable, so that neighbours lie near each other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    place = np.empty(graph.p, dtype=np.int64)
    if graph.p:
        ends, other_ends = np.r_[graph.low, graph.high], np.r_[graph.high, graph.low]
        pattern = coo_array((np.ones(len(ends)), (ends, other_ends)), shape=(graph.p, graph.p)).tocsr()
        place[reverse_cuthill_mckee(pattern, symmetric_mode=True)] = np.arange(graph.p)
    return place


def _image(graph: SparseGraph, place: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64], list[str]]:
    """Colour of each cell, int64 (side, side), 0 (white) without edges; colours, float64 (k, 3); kinds of edges."""
    from matplotlib.colors import to_rgb

    p = max(graph.p, 1)
    side = min(p, CELLS)
    tail, head, kind = graph.edge_list()
    counts = []
    kinds = [name for name, n in graph.counts().items() if n]
    for name in kinds:
        row, column = place[tail[kind == name]], place[head[kind == name]]
        if len({*KINDS[name]}) == 1:
            row, column = np.r_[row, column], np.r_[column, row]
        cell = (row * side // p) * side + column * side // p
        counts.append(np.bincount(cell, minlength=side * side))
    image, colours = np.zeros(side * side, dtype=np.int64), np.ones((1, 3))
    if kinds:
        table = np.stack(counts)
        total = table.sum(axis=0)
        there = total > 0
        pure = np.array([to_rgb(EDGE_STYLES[name].color) for name in kinds])[table[:, there].argmax(axis=0)]
        strength = 0.55 + 0.45 * np.minimum(1.0, np.sqrt(total[there] / max(1, int(np.quantile(total[there], 0.95)))))
        others, number = np.unique(1 - strength[:, None] * (1 - pure), axis=0, return_inverse=True)
        colours = np.vstack([colours, others])
        image[there] = 1 + number.ravel()
    return image.reshape(side, side), colours, kinds
