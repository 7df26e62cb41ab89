// sums.cuh -- sums of products by the definition in pycupc/independence/gaussian/correlation.py, and with its bits.
#pragma once
#include "common/double_double.cuh"

constexpr int GROUP = 4, BLOCK = 64;  // as in pycupc/independence/gaussian/blocked_products.py

// At the end of a block its sum goes to the total, and what the total loses then is where the next block begins.
DEVICE void close_block(double& total, double& block) {
    const Double2x sum = two_sum(total, block);
    total = sum.high;
    block = sum.low;
}

// The sum of n products u v by one thread, of which pair(k, u, v) sets the k-th; LOADS of them, a multiple of GROUP, are
// under way at a time.
template <int LOADS, typename Pair>
DEVICE double sum_of_products(const int n, const Pair& pair) {
    double total = 0.0, block = 0.0;
    for (int begin = 0; begin < n; begin += LOADS) {
        double u[LOADS], v[LOADS];
        UNROLL
        for (int h = 0; h < LOADS; ++h) {
            u[h] = v[h] = 0.0;  // zeros beyond the last product change no sum
            if (begin + h < n) pair(begin + h, u[h], v[h]);
        }
        UNROLL
        for (int h = 0; h < LOADS; h += GROUP)
            block += fma(u[h + 3], v[h + 3], fma(u[h + 2], v[h + 2], fma(u[h + 1], v[h + 1], u[h] * v[h])));
        if ((begin + LOADS) % BLOCK == 0) close_block(total, block);
    }
    return total + block;
}

// The sums of 4 x 4 pairs of columns by one thread, of which DEPTH observations at a time lie in shared memory.
struct TileOfSums {
    double total[4][4], block[4][4];

    DEVICE TileOfSums() : total(), block() {}

    // Adds products of DEPTH observations, a multiple of GROUP; load(k, a, b) gets the values of observation k.
    template <int DEPTH, typename Load>
    DEVICE void add(const Load& load) {
#pragma unroll 1
        for (int k = 0; k < DEPTH; k += GROUP) {
            double group[4][4];
            UNROLL
            for (int h = 0; h < GROUP; ++h) {
                double a[4], b[4];
                load(k + h, a, b);
                UNROLL
                for (int i = 0; i < 4; ++i) UNROLL
                for (int j = 0; j < 4; ++j) group[i][j] = h ? fma(a[i], b[j], group[i][j]) : a[i] * b[j];
            }
            UNROLL
            for (int i = 0; i < 4; ++i) UNROLL
            for (int j = 0; j < 4; ++j) block[i][j] += group[i][j];
        }
    }
    // After `observations` of them: closes the block if one ends.
    DEVICE void close(const int observations) {
        if (observations % BLOCK) return;
        UNROLL
        for (int i = 0; i < 4; ++i) UNROLL
        for (int j = 0; j < 4; ++j) close_block(total[i][j], block[i][j]);
    }
    DEVICE double sum(const int i, const int j) const { return total[i][j] + block[i][j]; }
};
