"""Engines run the tests of one level. Everything that does not depend on hardware is above them and exists once.

    base.py        what an engine is
    select.py      the choice of the engine: by name, or automatic
    reference.py   plain NumPy, literal, any `indepTest`: the oracle of the tests
    cpu/           Numba, all cores
    gpu/           CUDA through CuPy: the Schur walk, and cuPC-E and cuPC-S of Zarebavani et al. (2020)
    subsets.py     how many conditioning sets a level has

An engine takes the correlation matrix once (`start`), then runs level after level (`run_level`) and reports the
removals of each. All engines return the same, canonical answer. Within an engine, the graph between levels (neighbour
lists, ranks, records of removals) is separate from the tests of a level, so that the Gaussian tests and the G^2 tests
of discrete data share it.

docs/GLOSSARY.md defines the terms: level, row, side, target, prefix, suffix, rank, doubtful, bound, and the others.
"""
