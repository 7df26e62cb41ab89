// factors.cu -- the inverses of the Cholesky factors of blocks on the diagonals of many matrices.
//   Work    a block of threads per matrix; each thread has one column of the inverse
//   Launch  as many blocks as there are matrices, of WIDTH threads
//   M       [m, n, n] symmetric positive definite in the block; only its lower triangle is read
//   X       [m, n, n] the block is written: lower triangle and zeros above it; NaN if the block is not positive definite
//   first, width    the block is of rows and columns first .. first + width - 1, of at most WIDTH
#include "common/subsets.cuh"

constexpr int WIDTH = 64;  // as CHOLESKY_BLOCK in pycupc/engines/gpu/device_tuning.py

extern "C" __global__ void invert_blocks(const double* __restrict__ M, double* X, const i64 n, const i64 first,
                                         const int width) {
    __shared__ double L[WIDTH][WIDTH + 1];  // a column in different banks
    const i64 corner = ((i64)blockIdx.x * n + first) * n + first;
    const int column = threadIdx.x;
    if (column < width)
        for (int i = 0; i < width; ++i) L[i][column] = M[corner + i * n + column];
    __syncthreads();
    for (int k = 0; k < width; ++k) {
        if (column == k) L[k][k] = sqrt(L[k][k]);
        __syncthreads();
        if (column > k && column < width) L[column][k] /= L[k][k];
        __syncthreads();
        if (column > k && column < width)  // the thread's row, up to the diagonal
            for (int j = k + 1; j <= column; ++j) L[column][j] -= L[column][k] * L[j][k];
        __syncthreads();
    }
    if (column >= width) return;
    for (int i = 0; i < width; ++i) {
        double sum = i == column ? 1.0 : 0.0;
        for (int k = column; k < i; ++k) sum -= L[i][k] * X[corner + k * n + column];
        X[corner + i * n + column] = i < column ? 0.0 : sum / L[i][i];
    }
}
