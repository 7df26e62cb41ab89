// cupc.cuh -- common to cuPC-E and cuPC-S: the algorithms of Zarebavani et al. (2020), IEEE TPDS 31(3), made exact.
//   The separating set that is kept is the first by rank, not the first that a thread happens to find.
//   * Rows are the rows of the paper's A', the neighbour lists of the graph at the start of the level. A row lies in
//     shared memory where it fits; subsets are unranked one by one.
//   * Sides: one launch tests side A (0), the next one the pairs of side B (1) that side A left, which G tells (the
//     paper's edge-removal monitoring).
//   * Exactness: a thread that separates a pair offers the rank of its set by a 64-bit atomicMin, and a thread whose
//     rank is already beaten stops.
//   * Early termination: I, rows and pairs without work are skipped before anything is loaded; II, the threads of a
//     pair stop once a set of lower rank than theirs separates it; III (cuPC-S), a row stops when no pair is left.
//   * A resident block takes virtual blocks (the paper's blocks) from a ticket counter, so that only resident threads
//     need work space for the canonical formula.
//   * Template argument L > 0: the level, with loops unrolled; L < 0: any level up to -L, with plain loops.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"
#include "cupc/factor.cuh"

constexpr int POLL = 255;  // sets between two looks at the stop flag
constexpr u64 NO_BLOCK = ~0ULL;

template <int L>
constexpr int MAX_LEVEL = L > 0 ? L : -L;

// Takes the next virtual block; NO_BLOCK if none is left or the stop flag is set. Whole block; slot: in shared memory.
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

// Decides a test that the caller's quick comparison did not. Returns true if x and y are independent; r2 receives r^2
// if they are dependent.
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
        r = fabs(partial_correlation(g.C, g.p, x, y, S, lv.level, work, 1));
    }
    r2 = r * r;
    return r <= lv.cutoff;
}
