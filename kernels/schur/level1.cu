// level1.cu -- level 1 of the engine "gpu": for each pair run along the candidates k until the first separating one.
//   Work    one warp per pair (x, y); lanes are 32 consecutive candidates k of adj(x)
//   Launch  grid ceil(E / 64), block 256: each warp takes 8 consecutive pairs, so that C[x, .] and adj(x) stay in L1
//   side    0: pairs x < y; 1: pairs x > y that side 0 left
//   Reads   g.C, g.start, g.column, g.source, g.G
//   Writes  g.best (the position of k in adj(x)), g.least, g.G (GONE_A), lv.counters->doubtful
//   The fast test needs no division. What it cannot decide with certainty goes to the canonical formula, which is one
//   line at level 1.
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"

// The pair of a warp.
struct Pair {
    int y, d;               // d: neighbours of x
    const int* adj;         // [d] the neighbours
    const double *cx, *cy;  // rows x and y of C
};

// Whether k with these correlations separates the pair; otherwise `least` takes in its r^2.
DEVICE bool separates(const Level& lv, const double xy, const double xk, const double yk, double& least,
                      unsigned& doubtful) {
    const double num = fma(-xk, yk, xy), vx = fma(-xk, xk, 1.0), vy = fma(-yk, yk, 1.0);
    const double num2 = num * num, den = vx * vy;
    const bool sound = num2 < ONE_MINUS_FLOOR * den && vx > PIVOT_FLOOR && vy > PIVOT_FLOOR;
    if (sound && num2 > fmax(least, lv.sure_out) * den) return false;
    if (sound && num2 < lv.sure_in * den) return true;
    const double r = fabs(correlation_given_one(xy, xk, yk));
    doubtful += !(sound && num2 > lv.sure_out * den);
    if (r <= lv.cutoff) return true;
    least = fmin(least, r * r);
    return false;
}

// Position of the first candidate that separates the pair, or NOT_SEPARATED; one warp. The first 32 candidates are
// tested alone (most pairs end there), then 64 per turn, so that more loads are under way.
DEVICE u64 first_separating(const Level& lv, const Pair& pair, double& least, unsigned& doubtful) {
    const int lane = threadIdx.x & 31;
    const double xy = pair.cx[pair.y];
    u64 found = NOT_SEPARATED;
    for (int k0 = 0; k0 < pair.d && found == NOT_SEPARATED;) {
        const int turns = k0 ? 2 : 1;
        int k[2];
        double xk[2], yk[2];
        UNROLL
        for (int h = 0; h < 2; ++h) {
            const int at = k0 + 32 * h + lane;
            k[h] = h < turns && at < pair.d ? pair.adj[at] : pair.y;
        }
        UNROLL
        for (int h = 0; h < 2; ++h) {
            xk[h] = k[h] != pair.y ? pair.cx[k[h]] : 0.0;
            yk[h] = k[h] != pair.y ? pair.cy[k[h]] : 0.0;
        }
        UNROLL
        for (int h = 0; h < 2; ++h) {
            if (h >= turns || found != NOT_SEPARATED) break;
            const bool in = k[h] != pair.y && separates(lv, xy, xk[h], yk[h], least, doubtful);
            const unsigned m = __ballot_sync(FULL, in);
            if (m) found = (u64)(k0 + 32 * h + __ffs((int)m) - 1);
        }
        k0 += 32 * turns;
    }
    return found;
}

extern "C" __global__ void __launch_bounds__(256)
    level1(const Graph g, const Level lv, const i64 pairs, const int side) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 first = (i64)blockIdx.x * 64 + warp * 8;
    unsigned doubtful = 0;
    // Eight lanes look up which of the eight pairs are to be tested, so that a removed pair costs no trip to memory.
    int my_x = 0, my_y = 0;
    bool mine = false;
    if (lane < 8 && first + lane < pairs) {
        my_x = g.source[first + lane];
        my_y = g.column[first + lane];
        mine = (my_x > my_y) == side && g.G[(i64)my_x * g.p + my_y] == LIVE;
    }
    for (unsigned todo = __ballot_sync(FULL, mine); todo; todo &= todo - 1) {
        const int which = __ffs((int)todo) - 1;
        const i64 e = first + which;
        const int x = __shfl_sync(FULL, my_x, which), y = __shfl_sync(FULL, my_y, which);
        const i64 start = g.start[x];
        const Pair pair = {y, (int)(g.start[x + 1] - start), g.column + start, g.C + (i64)x * g.p, g.C + (i64)y * g.p};
        const double old = from_bits(g.least[e]);
        double least = old;
        const u64 found = first_separating(lv, pair, least, doubtful);
        if (found != NOT_SEPARATED) {
            if (lane == 0) report_separated(g, e, x, y, found);
        } else {
            for (int o = 16; o; o >>= 1) least = fmin(least, __shfl_xor_sync(FULL, least, o));
            if (lane == 0 && least < old) g.least[e] = bits(least);
        }
    }
    doubtful = sum_over_warp(doubtful);
    if (lane == 0 && doubtful) atomicAdd(&lv.counters->doubtful, (u64)doubtful);
}
