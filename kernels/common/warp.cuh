// warp.cuh -- sums, scans and subsets by a warp or a block, barriers between blocks, and the report of a separating
//   set. All threads of the warp (or block) take part in a function whose name or comment says so; the others are
//   called by single threads.
#pragma once
#include "common/pairs.cuh"
#define FULL 0xffffffffu

DEVICE u64 bits(double v) { return (u64)__double_as_longlong(v); }
DEVICE double from_bits(u64 v) { return __longlong_as_double((i64)v); }
DEVICE double nan_value() { return __longlong_as_double(0x7ff8000000000000LL); }

// Number of lanes in `mask` below this one.
DEVICE int lanes_before(unsigned mask) { return __popc(mask & ((1u << (threadIdx.x & 31)) - 1)); }

// Sum and maximum over a warp, in every lane (redux needs sm_80; this compiles from sm_70 on).
template <typename N>
DEVICE N sum_over_warp(N v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(FULL, v, o);
    return v;
}
template <typename N>
DEVICE N max_over_warp(N v) {
    for (int o = 16; o; o >>= 1) v = max(v, __shfl_xor_sync(FULL, v, o));
    return v;
}

// Inclusive sums over the lanes of a warp.
template <typename N>
DEVICE N scan_over_warp(N v) {
    const int lane = threadIdx.x & 31;
    for (int o = 1; o < 32; o <<= 1) {
        const N u = __shfl_up_sync(FULL, v, o);
        if (lane >= o) v += u;
    }
    return v;
}

// Exclusive sums over the threads of a block, one slice per call: `before`, equal in all threads, is the sum of the
// earlier slices and moves on by the sum of this one. partial: [32] in shared memory.
template <typename N>
DEVICE N scan_over_block(const N v, N* partial, N& before) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const N inclusive = scan_over_warp(v);
    __syncthreads();  // the previous call has been read
    if (lane == 31) partial[warp] = inclusive;
    __syncthreads();
    const N sums = scan_over_warp(lane < (int)(blockDim.x >> 5) ? partial[lane] : N(0));
    const N warps_before = __shfl_sync(FULL, sums, (warp + 31) & 31);
    const N out = before + (warp ? warps_before : 0) + inclusive - v;
    before += __shfl_sync(FULL, sums, 31);
    return out;
}

// The subset of rank `rank` among the k-subsets of {0..n-1}, ascending, to s (shared or global memory), by one warp:
// each member is looked for among 32 numbers at a time.
DEVICE void unrank_by_warp(const Binomials& binom, const int n, const int k, const u64 rank, int* s) {
    const int lane = threadIdx.x & 31;
    u64 left = binom(n, k) - 1 - rank;
    int top = n - 1;
    for (int i = 0; i < k; ++i) {  // mirrored member: the largest c with C(c, k - i) <= left
        const u64* column = binom.column(k - i);
        int c = top - lane;
        unsigned hit;
        while (!(hit = __ballot_sync(FULL, c >= 0 && column[max(c, 0)] <= left))) c -= 32;
        c = __shfl_sync(FULL, c, __ffs((int)hit) - 1);
        if (lane == 0) s[i] = n - 1 - c;
        left -= column[c];
        top = c - 1;
    }
    __syncwarp();
}

// Waits for all blocks of a cooperative launch: all then see everything that any of them wrote before. Whole block.
//   arrivals  counts blocks over all barriers of the launch; 0 at its start
DEVICE void grid_barrier(u64* arrivals) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const u64 ticket = atomicAdd(arrivals, 1ULL), all = (ticket / gridDim.x + 1) * gridDim.x;
        while (*(volatile u64*)arrivals < all) {}
        __threadfence();
    }
    __syncthreads();
}

// Whether this block is the last of the grid to get here; it then sees all earlier writes of the others. Whole block.
//   finished  counts blocks; 0 at the start of the launch
DEVICE bool last_block(u64* finished) {
    __shared__ bool last;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(finished, 1ULL) + 1 == gridDim.x;
        __threadfence();
    }
    __syncthreads();
    return last;
}

// State of pair e = (x, y) at this moment: other blocks may be removing it.
DEVICE unsigned char state_now(const Graph& g, const i64 e, const int x, const int y) {
    return *(volatile unsigned char*)&state_of(g, e, x, y);
}

// Whether a side (0: the pairs x < y, 1: x > y) tests pair e = (x, y), as far as its state says.
DEVICE bool is_of_side(const Graph& g, const i64 e, const int x, const int y, const int side) {
    const unsigned char state = state_now(g, e, x, y);
    return (x > y) == side && (side ? state == LIVE : state != FIXED);
}

// Whether pair e = (x, y) is a target of sets of rank `rank` or more on this side (0: the pairs x < y, 1: x > y): the
// side tests it, and no set of a rank up to `rank` is known to separate it. Side A goes on where another block has
// separated the pair, maybe by a set of higher rank.
DEVICE bool is_target(const Graph& g, const i64 e, const int x, const int y, const int side, const u64 rank) {
    return is_of_side(g, e, x, y, side) && *(volatile u64*)&g.best[e] > rank;
}

// A set of this rank separates pair e = (x, y). The smallest rank stays. On side A the edge is gone at once; side B of
// the same level may see that or not, since `settle` discards the sets of side B for such an edge. Returns whether no
// set was known to separate the pair. One thread.
DEVICE bool report_separated(const Graph& g, const i64 e, const int x, const int y, const u64 rank) {
    const bool first = atomicMin(&g.best[e], rank) == NOT_SEPARATED;
    if (x < y) set_states(g, e, x, y, GONE_A);
    return first;
}
