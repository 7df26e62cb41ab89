// share.cu -- several devices that test a level together: each tests some rows, then all of them join their findings.
#include "common/warp.cuh"

// Whether pair e is a fixed edge; the others are LIVE at the start of a level, and FIXED in rows of other devices.
DEVICE bool never_tested(const Graph& g, const i64 e) { return g.z[e] > 1e300; }

// Makes the pairs of the rows in `mine` targets, and no others, and clears the counters of work items for the next
// launch of the tests.
//   Work    one thread per pair
//   Launch  any grid and block
//   Reads   g.source, g.column, g.z, g.G, mine
//   Writes  g.G, lv.counters->handed_out, ->items, ->turns
//   mine   [p] 1 for the rows whose tests this device makes next
//   pairs  E
extern "C" __global__ void choose_rows(const Graph g, const Level lv, const int* mine, const i64 pairs) {
    const i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (id < 7) lv.counters->handed_out[id] = lv.counters->items[id] = 0;
    if (id < 6) lv.counters->turns[id] = 0;
    for (i64 e = id; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        const int x = g.source[e], y = g.column[e];
        unsigned char& state = state_of(g, e, x, y);
        if (!mine[x]) {
            if (state == LIVE || (x < y && state == GONE_A)) state = FIXED;  // side A goes on with removed pairs
        } else if (state == FIXED && !never_tested(g, e)) state = LIVE;
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

// After the tests of all devices: the states that one device would have left, where side A has removed the pairs that
// one of its sets separates.
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
