"""The GPU engine: CUDA kernels from `kernels/`, loaded through CuPy. Importing this package does not import CuPy.

kernels/README.md follows a level from here to the kernels.

gpu_engine.py               the engine: takes the problem, runs level after level
device_graph.py             the graph between levels: level 0, neighbour lists, removals, records
noncolliders.py             which paths are no colliders, for the orientation, from the records of the whole run
levels.py                   a level before it runs: the host's knowledge about it, the parameters of its kernels
schur.py                    the tests of a level by the Schur walk, engine "gpu"
device_sieve.py             level 0 as a sieve, and a matrix for each row, where the correlation matrix does not fit
hubs.py                     these matrices, and level 1 of hubs, which have too many neighbours for a matrix
device_cost_from_sample.py  the work of a run of very many variables, estimated from some of them
pruning/                    bounds that decide pairs before these tests, at long levels from 3 on
cupc.py                     the tests of a level by cuPC-E and cuPC-S
device_setwise.py           tests without bounds, set by set, and their graph between levels
device_discrete.py          the tests of discrete data
missing.py                  tests of imputed data, by test-wise deletion, and with an n for each pair
kernel_tests.py             the kernel-based test: intervals that hold p-values
kernel_matrices.py          its matrices, made in batches and kept
on_cpu.py                   questions, which the CPU answers
device_answers.py           before that, a search for separating sets where a pair has many sets
device_largest_p_values.py  the smallest |z| of all tests of each edge, after a run with pruning
device_correlation.py       correlations of data; the defects of a given matrix
devices.py                  one run on several devices
sharing.py                  how they share the work of a level, and slices of a long level, after which findings are
                            kept
device.py                   a device: streams, tables, waiting, errors
kernels.py                  compiling and launching kernels
transfers.py                copies between host and device, scratch memory
device_tuning.py            the chosen numbers, and how each was found
structures.py               the structures that host and kernels share
"""

from __future__ import annotations

from pycupc.engines.gpu.gpu_engine import ALGORITHMS, GpuEngine

__all__ = ["ALGORITHMS", "GpuEngine"]
