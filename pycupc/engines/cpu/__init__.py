"""The cpu engine: Numba, all cores.

cpu_engine.py                      the levels, whichever tests they run
graph.py, combinations.py          the graph between levels; subsets and their ranks
gaussian.py, setwise_levels.py     the two kinds of tests: which code runs which level
level0.py, level1.py, set_walk.py  the Gaussian tests of level 0, of level 1, and of the higher levels
pruning/                           bounds that answer Gaussian tests
answers.py, gaussian_questions.py  questions about single pairs; Gaussian tests given all subsets, in one walk
batches.py, discrete_turns.py      questions about tests without bounds: the next sets of each pair at a time; G^2 tests
conditional_covariances.py         sets of the candidates of a pair, depth first, for that walk and for searches
check.py                           tests of some pairs that bounds have decided, in the mode "checked"
row_tasks.py, threads.py           rows cut into tasks, and the threads that take them
tuning.py                          numbers that change time and memory, and no answer
"""

from __future__ import annotations

from pycupc.engines.cpu.cpu_engine import CpuEngine

__all__ = ["CpuEngine"]
