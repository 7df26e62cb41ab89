// verdict.cuh -- what becomes of a test: the pair's largest p-value, or the list of doubtful tests.
#pragma once
#include "discrete/contingency.cuh"

// z of pair e is minus the largest p-value of its dependent tests so far. As bits, larger p-values are larger numbers.
DEVICE void keep_largest(double* z, const double p) { atomicMax((u64*)z, bits(-p)); }

// A dependent test takes part only if it can be the largest.
DEVICE void keep_if_largest(double* z, const double g2, const i64 df) {
    const double largest = -*(volatile double*)z;
    if (!tail_is_within(g2, df, largest)) keep_largest(z, upper_tail(g2, df));
}

// Puts a doubtful test on the list.
DEVICE void put_aside(const Doubtful& list, const i64 e, const u64 rank, const int y, const Bench& b) {
    const i64 at = (i64)atomicAdd(list.count, 1ULL);
    if (at >= list.room) return;
    list.pair[at] = e;
    list.rank[at] = rank;
    list.x[at] = b.variable[0];
    list.y[at] = y;
    for (int t = 0; t < b.size; ++t) list.S[at * b.size + t] = b.variable[1 + t];
}
