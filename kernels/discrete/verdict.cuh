// verdict.cuh -- what becomes of a dependent test (the pair's largest p-value) and of a doubtful one (the list), by one
//   thread.
#pragma once
#include "discrete/contingency.cuh"

// Keeps p if it is the largest. *z is minus the pair's largest p-value so far; as an unsigned number, the bits of -p
// grow with p.
DEVICE void keep_largest(double* z, const double p) { atomicMax((u64*)z, bits(-p)); }

// Keeps the p-value of a dependent test; computes it only if it can be the largest.
DEVICE void keep_if_largest(double* z, const double g2, const i64 df) {
    const double largest = -*(volatile double*)z;
    if (!tail_is_within(g2, df, largest)) keep_largest(z, upper_tail(g2, df));
}

// Puts a doubtful test on the list, of which b holds x and S.
DEVICE void put_aside(const Doubtful& list, const i64 e, const u64 rank, const int y, const Bench& b) {
    const i64 at = (i64)atomicAdd(list.count, 1ULL);
    if (at >= list.room) return;
    list.pair[at] = e;
    list.rank[at] = rank;
    list.x[at] = b.variable[0];
    list.y[at] = y;
    for (int t = 0; t < b.size; ++t) list.S[at * b.size + t] = b.variable[1 + t];
}
