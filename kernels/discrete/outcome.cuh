// outcome.cuh -- the outcome of a test of which the p-value counts, by one thread: a separated pair, its largest p-value,
//   or an entry of the list of doubtful tests.
#pragma once
#include "common/warp.cuh"

// Keeps p if it is the largest. *z is minus the pair's largest p-value so far; as an unsigned number, the bits of -p
// grow with p.
DEVICE void keep_largest(double* z, const double p) { atomicMax((u64*)z, bits(-p)); }

// Puts a doubtful test on the list. S: [size] variables.
DEVICE void put_aside(const Doubtful& list, const i64 e, const u64 rank, const int x, const int y, const int* S,
                      const int size) {
    const i64 at = (i64)atomicAdd(list.count, 1ULL);
    if (at >= list.room) return;
    list.pair[at] = e;
    list.rank[at] = rank;
    list.x[at] = x;
    list.y[at] = y;
    for (int t = 0; t < size; ++t) list.S[at * size + t] = S[t];
}

// `report_separated`; if no set was known to separate the pair, row x has one target less in `open`, if that is given.
DEVICE void separate(const Graph& g, int* open, const i64 e, const int x, const int y, const u64 rank) {
    if (report_separated(g, e, x, y, rank) && open) atomicSub(&open[x], 1);
}
