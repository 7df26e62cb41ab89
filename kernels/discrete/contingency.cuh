// contingency.cuh -- contingency tables of one x and one set S with many targets y, and their exact sums, by a block.
//   The configuration of an observation is v = code of x * q + configuration of S, v < V = kx q. The tables of a group of
//   targets lie one after the other, a row of V counts for each level of y; before them a row with the counts of the
//   configurations alone. They are filled in one of two ways:
//   - bit planes: an observation is a bit. A mask for each configuration, a plane for each level of each variable; a count
//     is the number of common bits, which tensor cores count, 16 configurations x 8 planes x 256 observations at a time.
//     The last level of y follows from the others.
//   - atomics: an increment per observation and target, in shared memory, or in global memory where one table is larger
//     than that (possible from n = 10,000 on).
//   All threads of a block of THREADS take part in each call.
#pragma once
#include "common/warp.cuh"
#include "discrete/chi_square.cuh"

constexpr int WARPS = THREADS / 32;
constexpr int SLICE = THREADS;  // targets at a time
constexpr int TILES = 2;        // tiles of 16 configurations that a warp counts at a time
// Planes in all masks up to which bit planes are the faster way: for a set, and for each target more; see LOG.md.
constexpr int PLANES_PER_SET = 128, PLANES_PER_TARGET = 16;

// What a block knows about its set and its targets; first in shared memory.
struct Bench {
    u64 total[SLICE];         // sums of the targets' tables
    u64 of_margin;            // sum of the configurations' own counts
    int y[SLICE], at[SLICE];  // targets; their positions among the neighbours
    int first[SLICE + 1];     // levels of the targets before this one
    int empty[SLICE];         // empty cells
    int live[SLICE];          // contingency_sets: positions of the item's targets, if there are no more than that
    unsigned partial[WARPS];
    int size, kx;     // members of S; levels of x
    i64 q;            // configurations of S, n + 1 where there are more than n
    int V;            // kx q, where a test is made
    int counted;      // where the row of configurations has been counted: 0 nowhere, 1 shared memory, 2 global memory
    int masked;       // all masks are there
    int alive;        // a neighbour may still be separated by this set or a later one
    int* variable;    // [size + 1] x, then S
    int* offset;      // [MOST_OFFSETS] of the planes of configuration v: size + 1 each
    uint4* mask;      // [room.mask_words / 4]
    unsigned* table;  // [room.cells]
};

static_assert(sizeof(Bench) <= BENCH_BYTES, "");

// The parts of the dynamic shared memory; shared_bytes() in pycupc/engines/gpu/discrete.py adds up the same.
DEVICE Bench& lay_out(uint4* memory, const Room& room, const int level) {
    Bench& b = *(Bench*)memory;
    uint4* next = memory + BENCH_BYTES / 16;
    if (threadIdx.x == 0) {
        b.mask = next;
        b.table = (unsigned*)(next + room.mask_words / 4);
        b.offset = (int*)(b.table + room.cells);
        b.variable = b.offset + MOST_OFFSETS;
        b.size = level;
    }
    __syncthreads();
    return b;
}

// Readies the bench for b.variable; ends with a barrier.
DEVICE void begin_set(Bench& b, const Codes& d) {
    if (threadIdx.x == 0) {
        i64 q = 1;
        for (int t = 1; t <= b.size && q <= d.n; ++t) q *= d.levels[b.variable[t]];
        b.q = q > d.n ? d.n + 1 : q;
        b.kx = d.levels[b.variable[0]];
        b.V = (int)(b.q * b.kx < 0x7fffffff ? b.q * b.kx : 0x7fffffff);
        b.counted = b.masked = b.alive = 0;
    }
    __syncthreads();
}

// Collects the targets of the threads with `in`, at most one each; returns how many there are. Ends with a barrier.
DEVICE int collect(Bench& b, const bool in, const int y, const int at, const int ky) {
    const int warp = threadIdx.x >> 5;
    const unsigned mine = in ? (1u << 16) + (unsigned)ky : 0;  // a target and its levels: at most 256 and 65,280
    const unsigned upto = scan_over_warp(mine);
    if ((threadIdx.x & 31) == 31) b.partial[warp] = upto;
    __syncthreads();
    unsigned before = 0, all = 0;
    for (int w = 0; w < WARPS; ++w) {
        before += w < warp ? b.partial[w] : 0;
        all += b.partial[w];
    }
    if (in) {
        const unsigned place = before + upto - mine;
        const int t = (int)(place >> 16);
        b.y[t] = y;
        b.at[t] = at;
        b.first[t] = (int)(place & 0xffff);
    }
    if (threadIdx.x == 0) b.first[all >> 16] = (int)(all & 0xffff);
    __syncthreads();
    return (int)(all >> 16);
}

// Counts for the targets t0 <= t < t1, and of the configurations alone if `margin`, by an increment per observation.
template <bool GLOBAL>
DEVICE void count_by_atomics(const Bench& b, const Codes& d, unsigned* wide, const int t0, const int t1,
                             const bool margin) {
    unsigned* const table = GLOBAL ? wide : b.table;
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

// c += common bits of the rows of a (16 x 256) and the columns of b (256 x 8); compute capability 8.0 and above, the host
// counts by atomics below.
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

// a / b for 0 <= a < 2^22, 0 < b.
DEVICE int divided(const int a, const float one_over_b) { return (int)(((float)a + 0.5f) * one_over_b); }

// Words w0 .. w0 + 16 blocks - 1 of the masks, `pitch` words apart.
DEVICE void fill_masks(const Bench& b, const Codes& d, const int w0, const int blocks, const int pitch) {
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

// Planes of each configuration, as offsets in words.
DEVICE void list_planes(const Bench& b, const Codes& d) {
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

// Column `c` of the targets t0 <= t < t1, whose last levels have none; column 0 is that of all observations if `margin`.
DEVICE Column column_of(const Bench& b, const Codes& d, const int t0, const int t1, int c, const bool margin) {
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

// The product of a tile of 8 columns and N tiles of 16 configurations from `m` on, over the observations of the blocks k0
// <= k < k1 of 512; one warp. It is added to the table, which other warps may add to at the same time if `shared`.
template <int N>
DEVICE void count_tile(const Bench& b, const Codes& d, const int m, const int tile, const int columns, const int t0,
                       const int t1, const bool margin, const int w0, const int k0, const int k1, const int pitch,
                       const bool shared) {
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

// As count_by_atomics, by bit planes.
DEVICE void count_by_planes(Bench& b, const Codes& d, const Room& room, const int t0, const int t1, const bool margin) {
    const int V = b.V, tiles_m = (V + 15) / 16, most = room.mask_words / (256 * tiles_m);
    const int step =
        min(d.words / 16, most - 1 + (most & 1));  // odd where it is the limit, so that the pitch below fits
    const int pitch = 16 * (step | 1);             // rows of masks lie in different banks
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

// Adds up f(n_ijk) - f(n_jk) over a table of ky rows, the cells i of thread r of `threads`: over (j, k), of all levels of x.
DEVICE u64 sum_table(const Bench& b, const Codes& d, const unsigned* table, const int ky, const int r,
                     const int threads, int& empty) {
    const int q = (int)b.q, kx = b.kx;
    u64 sum = 0;
    int j = r / q, k = r - j * q;
    while (j < ky) {
        const unsigned* cell = table + (i64)j * b.V + k;
        unsigned of_y = 0;
        for (int i = 0; i < kx; ++i) {
            const unsigned m = cell[(i64)i * q];
            of_y += m;
            empty += m == 0;
            sum += (u64)d.f[m];
        }
        sum -= (u64)d.f[of_y];
        k += threads;
        if (k >= q) {
            const int more = k / q;
            j += more;
            k -= more * q;
        }
    }
    return sum;
}

// The sums of the targets' tables, and that of the configurations if `margin`, to b.total, b.empty, b.of_margin.
DEVICE void sum_tables(Bench& b, const Codes& d, const unsigned* table, const int t0, const int t1, const bool margin) {
    const int tables = t1 - t0 + margin;
    const bool whole = (i64)b.V * b.first[t1] - (i64)b.V * b.first[t0] > 4096 * (i64)tables;
    int threads =
        whole ? THREADS : 32;  // for each table: as many as there are, at most 32, or the block for large ones
    while (!whole && threads > 1 && threads * tables > THREADS) threads /= 2;
    const int r = threadIdx.x & (threads - 1);
    // all threads of a warp stay in the loop, since they add up together
    for (int u0 = 0; u0 < tables; u0 += THREADS / threads) {
        const int u = u0 + threadIdx.x / threads;
        u64 sum = 0;
        int empty = 0;
        const bool of_margin = margin && u == tables - 1;
        const int t = t0 + u, row = of_margin ? 0 : u < tables ? 1 + b.first[t] - b.first[t0] : 0;
        const int ky = u >= tables ? 0 : of_margin ? 1 : b.first[t + 1] - b.first[t];
        sum = sum_table(b, d, table + (i64)row * b.V, ky, r, threads, empty);
        for (int o = min(threads, 32) / 2; o; o >>= 1) {
            sum += __shfl_xor_sync(FULL, sum, o);
            empty += __shfl_xor_sync(FULL, empty, o);
        }
        if (u < tables && (r & 31) == 0) {
            atomicAdd(of_margin ? &b.of_margin : &b.total[t], sum);
            if (!of_margin) atomicAdd(&b.empty[t], empty);
        }
    }
    __syncthreads();
}

// Tests the T collected targets, all of which have enough observations. report(t, sum, empty) is called for each target by
// one thread: sum is G^2 / 2 in fixed point. Ends with a barrier.
template <typename Report>
DEVICE void test_targets(Bench& b, const Codes& d, const Room& room, const int T, const Report& report) {
    const i64 V = b.V;
    for (int t0 = 0, t1; t0 < T; t0 = t1) {
        const int first = b.first[t0];
        const bool wide = V * (1 + b.first[t0 + 1] - first) > room.cells;
        const int rows = wide ? 0 : (int)(room.cells / V) - 1;
        int hi = T;
        for (t1 = t0 + 1; !wide && hi - t1 > 0;) {  // the largest t1 whose tables fit
            const int mid = (t1 + hi + 1) / 2;
            if (b.first[mid] - first <= rows) t1 = mid;
            else hi = mid - 1;
        }
        const bool margin = b.counted != 1 + wide;
        unsigned* const table = wide ? room.wide + (i64)blockIdx.x * room.wide_cells : b.table;
        for (int t = t0 + threadIdx.x; t < t1; t += THREADS) {
            b.total[t] = 0;
            b.empty[t] = 0;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            b.counted = 1 + wide;
            if (margin) b.of_margin = 0;
        }
        const i64 planes_of_masks = V * (b.size + 1);
        const bool planes = !wide && V <= room.configurations && planes_of_masks <= MOST_OFFSETS &&
                            planes_of_masks <= PLANES_PER_SET + PLANES_PER_TARGET * T;
        if (planes) count_by_planes(b, d, room, t0, t1, margin);
        else if (wide) count_by_atomics<true>(b, d, table, t0, t1, margin);
        else count_by_atomics<false>(b, d, table, t0, t1, margin);
        sum_tables(b, d, table, t0, t1, margin);
        for (int t = t0 + threadIdx.x; t < t1; t += THREADS) report(t, (i64)(b.total[t] - b.of_margin), b.empty[t]);
        __syncthreads();
    }
}
