// share.cu -- a level of which a device tests some rows: others test the other rows, or it does so later. Then all
//   devices join their findings.
#include "common/warp.cuh"

// Whether pair e is a fixed edge; other pairs are FIXED while they are not tested here, or not now.
DEVICE bool never_tested(const Graph& g, const i64 e) { return g.z[e] > 1e300; }

// Leaves the pairs of the rows in `mine` as targets, and no others.
//   Work    one thread per pair
//   Launch  any grid and block
//   Reads   g.source, g.column, mine
//   Writes  g.G
//   mine   [p] 1 for the rows whose tests this device makes now
//   pairs  E
extern "C" __global__ void choose_rows(const Graph g, const int* mine, const i64 pairs) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        const int x = g.source[e];
        if (!mine[x]) state_of(g, e, x, g.column[e]) = FIXED;
    }
}

// Takes over the findings of another device.
//   Work    one thread per pair
//   Launch  any grid and block
//   Writes  g.best, g.least
//   best, least  [E] of the other device
extern "C" __global__ void join_findings(const Graph g, const u64* best, const u64* least, const i64 pairs) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        g.best[e] = min(g.best[e], best[e]);
        g.least[e] = min(g.least[e], least[e]);
    }
}

// After these tests: the states that tests of all rows together leave, where side A has removed the pairs that one of its
// sets separates.
//   Work    one thread per pair
//   Launch  any grid and block
//   Reads   g.source, g.column, g.z, g.best
//   Writes  g.G
extern "C" __global__ void join_states(const Graph g, const i64 pairs) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        const int x = g.source[e], y = g.column[e];
        if (x < y && !never_tested(g, e)) set_states(g, e, x, y, g.best[e] == NOT_SEPARATED ? LIVE : GONE_A);
    }
}
