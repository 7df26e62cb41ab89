// cupc_e.cu -- cuPC-E: beta pairs per block, gamma threads per pair; a thread factorises M2, the correlation matrix of
//   its own conditioning set. See cupc.cuh.
//   Work    virtual block = (row x, beta consecutive neighbours); thread (i, j): sets i, i + gamma, .. of pair j
//   Launch  persistent grid, once per side; block (gamma, beta); dynamic shared memory: beta u64 (smallest rank per
//           pair), then, if sh.shared_row, an int for each neighbour of the widest row
//   Reads   g.C, g.start, g.column, g.G, g.least, lv.binom
//   Writes  g.best, g.least (atomicMin), g.G (GONE_A), lv.counters->doubtful, ->handed_out, ->items
//   lv.work  canonical_doubles(level) doubles per thread
#include "cupc/cupc.cuh"

// The pair of a thread.
struct Pair {
    int x, y, at, d;  // at: position of y in adj(x); d: degree of x
    i64 e;            // number of the pair in the graph
    const int* adj;   // [d] adj(x), ascending
};

// Squared covariance and product of the variances of x and y given S. s [level] holds positions in adj(x) without y,
// which become variables.
template <int L>
DEVICE Moments condition(const Graph& g, const Level& lv, const Pair& pair, int* s) {
    constexpr int MAX = MAX_LEVEL<L>;
    const int l = L > 0 ? L : lv.level;
    const double *cx = g.C + (i64)pair.x * g.p, *cy = g.C + (i64)pair.y * g.p;
    double P[packed(MAX, 0)], inv[MAX], a[MAX], b[MAX], vx = 1.0, vy = 1.0, num = cx[pair.y];
    const Factor f = {P, inv};
    bool sound = true;
    UNROLL
    for (int i = 0; i < l; ++i) {
        s[i] = pair.adj[s[i] + (s[i] >= pair.at)];  // skips y's own position
        double ai = cx[s[i]], bi = cy[s[i]];
        const double pivot = factor_row(f, g.C + (i64)s[i] * g.p, s, i, [&](const int j, const double v) {
            ai = fma(-v, a[j], ai);
            bi = fma(-v, b[j], bi);
        });
        sound = sound && pivot > PIVOT_FLOOR;
        a[i] = ai * f.inv[i];
        b[i] = bi * f.inv[i];
        vx = fma(-a[i], a[i], vx);
        vy = fma(-b[i], b[i], vy);
        num = fma(-a[i], b[i], num);
    }
    const double den = vx * vy, num2 = num * num;
    sound = sound && vx > PIVOT_FLOOR && vy > PIVOT_FLOOR && num2 < ONE_MINUS_FLOOR * den;
    return {num2, den, sound};
}

// Tests the thread's sets of its pair in order, until one separates the pair or its rank is beaten. best: smallest rank
// that any thread of the pair has found, among the subsets of adj(x) without y.
template <int L>
DEVICE void test_pair(const Graph& g, const Level& lv, const Pair& pair, u64* best, double* work) {
    const int l = L > 0 ? L : lv.level;
    const u64 sets = lv.binom(pair.d - 1, l);
    const double old = from_bits(g.least[pair.e]);
    double least = old;
    int s[MAX_LEVEL<L>];
    int count = 0;
    for (u64 set = threadIdx.x; set < sets; set += blockDim.x) {
        if (set > *(volatile u64*)best) break;  // early termination II
        if ((++count & POLL) == 0 && *lv.stop) break;
        subset_unrank(lv.binom, pair.d - 1, l, set, s);
        const Moments m = condition<L>(g, lv, pair, s);
        if (m.sound && m.num2 > fmax(least, lv.sure_out) * m.den) continue;
        double r2;
        if (decide<L>(g, lv, m, pair.x, pair.y, s, work, r2)) {
            atomicMin(best, set);
            break;
        }
        least = fmin(least, r2);
    }
    if (least < old) atomicMin(&g.least[pair.e], bits(least));
}

// Reports the pair's separating set by its rank among the subsets of adj(x), as all engines do. One thread.
template <int L>
DEVICE void report_pair(const Graph& g, const Level& lv, const Pair& pair, const u64 best) {
    const int l = L > 0 ? L : lv.level;
    int s[MAX_LEVEL<L>];
    subset_unrank(lv.binom, pair.d - 1, l, best, s);
    for (int i = 0; i < l; ++i) s[i] += s[i] >= pair.at;
    report_separated(g, pair.e, pair.x, pair.y, rank_from(lv.binom, pair.d, l, s, l));
}

// Levels 1 and 2 gather from C and need many warps; above, arithmetic takes most of the time, and up to 128 registers
// per thread (one block of 512 threads per multiprocessor) are worth it.
template <int L>
__global__ void __launch_bounds__(512, L == 1 || L == 2 ? 0 : 1) cupc_e(const Graph g, const Level lv, const Shape sh) {
    extern __shared__ u64 e_memory[];
    __shared__ u64 slot;
    u64* best = e_memory;  // [beta]
    int* shared_row = (int*)(best + blockDim.y);
    const int threads = blockDim.x * blockDim.y, me = threadIdx.y * blockDim.x + threadIdx.x;
    double* work = lv.work + ((i64)blockIdx.x * threads + me) * canonical_doubles(lv.level);
    while (true) {
        const u64 block = next_block(lv, sh, &slot);
        if (block == NO_BLOCK) return;
        Pair pair;
        pair.x = (int)(block / sh.per_row);
        const int first = (int)(block % sh.per_row) * blockDim.y;
        const i64 e0 = g.start[pair.x];
        pair.d = (int)(g.start[pair.x + 1] - e0);
        if (first >= pair.d || pair.d - 1 < lv.level) continue;  // early termination I
        pair.at = first + threadIdx.y;
        pair.e = e0 + pair.at;
        bool mine = pair.at < pair.d;
        if (mine) {
            pair.y = g.column[pair.e];
            mine = (pair.x > pair.y) == sh.side && g.G[(i64)pair.x * g.p + pair.y] == LIVE;
        }
        if (!__syncthreads_or(mine)) continue;  // early termination I
        if (threadIdx.x == 0) best[threadIdx.y] = NOT_SEPARATED;
        pair.adj = g.column + e0;
        if (sh.shared_row) {
            for (int i = me; i < pair.d; i += threads) shared_row[i] = pair.adj[i];
            pair.adj = shared_row;
        }
        __syncthreads();
        if (mine) test_pair<L>(g, lv, pair, &best[threadIdx.y], work);
        __syncthreads();
        if (mine && threadIdx.x == 0 && best[threadIdx.y] != NOT_SEPARATED)
            report_pair<L>(g, lv, pair, best[threadIdx.y]);
    }
}
