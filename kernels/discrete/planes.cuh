// planes.cuh -- contingency tables counted by bit planes. An observation is a bit; there is a mask for each
//   configuration and a plane for each level of each variable. A count is the number of common bits of a mask and a
//   plane, which tensor cores find for 16 configurations x 8 planes x 256 observations at a time. The counts of the
//   last level of y follow from the others. contingency.cuh describes the tables. Functions are called by a whole block
//   unless they say otherwise.
#pragma once
#include "discrete/block_state.cuh"

constexpr int TILES = 2;  // tiles of 16 configurations that a warp counts at a time

// c += number of common bits of each row of a (16 x 256) and each column of b (256 x 8), spread over a warp as the mma
// instruction wants it. Needs compute capability 8.0; on older devices the host has everything counted by atomics.
#ifndef COUNT_COMMON_BITS
DEVICE void count_common_bits(int* c, const unsigned a0, const unsigned a1, const unsigned a2, const unsigned a3,
                              const unsigned b0, const unsigned b1) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}
#endif

// The quotient a / b, rounded down, for 0 <= a < 2^22 and 0 < b. One thread.
DEVICE int divided(const int a, const float one_over_b) { return (int)(((float)a + 0.5f) * one_over_b); }

// Computes the words w0 .. w0 + 16 blocks - 1 of all masks, which lie `pitch` words apart.
DEVICE void fill_masks(const BlockState& b, const Codes& d, const int w0, const int blocks, const int pitch) {
    const int quads = 4 * blocks, members = b.size + 1;
    const float per_mask = 1.0f / (float)quads;
    for (int i = threadIdx.x; i < b.V * quads; i += THREADS) {
        const int v = divided(i, per_mask), at = i - v * quads;
        uint4 m = make_uint4(FULL, FULL, FULL, FULL);
        for (int t = 0; t < members; ++t) {
            const uint4 plane = *(const uint4*)(d.plane + (unsigned)b.offset[v * members + t] + w0 + 4 * at);
            m.x &= plane.x;
            m.y &= plane.y;
            m.z &= plane.z;
            m.w &= plane.w;
        }
        b.mask[v * (pitch / 4) + at] = m;
    }
}

// Lists the planes of each configuration in b.offset.
DEVICE void list_planes(const BlockState& b, const Codes& d) {
    const int members = b.size + 1;
    for (int i = threadIdx.x; i < b.V * members; i += THREADS) {
        const int v = i / members, t = i - v * members;
        int below = 1;  // configurations of the members after t
        for (int u = t + 1; u < members; ++u) below *= d.levels[b.variable[u]];
        const int z = b.variable[t], code = v / below % d.levels[z];
        b.offset[i] = (int)((unsigned)(d.first[z] + code) * (unsigned)d.words);
    }
}

// A column of the product: a level of a target, or all observations.
struct Column {
    int row;         // of the tables
    unsigned plane;  // offset in words
};

// Column `c` of the targets t0 <= t < t1, whose last levels have no columns. With `margin`, column 0 is all
// observations. One thread.
DEVICE Column column_of(const BlockState& b, const Codes& d, const int t0, const int t1, int c, const bool margin) {
    if (margin && c-- == 0) return {0, 0};
    const int first = b.first[t0];
    int lo = t0, hi = t1;  // the last t whose columns begin at or before c
    while (hi - lo > 1) {
        const int mid = (lo + hi) / 2;
        if (b.first[mid] - first - (mid - t0) <= c) lo = mid;
        else hi = mid;
    }
    const int level = c - (b.first[lo] - first - (lo - t0));
    return {1 + b.first[lo] - first + level, (unsigned)(d.first[b.y[lo]] + level) * (unsigned)d.words};
}

// Adds to the tables the counts of a tile of 8 columns and of N tiles of 16 configurations, from number `m` on, over
// the blocks k0 <= k < k1 of 512 observations. Other warps may add to the same cells at the same time if `shared`. One
// warp.
template <int N>
DEVICE void count_tile(const BlockState& b, const Codes& d, const int m, const int tile, const int columns,
                       const int t0, const int t1, const bool margin, const int w0, const int k0, const int k1,
                       const int pitch, const bool shared) {
    const int lane = threadIdx.x & 31, of_four = lane & 3, group = lane >> 2, col = tile * 8 + group;
    const Column mine = column_of(b, d, t0, t1, min(col, columns - 1), margin);
    const uint4* plane = (const uint4*)(d.plane + mine.plane + w0) + of_four;
    const uint4* mask = b.mask + (16 * m + group) * (pitch / 4) + of_four;
    int c[N][4] = {};
    for (int k = k0; k < k1; ++k) {  // a thread's four words serve two products
        const uint4 y = plane[4 * k];
        UNROLL
        for (int i = 0; i < N; ++i) {
            const uint4 low = mask[16 * i * (pitch / 4) + 4 * k], high = mask[(16 * i + 8) * (pitch / 4) + 4 * k];
            count_common_bits(c[i], low.x, high.x, low.y, high.y, y.x, y.y);
            count_common_bits(c[i], low.z, high.z, low.w, high.w, y.z, y.w);
        }
    }
    UNROLL
    for (int j = 0; j < 2; ++j) {
        const int to = 2 * of_four + j, row = __shfl_sync(FULL, mine.row, 4 * to);
        UNROLL
        for (int i = 0; i < N; ++i) {
            for (int half = 0; half < 2; ++half) {
                const int v = 16 * (m + i) + 8 * half + group;
                if (v >= b.V || tile * 8 + to >= columns) continue;
                unsigned* const cell = &b.table[row * b.V + v];
                if (shared) atomicAdd(cell, (unsigned)c[i][2 * half + j]);
                else *cell += (unsigned)c[i][2 * half + j];
            }
        }
    }
}

// Counts the tables of the targets t0 <= t < t1, and the configurations alone if `margin`.
DEVICE void count_by_planes(BlockState& b, const Codes& d, const TableSpace& space, const int t0, const int t1,
                            const bool margin) {
    const int V = b.V, tiles_m = (V + 15) / 16, most = space.mask_words / (256 * tiles_m);
    const int step =
        min(d.words / 16, most - 1 + (most & 1));  // odd where room is the limit, so that the pitch below fits
    const int pitch = 16 * (step | 1);             // so that neighbouring masks begin in different banks
    const int columns = b.first[t1] - b.first[t0] - (t1 - t0) + margin;
    const int groups_m = (tiles_m + TILES - 1) / TILES, tasks = groups_m * ((columns + 7) / 8);
    const int parts = max(1, min(WARPS / tasks, step));  // of the observations, where there are fewer tasks than warps
    const bool masked = b.masked;
    __syncthreads();
    if (!masked) list_planes(b, d);
    for (int i = (margin ? 0 : V) + threadIdx.x; i < V * (1 + b.first[t1] - b.first[t0]); i += THREADS) b.table[i] = 0;
    __syncthreads();
    for (int w0 = 0; w0 < d.words; w0 += 16 * step) {
        const int blocks = min(step, (d.words - w0) / 16);
        if (!masked) fill_masks(b, d, w0, blocks, pitch);
        __syncthreads();
        for (int share = threadIdx.x >> 5; share < tasks * parts; share += WARPS) {
            const int task = share / parts, part = share - task * parts;
            const int tile = task / groups_m, m = TILES * (task - tile * groups_m);
            const int k0 = blocks * part / parts, k1 = blocks * (part + 1) / parts;
            if (m + 1 < tiles_m)
                count_tile<TILES>(b, d, m, tile, columns, t0, t1, margin, w0, k0, k1, pitch, parts > 1);
            else count_tile<1>(b, d, m, tile, columns, t0, t1, margin, w0, k0, k1, pitch, parts > 1);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) b.masked = 16 * step >= d.words;
    const float per_row = 1.0f / (float)V;
    for (int i = threadIdx.x; i < (t1 - t0) * V; i += THREADS) {  // the last level of each target
        const int u = divided(i, per_row), v = i - u * V;
        unsigned* const rows = b.table + (1 + b.first[t0 + u] - b.first[t0]) * V + v;
        const int last = b.first[t0 + u + 1] - b.first[t0 + u] - 1;
        unsigned rest = b.table[v];
        for (int j = 0; j < last; ++j) rest -= rows[j * V];
        rows[last * V] = rest;
    }
    __syncthreads();
}
