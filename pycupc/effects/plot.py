"""Ranked dot plot of effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pycupc.effects.regression import Floats
from pycupc.graph.drawing.canvas import CHOSEN, GREY, INK, short
from pycupc.system.extras import needed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def dot_plot(table: pd.DataFrame, values: Sequence[Floats], ax: Axes | None) -> Axes:
    """Draw the rows of `Effects.top` from above: rings for all `values`, a dot and its interval for the smallest."""
    if ax is None:
        Figure = needed("matplotlib.figure", "drawing", "plot").Figure
        ax = Figure(figsize=(7, 1.2 + 0.28 * len(table)), layout="constrained").add_subplot()
    rows = np.arange(len(table))
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.hlines(rows, table["low"], table["high"], color=INK, linewidth=1.5)
    for row, several in enumerate(values):
        ax.plot(several, np.full(len(several), row), "o", color=GREY, markerfacecolor="none", markersize=6, zorder=2.5)
    ax.plot(table["value"], rows, "o", color=INK, markerfacecolor=CHOSEN, markersize=7, zorder=3)
    names = [f"{short(x)} \u2192 {short(y)}" for x, y in zip(table["cause"], table["effect"], strict=True)]
    ax.set_yticks(rows, names)
    ax.set_ylim(len(table) - 0.5, -0.5)
    ax.set_xlabel("possible total effects; filled: the smallest, with its interval given the graph")
    return ax
