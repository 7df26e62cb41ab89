// level1.cu -- level 1 of the engine "gpu": for each edge, runs along the candidates k until the first separating one.
//   Work    a warp takes 32 consecutive pairs, one per lane, and tests those (x, y) with x < y. The pairs of a row
//           share adj(x) and row x of C: the warp goes through the candidates, 32 at a time, one per lane, and tests
//           them for all pairs that are left. For a pair that no neighbour of x separates it goes on with side B, the
//           neighbours of y. The time for 32 pairs varies a thousandfold, so all warps take theirs from one counter.
//   Launch  persistent grid, block 32 * WARPS
//   Reads   g.C, g.start, g.column, g.source, g.G, g.least, adjacent
//   Writes  g.best (the rank of {k} is its position in adj(x)), g.least, g.G (GONE_A), lv.counters->doubtful,
//           ->handed_out[0]
//   adjacent  [p, ceil(p/32)] uint32, the graph as bits; list_neighbours writes it
//   pairs     E
//   mirrored  1: C differs from its transpose in the last bits at most (1e-15), and cutoff >= 1e-4. Then a neighbour of
//             both x and y need not be tested on side B, unless some test of side A was close, see Test::close
//   The fast formula needs no division. Doubtful tests go to the canonical formula, which is one line at level 1.
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"

constexpr int WARPS = 8;
// Where 1 - r_xk^2 and 1 - r_yk^2 are above this, changes of 1e-15 in C change r by less than 1e-10.
constexpr double WELL_ABOVE = 1e-4;

// The test of x and y given k.
struct Test {
    double num2, den;  // r^2 = num2 / den
    bool certain;      // the fast formula has decided it; otherwise it is doubtful
    bool separates;
    bool close;  // the same test on side B, where the last bits of C differ, might be decided otherwise
};

DEVICE Test test(const Level& lv, const double xy, const double xk, const double yk) {
    Test t;
    const double num = fma(-xk, yk, xy), vx = fma(-xk, xk, 1.0), vy = fma(-yk, yk, 1.0);
    t.num2 = num * num;
    t.den = vx * vy;
    const bool sound = t.num2 < ONE_MINUS_FLOOR * t.den && vx > PIVOT_FLOOR && vy > PIVOT_FLOOR;
    t.separates = sound && t.num2 < lv.sure_in * t.den;
    t.certain = t.separates || (sound && t.num2 > lv.sure_out * t.den);
    t.close = !(t.certain && vx > WELL_ABOVE && vy > WELL_ABOVE);
    if (!t.certain) {
        const double r = fabs(correlation_given_one(xy, xk, yk));
        t.separates = r <= lv.cutoff;
        t.num2 = r * r;
        t.den = 1.0;
    }
    return t;
}

DEVICE double min_over_warp(double v) {
    for (int o = 16; o; o >>= 1) v = fmin(v, __shfl_xor_sync(FULL, v, o));
    return v;
}

// A lane's pair (x, y).
struct Pairs {
    int y;
    double xy, least;  // correlation of x and y; smallest r^2 of its tests
    int found;         // position of the first separating candidate in adj(x), -1 without one
    bool close;        // some test was close
};

// Side A of the pairs of row x, which the lanes in `group` have; returns the lanes whose pairs no candidate separates.
// One warp.
DEVICE unsigned run_along(const Graph& g, const Level& lv, const int x, unsigned group, Pairs& mine,
                          unsigned& doubtful) {
    const int lane = threadIdx.x & 31;
    const i64 start = g.start[x];
    const int d = (int)(g.start[x + 1] - start);
    const int* adj = g.column + start;
    const double* cx = g.C + (i64)x * g.p;
    int k = lane < d ? adj[lane] : -1, next_k = 32 + lane < d ? adj[32 + lane] : -1;
    double xk = k >= 0 ? cx[k] : 0.0;
    for (int k0 = 0; k0 < d && group; k0 += 32) {
        const double next_xk = next_k >= 0 ? cx[next_k] : 0.0;  // loads for later turns start early
        const int later_k = k0 + 64 + lane < d ? adj[k0 + 64 + lane] : -1;
        for (unsigned todo = group; todo;) {
            int q[4], y[4];
            double yk[4];
            UNROLL
            for (int h = 0; h < 4; ++h) {
                q[h] = todo ? __ffs((int)todo) - 1 : -1;
                todo &= todo - 1;
                y[h] = __shfl_sync(FULL, mine.y, max(q[h], 0));
                yk[h] = q[h] >= 0 && k >= 0 ? g.C[(i64)y[h] * g.p + k] : 0.0;
            }
            UNROLL
            for (int h = 0; h < 4; ++h) {
                if (q[h] < 0) break;
                const double xy = __shfl_sync(FULL, mine.xy, q[h]), least = __shfl_sync(FULL, mine.least, q[h]);
                Test t = {1.0, 0.0, true, false, false};
                if (k >= 0 && k != y[h]) t = test(lv, xy, xk, yk[h]);
                doubtful += !t.certain;
                const unsigned hits = __ballot_sync(FULL, t.separates);
                if (hits) {
                    group &= ~(1u << q[h]);
                    if (lane == q[h]) mine.found = k0 + __ffs((int)hits) - 1;
                    continue;
                }
                if (__any_sync(FULL, t.close) && lane == q[h]) mine.close = true;
                const bool weaker = t.num2 < least * t.den;
                if (__any_sync(FULL, weaker)) {
                    const double smallest = min_over_warp(weaker ? t.num2 / t.den : least);
                    if (lane == q[h]) mine.least = smallest;
                }
            }
        }
        k = next_k;
        xk = next_xk;
        next_k = later_k;
    }
    return group;
}

// Position of v in an ascending list [n] that contains it.
DEVICE int position(const int* list, const int n, const int v) {
    int low = 0, high = n;
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (list[middle] <= v) low = middle;
        else high = middle;
    }
    return low;
}

// Side B of the edge x - y, x < y: the candidates are the neighbours of y, with `skip` only those that are no
// neighbours of x. Lowers `least` to the smallest r^2. One warp; some: [1024] in shared memory, candidates of 32 words
// of bits.
DEVICE void side_b(const Graph& g, const Level& lv, const unsigned* adjacent, const int x, const int y, const bool skip,
                   double& least, unsigned& doubtful, unsigned short* some) {
    const int lane = threadIdx.x & 31, words = (int)(g.p + 31) / 32;
    const unsigned *of_x = adjacent + (i64)x * words, *of_y = adjacent + (i64)y * words;
    const double *cx = g.C + (i64)x * g.p, *cy = g.C + (i64)y * g.p;
    const double yx = cy[x];
    for (int w0 = 0; w0 < words; w0 += 32) {
        const int w = w0 + lane;
        unsigned bits = w < words ? of_y[w] : 0u;
        if (skip && w < words) bits &= ~of_x[w];
        if (w == x >> 5) bits &= ~(1u << (x & 31));
        const int count = __popc(bits), upto = scan_over_warp(count), total = __shfl_sync(FULL, upto, 31);
        __syncwarp();  // all lanes have read what was in `some`
        for (int at = upto - count; bits; bits &= bits - 1)
            some[at++] = (unsigned short)(32 * lane + __ffs((int)bits) - 1);
        __syncwarp();
        for (int t = 0; t < total; t += 32) {
            const bool in = t + lane < total;
            const int k = 32 * w0 + (in ? some[t + lane] : 0);
            Test v = {1.0, 0.0, true, false, false};
            if (in) v = test(lv, yx, cy[k], cx[k]);
            doubtful += !v.certain;
            const unsigned hits = __ballot_sync(FULL, v.separates);
            if (hits) {
                const int first = __shfl_sync(FULL, k, __ffs((int)hits) - 1);
                if (lane == 0) {
                    const i64 start = g.start[y];
                    const int* adj = g.column + start;
                    const int d = (int)(g.start[y + 1] - start);
                    report_separated(g, start + position(adj, d, x), y, x, (u64)position(adj, d, first));
                }
                return;
            }
            const bool weaker = v.num2 < least * v.den;
            if (__any_sync(FULL, weaker)) least = min_over_warp(weaker ? v.num2 / v.den : least);
        }
    }
}

// Tests the edges x - y, x < y, among 32 consecutive pairs; e is the lane's pair. One warp.
DEVICE void run_pairs(const Graph& g, const Level& lv, const unsigned* adjacent, const i64 e, const i64 pairs,
                      const bool mirrored, unsigned& doubtful, unsigned short* some) {
    const int lane = threadIdx.x & 31;
    const int x = e < pairs ? g.source[e] : 0;
    Pairs mine = {e < pairs ? g.column[e] : 0, 0.0, 0.0, -1, false};
    const bool there = e < pairs && x < mine.y && g.G[(i64)x * g.p + mine.y] == LIVE;
    double old = 0.0;
    if (there) {
        mine.xy = g.C[(i64)x * g.p + mine.y];
        mine.least = old = from_bits(g.least[e]);
    }
    for (unsigned todo = __ballot_sync(FULL, there); todo;) {
        const int row = __shfl_sync(FULL, x, __ffs((int)todo) - 1);
        const unsigned group = __ballot_sync(FULL, there && x == row);
        todo &= ~group;
        unsigned left = run_along(g, lv, row, group, mine, doubtful);
        if ((group >> lane & 1) && mine.found >= 0) report_separated(g, e, x, mine.y, (u64)mine.found);
        for (; left; left &= left - 1) {
            const int q = __ffs((int)left) - 1;
            const int y = __shfl_sync(FULL, mine.y, q);
            const bool skip = mirrored && !__shfl_sync(FULL, (int)mine.close, q);
            double least = __shfl_sync(FULL, mine.least, q);
            side_b(g, lv, adjacent, row, y, skip, least, doubtful, some);
            if (lane == q) mine.least = least;
        }
    }
    if (there && mine.found < 0 && mine.least < old) g.least[e] = bits(mine.least);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 4)
    level1(const Graph g, const Level lv, const unsigned* adjacent, const i64 pairs, const int mirrored) {
    __shared__ unsigned short candidates[WARPS][1024];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned doubtful = 0;
    while (true) {
        u64 ticket = 0;
        if (lane == 0) ticket = *lv.stop ? ~0ULL >> 6 : atomicAdd(&lv.counters->handed_out[0], 1ULL);
        const i64 first = (i64)(32 * __shfl_sync(FULL, ticket, 0));
        if (first >= pairs) break;
        run_pairs(g, lv, adjacent, first + lane, pairs, mirrored != 0, doubtful, candidates[warp]);
    }
    doubtful = sum_over_warp(doubtful);
    if (lane == 0 && doubtful) atomicAdd(&lv.counters->doubtful, (u64)doubtful);
}
