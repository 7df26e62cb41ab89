// level1.cu -- level 1 with a matrix of correlations for each row (common/pairs.cuh): for each ordered pair, runs along
//   the candidates until the first separating one. All numbers of a row lie side by side, so double precision will do.
//   Reads   g.C, g.start, g.column, g.source, g.place, g.G
//   Writes  g.best (the rank of {k} is its position in adj(x)), g.least, g.G (GONE_A), lv.counters->doubtful
#define ROW_MATRICES
#include "common/warp.cuh"
#include "schur/given_one.cuh"

// Tests pair e = (x, y) until the first separating candidate; returns the doubtful tests of this lane. One warp, its
// lanes 32 consecutive neighbours k of x.
//   cx, cy  correlations of x, and of y, with the neighbours of x, by place
DEVICE unsigned test_pair(const Graph& g, const Level& lv, const i64 e, const int x, const double* cx,
                          const double* cy) {
    const int lane = threadIdx.x & 31, y = g.column[e];
    if (!__any_sync(FULL, is_of_side(g, e, x, y, x > y))) return 0;
    const i64 e0 = g.start[x];
    const int d = (int)(g.start[x + 1] - e0);
    const double xy = cx[g.place[e]];
    double least = from_bits(g.least[e]);
    unsigned hits = 0, doubtful = 0;
    for (int k0 = 0; k0 < d && !hits; k0 += 32) {
        const i64 at = e0 + k0 + lane;
        const bool in = k0 + lane < d && at != e;
        Test v = {1.0, 0.0, true, false, false};
        if (in) v = test(lv, xy, cx[g.place[at]], cy[g.place[at]]);
        doubtful += !v.certain;
        if (in && !v.separates && v.num2 < least * v.den) least = v.num2 / v.den;
        hits = __ballot_sync(FULL, v.separates);
        if (hits && lane == 0) report_separated(g, e, x, y, (u64)(k0 + __ffs((int)hits) - 1));
    }
    for (int o = 16; o; o >>= 1) least = fmin(least, __shfl_xor_sync(FULL, least, o));
    if (lane == 0) g.least[e] = bits(least);
    return doubtful;
}

// All rows but those of hubs.
//   Work    a warp per pair
//   Launch  any grid and block
//   pairs   E
extern "C" __global__ void level1_rows(const Graph g, const Level lv, const i64 pairs) {
    const i64 warps = ((i64)gridDim.x * blockDim.x) >> 5;
    unsigned doubtful = 0;
    for (i64 e = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5; e < pairs; e += warps) {
        if (__any_sync(FULL, *lv.stop != 0)) break;
        const int x = g.source[e];
        if (!has_matrix(g, x)) continue;
        const i64 pitch = pitch_of(g, x);
        const double* C = matrix_of(g, x);
        doubtful += test_pair(g, lv, e, x, C + place_of_row(g, x) * pitch, C + g.place[e] * pitch);
    }
    doubtful = sum_over_warp(doubtful);
    if ((threadIdx.x & 31) == 0 && doubtful) atomicAdd(&lv.counters->doubtful, (u64)doubtful);
}

// Some pairs of a hub x: of its neighbours at positions first .. first + count - 1.
//   Work    a warp per pair
//   Launch  any grid and block
//   stripe  as stripe_of_hub in sieve/lists.cu has it, instead of g.C
extern "C" __global__ void level1_stripe(const Graph g, const Level lv, const double* stripe, const int x,
                                         const int first, const int count) {
    const int warps = (int)(gridDim.x * blockDim.x) >> 5;
    const i64 width = g.start[x + 1] - g.start[x] + 1;
    unsigned doubtful = 0;
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x) >> 5; i < count; i += warps) {
        if (__any_sync(FULL, *lv.stop != 0)) break;
        doubtful += test_pair(g, lv, g.start[x] + first + i, x, stripe + count * width, stripe + i * width);
    }
    doubtful = sum_over_warp(doubtful);
    if ((threadIdx.x & 31) == 0 && doubtful) atomicAdd(&lv.counters->doubtful, (u64)doubtful);
}
