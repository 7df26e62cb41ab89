"""The numbers of the CPU engine that change its time and memory, and no answer: meaning, unit, how each was found.

"Measured" is on x86-64 machines of 2 to 64 cores. A number without it follows from its reason, and a factor of two
matters little to it.
"""

from __future__ import annotations

# -- memory -----------------------------------------------------------------------------------------------------------

#: Bytes for each of p^2 pairs that level 0 may leave. Measured.
FOUND_BYTES = 10
#: Bytes for whose sake the free memory is not looked up, which takes a tenth of a millisecond.
SURELY_FREE = 1 << 30

# -- threads ----------------------------------------------------------------------------------------------------------

#: Gaussian tests. Fewer are made in the calling thread: starting threads takes longer.
INLINE_TESTS = 100_000
#: Seconds between two reports of progress.
TICK = 0.1
#: Gaussian tests that a task aims at: about a millisecond, so that threads end together.
TASK_TESTS = 250_000
#: A task has at least this many tests for each number that it first gathers from C (d x d for a row of degree d).
GATHER_SHARE = 20
#: Observations that the G^2 tests of a task count: about a millisecond.
TASK_OBSERVATIONS = 1_000_000
#: Observations counted in the time of a Gaussian test, by which work is weighed. Measured.
OBSERVATIONS_PER_GAUSSIAN_TEST = 20
#: Entries of the neighbour lists that a task goes through where a level is set up or settled: about a millisecond.
PART_ENTRIES = 1 << 17

# -- levels 0 and 1 ---------------------------------------------------------------------------------------------------

#: Rows and columns of a tile in the inspection of C: a tile and its mirror image fit the cache of a core together.
INSPECTED_TILE = 256
#: Entries of C in a block of level 0, half a megabyte: the masks made of them stay in the cache of a core.
LEVEL0_ENTRIES = 1 << 16
#: Level 1: sets looked at together, few at first, where a separating set is most likely. Measured.
FIRST_SETS, NEXT_SETS = 16, 64
#: Level 1: rows x by rows y of a tile, whose rows of C stay in the cache. Measured.
LEVEL1_TILE = 16
#: Level 1: a row of C is read from end to end, rather than at the neighbours only, if at least one variable in `SPARSE`
#: is a neighbour. Measured.
SPARSE = 3

# -- levels from 2 on -------------------------------------------------------------------------------------------------

#: Targets are filled up to whole blocks of this many, the width of a vector of 512 bits: few are left to scalar
#: instructions.
BLOCK = 8

# -- questions --------------------------------------------------------------------------------------------------------

#: Sets of a pair in its first round, about the number of tests that most separated pairs need; in each later round four
#: times as many.
FIRST_ROUND = 8
#: Sets of all pairs in a round, about; more would not leave the cache sooner. A part for a thread.
ROUND_SETS, PART_SETS = 1 << 18, 1 << 12
#: All subsets of some candidates: 2^FREE of them are a job, and about `BATCH` a batch: milliseconds, so that Ctrl-C
#: soon takes effect.
FREE = 16
BATCH = 2**17
