"""The GPU engine: CUDA kernels from `kernels/`, loaded through CuPy. Importing this imports no CuPy."""

from __future__ import annotations

from pycupc.engines.gpu.engine import ALGORITHMS, GpuEngine
from pycupc.engines.gpu.session import probe

__all__ = ["ALGORITHMS", "GpuEngine", "probe"]
