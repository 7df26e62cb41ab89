"""The GPU engine: CUDA kernels from `kernels/`, loaded through CuPy. Importing this package does not import CuPy.

kernels/README.md follows a level from here to the kernels.

engine.py       the engine: takes the problem, runs level after level
graph.py        the graph between levels: level 0, neighbour lists, removals, records
levels.py       a level before it runs: what the host knows about it, what its kernels are told
records.py      a running level, the records of levels that have ended, and the paths that are no colliders
schur.py        the tests of a level by the Schur walk, engine "gpu"
screening.py    a filter before these tests: a walk with bounds, at long levels 3 and 4
pruning.py      a filter before these tests: a search for each pair, at long levels from 5 on
cupc.py         the tests of a level by cuPC-E and cuPC-S
discrete.py     the tests of discrete data, and their graph between levels
smallest.py     the smallest |z| of all tests of each edge, after a run with filters
correlation.py  correlations of data; what is wrong with a given matrix, if anything
device.py       a device: streams, tables, waiting, errors
kernels.py      compiling and launching kernels
transfers.py    copies between host and device, scratch memory
structures.py   the structures that host and kernels share
"""

from __future__ import annotations

from pycupc.engines.gpu.engine import ALGORITHMS, GpuEngine

__all__ = ["ALGORITHMS", "GpuEngine"]
