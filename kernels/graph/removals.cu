// removals.cu -- after the tests of a level: its removals, the next graph, and the records of its separating sets.
//   Two kernels run one after the other: settle, then finish (of discrete data, contingency_records and p_values).
//   Arrays: see Graph, RowCounts, Records and Counters in common/structures.cuh. `g` is the graph that was tested.
#include "canonical/partial_correlation_warp.cuh"
#include "graph/record.cuh"
#include "graph/rows.cuh"

// The arguments of settle.
struct Settling {
    Graph g, next;
    Level lv;
    RowCounts rows;
    Records records;
    double root_df, root_df_next;
};

// Whether a set of row x separated the pair (x, y) of this state: side A leaves GONE_A in G, side B GONE_B.
DEVICE bool separated(const int x, const int y, const unsigned char state) {
    return x < y ? state == GONE_A : state == GONE_B;
}

// Enters side B's removals in G, where side A's are already. A set of side B does not count for an edge that side A
// removed. One thread per pair.
DEVICE void mark_side_b(const Graph& g, const i64 pairs) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        if (g.best[e] == NOT_SEPARATED) continue;
        const int x = g.source[e], y = g.column[e];
        if (x > y && state_of(g, e, x, y) == LIVE) set_states(g, e, x, y, GONE_B);
    }
}

// A lane's four of 128 consecutive pairs of a row, 32 apart.
struct Slice {
    i64 e[4];
    int y[4];
    bool in[4];  // whether the row has this pair
    unsigned char state[4];
};

DEVICE Slice slice_of(const Graph& g, const int x, const i64 begin, const i64 end) {
    Slice s;
    UNROLL
    for (int h = 0; h < 4; ++h) {
        s.e[h] = begin + 32 * h + (threadIdx.x & 31);
        s.in[h] = s.e[h] < end;
        s.y[h] = s.in[h] ? g.column[s.e[h]] : 0;
    }
    UNROLL
    for (int h = 0; h < 4; ++h) s.state[h] = s.in[h] ? state_of(g, s.e[h], x, s.y[h]) : GONE_A;
    return s;
}

// Counts the pairs of row x that stay, and the separating sets found in it: rows.kept, rows.removed. Sets
// counters->more to 1 if a tested pair had more than `level` candidates. Lane 0 adds to `tests` pcalg's tests of the
// pairs that no set of this row separated. One warp.
DEVICE void count_row(const Settling& s, const int x, u64& tests) {
    const Graph& g = s.g;
    const i64 e0 = g.start[x], e1 = g.start[x + 1];
    int kept = 0, removed = 0, full = 0;  // full: pairs of which pcalg tests all sets
    for (i64 b = e0; b < e1; b += 128) {
        const Slice v = slice_of(g, x, b, e1);
        UNROLL
        for (int h = 0; h < 4; ++h) {
            if (!v.in[h]) continue;
            kept += v.state[h] & 1;
            if (v.state[h] == FIXED) continue;
            const bool found = separated(x, v.y[h], v.state[h]);
            removed += found;
            full += !found && (x < v.y[h] || v.state[h] != GONE_A);
        }
    }
    kept = sum_over_warp(kept);
    removed = sum_over_warp(removed);
    full = sum_over_warp(full);
    if ((threadIdx.x & 31) == 0) {
        const int candidates = (int)(e1 - e0) - 1, level = s.lv.level;
        s.rows.kept[x] = kept;
        s.rows.removed[x] = removed;
        if (full && candidates >= level) tests += (u64)full * s.lv.binom(candidates, level);
        if (removed + full && candidates > level) s.lv.counters->more = 1;
    }
}

// Copies the pairs of row x that stay to the next graph (column, source, best, least, z), and the separated pairs to the
// records (x, y, rank among the subsets of adj(x)). One warp.
DEVICE void compact_row(const Settling& s, const Found& found, const int x) {
    const Graph &g = s.g, &next = s.next;
    const i64 e0 = g.start[x], e1 = g.start[x + 1];
    i64 to = next.start[x], record = s.records.start[x];
    for (i64 b = e0; b < e1; b += 128) {
        const Slice v = slice_of(g, x, b, e1);
        UNROLL
        for (int h = 0; h < 4; ++h) {
            const i64 e = v.e[h];
            const bool keep = v.state[h] & 1, gone = v.in[h] && separated(x, v.y[h], v.state[h]);
            const unsigned kept = __ballot_sync(FULL, keep), removed = __ballot_sync(FULL, gone);
            if (keep) {
                const i64 at = to + lanes_before(kept);
                double z = g.z[e];
                const double r2 = from_bits(g.least[e]);
                if (s.root_df > 0.0 && r2 < least_of(z, s.root_df))
                    z = fmin(z, s.root_df * atanh(fmin(sqrt(r2), R_MAX)));
                next.column[at] = v.y[h];
                next.source[at] = x;
                keep_pair(g, e, next, at);
                next.best[at] = NOT_SEPARATED;
                next.z[at] = z;
                next.least[at] = bits(least_of(z, s.root_df_next));
            }
            if (gone) {
                const i64 at = record + lanes_before(removed);
                found.x[at] = x;
                found.y[at] = v.y[h];
                s.records.rank[at] = g.best[e];
            }
            to += __popc(kept);
            record += __popc(removed);
        }
    }
}

// The steps after the tests of a level, in four steps with barriers of the whole grid between them: side B's removals,
// counts per row, their sums, then the next graph and the records.
//   Work    step 1: a thread per pair; steps 2 and 4: a warp per row; step 3: block 0
//   Launch  cooperative, any grid that is resident at once, block 512
//   Reads   g (all but C)
//   Writes  g.G, next (all lists), rows, records.start, ->rank, Found::x, ::y, lv.counters->tests, ->more, and the
//           counters of scan_of_rows
//   pairs   E of the graph that the level tested
//   root_df, root_df_next  sqrt(n - level - 3) of this level and the next, or 0 without degrees of freedom
extern "C" __global__ void __launch_bounds__(512, 2)
    settle(const Graph g, const Graph next, const Level lv, const RowCounts rows, const Records records,
           const Classes classes, const i64 pairs, const double root_df, const double root_df_next) {
    const Settling s = {g, next, lv, rows, records, root_df, root_df_next};
    const int p = (int)g.p, id = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = (gridDim.x * blockDim.x) >> 5;
    u64 tests = 0;
    mark_side_b(g, pairs);
    grid_barrier(&lv.counters->arrivals);
    for (int x = id; x < p; x += warps) count_row(s, x, tests);
    tests = sum_over_warp(tests);
    if ((threadIdx.x & 31) == 0 && tests) atomicAdd(&lv.counters->tests, tests);
    grid_barrier(&lv.counters->arrivals);
    if (blockIdx.x == 0) scan_of_rows(next, lv, rows, records, classes);
    grid_barrier(&lv.counters->arrivals);
    const Found found(records.found, records.start[p]);
    for (int x = id; x < p; x += warps) compact_row(s, found, x);
}

// Level 1: from the rank of record i to S and the canonical r. Returns the tests as find_members does. One thread.
DEVICE u64 finish_level1(const Graph& g, const Found& found, const i64 i, const u64 rank) {
    const int x = found.x[i], y = found.y[i], at = (int)rank, k = g.column[g.start[x] + at];
    found.S[i] = k;
    if (has_matrix(g, x)) {  // else correlate_records writes r
        const int in_x = place_of_row(g, x), in_y = place_of(g, x, y), in_k = place_of_pair(g, g.start[x] + at);
        const double *C = matrix_of(g, x), *cx = C + in_x * pitch_of(g, x), *cy = C + in_y * pitch_of(g, x);
        found.r[i] = correlation_given_one(cx[in_y], cx[in_k], cy[in_k]);
    }
    return (u64)(at - (k > y) + 1);
}

// Levels >= 2: as finish_level1, by one warp; returns the number of tests in lane 0, 0 in the others.
//   A      (level + 2)^2 doubles in shared memory, or the beginning of `spare`
//   spare  canonical_doubles(level) doubles in global memory
DEVICE u64 finish_record(const Graph& g, const Level& lv, const Found& found, const i64 i, const u64 rank, double* A,
                         double* spare) {
    const int lane = threadIdx.x & 31, x = found.x[i];
    int* members = (int*)(spare + canonical_matrix(lv.level));
    const u64 tests = find_members(g, lv, found, i, rank, members);
    for (int k = lane; k < lv.level; k += 32) members[k] = place_of(g, x, members[k]);
    __syncwarp();
    const double r = partial_correlation_by_warp(matrix_of(g, x), pitch_of(g, x), place_of_row(g, x),
                                                 place_of(g, x, found.y[i]), members, lv.level, A, spare);
    if (lane == 0) found.r[i] = r;
    __syncwarp();
    return lane == 0 ? tests : 0;
}

// From the ranks of the records to their separating sets and the canonical r given each. The last block to finish sends
// the counters to the host.
//   Work    one thread per record at level 1, one warp per record above
//   Launch  any grid, block 128; dynamic shared memory (level + 2)^2 doubles per warp if `fits`, else none
//   Reads   g.C, g.start, g.column, records.start, records.rank, Found::x, ::y
//   Writes  Found::S, ::r, lv.counters->tests, *host (page-locked memory of the host)
//   lv.work  from level 2 on, canonical_doubles(level) doubles for each warp that has a record
extern "C" __global__ void finish(const Graph g, const Level lv, const Records records, const int fits,
                                  Counters* host) {
    extern __shared__ double finish_memory[];
    const i64 id = (i64)blockIdx.x * blockDim.x + threadIdx.x, threads = (i64)gridDim.x * blockDim.x;
    const i64 total = records.start[g.p];
    const Found found(records.found, total);
    u64 tests = 0;
    if (lv.level == 1) {
        for (i64 i = id; i < total; i += threads) tests += finish_level1(g, found, i, records.rank[i]);
    } else {
        const i64 m = lv.level + 2;
        double* spare = lv.work + (id >> 5) * canonical_doubles(lv.level);
        double* A = fits ? finish_memory + (threadIdx.x >> 5) * m * m : spare;
        for (i64 i = id >> 5; i < total; i += threads >> 5)
            tests += finish_record(g, lv, found, i, records.rank[i], A, spare);
    }
    tests = sum_over_warp(tests);
    if ((threadIdx.x & 31) == 0 && tests) atomicAdd(&lv.counters->tests, tests);
    if (last_block(&lv.counters->finished)) report(lv.counters, host);
}
