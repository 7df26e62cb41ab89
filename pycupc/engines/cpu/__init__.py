"""The cpu engine: Numba, all cores."""

from __future__ import annotations

from pycupc.engines.cpu.engine import CpuEngine

__all__ = ["CpuEngine"]
