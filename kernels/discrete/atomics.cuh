// atomics.cuh -- contingency tables counted by one atomic increment per observation and target, in shared memory, or in
//   global memory where a table does not fit (possible from n = 12,000 on). contingency.cuh describes the tables.
#pragma once
#include "discrete/block_state.cuh"

// Counts the tables of the targets t0 <= t < t1, and the configurations alone if `margin`. Whole block; a thread takes
// four observations at a time.
template <bool GLOBAL>
DEVICE void count_by_atomics(const BlockState& b, const Codes& d, unsigned* large, const int t0, const int t1,
                             const bool margin) {
    unsigned* const table = GLOBAL ? large : b.table;
    const int V = b.V, first = b.first[t0];
    const int cells = V * (1 + b.first[t1] - first);
    for (int i = (margin ? 0 : V) + threadIdx.x; i < cells; i += THREADS) table[i] = 0;
    __syncthreads();
    const int words = (int)((d.n + 3) / 4);
    for (int w = threadIdx.x; w < words; w += THREADS) {
        int v[4] = {0, 0, 0, 0};
        bool in[4];
        for (int t = 0; t <= b.size; ++t) {
            const int z = b.variable[t], k = d.levels[z];
            const unsigned code = ((const unsigned*)(d.code + z * d.pitch))[w];
            UNROLL
            for (int i = 0; i < 4; ++i) v[i] = v[i] * k + (int)((code >> (8 * i)) & 255u);
        }
        UNROLL
        for (int i = 0; i < 4; ++i) {
            in[i] = 4LL * w + i < d.n;
            if (margin && in[i]) atomicAdd(&table[v[i]], 1u);
        }
        for (int t = t0; t < t1; ++t) {
            const unsigned code = ((const unsigned*)(d.code + b.y[t] * d.pitch))[w];
            const int row = 1 + b.first[t] - first;
            UNROLL
            for (int i = 0; i < 4; ++i)
                if (in[i]) atomicAdd(&table[(row + (int)((code >> (8 * i)) & 255u)) * V + v[i]], 1u);
        }
    }
    if (GLOBAL) __threadfence_block();
    __syncthreads();
}
