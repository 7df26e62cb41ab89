// rows.cuh -- the next graph: where each row begins, numbers for the host's plan, and the evidence for an edge.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"

// The r^2 at which root_df * atanh(|r|) equals `z`; root_df = sqrt(n - level - 3), or 0 without degrees of freedom.
// Infinity where that exceeds R_MAX^2: every r is clipped at R_MAX, so any test is weaker evidence, whatever its r^2.
DEVICE double least_of(const double z, const double root_df) {
    const double t = tanh(z / root_df);
    if (!(root_df > 0.0)) return 0.0;
    return t > R_MAX ? __longlong_as_double(0x7ff0000000000000LL) : t * t;
}

// Sums over rows that describe the next level, of one thread, then of the block; fields as in Counters.
struct Outlook {
    u64 widest;
    unsigned rows[6];
    double sets, tests;
};

// Adds row x, which has `degree` neighbours, to the outlook for `level`.
DEVICE void add_row(Outlook& o, const int x, const int degree, const int level, const Binomials& binom,
                    const Classes& classes) {
    o.widest = max(o.widest, ((u64)degree << 32) | (0xffffffffu - (unsigned)x));
    if (degree <= level) return;
    int group = 0;
    for (int c = 0; c < 5; ++c) group += degree > classes.bound[c];
    for (int c = 0; c < 6; ++c) o.rows[c] += group == c;
    const double sets = level == 1 ? degree : (double)binom(degree, level);  // after level 0 there is no table yet
    o.sets += sets;
    o.tests += sets * (degree - level);  // = degree * C(degree - 1, level): each set serves the neighbours outside it
}

// Exclusive sums of counts [p] to starts [p + 1]; calls each(x, counts[x]) for every row. Returns the total, in all
// threads. Whole block.
template <typename Each>
DEVICE i64 scan_counts(const i64* counts, i64* starts, const int p, i64* partial, Each each) {
    i64 before = 0;
    for (int base = 0; base < p; base += blockDim.x) {
        const int x = base + threadIdx.x;
        const i64 own = x < p ? counts[x] : 0, at = scan_over_block(own, partial, before);
        if (x >= p) continue;
        starts[x] = at;
        each(x, (int)own);
    }
    if (threadIdx.x == 0) starts[p] = before;
    return before;
}

// Writes next.start from the rows' pairs, records.start from their separating sets, and the counts that the host needs
// to plan the next level (counters->pairs to ->tests_at_most). Whole block, of one block only.
DEVICE void scan_of_rows(const Graph& next, const Level& lv, const RowCounts& rows, const Records& records,
                         const Classes& classes) {
    __shared__ i64 partial[32];
    __shared__ Outlook total;
    const int p = (int)next.p;
    if (threadIdx.x == 0) total = {};
    Outlook mine = {};
    const i64 pairs = scan_counts(rows.kept, next.start, p, partial, [&](int x, int degree) {
        add_row(mine, x, degree, lv.level + 1, lv.binom, classes);
    });
    const i64 found = rows.removed ? scan_counts(rows.removed, records.start, p, partial, [](int, int) {}) : 0;
    mine.widest = max_over_warp(mine.widest);
    mine.sets = sum_over_warp(mine.sets);
    mine.tests = sum_over_warp(mine.tests);
    for (int c = 0; c < 6; ++c) mine.rows[c] = sum_over_warp(mine.rows[c]);
    if ((threadIdx.x & 31) == 0) {
        atomicMax(&total.widest, mine.widest);
        atomicAdd(&total.sets, mine.sets);
        atomicAdd(&total.tests, mine.tests);
        for (int c = 0; c < 6; ++c) atomicAdd(&total.rows[c], mine.rows[c]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        Counters& out = *lv.counters;
        out.pairs = (u64)pairs;
        out.widest = total.widest;
        out.records = (u64)found;
        out.sets = total.sets;
        out.tests_at_most = total.tests;
        for (int c = 0; c < 6; ++c) out.rows[c] = total.rows[c];
    }
}

// Ends a level: copies the counters to the host's page-locked memory and clears them for the next level. Whole block,
// of one block only.
DEVICE void report(Counters* counters, Counters* host) {
    __syncthreads();
    u64 *from = (u64*)counters, *to = (u64*)host;
    for (int i = threadIdx.x; i < (int)(sizeof(Counters) / sizeof(u64)); i += blockDim.x) {
        to[i] = *(volatile u64*)&from[i];
        from[i] = 0;
    }
}
