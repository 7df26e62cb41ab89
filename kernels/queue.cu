// queue.cu -- what launches at levels >= 2 need beside the graph: binomial coefficients, leaves, the queue of work.
#include "engine.cuh"

// Columns k0 .. k1 - 1 of the binomial table (column 0: ones).  One thread an n.
extern "C" __global__ void binomial_table(u64* binom, const int stride, const int k0, const int k1) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= stride) return;
    for (int k = k0; k < k1; ++k)
        binom[(i64)k * stride + n] = k == 0 ? 1 : k > n ? 0 : 2 * k > n ? binom[(i64)(n - k) * stride + n]
                                                              : binomial_next(binom[(i64)(k - 1) * stride + n], n, k);
}

// Queue of a class of rows (low < degree <= high): offsets of the phases and the chunk of each row, see struct Queue.
// Bases of a row: C(d - leaf, level - leaf), times the column tiles when `tile` > 0.
//   Launch  grid phases, block 1024: one phase a block, a scan over the rows
__device__ u64 items_of(const i64* start, const int x, const u64* binom, const int stride, const int level, const int leaf,
                        const int low, const int high, const int tile, const double sets_an_item, u64& size) {
    const int d = (int)(start[x + 1] - start[x]);
    size = 1;
    if (d <= low || d > high || d <= level) return 0;
    const u64 bases = binom[(i64)(level - leaf) * stride + d - leaf];
    if (tile) return bases * (u64)((d + tile - 1) / tile);
    size = (u64)fmax(1.0, sets_an_item / ((double)binom[(i64)level * stride + d] / (double)bases));
    return (bases + size - 1) / size;
}

extern "C" __global__ void plan_phases(const i64* __restrict__ start, const int p, const u64* __restrict__ binom,
                                       const int stride, const int level, const int leaf, const int low, const int high,
                                       const int tile, const double sets_an_item, u64* offsets, u64* chunk, u64* next) {
    __shared__ u64 warp_sum[32], before[32];
    __shared__ u64 carry;
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5, phase = blockIdx.x;
    const bool last = phase + 1 == (int)gridDim.x;          // takes whatever is left
    const u64 first = (1ULL << phase) - 1, end = (2ULL << phase) - 1;
    u64* out = offsets + (i64)phase * (p + 1);
    u64 earlier = 0, size;                                  // items of all rows in the phases before this one
    for (int x = t; x < p; x += 1024) {
        earlier += min(first, items_of(start, x, binom, stride, level, leaf, low, high, tile, sets_an_item, size));
        if (phase == 0) chunk[x] = size;
    }
    for (int o = 16; o; o >>= 1) earlier += __shfl_xor_sync(FULL, earlier, o);
    if (lane == 0) before[warp] = earlier;
    __syncthreads();
    if (t == 0) {
        carry = 0;
        for (int w = 0; w < 32; ++w) carry += before[w];
        if (phase == 0) *next = 0;
    }
    __syncthreads();
    for (int b = 0; b < p; b += 1024) {
        const int x = b + t;
        u64 v = 0;
        if (x < p) {
            const u64 items = items_of(start, x, binom, stride, level, leaf, low, high, tile, sets_an_item, size);
            v = items <= first ? 0 : (items < end || last ? items - first : end - first);
        }
        u64 s = v;
        for (int o = 1; o < 32; o <<= 1) {
            const u64 u = __shfl_up_sync(FULL, s, o);
            if (lane >= o) s += u;
        }
        if (lane == 31) warp_sum[warp] = s;
        __syncthreads();
        if (warp == 0) {
            u64 w = warp_sum[lane];
            for (int o = 1; o < 32; o <<= 1) {
                const u64 u = __shfl_up_sync(FULL, w, o);
                if (lane >= o) w += u;
            }
            warp_sum[lane] = w;
        }
        __syncthreads();
        if (x < p) out[x] = carry + (warp ? warp_sum[warp - 1] : 0) + s - v;
        __syncthreads();
        if (t == 0) carry += warp_sum[31];
        __syncthreads();
    }
    if (t == 0) out[p] = carry;
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
