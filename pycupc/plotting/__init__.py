"""Pictures of a graph."""

from __future__ import annotations

from pycupc.plotting.draw import plot, save, small_picture

__all__ = ["plot", "save", "small_picture"]
