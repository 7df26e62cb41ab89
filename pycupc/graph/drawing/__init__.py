"""Pictures of a graph."""

from __future__ import annotations

from pycupc.graph.drawing.draw import (
    MAX_LABELLED,
    Variables,
    describe,
    plot,
    positions,
    save,
    save_figure,
    small_picture,
    tikz_of,
)
from pycupc.graph.drawing.shapes import shapes

__all__ = [
    "MAX_LABELLED",
    "Variables",
    "describe",
    "plot",
    "positions",
    "save",
    "save_figure",
    "shapes",
    "small_picture",
    "tikz_of",
]
