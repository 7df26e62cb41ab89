// schur.cuh -- levels >= 2 of the schur engine: a CI test in a dozen operations, at any level.
//
//   Row x has neighbours at positions 0..d-1 (ascending) and one correlation matrix over them and x. A set S of the row
//   serves every target y of the row at once, so both sides of all edges are tested in one walk over subsets of adj(x).
//   S = Q + leaf: the base Q = the first level - T members, the leaf = the last T. M|Q, the matrix conditioned on Q, sits
//   in shared memory; a lane owns one leaf, factorises its T x T block of M|Q (L D L^T) in registers and then runs over
//   the targets y, for which conditioning on the leaf is one forward substitution:
//       u_i = M_y,s_i - sum_k L_ik u_k     var(y|S) = M_yy - sum u_i^2 / D_i     cov(x,y|S) = M_xy - sum u_i gx_i
//   All lanes look at the same y: its scalars are broadcasts, and consecutive leaves differ in the last member, so the
//   loads of a row of M are consecutive.
//   Order: bases and leaves are lexicographic, so rank(S) grows along the walk. A separating set offers its rank by a
//   64-bit atomicMin; a target whose rank is beaten by the present base is dropped. What remains is the smallest rank.
//   A test is settled at once when r^2 > bound_y = max(T^2 (1 + band), smallest r^2 seen) and all pivots are sound.
//   Everything else is rare and goes to `settle`: a new smallest r^2, a separating set, or a doubt for the canonical formula.
#pragma once
#include "engine.cuh"
#include "canonical_small.cuh"

// Targets of one base, in shared memory.
struct Targets {
    double2* moment;          // {cov(x, y | Q), var(y | Q)}
    double* bound;            // r^2 above which a test needs no attention
    u64* least;               // bits of the smallest r^2 so far
    int2* where;              // {offset of y's row in M, y's position counted from column 0 of M}
    int* position;            // position of y in adj(x)
    unsigned* cut;            // number (within the base) of the first separating leaf
};

template <int T>
struct Leaf {
    double L[T * (T - 1) / 2], inv[T], gx[T], vx;
    int s[T], at[T];          // columns of M, ascending; positions in adj(x), counted from that of column 0
    unsigned number;          // lexicographic number within the base
    bool valid, sound;        // a leaf of its own; all pivots above the floor
};

// The block's item of work.
struct Item {
    u64 number;               // of the row's items
    int row;
    bool there;
};

// Take the next one; whole block. False: no work left, or asked to stop.
__device__ __forceinline__ bool next_item(const Queue& queue, const Level& lv, Item& item) {
    __syncthreads();
    if (threadIdx.x < 32) {
        int row = 0;
        u64 number = 0;
        const bool there = take(queue, lv.stop, threadIdx.x, row, number);
        if (threadIdx.x == 0) item = {number, row, there};
    }
    __syncthreads();
    return item.there;
}

// What a doubtful test needs besides: where the row is, to call the canonical formula. In shared memory, for the block.
struct Place {
    const double* C;
    const int* ids;           // variables of the row's positions
    const int* Q;             // positions of the base
    double* work;             // canonical work space of the block's warps
    i64 p;
    int x, q, first, lanes;   // row variable, size of the base, position of column 0 of M, lanes of a warp with work space
};

// One thread fills what holds for all rows.
__device__ __forceinline__ void place_block(Place& w, const Graph& g, const Level& lv, const int* Q, const int q, const int warps) {
    w.C = g.C;
    w.p = g.p;
    w.Q = Q;
    w.q = q;
    w.lanes = lv.lanes;
    w.work = lv.work + (i64)blockIdx.x * warps * lv.lanes * canonical_doubles(lv.level);
}

// |r| of x and y given base and leaf by the canonical formula. Apart, with few arguments: it costs its callers no registers.
// leaf: the last member's position in the low 32 bits, above it one byte each for the earlier ones, from the first on.
template <bool SINGULAR>
__device__ __noinline__ double doubtful(const Place* w, const int y, u64 leaf, const int size, const int slot) {
    const int q = w->q, l = q + size, m = l + 2, step = w->lanes;
    double* base = w->work + (i64)(threadIdx.x >> 5) * step * canonical_doubles(l);
    double *A = base + slot, *V = A + m * m * step;
    int* S = (int*)(base + (m * m + 2 * m) * step) + slot;
    const int* ids = w->ids;
    for (int i = 0; i < q; ++i) S[i * step] = ids[w->Q[i]];
    S[(l - 1) * step] = ids[w->first + (int)(unsigned)leaf];
    leaf >>= 32;
    for (int i = q; i < l - 1; ++i, leaf >>= 8) S[i * step] = ids[w->first + (int)(leaf & 255)];
    if constexpr (SINGULAR)
        if (l <= SMALL) return fabs(small_correlation(l, w->C, w->p, w->x, y, S, step));
    return fabs(partial_correlation(w->C, w->p, w->x, y, S, l, A, V, step));
}

// The lanes in `open` have a test of target t that was not settled at once. Converged call: the whole warp takes part.
template <int T, bool SINGULAR>
__device__ __forceinline__ void settle(const Graph& g, const Level& lv, const Place& w, const Leaf<T>& f,
                                       const Targets& ts, const int t, bool open, const double num2, const double den,
                                       const double vy) {
    open = open && f.valid && f.number < *(volatile unsigned*)&ts.cut[t];
    bool doubt = open;
    if (open && f.sound && vy > PIVOT_FLOOR && num2 < ONE_MINUS_FLOOR * den) {
        if (num2 > lv.sure_out * den) {
            const double r2 = num2 / den;
            if (bits(r2) < atomicMin(&ts.least[t], bits(r2))) ts.bound[t] = fmax(r2, lv.sure_out);
            doubt = false;
        } else if (num2 < lv.sure_in * den) {
            atomicMin(&ts.cut[t], f.number);
            doubt = false;
        }
    }
    const unsigned todo = __ballot_sync(FULL, doubt);
    const int turn = __popc(todo & ((1u << (threadIdx.x & 31)) - 1)), turns = __popc(todo);
    for (int first = 0; first < turns; first += lv.lanes) {  // all doubtful lanes at once, as far as the work space goes
        const int slot = turn - first;
        if (doubt && slot >= 0 && slot < lv.lanes && f.number < *(volatile unsigned*)&ts.cut[t]) {
            u64 leaf = (unsigned)f.at[T - 1];
#pragma unroll
            for (int i = 0; i < T - 1; ++i) leaf |= (u64)(unsigned)f.at[i] << (32 + 8 * i);
            const double r = doubtful<SINGULAR>(&w, w.ids[ts.position[t]], leaf, T, slot);
            atomicAdd(lv.careful, 1ULL);
            if (r <= lv.cutoff) {
                atomicMin(&ts.cut[t], f.number);
            } else {
                const double r2 = r * r;
                if (bits(r2) < atomicMin(&ts.least[t], bits(r2))) ts.bound[t] = fmax(r2, lv.sure_out);
            }
        }
        __syncwarp();
    }
}

// Test the lane's leaf against targets [0, count); `lowest` is the smallest leaf number of the warp.
// H targets a turn: independent chains of operations, one vote. The high words compare as integers: that spares the
// float64 unit, and a NaN still fails the one float64 comparison.
template <int T, int H, bool SINGULAR>
__device__ __forceinline__ void sweep(const Graph& g, const Level& lv, const Place& w, const Leaf<T>& f, const Targets& ts,
                                      const int count, const double* __restrict__ M, const unsigned lowest) {
    constexpr int FLOOR_WORD = 0x3e112e0c;                  // high word of 1.0000001e-9: above it, above PIVOT_FLOOR
    for (int t = 0; t < count; t += H) {
        double num2[H], den[H], vy[H];
        bool ok[H], all = true;
#pragma unroll
        for (int h = 0; h < H; ++h) {
            const int tt = min(t + h, count - 1);
            const int2 where = ts.where[tt];
            const double* row = M + where.x;
            const double2 moment = ts.moment[tt];
            const double bound = ts.bound[tt];
            double u[T], num = moment.x, v = moment.y;
            bool member = false;
#pragma unroll
            for (int i = 0; i < T; ++i) {
                u[i] = row[f.s[i]];
                member = member || where.y == f.at[i];
#pragma unroll
                for (int k = 0; k < i; ++k) u[i] = fma(-f.L[i * (i - 1) / 2 + k], u[k], u[i]);
                num = fma(-u[i], f.gx[i], num);
                v = fma(-u[i] * f.inv[i], u[i], v);
            }
            vy[h] = v;
            den[h] = f.vx * v;                              // vx is NaN where the leaf is not sound
            num2[h] = num * num;
            ok[h] = member || (num2[h] > bound * den[h] && __double2hiint(den[h]) - __double2hiint(num2[h]) >= 2 &&
                               __double2hiint(v) > FLOOR_WORD);
            all = all && ok[h];
        }
        if (__any_sync(FULL, !all && f.valid)) {
#pragma unroll
            for (int h = 0; h < H; ++h)
                if (t + h < count && lowest < ts.cut[t + h])
                    settle<T, SINGULAR>(g, lv, w, f, ts, t + h, !ok[h], num2[h], den[h], vy[h]);
        }
    }
}

// Doubles a row of W takes: even for 16-byte loads, an odd number of 16-byte words against bank conflicts.
__host__ __device__ __forceinline__ int w_pitch(const int q) {
    const int even = (q + 1) & ~1;
    return q == 0 ? 0 : (even & 2 ? even : even + 2);
}

// v - sum over j < n of a[j] b[j]; both 16-byte aligned.
__device__ __forceinline__ double less_dot(double v, const double* a, const double* b, const int n) {
    int j = 0;
#pragma unroll 4
    for (; j + 2 <= n; j += 2) {
        const double2 s = *(const double2*)(a + j), t = *(const double2*)(b + j);
        v = fma(-s.x, t.x, v);
        v = fma(-s.y, t.y, v);
    }
    return j < n ? fma(-a[j], b[j], v) : v;
}

// Row a of W: W_aj = cov(q_j, a | q_0..q_{j-1}) / sd(q_j | q_0..q_{j-1}) for all positions a and x (= d), so that
// cov(a, b | Q) = C_ab - W_a . W_b. Columns from .. q - 1; whole block. False where a pivot is not sound.
__device__ __forceinline__ bool condition(const Graph& g, const int* ids, const int* Q, const int q, const int from,
                                          const int d, double* W, bool* flag) {
    const int pitch = w_pitch(q);
    for (int j = from; j < q; ++j) {
        const double* c = g.C + (i64)ids[Q[j]] * g.p;
        const double* pivot_row = W + Q[j] * pitch;
        const double pivot = less_dot(c[ids[Q[j]]], pivot_row, pivot_row, j);
        const double scale = rsqrt(pivot);
        for (int a = threadIdx.x; a <= d; a += blockDim.x) {
            const double v = less_dot(c[ids[a]], pivot_row, W + a * pitch, j);
            W[a * pitch + j] = v * scale;
        }
        if (threadIdx.x == 0) flag[j] = pivot > PIVOT_FLOOR;
        __syncthreads();
    }
    bool sound = true;
    for (int j = 0; j < q; ++j) sound = sound && flag[j];
    return sound;
}

// cov(a, b | Q)
__device__ __forceinline__ double given(const Graph& g, const int* ids, const int a, const int b, const int q,
                                        const double* W, const int pitch) {
    return less_dot(g.C[(i64)ids[a] * g.p + ids[b]], W + a * pitch, W + b * pitch, q);
}

// L D L^T of the leaf's block and x's forward substitution, from a matrix M with x in row `xrow`.
template <int T>
__device__ __forceinline__ void factorise(Leaf<T>& f, const double* M, const int pitch, const int xrow, const double vx) {
    double a[T * (T - 1) / 2 + 1], ux[T];
    f.vx = vx;
#pragma unroll
    for (int i = 0; i < T; ++i) {
        const double* row = M + f.s[i] * pitch;             // leaf columns are the first rows of M
        double dd = row[f.s[i]];
        ux[i] = M[xrow * pitch + f.s[i]];
#pragma unroll
        for (int j = 0; j < i; ++j) {
            double v = row[f.s[j]];
#pragma unroll
            for (int k = 0; k < j; ++k) v = fma(-a[i * (i - 1) / 2 + k], f.L[j * (j - 1) / 2 + k], v);
            a[i * (i - 1) / 2 + j] = v;
            f.L[i * (i - 1) / 2 + j] = v * f.inv[j];
        }
#pragma unroll
        for (int k = 0; k < i; ++k) {
            dd = fma(-a[i * (i - 1) / 2 + k], f.L[i * (i - 1) / 2 + k], dd);
            ux[i] = fma(-f.L[i * (i - 1) / 2 + k], ux[k], ux[i]);
        }
        f.sound = f.sound && dd > PIVOT_FLOOR;
        f.inv[i] = 1.0 / dd;
        f.gx[i] = ux[i] * f.inv[i];
        f.vx = fma(-ux[i], f.gx[i], f.vx);
    }
    f.sound = f.sound && f.vx > PIVOT_FLOOR;
    if (!f.sound) f.vx = __longlong_as_double(0x7ff8000000000000LL);
}
