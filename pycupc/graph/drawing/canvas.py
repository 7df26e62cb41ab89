"""Shared by all drawings: the style of each kind of edge, and axes measured in inches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pycupc.graph.sparse import ARROW, BIDIRECTED, CIRCLE, DIRECTED, KINDS, UNDIRECTED
from pycupc.system.log import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

#: Colours of text, of notes and outlines, of what is highlighted.
INK, GREY, CHOSEN = "#10202e", "#33424f", "#f2c14e"


#: Diameter of a circle at the end of an edge, in inches.
CIRCLE_SIZE = 0.085


class EdgeStyle(NamedTuple):
    """The style of one kind of edge, in matplotlib's terms; the width is in points. Its marks are those of `KINDS`."""

    color: str
    width: float = 1.2
    dashes: str | tuple[float, tuple[float, ...]] = "solid"


EDGE_STYLES = {
    DIRECTED: EdgeStyle("#1d3d5c"),
    UNDIRECTED: EdgeStyle("#8a5a00", dashes=(0, (5, 3))),
    BIDIRECTED: EdgeStyle("#b3261e", 2.2),
    "partially directed": EdgeStyle("#1b6e4b"),
    "nondirected": EdgeStyle("#6a4c93"),
    "partially undirected": EdgeStyle("#a4337f"),
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

        style, scale, (first, second) = EDGE_STYLES[kind], self.scale, KINDS[kind]
        options.update(color=style.color, linewidth=style.width * scale, linestyle=style.dashes)
        if strength is not None:
            wider, opacity = emphasis(strength)
            options.update(linewidth=style.width * scale * wider, alpha=opacity)
        arrow = "<|" * (first == ARROW) + "-" + "|>" * (second == ARROW)
        line = FancyArrowPatch((*start,), (*end,), arrowstyle=arrow, mutation_scale=11 * scale, **options)
        self.ax.add_artist(line)
        # begins with the line, and is nothing else without arrowheads
        path = np.asarray(line.get_path().vertices, dtype=np.float64)
        inward = [path[:2]] * (first == CIRCLE) + [path[:-3:-1]] * (second == CIRCLE)
        self.circles([tip + CIRCLE_SIZE / 2 * _unit(away - tip) for tip, away in inward], style.color, 2.5)

    def circles(self, centres: ArrayLike, color: str, zorder: float) -> None:
        """Draw the circles at ends of edges, float64 (k, 2)."""
        from matplotlib.lines import Line2D

        at = np.asarray(centres, dtype=np.float64).reshape(-1, 2)
        style: dict[str, Any] = {"marker": "o", "markerfacecolor": "white", "markeredgecolor": color, "zorder": zorder}
        style.update(markersize=(72 * CIRCLE_SIZE - 1) * self.scale, markeredgewidth=self.scale)
        if len(at):
            self.ax.add_artist(Line2D(at[:, 0], at[:, 1], linestyle="none", **style))


def _unit(step: Floats) -> Floats:
    return step / max(float(np.linalg.norm(step)), 1e-9)


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
