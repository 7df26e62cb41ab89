// matrices.cu -- Gaussian kernels of many sets of variables, and their centring.
#include "common/warp.cuh"

// Fill matrices with the kernels, of width 1, of sets of variables.
//   Work    a block of threads per row of a matrix
//   Launch  n by m blocks, of whole warps, at most 1024 threads
//   Z       [p, n] the variables; all of a set but the first are multiplied by `of_others`
//   members [m, d] the sets
//   K       [m, n, n] the kernels
//   means   [m, n] the means of their rows; may be null
extern "C" __global__ void fill_kernels(const double* __restrict__ Z, const int* __restrict__ members, const i64 n,
                                        const int d, const double of_others, double* K, double* means) {
    __shared__ double of_warp[32];
    const int* set = members + (i64)blockIdx.y * d;
    const i64 i = blockIdx.x, row = ((i64)blockIdx.y * n + i) * n;
    double sum = 0.0;
    for (i64 j = threadIdx.x; j < n; j += blockDim.x) {
        double distance = 0.0;
        for (int k = 0; k < d; ++k) {
            const double* v = Z + set[k] * n;
            const double difference = k ? of_others * (v[j] - v[i]) : v[j] - v[i];
            distance = fma(difference, difference, distance);
        }
        const double value = exp(-0.5 * distance);
        K[row + j] = value;
        sum += value;
    }
    if (!means) return;
    sum = sum_over_warp(sum);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < (int)blockDim.x / 32; ++w) sum += of_warp[w];
    means[blockIdx.y * n + i] = sum / n;
}

// Centre kernels, and add a number to their diagonals.
//   Work    a block of threads per row of a matrix
//   Launch  n by m blocks
//   K       [m, n, n] becomes H K H + ridge I with H = I - 11' / n
//   means   [m, n] the means of the rows of K
//   of_all  [m] the means of K
extern "C" __global__ void centre_kernels(double* K, const double* __restrict__ means,
                                          const double* __restrict__ of_all, const i64 n, const double ridge) {
    const i64 i = blockIdx.x, row = ((i64)blockIdx.y * n + i) * n;
    const double* mean = means + blockIdx.y * n;
    const double shift = of_all[blockIdx.y] - mean[i];
    for (i64 j = threadIdx.x; j < n; j += blockDim.x) K[row + j] += shift - mean[j] + (i == j ? ridge : 0.0);
}
