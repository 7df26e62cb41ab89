// sweep.cuh -- the Schur walk (engine "gpu"): tests of levels >= 2, each in a dozen operations whatever the level.
//
//   Row x has its neighbours at positions 0..d-1, ascending. A conditioning set S from adj(x) serves every target y of
//   the row at once, so one walk over the subsets of adj(x) tests the pairs of both sides.
//   S = prefix + suffix: the prefix P is the first level - T members, the suffix the last T. M, the covariance matrix
//   given P, lies in shared memory. A lane owns one suffix s, factorises the T x T block of M of its members (L D L')
//   in registers, and then runs over the targets y, for which conditioning on the suffix is one forward substitution:
//       u_i = M_y,s_i - sum_k L_ik u_k     var(y|S) = M_yy - sum u_i^2 / D_i     cov(x,y|S) = M_xy - sum u_i gx_i
//   All lanes look at the same y: its scalars are broadcasts, and consecutive suffixes differ in the last member, so
//   the loads from a row of M are consecutive.
//   Order: prefixes and suffixes are lexicographic, so the rank of S grows along the walk. A separating set offers its
//   rank by a 64-bit atomicMin, and a target that a set of lower rank separates is dropped. So the smallest rank
//   remains.
//   A test is settled at once if r^2 > bound_y = max(sure_out, smallest r^2 of y so far) and all pivots are above the
//   floor. Everything else is rare and goes to `settle`: a new smallest r^2, a separating set, or a doubtful test.
#pragma once
#include "canonical/partial_correlation_small.cuh"
#include "schur/conditioning.cuh"

constexpr unsigned NO_CUT = ~0u;  // cut[t]: no suffix of this prefix has separated target t

// Targets of one prefix, an entry of each array per target, in shared memory.
struct Targets {
    double2* moment;  // {cov(x, y | P), var(y | P)}
    double* bound;    // r^2 above which a test is settled at once
    u64* least;       // bits of the smallest r^2 so far
    int2* where;      // {offset of y's row in M, y's position counted from that of column 0 of M}
    int* position;    // position of y in adj(x)
    unsigned* cut;    // number of the first separating suffix, or NO_CUT
};

// Shared memory that is still free.
struct Free {
    char* at;
    template <class N>
    DEVICE N* take(const int n) {
        N* const taken = (N*)at;
        at += n * sizeof(N);
        return taken;
    }
};

// Room for n targets: 48 n bytes.
DEVICE Targets take_targets(Free& free, const int n) {
    Targets ts;
    ts.moment = free.take<double2>(n);
    ts.bound = free.take<double>(n);
    ts.least = free.take<u64>(n);
    ts.where = free.take<int2>(n);
    ts.position = free.take<int>(n);
    ts.cut = free.take<unsigned>(n);
    return ts;
}

// A lane's suffix.
template <int T>
struct Suffix {
    double L[T * (T - 1) / 2], inv[T], gx[T], vx;  // L, 1 / D, the x column of L^-1 M divided by D; var(x | S)
    int s[T], at[T];                               // columns of M, ascending; positions counted from that of column 0
    unsigned number;                               // grows with the rank, within the prefix
    bool valid, sound;                             // the lane has a suffix of its own; all pivots are above the floor
};

// What doubtful tests need besides their suffixes; in shared memory, for the block.
struct Place {
    const double* C;         // [p, p] correlations
    const int* ids;          // [d + 1] variables of the row's positions
    const int* prefix;       // [q] positions of the prefix
    double* work;            // work space of the canonical formula for all warps of the block
    i64 p;                   // number of variables
    int x, q, first, slots;  // row; size of the prefix; position of column 0 of M; lanes of a warp with work space
};

// Fills what holds for all rows; one thread.
DEVICE void place_block(Place& w, const Graph& g, const Level& lv, const int* prefix, const int q) {
    w.C = g.C;
    w.p = g.p;
    w.prefix = prefix;
    w.q = q;
    w.slots = lv.slots;
    w.work = lv.work + (i64)blockIdx.x * (blockDim.x >> 5) * lv.slots * canonical_doubles(lv.level);
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
__device__ __noinline__ double doubtful(const Place* w, const int y, u64 suffix, const int size, const int slot) {
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
    if (bits(r2) < atomicMin(&ts.least[t], bits(r2))) atomicMin((u64*)&ts.bound[t], bits(fmax(r2, lv.sure_out)));
}

// Decides the tests of target t that were not settled at once, one in each lane with `open`. Whole warp.
template <int T, bool ILL>
DEVICE void settle(const Level& lv, const Place& w, const Suffix<T>& f, const Targets& ts, const int t, bool open,
                   const Moments& m) {
    open = open && f.valid && f.number < *(volatile unsigned*)&ts.cut[t];
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
        if (doubt && slot >= 0 && slot < lv.slots && f.number < *(volatile unsigned*)&ts.cut[t]) {
            const double r = doubtful<ILL>(&w, w.ids[ts.position[t]], packed(f), T, slot);
            atomicAdd(&lv.counters->doubtful, 1ULL);
            if (r <= lv.cutoff) atomicMin(&ts.cut[t], f.number);
            else note_dependent(lv, ts, t, r * r);
        }
        __syncwarp();
    }
}

// Tests the lane's suffix against the targets 0 .. count - 1; `lowest` is the smallest suffix number of the warp. Whole
// warp. H targets per turn give independent chains of operations and one vote. 1 - r^2 and var(y | S) are compared with
// the floor by their high words, as integers, which spares the float64 unit: high words that differ by 2 mean
// 1 - r^2 > 4e-7. A NaN fails the float64 comparison.
template <int T, int H, bool ILL>
DEVICE void sweep(const Level& lv, const Place& w, const Suffix<T>& f, const Targets& ts, const int count,
                  const double* __restrict__ M, const unsigned lowest) {
    constexpr int FLOOR_WORD = 0x3e112e0c;  // high word of 1.0000001e-9: what is above it is above PIVOT_FLOOR
    for (int t = 0; t < count; t += H) {
        Moments moments[H];
        bool ok[H], all = true;
        UNROLL
        for (int h = 0; h < H; ++h) {
            const int tt = min(t + h, count - 1);
            const int2 where = ts.where[tt];
            const double* row = M + where.x;
            const double2 moment = ts.moment[tt];
            const double bound = ts.bound[tt];
            double u[T], num = moment.x, v = moment.y;
            bool member = false;
            UNROLL
            for (int i = 0; i < T; ++i) {
                u[i] = row[f.s[i]];
                member = member || where.y == f.at[i];
                UNROLL
                for (int k = 0; k < i; ++k) u[i] = fma(-f.L[i * (i - 1) / 2 + k], u[k], u[i]);
                num = fma(-u[i], f.gx[i], num);
                v = fma(-u[i] * f.inv[i], u[i], v);
            }
            const double den = f.vx * v, num2 = num * num;  // vx is NaN where the suffix is not sound
            moments[h] = {num2, den, v};
            ok[h] = member || (num2 > bound * den && __double2hiint(den) - __double2hiint(num2) >= 2 &&
                               __double2hiint(v) > FLOOR_WORD);
            all = all && ok[h];
        }
        if (__any_sync(FULL, !all && f.valid)) {
            UNROLL
            for (int h = 0; h < H; ++h)
                if (t + h < count && lowest < ts.cut[t + h]) settle<T, ILL>(lv, w, f, ts, t + h, !ok[h], moments[h]);
        }
    }
}

// L D L' of the suffix's block of M, and x's forward substitution. Row c of M belongs to the position of its column c,
// row `xrow` to x; vx is var(x | P).
template <int T>
DEVICE void factorise(Suffix<T>& f, const double* M, const int pitch, const int xrow, const double vx) {
    double a[T * (T - 1) / 2 + 1], ux[T];
    f.vx = vx;
    UNROLL
    for (int i = 0; i < T; ++i) {
        const double* row = M + f.s[i] * pitch;
        double dd = row[f.s[i]];
        ux[i] = M[xrow * pitch + f.s[i]];
        UNROLL
        for (int j = 0; j < i; ++j) {
            double v = row[f.s[j]];
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
