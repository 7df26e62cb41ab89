"""The cpu engine: Numba, all cores.

cpu_engine.py                      the levels, whichever tests they run
graph.py, neighbour_lists.py       the graph between levels, and compiled passes over its lists
combinations.py                    subsets and their ranks
gaussian.py, setwise_levels.py     the two kinds of tests: which code runs which level, and its items
level0.py, level1.py               the Gaussian tests of level 0, and of level 1
set_walk.py                        the compiled walk of the higher levels without bounds
pruning/                           bounds that answer Gaussian tests
answers.py, gaussian_questions.py  questions about single pairs; Gaussian tests given all subsets, in one walk
turn_walk.py, setwise_walk.py      tests without bounds: pairs in turns, in compiled code; rounds of the next sets
conditional_covariances.py         sets of the candidates of a pair, depth first, for that walk and for searches
check.py                           tests of some pairs that bounds have decided, in the mode "checked"
row_items.py, threads.py           the items of a side, and the threads that take them
walk_arrays.py, submatrices.py     arrays that walks read and write; where they read correlations
tuning.py                          numbers that change time and memory, and no answer
"""

from __future__ import annotations

from pycupc.engines.cpu.cpu_engine import CpuEngine

__all__ = ["CpuEngine"]
