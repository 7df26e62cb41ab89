"""Engines make the tests of levels, and answer questions about single pairs; what does not depend on hardware is above.

    protocol.py       what an engine is
    select.py         the choice of the engine: by name, or automatic
    reference.py      plain NumPy, literal, any test: the oracle of the tests
    cpu/              Numba, all cores
    gpu/              CUDA through CuPy: the Schur walk, and cuPC-E and cuPC-S of Zarebavani et al. (2020)
    subsets.py        how many conditioning sets a level has

All engines return the same, canonical answer. Within an engine, the graph between levels (neighbour lists, ranks,
records of removals) is separate from the tests of a level, so that the Gaussian tests and the G^2 tests of discrete
data share it. docs/developers_glossary.md defines the terms.
"""
