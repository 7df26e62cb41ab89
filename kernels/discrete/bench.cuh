// bench.cuh -- what a block knows while it counts contingency tables: one x, one set S, and the targets y.
//   All threads of a block of THREADS take part in each call.
#pragma once
#include "common/warp.cuh"
#include "discrete/chi_square.cuh"

constexpr int WARPS = THREADS / 32;
constexpr int SLICE = THREADS;  // targets at a time

// What a block knows about its set and its targets; first in shared memory.
struct Bench {
    u64 total[SLICE];         // sums of the targets' tables
    u64 of_margin;            // sum of the configurations' own counts
    int y[SLICE], at[SLICE];  // targets; their positions among the neighbours
    int first[SLICE + 1];     // levels of the targets before this one
    int empty[SLICE];         // empty cells
    int live[SLICE];          // contingency_sets: positions of the item's targets, if there are no more than that
    unsigned partial[WARPS];
    int size, kx;     // members of S; levels of x
    i64 q;            // configurations of S, n + 1 where there are more than n
    int V;            // kx q, where a test is made
    int counted;      // where the row of configurations has been counted: 0 nowhere, 1 shared memory, 2 global memory
    int masked;       // all masks are there
    int alive;        // a neighbour may still be separated by this set or a later one
    int* variable;    // [size + 1] x, then S
    int* offset;      // [MOST_OFFSETS] of the planes of configuration v: size + 1 each
    uint4* mask;      // [room.mask_words / 4]
    unsigned* table;  // [room.cells]
};

static_assert(sizeof(Bench) <= BENCH_BYTES, "");

// The parts of the dynamic shared memory; shared_bytes() in pycupc/engines/gpu/discrete.py adds up the same.
DEVICE Bench& lay_out(uint4* memory, const Room& room, const int level) {
    Bench& b = *(Bench*)memory;
    uint4* next = memory + BENCH_BYTES / 16;
    if (threadIdx.x == 0) {
        b.mask = next;
        b.table = (unsigned*)(next + room.mask_words / 4);
        b.offset = (int*)(b.table + room.cells);
        b.variable = b.offset + MOST_OFFSETS;
        b.size = level;
    }
    __syncthreads();
    return b;
}

// Readies the bench for b.variable; ends with a barrier.
DEVICE void begin_set(Bench& b, const Codes& d) {
    if (threadIdx.x == 0) {
        i64 q = 1;
        for (int t = 1; t <= b.size && q <= d.n; ++t) q *= d.levels[b.variable[t]];
        b.q = q > d.n ? d.n + 1 : q;
        b.kx = d.levels[b.variable[0]];
        b.V = (int)(b.q * b.kx < 0x7fffffff ? b.q * b.kx : 0x7fffffff);
        b.counted = b.masked = b.alive = 0;
    }
    __syncthreads();
}

// Collects the targets of the threads with `in`, at most one each; returns how many there are. Ends with a barrier.
DEVICE int collect(Bench& b, const bool in, const int y, const int at, const int ky) {
    const int warp = threadIdx.x >> 5;
    const unsigned mine = in ? (1u << 16) + (unsigned)ky : 0;  // a target and its levels: at most 256 and 65,280
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
