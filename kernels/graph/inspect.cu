// inspect.cu -- the defects of a correlation matrix, found in one pass: the host refuses it or goes on.
//   Work    one tile of 32 x 32 entries with i <= j per block, four entries per thread; the mirrored tile comes through
//           shared memory. Blocks below the diagonal return at once
//   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 8)
//   C          [p, p] float64, row-major, read only
//   mirror     largest allowed difference between an entry and its mirror, and largest allowed excess of |C_ij| over 1
//   last_bits  largest difference between an entry and its mirror that is taken for rounding
//   unit       largest allowed difference between a diagonal entry and 1
//   facts      [4] uint64, each ~0 if there is none; the host sets them to ~0, this kernel lowers them:
//              [0] smallest i * p + j where an entry and its mirror differ by more than `mirror`, or only one is NaN
//              [1] smallest i * p + j of an entry beyond +-1
//              [2] smallest i of a diagonal entry that is not 1 (NaN is allowed)
//              [3] as [0], by more than `last_bits`
//   nan_count  [p] uint64, NaN entries per row; the host sets them to 0, this kernel counts
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
