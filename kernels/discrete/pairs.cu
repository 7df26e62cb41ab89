// pairs.cu -- level 0 of discrete data.
//   contingency_pairs, enter_results (if there are doubtful tests), tally_pairs, count_neighbours and list_neighbours
//   of graph/neighbours.cu run one after the other.
//   Arrays: see Graph, Codes, TableSpace and Doubtful in common/structures.cuh. g.C is not a matrix of correlations
//   here: its upper triangle receives the p-values of level 0. `largest` [p, p] is g.C, to write to. `gaps` and `fixed`
//   as in level0 in graph/neighbours.cu.
#include "discrete/contingency.cuh"

// Tests all pairs x < y given the empty set.
//   Work    a block takes one x and up to SLICE consecutive y at a time; see contingency.cuh
//   Launch  any grid, block THREADS, dynamic shared memory as for lay_out
//   Reads   d, gaps, fixed
//   Writes  g.G (zero before), largest, list
//   space.large  a table per block, where tables do not fit shared memory
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    contingency_pairs(const Graph g, const Level lv, const Codes d, const TableSpace space, const Doubtful list,
                      double* largest, const unsigned char* __restrict__ gaps,
                      const unsigned char* __restrict__ fixed) {
    extern __shared__ uint4 pairs_memory[];
    __shared__ int stop;
    const i64 p = g.p, slices = (p + SLICE - 1) / SLICE;
    BlockState& b = lay_out(pairs_memory, space, 0);
    for (i64 item = blockIdx.x; item < p * slices; item += gridDim.x) {
        const i64 x = item / slices, y0 = x + 1 + (item - x * slices) * SLICE, y = y0 + threadIdx.x, cell = x * p + y;
        if (y0 >= p) continue;
        if (threadIdx.x == 0) {
            b.variable[0] = (int)x;
            stop = *lv.stop;
        }
        __syncthreads();
        if (stop) return;
        begin_set(b, d);
        bool in = y < p && !(gaps && gaps[cell]);
        if (in && fixed && fixed[cell]) {
            g.G[cell] = g.G[y * p + x] = FIXED;
            in = false;
        }
        const int ky = in ? d.levels[y] : 0;
        in = in && is_tested(d, b.kx, ky, 0, 1);
        const int T = collect(b, in, (int)y, 0, ky);
        test_targets(b, d, space, T, [&](const int t, const i64 sum, const int empty) {
            const i64 to = b.y[t], at = x * p + to;
            const double g2 = 2.0 * d.unit * (double)sum;
            const i64 df = degrees_of_freedom(d, b.kx, d.levels[to], 0, 1, empty);
            const Outcome outcome = outcome_of(d, g2, df);
            if (outcome == DOUBTFUL) put_aside(list, at, 0, (int)x, (int)to, nullptr, 0);
            if (outcome != DEPENDENT) return;
            g.G[at] = g.G[to * p + x] = LIVE;
            largest[at] = upper_tail(g2, df);
        });
    }
}

// Counts the tests and removals of level 0.
//   Work    one block per row
//   Launch  grid p, block 128
//   Reads   g.G, gaps, fixed
//   Writes  lv.counters->tests, ->removed
extern "C" __global__ void tally_pairs(const Graph g, const Level lv, const unsigned char* __restrict__ gaps,
                                       const unsigned char* __restrict__ fixed) {
    const i64 x = blockIdx.x, p = g.p;
    unsigned tests = 0, removed = 0;
    for (i64 y = x + 1 + threadIdx.x; y < p; y += blockDim.x) {
        const i64 at = x * p + y;
        if ((gaps && gaps[at]) || (fixed && fixed[at])) continue;
        const bool gone = g.G[at] == GONE_A;
        removed += gone;
        tests += gone ? 1 : 2;  // pcalg tests y - x as well where x - y was dependent
    }
    tests = sum_over_warp(tests);
    removed = sum_over_warp(removed);
    if ((threadIdx.x & 31) == 0 && tests) {
        atomicAdd(&lv.counters->tests, (u64)tests);
        atomicAdd(&lv.counters->removed, (u64)removed);
    }
}
