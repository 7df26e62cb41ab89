"""Engines run the tests of one level. Everything that does not depend on hardware is above them and exists once.

    base.py        what an engine is
    select.py      the choice of the engine: by name, or automatic
    reference.py   plain NumPy, literal, any `indepTest`: the oracle of the tests
    cpu/           Numba, all cores
    gpu/           CUDA through CuPy: the Schur walk, and cuPC-E and cuPC-S of Zarebavani et al. (2020)
    subsets.py     how many conditioning sets a level has

An engine takes the correlation matrix once (`start`), then runs level after level (`run_level`) and reports what each
removed. All engines return the same, canonical answer. Within an engine, the graph between levels (neighbour lists,
ranks, records of removals) is separate from the tests of a level, so that the Gaussian tests and the G^2 tests of
discrete data share it.

Glossary for code, tables and documentation:

    level               size l of the conditioning sets
    row x               the tests of the edges x - y for one x, with conditioning sets from adj(x)
    side                A: the pairs (x, y) with x < y; B: those with x > y, tested only where side A did not separate
    target              a y of row x whose edge is tested at this level and not separated yet
    conditioning set    S, a subset of adj(x) without y with l members; its first members are the prefix, its last ones
                        the suffix (on the CPU a single last member)
    rank                position of S among these subsets in lexicographic order, from 0
    separating set      a conditioning set given which the test calls x and y independent; the first by rank is kept
    cutoff              largest |r| that a test calls independent
    canonical formula   the one definition of a partial correlation (`pycupc.gaussian.partial_correlation`)
    doubtful            said of a test: the fast formula cannot decide it with certainty; the canonical formula does
    bound               an inequality that proves that no set of a family (some members taken, others to be chosen from
                        candidates) separates a pair; the tests that it answers are not made: they are pruned
    ill-conditioned     said of a correlation matrix: it has a pivot below the floor; otherwise it is sound
"""
