// final.cu -- what is asked of the graph at the end of a run: the weakest evidence of each edge, and which paths x - b - z
//   are no colliders, because b is in the separating set of x and z. These are few, however many records there are.
#include "graph/record.cuh"

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

// Lists the paths that are no colliders: of each, the pairs (b, x) and (b, z), the lower one first.
//   Work    a thread per member of a separating set
//   Launch  any grid and block; g is the final graph
//   Reads   g (G, start, column), levels, their Found::x, ::y, ::S
//   Writes  pairs [room, 2], in any order; *count, the number of paths, also of those for which there is no room. Zero
//           before
extern "C" __global__ void noncolliders(const Graph g, const Recorded* levels, const int n_levels, int* pairs,
                                        const u64 room, u64* count) {
    const i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x, threads = (i64)gridDim.x * blockDim.x;
    for (int l = 0; l < n_levels; ++l) {
        const int size = levels[l].level;
        const Found found(levels[l].found, levels[l].count);
        for (i64 i = id; i < levels[l].count * size; i += threads) {
            const int x = found.x[i / size], z = found.y[i / size], b = found.S[i];
            if (!(g.G[x * g.p + b] & 1) || !(g.G[z * g.p + b] & 1)) continue;
            const u64 at = atomicAdd(count, 1ULL);
            if (at >= room) continue;
            const int first = (int)pair_of(g, b, x), second = (int)pair_of(g, b, z);
            pairs[2 * at] = min(first, second);
            pairs[2 * at + 1] = max(first, second);
        }
    }
}
