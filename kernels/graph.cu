// graph.cu -- everything between the tests: look over C, level 0, neighbour lists by parallel scan, bookkeeping of a level.
#include "engine.cuh"

// facts[0]: smallest index of an entry that differs from its mirror by more than `mirror`, or is NaN where that is not;
// [1]: of one beyond +-1; [2]: of a diagonal entry neither NaN nor within `unit` of 1; ~0 = none. nan_count [p]: NaN a row.
//   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 8): tiles of 32 x 32, the mirrored tile through shared memory
extern "C" __global__ void inspect(const double* __restrict__ C, const int p, const double mirror, const double unit,
                                   u64* facts, u64* nan_count) {
    __shared__ double other[32][33];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    if (x0 < y0) return;                                    // pairs i <= j only
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = x0 + r, j = y0 + threadIdx.x;
        if (i < p && j < p) other[r][threadIdx.x] = C[(i64)i * p + j];
    }
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = y0 + r, j = x0 + threadIdx.x;
        if (i >= p || j >= p || i > j) continue;
        const i64 at = (i64)i * p + j;
        const double a = C[at], b = other[threadIdx.x][r];
        const bool na = a != a, nb = b != b;
        if (na) atomicAdd(&nan_count[i], 1ULL);
        if (i == j) {
            if (!na && !(fabs(a - 1.0) <= unit)) atomicMin(&facts[2], (u64)i);
            continue;
        }
        if (nb) atomicAdd(&nan_count[j], 1ULL);
        if (na != nb || (!na && !(fabs(a - b) <= mirror))) atomicMin(&facts[0], (u64)at);
        if (fabs(a) > 1.0 + mirror) atomicMin(&facts[1], (u64)at);
        if (fabs(b) > 1.0 + mirror) atomicMin(&facts[1], (u64)((i64)j * p + i));
    }
}

// Level 0: G from C, the gaps and the fixed edges (bytes, or null); counts[0] tests (pcalg's), [1] edges removed,
// [2] "more". One thread an ordered cell (i < j decides for both).
//   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 32)
extern "C" __global__ void level0(const double* __restrict__ C, const unsigned char* __restrict__ gaps,
                                  const unsigned char* __restrict__ fixed, const int p, const double cutoff,
                                  unsigned char* __restrict__ G, u64* counts) {
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    __shared__ unsigned char cell[32][33];
    if (x0 < y0) return;
    const int i = y0 + threadIdx.y, j = x0 + threadIdx.x;
    unsigned tests = 0, removed = 0;
    unsigned char g = GONE_A;
    if (i < j && j < p) {
        const i64 at = (i64)i * p + j;
        if (!(gaps && gaps[at])) {
            if (fixed && fixed[at]) {
                g = FIXED;
            } else {
                const bool drop = fabs(clip_r(C[at])) <= cutoff;
                g = drop ? GONE_A : LIVE;
                tests = drop ? 1 : 2;
                removed = drop;
            }
        }
        G[at] = g;
    }
    if (i == j && i < p) G[(i64)i * p + i] = GONE_A;
    cell[threadIdx.y][threadIdx.x] = g;
    const int any_tests = __syncthreads_or(tests > 0);
    const int bi = x0 + threadIdx.y, bj = y0 + threadIdx.x;  // mirrored cell, written along its row
    if (bi < p && bj < bi) G[(i64)bi * p + bj] = cell[threadIdx.x][threadIdx.y];
    const unsigned t = sum_over_warp(tests), r = sum_over_warp(removed);
    __shared__ unsigned sums[2];
    if (threadIdx.x == 0 && threadIdx.y == 0) sums[0] = sums[1] = 0;
    __syncthreads();
    if (threadIdx.x == 0) { atomicAdd(&sums[0], t); atomicAdd(&sums[1], r); }
    __syncthreads();
    if (any_tests && threadIdx.x == 0 && threadIdx.y == 0) {
        atomicAdd(&counts[0], (u64)sums[0]);
        atomicAdd(&counts[1], (u64)sums[1]);
        if (p > 1) counts[2] = 1;                         // a visited pair has p - 1 - gaps candidates: see count_level0
    }
}

// Number of neighbours of every row of G (LIVE or FIXED).  Launch  grid p, block 128
extern "C" __global__ void count_neighbours(const unsigned char* __restrict__ G, const int p, i64* kept) {
    const unsigned char* g = G + (i64)blockIdx.x * p;
    int n = 0;
    for (int j = threadIdx.x; j < p; j += blockDim.x) n += g[j] & 1;   // LIVE and FIXED are odd
    n = sum_over_warp(n);
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) atomicAdd(&sum, n);
    __syncthreads();
    if (threadIdx.x == 0) kept[blockIdx.x] = sum;
}

// Exclusive scan of `count` (and of `count2`, may be null) into starts [p + 1]; gathers what the host needs to plan
// the next level: stats[0] pairs, [1] largest row, [2] second total, [3 + c] rows with bound[c-1] < degree <= bound[c]
// and degree > next_level, [11] sum of C(degree, next_level) over those rows (saturating), [12] a row whose count saturated + 1.
//   Launch  one block of 1024
extern "C" __global__ void scan_rows(const i64* __restrict__ count, const i64* __restrict__ count2, const int p,
                                     i64* starts, i64* starts2, const int next_level, const u64* __restrict__ binom_next,
                                     const int b0, const int b1, const int b2, const int b3, const int b4,
                                     u64* stats) {
    __shared__ i64 warp_sum[32], warp_sum2[32];
    __shared__ i64 carry, carry2;
    __shared__ u64 pops[6], sets, over;
    __shared__ int widest;
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    int my_widest = 0;
    unsigned my_pops[6] = {0, 0, 0, 0, 0};
    u64 my_sets = 0, my_over = 0;
    if (t == 0) { carry = carry2 = 0; sets = over = 0; widest = 0; }
    if (t < 6) pops[t] = 0;
    __syncthreads();
    for (int base = 0; base < p; base += 1024) {
        const int i = base + t;
        const i64 v = i < p ? count[i] : 0, v2 = (count2 && i < p) ? count2[i] : 0;
        i64 s = v, s2 = v2;
        for (int o = 1; o < 32; o <<= 1) {
            const i64 u = __shfl_up_sync(FULL, s, o), u2 = __shfl_up_sync(FULL, s2, o);
            if (lane >= o) { s += u; s2 += u2; }
        }
        if (lane == 31) { warp_sum[warp] = s; warp_sum2[warp] = s2; }
        __syncthreads();
        if (warp == 0) {
            i64 w = warp_sum[lane], w2 = warp_sum2[lane];
            for (int o = 1; o < 32; o <<= 1) {
                const i64 u = __shfl_up_sync(FULL, w, o), u2 = __shfl_up_sync(FULL, w2, o);
                if (lane >= o) { w += u; w2 += u2; }
            }
            warp_sum[lane] = w; warp_sum2[lane] = w2;
        }
        __syncthreads();
        const i64 before = carry + (warp ? warp_sum[warp - 1] : 0), before2 = carry2 + (warp ? warp_sum2[warp - 1] : 0);
        if (i < p) {
            starts[i] = before + s - v;
            if (count2) starts2[i] = before2 + s2 - v2;
        }
        my_widest = max(my_widest, (int)v);
        const int group = i < p && v > next_level ? (v <= b0 ? 0 : v <= b1 ? 1 : v <= b2 ? 2 : v <= b3 ? 3 : v <= b4 ? 4 : 5) : -1;
        for (int c = 0; c < 6; ++c) my_pops[c] += group == c;
        if (group >= 0) {
            const u64 c = binom_next[v];
            if (c >= BINOM_MAX || my_sets + c >= BINOM_MAX) my_over = (u64)i + 1; else my_sets += c;
        }
        __syncthreads();
        if (t == 0) { carry += warp_sum[31]; carry2 += warp_sum2[31]; }
        __syncthreads();
    }
    my_widest = max_over_warp(my_widest);
    for (int c = 0; c < 6; ++c) my_pops[c] = sum_over_warp(my_pops[c]);
    for (int o = 16; o; o >>= 1) {
        my_sets = min(BINOM_MAX, my_sets + __shfl_xor_sync(FULL, my_sets, o));
        my_over = max(my_over, __shfl_xor_sync(FULL, my_over, o));
    }
    if (lane == 0) {
        atomicMax(&widest, my_widest);
        for (int c = 0; c < 6; ++c) atomicAdd(&pops[c], (u64)my_pops[c]);
        if (atomicAdd(&sets, my_sets / 32) + my_sets / 32 >= BINOM_MAX / 32) my_over = max(my_over, 1ULL);
        atomicMax(&over, my_over);
    }
    __syncthreads();
    if (t == 0) {
        starts[p] = carry;
        if (count2) starts2[p] = carry2;
        stats[0] = (u64)carry; stats[1] = (u64)widest; stats[2] = (u64)carry2;
        for (int c = 0; c < 6; ++c) stats[3 + c] = pops[c];
        stats[11] = sets * 32; stats[12] = over;
    }
}

// Bound on r^2 that a test of this level must beat to lower `z`, the smallest |z| so far; root_df = sqrt(n - level - 3).
__device__ __forceinline__ double bound_of(double z, double root_df) {
    const double t = tanh(z / root_df);
    return root_df > 0.0 ? t * t : 0.0;
}

// Neighbour lists of the first graph, from G.  Launch  grid p, block 32
extern "C" __global__ void list_neighbours(const double* __restrict__ C, const unsigned char* __restrict__ G, const int p,
                                           const i64* __restrict__ start, const double root_df0, const double root_df1,
                                           int* column, int* source, u64* best, u64* least, double* z) {
    const int x = blockIdx.x, lane = threadIdx.x;
    i64 e = start[x];
    for (int j0 = 0; j0 < p; j0 += 32) {
        const int j = j0 + lane;
        const unsigned char g = j < p ? G[(i64)x * p + j] : GONE_A;
        const unsigned m = __ballot_sync(FULL, g & 1);
        if (g & 1) {
            const i64 at = e + __popc(m & ((1u << lane) - 1));
            const double r = fmin(fabs(C[(i64)min(x, j) * p + max(x, j)]), R_MAX);
            const double zz = g == FIXED ? __longlong_as_double(0x7ff0000000000000LL) : root_df0 * atanh(r);
            column[at] = j; source[at] = x; best[at] = NOT_SEPARATED;
            z[at] = zz;
            least[at] = bits(bound_of(zz, root_df1));
        }
        e += __popc(m);
    }
}

// After the tests of a level: side B's removals (side A's are in G already).  One thread a pair.
extern "C" __global__ void mark_side_b(const Graph g, const i64 pairs) {
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        if (g.best[e] == NOT_SEPARATED) continue;
        const i64 x = g.source[e], y = g.column[e];
        if (x > y && g.G[x * g.p + y] == LIVE) g.G[x * g.p + y] = g.G[y * g.p + x] = GONE_B;
    }
}

// Per row: pairs kept, removals recorded in this row; counts[0] += tests of pairs that no set of this row separated,
// counts[2] = 1 when a visited pair had more than `level` candidates.  Launch  grid p, block 64
extern "C" __global__ void count_rows(const Graph g, const Level lv, i64* kept, i64* removed, u64* counts) {
    const int x = blockIdx.x;
    const i64 e0 = g.start[x], e1 = g.start[x + 1];
    __shared__ int sums[3];
    if (threadIdx.x < 3) sums[threadIdx.x] = 0;
    __syncthreads();
    int k = 0, r = 0, full = 0;
    for (i64 e = e0 + threadIdx.x; e < e1; e += blockDim.x) {
        const int y = g.column[e];
        const unsigned char c = g.G[x * g.p + y];
        k += c & 1;
        if (c == FIXED) continue;
        const bool found = x < y ? c == GONE_A : c == GONE_B;
        r += found;
        full += !found && (x < y || c != GONE_A);
    }
    k = sum_over_warp(k);
    r = sum_over_warp(r);
    full = sum_over_warp(full);
    if ((threadIdx.x & 31) == 0) { atomicAdd(&sums[0], k); atomicAdd(&sums[1], r); atomicAdd(&sums[2], full); }
    __syncthreads();
    if (threadIdx.x == 0) {
        const int d = (int)(e1 - e0);
        kept[x] = sums[0];
        removed[x] = sums[1];
        if (sums[2] && d - 1 >= lv.level) atomicAdd(&counts[0], (u64)sums[2] * lv.binom[(i64)lv.level * lv.stride + d - 1]);
        if (sums[1] + sums[2] && d - 1 > lv.level) counts[2] = 1;
    }
}

// Write the next graph and the records of removals (pair and rank among the subsets of adj(x); see finish_records).
//   Launch  grid p, block 32
extern "C" __global__ void compact_rows(const Graph g, const double* __restrict__ z_old, const double root_df,
                                        const double root_df_next, const i64* __restrict__ new_start,
                                        const i64* __restrict__ record_start, int* column, int* source, u64* best,
                                        u64* least, double* z_new, int* record_x, int* record_y, i64* record_rank) {
    const int x = blockIdx.x, lane = threadIdx.x;
    const i64 e0 = g.start[x], e1 = g.start[x + 1];
    i64 to = new_start[x], rec = record_start[x];
    const unsigned below = (1u << lane) - 1;
    for (i64 b = e0; b < e1; b += 32) {
        const i64 e = b + lane;
        const int y = e < e1 ? g.column[e] : 0;
        const unsigned char c = e < e1 ? g.G[x * g.p + y] : GONE_A;
        const bool keep = c & 1, found = e < e1 && (x < y ? c == GONE_A : c == GONE_B);
        const unsigned mk = __ballot_sync(FULL, keep), mf = __ballot_sync(FULL, found);
        if (keep) {
            const i64 at = to + __popc(mk & below);
            double z = z_old[e];
            const double r2 = from_bits(g.least[e]);
            if (root_df > 0.0 && r2 < bound_of(z, root_df)) z = fmin(z, root_df * atanh(fmin(sqrt(r2), R_MAX)));
            column[at] = y; source[at] = x; best[at] = NOT_SEPARATED;
            z_new[at] = z;
            least[at] = bits(bound_of(z, root_df_next));
        }
        if (found) {
            const i64 at = rec + __popc(mf & below);
            record_x[at] = x; record_y[at] = y; record_rank[at] = (i64)g.best[e];
        }
        to += __popc(mk);
        rec += __popc(mf);
    }
}

// Turn each record into what pcalg reports: S, the rank among the subsets of adj(x) without y, the canonical r; the
// tests up to and including the separating one join counts[0]. `g` is the graph of the level that has just run.
// Level 1: one thread a record.
extern "C" __global__ void finish_level1(const Graph g, const int* __restrict__ x, const int* __restrict__ y,
                                         const i64* __restrict__ total, i64* rank, int* S, double* r, u64* counts) {
    u64 tests = 0;
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < *total; i += (i64)gridDim.x * blockDim.x) {
        const i64 at = rank[i];
        const int k = g.column[g.start[x[i]] + at], own = (int)at - (k > y[i]);
        S[i] = k;
        rank[i] = own;
        tests += (u64)own + 1;
        r[i] = partial_correlation(g.C, g.p, x[i], y[i], &k, 1, nullptr, nullptr);
    }
    for (int o = 16; o; o >>= 1) tests += __shfl_down_sync(FULL, tests, o);
    if ((threadIdx.x & 31) == 0 && tests) atomicAdd(&counts[0], tests);
}

// The canonical formula by a whole warp: each entry goes through the operations of partial_correlation in their order,
// lanes own rows. size >= 2; A in any memory, V only for the pseudoinverse.
__device__ double canonical_by_warp(const double* C, const i64 p, const int x, const int y, const int* S, const int size,
                                    double* A, double* spare, const int lane) {
    const int m = size + 2;
    bool nan = false;
    for (int i = lane; i < m; i += 32) {
        const int a = i < size ? S[i] : (i == size ? x : y);
        for (int j = 0; j <= i; ++j) {
            const double v = C[a * p + (j < size ? S[j] : (j == size ? x : y))];
            nan = nan || v != v;
            A[i * m + j] = v;
        }
    }
    __syncwarp();
    if (__any_sync(FULL, nan)) return 0.0;
    bool plain = true;
    for (int k = 0; k < size && plain; ++k) {
        const double pivot = A[k * m + k];
        plain = pivot > PINV_PIVOT;
        if (plain)
            for (int i = k + 1 + lane; i < m; i += 32) {
                const double f = A[i * m + k] / pivot;
                for (int j = k + 1; j <= i; ++j) A[i * m + j] = A[i * m + j] - f * A[j * m + k];
            }
        __syncwarp();
    }
    const double vx = A[size * m + size], vy = A[(size + 1) * m + size + 1], cov = A[(size + 1) * m + size];
    plain = plain && vx > PINV_PIVOT && vy > PINV_PIVOT && vx * vy - cov * cov > PINV_PIVOT * (vx * vy);
    __syncwarp();
    if (plain) return clip_r(cov / sqrt(vx * vy));
    double r = 0.0;
    if (lane == 0) r = pseudoinverse_r(C, p, x, y, S, size, spare, spare + m * m, 1);
    return __shfl_sync(FULL, r, 0);
}

// Levels >= 2: one warp a record.
//   Launch  any grid, block 128; `fits`: A in dynamic shared memory, (level + 2)^2 doubles a warp, else in the work space
//   work    canonical_doubles(level) doubles a warp
extern "C" __global__ void finish_records(const Graph g, const Level lv, const int* __restrict__ x, const int* __restrict__ y,
                                          const i64* __restrict__ total, i64* rank, int* S, double* r, u64* counts,
                                          const int fits) {
    extern __shared__ double finish_memory[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, l = lv.level, m = l + 2;
    const i64 id = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5, warps = ((i64)gridDim.x * blockDim.x) >> 5;
    double* spare = lv.work + id * canonical_doubles(l);
    double* A = fits ? finish_memory + warp * m * m : spare;
    int* s = (int*)(spare + m * m + 2 * m);
    u64 tests = 0;
    for (i64 i = id; i < *total; i += warps) {
        const int xi = x[i], yi = y[i];
        const int* adj = g.column + g.start[xi];
        const int d = (int)(g.start[xi + 1] - g.start[xi]);
        u64 left = lv.binom[(i64)l * lv.stride + d] - 1 - (u64)rank[i];
        u64 own = lv.binom[(i64)l * lv.stride + d - 1] - 1;
        int top = d - 1;
        for (int k = 0; k < l; ++k) {                       // mirrored member: largest c with C(c, l - k) <= left
            const u64* column = lv.binom + (i64)(l - k) * lv.stride;
            int c = top - lane;
            unsigned hit;
            while (!(hit = __ballot_sync(FULL, c >= 0 && column[max(c, 0)] <= left))) c -= 32;
            c = __shfl_sync(FULL, c, __ffs((int)hit) - 1);
            const int at = d - 1 - c, v = adj[at];
            left -= column[c];
            top = c - 1;
            own -= column[d - 2 - (at - (v > yi))];
            if (lane == 0) { s[k] = v; S[i * l + k] = v; }
        }
        __syncwarp();
        tests += own + 1;
        const double value = canonical_by_warp(g.C, g.p, xi, yi, s, l, A, spare, lane);
        if (lane == 0) { rank[i] = (i64)own; r[i] = value; }
        __syncwarp();
    }
    if (lane == 0 && tests) atomicAdd(&counts[0], tests);
}
