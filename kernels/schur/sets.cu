// sets.cu -- schur_sets: the tests of a level >= 2 for rows whose covariances given a prefix fit shared memory.
//   Work    a block takes items from the queue, each some consecutive prefixes of a row, and goes through them one by
//           one; each lane tests one suffix at a time, see sweep.cuh
//   Launch  persistent grid; block 32 to 512; dynamic shared memory as sets_shared() in pycupc/engines/gpu/schur.py
//   Reads   g.C, g.start, g.column, g.G, lv.binom, queue
//   Writes  g.best, g.least (atomicMin), g.G (GONE_A), lv.counters->doubtful, ->handed_out
//   lv.work  canonical_doubles(level) doubles for each of lv.slots lanes of each warp
//   table    [C(columns, T)] uint32, the T-subsets in colexicographic order, a byte per member, ascending from the lowest
//            byte; they do not depend on the number of columns, see Device.subsets
//   width    largest degree of the rows in this launch
//   Template arguments: T, members in the suffix; ILL, whether the kernel is made for ill-conditioned data.
#include "schur/sweep.cuh"
#include "schur/work_queue.cuh"

// The block's dynamic shared memory. A target of an item is a target of each of its prefixes that does not contain it.
struct Memory {
    Targets ts;       // [width] each; targets of the present prefix
    u64* item_least;  // [width] bits of the smallest r^2 of each target of the item
    // W [width + 1, w_pitch(q)]: factor of the prefix. M [width + 1, width | 1]: covariances given the prefix, with a
    // row for each entry of `rows`, and a column for each position from Columns::first on
    double* W;
    Covariances M;
    int* ids;     // [width + 1] places of the positions in the row's matrix, x last
    int* alive;   // [width] positions of the item's targets, -1 once separated
    int* slot;    // [width] target t of the prefix is entry slot[t] of alive
    int* rows;    // [width + 1] position of each row of M: those after the prefix, x, then targets before its end
    int* prefix;  // [q + 1] positions
    bool* flag;   // [q] whether each pivot of the prefix is above the floor
};

DEVICE Memory lay_out(double2* start, const int width, const int q) {
    FreeMemory free = {(char*)start};
    Memory m;
    m.ts = take_targets(free, width);
    m.W = free.take<double>(w_pitch(q) * (width + 1));
    m.M.high = free.take<float>((width + 1) * (width | 1));
    m.M.low = free.take<unsigned>((width + 1) * (width | 1));
    m.item_least = free.take<u64>(width);
    m.ids = free.take<int>(width + 1);
    m.alive = free.take<int>(width);
    m.slot = free.take<int>(width);
    m.rows = free.take<int>(width + 1);
    m.prefix = free.take<int>(q + 1);
    m.flag = free.take<bool>(q);
    return m;
}

// M of one prefix P: its columns are the positions first .. d - 1. In shared memory, which leaves the registers to the
// tests.
struct Columns {
    int first, count, pitch;  // first position, number of columns, doubles per row
    double vx;                // var(x | P)
    bool sound;               // all pivots of the prefix above the floor

    // Column of member i of a suffix of T members, from its entry of the table.
    DEVICE int column(const unsigned code, const int i, const int T) const {
        return count - 1 - (int)((code >> (8 * (T - 1 - i))) & 255u);
    }
};

// Numbers that one warp or thread works out for the block, in shared memory: targets of the item; targets of the
// prefix; rows of M; index of the first member of the prefix that differs from the prefix before.
struct Counts {
    int live, targets, rows, changed;
};

// Lists the targets of the item, which no set up to its first set is known to separate: alive, item_least. Returns the
// number of these targets. One warp.
template <int T>
DEVICE int find_targets(const Graph& g, const Level& lv, const Row& row, const Memory& mem) {
    const int d = row.d, first = row.after();
    u64 rank = rank_from(lv.binom, d, lv.level, row.prefix, row.q);  // of the prefix with its first suffix
    for (int i = 0; i < T; ++i) rank -= lv.binom(d - 1 - first - i, T - i);
    int n = 0;
    for (int b = 0; b < d; b += 32) {
        const int a = b + (threadIdx.x & 31);
        const bool live = a < d && is_target(g, row, a, rank);
        const unsigned mask = __ballot_sync(FULL, live);
        if (live) {
            const int at = n + lanes_before(mask);
            mem.alive[at] = a;
            mem.item_least[at] = *(volatile u64*)&g.least[row.e0 + a];
        }
        n += __popc(mask);
    }
    return n;
}

// Lists the targets of a prefix, the item's n targets without its members, and the rows of M for the targets before
// its end. One warp.
DEVICE void choose_targets(const Level& lv, const Row& row, const Memory& mem, const Columns& cols, const int n,
                           Counts& counts) {
    int count = 0, rows = cols.count + 1;
    for (int b = 0; b < n; b += 32) {
        const int i = b + (threadIdx.x & 31);
        const int a = i < n ? mem.alive[i] : -1;
        const bool in = a >= 0 && row.outside(a), early = in && a < cols.first;
        const unsigned mask = __ballot_sync(FULL, in), early_mask = __ballot_sync(FULL, early);
        if (in) {
            const int t = count + lanes_before(mask);
            const int at = early ? rows + lanes_before(early_mask) : a - cols.first;
            const double2 moment = make_double2(given(row, a, row.d), given(row, a, a));
            const u64 least = mem.item_least[i];
            mem.ts.moment[t] = moment;
            mem.ts.quick[t] = quick_target(moment, least, lv.sure_out, at * cols.pitch);
            mem.ts.least[t] = least;
            mem.ts.position[t] = a;
            mem.ts.cut[t] = NO_CUT;
            mem.slot[t] = i;
            if (early) mem.rows[at] = a;
        }
        count += __popc(mask);
        rows += __popc(early_mask);
    }
    __syncwarp();
    if (count) pad(mem.ts, count);
    if ((threadIdx.x & 31) == 0) {
        counts.targets = count;
        counts.rows = rows;
    }
}

// Computes M. Whole block.
DEVICE void fill(const Row& row, const Memory& mem, const Columns& cols, const int rows) {
    const float per_row = 1.0f / (float)cols.count;
    fill_cells(row, mem.M, rows * cols.count, [&](const int i) -> Cell {
        const int a = (int)(((float)i + 0.5f) * per_row), c = i - a * cols.count;
        return {a * cols.pitch + c, mem.rows[a], cols.first + c};
    });
}

// Moves target t to place `to` in the lanes with `keep`. One warp.
DEVICE void move_target(const Memory& mem, const int t, const int to, const bool keep) {
    const Targets& ts = mem.ts;
    double2 moment;
    QuickTarget quick;
    u64 least;
    int position, slot;
    if (keep) {
        moment = ts.moment[t];
        quick = ts.quick[t];
        least = ts.least[t];
        position = ts.position[t];
        slot = mem.slot[t];
    }
    __syncwarp();
    if (keep) {
        ts.moment[to] = moment;
        ts.quick[to] = quick;
        ts.least[to] = least;
        ts.position[to] = position;
        ts.cut[to] = NO_CUT;
        mem.slot[to] = slot;
    }
    __syncwarp();
}

// After a segment of suffixes: reports the separated targets, and closes the gaps that they leave unless the segment
// was the last one. Returns the number of targets left. One warp.
template <int T>
DEVICE int drop_separated(const Graph& g, const Level& lv, const Row& row, const Memory& mem, const int targets,
                          const unsigned* table, const unsigned suffixes, const bool last) {
    int stay = 0;
    for (int b = 0; b < targets; b += 32) {
        const int t = b + (threadIdx.x & 31);
        const bool in = t < targets;
        const unsigned cut = in ? mem.ts.cut[t] : NO_CUT;
        const int i = in ? mem.slot[t] : 0;
        if (in) mem.item_least[i] = mem.ts.least[t];
        if (cut != NO_CUT) {
            const unsigned code = table[suffixes - 1 - cut];
            u64 rank = rank_from(lv.binom, row.d, lv.level, row.prefix, row.q);
            for (int j = 0; j < T; ++j) rank -= lv.binom((code >> (8 * (T - 1 - j))) & 255u, T - j);
            const int a = mem.ts.position[t];
            report_separated(g, row.e0 + a, row.x, neighbour(g, row.e0 + a, row.ids[a]), rank);
            mem.alive[i] = -1;
        }
        const bool keep = in && cut == NO_CUT;
        const unsigned mask = __ballot_sync(FULL, keep);
        if (!last && __popc(mask) + stay < b + 32) move_target(mem, t, stay + lanes_before(mask), keep);
        stay += __popc(mask);
    }
    __syncwarp();
    if (stay) pad(mem.ts, stay);
    return stay;
}

// Fills the suffix whose entry of the table is `code`.
template <int T>
DEVICE void choose_suffix(const Covariances& M, const Columns& cols, const unsigned code, Quick<T>& quick) {
    int s[T];
    float A[(T + 1) * (T + 2) / 2];
    UNROLL
    for (int i = 0; i <= T; ++i) {
        if (i < T) {
            s[i] = cols.column(code, i, T);
            quick.column[i] = M.high + s[i];
            quick.row[i] = s[i] * cols.pitch;
        }
        const float* row = M.high + (i < T ? s[i] : cols.count) * cols.pitch;
        UNROLL
        for (int j = 0; j < (i < T ? i + 1 : T); ++j) A[i * (i + 1) / 2 + j] = row[s[j]];
    }
    A[T * (T + 3) / 2] = (float)cols.vx;
    factorise_quickly<T>(quick, A, cols.sound);
}

// Tests all suffixes of a prefix, in segments, each twice as long as the segment before. After a segment, separated
// targets are reported and dropped, since all suffixes still to come have larger ranks. Whole block.
template <int T, bool ILL>
DEVICE void test_suffixes(const Graph& g, const Level& lv, const Row& row, const Memory& mem, const Columns& cols,
                          const CanonicalInput& input, Counts& counts, const unsigned* __restrict__ table) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned suffixes = (unsigned)lv.binom(cols.count, T);
    int targets = counts.targets;
    for (unsigned begin = 0, length = blockDim.x; targets && begin < suffixes;
         begin += length, length *= begin ? 2 : 1) {
        const unsigned end = min(suffixes, begin + length);
        for (unsigned b = begin + warp * 32; b < end; b += blockDim.x) {
            const unsigned number = b + lane;
            const bool valid = number < suffixes;
            const unsigned code = table[suffixes - 1 - (valid ? number : suffixes - 1)];
            Quick<T> quick;
            choose_suffix(mem.M, cols, code, quick);
            const auto exact = [&] {
                Suffix<T> f;
                f.number = number;
                f.sound = cols.sound;
                UNROLL
                for (int i = 0; i < T; ++i) f.at[i] = f.s[i] = cols.column(code, i, T);
                factorise<T>(f, mem.M, cols.pitch, cols.count, cols.vx);
                return f;
            };
            sweep<T, 4, ILL>(lv, input, InRow<T>{quick, mem.ts}, exact, mem.ts, targets, mem.M, number, valid);
        }
        __syncthreads();
        if (warp == 0) {
            const int stay = drop_separated<T>(g, lv, row, mem, targets, table, suffixes, end == suffixes);
            if (lane == 0) counts.targets = stay;
        }
        __syncthreads();
        targets = counts.targets;
    }
}

template <int T, bool ILL>
__global__ void __launch_bounds__(512, 1)
    schur_sets(const Graph g, const Level lv, const Queue queue, const unsigned* __restrict__ table, const int width) {
    extern __shared__ double2 sets_memory[];
    __shared__ Counts counts;
    __shared__ Item item;
    __shared__ CanonicalInput input;
    __shared__ Columns cols;
    const int warp = threadIdx.x >> 5, q = lv.level - T;
    const Memory mem = lay_out(sets_memory, width, q);
    if (threadIdx.x == 0) fill_input(input, lv, mem.prefix, q);

    while (next_item(queue, lv, item)) {
        const int x = item.row;
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0), m = d - T;  // prefixes are the q-subsets of the first m positions
        const Row row = {matrix_of(g, x), pitch_of(g, x), e0, mem.ids, mem.prefix, mem.W, x, d, q, w_pitch(q)};
        const u64 prefixes = lv.binom(m, q), chunk = queue.chunk[x];
        u64 number = item.number * chunk;
        const u64 last = min(number + chunk, prefixes);
        for (int a = threadIdx.x; a < d; a += blockDim.x) mem.ids[a] = place_of_pair(g, e0 + a);
        if (threadIdx.x == 0) {
            mem.ids[d] = place_of_row(g, x);
            fill_input(input, g, row);
            counts.changed = 0;
        }
        if (warp == 0) unrank_by_warp(lv.binom, m, q, number, mem.prefix);
        __syncthreads();
        if (warp == 0) {
            const int live = find_targets<T>(g, lv, row, mem);
            if (threadIdx.x == 0) counts.live = live;
        }
        __syncthreads();
        const int n = counts.live;
        if (n == 0) continue;
        for (; number < last; ++number) {
            const bool sound = condition(row, counts.changed, mem.flag);
            const int first = row.after();
            if (threadIdx.x == 0) {
                cols = {first, d - first, (d - first) | 1, given(row, d, d), sound};
                input.first = first;
            }
            for (int a = threadIdx.x; a <= d - first; a += blockDim.x) mem.rows[a] = first + a;  // x comes last
            __syncwarp();
            if (warp == 0) choose_targets(lv, row, mem, cols, n, counts);
            __syncthreads();
            fill(row, mem, cols, counts.rows);
            __syncthreads();
            test_suffixes<T, ILL>(g, lv, row, mem, cols, input, counts, table);
            if (threadIdx.x == 0 && number + 1 < last) counts.changed = subset_next(m, q, mem.prefix);
            __syncthreads();
        }
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            if (mem.alive[i] >= 0) atomicMin(&g.least[e0 + mem.alive[i]], mem.item_least[i]);
    }
}
