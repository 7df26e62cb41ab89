"""Shared by all drawings: the style of each kind of edge, and axes measured in inches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.graph.sparse import ARROW, BIDIRECTED, CIRCLE, DIRECTED, KINDS, TAIL, UNDIRECTED
from pycupc.system.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

#: Colours of text, of notes and outlines, of what is highlighted.
INK, GREY, CHOSEN = "#10202e", "#33424f", "#f2c14e"
#: Length of the arrowheads, and diameter of the circles, at the ends of edges, in inches.
HEAD = 0.085


class EdgeStyle(NamedTuple):
    """The style of one kind of edge, in matplotlib's terms; the width is in points. `KINDS` has the marks of a kind."""

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
    def fit(
        cls, ax: Axes, low: Floats, high: Floats, room: Floats | None, min_width: float, most: float = 40.0
    ) -> Canvas:
        """Show the rectangle, widened to `min_width`, and to the shape of the `room` for it, of `room_of`.

        Without `room` the figure, which the axes fill, takes the size of the drawing, at `most` inches.
        """
        half, middle = max(high[0] - low[0], min_width) / 2, (low[0] + high[0]) / 2
        low, high = np.array([middle - half, low[1]]), np.array([middle + half, high[1]])
        ax.set_axis_off()
        ax.set_aspect("equal", adjustable="box")
        if room is None:
            scale = min(1.0, most / float(max(high - low)))
            ax.figure.set_size_inches(*((high - low) * scale))  # type: ignore[union-attr]
        else:
            scale = float((room / (high - low)).min())
            wider = (room / scale - (high - low)) / 2
            low, high = low - wider, high + wider
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        return cls(ax, low, high, float(scale))

    def text(self, x: float, y: float, text: str, points: float, **options: Any) -> None:
        """Write text of a size in points; `options` as of matplotlib's ``Axes.text``."""
        self.ax.text(x, y, text, fontsize=points * self.scale, **options)

    def halo(self, lines: Sequence[Floats]) -> None:
        """Draw a broad pale band below lines, which highlights them."""
        from matplotlib.collections import LineCollection

        band = LineCollection(list(lines), colors=CHOSEN, linewidths=7 * self.scale, capstyle="round", zorder=0.5)
        self.ax.add_collection(band, autolim=False)

    def edges(
        self, kind: str, lines: Floats, strength: Floats | None = None, thin: float = 1.0, opacity: float | Floats = 1.0
    ) -> Floats:
        """Draw edges of one kind, all together, which is much faster than one by one.

        `lines`, float64 (m, k, 2), are points on the way from what the first end of each touches to what the second
        does; `strength`, (m,) or None, is from 0 to 1; widths are multiplied by `thin`. Returns the lower left and
        upper right corners of their arrowheads and circles, float64 (2, q, 2).
        """
        from matplotlib.collections import LineCollection, PathCollection
        from matplotlib.colors import to_rgb
        from matplotlib.lines import Line2D
        from matplotlib.path import Path

        style, heads = EDGE_STYLES[kind], np.zeros((0, 4, 2))
        for mark in KINDS[kind]:  # first the marks at the first ends, then those at the others
            lines, triangles = _marked(lines) if mark != TAIL else (lines, heads[:0])
            lines, heads = lines[:, ::-1], np.concatenate([heads, triangles])
            if mark == CIRCLE:
                ring = Line2D(*triangles.mean(axis=1).T, linestyle="none", marker="o", markerfacecolor="white")
                ring.set(markeredgecolor=style.color, markersize=(72 * HEAD - 1) * self.scale, zorder=2.5)
                ring.set_markeredgewidth(self.scale)
                self.ax.add_artist(ring)
            elif mark == ARROW:
                codes = np.tile([Path.MOVETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY], len(triangles))
                path = Path(triangles.reshape(-1, 2), codes)
                drawn = PathCollection([path], facecolors=style.color, linewidths=0, zorder=2)
                self.ax.add_collection(drawn, autolim=False)
        wider, opaque = np.ones(len(lines)), np.full(len(lines), opacity)
        if strength is not None:
            wider, opaque = 0.4 + 1.1 * strength, 0.25 + 0.75 * strength
        order = np.argsort(opaque, kind="stable")  # the strongest above the others
        # blended with white instead of transparent: where lines cross they do not become darker, so that arrowheads
        # remain visible in a crowd
        colours = 1 - opaque[:, None] * (1 - np.array(to_rgb(style.color)))
        line = LineCollection(list(lines[order]), colors=colours[order], linestyles=[style.dashes], zorder=1)
        line.set(linewidths=thin * style.width * self.scale * wider[order])
        self.ax.add_collection(line, autolim=False)
        return np.stack([heads.min(axis=1), heads.max(axis=1)])


def _marked(lines: Floats) -> tuple[Floats, Floats]:
    """The lines without their first `HEAD` inches, and a closed triangle there, float64 (m, 4, 2).

    All triangles turn the same way, so that where two overlap the path of both has no hole.
    """
    tip, k = lines[:, :1], lines.shape[1]
    far = np.linalg.norm(lines - tip, axis=2) >= HEAD
    beyond = np.where(far.any(axis=1), far.argmax(axis=1), k - 1)[:, None]
    along = np.take_along_axis(lines, beyond[:, :, None], axis=1) - tip
    along = along * (HEAD / np.maximum(np.linalg.norm(along, axis=2, keepdims=True), 1e-9))
    base, across = tip + along, 0.38 * along[:, :, ::-1] * (1.0, -1.0)
    left = np.where((np.arange(k) < beyond)[:, :, None], base, lines)
    return left, np.concatenate([tip, base + across, base - across, tip], axis=1)


def room_of(ax: Axes, figsize: tuple[float, float] | None) -> Floats | None:
    """Width and height of axes in inches; None if they fill a figure that takes the size of the drawing.

    With `figsize` such a figure takes this size; ValueError if there is none.
    """
    figure = filled_figure(ax)
    if figsize is not None:
        if figure is None:
            raise ValueError("figsize is the size of a new figure: leave out ax, or set the size of its figure")
        figure.set_size_inches(*figsize)
    elif figure is not None:
        return None
    box = ax.get_window_extent().transformed(ax.figure.dpi_scale_trans.inverted())
    return np.array([box.width, box.height])


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
