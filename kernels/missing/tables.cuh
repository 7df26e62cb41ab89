// tables.cuh -- p-values of tests of contingency tables, by a warp: of imputations, or of the complete rows. As in
//   correlations.cuh, NaN where the host has to make the test.
//   Counts are kept of the cells (configuration k of S, code of x, code of y), and behind them of the margins (k, x),
//   (k, y) and (k).
#pragma once
#include "missing/tails.cuh"

// The table of one test in the work space of a warp, and its sizes.
struct Table {
    int kx, ky, l;
    i64 q, cells, all;  // configurations of S; cells; counts in all
    unsigned* count;    // [all]
    unsigned* seen;     // [l + 2, 8] bits of the codes that occur; test-wise deletion only
    double* mean;       // [cells] mean of the counts; imputations only
    double* fitted;     // [cells] mean of the counts expected without the edge; imputations only

    // Whether it fits the work space. nodes: S, x, y.
    DEVICE bool lay_out(const Observed& d, const int* nodes, const int size, double* work, const i64 bytes,
                        const bool means) {
        l = size;
        kx = d.levels[nodes[l]];
        ky = d.levels[nodes[l + 1]];
        q = 1;
        for (int i = 0; i < l && q <= bytes; ++i) q *= d.levels[nodes[i]];
        cells = q * kx * ky;
        all = cells + q * (kx + ky + 1);
        mean = work;
        fitted = mean + cells;
        count = (unsigned*)(means ? fitted + cells : work);
        seen = count + all;
        return 4 * (all + 8 * (l + 2)) + (means ? 16 * cells : 0) <= bytes;
    }

    // Makes all counts zero. Whole warp.
    DEVICE void clear() {
        for (i64 c = threadIdx.x & 31; c < all + 8 * (l + 2); c += 32) count[c] = 0;
        __syncwarp();
    }

    // Counts an observation, of which code(i) is the code of node i.
    template <typename Code>
    DEVICE void enter(const Observed& d, const int* nodes, const Code& code) {
        i64 k = 0;
        for (int i = 0; i < l; ++i) k = k * d.levels[nodes[i]] + code(i);
        const i64 of_x = k * kx + code(l);
        atomicAdd(&count[of_x * ky + code(l + 1)], 1u);
        atomicAdd(&count[cells + of_x], 1u);
        atomicAdd(&count[cells + q * kx + k * ky + code(l + 1)], 1u);
        atomicAdd(&count[cells + q * (kx + ky) + k], 1u);
    }

    // The count of cell c that is expected without the edge, NaN if its configuration does not occur. of_all: the number
    // that stands for the observations of the configuration, 0: the number that are there.
    DEVICE double expected(const i64 c, const int of_all) const {
        const i64 of_x = c / ky, k = of_x / kx, of_y = k * ky + (c - of_x * ky);
        const double margins = (double)count[cells + of_x] * (double)count[cells + q * kx + of_y];
        return margins / (of_all ? of_all : (double)count[cells + q * (kx + ky) + k]);
    }

    // G^2. Adds the number of cells with observations to `occupied`. Whole warp.
    DEVICE double g2(const int of_all, i64& occupied) const {
        double sum = 0.0;
        i64 filled = 0;
        for (i64 c = threadIdx.x & 31; c < cells; c += 32) {
            if (count[c] == 0) continue;
            ++filled;
            sum += 2.0 * count[c] * log(count[c] / expected(c, of_all));
        }
        occupied += sum_over_warp(filled);
        return sum_over_warp(sum);
    }
};

// Multiple imputation.
DEVICE double imputed_codes_p(const Observed& d, const int* nodes, const int l, double* work, const i64 bytes) {
    Table t;
    const int lane = threadIdx.x & 31;
    if (!t.lay_out(d, nodes, l, work, bytes, true)) return nan_value();
    double of_full = 0.0, of_mean = 0.0;
    for (i64 c = lane; c < t.cells; c += 32) t.mean[c] = t.fitted[c] = 0.0;
    for (int m = 0; m < d.M; ++m) {
        const unsigned char* const code = d.code + m * d.p * d.rows;
        t.clear();
        for (i64 s = lane; s < d.rows; s += 32)
            t.enter(d, nodes, [&](const int i) { return code[nodes[i] * d.rows + s]; });
        __syncwarp();
        i64 occupied = 0;
        of_full += t.g2(0, occupied) / d.M;
        for (i64 c = lane; c < t.cells; c += 32) {
            t.mean[c] += (double)t.count[c] / d.M;
            t.fitted[c] += t.expected(c, 0) / d.M;
        }
        __syncwarp();
    }
    for (i64 c = lane; c < t.cells; c += 32)
        if (t.mean[c] > 0.0 && t.fitted[c] == t.fitted[c]) of_mean += 2.0 * t.mean[c] * log(t.mean[c] / t.fitted[c]);
    return pooled_g2(of_full, sum_over_warp(of_mean), (double)(t.q * (t.kx - 1) * (t.ky - 1)), d.M);
}

// Test-wise deletion.
DEVICE double testwise_codes_p(const Observed& d, const int* nodes, const int l, double* work, const i64 bytes) {
    Table t;
    const int lane = threadIdx.x & 31;
    if (!t.lay_out(d, nodes, l, work, bytes, false)) return nan_value();
    int n = 0;
    const auto code = [&](const i64 s, const int i) { return (int)d.code[nodes[i] * d.rows + s]; };
    t.clear();
    for (i64 s = lane; s < d.rows; s += 32) {
        bool complete = true;
        for (int i = 0; i < l + 2; ++i) complete = complete && code(s, i) != 255;
        n += complete;
        for (int i = 0; i < l + 2 && complete; ++i) atomicOr(&t.seen[8 * i + code(s, i) / 32], 1u << code(s, i) % 32);
        if (complete && !d.quirks) t.enter(d, nodes, [&](const int i) { return code(s, i); });
    }
    __syncwarp();
    n = sum_over_warp(n);
    if (n < 2) return nan_value();
    if (d.quirks && l > LARGEST_SET_OF_DISCITEST) return 1.0;
    i64 strata = 1, kx = 1, ky = 1;  // levels that occur
    for (int i = 0; i < l + 2; ++i) {
        const int distinct = sum_over_warp(lane < 8 ? __popc(t.seen[8 * i + lane]) : 0);
        if (lane == 0) t.seen[8 * i] = distinct;
        (i < l ? strata : i == l ? kx : ky) *= distinct;
    }
    __syncwarp();
    i64 df = strata * (kx - 1) * (ky - 1), occupied = 0;
    if (df == 0) return 1.0;
    for (i64 s = lane; d.quirks && s < d.rows; s += 32) {  // codes from the number of levels on are not counted
        bool counted = true;
        for (int i = 0; i < l + 2; ++i) counted = counted && code(s, i) != 255;
        for (int i = 0; i < l + 2; ++i) counted = counted && code(s, i) < t.seen[8 * i];
        if (counted) t.enter(d, nodes, [&](const int i) { return code(s, i); });
    }
    __syncwarp();
    const double g2 = t.g2(d.quirks && l == 0 ? n : 0, occupied);
    if (d.adapt && l > 0) {
        df -= strata * kx * ky - occupied + (d.quirks ? 4 * ((1LL << l) - strata) : 0);
        df = df > 1 ? df : 1;
    }
    return upper_tail(g2, df);
}
