// inspect.cu -- one pass over the correlation matrix, before a run.
//   Work    tiles of 32 x 32 entries i <= j; the mirrored tile comes through shared memory
//   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 8)
//   C          [p, p] float64, row-major, read only
//   mirror     largest difference between an entry and its mirror, and excess over 1, that is allowed
//   last_bits  largest such difference that is taken for rounding
//   unit       largest difference between a diagonal entry and 1 that is allowed
//   facts      [4] smallest index i * p + j of: an entry that differs from its mirror (or is NaN where that is not);
//              an entry beyond +-1; the smallest i of a diagonal entry that is not 1 (NaN is allowed); and the smallest
//              index of an entry that differs from its mirror by more than rounding. ~0: none. The host sets them to ~0.
//   nan_count  [p] NaN entries per row; the host sets them to 0
#include "common/subsets.cuh"

extern "C" __global__ void inspect(const double* __restrict__ C, const int p, const double mirror,
                                   const double last_bits, const double unit, u64* facts, u64* nan_count) {
    __shared__ double other[32][33];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    if (x0 < y0) return;
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = x0 + r, j = y0 + threadIdx.x;
        if (i < p && j < p) other[r][threadIdx.x] = C[(i64)i * p + j];
    }
    __syncthreads();
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = y0 + r, j = x0 + threadIdx.x;
        if (i >= p || j >= p || i > j) continue;
        const i64 at = (i64)i * p + j;
        const double a = C[at], b = other[threadIdx.x][r];
        const bool na = a != a, nb = b != b;
        if (na) atomicAdd(&nan_count[i], 1ULL);
        if (i == j) {
            if (!na && !(fabs(a - 1.0) <= unit)) atomicMin(&facts[2], (u64)i);
            continue;
        }
        if (nb) atomicAdd(&nan_count[j], 1ULL);
        if (na != nb || (!na && !(fabs(a - b) <= mirror))) atomicMin(&facts[0], (u64)at);
        if (na != nb || (!na && !(fabs(a - b) <= last_bits))) {
            if ((u64)at < *(volatile u64*)&facts[3]) atomicMin(&facts[3], (u64)at);
        }
        if (fabs(a) > 1.0 + mirror) atomicMin(&facts[1], (u64)at);
        if (fabs(b) > 1.0 + mirror) atomicMin(&facts[1], (u64)((i64)j * p + i));
    }
}
