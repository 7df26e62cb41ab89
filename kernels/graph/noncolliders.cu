// noncolliders.cu -- which paths x - b - z of the final graph are no colliders, because b is in the separating set of x
//   and z. These are few, however many records there are.
#include "common/pairs.cuh"
#include "graph/record.cuh"

// Whether the graph has the edge x - y.
DEVICE bool has_edge(const Graph& g, const int x, const int y) {
    const i64 e = pair_of(g, x, y);
    return e < g.start[x + 1] && g.column[e] == y;
}

// Lists the paths that the records of one level say are no colliders.
//   Work     a thread per member of a separating set
//   Launch   any grid and block; g is the final graph
//   Reads    g (start, column), Found::x, ::y, ::S of the m records
//   Writes   paths [room, 3], x, b and z of each, in any order; *count, the number of paths, also of paths for which
//            there is no room. The levels add to what is there
extern "C" __global__ void noncolliders(const Graph g, void* records, const i64 m, const int level, int* paths,
                                        const u64 room, u64* count) {
    const i64 threads = (i64)gridDim.x * blockDim.x;
    const Found found(records, m);
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < m * level; i += threads) {
        const int x = found.x[i / level], z = found.y[i / level], b = found.S[i];
        if (!has_edge(g, b, x) || !has_edge(g, b, z)) continue;
        const u64 at = atomicAdd(count, (u64)1);
        if (at >= room) continue;
        paths[3 * at] = x;
        paths[3 * at + 1] = b;
        paths[3 * at + 2] = z;
    }
}
