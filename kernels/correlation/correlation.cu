// correlation.cu -- correlations of data: columns centred and scaled here, one product by cuBLAS, then exact symmetry and
//   equal correlations for identical columns. See pycupc/engines/gpu/correlation.py for the definition.
//   X  [n, p] float64, row-major: the data, then the scaled columns; the host uploads it, standardise changes it in place
//   C  [p, p] float64, row-major: the correlations; cuBLAS writes it, mirror and copy_identical change it in place
#include "common/warp.cuh"

// Sum over the eight threads of a column, in a fixed order.
DEVICE double column_sum(const double value, double (*partial)[33]) {
    partial[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    double s = 0.0;
    for (int k = 0; k < 8; ++k) s += partial[k][threadIdx.x];
    __syncthreads();
    return s;
}

// Centres the columns (the mean is corrected once, by the mean of the residuals) and scales them to unit length. A
// constant column becomes NaN.
//   Work    32 columns per block; a thread takes every eighth row of a column
//   Launch  grid ceil(p/32), block (32, 8)
extern "C" __global__ void standardise(double* X, const int n, const int p) {
    __shared__ double partial[8][33];
    __shared__ int varies[32];
    const int j = blockIdx.x * 32 + threadIdx.x, rows = j < p ? n : 0;
    if (threadIdx.y == 0) varies[threadIdx.x] = 0;
    __syncthreads();
    const double top = rows ? X[j] : 0.0;
    for (int pass = 0; pass < 2; ++pass) {
        double s = 0.0;
        bool differs = false;
        for (int i = threadIdx.y; i < rows; i += 8) {
            const double v = X[(i64)i * p + j];
            s += v;
            differs = differs || v != top;
        }
        if (pass == 0 && differs) atomicOr(&varies[threadIdx.x], 1);
        const double mean = column_sum(s, partial) / n;
        for (int i = threadIdx.y; i < rows; i += 8) X[(i64)i * p + j] -= mean;
    }
    double s = 0.0;
    for (int i = threadIdx.y; i < rows; i += 8) s += X[(i64)i * p + j] * X[(i64)i * p + j];
    const double length = sqrt(column_sum(s, partial));
    const double scale = varies[threadIdx.x] ? 1.0 / length : nan_value();
    for (int i = threadIdx.y; i < rows; i += 8) X[(i64)i * p + j] *= scale;
}

// C within [-1, 1], symmetric to the bit, 1 on the diagonal: the upper triangle counts.
//   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 8)
extern "C" __global__ void mirror(double* C, const int p) {
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = blockIdx.y * 32 + r, j = blockIdx.x * 32 + threadIdx.x;
        if (i >= p || j >= p || i > j) continue;
        const double v = i == j ? 1.0 : C[(i64)i * p + j];
        C[(i64)i * p + j] = C[(i64)j * p + i] = v > 1.0 ? 1.0 : v < -1.0 ? -1.0 : v;
    }
}

// The first of several identical columns stands for all: their entries become its entries. NaN, of constant columns, stays.
//   first   [p] int32: the first column that is identical to this one; the host uploads it
//   Launch  grid (ceil(p/32), ceil(p/32)), block (32, 8)
extern "C" __global__ void copy_identical(double* C, const int* __restrict__ first, const int p) {
    for (int r = threadIdx.y; r < 32; r += 8) {
        const int i = blockIdx.y * 32 + r, j = blockIdx.x * 32 + threadIdx.x;
        if (i >= p || j >= p) continue;
        const int a = first[i], b = first[j];
        if ((a == i && b == j) || C[(i64)i * p + j] != C[(i64)i * p + j]) continue;
        C[(i64)i * p + j] = C[(i64)a * p + b];
    }
}
