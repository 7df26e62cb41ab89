"""Pictures of a graph."""

from __future__ import annotations

from pycupc.plotting.draw import describe, plot, rehearse, save, small_picture
from pycupc.plotting.neighbourhood import Variables, positions
from pycupc.plotting.network import prepare

__all__ = ["Variables", "describe", "plot", "positions", "prepare", "rehearse", "save", "small_picture"]
