// decided.cu -- before the tests, the outcome of a pair that several blocks searched for, and the number of pairs of
//   each row that are left to the tests; after them, the ranks of the decided pairs.
#include "common/pairs.cuh"
#include "pruning/exchange.cuh"

// After search_pairs: decides the pairs that several blocks searched for, unless they are left or their first open
// set is doubtful.
//   Work    one thread per pair
//   Launch  any grid, block 256
//   Reads   g.source, g.column, g.start, f.rank (keys), f.spares (nodes and notes)
//   Writes  as settle_targets: g.best, g.G, f.decided, f.rank, f.spares, lv.counters->decided
//   pairs   E
extern "C" __global__ void settle_shared(const Graph g, const Level lv, const Pruning f, const i64 pairs) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        if (f.decided[e] != SHARED) continue;
        const u64 key = f.rank[e];
        const bool none = key == NOT_SEPARATED;
        if (*lv.stop || f.spares[e] & GIVEN_UP || (!none && key & 1)) {
            f.decided[e] = 0;
            continue;
        }
        const int x = g.source[e], y = g.column[e], d = (int)(g.start[x + 1] - g.start[x]);
        f.rank[e] = none ? NOT_SEPARATED : key >> 1;
        f.spares[e] =
            none ? lv.binom(d - 1, lv.level) : tests_up_to(lv.binom, d, lv.level, (int)(e - g.start[x]), key >> 1);
        f.decided[e] = 1;
        g.best[e] = 0;
        if (!none && x < y) remove_everywhere(g, e, x, y);
        atomicAdd(&lv.counters->decided, 1ULL);
    }
}

// Counts the pairs of each row that the tests must decide.
//   Work    one warp per row
//   Launch  grid p, block 32
//   Reads   g.start, g.column, g.G, f.decided
//   Writes  f.left
extern "C" __global__ void count_left(const Graph g, const Pruning f) {
    const int x = blockIdx.x;
    int left = 0;
    for (i64 e = g.start[x] + threadIdx.x; e < g.start[x + 1]; e += 32)
        left += f.decided[e] == LEFT_TO_WALK || (!f.decided[e] && state_of(g, e, x, g.column[e]) == LIVE);
    left = sum_over_warp(left);
    if (threadIdx.x == 0) f.left[x] = left;
}

// After the tests: gives decided pairs their rank (NOT_SEPARATED to dismissed ones), and counts their tests.
//   Work    one thread per pair
//   Launch  any grid, block 256
//   Reads   g.source, g.column, g.G, f.decided, f.rank, f.spares
//   Writes  g.best, lv.counters->spared
//   pairs   E
extern "C" __global__ void enter_ranks(const Graph g, const Level lv, const Pruning f, const i64 pairs) {
    u64 spared = 0;
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        if (f.decided[e] != 1) continue;
        const int x = g.source[e], y = g.column[e];
        g.best[e] = f.rank[e];
        if (x < y || state_of(g, e, x, y) != GONE_A) spared += f.spares[e];
    }
    spared = sum_over_warp(spared);
    if ((threadIdx.x & 31) == 0 && spared) atomicAdd(&lv.counters->spared, spared);
}
