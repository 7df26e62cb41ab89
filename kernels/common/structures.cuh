// structures.cuh -- the structures that the host passes to the kernels and reads back from them.
//   Compiles as CUDA and as plain C++. pycupc/engines/gpu/structures.py mirrors every structure, and
//   tests/kernels/test_kernel_helpers.py compares sizes and offsets. All pointers are to device memory. Behind each array stand
//   its shape and, after the semicolon, the kernels or device functions that write it.
//   p is the number of variables, E the number of ordered pairs (x, y) with an edge x - y, n the number of
//   observations. Ranks count from 0. "The tests" are the kernels that test a level >= 1: those in schur/, cupc/, and
//   discrete/sets.cu.
#pragma once
#include "common/subsets.cuh"

constexpr u64 NOT_SEPARATED = ~0ULL;  // best[e] while no separating set is known

// State of an ordered pair, one byte of G. The two states of an edge, LIVE and FIXED, are odd.
constexpr unsigned char GONE_A = 0;  // never an edge, or removed by side A (x < y)
constexpr unsigned char LIVE = 1;    // an edge that is tested
constexpr unsigned char GONE_B = 2;  // removed by side B (x > y) at this level
constexpr unsigned char FIXED = 3;   // an edge that is never tested

// The graph at the start of a level, as neighbour lists. Pair e is (source[e], column[e]); rows ascend, and columns
// ascend within a row. list_neighbours makes the lists of the first graph, settle the
// lists of every later one; both set `best` to NOT_SEPARATED.
struct Graph {
    const double* C;   // [p, p] correlations, row-major; the host or correlate. Discrete data: p-values of level 0, in
                       // the upper triangle; contingency_pairs, enter_results
    unsigned char* G;  // [p, p] state of each pair; level0 or the kernels of discrete/pairs.cu, the tests, pruning,
                       // settle
    i64* start;        // [p + 1] first pair of each row; scan_of_rows
    int* column;       // [E] y of each pair
    int* source;       // [E] x of each pair
    u64* best;         // [E] smallest rank, among the subsets of adj(x), of a separating set; the tests, pruning
    u64* least;        // [E] bits of the r^2 below which a test is weaker evidence than all before it: at first from z,
                       // then the smallest one met at this level; the tests. Not used for discrete data
    double* z;         // [E] smallest |z| of all tests of the pair at earlier levels. Discrete data: minus the largest
                       // p-value, this level's included; contingency_sets, enter_results
    i64 p;             // number of variables
    // Only with row matrices (common/pairs.cuh), else null. C then holds the matrices of the rows, one after the other, and
    // G is [E], by pair. A row's matrix has its neighbours after level 0, ascending, then x.
    const i64* matrix;  // [p] first number of each row's matrix, from C on; count_pairs, the host
    const int* width;   // [p] rows of that matrix, or 0 for a hub at level 1; count_pairs, the host
    int* place;         // [E] row of y in the matrix of x; sort_rows, settle
    // The G of other devices, for search_pairs and settle_shared (pycupc/engines/gpu/sharing.py).
    unsigned char** peers;  // [n_peers]
    i64 n_peers;
};

// Counts of one level, zero before it. `report` gives them to the host at the end of the level and clears them.
struct Counters {
    u64 tests;     // pcalg's number of tests of the level; level0 or tally_pairs, settle, finish or contingency_records
    u64 removed;   // edges removed by level 0; level0, tally_pairs
    u64 more;      // 1 if a tested pair had more candidates than the level, from level 1 on; settle
    u64 doubtful;  // tests decided by the canonical formula; the tests, of correlations only
    // From here to tests_at_most, the graph after the level and the outlook for the next one; scan_of_rows
    u64 pairs;             // E of that graph
    u64 widest;            // its largest degree in the high word, ~(the first row of that degree) in the low word
    u64 records;           // separating sets that the level found
    u64 rows[6];           // rows with tests at the next level, in each class of degrees
    double sets;           // conditioning sets of the next level, over all rows
    double tests_at_most;  // tests of the next level if none separates an edge
    // Work items that blocks have taken, and in all. By class of degrees (schur; level1: [0]), or by side (cupc;
    // discrete, in sets); besides, [5] of handed_out numbers the items of contingency_sets, and [6] of both is for
    // walk_rows
    u64 handed_out[7];  // next_item, level1, next_block, contingency_sets
    u64 items[7];       // plan_phases, cupc_e, cupc_s, count_targets
    // From here to turns, pruning; search_pairs, or the kernels of pruning/bounded_walk.cu
    u64 decided;   // ordered pairs that pruning has decided
    u64 bounds;    // bounds that it has computed: nodes examined by search_pairs, or pairs (s, y) looked at by a walk
    u64 spared;    // tests of decided pairs (enter_ranks), less the tests that walk_rows made itself; signed
    double worth;  // conditioning sets of the pairs that search_pairs has decided
    u64 turns[6];  // items that blocks have taken, per launch of search_pairs; or of try_walk: tests left [0], all [1]
    u64 arrivals;  // blocks that have reached a barrier; grid_barrier
    u64 finished;  // blocks that have reached their end; last_block
};

// One level: its size, its thresholds, its work space.
struct Level {
    Binomials binom;     // C(n, k) for n <= p, k <= level + 2
    Counters* counters;  // of the level
    double* work;        // work space of the canonical formula: canonical_doubles(level) per thread (cupc), per warp
                         // (finish), or for `slots` lanes of each warp (schur)
    const volatile int* stop;  // [1] the host sets it to a non-zero value to make running kernels return
    double cutoff;             // a test with |r| <= cutoff calls x and y independent
    double sure_in, sure_out;  // r^2 below sure_in is surely independent, above sure_out surely dependent
    int level;                 // size of the conditioning sets
    int slots;                 // schur: lanes of a warp that have work space of their own
};

// Upper bounds of the first five classes of degrees; the sixth holds all larger rows.
struct Classes {
    int bound[5];
};

constexpr unsigned char LEFT_TO_WALK = 2;  // in Pruning::decided: walk_rows met a doubtful test of the pair
constexpr unsigned char SHARED = 3;        // in Pruning::decided: several blocks search for a pair; until settle_shared

// Pruning before the tests of a level (pruning/): a search (search_pairs) or a walk (walk_rows). It decides pairs
// without testing all their conditioning sets; a decided pair is no target of the tests.
struct Pruning {
    double* delta;           // [E] delta of pair (x, y): see Row in pruning/node.cuh; find_delta. Search only
    double* margin;          // [p] margin of the row's bounds, 0 where the row has none; find_delta, sound_rows
    int* left;               // [p] pairs of the row that are left to the tests; count_left. Before, [0] counts rows
    unsigned char* decided;  // [E] 1: decided, 2: LEFT_TO_WALK; search_pairs, walk_rows, settle_walked. Zero before
    u64* rank;               // [E] rank of a decided pair's first separating set, or NOT_SEPARATED; as `spares`
    u64* spares;             // [E] pcalg's number of tests of a decided pair; search_pairs, settle_walked
    double* work;            // work space, work_doubles per block
    i64 work_doubles;
    double least_sets;     // search: pairs with fewer conditioning sets are left to the tests
    double sets_per_node;  // search: conditioning sets that are tested in the time that a node takes
    double trial;          // search: nodes after which it ends unless it has saved time
    int most_nodes;        // search: nodes per pair to decide whether a set separates it
    int most_questions;    // search: nodes per pair to find the first separating set, by one block
    double most_left;      // walk: there is none if the trial leaves a larger share of the tests than this
    int minimum;           // search: 1: for the smallest r^2 of each pair, not for separating sets
    int few_nodes;         // search: nodes for a first set after which a block gives others away
    void* exchange;        // search: an Exchange (pruning/exchange.cuh), zero up to its parts
    const int* rows;       // [p] 0 where a row has no targets; null: not known
};

// How the rows of one class, low < degree <= high, are cut into work items (schur, walk_rows).
struct RowClass {
    const int* open;  // [p] pairs of each row that are to be tested; rows without any have no items. null: not known
    double sets_per_item;  // conditioning sets that an item should have
    int suffix;            // members of S after the prefix
    int low, high;         // degrees of the class
    int tile;              // columns per tile of the last but one member, one tile per item; 0: items are prefixes
};

// Work items of a class in phases: phase f of row x holds the items [2^f - 1, 2^(f+1) - 1) of that row, the last phase
// all items left. So early subsets of all rows come before late subsets of any row, and the removals that early subsets
// bring save work.
struct Queue {
    u64* offsets;  // [phases, p + 1] entry (f, x): items in the phases before f, and of the rows before x in phase f;
                   // plan_phases, plan_sets
    u64* chunk;    // [p] prefixes per item; plan_phases. null in discrete/
    int phases;    // of the class
    int p;         // number of variables
    int index;     // counters->handed_out[index] counts the items that are handed out
};

// One side of a level of cuPC-E or cuPC-S, in virtual blocks: the paper's blocks, handed out to resident ones.
struct Shape {
    u64 blocks;      // virtual blocks of a side
    int per_row;     // virtual blocks per row
    int side;        // 0: side A, the pairs x < y; 1: side B, the pairs x > y that side A left
    int shared_row;  // 1: the row is copied to shared memory
};

// The removals of a level by row, and the m separating sets it found, in order of (x, y). Level 0 leaves no records.
struct RowCounts {
    i64* kept;     // [p] pairs that stay; count_neighbours, settle
    i64* removed;  // [p] separating sets found in the row; settle. null at level 0
};
struct Records {
    i64* start;   // [p + 1] first record of each row; settle
    u64* rank;    // [m] rank of S among the subsets of adj(x); settle
    char* found;  // the m records, one array after the other, see Found in graph/record.cuh; settle, finish
};

// Discrete data (discrete/), as pycupc.independence.discrete.contingency.Data. The host fills all arrays but the first
// two.
struct Codes {
    const unsigned char* code;  // [p, pitch] code of each variable and observation, then zeros; pack_codes
    const unsigned* plane;      // [1 + sum of levels, words] bit s of plane 0: observation s exists; of each further
                                // plane, one per level of each variable: it has that level; pack_codes. Empty where bit
                                // planes are not used
    const int* levels;          // [p] levels of each variable
    const int* first;           // [p] plane of its first level
    const i64* f;               // [n + 1] m ln m in fixed point, in multiples of `unit`
    const double* cutoff;       // [cutoffs] largest G^2 that is independent, by degrees of freedom
    double unit;                // value of the last bit of f
    double band;                // a G^2 this near its cutoff is doubtful
    i64 n, pitch;               // observations; bytes per variable, a multiple of 16
    int words;                  // 32-bit words per plane, a multiple of 16
    int cutoffs;                // a test with this many degrees of freedom, or more, is doubtful
    int adapt, quirks;          // flags, as in Data
    int observed;
};

// Where a block of the discrete tests counts.
struct TableSpace {
    unsigned* large;  // [grid, large_cells] counts of tables that do not fit shared memory; null where all do
    i64 large_cells;
    int cells;           // counts in the block's shared memory
    int mask_words;      // 32-bit words of masks in the block's shared memory
    int configurations;  // of x and S, up to which bit planes are used; at most 16 for every 256 words of masks
};

// The data of tests of which the host knows p-values only (missing/): multiply imputed, with missing values, or with a
// number of observations for each pair. Each family of tests has some of the arrays; the host fills them.
struct Observed {
    const double* value;        // correlations [M, p, p], or values [p, rows], 0 where missing
    const double* number;       // [p, p] observations of each pair
    const unsigned* there;      // [p, words] bit s: observation s has a value
    const unsigned char* code;  // [M, p, rows] codes, 255 where missing
    const int* levels;          // [p] levels of each variable
    double n, alpha;
    i64 p, rows;
    int M, words, rule, adapt, quirks;  // rule: position in RULES of measures.py; adapt, quirks: flags
};

// Work space of the warps that make such tests: in shared memory if `large` is null.
struct WarpSpace {
    char* large;  // [warps of the grid, bytes]
    i64 bytes;    // a multiple of 16
};

// Discrete tests whose outcome rounding could change, or whose tables have no room; contingency_pairs,
// contingency_sets. The host makes them as the engine "cpu" does. Tests beyond `room` are only counted.
struct Doubtful {
    u64* count;  // [1] doubtful tests met
    i64* pair;   // [room] number e of the pair; at level 0 its cell x p + y
    u64* rank;   // [room] rank of the conditioning set
    int* x;      // [room]
    int* y;      // [room]
    int* S;      // [room, level] variables
    i64 room;
};

// The sets of a side that a launch tests: the sets of rank first .. end - 1 of each row, `chunk` per work item.
struct SetRange {
    int* open;  // [p] targets of the row that no set has separated yet; count_targets, contingency_sets
    u64 first, end, chunk;
    int side;  // 0: side A, the pairs x < y; 1: side B, the pairs x > y that side A left
};

#ifndef CONTINGENCY_THREADS
#define CONTINGENCY_THREADS 256
#endif
constexpr int THREADS = CONTINGENCY_THREADS;     // threads per block of the discrete tests
constexpr int BLOCKS = 768 / THREADS;            // blocks that must fit a multiprocessor
constexpr int STATE_BYTES = 30 * THREADS + 256;  // room for BlockState in discrete/block_state.cuh
constexpr int MOST_OFFSETS = 1536;               // entries of BlockState::offset

// Sizes of work space that both host and kernels compute, in doubles.
// For one test by the canonical formula: the high and the low parts of a matrix [m + 2, m], m = level + 2, and behind
// them m doubles as room for the ints of S.
HD i64 canonical_matrix(int level) {
    const i64 m = level + 2;
    return 2 * m * (m + 2);
}
HD i64 canonical_doubles(int level) { return canonical_matrix(level) + level + 2; }

// For a row of the factor W of a prefix of size q (schur/conditioning.cuh): even, for 16-byte loads, and an odd number
// of 16-byte words, against bank conflicts.
HD int w_pitch(int q) {
    const int even = (q + 1) & ~1;
    return q == 0 ? 0 : (even & 2 ? even : even + 2);
}

// For a warp of search_pairs (pruning/): the rows of its factor, and three vectors. width: largest degree.
constexpr int MOST_TAKEN = 40;  // members that a node can have taken
HD i64 space_doubles(int width, int level) {
    return (i64)((level < MOST_TAKEN ? level : MOST_TAKEN) + 3) * (width + 1);
}
