// tests.cu -- tests of which only the p-value counts, by a warp each: level 0, the sets of a level, the records. The
//   kernels around them, and their order in a level, are the same as for discrete data (discrete/sets.cu,
//   discrete/data.cu).
//   Arrays: see Graph, Observed, WarpSpace, Doubtful and SetRange in common/structures.cuh.
#include "discrete/outcome.cuh"
#include "graph/record.cuh"
#include "graph/rows.cuh"
#include "missing/correlations.cuh"
#include "missing/tables.cuh"
#include "schur/work_queue.cuh"

// As in pycupc/engines/gpu/missing.py.
enum Family { IMPUTED, IMPUTED_CODES, TESTWISE, TESTWISE_CODES, PAIRWISE };

constexpr double MARGIN = 1e-6;  // p-values that near alpha, relative to it, are doubtful
constexpr int MOST_WARPS = 4;

// The variables of the tests of a warp, and its work space.
struct WarpState {
    int* members;  // [level] positions of S in adj(x)
    int* nodes;    // [level + 2] S, x, y
    double* work;
    i64 bytes;
};

// Lays out the dynamic shared memory; shape() in missing.py adds up the same.
DEVICE WarpState lay_out(uint4* memory, const WarpSpace& space, const int l) {
    const int warp = threadIdx.x >> 5, of_ints = (2 * l + 5) / 4;  // in units of 16 bytes
    int* const ints = (int*)(memory + warp * of_ints);
    const i64 number = (i64)blockIdx.x * (blockDim.x >> 5) + warp;
    char* const work = space.large ? space.large + number * space.bytes
                                   : (char*)(memory + (blockDim.x >> 5) * of_ints) + warp * space.bytes;
    return {ints, ints + l, (double*)work, space.bytes};
}

// The p-value of one test, in all lanes; NaN: the host has to make it. Whole warp.
template <int FAMILY>
DEVICE double p_of(const Observed& d, const WarpState& w, const int l) {
    __syncwarp();
    double p;
    if (FAMILY == IMPUTED) p = imputed_p(d, w.nodes, l, w.work);
    else if (FAMILY == IMPUTED_CODES) p = imputed_codes_p(d, w.nodes, l, w.work, w.bytes);
    else if (FAMILY == TESTWISE) p = testwise_p(d, w.nodes, l, w.work);
    else if (FAMILY == TESTWISE_CODES) p = testwise_codes_p(d, w.nodes, l, w.work, w.bytes);
    else p = pairwise_p(d, w.nodes, l, w.work);
    __syncwarp();
    return p;
}

DEVICE Outcome outcome_of_p(const Observed& d, const double p) {
    if (!(fabs(p - d.alpha) > MARGIN * d.alpha)) return DOUBTFUL;
    return p >= d.alpha ? INDEPENDENT : DEPENDENT;
}

// Tests all pairs x < y given the empty set.
//   Work    a warp takes one x and up to 32 consecutive y at a time
//   Launch  any grid, block up to 32 MOST_WARPS, dynamic shared memory as for lay_out
//   Reads   d, gaps, fixed
//   Writes  g.G (zero before), largest, list, all as contingency_pairs
template <int FAMILY>
__global__ void __launch_bounds__(32 * MOST_WARPS)
    observed_pairs(const Graph g, const Level lv, const Observed d, const WarpSpace space, const Doubtful list,
                   double* largest, const unsigned char* __restrict__ gaps, const unsigned char* __restrict__ fixed) {
    extern __shared__ uint4 pairs_memory[];
    const WarpState w = lay_out(pairs_memory, space, 0);
    const int lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const i64 p = g.p, slices = (p + 31) / 32;
    for (i64 item = (i64)blockIdx.x * warps + (threadIdx.x >> 5); item < p * slices; item += (i64)gridDim.x * warps) {
        const i64 x = item / slices, y0 = (item - x * slices) * 32, y = y0 + lane, cell = x * p + y;
        if (y0 + 31 <= x) continue;
        if (__any_sync(FULL, *lv.stop)) return;
        bool in = y > x && y < p && !(gaps && gaps[cell]);
        if (in && fixed && fixed[cell]) {
            g.G[cell] = g.G[y * p + x] = FIXED;
            in = false;
        }
        for (unsigned left = __ballot_sync(FULL, in); left; left &= left - 1) {
            const i64 to = y0 + __ffs((int)left) - 1, at = x * p + to;
            if (lane < 2) w.nodes[lane] = (int)(lane ? to : x);
            const double p_value = p_of<FAMILY>(d, w, 0);
            const Outcome outcome = outcome_of_p(d, p_value);
            if (lane) continue;
            if (outcome == DOUBTFUL) put_aside(list, at, 0, (int)x, (int)to, nullptr, 0);
            if (outcome != DEPENDENT) continue;
            g.G[at] = g.G[to * p + x] = LIVE;
            largest[at] = p_value;
        }
    }
}

// Tests the sets of a launch.
//   Work    a warp takes items from the queue, each some consecutive sets of a row, and goes through them, and for each
//           set through the targets, one by one
//   Launch  persistent grid, block up to 32 MOST_WARPS, dynamic shared memory as for lay_out
//   Reads   g.start, g.column, d, lv.binom, queue
//   Writes  g.best, g.z, g.G (GONE_A), range.open, list, lv.counters->handed_out
template <int FAMILY>
__global__ void __launch_bounds__(32 * MOST_WARPS)
    observed_sets(const Graph g, const Level lv, const Observed d, const WarpSpace space, const Doubtful list,
                  const Queue queue, const SetRange range) {
    extern __shared__ uint4 sets_memory[];
    const int l = lv.level, lane = threadIdx.x & 31;
    const WarpState w = lay_out(sets_memory, space, l);
    for (Item item = take(queue, lv); item.there; item = take(queue, lv)) {
        const int x = item.row;
        const i64 e0 = g.start[x];
        const int degree = (int)(g.start[x + 1] - e0);
        u64 number = range.first + item.number * range.chunk;
        const u64 last = min(min(number + range.chunk, range.end), lv.binom(degree, l));
        unrank_by_warp(lv.binom, degree, l, number, w.members);
        if (lane == 0) atomicAdd(&lv.counters->handed_out[range.side], last - number);
        for (bool alive = true; alive && number < last; ++number) {
            for (int t = lane; t <= l; t += 32) w.nodes[t] = t == l ? x : g.column[e0 + w.members[t]];
            alive = false;
            for (int a0 = 0; a0 < degree; a0 += 32) {
                const int a = a0 + lane;
                bool in = a < degree && is_target(g, e0 + a, x, g.column[e0 + a], range.side, number);
                alive = __any_sync(FULL, in) || alive;
                for (int t = 0; t < l; ++t) in = in && w.members[t] != a;
                for (unsigned left = __ballot_sync(FULL, in); left; left &= left - 1) {
                    const i64 e = e0 + a0 + __ffs((int)left) - 1;
                    const int y = g.column[e];
                    if (lane == 0) w.nodes[l + 1] = y;
                    const double p_value = p_of<FAMILY>(d, w, l);
                    const Outcome outcome = outcome_of_p(d, p_value);
                    if (lane) continue;
                    if (outcome == INDEPENDENT) separate(g, range.open, e, x, y, number);
                    else if (outcome == DEPENDENT) keep_largest(&g.z[e], p_value);
                    else put_aside(list, e, number, x, y, w.nodes, l);
                }
            }
            __syncwarp();
            if (lane == 0) subset_next(degree, l, w.members);
            __syncwarp();
        }
    }
}

// From the ranks of the records to their separating sets and p-values. The last block to finish sends the counters to
// the host.
//   Work    one warp per record at a time
//   Launch  as observed_sets
//   Reads   g.start, g.column, d, lv.binom, records.start, records.rank, Found::x, ::y
//   Writes  Found::S, Found::r (NaN where the host has to make the test), lv.counters->tests, *host (page-locked memory)
template <int FAMILY>
__global__ void __launch_bounds__(32 * MOST_WARPS)
    observed_records(const Graph g, const Level lv, const Observed d, const WarpSpace space, const Records records,
                     Counters* host) {
    extern __shared__ uint4 records_memory[];
    const int l = lv.level, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const WarpState w = lay_out(records_memory, space, l);
    const i64 total = records.start[g.p];
    const Found found(records.found, total);
    u64 tests = 0;
    for (i64 i = (i64)blockIdx.x * warps + (threadIdx.x >> 5); i < total; i += (i64)gridDim.x * warps) {
        tests += find_members(g, lv, found, i, records.rank[i], w.nodes);
        if (lane < 2) w.nodes[l + lane] = lane ? found.y[i] : found.x[i];
        const double p_value = p_of<FAMILY>(d, w, l);
        if (lane == 0) found.r[i] = p_value;
    }
    if (lane == 0 && tests) atomicAdd(&lv.counters->tests, tests);
    if (last_block(&lv.counters->finished)) report(lv.counters, host);
}
