// cupc.cu -- cuPC-E and cuPC-S of Zarebavani et al. (2020), IEEE TPDS 31(3), made exact: the separating set kept is the
// first in pcalg's order, not the first that a thread happened to find.
//   Rows: neighbour lists A' of the snapshot graph, one row in shared memory; subsets unranked on the fly.
//   Sides: `side` 0 tests pairs x < y, side 1 pairs x > y that side 0 left (edge-removal monitoring: G).
//   Exact: a thread that separates a pair offers the subset's rank with a 64-bit atomicMin, and a thread whose rank is
//   already beaten stops. Early termination: I, a pair without work is skipped before anything is loaded; II, threads of
//   a pair stop when it is separated below their rank; III, a row stops when none of its pairs is left.
//   A virtual block (the paper's block) is taken by a resident block from a ticket counter, so that the work space for
//   the canonical formula is bounded.
//   L > 0: the level, unrolled.  L < 0: levels up to -L, loops.
#include "engine.cuh"
#include "pseudo_inverse.cuh"

// cuPC-S inverts M2 explicitly; below this pivot rounding in v' M2^-1 v could reach CUTOFF_BAND, so it is not certain.
constexpr double INVERSE_FLOOR = 1e-5;
constexpr int POLL = 255;  // sets between two looks at the stop flag

struct Shape {
    int a, b;         // E: beta, gamma;  S: theta, delta
    int side, shared_row;
    u64 blocks;       // virtual blocks
    u64* ticket;
    u64* differs;     // S: doubtful tests that algorithm 7 alone would have decided otherwise
    int per_row, rows;
};

__device__ __forceinline__ i64 thread_doubles(int level) { return 6 * (i64)(level + 2) * (level + 2); }

// Ticket of the next virtual block, for the whole block; ~0 at the end.
__device__ __forceinline__ u64 next_block(const Shape& sh, const volatile int* stop, u64* slot) {
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        const u64 t = *stop ? ~0ULL : atomicAdd(sh.ticket, 1ULL);
        *slot = t < sh.blocks ? t : ~0ULL;
    }
    __syncthreads();
    return *slot;
}

// Decide a doubtful test; S are variables. Returns |r|. Apart from level 1, where it is one line, it is not inlined.
__device__ __noinline__ double doubtful_by_matrix(const Graph& g, const Level& lv, const int x, const int y, const int* s,
                                                  double* work) {
    const int l = lv.level;
    return fabs(partial_correlation(g.C, g.p, x, y, s, l, work, work + (l + 2) * (l + 2)));
}

template <int L>
__device__ __forceinline__ double doubtful(const Graph& g, const Level& lv, const int x, const int y, const int* s, double* work) {
    atomicAdd(lv.careful, 1ULL);
    if constexpr (L == 1) {
        const double *cx = g.C + x * g.p, *cy = g.C + y * g.p;
        return fabs(correlation_given_one(cx[y], cx[s[0]], cy[s[0]]));
    } else {
        return doubtful_by_matrix(g, lv, x, y, s, work);
    }
}

// cuPC-E: beta pairs a block, gamma threads a pair, each thread factorises M2 of its own sets.
//   Launch  block (gamma, beta); dynamic shared memory: d ints (row) when shared_row, and beta u64 (best rank)
//   Levels 1 and 2 gather, and want many warps; above, the arithmetic takes the time and 128 registers are worth more.
template <int L>
__global__ void __launch_bounds__(512, L == 1 || L == 2 ? 0 : 1) cupc_e(const Graph g, const Level lv, const Shape sh) {
    constexpr int MAX = L > 0 ? L : -L;
    extern __shared__ u64 e_memory[];
    u64* best = e_memory;                                   // [beta] smallest separating rank in adj(x) without y
    int* row = (int*)(best + sh.a);
    __shared__ u64 slot;
    const int l = L > 0 ? L : lv.level;
    const int lanes = blockDim.x * blockDim.y, me = threadIdx.y * blockDim.x + threadIdx.x;
    double* work = lv.work + ((i64)blockIdx.x * lanes + me) * thread_doubles(l);
    while (true) {
        const u64 vb = next_block(sh, lv.stop, &slot);
        if (vb == ~0ULL) return;
        const int x = (int)(vb / sh.per_row), first = (int)(vb % sh.per_row) * sh.a;
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0);
        if (first >= d || d - 1 < l) continue;              // early termination I
        const int at = first + threadIdx.y;
        bool mine = at < d;
        int y = 0;
        if (mine) {
            y = g.column[e0 + at];
            mine = (x > y) == sh.side && g.G[(i64)x * g.p + y] == LIVE;
        }
        if (!__syncthreads_or(mine)) continue;              // early termination I
        if (threadIdx.x == 0) best[threadIdx.y] = NOT_SEPARATED;
        const int* adj = g.column + e0;
        if (sh.shared_row) {
            for (int i = me; i < d; i += lanes) row[i] = adj[i];
            adj = row;
        }
        __syncthreads();
        if (mine) {
            const u64 sets = lv.binom[(i64)l * lv.stride + d - 1];
            const double* cx = g.C + (i64)x * g.p;
            const double* cy = g.C + (i64)y * g.p;
            const double xy = cx[y];
            double least = from_bits(g.least[e0 + at]);
            const double old = least;
            int s[MAX];
            double R[MAX * (MAX + 1) / 2], a[MAX], b[MAX], inv[MAX];
            int count = 0;
            for (u64 set = threadIdx.x; set < sets; set += blockDim.x) {
                if (set > *(volatile u64*)&best[threadIdx.y]) break;  // early termination II
                if ((++count & POLL) == 0 && *lv.stop) break;
                subset_unrank(lv.binom, lv.stride, d - 1, l, set, s);
                bool sound = true;
                double vx = 1.0, vy = 1.0, num = xy;
#pragma unroll
                for (int i = 0; i < l; ++i) {
                    s[i] = adj[s[i] + (s[i] >= at)];        // skip y's own position
                    const double* c = g.C + (i64)s[i] * g.p;
                    double dd = 1.0, ai = cx[s[i]], bi = cy[s[i]];
#pragma unroll
                    for (int j = 0; j < i; ++j) {
                        double v = c[s[j]];
#pragma unroll
                        for (int k = 0; k < j; ++k) v = fma(-R[i * (i + 1) / 2 + k], R[j * (j + 1) / 2 + k], v);
                        v *= inv[j];
                        R[i * (i + 1) / 2 + j] = v;
                        dd = fma(-v, v, dd);
                        ai = fma(-v, a[j], ai);
                        bi = fma(-v, b[j], bi);
                    }
                    sound = sound && dd > PIVOT_FLOOR;
                    inv[i] = rsqrt(dd);
                    a[i] = ai * inv[i];
                    b[i] = bi * inv[i];
                    vx = fma(-a[i], a[i], vx);
                    vy = fma(-b[i], b[i], vy);
                    num = fma(-a[i], b[i], num);
                }
                const double den = vx * vy, num2 = num * num;
                sound = sound && vx > PIVOT_FLOOR && vy > PIVOT_FLOOR && num2 < ONE_MINUS_FLOOR * den;
                if (sound && num2 > fmax(least, lv.sure_out) * den) continue;
                bool in = false;
                if (sound && num2 > lv.sure_out * den) {
                    least = fmin(least, num2 / den);
                } else if (sound && num2 < lv.sure_in * den) {
                    in = true;
                } else {
                    const double r = doubtful<L>(g, lv, x, y, s, work);
                    in = r <= lv.cutoff;
                    if (!in) least = fmin(least, r * r);
                }
                if (in) { atomicMin(&best[threadIdx.y], set); break; }
            }
            if (least < old) atomicMin(&g.least[e0 + at], bits(least));
        }
        __syncthreads();
        if (mine && threadIdx.x == 0 && best[threadIdx.y] != NOT_SEPARATED) {
            int s[MAX];                                     // to the rank among the subsets of adj(x), as all engines report it
            subset_unrank(lv.binom, lv.stride, d - 1, l, best[threadIdx.y], s);
            for (int i = 0; i < l; ++i) s[i] += s[i] >= at;
            g.best[e0 + at] = subset_rank(lv.binom, lv.stride, d, l, s);
            if (sh.side == 0) g.G[(i64)x * g.p + y] = g.G[(i64)y * g.p + x] = GONE_A;
        }
    }
}

// A pair that this side tests. Side 0 may see GONE_A: another block of the row has separated it, maybe at a later rank.
__device__ __forceinline__ bool to_test(const Graph& g, const int x, const int y, const int side) {
    const unsigned char c = *(volatile unsigned char*)&g.G[(i64)x * g.p + y];
    return (x > y) == side && (side ? c == LIVE : c != FIXED);
}

// cuPC-S: theta threads a block, delta blocks a row; a thread takes a set S, inverts M2 once, tests all pairs of the row.
//   Launch  block theta; dynamic shared memory: when shared_row, d x {u64 best, u64 least, int id}
template <int L>
__global__ void __launch_bounds__(256) cupc_s(const Graph g, const Level lv, const Shape sh) {
    constexpr int MAX = L > 0 ? L : -L;
    extern __shared__ u64 s_memory[];
    __shared__ u64 slot;
    __shared__ int left;                                    // pairs of the row still to be separated
    const int l = L > 0 ? L : lv.level;
    double* work = lv.work + ((i64)blockIdx.x * blockDim.x + threadIdx.x) * thread_doubles(l);
    while (true) {
        const u64 vb = next_block(sh, lv.stop, &slot);
        if (vb == ~0ULL) return;
        const int x = (int)(vb / sh.b), part = (int)(vb % sh.b);
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0);
        if (d - 1 < l) continue;                            // early termination I
        u64* best = g.best + e0;
        u64* least = g.least + e0;
        const int* adj = g.column + e0;
        if (threadIdx.x == 0) left = 0;
        __syncthreads();
        int n = 0;
        for (int i = threadIdx.x; i < d; i += blockDim.x) {
            const int y = g.column[e0 + i];
            const bool live = to_test(g, x, y, sh.side);
            n += live;
            if (sh.shared_row) {
                s_memory[i] = live ? NOT_SEPARATED : 0;     // 0: beaten from the start, never tested
                s_memory[d + i] = least[i];
                ((int*)(s_memory + 2 * d))[i] = y;
            }
        }
        if (n) atomicAdd(&left, n);
        __syncthreads();
        if (left == 0) continue;                            // early termination I
        if (sh.shared_row) {
            best = s_memory;
            least = s_memory + d;
            adj = (const int*)(s_memory + 2 * d);
        }
        const u64 sets = lv.binom[(i64)l * lv.stride + d];
        const double* cx = g.C + (i64)x * g.p;
        int s[MAX], at[MAX];
        double P[MAX * (MAX + 1) / 2], inv[MAX], gx[MAX], v[MAX];
        int count = 0;
        for (u64 set = (u64)part * blockDim.x + threadIdx.x; set < sets; set += (u64)sh.b * blockDim.x) {
            if ((++count & POLL) == 0 && *lv.stop) break;
            if (*(volatile int*)&left <= 0) {               // early termination III: unless a later pair could do better
                bool any = false;
                for (int i = 0; i < d && !any; ++i)
                    any = *(volatile u64*)&best[i] > set && (sh.shared_row || to_test(g, x, adj[i], sh.side));
                if (!any) break;
            }
            subset_unrank(lv.binom, lv.stride, d, l, set, at);
            bool sound = true;
            double vx = 1.0;
#pragma unroll
            for (int i = 0; i < l; ++i) {                   // M2 = R R'
                s[i] = adj[at[i]];
                const double* c = g.C + (i64)s[i] * g.p;
                double dd = 1.0;
#pragma unroll
                for (int j = 0; j < i; ++j) {
                    double t = c[s[j]];
#pragma unroll
                    for (int k = 0; k < j; ++k) t = fma(-P[i * (i + 1) / 2 + k], P[j * (j + 1) / 2 + k], t);
                    t *= inv[j];
                    P[i * (i + 1) / 2 + j] = t;
                    dd = fma(-t, t, dd);
                }
                sound = sound && dd > INVERSE_FLOOR;
                inv[i] = rsqrt(dd);
                P[i * (i + 1) / 2 + i] = inv[i];
            }
#pragma unroll
            for (int j = 0; j < l; ++j)                     // R^-1, in place, column by column
#pragma unroll
                for (int i = j + 1; i < l; ++i) {
                    double t = 0.0;
#pragma unroll
                    for (int k = j; k < i; ++k) t = fma(-P[i * (i + 1) / 2 + k], P[k * (k + 1) / 2 + j], t);
                    P[i * (i + 1) / 2 + j] = t * inv[i];
                }
#pragma unroll
            for (int i = 0; i < l; ++i)                     // M2^-1 = R^-T R^-1: entry (i, j) only needs rows >= i
#pragma unroll
                for (int j = 0; j <= i; ++j) {
                    double t = 0.0;
#pragma unroll
                    for (int k = i; k < l; ++k) t = fma(P[k * (k + 1) / 2 + i], P[k * (k + 1) / 2 + j], t);
                    P[i * (i + 1) / 2 + j] = t;
                }
#pragma unroll
            for (int i = 0; i < l; ++i) v[i] = cx[s[i]];
#pragma unroll
            for (int i = 0; i < l; ++i) {
                double t = 0.0;
#pragma unroll
                for (int j = 0; j < l; ++j) t = fma(i >= j ? P[i * (i + 1) / 2 + j] : P[j * (j + 1) / 2 + i], v[j], t);
                gx[i] = t;
                vx = fma(-t, v[i], vx);
            }
            sound = sound && vx > INVERSE_FLOOR;
            for (int t = 0; t < d; ++t) {
                if (*(volatile u64*)&best[t] <= set) continue;        // early termination II
                bool member = false;
#pragma unroll
                for (int i = 0; i < l; ++i) member = member || at[i] == t;
                const int y = adj[t];
                if (member || (!sh.shared_row && !to_test(g, x, y, sh.side))) continue;
                const double* cy = g.C + (i64)y * g.p;
                double num = cx[y], vy = 1.0;
#pragma unroll
                for (int i = 0; i < l; ++i) {
                    v[i] = cy[s[i]];
                    num = fma(-gx[i], v[i], num);
                    double q = 0.0;
#pragma unroll
                    for (int j = 0; j < i; ++j) q = fma(P[i * (i + 1) / 2 + j], v[j], q);
                    vy = fma(-v[i], fma(P[i * (i + 1) / 2 + i], v[i], q + q), vy);
                }
                const double den = vx * vy, num2 = num * num;
                const bool sure = sound && vy > INVERSE_FLOOR && num2 < ONE_MINUS_FLOOR * den;
                if (sure && num2 > fmax(from_bits(*(volatile u64*)&least[t]), lv.sure_out) * den) continue;
                bool in = false;
                if (sure && num2 > lv.sure_out * den) {
                    atomicMin(&least[t], bits(num2 / den));
                } else if (sure && num2 < lv.sure_in * den) {
                    in = true;
                } else {
                    const double r = doubtful<L>(g, lv, x, y, s, work);
                    in = r <= lv.cutoff;
                    if (!in) atomicMin(&least[t], bits(r * r));
                    if (!sound && l >= 2) {                 // what the paper's algorithm 7 would have said
                        double *A = work, *Y = work + l * l;
                        for (int i = 0; i < l; ++i)
                            for (int j = 0; j < l; ++j) A[i * l + j] = g.C[(i64)s[i] * g.p + s[j]];
                        pseudo_inverse(A, l, Y, work + 2 * l * l);
                        double h01 = cx[y], h00 = 1.0, h11 = 1.0;
                        for (int i = 0; i < l; ++i)
                            for (int j = 0; j < l; ++j) {
                                h01 -= cx[s[i]] * Y[i * l + j] * cy[s[j]];
                                h00 -= cx[s[i]] * Y[i * l + j] * cx[s[j]];
                                h11 -= cy[s[i]] * Y[i * l + j] * cy[s[j]];
                            }
                        if ((fabs(h01 / sqrt(fabs(h00 * h11))) <= lv.cutoff) != in) atomicAdd(sh.differs, 1ULL);
                    }
                }
                if (in && atomicMin(&best[t], set) == NOT_SEPARATED) atomicSub(&left, 1);
            }
        }
        __syncthreads();
        for (int t = threadIdx.x; t < d; t += blockDim.x) {
            const int y = adj[t];
            if (!to_test(g, x, y, sh.side)) continue;
            if (sh.shared_row) atomicMin(&g.least[e0 + t], least[t]);
            if (best[t] == NOT_SEPARATED) continue;
            if (sh.shared_row) atomicMin(&g.best[e0 + t], best[t]);
            if (sh.side == 0) g.G[(i64)x * g.p + y] = g.G[(i64)y * g.p + x] = GONE_A;
        }
    }
}
