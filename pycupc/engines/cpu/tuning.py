"""The numbers of the CPU engine that change its time and memory, and no answer: meaning, unit, how each was found.

"Measured" is on x86-64 machines of 2 to 64 cores. A number without it follows from its reason, and a factor of two
matters little to it.
"""

from __future__ import annotations

# -- memory -----------------------------------------------------------------------------------------------------------

#: Bytes for each of p^2 pairs that level 0 may leave. Measured.
FOUND_BYTES = 10

# -- threads ----------------------------------------------------------------------------------------------------------

#: Gaussian tests. Fewer are made in the calling thread: starting threads takes longer.
INLINE_TESTS = 100_000
#: Seconds between two reports of progress.
TICK = 0.1
#: Gaussian tests that an item aims at: about a millisecond, so that threads end together.
TASK_TESTS = 250_000
#: Items that the rows of a side are divided into, at most, beside one for each row: a hundred bytes each.
MOST_ITEMS = 1 << 16
#: Number of tests made in a second, by which the time of a walk is compared with tests.
TESTS_PER_SECOND = 2.5e8
#: The time of the walk, over its estimate from `PREFIX_SECONDS` and `TEST_SECONDS`, for each member of a set: items are
#: smaller by this factor. Measured at levels 3 to 15.
SLOWER_PER_MEMBER = 0.6
#: An item has at least this many tests for each number that it first gathers from C (d x d for a row of degree d).
GATHER_SHARE = 20
#: Entries that a task goes through, at most a millisecond: of the neighbour lists, where a level is set up or settled,
#: and of C, at level 0.
PART_ENTRIES = 1 << 17

# -- workers of an executor -------------------------------------------------------------------------------------------

#: Seconds of a piece of a level that a worker tests, estimated, with all threads: a side of less than two of them is
#: tested at home, as sending the graph and the findings of 200,000 entries takes some milliseconds.
PIECE_SECONDS = 0.005
#: Sizes of the pieces of each worker, the large ones first, so that workers end together; and how long the smallest is
#: at least, in `PIECE_SECONDS`: a piece takes about 4 ms more than its tests. Measured. The first that fits counts.
PIECE_SHARES = ((4, 2, 1, 1), 4), ((3, 1), 2), ((1,), 1)
#: The number of workers that is assumed before any has replied.
WORKERS_AT_FIRST = 4
#: The estimates are corrected by the time of the side before, up to this factor: tests of large sets take longer.
MOST_PACE = 20.0

# -- levels 0 and 1 ---------------------------------------------------------------------------------------------------

#: Rows and columns of a tile in the inspection of C: a tile and its mirror image fit the cache of a core.
INSPECTED_TILE = 64
#: Level 1: sets looked at together, few at first, where a separating set is most likely. Measured.
FIRST_SETS, NEXT_SETS = 16, 64
#: Level 1: rows x by rows y of a tile, whose rows of C stay in the cache. Measured.
LEVEL1_TILE = 16
#: Level 1: a row of C is read from end to end, rather than at the neighbours only, if at least one variable in `SPARSE`
#: is a neighbour. Measured.
SPARSE = 3

# -- matrices of rows, without the matrix of all variables ------------------------------------------------------------

#: Variables of a submatrix of several rows: its matrix, half a megabyte, stays in the cache of a core.
EXTRACT_WIDTH = 256
#: Products of two numbers, of those that correlations sum, that take as long as a test of level 1. Measured.
PRODUCTS_OF_TEST = 60
#: A row with more neighbours is a hub: at level 1 its tests read matrices of two parts of its neighbours, of up to
#: `HUB_PART` each, 128 megabytes, instead of one of all neighbours. That computes each correlation twice.
HUB, HUB_PART = 4096, 2048
#: Number of variables from which level 0 goes by a sieve where data are given. Below, the matrix takes little time.
SIEVE_FROM = 10_000
#: After the sieve the matrix of all variables is computed, if it fits, where the matrices of the rows together have
#: more than this share of its entries: each of them is computed twice a level.
ROWS_SHARE = 0.1
#: Bytes for each number of the data in a run without the matrix: as float64, centred, and as float32 during level 0.
COLUMN_BYTES = 12
#: Variables on either side of a tile of the sieve; a tile, 4 megabytes, stays in the cache that the cores share.
SIEVE_TILE = 1024
#: From this number of variables on, an estimate is made from a sample: level 0 takes more than half a minute.
SAMPLED_FROM = 50_000
#: Variables of the sample of which the levels after level 0 are run, with their neighbours.
SAMPLED = 64
#: Numbers in each of the two blocks of columns of a part of level 0, 16 megabytes: about a second of work on two cores.
PART_NUMBERS = 1 << 22
#: Observations whose products are summed in float32 before this sum joins the others. More give a larger margin.
SIEVE_DEPTH = 4096
#: Bytes for each pair that the sieve finds: the pair, and its two entries in the graph while level 1 tests them.
SIEVED_BYTES = 220
#: A sieve that finds too many pairs counts them for significance levels smaller by up to this many powers of ten.
SMALLER_ALPHAS = 40

# -- levels from 2 on -------------------------------------------------------------------------------------------------

#: Targets are filled up to whole blocks of this many, the width of a vector of 512 bits: few are left to scalar
#: instructions. The work space of a thread is made for numbers of neighbours that are multiples of `SPACE`.
BLOCK, SPACE = 8, 16
#: Work spaces for rows with up to `NARROW` neighbours have room for sets of the next multiple of `ROOMY` members, so
#: that threads find them again at the next levels: to make one takes a tenth of a millisecond where 16 threads begin.
NARROW, ROOMY = 64, 4
#: Rows with up to this number of neighbours, then twice that number, and so on, have their items in turn, so that work
#: spaces fit them.
LEAST_WIDTH = 32

# -- questions --------------------------------------------------------------------------------------------------------

#: Sets of a pair in its first round, about the number of tests that most separated pairs need, and the factor by which
#: each later round has more; `CAUTIOUS` has both numbers for tests that take as long as `COSTLY` Gaussian tests.
FIRST_ROUND, GROWTH = 8, 4
COSTLY, CAUTIOUS = 20.0, (1, 2)
#: Sets of all pairs in a round at most, of tests that are made by one thread, and of a thread among several.
ROUND_SETS, PART_SETS = 1 << 18, 1 << 12
#: Of costly tests: work of a round, in Gaussian tests, as tests after the first separating set are made in vain: with
#: `ROUND_SETS`, 22 % more tests than counted, with this 3 % (on a discrete network, whose pairs take turns now).
ROUND_WORK = 3e4
#: Work of a round at least, in Gaussian tests, for each thread: threads make the Python steps of rounds one at a time.
ROUND_LEAST = 1e4
#: Pairs that a thread has open at most; and shares of a side for each thread that an item of G^2 tests, or the open
#: pairs of a thread, do not exceed, so that threads end together.
OPEN_PAIRS, SHARES, OPEN_SHARES = 512, 8, 4
#: Gaussian tests of a level with tiers that one call makes: NumPy would take longer to list the candidates. Measured.
ENTRY_TESTS = 1_000_000
#: Sets of one size of a pair that are tested rather than searched. Measured.
FEW_SETS = 5000
#: Room for members of separating sets in a round of searches, 16 megabytes: as far as it goes, threads search several
#: sizes of a pair at the same time.
SEARCHED_MEMBERS = 1 << 21
#: Seconds of tests, made one by one because bounds do not hold, of which a warning tells.
WORTH_A_WARNING = 60.0

# -- pruning ----------------------------------------------------------------------------------------------------------

#: Up to level `WALKED_LEVEL` rows are walked with bounds, and at the next level rows with at least `MANY_NEIGHBOURS`.
#: In all other rows, a search decides each pair. Measured.
WALKED_LEVEL, MANY_NEIGHBOURS = 4, 64
#: Rows with fewer neighbours are not walked with bounds. Measured.
WALKED_DEGREE = 32
#: Rows with more neighbours are not walked with bounds, or not searched, so that the work space of a thread stays below
#: 200 MB up to level 40.
MOST_WALKED, MOST_SEARCHED = 2000, 512
#: Seconds that pruning must save at a level, or the level is not pruned: while its code is not loaded yet, and later.
#: Loading takes some ten seconds on a new machine, where it is compiled, and half a second afterwards.
WORTH_LOADING, WORTH = 1.0, 0.01
#: Seconds of the walk per prefix (the members of a set without the last one), and per test. Measured on one machine, as
#: are all times below, so that every machine decides the same pairs.
PREFIX_SECONDS, TEST_SECONDS = 1.3e-7, 6e-10
#: Share of the seconds of the walk that the walk with bounds takes. Measured.
WALK_SHARE = 0.4
#: Seconds of the searches of a row, of each of its pairs, and for each pair and squared number of neighbours. Measured.
ROW_SECONDS, PAIR_SECONDS, PAIR_SECONDS_PER_SQUARE = 50e-6, 15e-6, 0.03e-6
#: The ordered pairs of a level are divided into groups of `TRIAL_PAIRS`. The searches are first made for one group in
#: `TRIAL`, and for the others only if they took less than `WORTHWHILE` of the time of the tests that they replaced.
TRIAL, TRIAL_PAIRS, WORTHWHILE = 24, 4, 0.5
#: Nanoseconds of a step of the relaxation with q candidates (per q squared, per q cubed), and of a bound besides.
#: Measured.
PER_SQUARE, PER_CUBE, BOUND_TIME = 3.2, 0.018, 3100.0
#: Nanoseconds that it takes to test the sets of a node, besides the tests, and nanoseconds of a test. Measured.
NODE_TIME, TEST_TIME = 1250.0, 7.7
#: The sets of a node are tested if it has at most this many for each pair of candidates. Measured.
SETS_PER_PAIR = 3.0
#: If a node with sets of all sizes has at most this many candidates, all their subsets are tested.
SUBSETS_OF = 9
#: A node is divided by the candidate with the largest |score| (weight (1 - weight) + `LEAST_SHARE`), where the scores
#: have `LEAST_SCORE` added. Measured: with the largest score instead, hard pairs took 10 to 140 times as long.
LEAST_SCORE, LEAST_SHARE = 1e-6, 0.02
#: Most steps of the relaxation; the smallest weight of a candidate in it. Measured.
STEPS, LEAST_WEIGHT = 8, 1e-5
#: Gaussian tests that take as long as the proof about a row, per cubed number of neighbours. Measured.
TESTS_PER_CUBE = 0.003
#: Steps of the power method for delta; tries to prove delta, each with a smaller one.
ITERATIONS, TRIES = 12, 20
#: Seconds that searches about a pair may take where its tests are too many to be made; elsewhere as long as the tests.
PATIENCE = 60.0
#: If the tests of a pair would take `ENDLESS` seconds or longer, the search for their minimum may take at most
#: `PATIENCE_FOR_MINIMUM` seconds.
ENDLESS, PATIENCE_FOR_MINIMUM = 3600.0, 0.05
#: Tests that an item of the walk with bounds answers; pairs of a row that an item of searches decides, fewer if they
#: take more than `SEARCH_SECONDS`.
WALKED_TESTS, ITEM_PAIRS, SEARCH_SECONDS = 1_000_000, 16, 5e-4
#: Mode "checked": pairs checked at a time, about; sets of each that are tested, about; and seconds of these, at most,
#: on the clock of a budget, as a set with many members has many subsets.
CHECKED_PAIRS, CHECKED_SETS, CHECKED_SECONDS = 500, 10_000, 0.1
