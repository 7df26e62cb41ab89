// neighbours.cu -- from the correlation matrix to neighbour lists: level 0, the degrees and their sums, the first
//   lists. The kernels run one after the other; the host reads the counters after the second, to allocate the lists.
//   Another one joins the evidence of both sides at the end of a run.
//   Arrays: see Graph, RowCounts and Counters in common/structures.cuh.
#include "graph/rough.cuh"
#include "graph/rows.cuh"

// Level 0 of PC-stable: every pair with |r| <= cutoff loses its edge. Also prepares level 1, since C is at hand.
//   Work    one thread per cell (i, j) of G; the thread with i < j decides for both. Blocks below the diagonal return
//   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 32)
//   gaps    [p, p] bytes, or null: 1 where there is never an edge; read only
//   fixed   [p, p] bytes, or null: 1 where there is an edge that is never tested; read only
//   rough   [p, p] uint16, the codes of C
//   Reads   g.C
//   Writes  g.G, lv.counters->tests and ->removed, rough
extern "C" __global__ void level0(const Graph g, const Level lv, const unsigned char* __restrict__ gaps,
                                  const unsigned char* __restrict__ fixed, Code* __restrict__ rough) {
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32, p = (int)g.p;
    __shared__ unsigned char cell[32][33];
    __shared__ unsigned sums[2];
    if (x0 < y0) return;
    const int i = y0 + threadIdx.y, j = x0 + threadIdx.x;
    unsigned tests = 0, removed = 0;
    unsigned char state = GONE_A;
    if (i < j && j < p) {
        const i64 at = (i64)i * p + j;
        const double r = g.C[at];
        rough[at] = code_of(r);
        if (!(gaps && gaps[at])) {
            if (fixed && fixed[at]) {
                state = FIXED;
            } else {
                removed = fabs(clip_r(r)) <= lv.cutoff;
                state = removed ? GONE_A : LIVE;
                tests = removed ? 1 : 2;  // pcalg tests y - x as well where x - y was dependent
            }
        }
        g.G[at] = state;
    }
    if (i == j && i < p) {
        g.G[(i64)i * p + i] = GONE_A;
        rough[(i64)i * p + i] = 0;
    }
    cell[threadIdx.y][threadIdx.x] = state;
    if (threadIdx.x == 0 && threadIdx.y == 0) sums[0] = sums[1] = 0;
    __syncthreads();
    const int bi = x0 + threadIdx.y, bj = y0 + threadIdx.x;  // the mirrored cell, written along its row
    if (bi < p && bj < bi) {
        const i64 at = (i64)bi * p + bj;
        g.G[at] = cell[threadIdx.x][threadIdx.y];
        rough[at] = code_of(g.C[at]);
    }
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

// Counts the neighbours of every variable. The last block to finish then does `scan_of_rows`, and sends the counters to
// the host.
//   Work    one warp per row
//   Launch  grid ceil(p/32), block 1024
//   Reads   g.G
//   Writes  rows.kept, g.start, *lv.counters, *host (page-locked memory of the host)
extern "C" __global__ void count_neighbours(const Graph g, const Level lv, const RowCounts rows, const Classes classes,
                                            Counters* host) {
    const int lane = threadIdx.x & 31, x = blockIdx.x * 32 + (threadIdx.x >> 5), p = (int)g.p;
    if (x < p) {
        const unsigned char* row = g.G + (i64)x * p;
        int n = 0;
#pragma unroll 8
        for (int j = lane; j < p; j += 32) n += row[j] & 1;  // LIVE and FIXED are odd
        n = sum_over_warp(n);
        if (lane == 0) rows.kept[x] = n;
    }
    if (!last_block(&lv.counters->finished)) return;
    scan_of_rows(g, lv, rows, {}, classes);
    report(lv.counters, host);
}

// Neighbour lists of the first graph.
//   Work    one warp per row, 128 consecutive cells of G per turn, four per lane
//   Launch  grid ceil(p/4), block 128
//   Reads   g.G, g.C, g.start
//   Writes  g.column, g.source, g.best, g.least, g.z, adjacent
//   adjacent  [p, ceil(p/32)] uint32, the graph as bits; null for discrete data, of which C holds p-values
//   mirrored  1: C equals its transpose to the last bits, so each row is read along itself, not from the upper triangle
//   root_df0, root_df1  sqrt(n - 3) and sqrt(n - 4), or 0 where there are no degrees of freedom
extern "C" __global__ void list_neighbours(const Graph g, unsigned* adjacent, const int mirrored, const double root_df0,
                                           const double root_df1) {
    const int x = blockIdx.x * 4 + (threadIdx.x >> 5), lane = threadIdx.x & 31, p = (int)g.p, words = (p + 31) / 32;
    if (x >= p) return;
    i64 e = g.start[x];
    for (int w = 0; w < words; w += 4) {
        unsigned char state[4];
        double r[4];
        UNROLL
        for (int h = 0; h < 4; ++h) {
            const int j = 32 * (w + h) + lane;
            state[h] = j < p ? g.G[(i64)x * p + j] : GONE_A;
        }
        UNROLL
        for (int h = 0; h < 4; ++h) {
            const int j = 32 * (w + h) + lane;
            const i64 at = mirrored || x < j ? (i64)x * p + j : (i64)j * p + x;
            r[h] = state[h] & 1 ? g.C[at] : 0.0;
        }
        UNROLL
        for (int h = 0; h < 4; ++h) {
            const unsigned edges = __ballot_sync(FULL, state[h] & 1);
            if (adjacent && lane == 0 && w + h < words) adjacent[(i64)x * words + w + h] = edges;
            if (state[h] & 1) {
                const i64 at = e + lanes_before(edges);
                double z = adjacent ? root_df0 * atanh(fmin(fabs(r[h]), R_MAX)) : -r[h];
                if (state[h] == FIXED) z = from_bits(0x7ff0000000000000ULL);
                g.column[at] = 32 * (w + h) + lane;
                g.source[at] = x;
                g.best[at] = NOT_SEPARATED;
                g.z[at] = z;
                g.least[at] = bits(least_of(z, root_df1));
            }
            e += __popc(edges);
        }
    }
}

// The smallest |z| of each edge's tests, of both its pairs.
//   Work    a thread per pair
//   Launch  any grid and block
//   Reads   g (start, column, source, z)
//   Writes  z [pairs] of the pairs x < y; the others are not touched
extern "C" __global__ void weakest_evidence(const Graph g, double* z, const i64 pairs) {
    const i64 threads = (i64)gridDim.x * blockDim.x;
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += threads) {
        const int x = g.source[e], y = g.column[e];
        if (x < y) z[e] = fmin(g.z[e], g.z[pair_of(g, y, x)]);
    }
}
