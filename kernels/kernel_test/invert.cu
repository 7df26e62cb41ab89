// invert.cu -- the inverses of the Cholesky factors of blocks on the diagonals of many symmetric positive definite
//   matrices.
//   Work    a block of threads per matrix; each thread holds ROWS numbers of one column in registers. Elimination below
//           the diagonal makes D L^-1 of a block L D L' in place: of each column, numbers of the block up to its step,
//           and numbers of the inverse from then on
//   Launch  as many blocks as there are matrices, of GROUPS * WIDTH threads
//   M       [m, n, n] only the lower triangle of the block is read
//   X       [m, n, n] the block is written: lower triangle, and zeros above it; NaN if M is not positive definite there
//   row, stride     numbers from a row, and from a matrix, to the next, of M and X
//   first, width    the block is of rows and columns first .. first + width - 1, of at most WIDTH
#include "common/warp.cuh"

constexpr int WIDTH = 64, GROUPS = 4, ROWS = WIDTH / GROUPS;  // WIDTH as BLOCK in kernel_matrices.py

extern "C" __global__ void __launch_bounds__(GROUPS* WIDTH)
    invert_factors(const double* __restrict__ M, double* X, const i64 row, const i64 stride, const i64 first,
                   const int width) {
    __shared__ double pivot_row[2][WIDTH], pivot_column[2][WIDTH];  // in turns, so that a step needs one barrier
    __shared__ double root[WIDTH];                                  // of the pivots, inverted
    const i64 corner = blockIdx.x * stride + first * row + first;
    const int column = threadIdx.x % WIDTH, group = threadIdx.x / WIDTH;
    double own[ROWS];  // of rows group, group + GROUPS, ...
    UNROLL
    for (int q = 0; q < ROWS; ++q) {
        const int i = group + GROUPS * q, low = min(i, column), high = max(i, column);
        own[q] = high < width ? M[corner + high * row + low] : 0.0;
    }
    for (int k = 0; k < width; ++k) {
        double *const along = pivot_row[k & 1], *const down = pivot_column[k & 1];
        UNROLL
        for (int q = 0; q < ROWS; ++q) {
            const int i = group + GROUPS * q;
            if (i == k) along[column] = own[q];
            if (column == k) down[i] = own[q];
        }
        __syncthreads();
        const double pivot = along[k], inverse = pivot > 0.0 ? 1.0 / pivot : nan_value();
        const double scaled = column == k ? inverse : along[column] * inverse;
        if (threadIdx.x == 0) root[k] = sqrt(inverse);
        UNROLL
        for (int q = 0; q < ROWS; ++q)
            if (group + GROUPS * q > k) own[q] = fma(-down[group + GROUPS * q], scaled, column == k ? 0.0 : own[q]);
    }
    __syncthreads();
    UNROLL
    for (int q = 0; q < ROWS; ++q) {
        const int i = group + GROUPS * q;
        if (i < width && column < width)
            X[corner + i * row + column] = i > column ? own[q] * root[i] : i == column ? root[i] : 0.0;
    }
}
