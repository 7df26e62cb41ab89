// block_state.cuh -- the state of a block of THREADS threads that counts contingency tables: one x, one conditioning
//   set S, and the targets y. All threads of the block take part in each call.
#pragma once
#include "common/warp.cuh"
#include "discrete/chi_square.cuh"

constexpr int WARPS = THREADS / 32;
constexpr int SLICE = THREADS;  // most targets at a time, one per thread

// The data of a block about its set and its targets, at the beginning of its dynamic shared memory.
struct BlockState {
    u64 total[SLICE];         // sum of f over each target's table, see sum_table; sum_tables
    u64 of_margin;            // the same sum over the counts of the configurations alone; sum_tables
    int y[SLICE], at[SLICE];  // targets; their positions in adj(x); collect
    int first[SLICE + 1];     // levels of all targets before this one; collect
    int empty[SLICE];         // empty cells of each target's table, or its observed degrees of freedom; sum_tables
    int live[SLICE];          // positions of the item's targets, if there are at most SLICE; find_live
    unsigned partial[WARPS];
    int size, kx;     // members of S; levels of x
    i64 q;            // configurations of S, or most + 1 if there are more than most, see begin_set
    int V;            // kx q, where a test is made
    int counted;      // where the configurations alone have been counted: 0 nowhere, 1 shared memory, 2 global memory
    int masked;       // 1: `mask` holds the masks of all observations
    int alive;        // 1: some target may still be separated by this set or a later one
    int* variable;    // [size + 1] x, then S
    int* offset;      // [V, size + 1] offsets, in words, of the planes of each configuration; list_planes
    uint4* mask;      // [space.mask_words / 4] masks of the configurations; fill_masks
    unsigned* table;  // [space.cells] tables; count_by_planes, count_by_atomics
};

static_assert(sizeof(BlockState) <= STATE_BYTES, "");

// Lays out the dynamic shared memory; shared_bytes() in pycupc/engines/gpu/device_discrete.py adds up the same.
DEVICE BlockState& lay_out(uint4* memory, const TableSpace& space, const int level) {
    BlockState& b = *(BlockState*)memory;
    uint4* next = memory + STATE_BYTES / 16;
    if (threadIdx.x == 0) {
        b.mask = next;
        b.table = (unsigned*)(next + space.mask_words / 4);
        b.offset = (int*)(b.table + space.cells);
        b.variable = b.offset + MOST_OFFSETS;
        b.size = level;
    }
    __syncthreads();
    return b;
}

// Prepares the block for the x and S in b.variable. Ends with a barrier.
DEVICE void begin_set(BlockState& b, const Codes& d) {
    if (threadIdx.x == 0) {
        const i64 most = d.observed ? 0x7fffffff : d.n;
        i64 q = 1;
        for (int t = 1; t <= b.size && q <= most; ++t) q *= d.levels[b.variable[t]];
        b.q = q > most ? most + 1 : q;
        b.kx = d.levels[b.variable[0]];
        b.V = (int)(b.q * b.kx < 0x7fffffff ? b.q * b.kx : 0x7fffffff);
        b.counted = b.masked = b.alive = 0;
    }
    __syncthreads();
}

// Collects targets, one from each thread with `in`: variable y, position `at`, number of levels ky. Returns how many
// there are. Ends with a barrier.
DEVICE int collect(BlockState& b, const bool in, const int y, const int at, const int ky) {
    const int warp = threadIdx.x >> 5;
    const unsigned mine = in ? (1u << 16) + (unsigned)ky : 0;  // one target and its levels; sums: up to 256 and 65,280
    const unsigned upto = scan_over_warp(mine);
    if ((threadIdx.x & 31) == 31) b.partial[warp] = upto;
    __syncthreads();
    unsigned before = 0, all = 0;
    for (int w = 0; w < WARPS; ++w) {
        before += w < warp ? b.partial[w] : 0;
        all += b.partial[w];
    }
    if (in) {
        const unsigned place = before + upto - mine;
        const int t = (int)(place >> 16);
        b.y[t] = y;
        b.at[t] = at;
        b.first[t] = (int)(place & 0xffff);
    }
    if (threadIdx.x == 0) b.first[all >> 16] = (int)(all & 0xffff);
    __syncthreads();
    return (int)(all >> 16);
}
