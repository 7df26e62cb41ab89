// level1.cu -- level 1 of the engine "gpu": for each edge, runs along the candidates k until the first separating one.
//   Work    a warp takes 32 consecutive pairs, one per lane, and tests those (x, y) with x < y. The pairs of a row
//           share adj(x) and row x of C: the warp goes through the candidates, 32 at a time, one per lane, and tests
//           them for all pairs that are left. For a pair that no neighbour of x separates it goes on with side B, the
//           neighbours of y. The time for 32 pairs varies a thousandfold, so all warps take theirs from one counter.
//   Launch  persistent grid, block 32 * WARPS
//   Reads   g.C, g.start, g.column, g.source, g.G, g.least, adjacent, rough
//   Writes  g.best (the rank of {k} is its position in adj(x)), g.least, g.G (GONE_A), lv.counters->doubtful,
//           ->handed_out[0]
//   adjacent  [p, ceil(p/32)] uint32, the graph as bits; list_neighbours writes it
//   rough     [p, p] uint16, the codes of C, see graph/rough.cuh; level0 writes them
//   pairs     E
//   mirrored  1: C differs from its transpose in the last bits at most (1e-15), and cutoff >= 1e-4. Then a neighbour of
//             both x and y need not be tested on side B, unless some test of side A was close, see Test::close
//   A test is settled at once if, from the codes and in single precision, r^2 is surely above bound = max(sure_out,
//   smallest r^2 of the pair so far), and the test neither doubtful nor close; the others go to `decide`. Most of them
//   are surely independent, or the only one that can have the smallest r^2. The rest is made in double precision
//   (`test`): the fast formula, which needs no division, or for doubtful tests the canonical one, a line at level 1.
#include "common/warp.cuh"
#include "graph/rough.cuh"
#include "schur/given_one.cuh"
#include "schur/targets.cuh"

constexpr int WARPS = 8;

template <typename N>
DEVICE N min_over_warp(N v) {
    for (int o = 16; o; o >>= 1) v = min(v, __shfl_xor_sync(FULL, v, o));
    return v;
}

// r^2 above this is surely dependent and above `least`.
DEVICE float bound_above(const double least, const Level& lv) {
    return __uint_as_float(bound_above(bits(least), lv.sure_out));
}

// A pair (x, y), by the lane that has it.
struct Pair {
    double xy, least;  // correlation of x and y; smallest r^2 of its tests but that given `best`
    float down;        // less than or equal to the smallest of all
    int best;          // the candidate with the smallest r^2 if that has not been computed yet, else -1
    int found;         // position of the first separating candidate in adj(x), -1 without one
    bool close;        // some test was close
};

// A pair that no candidate separates so far, as the tests in single precision see it, in one load.
struct alignas(16) Live {
    int y;
    float xy, bound;  // correlation of x and y; r^2 surely above this is dependent and not the smallest
    int owner;        // lane that has the pair
};

// Shared memory of a warp.
struct WarpMemory {
    float sure_in, sure_out;  // as in Level, the first at most 1 - 1e-5
    Pair pair[32];
    Live live[32 + 3];  // so that four can be read at a time
    unsigned short candidates[1024];
};

// The state of a warp.
struct Run {
    const Graph& g;
    const Level& lv;
    const Code* rough;
    const unsigned* adjacent;
    WarpMemory& shared;
    unsigned doubtful;  // the lane's count
    int x, d;           // the row, and its degree
};

// 32 candidates of a row, one per lane; lanes beyond the end of the row repeat its last one.
struct Candidates {
    int k;
    Code of_xk;
};

// The smallest r^2 of a pair, `best` included. One lane.
DEVICE double least_of(const Graph& g, const int x, const int y, const Pair& pair) {
    if (pair.best < 0) return pair.least;
    const double xk = g.C[(i64)x * g.p + pair.best], yk = g.C[(i64)y * g.p + pair.best];
    const double num = fma(-xk, yk, pair.xy), num2 = num * num, den = fma(-xk, xk, 1.0) * fma(-yk, yk, 1.0);
    return num2 < pair.least * den ? num2 / den : pair.least;
}

// Decides the tests of a pair given 32 candidates, of which not all are settled: whether one separates it. (A test
// given y is none; the code of C_yy settles nothing.) The smallest r^2 is only computed if another test comes
// too close to it; until then `best` remembers the candidate. k0: position of the first candidate. One warp.
DEVICE bool decide(Run& run, const Candidates& c, const int k0, const Code of_yk, Live& live) {
    const Graph& g = run.g;
    const Level& lv = run.lv;
    Pair& pair = run.shared.pair[live.owner];
    const int lane = threadIdx.x & 31, x = run.x, k = c.k, y = live.y;
    const float sure_out = run.shared.sure_out, bound = live.bound;
    const RoughTest t(RoughGiven(c.of_xk), live.xy, of_yk);
    const bool none = k0 + lane >= run.d || k == y, dependent = none || t.above(sure_out);
    const bool independent = !none && t.below(run.shared.sure_in);
    bool open = !(dependent || independent);
    const bool weak = dependent && !none && !t.above(bound), doubt = __any_sync(FULL, open);
    unsigned hits = __ballot_sync(FULL, independent);
    if (!doubt && !hits) {
        if (!__any_sync(FULL, weak)) return false;
        const float most = min_over_warp(weak ? t.most() : 2.0f), down = weak ? t.least() : 2.0f;
        open = down <= most;
        const unsigned rivals = __ballot_sync(FULL, open);
        if (!(rivals & (rivals - 1)) && most < pair.down) {
            __syncwarp();  // all lanes have read pair.down
            if (open) {
                pair.best = k;
                pair.down = down;
                live.bound = max(most, sure_out);
            }
            return false;
        }
    }
    if (doubt || !hits) {
        open = open || (weak && doubt);
        Test v = {1.0, 0.0, true, false, false};
        if (open) v = test(lv, pair.xy, g.C[(i64)x * g.p + k], g.C[(i64)y * g.p + k]);
        run.doubtful += !v.certain;
        hits |= __ballot_sync(FULL, v.separates);
        if (!hits) {
            const bool close = __any_sync(FULL, v.close);
            const double so_far = least_of(g, x, y, pair);
            const double least = min_over_warp(v.num2 < so_far * v.den ? v.num2 / v.den : so_far);
            __syncwarp();
            if (lane == 0) {
                pair.close = pair.close || close;
                pair.least = least;
                pair.down = __double2float_rd(least);
                pair.best = -1;
                live.bound = bound_above(least, lv);
            }
        }
    }
    if (hits && lane == 0) pair.found = k0 + __ffs((int)hits) - 1;
    return hits != 0;
}

// Tests candidates for the pairs live[0 .. count - 1] until one separates it: the first 32, whose positions begin at
// k0, or, if `both`, all 64 for at most two pairs. Returns the pairs that are separated, as bits. One warp.
DEVICE unsigned take_turn(Run& run, const Candidates (&c)[2], const int k0, const bool both, const int count) {
    WarpMemory& shared = run.shared;
    const unsigned row_bytes = (unsigned)(sizeof(Code) * run.g.p);
    const char* const of_k = (const char*)(run.rough + c[0].k);
    const char* const of_next = (const char*)(run.rough + c[1].k);
    const RoughGiven given(c[0].of_xk);
    unsigned gone = 0;
    for (int first = 0; first < count; first += 4) {
        Code of_yk[4];
        unsigned todo = 0;  // of four pairs, or of two pairs twice: bits of the pairs with tests not settled
        if (both) {
            Live live[2];
            UNROLL
            for (int h = 0; h < 4; ++h) {
                if (h < 2) live[h] = shared.live[h];
                const u64 row = (u64)(unsigned)live[h & 1].y * row_bytes;
                of_yk[h] = h % 2 < count ? *(const Code*)((h < 2 ? of_k : of_next) + row) : 0;
            }
            const RoughGiven next(c[1].of_xk);
            UNROLL
            for (int h = 0; h < 4; ++h) {
                const RoughTest t(h < 2 ? given : next, live[h & 1].xy, of_yk[h]);
                if (__any_sync(FULL, !t.above(live[h & 1].bound)) && h % 2 < count) todo |= 1u << h;
            }
        } else {
            Live live[4];
            UNROLL
            for (int h = 0; h < 4; ++h) {
                live[h] = shared.live[first + h];
                const u64 row = (u64)(unsigned)live[h].y * row_bytes;
                of_yk[h] = first + h < count ? *(const Code*)(of_k + row) : 0;
            }
            UNROLL
            for (int h = 0; h < 4; ++h) {
                if (first + h >= count) break;
                const RoughTest t(given, live[h].xy, of_yk[h]);
                if (__any_sync(FULL, !t.above(live[h].bound))) todo |= 1u << h;
            }
        }
#pragma unroll 1  // a copy for each of the four would be too much code, and too many registers
        for (; todo; todo &= todo - 1) {
            const int h = __ffs((int)todo) - 1, at = both ? h & 1 : first + h, second = both ? h >> 1 : 0;
            if (gone >> at & 1) continue;
            const Code of_y = h & 2 ? (h & 1 ? of_yk[3] : of_yk[2]) : (h & 1 ? of_yk[1] : of_yk[0]);
            const Candidates chosen = {second ? c[1].k : c[0].k, second ? c[1].of_xk : c[0].of_xk};
            const bool hit = decide(run, chosen, k0 + 32 * second, of_y, shared.live[at]);
            gone |= (unsigned)hit << at;
            __syncwarp();  // all lanes see its writes
        }
    }
    return gone;
}

// Side A of the pairs of row x, which the lanes in `group` have; e and y: of the lane's pair. Leaves xy, found, close
// and the smallest r^2 in shared.pair. One warp.
DEVICE void run_along(Run& run, const int x, const unsigned group, const int y, const i64 e) {
    const Graph& g = run.g;
    WarpMemory& shared = run.shared;
    const int lane = threadIdx.x & 31, d = (int)(g.start[x + 1] - g.start[x]);
    const int* adj = g.column + g.start[x];
    const Code* of_x = run.rough + (i64)x * g.p;
    run.x = x;
    run.d = d;
    int count = __popc(group);
    Candidates c[2] = {{adj[min(lane, d - 1)], 0}, {adj[min(32 + lane, d - 1)], 0}};
    c[0].of_xk = of_x[c[0].k];
    if (group >> lane & 1) {
        const double xy = g.C[(i64)x * g.p + y], old = from_bits(g.least[e]);
        shared.pair[lane] = {xy, old, __double2float_rd(old), -1, -1, false};
        shared.live[lanes_before(group)] = {y, (float)xy, bound_above(old, run.lv), lane};
    }
    __syncwarp();
    for (int k0 = 0; k0 < d && count;) {
        const bool both = count <= 2;
        c[1].of_xk = of_x[c[1].k];  // loads for later turns start early
        const int third_k = adj[min(k0 + 64 + lane, d - 1)], fourth_k = both ? adj[min(k0 + 96 + lane, d - 1)] : 0;
        const unsigned gone = take_turn(run, c, k0, both, count);
        __syncwarp();
        if (gone) {  // the others move up
            const bool stays = lane < count && !(gone >> lane & 1);
            const Live live = shared.live[lane];
            const unsigned left = __ballot_sync(FULL, stays);
            __syncwarp();  // all lanes have read theirs
            if (stays) shared.live[lanes_before(left)] = live;
            count = __popc(left);
            __syncwarp();
        }
        c[0] = both ? Candidates{third_k, of_x[third_k]} : c[1];
        c[1].k = both ? fourth_k : third_k;
        k0 += both ? 64 : 32;
    }
    Pair& mine = shared.pair[lane];
    if ((group >> lane & 1) && mine.found < 0) mine.least = least_of(g, x, y, mine);
    __syncwarp();
}

// Side B of the edge x - y, x < y: the candidates are the neighbours of y, with `skip` without the neighbours of x.
// Lowers `least` to the smallest r^2. One warp, which takes 32 words of bits at a time.
DEVICE void side_b(Run& run, const int y, const bool skip, double& least) {
    const Graph& g = run.g;
    const Level& lv = run.lv;
    unsigned short* const some = run.shared.candidates;
    const int lane = threadIdx.x & 31, words = (int)(g.p + 31) / 32, x = run.x;
    const unsigned *of_x = run.adjacent + (i64)x * words, *of_y = run.adjacent + (i64)y * words;
    const double *cx = g.C + (i64)x * g.p, *cy = g.C + (i64)y * g.p;
    const Code *rough_x = run.rough + (i64)x * g.p, *rough_y = run.rough + (i64)y * g.p;
    const double yx = cy[x];
    float bound = bound_above(least, lv);
    for (int w0 = 0; w0 < words; w0 += 32) {
        const int w = w0 + lane;
        unsigned bits = w < words ? of_y[w] : 0u;
        if (skip && w < words) bits &= ~of_x[w];
        if (w == x >> 5) bits &= ~(1u << (x & 31));
        const int count = __popc(bits), upto = scan_over_warp(count), total = __shfl_sync(FULL, upto, 31);
        __syncwarp();  // all lanes have read the old contents of `some`
        for (int at = upto - count; bits; bits &= bits - 1)
            some[at++] = (unsigned short)(32 * lane + __ffs((int)bits) - 1);
        __syncwarp();
        for (int t = 0; t < total; t += 32) {
            const bool in = t + lane < total;
            const int k = 32 * w0 + (in ? some[t + lane] : 0);
            const bool open = in && !RoughTest(RoughGiven(rough_y[k]), (float)yx, rough_x[k]).above(bound);
            if (!__any_sync(FULL, open)) continue;
            Test v = {1.0, 0.0, true, false, false};
            if (open) v = test(lv, yx, cy[k], cx[k]);
            run.doubtful += !v.certain;
            const unsigned hits = __ballot_sync(FULL, v.separates);
            if (hits) {
                const int first = __shfl_sync(FULL, k, __ffs((int)hits) - 1);
                if (lane == 0) {
                    const i64 start = g.start[y];
                    const int* adj = g.column + start;
                    const int d = (int)(g.start[y + 1] - start);
                    report_separated(g, start + first_not_below(adj, d, x), y, x, (u64)first_not_below(adj, d, first));
                }
                return;
            }
            const bool weaker = v.num2 < least * v.den;
            if (__any_sync(FULL, weaker)) {
                least = min_over_warp(weaker ? v.num2 / v.den : least);
                bound = bound_above(least, lv);
            }
        }
    }
}

// Tests the edges x - y, x < y, among 32 consecutive pairs; e is the lane's pair. One warp.
DEVICE void run_pairs(Run& run, const i64 e, const i64 pairs, const bool mirrored) {
    const Graph& g = run.g;
    WarpMemory& shared = run.shared;
    const int lane = threadIdx.x & 31;
    const int x = e < pairs ? g.source[e] : 0, y = e < pairs ? g.column[e] : 0;
    const bool there = e < pairs && x < y && g.G[(i64)x * g.p + y] == LIVE;
    for (unsigned todo = __ballot_sync(FULL, there); todo;) {
        const int row = __shfl_sync(FULL, x, __ffs((int)todo) - 1);
        const unsigned group = __ballot_sync(FULL, there && x == row);
        todo &= ~group;
        run_along(run, row, group, y, e);
        const bool mine = group >> lane & 1, found = mine && shared.pair[lane].found >= 0;
        if (found) report_separated(g, e, x, y, (u64)shared.pair[lane].found);
        for (unsigned left = __ballot_sync(FULL, mine && !found); left; left &= left - 1) {
            const int q = __ffs((int)left) - 1;
            const Pair& pair = shared.pair[q];
            double least = pair.least;
            side_b(run, __shfl_sync(FULL, y, q), mirrored && !pair.close, least);
            if (lane == q && least < from_bits(g.least[e])) g.least[e] = bits(least);
        }
        __syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, 4)
    level1(const Graph g, const Level lv, const unsigned* adjacent, const Code* rough, const i64 pairs,
           const int mirrored) {
    __shared__ WarpMemory desks[WARPS];
    const int lane = threadIdx.x & 31;
    Run run = {g, lv, rough, adjacent, desks[threadIdx.x >> 5], 0, 0, 0};
    run.shared.sure_in = __double2float_rd(fmin(lv.sure_in, 1.0 - 1e-5));
    run.shared.sure_out = __double2float_ru(lv.sure_out);
    while (true) {
        u64 ticket = 0;
        if (lane == 0) ticket = *lv.stop ? ~0ULL >> 6 : atomicAdd(&lv.counters->handed_out[0], 1ULL);
        const i64 first = (i64)(32 * __shfl_sync(FULL, ticket, 0));
        if (first >= pairs) break;
        run_pairs(run, first + lane, pairs, mirrored != 0);
    }
    const unsigned doubtful = sum_over_warp(run.doubtful);
    if (lane == 0 && doubtful) atomicAdd(&lv.counters->doubtful, (u64)doubtful);
}
