// plan.cu -- the queues of work items of schur_sets, schur_tiles and walk_rows.
#include "common/warp.cuh"

// Number of work items of row x; 0 where the row is not of this class or has nothing to test. `chunk` receives the
// prefixes per item. A row of degree d has C(d - suffix, level - suffix) prefixes; where there are tiles, a prefix has
// an item for each tile.
DEVICE u64 items_of(const Graph& g, const Level& lv, const RowClass& rows, const int x, u64& chunk) {
    const int d = (int)(g.start[x + 1] - g.start[x]);
    chunk = 1;
    if (d <= rows.low || d > rows.high || d <= lv.level || (rows.open && rows.open[x] == 0)) return 0;
    const u64 prefixes = lv.binom(d - rows.suffix, lv.level - rows.suffix);
    if (rows.tile) return prefixes * (u64)((d + rows.tile - 1) / rows.tile);
    chunk = (u64)fmax(1.0, rows.sets_per_item / ((double)lv.binom(d, lv.level) / (double)prefixes));
    return (prefixes + chunk - 1) / chunk;
}

// Fills the queue of a class of rows; see Queue.
//   Work    one phase per block: it counts the items of all rows in earlier phases, then adds up the items of its own
//           phase row by row
//   Launch  grid phases, block 1024
//   Reads   g.start, lv.binom, rows.open
//   Writes  Queue::offsets, Queue::chunk, lv.counters->items
extern "C" __global__ void plan_phases(const Graph g, const Level lv, const Queue queue, const RowClass rows) {
    __shared__ u64 partial[32];
    const int t = threadIdx.x, p = queue.p, phase = blockIdx.x;
    const bool last = phase + 1 == queue.phases;  // takes whatever is left
    const u64 first = (1ULL << phase) - 1, end = (2ULL << phase) - 1;
    u64* out = queue.offsets + (i64)phase * (p + 1);
    u64 earlier = 0, chunk;
    for (int x = t; x < p; x += 1024) {
        earlier += min(first, items_of(g, lv, rows, x, chunk));
        if (phase == 0) queue.chunk[x] = chunk;
    }
    u64 before = 0;
    scan_over_block(earlier, partial, before);
    for (int b = 0; b < p; b += 1024) {
        const int x = b + t;
        const u64 items = x < p ? items_of(g, lv, rows, x, chunk) : 0;
        const u64 mine = items <= first ? 0 : (items < end || last ? items - first : end - first);
        const u64 offset = scan_over_block(mine, partial, before);
        if (x < p) out[x] = offset;
    }
    if (t == 0) out[p] = before;
    if (t == 0 && last) lv.counters->items[queue.index] = before;
}
