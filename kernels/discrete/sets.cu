// sets.cu -- levels from 1 on of discrete data: for each row the sets in lexicographic order, for each set all targets.
//   A level runs side A, then side B: count_targets, then several times plan_sets and contingency_sets. Each launch
//   tests four times the sets of a row that all launches before it have tested, so that a row costs little more once
//   its targets are all separated, however many sets it has. After both sides: enter_results (if there are doubtful
//   tests), settle of graph/removals.cu, contingency_records, p_values.
//   Arrays: see Graph, Codes, TableSpace, Doubtful and SetRange in common/structures.cuh. A set is numbered by its
//   rank.
#include "discrete/contingency.cuh"
#include "graph/record.cuh"
#include "graph/rows.cuh"
#include "schur/work_queue.cuh"

// Counts the targets of each row at the beginning of a side.
//   Work    one warp per row
//   Launch  grid p, block 32
//   Reads   g.start, g.column, g.G, g.best
//   Writes  range.open, lv.counters->items (sets of the side, to report progress)
//   again   1: the side runs once more, since the list of doubtful tests was too short; separated pairs count too
extern "C" __global__ void count_targets(const Graph g, const Level lv, const SetRange range, const int again) {
    const int x = blockIdx.x, lane = threadIdx.x;
    const i64 e0 = g.start[x], e1 = g.start[x + 1];
    int n = 0;
    if (e1 - e0 > lv.level)
        for (i64 e = e0 + lane; e < e1; e += 32)
            n += (again || g.best[e] == NOT_SEPARATED) && is_of_side(g, e, x, g.column[e], range.side);
    n = sum_over_warp(n);
    if (lane == 0) {
        range.open[x] = n;
        if (n) atomicAdd(&lv.counters->items[range.side], lv.binom((int)(e1 - e0), lv.level));
    }
}

// Fills the queue of a launch of contingency_sets with the sets of the rows that still have targets.
//   Work    one block; a thread takes every 1024th row
//   Launch  grid 1, block 1024
//   Reads   g.start, lv.binom, range.open
//   Writes  queue.offsets, lv.counters->handed_out[queue.index] (0: tickets start again)
extern "C" __global__ void plan_sets(const Graph g, const Level lv, const Queue queue, const SetRange range) {
    __shared__ u64 partial[32];
    const int p = queue.p;
    u64 before = 0;
    for (int base = 0; base < p; base += 1024) {
        const int x = base + threadIdx.x;
        u64 items = 0;
        if (x < p && range.open[x] > 0) {
            const u64 end = min(range.end, lv.binom((int)(g.start[x + 1] - g.start[x]), lv.level));
            if (end > range.first) items = (end - range.first + range.chunk - 1) / range.chunk;
        }
        const u64 offset = scan_over_block(items, partial, before);
        if (x < p) queue.offsets[x] = offset;
    }
    if (threadIdx.x == 0) {
        queue.offsets[p] = before;
        lv.counters->handed_out[queue.index] = 0;
    }
}

// Collects the positions of an item's targets in b.live; returns how many there are, or -1 if they do not fit. number:
// rank of the item's first set. Whole block.
DEVICE int find_live(BlockState& b, const Graph& g, const SetRange& range, const int x, const i64 e0, const int degree,
                     const u64 number) {
    int live = 0;
    for (int a0 = 0; a0 < degree; a0 += SLICE) {
        const int a = a0 + threadIdx.x;
        const bool in = a < degree && is_target(g, e0 + a, x, g.column[e0 + a], range.side, number);
        const int n = collect(b, in, 0, a, 1);
        if (live + n > SLICE) return -1;
        if (threadIdx.x < n) b.live[live + threadIdx.x] = b.at[threadIdx.x];
        live += n;
        __syncthreads();
    }
    return live;
}

// Collects the targets of one set among the candidates a0 .. a0 + SLICE - 1, which are the item's targets, or all
// neighbours if `all`; returns how many there are. A target with too few observations for a test is separated at once,
// and one whose table has no room is put on the list. members: positions of the set. Whole block.
DEVICE int targets_of(BlockState& b, const Graph& g, const Codes& d, const TableSpace& space, const Doubtful& list,
                      const SetRange& range, const i64 e0, const int candidates, const bool all, const int a0,
                      const int* members, const u64 number) {
    const int i = a0 + threadIdx.x, x = b.variable[0];
    const int a = i >= candidates ? 0 : all ? i : b.live[i];
    const int y = g.column[e0 + a], ky = d.levels[y];
    bool in = i < candidates && is_target(g, e0 + a, x, y, range.side, number);
    if (in) *(volatile int*)&b.alive = 1;
    for (int t = 0; t < b.size; ++t) in = in && members[t] != a;
    if (in && !is_tested(d, b.kx, ky, b.size, b.q)) {
        separate(g, range.open, e0 + a, x, y, number);
        in = false;
    }
    if (in && !has_room(b, d, space, ky)) {
        put_aside(list, e0 + a, number, x, y, b.variable + 1, b.size);
        in = false;
    }
    return collect(b, in, y, a, ky);
}

// Tests the sets of a launch.
//   Work    a block takes items from the queue, each some consecutive sets of a row, and goes through them one by one;
//           see contingency.cuh
//   Launch  persistent grid, block THREADS, dynamic shared memory as for lay_out, and level ints more
//   Reads   g.start, g.column, d, lv.binom, queue
//   Writes  g.best, g.z, g.G (GONE_A), range.open, list, lv.counters->handed_out
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    contingency_sets(const Graph g, const Level lv, const Codes d, const TableSpace space, const Doubtful list,
                     const Queue queue, const SetRange range) {
    extern __shared__ uint4 sets_memory[];
    __shared__ Item item;
    __shared__ int changed;
    const int l = lv.level;
    BlockState& b = lay_out(sets_memory, space, l);
    int* const members = b.variable + l + 1;
    while (next_item(queue, lv, item)) {
        const int x = item.row;
        const i64 e0 = g.start[x];
        const int degree = (int)(g.start[x + 1] - e0);
        u64 number = range.first + item.number * range.chunk;
        const u64 last = min(min(number + range.chunk, range.end), lv.binom(degree, l));
        if (threadIdx.x == 0) {
            b.variable[0] = x;
            changed = 0;
            atomicAdd(&lv.counters->handed_out[range.side], last - number);
        }
        if (threadIdx.x < 32) unrank_by_warp(lv.binom, degree, l, number, members);
        const int live = find_live(b, g, range, x, e0, degree, number), candidates = live < 0 ? degree : live;
        __syncthreads();
        for (bool alive = live != 0; alive && number < last; ++number) {
            for (int t = changed + threadIdx.x; t < l; t += THREADS) b.variable[1 + t] = g.column[e0 + members[t]];
            __syncthreads();
            begin_set(b, d);
            for (int a0 = 0; a0 < candidates; a0 += SLICE) {
                const int T = targets_of(b, g, d, space, list, range, e0, candidates, live < 0, a0, members, number);
                test_targets(b, d, space, T, [&](const int t, const i64 sum, const int empty) {
                    const int y = b.y[t];
                    const i64 e = e0 + b.at[t];
                    const double g2 = 2.0 * d.unit * (double)sum;
                    const i64 df = degrees_of_freedom(d, b.kx, d.levels[y], l, b.q, empty);
                    const Outcome outcome = outcome_of(d, g2, df);
                    if (outcome == INDEPENDENT) separate(g, range.open, e, x, y, number);
                    else if (outcome == DEPENDENT) keep_if_largest(&g.z[e], g2, df);
                    else put_aside(list, e, number, x, y, b.variable + 1, l);
                });
            }
            alive = b.alive;
            if (threadIdx.x == 0) changed = max(0, subset_next(degree, l, members));
            __syncthreads();
        }
    }
}

// From the ranks of the records to their separating sets, G^2 and degrees of freedom.
//   Work    one block per record at a time
//   Launch  any grid, block THREADS, dynamic shared memory as contingency_sets
//   Reads   g.start, g.column, d, lv.binom, records.start, records.rank, Found::x, ::y
//   Writes  Found::S, Found::r (G^2), df, lv.counters->tests
//   df      [m] int64, degrees of freedom; 0: no test was made; -1: the host made it
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    contingency_records(const Graph g, const Level lv, const Codes d, const TableSpace space, const Records records,
                        i64* df) {
    extern __shared__ uint4 records_memory[];
    const int l = lv.level;
    BlockState& b = lay_out(records_memory, space, l);
    const i64 total = records.start[g.p];
    const Found found(records.found, total);
    u64 tests = 0;
    for (i64 i = blockIdx.x; i < total; i += gridDim.x) {
        const int y = found.y[i];
        if (threadIdx.x < 32) tests += find_members(g, lv, found, i, records.rank[i], b.variable + 1);
        if (threadIdx.x == 0) {
            b.variable[0] = found.x[i];
            df[i] = 0;
        }
        __syncthreads();
        begin_set(b, d);
        const int ky = d.levels[y];
        const bool room_for = has_room(b, d, space, ky);
        if (threadIdx.x == 0 && !room_for) df[i] = -1;
        const int T = collect(b, threadIdx.x == 0 && room_for && is_tested(d, b.kx, ky, l, b.q), y, 0, ky);
        test_targets(b, d, space, T, [&](const int, const i64 sum, const int empty) {
            found.r[i] = 2.0 * d.unit * (double)sum;
            df[i] = degrees_of_freedom(d, b.kx, ky, l, b.q, empty);
        });
    }
    if (threadIdx.x == 0 && tests) atomicAdd(&lv.counters->tests, tests);
}

// From G^2 and degrees of freedom to p-values, in a kernel of its own: in contingency_records one thread would keep its
// block waiting. The last block to finish sends the counters to the host.
//   Work    one thread per record
//   Launch  any grid, block 64
//   df      [m] int64, read only
//   Writes  Found::r (NaN where the host made the test), *host (page-locked memory of the host)
extern "C" __global__ void p_values(const Graph g, const Level lv, const Records records, const i64* __restrict__ df,
                                    Counters* host) {
    const i64 total = records.start[g.p];
    const Found found(records.found, total);
    for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += (i64)gridDim.x * blockDim.x)
        found.r[i] = df[i] > 0 ? upper_tail(found.r[i], df[i]) : df[i] == 0 ? 1.0 : from_bits(0x7ff8000000000000ULL);
    if (last_block(&lv.counters->finished)) report(lv.counters, host);
}
