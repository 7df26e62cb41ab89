// correlation.cu -- correlation matrix from data: two-pass centring here, one float64 matrix product by cuBLAS between.
#include "common/warp.cuh"

// Sum of eight partial sums a column, in a fixed order; value of the column's `part`-th row of threads.
__device__ __forceinline__ double column_sum(const double value, double (*partial)[33]) {
    partial[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    double s = 0.0;
    for (int k = 0; k < 8; ++k) s += partial[k][threadIdx.x];
    __syncthreads();
    return s;
}

// Columns of X [n, p] in place: centred (the mean corrected once by the mean of the residuals), then unit length;
// a constant column becomes NaN.   Launch  grid ceil(p/32), block (32, 8): a thread takes every eighth row of a column
extern "C" __global__ void standardise(double* X, const int n, const int p) {
    __shared__ double partial[8][33];
    const int j = blockIdx.x * 32 + threadIdx.x;
    const bool in = j < p;
    double low = 0.0, high = 0.0;
    for (int pass = 0; pass < 2; ++pass) {
        double s = 0.0;
        for (int i = threadIdx.y; in && i < n; i += 8) {
            const double v = X[(i64)i * p + j];
            s += v;
            if (pass == 0) { low = i == (int)threadIdx.y ? v : fmin(low, v); high = i == (int)threadIdx.y ? v : fmax(high, v); }
        }
        const double mean = column_sum(s, partial) / n;
        for (int i = threadIdx.y; in && i < n; i += 8) X[(i64)i * p + j] -= mean;
        __syncthreads();
    }
    double s = 0.0;
    for (int i = threadIdx.y; in && i < n; i += 8) s += X[(i64)i * p + j] * X[(i64)i * p + j];
    const double length = sqrt(column_sum(s, partial));
    // constant columns: all partial ranges empty and equal
    partial[threadIdx.y][threadIdx.x] = (int)threadIdx.y < n ? low : X[0];
    __syncthreads();
    double least = partial[0][threadIdx.x];
    for (int k = 1; k < min(8, n); ++k) least = fmin(least, partial[k][threadIdx.x]);
    __syncthreads();
    partial[threadIdx.y][threadIdx.x] = high;
    __syncthreads();
    double most = partial[0][threadIdx.x];
    for (int k = 1; k < min(8, n); ++k) most = fmax(most, partial[k][threadIdx.x]);
    const double scale = least == most ? __longlong_as_double(0x7ff8000000000000LL) : 1.0 / length;
    for (int i = threadIdx.y; in && i < n; i += 8) X[(i64)i * p + j] *= scale;
}

// C = Z'Z: within [-1, 1], symmetric to the bit, 1 on the diagonal.   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 8)
extern "C" __global__ void tidy(double* C, const int p) {
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = blockIdx.y * 32 + r, j = blockIdx.x * 32 + threadIdx.x;
        if (i >= p || j >= p || i > j) continue;
        const double v = i == j ? 1.0 : C[(i64)i * p + j];
        C[(i64)i * p + j] = C[(i64)j * p + i] = v > 1.0 ? 1.0 : v < -1.0 ? -1.0 : v;
    }
}
