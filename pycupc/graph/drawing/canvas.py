"""Shared by all drawings: the style of each kind of edge, and axes measured in inches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import BIDIRECTED, DIRECTED, UNDIRECTED
from pycupc.system.log import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

#: Colours of text, of notes and outlines, of what is highlighted.
INK, GREY, CHOSEN = "#10202e", "#33424f", "#f2c14e"


class EdgeStyle(NamedTuple):
    """The style of one kind of edge, in matplotlib's terms; the width is in points."""

    color: str
    width: float
    dashes: str | tuple[float, tuple[float, ...]]
    arrow: str


EDGE_STYLES = {
    DIRECTED: EdgeStyle("#1d3d5c", 1.2, "solid", "-|>"),
    UNDIRECTED: EdgeStyle("#8a5a00", 1.2, (0, (5, 3)), "-"),
    BIDIRECTED: EdgeStyle("#b3261e", 2.2, "solid", "<|-|>"),
}


@dataclass(frozen=True)
class Canvas:
    """Axes that show the rectangle from `low` to `high`, both (x, y) in inches.

    All sizes in points are multiplied by `scale`, which is less than 1 where the axes are smaller than the rectangle.
    """

    ax: Axes
    low: Floats
    high: Floats
    scale: float

    @classmethod
    def fit(cls, ax: Axes, low: Floats, high: Floats, min_width: float, most: float = 40.0) -> Canvas:
        """Show the rectangle, widened to `min_width`; a figure that the axes fill takes its size, at `most` inches."""
        figure = filled_figure(ax)
        half, middle = max(high[0] - low[0], min_width) / 2, (low[0] + high[0]) / 2
        low, high = np.array([middle - half, low[1]]), np.array([middle + half, high[1]])
        ax.set_axis_off()
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        width, height = high - low
        if figure is not None:
            scale = min(1.0, most / max(width, height))
            figure.set_size_inches(width * scale, height * scale)
        else:
            box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
            scale = min(box.width / width, box.height / height)
        return cls(ax, low, high, float(scale))

    def text(self, x: float, y: float, text: str, points: float, **options: Any) -> None:
        """Write text of a size in points; `options` are those of matplotlib's ``Axes.text``."""
        self.ax.text(x, y, text, fontsize=points * self.scale, **options)

    def edge(self, start: Floats, end: Floats, kind: str, strength: float | None = None, **options: Any) -> None:
        """Draw an edge; `options` are those of matplotlib's ``FancyArrowPatch``."""
        from matplotlib.patches import FancyArrowPatch

        style, scale = EDGE_STYLES[kind], self.scale
        options.update(color=style.color, linewidth=style.width * scale, linestyle=style.dashes)
        if strength is not None:
            wider, opacity = emphasis(strength)
            options.update(linewidth=style.width * scale * wider, alpha=opacity)
        ends = (start[0], start[1]), (end[0], end[1])
        self.ax.add_artist(FancyArrowPatch(*ends, arrowstyle=style.arrow, mutation_scale=11 * scale, **options))


def emphasis(strength: Any) -> tuple[Any, Any]:
    """The factor of the width, and the opacity, of edges whose strength is from 0 to 1."""
    return 0.4 + 1.1 * strength, 0.25 + 0.75 * strength


def filled_figure(ax: Axes) -> Figure | None:
    """The figure of these axes if they fill it, in which case it may be resized to the drawing."""
    from matplotlib.figure import Figure

    figure = ax.figure
    alone = len(figure.axes) == 1 and tuple(ax.get_position().bounds) == (0, 0, 1, 1)
    return figure if alone and isinstance(figure, Figure) else None


def short(label: str) -> str:
    """A label on one line of bounded length."""
    label = printable(" ".join(label.split()))
    return label if len(label) <= 28 else label[:13] + "\u2026" + label[-13:]
