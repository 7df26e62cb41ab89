// cupc_s.cu -- cuPC-S: theta threads per block, delta blocks per row; a thread takes a subset S of adj(x), inverts M2,
//   the correlation matrix of S, once, and tests all pairs of the row with it. See cupc.cuh.
//   Work    virtual block = (row x, part of delta); a thread takes every (delta * theta)-th set of its row
//   Launch  persistent grid, once per side; block theta; dynamic shared memory, if sh.shared_row, for the d neighbours
//           of the widest row: d u64 (best), d u64 (least), d ints (the row)
//   Reads   g.C, g.start, g.column, g.G, g.least, lv.binom
//   Writes  g.best, g.least (atomicMin), g.G (GONE_A), lv.counters->doubtful, ->handed_out, ->items
//   lv.work  canonical_doubles(level) doubles per thread
//   M2 is inverted explicitly, from its Cholesky factor; where all pivots are above the floor this is the pseudoinverse
//   that the paper's Algorithm 7 computes. Tests given other sets are doubtful.
#include "cupc/cupc.cuh"

// Where a pivot, or 1 - r^2, is below this, rounding in v' M2^-1 v could reach CUTOFF_BAND (gaussian/tolerances.py),
// and the p-value could be off by more than 1e-6.
constexpr double INVERSE_FLOOR = 1e-4;

// A row with its targets, in shared memory or in the graph.
struct Row {
    int x, d, side;
    bool shared;     // whether the arrays lie in shared memory
    i64 e0;          // first pair of the row
    const int* adj;  // [d] variables
    u64* best;       // [d] smallest rank of a separating set; in shared memory 0 for a variable that is no target
    u64* least;      // [d] bits of the smallest r^2
};

// A conditioning set and the data shared by all its tests. The arrays are local variables of the kernel, see Factor.
struct ConditioningSet {
    Factor f;     // after invert: P = M2^-1
    double* gx;   // [l] M2^-1 C_Sx
    int *s, *at;  // [l] variables; positions in adj(x)
    u64 set;      // rank
    double vx;    // var(x | S)
    bool sound;   // all pivots above the floor
};

// Copies the row to shared memory if row.shared. Returns the number of targets among the neighbours that this thread
// looks at. Whole block.
DEVICE int load_row(const Graph& g, const Row& row, u64* memory) {
    int n = 0;
    for (int i = threadIdx.x; i < row.d; i += blockDim.x) {
        const int y = g.column[row.e0 + i];
        const bool live = is_of_side(g, row.e0 + i, row.x, y, row.side);
        n += live;
        if (row.shared) {
            memory[i] = live ? NOT_SEPARATED : 0;
            memory[row.d + i] = g.least[row.e0 + i];
            ((int*)(memory + 2 * row.d))[i] = y;
        }
    }
    return n;
}

// Early termination III: whether the set of rank `set`, and hence any later one, comes too late for every pair of the
// row.
DEVICE bool row_is_done(const Graph& g, const Row& row, const u64 set) {
    bool any = false;
    for (int i = 0; i < row.d && !any; ++i)
        any = *(volatile u64*)&row.best[i] > set &&
              (row.shared || is_of_side(g, row.e0 + i, row.x, row.adj[i], row.side));
    return !any;
}

// Inverts M2 of the set at the positions z.at, and conditions x on it.
template <int L>
DEVICE void condition(const Graph& g, const Level& lv, const Row& row, ConditioningSet& z) {
    constexpr int MAX = MAX_LEVEL<L>;
    const int l = L > 0 ? L : lv.level;
    const double* cx = g.C + (i64)row.x * g.p;
    double v[MAX];
    z.sound = true;
    z.vx = 1.0;
    UNROLL
    for (int i = 0; i < l; ++i) {
        z.s[i] = row.adj[z.at[i]];
        const double pivot = factor_row(z.f, g.C + (i64)z.s[i] * g.p, z.s, i, [](int, double) {});
        z.sound = z.sound && pivot > INVERSE_FLOOR;
    }
    invert(z.f, l);
    UNROLL
    for (int i = 0; i < l; ++i) v[i] = cx[z.s[i]];
    UNROLL
    for (int i = 0; i < l; ++i) {
        double t = 0.0;
        UNROLL
        for (int j = 0; j < l; ++j) t = fma(entry(z.f, i, j), v[j], t);
        z.gx[i] = t;
        z.vx = fma(-t, v[i], z.vx);
    }
    z.sound = z.sound && z.vx > INVERSE_FLOOR;
}

// The test of x and y given the set.
template <int L>
DEVICE Moments moments_of(const Graph& g, const Level& lv, const ConditioningSet& z, const int x, const int y) {
    const int l = L > 0 ? L : lv.level;
    const double* cy = g.C + (i64)y * g.p;
    double num = g.C[(i64)x * g.p + y], vy = 1.0, v[MAX_LEVEL<L>];
    UNROLL
    for (int i = 0; i < l; ++i) {
        v[i] = cy[z.s[i]];
        num = fma(-z.gx[i], v[i], num);
        double q = 0.0;
        UNROLL
        for (int j = 0; j < i; ++j) q = fma(z.f.P[packed(i, j)], v[j], q);
        vy = fma(-v[i], fma(z.f.P[packed(i, i)], v[i], q + q), vy);
    }
    const double den = z.vx * vy, num2 = num * num;
    return {num2, den, z.sound && vy > INVERSE_FLOOR && num2 < (1.0 - INVERSE_FLOOR) * den};
}

// Tests all pairs of the row with one set. left: pairs of the row that no set of the block has separated yet, in shared
// memory.
template <int L>
DEVICE void test_row(const Graph& g, const Level& lv, const Row& row, const ConditioningSet& z, double* work,
                     int* left) {
    const int l = L > 0 ? L : lv.level;
    for (int t = 0; t < row.d; ++t) {
        if (*(volatile u64*)&row.best[t] <= z.set) continue;  // early termination II
        bool member = false;
        UNROLL
        for (int i = 0; i < l; ++i) member = member || z.at[i] == t;
        const int y = row.adj[t];
        if (member || (!row.shared && !is_of_side(g, row.e0 + t, row.x, y, row.side))) continue;
        const Moments m = moments_of<L>(g, lv, z, row.x, y);
        if (m.sound && m.num2 > fmax(from_bits(*(volatile u64*)&row.least[t]), lv.sure_out) * m.den) continue;
        double r2;
        if (decide<L>(g, lv, m, row.x, y, z.s, work, r2)) {
            if (atomicMin(&row.best[t], z.set) == NOT_SEPARATED) atomicSub(left, 1);
        } else {
            atomicMin(&row.least[t], bits(r2));
        }
    }
}

// Reports the findings of the block in the row. Whole block.
DEVICE void report_row(const Graph& g, const Row& row) {
    for (int t = threadIdx.x; t < row.d; t += blockDim.x) {
        const int y = row.adj[t];
        if (!is_of_side(g, row.e0 + t, row.x, y, row.side)) continue;
        if (row.shared) atomicMin(&g.least[row.e0 + t], row.least[t]);
        if (row.best[t] != NOT_SEPARATED) report_separated(g, row.e0 + t, row.x, y, row.best[t]);
    }
}

template <int L>
__global__ void __launch_bounds__(256, 2) cupc_s(const Graph g, const Level lv, const Shape sh) {
    extern __shared__ u64 s_memory[];
    __shared__ u64 slot;
    __shared__ int left;  // pairs of the row still to be separated
    constexpr int MAX = MAX_LEVEL<L>;
    const int l = L > 0 ? L : lv.level;
    double* work = lv.work + ((i64)blockIdx.x * blockDim.x + threadIdx.x) * canonical_doubles(l);
    while (true) {
        const u64 block = next_block(lv, sh, &slot);
        if (block == NO_BLOCK) return;
        Row row;
        row.x = (int)(block / sh.per_row);
        row.e0 = g.start[row.x];
        row.d = (int)(g.start[row.x + 1] - row.e0);
        row.side = sh.side;
        row.shared = sh.shared_row;
        if (row.d - 1 < l) continue;  // early termination I
        if (threadIdx.x == 0) left = 0;
        __syncthreads();
        const int n = load_row(g, row, s_memory);
        if (n) atomicAdd(&left, n);
        if (!__syncthreads_or(n)) continue;  // early termination I; left itself may be 0 soon after the barrier
        row.best = row.shared ? s_memory : g.best + row.e0;
        row.least = row.shared ? s_memory + row.d : g.least + row.e0;
        row.adj = row.shared ? (const int*)(s_memory + 2 * row.d) : g.column + row.e0;
        const u64 sets = lv.binom(row.d, l), step = (u64)sh.per_row * blockDim.x;
        int s[MAX], at[MAX], count = 0;
        double P[packed(MAX, 0)], inv[MAX], gx[MAX];
        ConditioningSet z = {{P, inv}, gx, s, at};
        for (z.set = (block % sh.per_row) * blockDim.x + threadIdx.x; z.set < sets; z.set += step) {
            if ((++count & POLL) == 0 && *lv.stop) break;
            if (*(volatile int*)&left <= 0 && row_is_done(g, row, z.set)) break;
            subset_unrank(lv.binom, row.d, l, z.set, z.at);
            condition<L>(g, lv, row, z);
            test_row<L>(g, lv, row, z, work, &left);
        }
        __syncthreads();
        report_row(g, row);
    }
}
