// final.cu -- the weakest evidence of each edge, at the end of a run.
#include "common/warp.cuh"

// The pair of row x with variable y, which is a neighbour.
DEVICE i64 pair_of(const Graph& g, const int x, const int y) {
    const i64 first = g.start[x];
    return first + first_not_below(g.column + first, (int)(g.start[x + 1] - first), y);
}

// The smallest |z| of each edge's tests, of both its pairs.
//   Work    a thread per pair
//   Launch  any grid and block
//   Reads   g (start, column, source, z)
//   Writes  z [pairs] of the pairs x < y; the others are not touched
extern "C" __global__ void weakest_evidence(const Graph g, double* z, const i64 pairs) {
    const i64 threads = (i64)gridDim.x * blockDim.x;
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += threads) {
        const int x = g.source[e], y = g.column[e];
        if (x < y) z[e] = fmin(g.z[e], g.z[pair_of(g, y, x)]);
    }
}
