// moments.cu -- sums over the products of the elements of pairs of symmetric matrices A and B: what a test of two
//   variables needs of both.
//   Work    a warp per row, up to the diagonal, which is half of a matrix; rows in turns, as later ones are longer
//   Launch  `parts` by m blocks, of whole warps, at most 1024 threads
//   A, B    [places, n, n]
//   x, y    [m] the place of A, and of B, of each pair
//   lost_x, lost_y  [places, n] bounds on the part of the diagonal of A, and of B, that does not count
//   out     [m, parts, 5] sums over the rows of a block: of A o B; of its squares; of its diagonal; of lost_x times the
//           diagonal of B; of lost_y times the diagonal of A. The last three: of the numbers on the diagonal.
#include "common/warp.cuh"

constexpr int SUMS = 5;

extern "C" __global__ void moments(const double* __restrict__ A, const double* __restrict__ B,
                                   const int* __restrict__ x, const int* __restrict__ y,
                                   const double* __restrict__ lost_x, const double* __restrict__ lost_y, const i64 n,
                                   double* out) {
    __shared__ double of_warp[32][SUMS];
    const i64 at_x = x[blockIdx.y], at_y = y[blockIdx.y];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    double products = 0.0, squares = 0.0, diagonal = 0.0, by_x = 0.0, by_y = 0.0;
    for (i64 i = (i64)blockIdx.x * warps + warp; i < n; i += (i64)gridDim.x * warps) {
        const double *a = A + (at_x * n + i) * n, *b = B + (at_y * n + i) * n;
        UNROLL
        for (i64 j = lane; j < i; j += 32) {
            const double product = a[j] * b[j];
            products += 2.0 * product;  // also of row j, column i
            squares = fma(2.0 * product, product, squares);
        }
        if (lane == 0) {
            const double product = a[i] * b[i];
            products += product;
            squares = fma(product, product, squares);
            diagonal += product;
            by_x = fma(lost_x[at_x * n + i], b[i], by_x);
            by_y = fma(lost_y[at_y * n + i], a[i], by_y);
        }
    }
    products = sum_over_warp(products), squares = sum_over_warp(squares);
    if (lane == 0) {
        const double sums[SUMS] = {products, squares, diagonal, by_x, by_y};
        for (int k = 0; k < SUMS; ++k) of_warp[warp][k] = sums[k];
    }
    __syncthreads();
    if (threadIdx.x >= SUMS) return;
    double sum = 0.0;
    for (int w = 0; w < warps; ++w) sum += of_warp[w][threadIdx.x];
    out[((i64)blockIdx.y * gridDim.x + blockIdx.x) * SUMS + threadIdx.x] = sum;
}
