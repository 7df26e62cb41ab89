"""The chosen numbers of the GPU engine: their unit, their meaning, and how each was found. None changes an answer.

"Log" stands for kernels/log.md, whose measurements are from an H200; "judged" means that no other value was
measured. Sizes that a kernel fixes stand beside the code that shares them with it, and the numbers of pruning in
`pruning.walk.Tuning` and `pruning.search.Tuning`.
"""

from __future__ import annotations

import os

# -- a run ----------------------------------------------------------------------------------------------------------

#: Bytes of scratch memory that a process keeps from run to run, at most. Judged.
KEPT_SCRATCH = 1 << 30
#: Bytes of device memory whatever the number of variables: counters, tables, scratch. Judged.
FIXED_BYTES = 32 << 20
#: Bytes up to which nobody asks whether they are free, since the driver takes a while to answer. Judged.
UNCHECKED_BYTES = 1 << 30
#: Tests of a level, at most, that is launched before it is asked for, so that Python works while the device does: such
#: a level takes a fraction of a second. Log, "The whole call": taken instead of 1e9, not measured by itself.
AHEAD = 1e10
#: Share of a level's tests: if more are doubtful, the next level runs in kernels made for ill-conditioned data. Log,
#: "What was tried": these are 3 % to 15 % slower on dense sound data, and twice as fast on ill-conditioned data.
ILL_SHARE = 0.05
#: Seconds between two calls of the progress hook. Judged: a bar moves smoothly.
TICK = 0.2
#: A guess at the neighbours that level 1 leaves to each variable, and each other level, as shares: kernels are compiled
#: ahead for it. Judged: level 1 leaves 1/90 to 2/5, levels 2 to 4 a third to three quarters.
LEFT = (0.1, 0.5)
#: Seconds after which kernels that load are announced: from CuPy's cache they take milliseconds. Judged.
NOTICE_AFTER = 0.5

# -- levels in parts, where findings are kept ------------------------------------------------------------------------

#: Products of two numbers in a part of level 0: 10 s or so at the rate of an H100, 1.5e14 a second. Judged.
PART_PRODUCTS = 1.5e15
#: A level with this number of tests or more is cut into slices, and the first slice has this number: it takes seconds.
#: The largest factor by which a slice grows from the slice before, and the seconds that it should take. Judged.
SLICED_FROM, SLICE_GROWTH, SLICE_SECONDS = 1e11, 4.0, 10.0

# -- the graph between levels ---------------------------------------------------------------------------------------

#: Ordered pairs for each block of `settle`. Judged: two pairs per thread.
SETTLE_PAIRS = 1024
#: Bytes of work space of `finish`, at most. Judged.
FINISH_BYTES = 64 << 20

# -- the sieve ------------------------------------------------------------------------------------------------------

#: Number of variables from which level 0 goes by the sieve where data are given. Judged.
SIEVE_FROM = 10_000
#: From this number of variables on, an estimate is made from a sample. Judged: level 0 takes 0.02 s.
SAMPLED_FROM = 100_000
#: Entries of the matrices of all rows, as a share of p^2: with more, all correlations are computed if they fit. Judged.
ROWS_SHARE = 0.1
#: Device memory per pair that the sieve picks, at least: the pair, its r, and its two entries in two sets of lists.
BYTES_PER_PICKED = 108
#: An error recommends an alpha that is smaller by fewer than this many powers of ten. Judged.
SMALLER_ALPHAS = 40
#: Pairs per variable for which the sieve has room at first, 16 bytes each. Judged: sparse data have 10 or so.
PICKED_PER_VARIABLE = 32
#: Tiles on a side of the squares in which the sieve goes through the matrix. Judged: 32 columns of tiles of 200
#: observations are 1.7 MB, which the L2 cache of any device holds.
TILES_ON_SIDE = 16

#: A variable with more neighbours after level 0 is a hub: it has no matrix at level 1. Bytes of a stripe of the matrix
#: that it would have, at most. Judged: one block makes the matrix of a row, of this size in 0.2 s.
HUB, STRIPE_BYTES = 8192, 1 << 30

# -- the Schur walk -------------------------------------------------------------------------------------------------

#: Largest degrees of the first five classes of rows; the sixth class, of all larger rows, goes through tiles. Log:
#: with rows of up to 160 neighbours in shared memory, level 4 of stock returns from 26 to 19 ms.
BOUNDS = (24, 32, 64, 96, 160)
#: Threads per block of each class: one warp where a prefix has few suffixes, more where it has many. Log: as above.
THREADS = (32, 32, 128, 256, 512, 256)
#: Conditioning sets per prefix that pay for conditioning on it; likewise for each warp of the block, where a level has
#: plenty of sets. Log, "Single precision": level 4 of stock returns from 13.0 to 7.7 ms.
SETS_PER_PREFIX, PLENTY_PER_PREFIX = 40.0, 55.0
#: Conditioning sets of a level per multiprocessor that are many, so that full warps matter more than an even load, and
#: plenty. Log: on ill-conditioned data two-member suffixes lose from 1e7 sets on; other levels gain from 160,000 on.
MANY_SETS, PLENTY_OF_SETS = 64e3, 160e3
#: Conditioning sets per work item: for blocks of one warp, and for larger blocks. Log, "Single precision": work items
#: two and four times as large are within 2 %.
SETS_PER_ITEM, SETS_PER_LARGE_ITEM = 512.0, 4096.0
#: Columns per tile of the last but one member: at level 2, and above. Log: 8 everywhere lose 25 % at levels 3 and 4.
TILE_COLUMNS = (16, 32)
#: The same on ill-conditioned data, and the factor of the sets per item there. Log: level 3 from 58 to 8 ms.
ILL_TILE_COLUMNS, ILL_ITEM = 8, 1 / 8
#: Bytes of work space of the canonical formula for all warps of a class; at deep levels fewer lanes share it. Judged.
SCHUR_WORK_BYTES = 128 << 20

# -- cuPC-E and cuPC-S ----------------------------------------------------------------------------------------------

#: Bytes of work space of the canonical formula for all threads; fewer blocks run at once where a level needs more.
#: Judged.
CUPC_WORK_BYTES = 512 << 20

# -- discrete data --------------------------------------------------------------------------------------------------

#: Counts, and 32-bit words of masks, in the shared memory of a block, so that three blocks fit a multiprocessor. Log,
#: "Discrete data": four or more blocks gain nothing.
CELLS, MASK_WORDS = 7168, 8192
#: Configurations of x and S up to which bit planes are used; at most 16 for every 256 words of masks. Log, "Discrete
#: data".
CONFIGURATIONS = 256
#: Least number of sets per row in the first launch of a side; and the factor by which each later launch tests more sets
#: than all launches before it. Log, "Discrete data": factors of 2 and 15 are as fast.
FIRST_SETS, GROWTH = 4, 4
#: Conditioning sets per work item, at most. Log, "Discrete data": munin3 from 53 to 47 ms (64 before); 4 and 16 are as
#: fast.
DISCRETE_SETS_PER_ITEM = 8
#: Entries of the first list of doubtful tests. Judged: most runs have none, and a list that is too short is enlarged.
DOUBTFUL = 4096
#: Most bytes of bit planes, and of tables that do not fit shared memory. Judged.
PLANE_BYTES, LARGE_TABLE_BYTES = 4 << 30, 512 << 20
#: Counts in the largest table on the device with observed degrees of freedom: the first number per observation, plus
#: the second; all tables of level 0 must fit. Judged: larger tables are rare, and the host makes their tests.
OBSERVED_CELLS_PER_OBSERVATION, OBSERVED_CELLS = 4, 256 * 255

# -- missing data -----------------------------------------------------------------------------------------------------

#: Bytes of shared memory of a block for the work space of its warps, as all devices have without asking; else it is in
#: global memory. Bytes of the table of one test, at most; the host tests larger ones. Judged.
OBSERVED_SHARED_BYTES, OBSERVED_TABLE_BYTES = 40 << 10, 1 << 20

# -- questions ---------------------------------------------------------------------------------------------------------

#: Sets that questions must have to be searched on the device: fewer take 16 cores about 20 milliseconds, and an H200
#: beside them no less (8 pairs with 8e6 sets: 16 milliseconds, the CPU 3). Sets of one size of a pair, at most, that
#: are tested one by one if the search gives up: a second. Bytes of the matrices of the questions that are searched
#: together. The last two are judged.
QUESTION_SETS, WALKED_SETS, QUESTION_BYTES = 2e7, 1e9, 1 << 30

# -- copies ---------------------------------------------------------------------------------------------------------

#: Bytes of staging memory for uploads, page-locked and kept between runs; bytes that a thread copies at a time. Log,
#: "The whole call": larger pieces gain nothing.
STAGING, PIECE = 64 << 20, 1 << 20
#: Bytes up to which CUDA's own staging is as fast. Log, "The whole call".
DIRECT = 4 << 20
#: Threads that copy. Log, "The whole call".
COPY_THREADS = max(1, min(4, os.cpu_count() or 1))
#: Bytes of records, at most, that stay on the device until the end of a run, and paths that it lists. Judged.
KEPT_RECORDS, MOST_PATHS = 1 << 28, 1 << 20
#: Bytes of a result, at most, that go to page-locked memory, not to ordinary memory. Judged.
MOST_LOCKED = 2 << 30

# -- the kernel-based test --------------------------------------------------------------------------------------------

#: Bytes of the matrices of a run, at most: they are kept for later rounds.
KERNEL_BYTES = 24 << 30
#: Sets, and ends of tests, that are kept at most; matrices that are made together, at most.
KERNEL_ENDS, KERNELS_AT_ONCE = 2048, 128
