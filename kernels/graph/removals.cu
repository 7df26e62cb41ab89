// removals.cu -- after the tests of a level: what it removed, the next graph, and the records of its separating sets.
//   Arrays: see Graph, RowCounts, Records and Counters in common/structures.cuh. `g` is the graph that the level tested.
#include "canonical/partial_correlation_warp.cuh"
#include "graph/bound.cuh"
#include "graph/record.cuh"

// Whether a set of this row separated the pair: side A left GONE_A in G, side B GONE_B.
DEVICE bool separated(const int x, const int y, const unsigned char state) {
    return x < y ? state == GONE_A : state == GONE_B;
}

// Side B's removals; side A's are in G already. What side B found for an edge that side A removed does not count.
//   Launch  any grid, block 256: one thread per pair
extern "C" __global__ void mark_side_b(const Graph g, const i64 pairs) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        if (g.best[e] == NOT_SEPARATED) continue;
        const i64 x = g.source[e], y = g.column[e];
        if (x > y && g.G[x * g.p + y] == LIVE) g.G[x * g.p + y] = g.G[y * g.p + x] = GONE_B;
    }
}

// Per row: pairs kept and separating sets found. counters->tests += pcalg's tests of the pairs that no set of this row
// separated; counters->more = 1 when a tested pair had more than `level` candidates.
//   Launch  grid p, block 64: one block per row
extern "C" __global__ void count_rows(const Graph g, const Level lv, const RowCounts rows) {
    const int x = blockIdx.x;
    const i64 e0 = g.start[x], e1 = g.start[x + 1];
    __shared__ int sums[3];
    if (threadIdx.x < 3) sums[threadIdx.x] = 0;
    __syncthreads();
    int kept = 0, removed = 0, full = 0;  // full: pairs with all their sets tested
    for (i64 e = e0 + threadIdx.x; e < e1; e += blockDim.x) {
        const int y = g.column[e];
        const unsigned char state = g.G[x * g.p + y];
        kept += state & 1;
        if (state == FIXED) continue;
        const bool found = separated(x, y, state);
        removed += found;
        full += !found && (x < y || state != GONE_A);
    }
    kept = sum_over_warp(kept);
    removed = sum_over_warp(removed);
    full = sum_over_warp(full);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&sums[0], kept);
        atomicAdd(&sums[1], removed);
        atomicAdd(&sums[2], full);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        const int candidates = (int)(e1 - e0) - 1;
        rows.kept[x] = sums[0];
        rows.removed[x] = sums[1];
        if (sums[2] && candidates >= lv.level)
            atomicAdd(&lv.counters->tests, (u64)sums[2] * lv.binom(candidates, lv.level));
        if (sums[1] + sums[2] && candidates > lv.level) lv.counters->more = 1;
    }
}

// Copies the pairs that stay to the next graph (column, source, best, least, z) and the pairs that a set separated to the
// records (x, y, rank among the subsets of adj(x)).
//   Work    one warp per row; lanes are 32 consecutive pairs
//   Launch  grid p, block 32
//   root_df, root_df_next  sqrt(n - level - 3) of this level and the next, or 0 without degrees of freedom
extern "C" __global__ void compact_rows(const Graph g, const Graph next, const Records records, const double root_df,
                                        const double root_df_next) {
    const int x = blockIdx.x, lane = threadIdx.x;
    const i64 e0 = g.start[x], e1 = g.start[x + 1];
    i64 to = next.start[x], record = records.start[x];
    for (i64 b = e0; b < e1; b += 32) {
        const i64 e = b + lane;
        const int y = e < e1 ? g.column[e] : 0;
        const unsigned char state = e < e1 ? g.G[x * g.p + y] : GONE_A;
        const bool keep = state & 1, found = e < e1 && separated(x, y, state);
        const unsigned kept = __ballot_sync(FULL, keep), removed = __ballot_sync(FULL, found);
        if (keep) {
            const i64 at = to + lanes_before(kept);
            double z = g.z[e];
            const double r2 = from_bits(g.least[e]);
            if (root_df > 0.0 && r2 < bound_of(z, root_df)) z = fmin(z, root_df * atanh(fmin(sqrt(r2), R_MAX)));
            next.column[at] = y;
            next.source[at] = x;
            next.best[at] = NOT_SEPARATED;
            next.z[at] = z;
            next.least[at] = bits(bound_of(z, root_df_next));
        }
        if (found) {
            const i64 at = record + lanes_before(removed);
            records.x[at] = x;
            records.y[at] = y;
            records.rank[at] = g.best[e];
        }
        to += __popc(kept);
        record += __popc(removed);
    }
}

// Level 1: from a record's rank to S and the canonical r. counters->tests += the tests up to and including the
// separating one, which are counted among the subsets of adj(x) without y, as pcalg does.
//   Launch  any grid, block 256: one thread per record
extern "C" __global__ void finish_level1(const Graph g, const Level lv, const Records records) {
    u64 tests = 0;
    const i64 m = records.start[g.p];
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < m; i += (i64)gridDim.x * blockDim.x) {
        const int x = records.x[i], y = records.y[i], at = (int)records.rank[i], k = g.column[g.start[x] + at];
        const double *cx = g.C + x * g.p, *cy = g.C + y * g.p;
        records.S[i] = k;
        records.r[i] = correlation_given_one(cx[y], cx[k], cy[k]);
        tests += (u64)(at - (k > y) + 1);
    }
    tests = sum_over_warp(tests);
    if ((threadIdx.x & 31) == 0 && tests) atomicAdd(&lv.counters->tests, tests);
}

// Levels >= 2: as finish_level1.
//   Work    one warp per record
//   Launch  any grid, block 128; dynamic shared memory (level + 2)^2 doubles per warp where `fits`, else none
//   lv.work canonical_doubles(level) doubles per warp
extern "C" __global__ void finish_records(const Graph g, const Level lv, const Records records, const int fits) {
    extern __shared__ double finish_memory[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, l = lv.level, m = l + 2;
    const i64 id = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((i64)gridDim.x * blockDim.x) >> 5;
    double* spare = lv.work + id * canonical_doubles(l);
    double* A = fits ? finish_memory + warp * m * m : spare;
    int* s = (int*)(spare + m * m + 2 * m);
    const i64 total = records.start[g.p];
    u64 tests = 0;
    for (i64 i = id; i < total; i += warps) {
        const int x = records.x[i], y = records.y[i], d = (int)(g.start[x + 1] - g.start[x]);
        unrank_by_warp(lv.binom, d, l, records.rank[i], s);
        tests += finish_record(g, lv, records, i, s);
        const double r = partial_correlation_by_warp(g.C, g.p, x, y, s, l, A, spare);
        if (lane == 0) records.r[i] = r;
        __syncwarp();
    }
    if (lane == 0 && tests) atomicAdd(&lv.counters->tests, tests);
}
