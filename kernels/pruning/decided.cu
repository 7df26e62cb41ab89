// decided.cu -- what both filters need: before the tests, the number of pairs that each row has left for them; after
//   the tests, the ranks of the decided pairs.
#include "common/warp.cuh"

// Counts the pairs of each row that the tests must decide.
//   Work    one warp per row
//   Launch  grid p, block 32
//   Reads   g.start, g.column, g.G, f.decided
//   Writes  f.open
extern "C" __global__ void count_open(const Graph g, const Filter f) {
    const int x = blockIdx.x;
    int open = 0;
    for (i64 e = g.start[x] + threadIdx.x; e < g.start[x + 1]; e += 32)
        open += f.decided[e] == LEFT_TO_TESTS || (!f.decided[e] && g.G[(i64)x * g.p + g.column[e]] == LIVE);
    open = sum_over_warp(open);
    if (threadIdx.x == 0) f.open[x] = open;
}

// After the tests: gives decided pairs their rank (NOT_SEPARATED to certified ones), and counts their tests.
//   Work    one thread per pair
//   Launch  any grid, block 256
//   Reads   g.source, g.column, g.G, f.decided, f.rank, f.spares
//   Writes  g.best, lv.counters->spared
//   pairs   E
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
