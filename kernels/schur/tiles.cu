// tiles.cu -- schur_tiles: the tests of a level >= 2 for rows with too many neighbours for schur_sets. The suffix has
//   two members, p < k: p from a tile of ptile_width columns, k from tiles of 32 columns. Targets are taken in slices
//   of 128.
//   Work    item = (row, prefix, tile of p); a block goes through slices of targets, and for each through tiles of k. A
//           warp takes one p at a time, its lanes 32 consecutive k; see sweep.cuh
//   Launch  persistent grid; block 256; dynamic shared memory as tiles_shared() in pycupc/engines/gpu/schur.py
//   Reads   g.C, g.start, g.column, g.G, lv.binom, queue
//   Writes  g.best, g.least (atomicMin), g.G (GONE_A), lv.counters->doubtful, ->handed_out
//   lv.work  canonical_doubles(level) doubles for each of lv.slots lanes of each warp
//   W_all    [blocks, w_doubles] float64 work space in global memory: factor [d + 1, w_pitch(q)], int32 ids [d + 1]
//   Template argument ILL: whether the kernel is made for ill-conditioned data.
#include "schur/sweep.cuh"
#include "schur/work_queue.cuh"

constexpr int TILE = 32, SLICE = 128;  // columns of k per tile, targets per slice
constexpr int K_BITS = 26;             // the number of a suffix has k in its low bits, this many, and p - p0 above them

// A target given the prefix and p: the fields that lanes with different k read in one load.
struct alignas(16) GivenTarget {
    float xy, yy, bound;  // as in QuickTarget, but given p, too
    float u;              // its entry in p's column of the Cholesky factor, see Quick
};

// The column of M of a possible member.
struct alignas(8) Column {
    double var, cov;  // of the variable, and with x, given the prefix
    int target;       // its number if it is one of the slice's targets, else -1
};

// The block's dynamic shared memory.
struct Memory {
    Targets ts;          // [SLICE] each
    Covariances M;       // [SLICE, pitch] of the targets with the columns of p's tile, then of k's tile
    GivenTarget* given;  // [warps, SLICE]
    Column* columns;     // [pitch - 1] in the order of M
    int* prefix;         // [q + 1] positions
    bool* flag;          // [q] whether each pivot of the prefix is above the floor
};

DEVICE Memory lay_out(double2* start, const int pitch, const int q) {
    FreeMemory free = {(char*)start};
    Memory mem;
    mem.ts = take_targets(free, SLICE);
    mem.given = free.take<GivenTarget>((blockDim.x >> 5) * SLICE);
    mem.columns = free.take<Column>(pitch - 1);
    mem.M = {free.take<float>(SLICE * pitch), free.take<unsigned>(SLICE * pitch)};
    mem.prefix = free.take<int>(q + 1);
    mem.flag = free.take<bool>(q);
    return mem;
}

// The tile of p.
struct Tile {
    int p0, p1, width, pitch;  // positions p0 .. p1 - 1; columns of M for the tile; doubles per row of M
    double xx;                 // var(x | P)
    bool sound;                // all pivots of the prefix above the floor
};

// The findings of one warp about a slice of targets, in shared memory.
struct Slice {
    int count, end;  // targets; position after the last one that was looked at
};

// Rank of the set with the suffix {p, k}. prefix_rank: rank_from of the prefix.
DEVICE u64 rank_of(const Binomials& binom, const u64 prefix_rank, const int d, const int p, const int k) {
    return prefix_rank - binom(d - 1 - p, 2) - binom(d - 1 - k, 1);
}

// Lists the next slice of targets from position `from` on: targets that no set up to the item's first set, of rank
// `rank`, is known to separate. One warp.
DEVICE void find_slice(const Graph& g, const Level& lv, const Row& row, const Memory& mem, const Tile& tile,
                       const u64 rank, const int from, Slice& slice) {
    const Targets& ts = mem.ts;
    int n = 0, a0 = from;
    for (; a0 < row.d && n + 32 <= SLICE; a0 += 32) {
        const int a = a0 + (threadIdx.x & 31);
        const bool live = a < row.d && is_target(g, row, a, rank) && row.outside(a);
        const unsigned mask = __ballot_sync(FULL, live);
        if (live) {
            const int t = n + lanes_before(mask);
            ts.position[t] = a;
            ts.cut[t] = NO_CUT;
            ts.least[t] = *(volatile u64*)&g.least[row.e0 + a];
        }
        n += __popc(mask);
    }
    if ((threadIdx.x & 31) == 0) slice = {n, a0};
}

// The number of the target with position a, or -1 if that is none of the n targets.
DEVICE int number_of(const Targets& ts, const int n, const int a) {
    const int t = first_not_below(ts.position, n, a);
    return t < n && ts.position[t] == a ? t : -1;
}

// Fills the columns `to` .. `to` + width - 1 of M, the covariances of the n targets with the positions from c0 on, and
// mem.columns of these; positions from `end` on, which no suffix has, repeat the last one. Whole block.
DEVICE void fill(const Row& row, const Memory& mem, const Tile& tile, const int n, const int to, const int width,
                 const int c0, const int end) {
    for (int c = threadIdx.x; c < width; c += blockDim.x) {
        const int a = min(c0 + c, end - 1);
        mem.columns[to + c] = {given(row, a, a), given(row, row.d, a), number_of(mem.ts, n, a)};
    }
    fill_cells(row, mem.M, n * width, [&](const int i) -> Cell {
        const int t = i / width, c = i % width;
        return {t * tile.pitch + to + c, mem.ts.position[t], min(c0 + c, end - 1)};
    });
}

// Fills moment and quick of n targets. Whole block.
DEVICE void look_at_targets(const Level& lv, const Row& row, const Memory& mem, const Tile& tile, const int n) {
    const Targets& ts = mem.ts;
    for (int t = threadIdx.x; t < n; t += blockDim.x) {
        const int a = ts.position[t];
        ts.moment[t] = make_double2(given(row, a, row.d), given(row, a, a));
        ts.quick[t] = quick_target(ts.moment[t], ts.least[t], lv.sure_out, t * tile.pitch);
    }
    __syncthreads();
    pad(ts, n);
}

// A lane's suffix: the members p, the same in the whole warp, and k.
struct Members {
    int p, k;                   // their columns of M
    double pp, kp, kk, xp, xk;  // covariances given the prefix, each named after its two variables
};

// The tests of suffixes with one p in single precision, for `sweep`; see InRow. The operations are as in Quick, with
// cov(x,y) scaled after p instead of before it: the rounded numbers are at most 1 in either case.
struct GivenP {
    const GivenTarget* given;     // of the targets
    const float* column;          // of M, of k
    int pitch, p, k;              // of M; the numbers of p and k if they are targets
    float R, s, g, scale, slack;  // R_kp, s_k and g_k, see Quick
    // As test_quickly, of target t.
    DEVICE void test(const int t, const GivenTarget& y, float& num2, float& v) const {
        const float u = s * fmaf(-R, y.u, column[t * pitch]), num = fmaf(-u, g, y.xy * scale);
        num2 = num * num;
        v = fmaf(-u, u, y.yy);
    }
    DEVICE bool passes(const int t) const {
        const GivenTarget y = given[t];
        float num2, v;
        test(t, y, num2, v);
        return (t == k) | settled(num2, v, y.bound, slack);
    }
    DEVICE bool tests(const int t) const { return t != p; }
};

// Fills `given` [SLICE] of n targets, and repeats the last target behind them. p itself, which is no target, mostly
// passes. One warp.
DEVICE GivenP given_p(const Memory& mem, const Tile& tile, const Members& m, const int n, GivenTarget* given) {
    Quick<2> q;
    const float A[6] = {(float)m.pp, (float)m.kp, (float)m.kk, (float)m.xp, (float)m.xk, (float)tile.xx};
    factorise_quickly<2>(q, A, tile.sound);
    const int p = mem.columns[m.p].target;
    const float g = q.s[0] * A[3];
    __syncwarp();  // the list before has been read
    for (int t = threadIdx.x & 31; t < min(n + PADDING, SLICE); t += 32) {
        const QuickTarget y = mem.ts.quick[t];
        const float u = q.s[0] * mem.M.high[y.row + m.p];
        given[t] = {fmaf(-u, g, y.xy), fmaf(-u, u, y.yy), __uint_as_float(y.bound), u};
        if (t == p) given[t] = {0.0f, __uint_as_float(0x7f800000u), -1.0f, 0.0f};
    }
    __syncwarp();
    return {given, mem.M.high + m.k, tile.pitch, p, mem.columns[m.k].target, q.R[0], q.s[1], q.g[1], q.scale, q.slack};
}

// The suffix for tests in double precision; k0: position of the first column of k's tile.
DEVICE Suffix<2> exact_suffix(const Tile& tile, const Members& m, const int k0, const unsigned number) {
    Suffix<2> f;
    f.number = number;
    f.inv[0] = 1.0 / m.pp;
    f.L[0] = m.kp * f.inv[0];
    const double kk = fma(-m.kp, f.L[0], m.kk), xk = fma(-f.L[0], m.xp, m.xk);
    f.inv[1] = 1.0 / kk;
    f.gx[0] = m.xp * f.inv[0];
    f.gx[1] = xk * f.inv[1];
    f.vx = fma(-xk, f.gx[1], fma(-m.xp, f.gx[0], tile.xx));
    f.sound = tile.sound && m.pp > PIVOT_FLOOR && kk > PIVOT_FLOOR && f.vx > PIVOT_FLOOR;
    if (!f.sound) f.vx = nan_value();
    f.s[0] = f.at[0] = m.p;
    f.s[1] = m.k;
    f.at[1] = k0 - tile.p0 + m.k - tile.width;
    return f;
}

// Tests all suffixes of the tile against n targets. Whole block.
template <bool ILL>
DEVICE void test_tile(const Level& lv, const Row& row, const Memory& mem, const Tile& tile, const CanonicalInput& input,
                      const int n) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    for (int k0 = tile.p0 + 1; k0 < row.d; k0 += TILE) {
        __syncthreads();
        fill(row, mem, tile, n, tile.width, TILE, k0, row.d);
        __syncthreads();
        for (int p = tile.p0 + warp; p < tile.p1; p += warps) {
            if (k0 + TILE <= p + 1) continue;
            const int k = k0 + lane;
            const double kp = given(row, p, min(k, row.d - 1));
            const auto members = [&]() -> Members {
                const int p_at = p - tile.p0, k_at = tile.width + lane;
                const Column &of_p = mem.columns[p_at], &of_k = mem.columns[k_at];
                return {p_at, k_at, of_p.var, kp, of_k.var, of_p.cov, of_k.cov};
            };
            const unsigned number = ((unsigned)(p - tile.p0) << K_BITS) | (unsigned)k;
            const auto exact = [&] { return exact_suffix(tile, members(), k0, number); };
            const GivenP quick = given_p(mem, tile, members(), n, mem.given + warp * SLICE);
            sweep<2, 4, ILL>(lv, input, quick, exact, mem.ts, n, mem.M, number, k > p && k < row.d);
        }
    }
    __syncthreads();
}

// Reports the findings for the slice. Whole block.
DEVICE void report_slice(const Graph& g, const Level& lv, const Row& row, const Memory& mem, const Tile& tile,
                         const u64 prefix_rank, const int n) {
    for (int t = threadIdx.x; t < n; t += blockDim.x) {
        const int a = mem.ts.position[t];
        const unsigned cut = mem.ts.cut[t];
        atomicMin(&g.least[row.e0 + a], mem.ts.least[t]);
        if (cut == NO_CUT) continue;
        const int p = tile.p0 + (int)(cut >> K_BITS), k = (int)(cut & ((1u << K_BITS) - 1));
        const u64 rank = rank_of(lv.binom, prefix_rank, row.d, p, k);
        report_separated(g, row.e0 + a, row.x, neighbour(g, row.e0 + a, row.ids[a]), rank);
    }
    __syncthreads();
}

template <bool ILL>
__global__ void __launch_bounds__(256, 2) schur_tiles(const Graph g, const Level lv, const Queue queue, double* W_all,
                                                      const i64 w_doubles, const int ptile_width) {
    extern __shared__ double2 tiles_memory[];
    __shared__ Slice slice;
    __shared__ Item item;
    __shared__ CanonicalInput input;
    const int q = lv.level - 2, warp = threadIdx.x >> 5, pitch = ptile_width + TILE + 1;
    const Memory mem = lay_out(tiles_memory, pitch, q);
    double* W = W_all + blockIdx.x * w_doubles;
    if (threadIdx.x == 0) fill_input(input, lv, mem.prefix, q);

    while (next_item(queue, lv, item)) {
        const int x = item.row;
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0), tiles = (d + ptile_width - 1) / ptile_width;
        int* ids = (int*)(W + (i64)w_pitch(q) * (d + 1));
        const Row row = {matrix_of(g, x), pitch_of(g, x), e0, ids, mem.prefix, W, x, d, q, w_pitch(q)};
        for (int a = threadIdx.x; a <= d; a += blockDim.x)
            ids[a] = a < d ? place_of_pair(g, e0 + a) : place_of_row(g, x);
        if (threadIdx.x == 0) subset_unrank(lv.binom, d - 2, q, item.number / tiles, mem.prefix);
        __syncthreads();
        const int ptile = (int)(item.number % tiles) * ptile_width;
        Tile tile = {max(row.after(), ptile), min(d - 1, ptile + ptile_width), ptile_width, pitch, 0.0, true};
        if (tile.p0 >= tile.p1) continue;  // this tile lies before the prefix's end
        if (threadIdx.x == 0) {
            fill_input(input, g, row);
            input.first = tile.p0;
        }
        const u64 prefix_rank = rank_from(lv.binom, d, lv.level, mem.prefix, q);
        const u64 first_rank = rank_of(lv.binom, prefix_rank, d, tile.p0, tile.p0 + 1);
        bool conditioned = false;
        for (int next = 0; next < d;) {
            if (warp == 0) find_slice(g, lv, row, mem, tile, first_rank, next, slice);
            __syncthreads();
            const int n = slice.count;
            next = slice.end;
            if (n == 0) {
                __syncthreads();
                continue;
            }
            if (!conditioned) {
                tile.sound = condition(row, 0, mem.flag);
                tile.xx = given(row, d, d);
                conditioned = true;
            }
            look_at_targets(lv, row, mem, tile, n);
            fill(row, mem, tile, n, 0, ptile_width, tile.p0, tile.p1);
            test_tile<ILL>(lv, row, mem, tile, input, n);
            report_slice(g, lv, row, mem, tile, prefix_rank, n);
        }
    }
}
