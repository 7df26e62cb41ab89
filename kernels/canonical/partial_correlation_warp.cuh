// partial_correlation_warp.cuh -- the canonical formula by a whole warp, one row of the matrix per lane at a time: each
//   entry goes through the operations of partial_correlation.cuh in the same order, hence the bits are the same.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/warp.cuh"

// Gaussian elimination of the first `size` variables of A [size + 2, size + 2]; false if a pivot is not above
// EXACT_PIVOT.
DEVICE bool eliminate_by_warp(double* A, const int size) {
    const int m = size + 2, lane = threadIdx.x & 31;
    bool sound = true;
    for (int k = 0; k < size && sound; ++k) {
        const double pivot = A[k * m + k];
        sound = pivot > EXACT_PIVOT;
        if (sound)
            for (int i = k + 1 + lane; i < m; i += 32) {
                const double f = A[i * m + k] / pivot;
                for (int j = k + 1; j <= i; ++j) A[i * m + j] = A[i * m + j] - f * A[j * m + k];
            }
        __syncwarp();
    }
    return sound;
}

// r of x and y given S, in all lanes; size >= 2, and S has step 1.
//   A      [size + 2, size + 2] work space, in any memory
//   spare  canonical_doubles(size) doubles in global memory, for double-double; A may be its beginning
__device__ double partial_correlation_by_warp(const double* C, const i64 p, const int x, const int y, const int* S,
                                              const int size, double* A, double* spare) {
    const int m = size + 2, lane = threadIdx.x & 31;
    bool nan = false;
    for (int i = lane; i < m; i += 32) {
        const int a = i < size ? S[i] : (i == size ? x : y);
        for (int j = 0; j <= i; ++j) {
            const double v = C[a * p + (j < size ? S[j] : (j == size ? x : y))];
            nan = nan || v != v;
            A[i * m + j] = v;
        }
    }
    __syncwarp();
    if (__any_sync(FULL, nan)) return 0.0;
    const bool sound = eliminate_by_warp(A, size);
    const double* last = A + size * (m + 1);  // the 2 x 2 block of x and y
    const Block block = {last[0], last[m + 1], last[m]};
    __syncwarp();
    if (sound && block.sound()) return block.r();
    double r = 0.0;
    if (lane == 0) r = clip_r(exact_r(C, p, x, y, S, size, spare, 1));
    return __shfl_sync(FULL, r, 0);
}
