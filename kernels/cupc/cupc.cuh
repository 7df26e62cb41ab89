// cupc.cuh -- what cuPC-E and cuPC-S share: Zarebavani et al. (2020), IEEE TPDS 31(3), made exact. The separating set
//   that is kept is the first in pcalg's order, not the first that a thread happens to find.
//   Rows: neighbour lists A' of the graph at the start of the level, one row in shared memory; subsets are unranked on
//   the fly.
//   Sides: side 0 tests the pairs x < y, side 1 the pairs x > y that side 0 left (edge-removal monitoring, through G).
//   Exact: a thread that separates a pair offers the rank of its set by a 64-bit atomicMin, and a thread whose rank is
//   already beaten stops.
//   Early termination: I, a pair without work is skipped before anything is loaded; II, the threads of a pair stop when
//   it is separated below their rank; III, a row stops when none of its pairs is left.
//   A virtual block (the paper's block) is taken by a resident block from a ticket counter, so that the work space of
//   the canonical formula is bounded.
//   Template argument L > 0: the level, unrolled; L < 0: levels up to -L, in loops.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"
#include "cupc/factor.cuh"

constexpr int POLL = 255;  // sets between two looks at the stop flag
constexpr u64 NO_BLOCK = ~0ULL;

template <int L>
constexpr int MAX_LEVEL = L > 0 ? L : -L;

// Next virtual block, for the whole block; NO_BLOCK at the end.
DEVICE u64 next_block(const Level& lv, const Shape& sh, u64* slot) {
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        const u64 t = *lv.stop ? NO_BLOCK : atomicAdd(&lv.counters->handed_out[sh.side], 1ULL);
        *slot = t < sh.blocks ? t : NO_BLOCK;
        if (t == 0) lv.counters->items[0] = lv.counters->items[1] = sh.blocks;
    }
    __syncthreads();
    return *slot;
}

// A test of x and y given S: squared covariance, product of the variances, and whether all pivots are above the floor.
struct Moments {
    double num2, den;
    bool sound;
};

// |r| by the canonical formula. Not inlined, except at level 1, where the formula is one line. s: variables.
__device__ __noinline__ double canonical_r(const Graph& g, const Level& lv, const int x, const int y, const int* s,
                                           double* work) {
    return fabs(partial_correlation(g.C, g.p, x, y, s, lv.level, work, 1));
}

// Decides a test that was not settled at once. Independent: true. Dependent: false, and r2 receives its r^2.
template <int L>
DEVICE bool decide(const Graph& g, const Level& lv, const Moments& m, const int x, const int y, const int* s,
                   double* work, double& r2) {
    if (m.sound && m.num2 > lv.sure_out * m.den) {
        r2 = m.num2 / m.den;
        return false;
    }
    if (m.sound && m.num2 < lv.sure_in * m.den) return true;
    atomicAdd(&lv.counters->doubtful, 1ULL);
    double r;
    if constexpr (L == 1) {
        const double *cx = g.C + x * g.p, *cy = g.C + y * g.p;
        r = fabs(correlation_given_one(cx[y], cx[s[0]], cy[s[0]]));
    } else {
        int S[MAX_LEVEL<L>];  // in memory for the call, so that s itself stays in registers
        for (int i = 0; i < (L > 0 ? L : lv.level); ++i) S[i] = s[i];
        r = canonical_r(g, lv, x, y, S, work);
    }
    r2 = r * r;
    return r <= lv.cutoff;
}
