// neighbours.cu -- from the correlation matrix to neighbour lists: level 0, degrees, their scan, the first lists.
//   Arrays: see Graph, RowCounts, Records and Counters in common/structures.cuh.
#include "graph/bound.cuh"

// Level 0 of PC-stable: every pair with |r| <= cutoff loses its edge. Writes G, counters->tests and ->removed.
//   Work    one thread per cell (i, j) of G; the thread with i < j decides for both
//   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 32)
//   gaps, fixed  [p, p] bytes, or null: 1 = never an edge, 1 = an edge that is never tested; read only
extern "C" __global__ void level0(const Graph g, const Level lv, const unsigned char* __restrict__ gaps,
                                  const unsigned char* __restrict__ fixed) {
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32, p = (int)g.p;
    __shared__ unsigned char cell[32][33];
    __shared__ unsigned sums[2];
    if (x0 < y0) return;
    const int i = y0 + threadIdx.y, j = x0 + threadIdx.x;
    unsigned tests = 0, removed = 0;
    unsigned char state = GONE_A;
    if (i < j && j < p) {
        const i64 at = (i64)i * p + j;
        if (!(gaps && gaps[at])) {
            if (fixed && fixed[at]) {
                state = FIXED;
            } else {
                removed = fabs(clip_r(g.C[at])) <= lv.cutoff;
                state = removed ? GONE_A : LIVE;
                tests = removed ? 1 : 2;  // pcalg tests y - x as well where x - y was dependent
            }
        }
        g.G[at] = state;
    }
    if (i == j && i < p) g.G[(i64)i * p + i] = GONE_A;
    cell[threadIdx.y][threadIdx.x] = state;
    if (threadIdx.x == 0 && threadIdx.y == 0) sums[0] = sums[1] = 0;
    __syncthreads();
    const int bi = x0 + threadIdx.y, bj = y0 + threadIdx.x;  // the mirrored cell, written along its row
    if (bi < p && bj < bi) g.G[(i64)bi * p + bj] = cell[threadIdx.x][threadIdx.y];
    tests = sum_over_warp(tests);
    removed = sum_over_warp(removed);
    if (threadIdx.x == 0) {
        atomicAdd(&sums[0], tests);
        atomicAdd(&sums[1], removed);
    }
    __syncthreads();
    if (sums[0] && threadIdx.x == 0 && threadIdx.y == 0) {
        atomicAdd(&lv.counters->tests, (u64)sums[0]);
        atomicAdd(&lv.counters->removed, (u64)sums[1]);
    }
}

// Neighbours of every variable: kept [p], from G.
//   Launch  grid p, block 128: one block per row
extern "C" __global__ void count_neighbours(const Graph g, const RowCounts rows) {
    const unsigned char* row = g.G + (i64)blockIdx.x * g.p;
    int n = 0;
    for (int j = threadIdx.x; j < (int)g.p; j += blockDim.x) n += row[j] & 1;  // LIVE and FIXED are odd
    n = sum_over_warp(n);
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) atomicAdd(&sum, n);
    __syncthreads();
    if (threadIdx.x == 0) rows.kept[blockIdx.x] = sum;
}

// Sums over rows for the next level, of one thread, then of the block; see Counters.
struct Outlook {
    u64 widest;
    unsigned rows[6];
    double sets, tests;
};

// Row x has `degree` neighbours: what it means for tests of size `level`.
DEVICE void add_row(Outlook& o, const int x, const int degree, const int level, const Binomials& binom,
                    const Classes& classes) {
    o.widest = max(o.widest, ((u64)degree << 32) | (0xffffffffu - (unsigned)x));
    if (degree <= level) return;
    int group = 0;
    for (int c = 0; c < 5; ++c) group += degree > classes.bound[c];
    for (int c = 0; c < 6; ++c) o.rows[c] += group == c;
    const double sets = (double)binom(degree, level);
    o.sets += sets;
    o.tests += sets * (degree - level);  // = degree * C(degree - 1, level): each set serves the neighbours outside it
}

// Scan over the rows: next.start from the rows' pairs, records.start from their separating sets, and the counts that the
// host needs to plan the next level (counters->pairs and all after it).
//   Launch  one block of 1024; a thread takes every 1024th row
extern "C" __global__ void scan_rows(const Graph next, const Level lv, const RowCounts rows, const Records records,
                                     const Classes classes) {
    __shared__ i64 partial[32];
    __shared__ Outlook total;
    const int p = (int)next.p, lane = threadIdx.x & 31;
    if (threadIdx.x == 0) total = {};
    Outlook mine = {};
    i64 pairs = 0, found = 0;
    for (int base = 0; base < p; base += 1024) {
        const int x = base + threadIdx.x;
        const i64 kept = x < p ? rows.kept[x] : 0, removed = rows.removed && x < p ? rows.removed[x] : 0;
        const i64 first = scan_over_block(kept, partial, pairs);
        if (x < p) {
            next.start[x] = first;
            add_row(mine, x, (int)kept, lv.level + 1, lv.binom, classes);
        }
        if (rows.removed) {
            const i64 record = scan_over_block(removed, partial, found);
            if (x < p) records.start[x] = record;
        }
    }
    mine.widest = max_over_warp(mine.widest);
    mine.sets = sum_over_warp(mine.sets);
    mine.tests = sum_over_warp(mine.tests);
    for (int c = 0; c < 6; ++c) mine.rows[c] = sum_over_warp(mine.rows[c]);
    if (lane == 0) {
        atomicMax(&total.widest, mine.widest);
        atomicAdd(&total.sets, mine.sets);
        atomicAdd(&total.tests, mine.tests);
        for (int c = 0; c < 6; ++c) atomicAdd(&total.rows[c], mine.rows[c]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        next.start[p] = pairs;
        if (rows.removed) records.start[p] = found;
        Counters& out = *lv.counters;
        out.pairs = (u64)pairs;
        out.widest = total.widest;
        out.records = (u64)found;
        out.sets = total.sets;
        out.tests_at_most = total.tests;
        for (int c = 0; c < 6; ++c) out.rows[c] = total.rows[c];
    }
}

// Neighbour lists of the first graph, from G and C: column, source, best, least, z.
//   Work    one warp per row; lanes are 32 consecutive cells of G
//   Launch  grid p, block 32
//   root_df0, root_df1  sqrt(n - 3) and sqrt(n - 4), or 0 where there are no degrees of freedom
extern "C" __global__ void list_neighbours(const Graph g, const double root_df0, const double root_df1) {
    const int x = blockIdx.x, lane = threadIdx.x, p = (int)g.p;
    i64 e = g.start[x];
    for (int j0 = 0; j0 < p; j0 += 32) {
        const int j = j0 + lane;
        const unsigned char state = j < p ? g.G[(i64)x * p + j] : GONE_A;
        const unsigned edges = __ballot_sync(FULL, state & 1);
        if (state & 1) {
            const i64 at = e + lanes_before(edges);
            const double r = fmin(fabs(g.C[(i64)min(x, j) * p + max(x, j)]), R_MAX);
            const double z = state == FIXED ? __longlong_as_double(0x7ff0000000000000LL) : root_df0 * atanh(r);
            g.column[at] = j;
            g.source[at] = x;
            g.best[at] = NOT_SEPARATED;
            g.z[at] = z;
            g.least[at] = bits(bound_of(z, root_df1));
        }
        e += __popc(edges);
    }
}
