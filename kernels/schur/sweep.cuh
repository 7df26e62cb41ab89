// sweep.cuh -- the Schur walk (engine "gpu"): tests of levels >= 2, each in a dozen operations whatever the level.
//
//   Row x has its neighbours at positions 0..d-1, ascending. A conditioning set S from adj(x) serves every target y of
//   the row at once, so one walk over the subsets of adj(x) tests the pairs of both sides.
//   S = prefix + suffix: the prefix P is the first level - T members, the suffix the last T. M, the covariance matrix
//   given P, lies in shared memory. A lane owns one suffix, factorises its T x T block of M in registers, and
//   then runs over the targets y, for which conditioning on the suffix is one forward substitution. All lanes look
//   at the same y: its scalars are broadcasts, and consecutive suffixes differ in the last member, so the loads from a
//   row of M are consecutive.
//   Order: prefixes and suffixes are lexicographic, so the rank of S grows along the walk. A separating set offers its
//   rank by a 64-bit atomicMin, and a target that a set of lower rank separates is dropped. So the smallest rank
//   remains.
//   A test is settled at once if r^2 is surely above bound_y = max(sure_out, smallest r^2 of y so far) and all pivots
//   are surely above the floor. That is asked in single precision, with a bound of the errors that each lane works out
//   for its suffix (`Quick`). Everything else is rare and goes to `decide`, in double precision (`Suffix`): a new
//   smallest r^2, a separating set, or a doubtful test.
#pragma once
#include "canonical/partial_correlation_small.cuh"
#include "schur/conditioning.cuh"
#include "schur/targets.cuh"

constexpr float DELTA = 16 * 5.97e-8f;  // see Quick

// A lane's suffix in double precision: L D L' is the factorisation of the covariances of its members given the prefix.
//     u_i = M_y,i - sum_k L_ik u_k     var(y|S) = M_yy - sum u_i^2 / D_i     cov(x,y|S) = M_xy - sum u_i gx_i
template <int T>
struct Suffix {
    double L[T * (T - 1) / 2], inv[T], gx[T], vx;  // L, 1 / D, the x column of L^-1 M divided by D; var(x | S)
    int s[T], at[T];  // columns of M, ascending; positions counted from the position of column 0
    unsigned number;  // grows with the rank, within the prefix
    bool sound;       // all pivots are above the floor
};

// The data for doubtful tests besides their suffixes; in shared memory, for the block.
struct CanonicalInput {
    const double* C;         // correlations of the row, see Row
    const int* ids;          // [d + 1] places of the row's positions in C
    const int* prefix;       // [q] positions of the prefix
    double* work;            // work space of the canonical formula for all warps of the block
    i64 p;                   // numbers in a row of C
    int x, q, first, slots;  // place of x in C; size of the prefix; position of column 0 of M; lanes with work space
};

// Fills the fields that hold for all rows; one thread.
DEVICE void fill_input(CanonicalInput& w, const Level& lv, const int* prefix, const int q) {
    w.prefix = prefix;
    w.q = q;
    w.slots = lv.slots;
    w.work = lv.work + (i64)blockIdx.x * (blockDim.x >> 5) * lv.slots * canonical_doubles(lv.level);
}

// Fills the fields of a row, of which `first` depends on the prefix; one thread.
DEVICE void fill_input(CanonicalInput& w, const Graph& g, const Row& row) {
    w.C = row.C;
    w.p = row.p;
    w.ids = row.ids;
    w.x = place_of_row(g, row.x);
}

// Packs Suffix::at into one word: the last member in the low 32 bits, above it one byte for each earlier one.
template <int T>
DEVICE u64 packed(const Suffix<T>& f) {
    u64 code = (unsigned)f.at[T - 1];
    UNROLL
    for (int i = 0; i < T - 1; ++i) code |= (u64)(unsigned)f.at[i] << (32 + 8 * i);
    return code;
}

// |r| of x and y given prefix and suffix (packed, of `size` members), by the canonical formula. Not inlined, and with
// few arguments, so that it costs its callers no registers. slot: index of the lane's work space in its warp.
template <bool ILL>
__device__ __noinline__ double canonical_r(const CanonicalInput* w, const int y, u64 suffix, const int size,
                                           const int slot) {
    const int q = w->q, l = q + size, step = w->slots;
    double* base = w->work + (i64)(threadIdx.x >> 5) * step * canonical_doubles(l);
    double* A = base + slot;
    int* S = (int*)(base + canonical_matrix(l) * step) + slot;
    const int* ids = w->ids;
    for (int i = 0; i < q; ++i) S[i * step] = ids[w->prefix[i]];
    S[(l - 1) * step] = ids[w->first + (int)(unsigned)suffix];
    suffix >>= 32;
    for (int i = q; i < l - 1; ++i, suffix >>= 8) S[i * step] = ids[w->first + (int)(suffix & 255)];
    if constexpr (ILL)
        if (l <= SMALL) return fabs(small_correlation(w->C, w->p, w->x, y, S, l, A, step));
    return fabs(partial_correlation(w->C, w->p, w->x, y, S, l, A, step));
}

// A test given prefix and suffix: squared covariance of x and y, product of their variances, variance of y.
struct Moments {
    double num2, den, vy;
};

// A dependent test of target t has this r^2: keeps the smallest.
DEVICE void note_dependent(const Level& lv, const Targets& ts, const int t, const double r2) {
    if (bits(r2) < atomicMin(&ts.least[t], bits(r2))) atomicMin(&ts.quick[t].bound, bound_above(bits(r2), lv.sure_out));
}

// Whether no suffix up to `number` is known to separate target t.
DEVICE bool undecided(const Targets& ts, const int t, const unsigned number) {
    return number < *(volatile unsigned*)&ts.cut[t];
}

// Decides the tests of target t that were not settled at once, one in each lane with `open`. Whole warp.
template <int T, bool ILL>
DEVICE void decide(const Level& lv, const CanonicalInput& w, const Suffix<T>& f, const Targets& ts, const int t,
                   const bool open, const Moments& m) {
    bool doubt = open;
    if (open && f.sound && m.vy > PIVOT_FLOOR && m.num2 < ONE_MINUS_FLOOR * m.den) {
        if (m.num2 > lv.sure_out * m.den) {
            note_dependent(lv, ts, t, m.num2 / m.den);
            doubt = false;
        } else if (m.num2 < lv.sure_in * m.den) {
            atomicMin(&ts.cut[t], f.number);
            doubt = false;
        }
    }
    const unsigned todo = __ballot_sync(FULL, doubt);
    const int turn = lanes_before(todo), turns = __popc(todo);
    for (int first = 0; first < turns;
         first += lv.slots) {  // all doubtful lanes at once, as far as the work space goes
        const int slot = turn - first;
        if (doubt && slot >= 0 && slot < lv.slots && undecided(ts, t, f.number)) {
            const double r = canonical_r<ILL>(&w, w.ids[ts.position[t]], packed(f), T, slot);
            atomicAdd(&lv.counters->doubtful, 1ULL);
            if (r <= lv.cutoff) atomicMin(&ts.cut[t], f.number);
            else note_dependent(lv, ts, t, r * r);
        }
        __syncwarp();
    }
}

// The test of target t given prefix and suffix, in double precision.
template <int T>
DEVICE Moments moments_of(const Suffix<T>& f, const Targets& ts, const Covariances& M, const int t) {
    const double2 moment = ts.moment[t];
    const int row = ts.quick[t].row;
    double u[T], num = moment.x, v = moment.y;
    UNROLL
    for (int i = 0; i < T; ++i) {
        u[i] = M[row + f.s[i]];
        UNROLL
        for (int k = 0; k < i; ++k) u[i] = fma(-f.L[i * (i - 1) / 2 + k], u[k], u[i]);
        num = fma(-u[i], f.gx[i], num);
        v = fma(-u[i] * f.inv[i], u[i], v);
    }
    return {num * num, f.vx * v, v};
}

// A suffix for tests in single precision. R R' is the Cholesky factorisation of the covariances of its members given
// the prefix, and u the row of R that a target y would have:
//     u_i = s_i (M_y,i - sum_k R_ik u_k)   var(y|S) = M_yy - sum u_i^2   cov(x,y|S) scale = scale M_xy - sum g_i u_i
// with s_i = 1 / R_ii, g_i = scale R_xi and scale = 1 / sd(x|S).
//
// The results are exact for slightly different covariances (Higham 2002, section 10.1): each differs by at most
// delta = 16 * 2^-24, of which 2 are for the rounding of M towards zero, at most 5 for operations whose results are at
// most 1, and 9 for s_i. Let b_y be the coefficients of y's regression on the suffix, and |b| the sum of their absolute
// values. The change of a covariance given S is then (1, -b_x)' Delta (1, -b_y), so at most delta (1 + |b_x|) (1 +
// |b_y|), and likewise for the variances. Since |u| <= 1, |b_y| <= sum of t_i, with t_i = s_i (1 + sum_k |R_ik| t_k),
// and |b_x| <= sum of |R_xi| t_i. Hence
//     cov^2 scale^2 is off by at most delta c (2 (1 + |b_y|) + c), c = scale (1 + |b_x|): `slack`, with 10 % for the
//     rounding of these numbers, and 24 * 2^-24 for the rounding of the comparison
//     var(y|S) is off by at most delta (1 + |b_y|)^2; where that exceeds VARIANCE_ERROR, slack is NaN
template <int T>
struct Quick {
    float R[T * (T - 1) / 2], s[T], g[T], scale, slack;
    const float* column[T];  // of M, of the members
    int row[T];              // offsets of the members' rows in M, if they are targets
};

// Fills R, s, g, scale and slack. A: covariances given the prefix, the lower triangle, members first, then x. sound:
// whether all pivots of the prefix are above the floor.
template <int T>
DEVICE void factorise_quickly(Quick<T>& q, const float (&A)[(T + 1) * (T + 2) / 2], const bool sound) {
    float t[T], b_x = 0.0f, b_y = 0.0f;
    UNROLL
    for (int i = 0; i <= T; ++i) {
        const float* const a = A + i * (i + 1) / 2;
        float* const u = i < T ? q.R + i * (i - 1) / 2 : q.g;
        float left = a[i], sum = 1.0f;
        UNROLL
        for (int k = 0; k < i; ++k) {
            float v = a[k];
            UNROLL
            for (int m = 0; m < k; ++m) v = fmaf(-u[m], q.R[k * (k - 1) / 2 + m], v);
            u[k] = v * q.s[k];
            left = fmaf(-u[k], u[k], left);
            sum = fmaf(fabsf(u[k]), t[k], sum);
        }
        if (i < T) {
            q.s[i] = rsqrtf(left);
            t[i] = q.s[i] * sum;
            b_y += t[i];
        } else {
            q.scale = rsqrtf(left);
            b_x = sum;
        }
    }
    UNROLL
    for (int i = 0; i < T; ++i) q.g[i] *= q.scale;
    const float c = q.scale * b_x, d = 1.0f + b_y;
    q.slack = fmaf(1.1f * DELTA * c, fmaf(2.0f, d, c), 1.5f * DELTA);
    if (!sound || !(1.1f * DELTA * d * d <= VARIANCE_ERROR)) q.slack = (float)nan_value();
}

// The test of a target: num2 = cov(x,y|S)^2 scale^2 and v = var(y|S) + VARIANCE_ERROR; or whether it is a member of S.
template <int T>
DEVICE bool test_quickly(const Quick<T>& q, const QuickTarget& y, float& num2, float& v) {
    float u[T], num = y.xy * q.scale;
    v = y.yy;
    bool member = false;
    UNROLL
    for (int i = 0; i < T; ++i) {
        u[i] = q.column[i][y.row];
        member = member | (y.row == q.row[i]);
        UNROLL
        for (int k = 0; k < i; ++k) u[i] = fmaf(-q.R[i * (i - 1) / 2 + k], u[k], u[i]);
        u[i] *= q.s[i];
        num = fmaf(-u[i], q.g[i], num);
        v = fmaf(-u[i], u[i], v);
    }
    num2 = num * num;
    return member;
}

// Whether a test in single precision is settled: cov^2 > bound var + slack, all errors counted, and var - cov^2, which
// is var (1 - r^2), surely above VARIANCE_ERROR, so that both factors are far above the floor. (v is VARIANCE_ERROR too
// large, and the variance off by as much again.) A NaN fails.
DEVICE bool settled(const float num2, const float v, const float bound, const float slack) {
    return (num2 > fmaf(bound, v, slack)) & (v - num2 > slack + 3.0f * VARIANCE_ERROR);
}

// The tests of a suffix in single precision, for `sweep`: of targets whose rows lie anywhere in M.
template <int T>
struct InRow {
    const Quick<T>& q;
    const Targets& ts;
    // Whether the test of target t is settled at once, or t is a member of the suffix.
    DEVICE bool passes(const int t) const {
        const QuickTarget y = ts.quick[t];
        float num2, v;
        const bool member = test_quickly(q, y, num2, v);
        return member | settled(num2, v, __uint_as_float(y.bound), q.slack);
    }
    // Whether t is a target of the suffix, if it does not pass.
    DEVICE bool tests(const int) const { return true; }
};

// Tests the lane's suffix, of this number if it is `valid`, against the targets 0 .. count - 1. Whole warp. quick: an
// InRow, or another type with its functions; exact() returns the suffix for tests in double precision. H targets per
// turn give independent chains of operations and one vote. A member of the suffix is no target of it. A test that
// does not pass is `open`, unless a set of lower rank is known to separate its target: similar sets mostly do so, too.
template <int T, int H, bool ILL, typename Quickly, typename Exact>
DEVICE void sweep(const Level& lv, const CanonicalInput& w, const Quickly& quick, const Exact exact, const Targets& ts,
                  const int count, const Covariances& M, const unsigned number, const bool valid) {
    static_assert(H <= PADDING + 1, "");
    for (int t = 0; t < count; t += H) {
        bool ok[H], all = true;
        UNROLL
        for (int h = 0; h < H; ++h) {
            ok[h] = quick.passes(t + h);
            all = all & ok[h];
        }
        if (!__any_sync(FULL, !all & valid)) continue;
        unsigned open = 0, todo = 0;  // a bit for each of the H targets; of the lane, and of the warp
        UNROLL
        for (int h = 0; h < H; ++h) {
            const bool mine = !ok[h] && valid && t + h < count && quick.tests(t + h) && undecided(ts, t + h, number);
            open |= (unsigned)mine << h;
            todo |= (unsigned)(__any_sync(FULL, mine) != 0) << h;
        }
        if (!todo) continue;
        const Suffix<T> f = exact();
        for (; todo; todo &= todo - 1) {
            const int h = __ffs((int)todo) - 1;
            decide<T, ILL>(lv, w, f, ts, t + h, open >> h & 1, moments_of(f, ts, M, t + h));
        }
    }
}

// Cell `at` of M: the covariance of positions a and b.
struct Cell {
    int at, a, b;
};

// Fills cell(0) .. cell(cells - 1) of M, four per thread at a time, so that their loads are under way together. Whole
// block.
template <typename CellOf>
DEVICE void fill_cells(const Row& row, const Covariances& M, const int cells, const CellOf cell) {
    for (int i0 = threadIdx.x; i0 < cells; i0 += 4 * blockDim.x) {
        Cell to[4];
        double r[4];
        UNROLL
        for (int k = 0; k < 4; ++k) {
            to[k] = cell(min(i0 + k * (int)blockDim.x, cells - 1));
            r[k] = row.correlation(to[k].a, to[k].b);
        }
        UNROLL
        for (int k = 0; k < 4; ++k)
            if (i0 + k * (int)blockDim.x < cells) M.set(to[k].at, given(row, to[k].a, to[k].b, r[k]));
    }
}

// L D L' of the suffix's block of M, and x's forward substitution. Row c of M belongs to the position of its column c,
// row `xrow` to x; vx is var(x | P).
template <int T>
DEVICE void factorise(Suffix<T>& f, const Covariances& M, const int pitch, const int xrow, const double vx) {
    double a[T * (T - 1) / 2 + 1], ux[T];
    f.vx = vx;
    UNROLL
    for (int i = 0; i < T; ++i) {
        const int row = f.s[i] * pitch;
        double dd = M[row + f.s[i]];
        ux[i] = M[xrow * pitch + f.s[i]];
        UNROLL
        for (int j = 0; j < i; ++j) {
            double v = M[row + f.s[j]];
            UNROLL
            for (int k = 0; k < j; ++k) v = fma(-a[i * (i - 1) / 2 + k], f.L[j * (j - 1) / 2 + k], v);
            a[i * (i - 1) / 2 + j] = v;
            f.L[i * (i - 1) / 2 + j] = v * f.inv[j];
        }
        UNROLL
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
    if (!f.sound) f.vx = nan_value();
}
