// level1_rows.cu -- level 1 with a matrix of correlations for each row (common/pairs.cuh): for each ordered pair, runs along
//   the candidates until the first separating one. All numbers of a row lie side by side, so double precision will do.
#define ROW_MATRICES
#include "common/warp.cuh"
#include "schur/given_one.cuh"

//   Work    a warp per pair (x, y), its lanes 32 consecutive neighbours k of x
//   Launch  any grid and block
//   Reads   g.C, g.start, g.column, g.source, g.place, g.G
//   Writes  g.best (the rank of {k} is its position in adj(x)), g.least, g.G (GONE_A), lv.counters->doubtful
//   first, end  the pairs: all, of which the pairs of hubs are left out, or some pairs of one hub
//   stripe      null, or, for a hub, its correlations (stripe_of_hub in sieve/lists.cu)
extern "C" __global__ void level1_rows(const Graph g, const Level lv, const i64 first, const i64 end,
                                       const double* stripe) {
    const int lane = threadIdx.x & 31;
    const i64 warps = ((i64)gridDim.x * blockDim.x) >> 5;
    unsigned doubtful = 0;
    for (i64 e = first + (((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5); e < end; e += warps) {
        if (__any_sync(FULL, *lv.stop != 0)) break;
        const int x = g.source[e], y = g.column[e];
        if (!stripe && !has_matrix(g, x)) continue;
        if (!__any_sync(FULL, is_of_side(g, e, x, y, x > y))) continue;
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0);
        const double* C = stripe ? stripe : matrix_of(g, x);
        const i64 pitch = stripe ? d + 1 : pitch_of(g, x);
        const double* cx = C + (stripe ? end - first : place_of_row(g, x)) * pitch;
        const double* cy = C + (stripe ? e - first : g.place[e]) * pitch;
        const double xy = cx[g.place[e]];
        double least = from_bits(g.least[e]);
        unsigned hits = 0;
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
    }
    doubtful = sum_over_warp(doubtful);
    if (lane == 0 && doubtful) atomicAdd(&lv.counters->doubtful, (u64)doubtful);
}
