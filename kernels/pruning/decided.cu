// decided.cu -- what the filters have in common: before the tests, which rows still have pairs; after them, what was decided.
#include "common/warp.cuh"

// Pairs that the level must test, per row.
//   Launch  grid p, block 32: one warp per row
//   Writes  f.open
extern "C" __global__ void count_open(const Graph g, const Filter f) {
    const int x = blockIdx.x;
    int open = 0;
    for (i64 e = g.start[x] + threadIdx.x; e < g.start[x + 1]; e += 32)
        open += f.decided[e] == LEFT_TO_TESTS || (!f.decided[e] && g.G[(i64)x * g.p + g.column[e]] == LIVE);
    open = sum_over_warp(open);
    if (threadIdx.x == 0) f.open[x] = open;
}

// After the tests: the ranks of separated pairs and of certified ones (none), and the tests that were spared.
//   Launch  any grid, block 256: one thread per pair
extern "C" __global__ void lift(const Graph g, const Level lv, const Filter f, const i64 pairs) {
    u64 spared = 0;
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        if (f.decided[e] != 1) continue;
        const i64 x = g.source[e], y = g.column[e];
        g.best[e] = f.rank[e];
        if (x < y || g.G[x * g.p + y] != GONE_A) spared += f.spares[e];
    }
    spared = sum_over_warp(spared);
    if ((threadIdx.x & 31) == 0 && spared) atomicAdd(&lv.counters->spared, spared);
}
