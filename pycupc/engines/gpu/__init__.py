"""The GPU engine: CUDA kernels from `kernels/`, loaded through CuPy. Importing this imports no CuPy."""

from __future__ import annotations

from pycupc.engines.gpu.engine import ALGORITHMS, GpuEngine

__all__ = ["ALGORITHMS", "GpuEngine"]
