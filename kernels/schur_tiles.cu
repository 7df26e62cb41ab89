// schur_tiles.cu -- rows too wide for schur_sets: T = 2, the last two members from a tile of ptile_width x 32 columns, targets in slices of 128.
//   Work    item = (row, base Q, tile of the last but one member); inside, slices of targets and tiles of the last member
//   Launch  persistent grid; block 256; dynamic shared memory as tiles_shared(); W in global memory, w_doubles a block
#include "schur.cuh"

constexpr int TILE = 32, SLICE = 128;  // columns of the last member, targets
template <bool SINGULAR>
__global__ void __launch_bounds__(256, 2) schur_tiles(const Graph g, const Level lv, const Queue queue, double* W_all,
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
    __shared__ int live_count, slice_end;
    __shared__ Item item;
    double* W = W_all + blockIdx.x * w_doubles;             // [d + 1][w_pitch(q)], then ids [d + 1]
    __shared__ Place w;
    if (threadIdx.x == 0) place_block(w, g, lv, Q, q, warps);
    const int stride = lv.stride, wp = w_pitch(q);

    while (next_item(queue, lv, item)) {
        const int x = item.row;
        const i64 e0 = g.start[x];
        const int d = (int)(g.start[x + 1] - e0), tiles = (d + PTILE - 1) / PTILE;
        const u64 base = item.number / tiles;
        const int ptile = (int)(item.number % tiles);
        int* ids = (int*)(W + (i64)wp * (d + 1));
        for (int a = threadIdx.x; a <= d; a += blockDim.x) ids[a] = a < d ? g.column[e0 + a] : x;
        if (threadIdx.x == 0) subset_unrank(lv.binom, stride, d - T, q, base, Q);
        __syncthreads();
        const int start = q ? Q[q - 1] + 1 : 0, p0 = max(start, ptile * PTILE), p1 = min(d - 1, ptile * PTILE + PTILE);
        if (p0 >= p1) continue;                             // this tile lies before the base's end
        if (threadIdx.x == 0) { w.ids = ids; w.x = x; w.first = p0; }
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
                if (lane == 0) { live_count = n; slice_end = a0; }
            }
            __syncthreads();
            const int n = live_count;
            next = slice_end;
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
                    sweep<2, 4, SINGULAR>(g, lv, w, f, ts, n, M, ((unsigned)(p - p0) << 26) | (unsigned)max(k0, p + 1));
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

