// lists.cu -- from the pairs that the sieve has picked to neighbour lists, and a matrix of correlations for each row.
//   The kernels run one after the other; the host reads the counters after the second, to allocate the lists.
//   Z, squares  as in sieve/pick.cu
//   pairs       [m] i p + j of each pair i < j: first `picked` ones from the sieve, then the pairs of `fixed`. NO_PAIR
//               from correlate_pairs on where there is no edge
//   r           [m] correlation of each pair; correlate_pairs
//   gaps, fixed [ ] i p + j of the pairs without an edge, and of the edges that are never tested, ascending
#include "canonical/partial_correlation.cuh"
#include "common/sums.cuh"
#include "graph/record.cuh"
#include "graph/rows.cuh"

constexpr u64 NO_PAIR = ~0ULL;

// Whether an ascending list has `key`.
DEVICE bool holds(const i64* list, const i64 count, const i64 key) {
    const i64 at = first_not_below(list, count, key);
    return at < count && list[at] == key;
}

// The correlation with this S_ab, as `correlate` in correlation/correlation.cu has it.
DEVICE double correlation_of(const double sum, const double of_a, const double of_b) {
    const double r = sum / sqrt(of_a * of_b);
    return r > 1.0 ? 1.0 : r < -1.0 ? -1.0 : r;
}

// Level 0 of the picked pairs: |r| <= cutoff removes the edge.
//   Work    a thread per pair
//   Launch  any grid and block
//   kept    [p] neighbours of each variable; zero before
extern "C" __global__ void correlate_pairs(const double* __restrict__ Z, const double* __restrict__ squares, u64* pairs,
                                           double* r, i64* kept, const i64* __restrict__ gaps,
                                           const i64* __restrict__ fixed, const i64 n_gaps, const i64 n_fixed,
                                           const i64 picked, const i64 total, const double cutoff, const int n,
                                           const i64 p) {
    const i64 threads = (i64)gridDim.x * blockDim.x;
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < total; e += threads) {
        const i64 key = (i64)pairs[e], x = key / p, y = key % p;
        const double *a = Z + x * n, *b = Z + y * n;
        const double sum = sum_of_products<8>(n, [&](int i, double& u, double& v) { u = a[i], v = b[i]; });
        r[e] = correlation_of(sum, squares[x], squares[y]);
        const bool tested = !holds(gaps, n_gaps, key) && !holds(fixed, n_fixed, key);
        if (e < picked && !(tested && fabs(clip_r(r[e])) > cutoff)) {
            pairs[e] = NO_PAIR;
        } else {
            atomicAdd((u64*)&kept[x], 1ULL);
            atomicAdd((u64*)&kept[y], 1ULL);
        }
    }
}

// Sums the counts of neighbours, and sends the counters to the host.
//   Work    one block
//   Launch  grid 1, block 1024
//   Reads   rows.kept
//   Writes  g.start, g.matrix, g.width, *lv.counters, *host (page-locked memory of the host)
//   tested  pairs that level 0 tests
extern "C" __global__ void count_pairs(const Graph g, const Level lv, const RowCounts rows, const Classes classes,
                                       i64* matrix, int* width, const u64 tested, const u64 n_fixed, Counters* host) {
    __shared__ i64 partial[32];
    const int p = (int)g.p;
    scan_of_rows(g, lv, rows, {}, classes);
    for (int x = threadIdx.x; x < p; x += blockDim.x) {
        const i64 w = rows.kept[x] + 1;
        width[x] = (int)w;
        rows.kept[x] = w * w;
    }
    __syncthreads();
    scan_counts(rows.kept, matrix, p, partial, [](int, int) {});
    if (threadIdx.x == 0) {
        const u64 kept = lv.counters->pairs / 2 - n_fixed;
        lv.counters->tests = tested + kept;  // pcalg tests y - x as well where x - y was dependent
        lv.counters->removed = tested - kept;
    }
    report(lv.counters, host);
}

// Puts each pair into the rows of both its variables, in any order.
//   Work    a thread per pair
//   Launch  any grid and block
//   filled  [p] pairs put into each row; zero before
//   Writes  column, z [E] of the pairs
extern "C" __global__ void enter_pairs(const Graph g, const u64* __restrict__ pairs, const double* __restrict__ r,
                                       u64* filled, int* column, double* z, const i64 picked, const i64 total,
                                       const double root_df0) {
    const i64 threads = (i64)gridDim.x * blockDim.x;
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < total; e += threads) {
        if (pairs[e] == NO_PAIR) continue;
        const int x = (int)(pairs[e] / (u64)g.p), y = (int)(pairs[e] % (u64)g.p);
        const double infinite = from_bits(0x7ff0000000000000ULL);
        const double evidence = e < picked ? root_df0 * atanh(fmin(fabs(r[e]), R_MAX)) : infinite;
        const i64 of_x = g.start[x] + (i64)atomicAdd(&filled[x], 1ULL);
        const i64 of_y = g.start[y] + (i64)atomicAdd(&filled[y], 1ULL);
        column[of_x] = y;
        column[of_y] = x;
        z[of_x] = z[of_y] = evidence;
    }
}

// The neighbour lists, each row in ascending order.
//   Work    a thread per pair counts the smaller neighbours in its row
//   Launch  any grid and block
//   Reads   column, z (enter_pairs), g.start
//   Writes  g.column, g.source, g.best, g.least, g.z, g.G, g.place
extern "C" __global__ void sort_rows(const Graph g, const int* __restrict__ column, const double* __restrict__ z,
                                     const i64 pairs, const double root_df1) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        const int x = first_not_below(g.start, (int)g.p + 1, e + 1) - 1, y = column[e];
        const i64 first = g.start[x], end = g.start[x + 1];
        int place = 0;
        for (i64 other = first; other < end; ++other) place += column[other] < y;
        const i64 at = first + place;
        g.column[at] = y;
        g.source[at] = x;
        g.best[at] = NOT_SEPARATED;
        g.z[at] = z[e];
        g.least[at] = bits(least_of(z[e], root_df1));
        g.G[at] = z[e] > 1e300 ? FIXED : LIVE;
        g.place[at] = place;
    }
}

// The sums of the products of a tile of 32 x 32 pairs of columns. Whole block, of 64 threads, each with 4 x 4 of them;
// DEPTH observations at a time lie in shared memory.
//   y_of, x_of  number of the c-th column on either side, or -1
constexpr int EDGE = 32, DEPTH = 16;
template <typename OfLeft, typename OfRight>
DEVICE TileOfSums multiply_columns(const double* __restrict__ Z, const int n, OfLeft y_of, OfRight x_of) {
    __shared__ double left[DEPTH][EDGE + 1], right[DEPTH][EDGE + 1];
    const int t = threadIdx.x, tx = t & 7, ty = t >> 3;
    TileOfSums S;
    for (int begin = 0; begin < n; begin += DEPTH) {
        for (int i = t; i < EDGE * DEPTH; i += 64) {  // zeros beyond the last observation change no sum
            const int c = i / DEPTH, k = i % DEPTH;
            const bool in = begin + k < n;
            const i64 y = y_of(c), x = x_of(c);
            left[k][c] = in && y >= 0 ? Z[y * n + begin + k] : 0.0;
            right[k][c] = in && x >= 0 ? Z[x * n + begin + k] : 0.0;
        }
        __syncthreads();
        S.add<DEPTH>([&](const int k, double (&a)[4], double (&b)[4]) {
            UNROLL
            for (int h = 0; h < 4; ++h) a[h] = left[k][ty + 8 * h], b[h] = right[k][tx + 8 * h];
        });
        S.close(begin + DEPTH);
        __syncthreads();
    }
    return S;
}

// The matrices of the rows: correlations by their definition, among the neighbours of x, and x last.
//   Work    a block takes a row at a time
//   Launch  any grid, block 64
//   Reads   Z, squares, g.start, g.column, g.matrix, g.width
//   Writes  C
extern "C" __global__ void row_matrices(const Graph g, const double* __restrict__ Z, const double* __restrict__ squares,
                                        double* C, const int n) {
    const int tx = threadIdx.x & 7, ty = threadIdx.x >> 3;
    for (int x = blockIdx.x; x < (int)g.p; x += gridDim.x) {
        const int w = g.width[x];
        if (w < 2) continue;
        const int* adj = g.column + g.start[x];
        double* out = C + g.matrix[x];
        const auto variable = [&](const int place) { return (i64)(place < w - 1 ? adj[place] : place < w ? x : -1); };
        for (int y0 = 0, x0 = 0; y0 < w;) {
            const TileOfSums S = multiply_columns(
                Z, n, [&](int c) { return variable(y0 + c); }, [&](int c) { return variable(x0 + c); });
            UNROLL
            for (int i = 0; i < 4; ++i) UNROLL
            for (int j = 0; j < 4; ++j) {
                const int a = y0 + ty + 8 * i, b = x0 + tx + 8 * j;
                if (a >= w || b >= w) continue;
                const double v = correlation_of(S.sum(i, j), squares[variable(a)], squares[variable(b)]);
                out[(i64)a * w + b] = out[(i64)b * w + a] = v;
            }
            x0 += EDGE;
            if (x0 >= w) y0 += EDGE, x0 = y0;
        }
    }
}

// Some rows of the matrix that a hub x would have: of the pairs first .. end - 1, and its last one. Rows of 32 of which
// none is a target are left out.
//   Work    a block per tile
//   Launch  grid (ceil(w/32), ceil((end - first + 1)/32)), w = neighbours + 1; block 64
//   Reads   Z, squares, g.start, g.column, g.source, g.G
//   Writes  stripe [end - first + 1, w]
extern "C" __global__ void stripe_of_hub(const Graph g, const double* __restrict__ Z,
                                         const double* __restrict__ squares, double* stripe, const i64 first,
                                         const i64 end, const int n) {
    const int tx = threadIdx.x & 7, ty = threadIdx.x >> 3, y0 = EDGE * blockIdx.y, x0 = EDGE * blockIdx.x;
    const int x = g.source[first], count = (int)(end - first), own = y0 + (threadIdx.x & 31);
    const int* adj = g.column + g.start[x];
    const int d = (int)(g.start[x + 1] - g.start[x]);
    if (!__syncthreads_or(own == count || (own < count && g.G[first + own] == LIVE))) return;
    const auto row = [&](const int i) { return (i64)(i < count ? g.column[first + i] : i == count ? x : -1); };
    const auto variable = [&](const int place) { return (i64)(place < d ? adj[place] : place == d ? x : -1); };
    const TileOfSums S =
        multiply_columns(Z, n, [&](int c) { return row(y0 + c); }, [&](int c) { return variable(x0 + c); });
    UNROLL
    for (int i = 0; i < 4; ++i) UNROLL
    for (int j = 0; j < 4; ++j) {
        const int a = y0 + ty + 8 * i, b = x0 + tx + 8 * j;
        if (a > count || b > d) continue;
        stripe[(i64)a * (d + 1) + b] = correlation_of(S.sum(i, j), squares[row(a)], squares[variable(b)]);
    }
}

// r of the records of level 1 in rows without a matrix.
//   Work    a thread per record
//   Launch  any grid and block
//   Reads   Z, squares, g.width, records.start, Found::x, ::y, ::S
//   Writes  Found::r
extern "C" __global__ void correlate_records(const Graph g, const Records records, const double* __restrict__ Z,
                                             const double* __restrict__ squares, const int n) {
    const i64 total = records.start[g.p], threads = (i64)gridDim.x * blockDim.x;
    const Found found(records.found, total);
    const auto correlation = [&](const i64 a, const i64 b) {
        const auto pair = [&](int i, double& u, double& v) { u = Z[a * n + i], v = Z[b * n + i]; };
        const double sum = sum_of_products<8>(n, pair);
        return correlation_of(sum, squares[a], squares[b]);
    };
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += threads) {
        const int x = found.x[i], y = found.y[i], k = found.S[i];
        if (g.width[x] == 0)
            found.r[i] = correlation_given_one(correlation(x, y), correlation(x, k), correlation(y, k));
    }
}
