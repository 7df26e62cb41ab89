// level1.cu -- level 1 of every engine's schur walk: for each pair run along k until the first separating one.
//   Work    one warp a pair e = (x, y); lanes are 32 consecutive candidates k of adj(x)
//   Launch  grid ceil(E / 64), block 256: each warp takes 8 consecutive pairs, so C[x, .] and adj(x) stay in L1
//   side 0: pairs x < y; side 1: pairs x > y that side A left. best[e] = position of k in adj(x).
//   Fast test without division; whatever it cannot be certain of goes to pcalg's literal formula (cheap at level 1).
#include "engine.cuh"

extern "C" __global__ void __launch_bounds__(256) level1(const Graph g, const Level lv, const i64 pairs, const int side) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const i64 first = (i64)blockIdx.x * 64 + warp * 8;
    unsigned careful = 0;
    // Which of the eight pairs are to be tested: eight lanes look at once, so that a dead pair costs no trip to memory.
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
        const int d = (int)(g.start[x + 1] - start);
        const int* adj = g.column + start;
        const double* cx = g.C + (i64)x * g.p;
        const double* cy = g.C + (i64)y * g.p;
        const double xy = cx[y];
        const double old = from_bits(g.least[e]);
        double least = old;
        u64 found = NOT_SEPARATED;
        // The first 32 candidates alone (most pairs end there), then 64 a turn so that more loads are under way.
        for (int k0 = 0; k0 < d && found == NOT_SEPARATED;) {
            const int turns = k0 ? 2 : 1;
            int k[2];
            double xk[2], yk[2];
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int at = k0 + 32 * h + lane;
                k[h] = h < turns && at < d ? adj[at] : y;
            }
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                xk[h] = k[h] != y ? cx[k[h]] : 0.0;
                yk[h] = k[h] != y ? cy[k[h]] : 0.0;
            }
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                if (h >= turns || found != NOT_SEPARATED) break;
                const double num = fma(-xk[h], yk[h], xy), vx = fma(-xk[h], xk[h], 1.0), vy = fma(-yk[h], yk[h], 1.0);
                const double num2 = num * num, den = vx * vy;
                const bool sure = num2 < ONE_MINUS_FLOOR * den && vx > PIVOT_FLOOR && vy > PIVOT_FLOOR;
                bool in = false;
                if (k[h] != y && !(sure && num2 > fmax(least, lv.sure_out) * den)) {
                    if (sure && num2 < lv.sure_in * den) {
                        in = true;
                    } else {
                        const double r = fabs(correlation_given_one(xy, xk[h], yk[h]));
                        in = r <= lv.cutoff;
                        careful += !(sure && num2 > lv.sure_out * den);
                        if (!in) least = fmin(least, r * r);
                    }
                }
                const unsigned m = __ballot_sync(FULL, in);
                if (m) found = (u64)(k0 + 32 * h + __ffs((int)m) - 1);
            }
            k0 += 32 * turns;
        }
        if (found != NOT_SEPARATED) {
            if (lane == 0) {
                g.best[e] = found;
                if (side == 0) g.G[(i64)x * g.p + y] = g.G[(i64)y * g.p + x] = GONE_A;
            }
        } else {
            for (int o = 16; o; o >>= 1) least = fmin(least, __shfl_xor_sync(FULL, least, o));
            if (lane == 0 && least < old) g.least[e] = bits(least);
        }
    }
    careful = sum_over_warp(careful);
    if (lane == 0 && careful) atomicAdd(lv.careful, (u64)careful);
}
