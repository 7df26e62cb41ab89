// data.cu -- from the host's codes to padded rows and bit planes; see Codes in common/structures.cuh.
#include "common/warp.cuh"

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
