// bounded_walk.cu -- decides the pairs of level 3 or 4 by a walk over the conditioning sets of each row in which a
//   bound skips most of them; see bounded_walk.cuh. A pair with a doubtful test is left to the tests that follow.
//   sound_rows, plan_phases, try_walk, walk_rows and settle_walked run one after the other. try_walk looks at a
//   few prefixes of every SAMPLE-th row; if too many tests would be left, the kernels after it do nothing.
#include "pruning/definite.cuh"
#include "pruning/bounded_walk.cuh"
#include "schur/work_queue.cuh"

// Whether try_walk has found that the bounds leave too many tests.
DEVICE bool not_worth(const Counters& total, const Pruning& f) {
    return (double)total.turns[0] > f.most_left * (double)total.turns[1];
}

constexpr int MOST_WALKED = 1024;  // largest degree of a row that is walked
constexpr int SAMPLE = 4;          // try_walk looks at every fourth row

// Fills A [n, n] with the correlations of row x at the places `ids`. Whole block.
DEVICE void fill(const Graph& g, const int x, const int* ids, const int n, double* A) {
    const double* C = matrix_of(g, x);
    for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5)
        for (int j = threadIdx.x & 31; j < n; j += 32) A[i * n + j] = C[ids[i] * pitch_of(g, x) + ids[j]];
    __syncthreads();
}

// Finds the rows that can be walked with bounds, in which all pivots of every set, x and y included, are above LEAST.
//   Work    one row at a time per block
//   Launch  any grid, block 256; dynamic shared memory `room` doubles, for rows whose matrix fits
//   Reads   g.C, g.start, g.column, f.rows
//   Writes  f.margin: WALK_MARGIN for the rows found, 0 for all others
//   f.work  per block the matrix [n + 1, n + 1] of a row that does not fit `room`
//   widest  largest degree of a row that may be walked, at most MOST_WALKED
extern "C" __global__ void __launch_bounds__(256, 1)
    sound_rows(const Graph g, const Level lv, const Pruning f, const int widest, const int room) {
    extern __shared__ double row_matrix[];
    __shared__ int ids[MOST_WALKED + 1];
    for (int x; (x = next_row(f)) < (int)g.p;) {
        const i64 e0 = g.start[x];
        const int n = (int)(g.start[x + 1] - e0);
        if (threadIdx.x == 0) f.margin[x] = 0.0;
        if (__syncthreads_or(*lv.stop)) continue;  // not the end: the kernels that follow read all margins
        if (n <= lv.level || n > widest || (f.rows && !f.rows[x])) continue;
        double* A = (n + 1) * (n + 1) <= room ? row_matrix : f.work + blockIdx.x * f.work_doubles;
        for (int k = threadIdx.x; k <= n; k += blockDim.x)
            ids[k] = k < n ? place_of_pair(g, e0 + k) : place_of_row(g, x);
        __syncthreads();
        fill(g, x, ids, n + 1, A);
        if (!regular(A, n + 1)) continue;
        for (int k = threadIdx.x; k <= n; k += blockDim.x) A[k * (n + 1) + k] -= LEAST + PROOF;
        __syncthreads();
        if (positive(A, n + 1) && threadIdx.x == 0) f.margin[x] = WALK_MARGIN;
    }
}

// Lays out the dynamic shared memory of a block: ids [width + 1] and live [width] for the row, then the arrays of
// `Given` for each warp. width: largest degree. shared_of_block() and shared_of_warp() in
// pycupc/engines/gpu/pruning/device_bounded_walk.py add it up.
DEVICE Given lay_out(char* start, const int width, const int Q, int*& ids, bool*& live) {
    ids = (int*)start;
    live = (bool*)(ids + width + 1);
    double* own = (double*)start + (width + 1) / 2 + 1 + (width + 7) / 8;
    own += (threadIdx.x >> 5) * ((Q + 5) * width + (width + 1) / 2);
    Given w;
    w.pitch = width;
    w.W = own;
    w.scale = w.W + Q * width;
    w.h = w.scale + width;
    w.G = w.h + width;
    w.X = w.G + width;
    w.b = w.X + width;
    w.pos = (unsigned short*)(w.b + width);
    w.open = w.pos + width;
    return w;
}

// Fills R [d + 1, d + 1] with the row's correlations, ids [d + 1] with their places, x last, and live [d] with whether
// the neighbour is a target: no set of a rank up to `rank` is known to separate it. Whole block.
DEVICE void load_row(const Graph& g, const Pruning& f, const WalkedRow& row, double* R, int* ids, bool* live,
                     const u64 rank) {
    const int d = row.d, warps = blockDim.x >> 5, lane = threadIdx.x & 31;
    for (int a = threadIdx.x; a <= d; a += blockDim.x)
        ids[a] = a < d ? place_of_pair(g, row.e0 + a) : place_of_row(g, row.x);
    __syncthreads();
    for (int a = threadIdx.x; a < d; a += blockDim.x) {
        const int y = neighbour(g, row.e0 + a, ids[a]);
        const unsigned char state = state_now(g, row.e0 + a, row.x, y);
        const bool tested = row.x < y ? state != FIXED : state == LIVE;
        live[a] = tested && *(volatile u64*)&g.best[row.e0 + a] > rank && f.decided[row.e0 + a] != LEFT_TO_WALK;
    }
    for (int i = threadIdx.x >> 5; i <= d; i += warps) {
        const double* from = matrix_of(g, row.x) + ids[i] * pitch_of(g, row.x);
        for (int j = lane; j <= d; j += 32) R[i * (d + 1) + j] = from[ids[j]];
    }
    __syncthreads();
}

// Adds a warp's tally to the counters. One warp.
DEVICE void add_up(Counters& total, const Tally& tally, const bool trial) {
    if ((threadIdx.x & 31) || !tally.bounds) return;
    if (trial) {
        atomicAdd(&total.turns[0], tally.made);
        atomicAdd(&total.turns[1], tally.covered);
    } else atomicAdd(&total.spared, 0ULL - tally.made);
    atomicAdd(&total.bounds, tally.bounds);
}

// Estimates the share of the tests that the bounds would leave, from evenly spaced prefixes of every SAMPLE-th row.
//   Work    one row at a time per block, one prefix per warp
//   Launch  any grid, block at most 512; dynamic shared memory as for lay_out
//   Reads   g.C, g.G, g.start, g.column, g.best, lv.binom, f.margin, f.decided
//   Writes  lv.counters->turns (tests left [0], all tests [1]), ->bounds
//   f.work  [width + 1, width + 1] per block: R
//   width   largest degree
//   Template argument Q: members of a prefix, level - 2.
template <int Q>
__global__ void __launch_bounds__(512, 1) try_walk(const Graph g, const Level lv, const Pruning f, const int width) {
    extern __shared__ double walk_memory[];
    __shared__ int prefixes[16][Q + 1];
    int* ids;
    bool* live;
    Given w = lay_out((char*)walk_memory, width, Q, ids, live);
    double* R = f.work + blockIdx.x * f.work_doubles;
    int* prefix = prefixes[threadIdx.x >> 5];
    const double cutoff = sqrt(lv.sure_out + 1e-12);
    Tally tally = {};
    for (int x = blockIdx.x * SAMPLE; x < (int)g.p; x += gridDim.x * SAMPLE) {
        __syncthreads();
        if (!(f.margin[x] > 0.0)) continue;
        const i64 e0 = g.start[x];
        const WalkedRow row = {R, live, ids, e0, x, (int)(g.start[x + 1] - e0)};
        load_row(g, f, row, R, ids, live, 0);
        const u64 all = lv.binom(row.d - 2, Q);
        const int warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
        if ((u64)warp >= all) continue;
        const u64 number = (u64)(((double)warp + 0.5) / warps * (double)all);
        unrank_by_warp(lv.binom, row.d - 2, Q, number, prefix);
        walk_prefix<Q, true>(g, lv, f, row, w, prefix, cutoff, tally);
    }
    add_up(*lv.counters, tally, true);
}

// Walks over every prefix of the rows that can be walked with bounds; Q, width and f.work as in try_walk.
//   Work    item = consecutive prefixes of a row, see Queue; one warp per prefix
//   Launch  persistent grid; block and dynamic shared memory as try_walk
//   Reads   g.C, g.G, g.start, g.column, g.best, lv.binom, f.margin, f.decided, queue, lv.counters->turns
//   Writes  g.best, g.G (GONE_A), f.decided (LEFT_TO_WALK), lv.counters->bounds, ->spared, ->handed_out
template <int Q>
__global__ void __launch_bounds__(512, 1)
    walk_rows(const Graph g, const Level lv, const Pruning f, const Queue queue, const int width) {
    extern __shared__ double walk_memory[];
    __shared__ int prefixes[16][Q + 1];
    __shared__ Item item;
    __shared__ unsigned next;
    __shared__ u64 rank;  // of the first set of the item
    int* ids;
    bool* live;
    Given w = lay_out((char*)walk_memory, width, Q, ids, live);
    double* R = f.work + blockIdx.x * f.work_doubles;
    int* prefix = prefixes[threadIdx.x >> 5];
    const double cutoff = sqrt(lv.sure_out + 1e-12);
    if (not_worth(*lv.counters, f)) return;
    Tally tally = {};
    while (next_item(queue, lv, item)) {
        const int x = item.row;
        if (!(f.margin[x] > 0.0)) continue;
        const i64 e0 = g.start[x];
        const WalkedRow row = {R, live, ids, e0, x, (int)(g.start[x + 1] - e0)};
        const u64 chunk = queue.chunk[x], first = item.number * chunk;
        const unsigned count = (unsigned)min(chunk, lv.binom(row.d - 2, Q) - first);
        if (threadIdx.x < 32) unrank_by_warp(lv.binom, row.d - 2, Q, first, prefix);
        if (threadIdx.x == 0) next = 0;
        if (threadIdx.x == 0) {
            const int after = prefix[Q - 1] + 1;
            rank = rank_from(lv.binom, row.d, lv.level, prefix, Q);
            rank -= lv.binom(row.d - 1 - after, 2) + lv.binom(row.d - 2 - after, 1);
        }
        __syncthreads();
        load_row(g, f, row, R, ids, live, rank);
        for (;;) {
            unsigned mine = 0;
            if ((threadIdx.x & 31) == 0) mine = *lv.stop ? count : atomicAdd(&next, 1u);
            mine = __shfl_sync(FULL, mine, 0);
            if (mine >= count) break;
            unrank_by_warp(lv.binom, row.d - 2, Q, first + mine, prefix);
            walk_prefix<Q, false>(g, lv, f, row, w, prefix, cutoff, tally);
        }
    }
    add_up(*lv.counters, tally, false);
}

// Marks the pairs that the walk has decided: the pairs of its rows without a doubtful test.
//   Work    one thread per pair
//   Launch  any grid, block 256
//   Reads   g.source, g.column, g.start, g.G, f.margin, lv.binom, lv.counters->turns
//   Writes  f.decided, f.rank, f.spares, g.best (0 for a decided pair, so that the tests leave it alone),
//           lv.counters->decided
//   pairs   E
extern "C" __global__ void settle_walked(const Graph g, const Level lv, const Pruning f, const i64 pairs) {
    const bool nothing = not_worth(*lv.counters, f) || *lv.stop;
    unsigned decided = 0;
    for (i64 e = (i64)blockIdx.x * blockDim.x + threadIdx.x; e < pairs; e += (i64)gridDim.x * blockDim.x) {
        const int x = g.source[e], y = g.column[e];
        const unsigned char state = state_of(g, e, x, y);
        if (nothing || !(f.margin[x] > 0.0) || f.decided[e] == LEFT_TO_WALK || state == FIXED) continue;
        if (x > y && state == GONE_A) continue;  // not all of its sets were looked at, and none matters
        const int d = (int)(g.start[x + 1] - g.start[x]), l = lv.level, at = (int)(e - g.start[x]);
        const u64 rank = g.best[e];
        f.rank[e] = rank;
        f.spares[e] = rank == NOT_SEPARATED ? lv.binom(d - 1, l) : tests_up_to(lv.binom, d, l, at, rank);
        f.decided[e] = 1;
        g.best[e] = 0;
        ++decided;
    }
    decided = sum_over_warp(decided);
    if ((threadIdx.x & 31) == 0 && decided) atomicAdd(&lv.counters->decided, (u64)decided);
}
