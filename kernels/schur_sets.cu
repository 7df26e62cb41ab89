// schur_sets.cu -- rows whose whole M|Q fits shared memory (degree <= width).
//   Work    a block takes chunks of consecutive bases of a row from the queue; lanes are leaves (see schur.cuh)
//   Launch  persistent grid; block 32 to 512; dynamic shared memory as sets_shared() in pycupc/engines/gpu/schur.py
//   table   the T-subsets in colexicographic order, one byte a member: entry i holds the i-th subset, any range
#include "schur.cuh"

template <int T, bool SINGULAR>
__global__ void __launch_bounds__(512, 1) schur_sets(const Graph g, const Level lv, const Queue queue, const unsigned* __restrict__ table, const int width) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, q = lv.level - T;
    extern __shared__ double2 sets_memory[];
    Targets ts;
    ts.moment = sets_memory;
    ts.bound = (double*)(ts.moment + width);
    ts.least = (u64*)(ts.bound + width);
    ts.where = (int2*)(ts.least + width);
    u64* item_least = (u64*)(ts.where + width);
    double* W = (double*)(item_least + width);
    double* M = W + w_pitch(q) * (width + 1);
    const int wp = w_pitch(q);
    int* ids = (int*)(M + (width + 1) * (width | 1));
    ts.position = ids + width + 1;
    ts.cut = (unsigned*)(ts.position + width);
    int* alive = (int*)(ts.cut + width);                    // positions of the item's live targets, -1 once separated
    int* slot = alive + width;                              // target t of the base is entry slot[t] of alive
    int* rows = slot + width;                               // position of row i of M
    int* Q = rows + width + 1;
    bool* flag = (bool*)(Q + q + 1);
    __shared__ int live_count, target_count, row_count, changed;  // from one warp to all
    __shared__ Item item;
    __shared__ Place w;
    if (threadIdx.x == 0) place_block(w, g, lv, Q, q, warps);
    const int stride = lv.stride;

    while (next_item(queue, lv, item)) {
        const int x = item.row;
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0);
        const int m = d - T;                                // bases are q-subsets of the first m positions
        const u64 bases = lv.binom[(i64)q * stride + m], chunk = queue.chunk[x];
        u64 base = item.number * chunk;
        const u64 last = base + chunk < bases ? base + chunk : bases;
        for (int a = threadIdx.x; a < d; a += blockDim.x) ids[a] = g.column[e0 + a];
        if (threadIdx.x == 0) { ids[d] = x; w.ids = ids; w.x = x; }
        if (warp == 0) {                                    // first base of the chunk, 32 candidates a step
            u64 left = bases - 1 - base;
            int top = m - 1;
            for (int i = 0; i < q; ++i) {
                const u64* column = lv.binom + (i64)(q - i) * stride;
                unsigned hit = 0;
                int c = top - lane;
                while (true) {
                    hit = __ballot_sync(FULL, c >= 0 && column[c < 0 ? 0 : c] <= left);
                    if (hit) break;
                    c -= 32;
                }
                c = __shfl_sync(FULL, c, __ffs((int)hit) - 1);
                if (lane == 0) Q[i] = m - 1 - c;
                left -= column[c];
                top = c - 1;
            }
        }
        __syncthreads();
        // live targets: not fixed, not removed by side A (for side B), not separated before this chunk
        if (warp == 0) {
            int first[1];
            u64 rank = lv.binom[(i64)lv.level * stride + d] - 1;   // rank of base + its first leaf
            first[0] = q ? Q[q - 1] + 1 : 0;
            for (int i = 0; i < q; ++i) rank -= lv.binom[(i64)(lv.level - i) * stride + (d - 1 - Q[i])];
            for (int i = 0; i < T; ++i) rank -= lv.binom[(i64)(T - i) * stride + (d - 1 - first[0] - i)];
            int n = 0;
            for (int b = 0; b < d; b += 32) {
                const int a = b + lane;
                bool live = false;
                if (a < d) {
                    const int y = ids[a];
                    const unsigned char c = *(volatile unsigned char*)&g.G[(i64)x * g.p + y];
                    live = (x < y ? c != FIXED : c == LIVE) && *(volatile u64*)&g.best[e0 + a] > rank;
                }
                const unsigned mask = __ballot_sync(FULL, live);
                if (live) {
                    const int at = n + __popc(mask & ((1u << lane) - 1));
                    alive[at] = a;
                    item_least[at] = *(volatile u64*)&g.least[e0 + a];
                }
                n += __popc(mask);
            }
            if (lane == 0) live_count = n;
        }
        __syncthreads();
        const int n = live_count;
        if (n == 0) continue;
        int from = 0;
        for (; base < last; ++base) {
            const bool base_sound = condition(g, ids, Q, q, from, d, W, flag);
            const int first = q ? Q[q - 1] + 1 : 0, r = d - first, pitch = r | 1;
            if (warp == 0) {                                // targets outside Q; rows of M: leaf columns, x, earlier targets
                int count = 0, extra = r + 1;
                for (int b = 0; b < n; b += 32) {
                    const int i = b + lane;
                    const int a = i < n ? alive[i] : -1;
                    bool in = a >= 0;
                    for (int j = 0; j < q; ++j) in = in && a != Q[j];
                    const unsigned mask = __ballot_sync(FULL, in), early = __ballot_sync(FULL, in && a < first);
                    const unsigned below = (1u << lane) - 1;
                    if (in) {
                        const int t = count + __popc(mask & below);
                        const int row = a < first ? extra + __popc(early & below) : a - first;
                        const u64 least = item_least[i];
                        ts.moment[t] = make_double2(given(g, ids, a, d, q, W, wp), given(g, ids, a, a, q, W, wp));
                        ts.least[t] = least;
                        ts.bound[t] = fmax(from_bits(least), lv.sure_out);
                        ts.where[t] = make_int2(row * pitch, a - first);
                        ts.position[t] = a;
                        ts.cut[t] = NO_CUT;
                        slot[t] = i;
                        if (a < first) rows[row] = a;
                    }
                    count += __popc(mask);
                    extra += __popc(early);
                }
                if (lane == 0) { target_count = count; row_count = extra; w.first = first; }
            }
            for (int a = threadIdx.x; a <= r; a += blockDim.x) rows[a] = first + a;  // row r is x: position d
            __syncthreads();
            const int count = target_count, nrows = row_count;
            {
                const int cells = nrows * r;
                const float per_row = 1.0f / (float)r;
                for (int i = threadIdx.x; i < cells; i += blockDim.x) {
                    int row = (int)(((float)i + 0.5f) * per_row);
                    int c = i - row * r;
                    M[row * pitch + c] = given(g, ids, rows[row], first + c, q, W, wp);
                }
            }
            const double vx = given(g, ids, d, d, q, W, wp);
            __syncthreads();
            const unsigned leaves = (unsigned)lv.binom[(i64)T * stride + r];
            // Segments of leaves, each twice as long as the one before: between two, separated targets are reported and
            // dropped, since all leaves still to come have larger ranks.
            int targets = count;
            for (unsigned begin = 0, length = warps * 32; targets && begin < leaves; begin += length, length *= begin ? 2 : 1) {
                const unsigned end = min(leaves, begin + length);
                for (unsigned b = begin + warp * 32; b < end; b += warps * 32) {
                    Leaf<T> f;
                    f.number = b + lane;
                    f.valid = f.number < leaves;
                    f.sound = base_sound;
                    const unsigned code = table[leaves - 1 - (f.valid ? f.number : leaves - 1)];
#pragma unroll
                    for (int i = 0; i < T; ++i) f.at[i] = f.s[i] = r - 1 - (int)((code >> (8 * (T - 1 - i))) & 255u);
                    factorise<T>(f, M, pitch, r, vx);
                    sweep<T, (T < 4 ? 4 : 2), SINGULAR>(g, lv, w, f, ts, targets, M, b);
                }
                __syncthreads();
                if (warp == 0) {
                    int stay = 0;
                    for (int b = 0; b < targets; b += 32) {
                        const int t = b + lane;
                        const bool in = t < targets;
                        const unsigned cut = in ? ts.cut[t] : NO_CUT;
                        const int i = in ? slot[t] : 0, a = in ? ts.position[t] : 0;
                        if (in) item_least[i] = ts.least[t];
                        if (cut != NO_CUT) {
                            const unsigned code = table[leaves - 1 - cut];
                            u64 rank = lv.binom[(i64)lv.level * stride + d] - 1;
                            for (int j = 0; j < q; ++j) rank -= lv.binom[(i64)(lv.level - j) * stride + (d - 1 - Q[j])];
                            for (int j = 0; j < T; ++j)
                                rank -= lv.binom[(i64)(T - j) * stride + ((code >> (8 * (T - 1 - j))) & 255u)];
                            atomicMin(&g.best[e0 + a], rank);
                            const int y = ids[a];
                            if (x < y) g.G[(i64)x * g.p + y] = g.G[(i64)y * g.p + x] = GONE_A;
                            alive[i] = -1;
                        }
                        const bool keep = in && cut == NO_CUT;
                        const unsigned mask = __ballot_sync(FULL, keep);
                        if (end < leaves && __popc(mask) + stay < b + 32) {  // close the gaps
                            double2 moment;
                            double bound;
                            u64 least;
                            int2 where;
                            if (keep) { moment = ts.moment[t]; bound = ts.bound[t]; least = ts.least[t]; where = ts.where[t]; }
                            __syncwarp();
                            if (keep) {
                                const int to = stay + __popc(mask & ((1u << lane) - 1));
                                ts.moment[to] = moment; ts.bound[to] = bound; ts.least[to] = least; ts.where[to] = where;
                                ts.position[to] = a; ts.cut[to] = NO_CUT; slot[to] = i;
                            }
                            __syncwarp();
                        }
                        stay += __popc(mask);
                    }
                    if (lane == 0) target_count = stay;
                }
                __syncthreads();
                targets = target_count;
            }
            if (base + 1 < last) {
                if (threadIdx.x == 0) changed = subset_next(m, q, Q);
                __syncthreads();
                from = changed;
            }
        }
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            if (alive[i] >= 0) atomicMin(&g.least[e0 + alive[i]], item_least[i]);
    }
}
