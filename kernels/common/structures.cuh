// structures.cuh -- what the host passes to the kernels and reads back from them.
//   Compiles as CUDA and as plain C++. pycupc/engines/gpu/structures.py mirrors every structure, and
//   tests/test_kernel_helpers.py compares sizes and offsets. All pointers are device memory.
//   E is the number of ordered pairs (x, y) with an edge x - y; ranks count from 0.
#pragma once
#include "common/subsets.cuh"

constexpr u64 NOT_SEPARATED = ~0ULL;  // best[e] while no separating set is known

// State of an ordered pair, one byte of G. LIVE and FIXED, the edges, are odd.
constexpr unsigned char GONE_A = 0;  // never an edge, or removed by side A (x < y)
constexpr unsigned char LIVE = 1;    // an edge that is tested
constexpr unsigned char GONE_B = 2;  // removed by side B (x > y) at this level
constexpr unsigned char FIXED = 3;   // an edge that is never tested

// The graph at the start of a level, as neighbour lists. Pair e is (source[e], column[e]); rows ascend, and columns
// ascend within a row. "level tests" stands for the kernels in schur/ and cupc/.
struct Graph {
    const double* C;   // [p, p] correlations, row-major; the host uploads them
    unsigned char* G;  // [p, p] state of each pair; written by level0, level tests, settle
    i64* start;        // [p + 1] first pair of each row; written by scan_of_rows
    int* column;       // [E] y of each pair; written by list_neighbours, settle
    int* source;       // [E] x of each pair; likewise
    u64* best;         // [E] smallest rank, among the subsets of adj(x), of a separating set; written by level tests
    u64* least;        // [E] bits of the smallest r^2 met at this level, or of the bound from z; written by level tests
    double* z;         // [E] smallest |z| of all tests of the pair at earlier levels; written as column
    i64 p;             // number of variables
};

// Counts of one level, zero before it. `report` gives them to the host at the end of the level and clears them.
struct Counters {
    u64 tests;             // pcalg's number of tests of the level; level0, settle, finish
    u64 removed;           // edges removed by level 0; level0
    u64 more;              // 1 when a tested pair had more candidates than the level; level0, settle
    u64 doubtful;          // tests decided by the canonical formula; level tests
    u64 pairs;             // E of the graph after the level; this and what follows: scan_of_rows
    u64 widest;            // largest degree in the high word, ~(its first row) in the low word
    u64 records;           // separating sets that the level found
    u64 rows[6];           // rows with tests at the next level, in each class of degrees
    double sets;           // conditioning sets of the next level, over all rows
    double tests_at_most;  // its tests, if none separates an edge
    u64 handed_out[7];     // work items that blocks have taken: per class of degrees (schur), per side (cupc)
    u64 items[7];          // work items in all; plan_phases, cupc_e, cupc_s; the last one: screen_rows
    u64 decided;           // ordered pairs that the filter has decided; this and what follows: prove_pairs, lift
    u64 bounds;            // nodes that it has examined
    u64 spared;            // tests of the level that were not made for that reason, less those of screen_rows; signed
    double worth;          // conditioning sets of the decided pairs
    u64 turns[4];          // work items of prove_pairs that blocks have taken, per launch; or what try_screen found
    u64 arrivals;          // blocks that have got to a barrier; grid_barrier
    u64 finished;          // blocks that have come to their end; last_block
};

// One level: its size, its thresholds, its work space.
struct Level {
    Binomials binom;           // C(n, k) for n <= p, k <= level + 2
    Counters* counters;        // those of the level
    double* work;              // work space of the canonical formula, canonical_doubles(level) for each user at a time
    const volatile int* stop;  // non-zero: running kernels return
    double cutoff;             // |r| <= cutoff is independent
    double sure_in, sure_out;  // r^2 below sure_in is surely independent, above sure_out surely dependent
    int level;                 // size of the conditioning sets
    int slots;                 // schur: lanes of a warp that have work space of their own
};

// Upper bounds of the first five classes of degrees; the sixth holds all larger rows.
struct Classes {
    int bound[5];
};

constexpr unsigned char LEFT_TO_TESTS = 2;  // in Filter::decided: screen_rows met a doubtful test of the pair

// The filter before the tests of a level (pruning/). It decides pairs without testing all their conditioning sets; a
// decided pair is no target of the tests.
struct Filter {
    double* delta;           // [E] delta of pair (x, y): see RowBound in pruning/node.cuh; bound_rows
    double* margin;          // [p] margin of the row's bounds, 0 where none of its pairs can be decided; bound_rows
    int* open;               // [p] pairs of the row that the level must test; count_open
    unsigned char* decided;  // [E] 1: decided; prove_pairs, settle_screened
    u64* rank;               // [E] of a decided pair's first separating set, or NOT_SEPARATED; prove_pairs
    u64* spares;             // [E] tests that a decided pair spares; prove_pairs
    double* work;            // work space, work_doubles for each block
    i64 work_doubles;
    double least_sets;     // pairs with fewer conditioning sets are left to the tests
    double sets_per_node;  // conditioning sets that are tested in the time that a node takes
    int most_nodes;        // per pair, to decide whether a set separates it
    int most_questions;    // nodes per pair to find the first set, by one warp
    double most_left;      // share of the tests that screen_rows may leave, by the trial
};

// How the rows low < degree <= high of one class are cut into work items (schur).
struct RowClass {
    const int* open;  // [p] pairs of each row that are to be tested, or null: not known; rows without any have no items
    double sets_per_item;  // conditioning sets per item that are aimed at
    int suffix;            // members of S after the prefix
    int low, high;         // degrees of the class
    int tile;              // columns per tile of the last but one member, one tile per item; 0: items are prefixes
};

// Work items of a class in phases: phase f of row x holds the items [2^f - 1, 2^(f+1) - 1) of that row, so that early
// subsets of all rows come before late subsets of any, and the removals they lead to save work.
struct Queue {
    u64* offsets;  // [phases, p + 1] items before (phase, x); the last entry of a row ends the phase; plan_phases
    u64* chunk;    // [p] prefixes per item; plan_phases
    int phases;    // of the class
    int p;         // number of variables
    int index;     // class of degrees: counters->handed_out[index] numbers the items that are handed out
};

// The classes of a level, with their queues; the first `gridDim.y` count.
struct Plan {
    Queue queue[6];
    RowClass rows[6];
};

// One side of a level of cuPC-E or cuPC-S, in virtual blocks: the paper's blocks, handed out to resident ones.
struct Shape {
    u64 blocks;      // virtual blocks of a side
    int per_row;     // virtual blocks per row
    int side;        // 0: pairs x < y; 1: pairs x > y that side 0 left
    int shared_row;  // 1: the row is copied to shared memory
};

// What a level did to each row, and the separating sets it found, in order of (x, y).
struct RowCounts {
    i64* kept;     // [p] pairs that stay; count_neighbours, settle
    i64* removed;  // [p] separating sets found in the row; settle (null at level 0)
};
struct Records {
    i64* start;   // [p + 1] first record of each row; settle (null at level 0), as what follows
    u64* rank;    // [m] rank of S among the subsets of adj(x)
    char* found;  // the m records, one array after the other; see Found in graph/removals.cu
};

// Discrete data (discrete/), as pycupc.discrete.contingency.Data.
struct Codes {
    const unsigned char* code;  // [p, pitch] of each variable and observation, then zeros; written by pack_codes
    const unsigned* plane;      // [1 + sum of levels, words] bit s: observation s exists, then for each level of each
                                // variable: it has that level; likewise; null where planes are not used
    const int* levels;          // [p] levels of each variable
    const int* first;           // [p] plane of its first level
    const i64* f;               // [n + 1] m ln m in fixed point
    const double* cutoff;       // [cutoffs] largest G^2 that is independent, by degrees of freedom
    double unit;                // of f
    double band;                // a G^2 this near its cutoff is doubtful
    i64 n, pitch;               // observations; bytes per variable, a multiple of 16
    int words;                  // 32-bit words per plane, a multiple of 16
    int cutoffs;                // degrees of freedom beyond are doubtful
    int adapt, quirks;          // flags, as in Data
};

// Where a block of the discrete tests counts.
struct Room {
    unsigned* wide;  // [grid, wide_cells] tables that do not fit shared memory, or null where all do
    i64 wide_cells;
    int cells;           // of the tables in shared memory
    int mask_words;      // of the masks there, 32 bits each
    int configurations;  // up to so many are counted by bit planes; at most 16 for every 256 words of masks
};

// Tests that floating-point rounding could decide otherwise: the host makes them as the engine "cpu" does. Beyond `room`
// they are only counted.
struct Doubtful {
    u64* count;  // 1
    i64* pair;   // [room] e; at level 0 x p + y
    u64* rank;   // [room] of the set
    int* x;      // [room]
    int* y;      // [room]
    int* S;      // [room, level]
    i64 room;
};

// The sets of a side that a launch tests: those numbered first .. end - 1 of each row, `chunk` to a work item.
struct SetRange {
    int* open;  // [p] targets of the row that no set has separated yet; count_targets, contingency_sets
    u64 first, end, chunk;
    int side;  // 0: pairs x < y; 1: pairs x > y that side 0 left
};

#ifndef CONTINGENCY_THREADS
#define CONTINGENCY_THREADS 256
#endif
constexpr int THREADS = CONTINGENCY_THREADS;     // of a block of the discrete tests
constexpr int BLOCKS = 768 / THREADS;            // of them, at least, on a multiprocessor
constexpr int BENCH_BYTES = 30 * THREADS + 256;  // of discrete/bench.cuh: see Bench
constexpr int MOST_OFFSETS = 1536;               // of planes, by configuration and member

// Sizes of work space that both sides compute. Of the canonical formula, for one test, in doubles: the high and the low
// parts of a matrix [m + 2, m], m = level + 2, and behind them room for m ints.
HD i64 canonical_matrix(int level) {
    const i64 m = level + 2;
    return 2 * m * (m + 2);
}
HD i64 canonical_doubles(int level) { return canonical_matrix(level) + level + 2; }

// Of the factor W of a prefix of size q (schur/conditioning.cuh), per row, in doubles: even for 16-byte loads, and an odd
// number of 16-byte words against bank conflicts.
HD int w_pitch(int q) {
    const int even = (q + 1) & ~1;
    return q == 0 ? 0 : (even & 2 ? even : even + 2);
}

// Of a warp of prove_pairs (pruning/): rows of its factor and three vectors, in doubles; width: largest degree.
constexpr int MOST_TAKEN = 40;  // members that a node can have taken
HD i64 bench_doubles(int width, int level) {
    return (i64)((level < MOST_TAKEN ? level : MOST_TAKEN) + 3) * (width + 1);
}
