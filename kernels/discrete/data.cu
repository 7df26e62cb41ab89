// data.cu -- from the host's codes to padded rows and bit planes, see Codes in common/structures.cuh; from the host's
//   results of doubtful tests to the graph.
#include "discrete/contingency.cuh"

// Pads the codes and makes the bit planes.
//   Work    one warp per 32 observations of a variable
//   Launch  grid (p, ceil(words / 8)), block 256
//   from    [p, n] uint8, codes as the host has them; read only
//   code    [p, pitch], Codes::code; written here
//   plane   [1 + sum of levels, words], Codes::plane, or null where bit planes are not used; written here
extern "C" __global__ void pack_codes(const Codes d, const unsigned char* __restrict__ from, unsigned char* code,
                                      unsigned* plane) {
    const int lane = threadIdx.x & 31, w = blockIdx.y * 8 + (threadIdx.x >> 5), z = blockIdx.x;
    if (w >= d.words) return;
    const i64 s = 32LL * w + lane;  // observation
    const bool in = s < d.n;
    const int mine = in ? from[z * d.n + s] : 0;
    if (s < d.pitch) code[z * d.pitch + s] = (unsigned char)mine;
    if (!plane) return;
    unsigned* const at = plane + (i64)d.first[z] * d.words + w;
    for (int k = 0; k < d.levels[z]; ++k) {
        const unsigned bits_k = __ballot_sync(FULL, in && mine == k);
        if (lane == 0) at[(i64)k * d.words] = bits_k;
    }
    const unsigned all = __ballot_sync(FULL, in);
    if (z == 0 && lane == 0) plane[w] = all;
}

// Enters the results of the host for doubtful tests.
//   Work    one thread per entry of the list
//   Launch  any grid, block 256
//   largest  g.C, to write to, at level 0; else null
//   independent, p_value  [entries] outcome of each test, from the host
//   Writes  at level 0 g.G, largest; else g.best, g.z, g.G (GONE_A)
extern "C" __global__ void enter_results(const Graph g, const Doubtful list, const i64 entries, double* largest,
                                         const unsigned char* __restrict__ independent,
                                         const double* __restrict__ p_value) {
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < entries; i += (i64)gridDim.x * blockDim.x) {
        const i64 e = list.pair[i], x = list.x[i], y = list.y[i];
        if (largest && !independent[i]) {
            g.G[e] = g.G[y * g.p + x] = LIVE;
            largest[e] = p_value[i];
        } else if (!largest && independent[i]) separate(g, nullptr, e, (int)x, (int)y, list.rank[i]);
        else if (!largest) keep_largest(&g.z[e], p_value[i]);
    }
}
