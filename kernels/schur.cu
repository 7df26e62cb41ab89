// schur.cu -- levels >= 2 of the schur engine: a CI test in a dozen operations, at any level.
//
//   Row x has neighbours at positions 0..d-1 (ascending) and one correlation matrix over them and x. A set S of the row
//   serves every target y of the row at once, so both sides of all edges are tested in one walk over subsets of adj(x).
//   S = Q + leaf: the base Q = the first level - T members, the leaf = the last T. M|Q, the matrix conditioned on Q, sits
//   in shared memory; a lane owns one leaf, factorises its T x T block of M|Q (L D L^T) in registers and then runs over
//   the targets y, for which conditioning on the leaf is one forward substitution:
//       u_i = M_y,s_i - sum_k L_ik u_k     var(y|S) = M_yy - sum u_i^2 / D_i     cov(x,y|S) = M_xy - sum u_i gx_i
//   All lanes look at the same y: its scalars are broadcasts, and consecutive leaves differ in the last member, so the
//   loads of a row of M are consecutive.
//   Order: bases and leaves are lexicographic, so rank(S) grows along the walk. A separating set offers its rank by a
//   64-bit atomicMin; a target whose rank is beaten by the present base is dropped. What remains is the smallest rank.
//   A test is settled at once when r^2 > bound_y = max(T^2 (1 + band), smallest r^2 seen) and all pivots are sound.
//   Everything else is rare and goes to `settle`: a new smallest r^2, a separating set, or a doubt for the canonical formula.
#include "engine.cuh"
#ifndef TILES_BLOCKS
#define TILES_BLOCKS 2
#endif
#ifndef TURN2
#define TURN2 4
#endif
#ifndef TURN3
#define TURN3 4
#endif
#ifndef TURN4
#define TURN4 2
#endif

// Targets of one base, in shared memory.
struct Targets {
    double2* moment;          // {cov(x, y | Q), var(y | Q)}
    double* bound;            // r^2 above which a test needs no attention
    u64* least;               // bits of the smallest r^2 so far
    int2* where;              // {offset of y's row in M, y's position counted from column 0 of M}
    int* position;            // position of y in adj(x)
    unsigned* cut;            // number (within the base) of the first separating leaf
};

template <int T>
struct Leaf {
    double L[T * (T - 1) / 2], inv[T], gx[T], vx;
    int s[T], at[T];          // columns of M, ascending; positions in adj(x), counted from that of column 0
    unsigned number;          // lexicographic number within the base
    bool valid, sound;        // a leaf of its own; all pivots above the floor
};

// What a doubtful test needs besides: where the row is, to call the canonical formula.
struct Place {
    const int* ids;           // variables of the row's positions
    const int* Q;             // positions of the base
    double* work;             // this warp's canonical work space; ends in room for S
    int x, q, first;          // row variable, size of the base, position of column 0 of M
};

// The lanes in `open` have a test of target t that was not settled at once. Converged call: the whole warp takes part.
template <int T>
__device__ __forceinline__ void settle(const Graph& g, const Level& lv, const Place& w, const Leaf<T>& f,
                                       const Targets& ts, const int t, bool open, const double num2, const double den,
                                       const double vy) {
    open = open && f.valid && f.number < *(volatile unsigned*)&ts.cut[t];
    bool doubt = open;
    if (open && f.sound && vy > PIVOT_FLOOR && num2 < ONE_MINUS_FLOOR * den) {
        if (num2 > lv.sure_out * den) {
            const double r2 = num2 / den;
            if (bits(r2) < atomicMin(&ts.least[t], bits(r2))) ts.bound[t] = fmax(r2, lv.sure_out);
            doubt = false;
        } else if (num2 < lv.sure_in * den) {
            atomicMin(&ts.cut[t], f.number);
            doubt = false;
        }
    }
    unsigned todo = __ballot_sync(FULL, doubt);
    while (todo) {
        const int who = __ffs((int)todo) - 1;
        todo &= todo - 1;
        if ((int)(threadIdx.x & 31) == who && f.number < *(volatile unsigned*)&ts.cut[t]) {
            const int l = lv.level;
            double* V = w.work + (l + 2) * (l + 2);
            int* S = (int*)(V + (l + 2) * (l + 2));
            for (int i = 0; i < w.q; ++i) S[i] = w.ids[w.Q[i]];
#pragma unroll
            for (int i = 0; i < T; ++i) S[w.q + i] = w.ids[w.first + f.at[i]];
            const double r = fabs(partial_correlation(g.C, g.p, w.x, w.ids[ts.position[t]], S, l, w.work, V));
            atomicAdd(lv.careful, 1ULL);
            if (r <= lv.cutoff) {
                atomicMin(&ts.cut[t], f.number);
            } else {
                const double r2 = r * r;
                if (bits(r2) < atomicMin(&ts.least[t], bits(r2))) ts.bound[t] = fmax(r2, lv.sure_out);
            }
        }
        __syncwarp();
    }
}

// Test the lane's leaf against targets [0, count); `lowest` is the smallest leaf number of the warp.
// H targets a turn: independent chains of operations, one vote. The high words compare as integers: that spares the
// float64 unit, and a NaN still fails the one float64 comparison.
template <int T, int H>
__device__ __forceinline__ void sweep(const Graph& g, const Level& lv, const Place& w, const Leaf<T>& f, const Targets& ts,
                                      const int count, const double* __restrict__ M, const unsigned lowest) {
    constexpr int FLOOR_WORD = 0x3e112e0c;                  // high word of 1.0000001e-9: above it, above PIVOT_FLOOR
    for (int t = 0; t < count; t += H) {
        double num2[H], den[H], vy[H];
        bool ok[H], all = true;
#pragma unroll
        for (int h = 0; h < H; ++h) {
            const int tt = min(t + h, count - 1);
            const int2 where = ts.where[tt];
            const double* row = M + where.x;
            const double2 moment = ts.moment[tt];
            const double bound = ts.bound[tt];
            double u[T], num = moment.x, v = moment.y;
            bool member = false;
#pragma unroll
            for (int i = 0; i < T; ++i) {
                u[i] = row[f.s[i]];
                member = member || where.y == f.at[i];
#pragma unroll
                for (int k = 0; k < i; ++k) u[i] = fma(-f.L[i * (i - 1) / 2 + k], u[k], u[i]);
                num = fma(-u[i], f.gx[i], num);
                v = fma(-u[i] * f.inv[i], u[i], v);
            }
            vy[h] = v;
            den[h] = f.vx * v;                              // vx is NaN where the leaf is not sound
            num2[h] = num * num;
            ok[h] = member || (num2[h] > bound * den[h] && __double2hiint(den[h]) - __double2hiint(num2[h]) >= 2 &&
                               __double2hiint(v) > FLOOR_WORD);
            all = all && ok[h];
        }
        if (__any_sync(FULL, !all && f.valid)) {
#pragma unroll
            for (int h = 0; h < H; ++h)
                if (t + h < count && lowest < ts.cut[t + h])
                    settle<T>(g, lv, w, f, ts, t + h, !ok[h], num2[h], den[h], vy[h]);
        }
    }
}

// Doubles a row of W takes: even for 16-byte loads, an odd number of 16-byte words against bank conflicts.
__host__ __device__ __forceinline__ int w_pitch(const int q) {
    const int even = (q + 1) & ~1;
    return q == 0 ? 0 : (even & 2 ? even : even + 2);
}

// v - sum over j < n of a[j] b[j]; both 16-byte aligned.
__device__ __forceinline__ double less_dot(double v, const double* a, const double* b, const int n) {
    int j = 0;
#pragma unroll 4
    for (; j + 2 <= n; j += 2) {
        const double2 s = *(const double2*)(a + j), t = *(const double2*)(b + j);
        v = fma(-s.x, t.x, v);
        v = fma(-s.y, t.y, v);
    }
    return j < n ? fma(-a[j], b[j], v) : v;
}

// Row a of W: W_aj = cov(q_j, a | q_0..q_{j-1}) / sd(q_j | q_0..q_{j-1}) for all positions a and x (= d), so that
// cov(a, b | Q) = C_ab - W_a . W_b. Columns from .. q - 1; whole block. False where a pivot is not sound.
__device__ __forceinline__ bool condition(const Graph& g, const int* ids, const int* Q, const int q, const int from,
                                          const int d, double* W, bool* flag) {
    const int pitch = w_pitch(q);
    for (int j = from; j < q; ++j) {
        const double* c = g.C + (i64)ids[Q[j]] * g.p;
        const double* pivot_row = W + Q[j] * pitch;
        const double pivot = less_dot(c[ids[Q[j]]], pivot_row, pivot_row, j);
        const double scale = rsqrt(pivot);
        for (int a = threadIdx.x; a <= d; a += blockDim.x) {
            const double v = less_dot(c[ids[a]], pivot_row, W + a * pitch, j);
            W[a * pitch + j] = v * scale;
        }
        if (threadIdx.x == 0) flag[j] = pivot > PIVOT_FLOOR;
        __syncthreads();
    }
    bool sound = true;
    for (int j = 0; j < q; ++j) sound = sound && flag[j];
    return sound;
}

// cov(a, b | Q)
__device__ __forceinline__ double given(const Graph& g, const int* ids, const int a, const int b, const int q,
                                        const double* W, const int pitch) {
    return less_dot(g.C[(i64)ids[a] * g.p + ids[b]], W + a * pitch, W + b * pitch, q);
}

// L D L^T of the leaf's block and x's forward substitution, from a matrix M with x in row `xrow`.
template <int T>
__device__ __forceinline__ void factorise(Leaf<T>& f, const double* M, const int pitch, const int xrow, const double vx) {
    double a[T * (T - 1) / 2 + 1], ux[T];
    f.vx = vx;
#pragma unroll
    for (int i = 0; i < T; ++i) {
        const double* row = M + f.s[i] * pitch;             // leaf columns are the first rows of M
        double dd = row[f.s[i]];
        ux[i] = M[xrow * pitch + f.s[i]];
#pragma unroll
        for (int j = 0; j < i; ++j) {
            double v = row[f.s[j]];
#pragma unroll
            for (int k = 0; k < j; ++k) v = fma(-a[i * (i - 1) / 2 + k], f.L[j * (j - 1) / 2 + k], v);
            a[i * (i - 1) / 2 + j] = v;
            f.L[i * (i - 1) / 2 + j] = v * f.inv[j];
        }
#pragma unroll
        for (int k = 0; k < i; ++k) {
            dd = fma(-a[i * (i - 1) / 2 + k], f.L[i * (i - 1) / 2 + k], dd);
            ux[i] = fma(-f.L[i * (i - 1) / 2 + k], ux[k], ux[i]);
        }
        f.sound = f.sound && dd > PIVOT_FLOOR;
        f.inv[i] = 1.0 / dd;
        f.gx[i] = ux[i] * f.inv[i];
        f.vx = fma(-ux[i], f.gx[i], f.vx);
    }
    f.sound = f.sound && f.vx > PIVOT_FLOOR;
    if (!f.sound) f.vx = __longlong_as_double(0x7ff8000000000000LL);
}

// Rows whose whole M|Q fits shared memory (degree <= width).
//   Work    a block takes chunks of consecutive bases of a row from the queue; lanes are leaves (see the file's head)
//   Launch  persistent grid; block 32 to 512; dynamic shared memory as sets_shared() in pycupc/engines/gpu_schur.py
//   table   the T-subsets in colexicographic order, one byte a member: entry i holds the i-th subset, any range
template <int T>
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
    __shared__ int head[6];
    __shared__ u64 head_item;
    const i64 slot_doubles = canonical_doubles(lv.level);
    double* work = lv.work + ((i64)blockIdx.x * warps + warp) * slot_doubles;
    const int stride = lv.stride;

    while (true) {
        __syncthreads();
        if (warp == 0) {
            int row = 0;
            u64 item = 0;
            const bool more = take(queue, lv.stop, lane, row, item);
            if (lane == 0) { head[0] = more; head[1] = row; head_item = item; }
        }
        __syncthreads();
        if (!head[0]) return;
        const int x = head[1];
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0);
        const int m = d - T;                                // bases are q-subsets of the first m positions
        const u64 bases = lv.binom[(i64)q * stride + m], chunk = queue.chunk[x];
        u64 base = head_item * chunk;
        const u64 last = base + chunk < bases ? base + chunk : bases;
        for (int a = threadIdx.x; a < d; a += blockDim.x) ids[a] = g.column[e0 + a];
        if (threadIdx.x == 0) ids[d] = x;
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
            if (lane == 0) head[2] = n;
        }
        __syncthreads();
        const int n = head[2];
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
                if (lane == 0) { head[4] = count; head[5] = extra; }
            }
            for (int a = threadIdx.x; a <= r; a += blockDim.x) rows[a] = first + a;  // row r is x: position d
            __syncthreads();
            const int count = head[4], nrows = head[5];
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
            Place w;
            w.ids = ids; w.Q = Q; w.work = work; w.x = x; w.q = q; w.first = first;
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
                    sweep<T, (T == 2 ? TURN2 : T == 3 ? TURN3 : TURN4)>(g, lv, w, f, ts, targets, M, b);
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
                    if (lane == 0) head[4] = stay;
                }
                __syncthreads();
                targets = head[4];
            }
            if (base + 1 < last) {
                if (threadIdx.x == 0) head[3] = subset_next(m, q, Q);
                __syncthreads();
                from = head[3];
            }
        }
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            if (alive[i] >= 0) atomicMin(&g.least[e0 + alive[i]], item_least[i]);
    }
}

// Rows too wide for that: T = 2, the last two members from a tile of ptile_width x 32 columns, targets in slices of 128.
//   Work    item = (row, base Q, tile of the last but one member); inside, slices of targets and tiles of the last member
//   Launch  persistent grid; block 256; dynamic shared memory as tiles_shared(); W in global memory, w_doubles a block
constexpr int TILE = 32, SLICE = 128;  // columns of the last member, targets
extern "C" __global__ void __launch_bounds__(256, TILES_BLOCKS) schur_tiles(const Graph g, const Level lv, const Queue queue, double* W_all,
                                                              const i64 w_doubles, const int ptile_width) {
    const int T = 2, PTILE = ptile_width, PITCH = PTILE + TILE + 1;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5, q = lv.level - T;
    extern __shared__ double2 tiles_memory[];
    Targets ts;
    ts.moment = tiles_memory;
    ts.bound = (double*)(ts.moment + SLICE);
    ts.least = (u64*)(ts.bound + SLICE);
    ts.where = (int2*)(ts.least + SLICE);
    double* M = (double*)(ts.where + SLICE);
    ts.position = (int*)(M + SLICE * PITCH);
    ts.cut = (unsigned*)(ts.position + SLICE);
    int* Q = (int*)(ts.cut + SLICE);
    bool* flag = (bool*)(Q + q + 1);
    __shared__ int head[6];
    __shared__ u64 head_item;
    double* W = W_all + blockIdx.x * w_doubles;             // [d + 1][w_pitch(q)], then ids [d + 1]
    double* work = lv.work + ((i64)blockIdx.x * warps + warp) * canonical_doubles(lv.level);
    const int stride = lv.stride, wp = w_pitch(q);

    while (true) {
        __syncthreads();
        if (warp == 0) {
            int row = 0;
            u64 item = 0;
            const bool more = take(queue, lv.stop, lane, row, item);
            if (lane == 0) { head[0] = more; head[1] = row; head_item = item; }
        }
        __syncthreads();
        if (!head[0]) return;
        const int x = head[1];
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0), tiles = (d + PTILE - 1) / PTILE;
        const u64 base = head_item / tiles;
        const int ptile = (int)(head_item % tiles);
        int* ids = (int*)(W + (i64)wp * (d + 1));
        for (int a = threadIdx.x; a <= d; a += blockDim.x) ids[a] = a < d ? g.column[e0 + a] : x;
        if (threadIdx.x == 0) subset_unrank(lv.binom, stride, d - T, q, base, Q);
        __syncthreads();
        const int start = q ? Q[q - 1] + 1 : 0, p0 = max(start, ptile * PTILE), p1 = min(d - 1, ptile * PTILE + PTILE);
        if (p0 >= p1) continue;                             // this tile lies before the base's end
        u64 head_rank = lv.binom[(i64)lv.level * stride + d] - 1;
        for (int i = 0; i < q; ++i) head_rank -= lv.binom[(i64)(lv.level - i) * stride + (d - 1 - Q[i])];
        const u64 first_rank = head_rank - lv.binom[2 * (i64)stride + (d - 1 - p0)] - lv.binom[(i64)stride + (d - 2 - p0)];
        bool conditioned = q == 0, base_sound = true;
        for (int next = 0; next < d;) {                     // slices of live targets
            if (warp == 0) {
                int n = 0, a0 = next;
                for (; a0 < d && n + 32 <= SLICE; a0 += 32) {
                    const int a = a0 + lane;
                    bool live = false;
                    if (a < d) {
                        const int y = ids[a];
                        const unsigned char c = *(volatile unsigned char*)&g.G[(i64)x * g.p + y];
                        live = (x < y ? c != FIXED : c == LIVE) && *(volatile u64*)&g.best[e0 + a] > first_rank;
                        for (int j = 0; j < q; ++j) live = live && a != Q[j];
                    }
                    const unsigned mask = __ballot_sync(FULL, live);
                    if (live) {
                        const int t = n + __popc(mask & ((1u << lane) - 1));
                        ts.position[t] = a;
                        ts.where[t] = make_int2(t * PITCH, a - p0);
                        ts.cut[t] = NO_CUT;
                        ts.least[t] = *(volatile u64*)&g.least[e0 + a];
                        ts.bound[t] = fmax(from_bits(ts.least[t]), lv.sure_out);
                    }
                    n += __popc(mask);
                }
                if (lane == 0) { head[2] = n; head[3] = a0; }
            }
            __syncthreads();
            const int n = head[2];
            next = head[3];
            if (n == 0) { __syncthreads(); continue; }
            if (!conditioned) { base_sound = condition(g, ids, Q, q, 0, d, W, flag); conditioned = true; }
            for (int t = threadIdx.x; t < n; t += blockDim.x) {
                const int a = ts.position[t];
                ts.moment[t] = make_double2(given(g, ids, a, d, q, W, wp), given(g, ids, a, a, q, W, wp));
            }
            for (int i = threadIdx.x; i < n * PTILE; i += blockDim.x) {
                const int t = i / PTILE, c = i % PTILE;
                M[t * PITCH + c] = p0 + c < p1 ? given(g, ids, ts.position[t], p0 + c, q, W, wp) : 0.0;
            }
            for (int k0 = p0 + 1; k0 < d; k0 += TILE) {
                __syncthreads();
                for (int i = threadIdx.x; i < n * TILE; i += blockDim.x) {
                    const int t = i / TILE, c = i % TILE;
                    M[t * PITCH + PTILE + c] = k0 + c < d ? given(g, ids, ts.position[t], k0 + c, q, W, wp) : 0.0;
                }
                __syncthreads();
                for (int p = p0 + warp; p < p1; p += warps) {
                    if (k0 + TILE <= p + 1) continue;
                    const int k = k0 + lane;
                    Leaf<2> f;
                    f.valid = k < d && k > p;
                    const int kk = f.valid ? k : p + 1;     // any sound partner for idle lanes
                    f.number = ((unsigned)(p - p0) << 26) | (unsigned)k;
                    const double pp = given(g, ids, p, p, q, W, wp), kp = given(g, ids, p, kk, q, W, wp);
                    const double xp = given(g, ids, d, p, q, W, wp);
                    f.inv[0] = 1.0 / pp;
                    f.L[0] = kp * f.inv[0];
                    const double k2 = fma(-kp, f.L[0], given(g, ids, kk, kk, q, W, wp));
                    const double xk = fma(-f.L[0], xp, given(g, ids, d, kk, q, W, wp));
                    f.inv[1] = 1.0 / k2;
                    f.gx[0] = xp * f.inv[0];
                    f.gx[1] = xk * f.inv[1];
                    f.vx = fma(-xk, f.gx[1], fma(-xp, f.gx[0], given(g, ids, d, d, q, W, wp)));
                    f.sound = base_sound && pp > PIVOT_FLOOR && k2 > PIVOT_FLOOR && f.vx > PIVOT_FLOOR;
                    if (!f.sound) f.vx = __longlong_as_double(0x7ff8000000000000LL);
                    f.s[0] = f.at[0] = p - p0;
                    f.s[1] = PTILE + lane;
                    f.at[1] = k - p0;
                    Place w;
                    w.ids = ids; w.Q = Q; w.work = work; w.x = x; w.q = q; w.first = p0;
                    sweep<2, TURN2>(g, lv, w, f, ts, n, M, ((unsigned)(p - p0) << 26) | (unsigned)max(k0, p + 1));
                }
            }
            __syncthreads();
            for (int t = threadIdx.x; t < n; t += blockDim.x) {
                const int a = ts.position[t];
                atomicMin(&g.least[e0 + a], ts.least[t]);
                if (ts.cut[t] == NO_CUT) continue;
                const int p = p0 + (int)(ts.cut[t] >> 26), k = (int)(ts.cut[t] & ((1u << 26) - 1));
                const u64 rank = head_rank - lv.binom[2 * (i64)stride + (d - 1 - p)] - lv.binom[(i64)stride + (d - 1 - k)];
                atomicMin(&g.best[e0 + a], rank);
                const int y = ids[a];
                if (x < y) g.G[(i64)x * g.p + y] = g.G[(i64)y * g.p + x] = GONE_A;
            }
            __syncthreads();
        }
    }
}

// The T-subsets in colexicographic order: entry i, byte j = member j (bytes ascending), for subsets of {0..n-1}.
extern "C" __global__ void subset_table(unsigned* table, const int T, const int n, const unsigned entries) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= entries) return;
    u64 left = i;
    unsigned code = 0;
    int top = n - 1;
    for (int j = T; j >= 1; --j) {
        int c = top;
        while (binomial(c, j) > left) --c;
        left -= binomial(c, j);
        code |= (unsigned)c << (8 * (j - 1));
        top = c - 1;
    }
    table[i] = code;
}
