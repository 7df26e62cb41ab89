"""The GPU engine: CUDA kernels from `kernels/`, loaded through CuPy. Importing this imports no CuPy.

engine.py       the engine: takes the problem, runs level after level
graph.py        the graph between levels: level 0, neighbour lists, removals, records
records.py      a level that runs, and the records of those that have ended
schur.py        the tests of a level by the Schur walk, engine "gpu"
screening.py    a filter before them: a walk with bounds, long levels 3 and 4
pruning.py      a filter before them: a search for each pair, long levels from 5 on
cupc.py         the tests of a level by cuPC-E and cuPC-S
discrete.py     the tests of discrete data, and their graph between levels
correlation.py  correlations of data
device.py       a device: streams, tables, waiting, errors
kernels.py      compiling and launching
transfers.py    copies between host and device, scratch memory
structures.py   the structures that host and kernels share
"""

from __future__ import annotations

from pycupc.engines.gpu.engine import ALGORITHMS, GpuEngine

__all__ = ["ALGORITHMS", "GpuEngine"]
