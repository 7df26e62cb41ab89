// definite.cuh -- the proof of a block about the matrix [n, n] of a row, on which the bounds rely. Whole block.
#pragma once
#include "common/warp.cuh"

constexpr double LEAST = 1e-4;            // in a row with bounds, all pivots, deltas and variances are above this
constexpr double PROOF = 1e-10;           // allowance for the rounding of a factorisation that proves something
constexpr double MOST_ASYMMETRY = 1e-14;  // largest difference between C_ab and C_ba
constexpr double MOST_OFF_ONE = 1e-9;     // a variance differs from 1 by less

// The row that the block takes next, p or more if none is left; f.left[0] counts the rows taken. If block b took the
// rows b, b + gridDim.x, ..., blocks would have unequal work where f.rows leaves out some rows.
DEVICE int next_row(const Pruning& f) {
    __shared__ int row;
    __syncthreads();
    if (threadIdx.x == 0) row = atomicAdd(f.left, 1);
    __syncthreads();
    return row;
}

// Whether A is symmetric, with ones on the diagonal and without NaN.
DEVICE bool regular(const double* A, const int n) {
    bool good = true;
    for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5)
        for (int j = threadIdx.x & 31; j <= i; j += 32)
            good = good && fabs(A[i * n + j] - A[j * n + i]) <= MOST_ASYMMETRY &&
                   (i != j || fabs(A[i * n + i] - 1.0) < MOST_OFF_ONE);
    return __syncthreads_and(good);
}

// Whether A is positive definite, by elimination in its lower triangle, which destroys A.
DEVICE bool positive(double* A, const int n) {
    for (int k = 0; k < n; ++k) {
        const double pivot = A[k * n + k];
        if (!(pivot > 1e-12)) return false;  // the same value in all threads: nobody writes it before the barrier
        const double inv = 1.0 / pivot;
        for (int i = k + 1 + (threadIdx.x >> 5); i < n; i += blockDim.x >> 5) {
            const double f = A[i * n + k] * inv;
            for (int j = k + 1 + (threadIdx.x & 31); j <= i; j += 32)
                A[i * n + j] = fma(-f, A[j * n + k], A[i * n + j]);
        }
        __syncthreads();
    }
    return true;
}
