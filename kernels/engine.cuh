// engine.cuh -- what the kernels of all families share: the graph as neighbour lists, the queue of work, warp helpers.
#pragma once
#include "canonical.cuh"
#define FULL 0xffffffffu
constexpr u64 NOT_SEPARATED = ~0ULL;     // best[e]: no separating set found
constexpr unsigned NO_CUT = ~0u;         // cut[t]: target still alive in this base
constexpr double ONE_MINUS_FLOOR = 1.0 - PIVOT_FLOOR;

// Cells of the p x p byte matrix G. GONE_A: removed by side A (x < y) or never there; GONE_B: removed by side B.
constexpr unsigned char GONE_A = 0, LIVE = 1, GONE_B = 2, FIXED = 3;

// The graph of one level: ordered pair e = (source[e], column[e]), rows ascending, columns ascending within a row.
struct Graph {
    const double* C;          // [p, p]
    unsigned char* G;         // [p, p]
    const i64* start;         // [p + 1] first pair of each row
    const int* column;        // [E]
    const int* source;        // [E]
    u64* best;                // [E] smallest rank, among the level-subsets of adj(x), of a separating set
    u64* least;               // [E] bits of the smallest r^2 met at this level, or the bound worth beating
    i64 p;
};

// One level: its test and what it counts.
struct Level {
    const u64* binom;         // [level + 2][stride], see combinations.cuh
    u64* careful;             // tests decided by the canonical formula
    double* work;             // canonical work space: canonical_doubles(level) for each thread that may need it at a time
    const volatile int* stop; // non-zero asks running kernels to leave
    double cutoff, sure_in, sure_out;  // T; r^2 < sure_in surely independent; r^2 > sure_out surely dependent
    int stride, level;
    int lanes;                // schur: lanes of a warp that have a canonical work space
};

// Work items in phases: phase f of row x holds items [2^f - 1, 2^(f+1) - 1) of that row, so early subsets of all rows
// come before late subsets of any, and the removals they make save work. offsets[f][x] counts items before (f, x).
struct Queue {
    const u64* offsets;       // [phases][p + 1], running over all phases; [f][p] = end of phase f
    const u64* chunk;         // [p] bases an item
    u64* next;                // ticket counter
    int phases, p;
};

// Sum and maximum over a warp, in every lane (redux needs sm_80; this compiles from sm_70 on).
template <typename N>
__device__ __forceinline__ N sum_over_warp(N v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(FULL, v, o);
    return v;
}
__device__ __forceinline__ int max_over_warp(int v) {
    for (int o = 16; o; o >>= 1) v = max(v, __shfl_xor_sync(FULL, v, o));
    return v;
}

__device__ __forceinline__ u64 bits(double v) { return (u64)__double_as_longlong(v); }
__device__ __forceinline__ double from_bits(u64 v) { return __longlong_as_double((i64)v); }

__device__ __forceinline__ i64 canonical_doubles(int level) {
    const i64 m = level + 2;
    return m * m + 3 * m;     // A, V, and m ints for S at the end
}

// Take the next item; called by one full warp, the answer is uniform. False: no work left, or asked to stop.
__device__ __forceinline__ bool take(const Queue& q, const volatile int* stop, int lane, int& row, u64& item) {
    u64 ticket = 0;
    int halt = 0;
    if (lane == 0) {
        halt = *stop;
        ticket = atomicAdd(q.next, 1ULL);
    }
    ticket = __shfl_sync(FULL, ticket, 0);
    if (__shfl_sync(FULL, halt, 0)) return false;
    const i64 pitch = q.p + 1;
    int phase = -1;
    for (int f0 = 0; f0 < q.phases; f0 += 32) {
        const int f = f0 + lane;
        const unsigned m = __ballot_sync(FULL, f < q.phases && ticket < q.offsets[f * pitch + q.p]);
        if (m) { phase = f0 + __ffs((int)m) - 1; break; }
    }
    if (phase < 0) return false;
    const u64* o = q.offsets + phase * pitch;
    int lo = 0, hi = q.p;     // last row with o[row] <= ticket: 32 probes a step
    while (hi - lo > 1) {
        const int step = (hi - lo + 31) / 32;
        const int at = lo + lane * step;
        const unsigned m = __ballot_sync(FULL, at < hi && o[at] <= ticket);
        const int last = 31 - __clz((int)m);
        lo += last * step;
        hi = min(hi, lo + step);
    }
    row = lo;
    item = ((1ULL << phase) - 1) + (ticket - o[lo]);
    return true;
}
