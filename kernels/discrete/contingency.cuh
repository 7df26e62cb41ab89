// contingency.cuh -- contingency tables of one x and one set S with many targets y, and their exact sums, by a block.
//   The configuration of an observation is v = code of x * q + configuration of S, v < V = kx q. The tables of a group
//   of targets lie one after the other, a row of V counts for each level of y; before them lies the margin, a row with
//   the counts of the configurations alone. They are filled by bit planes (planes.cuh) or by atomics (atomics.cuh).
//   All threads of a block of THREADS take part in each call.
#pragma once
#include "discrete/atomics.cuh"
#include "discrete/outcome.cuh"
#include "discrete/planes.cuh"

// Most bit planes in all masks together, if bit planes are used: per set, and per target; see kernels/log.md.
constexpr int PLANES_PER_SET = 128, PLANES_PER_TARGET = 16;

// Whether the table of a target with ky levels has room in memory. If not, which only happens with observed degrees of
// freedom, the host makes the test.
DEVICE bool has_room(const BlockState& b, const Codes& d, const TableSpace& space, const int ky) {
    return !d.observed || (i64)b.V * (1 + ky) <= space.large_cells;
}

// Adds up f over the cells of a table with ky rows, less f over the sums of cells that differ in x alone: the share of
// thread r of `threads`, which takes every `threads`-th pair of a level j of y and a configuration k of S. Adds the
// number of empty cells to `empty`; or the observed degrees of freedom, that is the sum over k of (rx - 1) (ry - 1)
// with rx and ry levels of x and y that occur, as (rx - 1) for each level of y that occurs, less (rx - 1) once. margin:
// counts of the configurations alone.
DEVICE u64 sum_table(const BlockState& b, const Codes& d, const unsigned* margin, const unsigned* table, const int ky,
                     const int r, const int threads, int& empty) {
    const int q = (int)b.q, kx = b.kx;
    u64 sum = 0;
    int j = r / q, k = r - j * q;
    while (j < ky) {
        const unsigned* cell = table + (i64)j * b.V + k;
        unsigned of_y = 0;
        for (int i = 0; i < kx; ++i) {
            const unsigned m = cell[(i64)i * q];
            of_y += m;
            empty += !d.observed && m == 0;
            sum += (u64)d.f[m];
        }
        sum -= (u64)d.f[of_y];
        if (d.observed) {
            int rx = 0;
            for (int i = 0; i < kx; ++i) rx += margin[k + (i64)i * q] != 0;
            empty += max(rx - 1, 0) * ((of_y != 0) - (j == 0));
        }
        k += threads;
        if (k >= q) {
            const int more = k / q;
            j += more;
            k -= more * q;
        }
    }
    return sum;
}

// Adds the sums of the targets' tables to b.total and b.empty, and the sum of the margin to b.of_margin if `margin`.
DEVICE void sum_tables(BlockState& b, const Codes& d, const unsigned* table, const int t0, const int t1,
                       const bool margin) {
    const int tables = t1 - t0 + margin;
    const bool whole = (i64)b.V * b.first[t1] - (i64)b.V * b.first[t0] > 4096 * (i64)tables;
    int threads =
        whole ? THREADS : 32;  // for each table: its share of the block, at most 32; for large tables the block
    while (!whole && threads > 1 && threads * tables > THREADS) threads /= 2;
    const int r = threadIdx.x & (threads - 1);
    // all threads of a warp stay in the loop to the end, since they exchange values
    for (int u0 = 0; u0 < tables; u0 += THREADS / threads) {
        const int u = u0 + threadIdx.x / threads;
        u64 sum = 0;
        int empty = 0;
        const bool of_margin = margin && u == tables - 1;
        const int t = t0 + u, row = of_margin ? 0 : u < tables ? 1 + b.first[t] - b.first[t0] : 0;
        const int ky = u >= tables ? 0 : of_margin ? 1 : b.first[t + 1] - b.first[t];
        sum = sum_table(b, d, table, table + (i64)row * b.V, ky, r, threads, empty);
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

// Tests the T collected targets, all of which have enough observations, a batch that fits the memory at a time. One
// thread calls report(t, sum, empty) for each target: sum is G^2 / 2 in units of d.unit, `empty` as in sum_table. Ends
// with a barrier.
template <typename Report>
DEVICE void test_targets(BlockState& b, const Codes& d, const TableSpace& space, const int T, const Report& report) {
    const i64 V = b.V;
    for (int t0 = 0, t1; t0 < T; t0 = t1) {
        const int first = b.first[t0];
        const bool large = V * (1 + b.first[t0 + 1] - first) > space.cells;
        const int rows = large ? 0 : (int)(space.cells / V) - 1;
        int hi = T;
        for (t1 = t0 + 1; !large && hi - t1 > 0;) {  // the largest t1 whose tables fit
            const int mid = (t1 + hi + 1) / 2;
            if (b.first[mid] - first <= rows) t1 = mid;
            else hi = mid - 1;
        }
        const bool margin = b.counted != 1 + large;
        unsigned* const table = large ? space.large + (i64)blockIdx.x * space.large_cells : b.table;
        for (int t = t0 + threadIdx.x; t < t1; t += THREADS) {
            b.total[t] = 0;
            b.empty[t] = 0;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            b.counted = 1 + large;
            if (margin) b.of_margin = 0;
        }
        const i64 planes_of_masks = V * (b.size + 1);
        const bool planes = !large && V <= space.configurations && planes_of_masks <= MOST_OFFSETS &&
                            planes_of_masks <= PLANES_PER_SET + PLANES_PER_TARGET * T;
        if (planes) count_by_planes(b, d, space, t0, t1, margin);
        else if (large) count_by_atomics<true>(b, d, table, t0, t1, margin);
        else count_by_atomics<false>(b, d, table, t0, t1, margin);
        sum_tables(b, d, table, t0, t1, margin);
        for (int t = t0 + threadIdx.x; t < t1; t += THREADS) report(t, (i64)(b.total[t] - b.of_margin), b.empty[t]);
        __syncthreads();
    }
}

// Keeps the p-value of a dependent test; computes it only if it can be the largest.
DEVICE void keep_if_largest(double* z, const double g2, const i64 df) {
    const double largest = -*(volatile double*)z;
    if (!tail_is_within(g2, df, largest)) keep_largest(z, upper_tail(g2, df));
}
