// correlation.cu -- the correlations of data, by the definition in pycupc/independence/gaussian/correlation.py and with
//   its bits: one thread makes the whole of a sum, by common/sums.cuh.
//   X        [n, p] float64, or float32, the data; entry (i, j) lies at i * row + j * column; read only
//   Z        [n, p] float64, row-major (or, of a sieve, by columns): the centred columns; centre writes it
//   squares  [p] float64: S_jj, the sum of squares of each centred column; centre writes it
//   C        [p, p] float64, row-major: the correlations; correlate writes it
#include "common/sums.cuh"
#include "common/warp.cuh"

// A column of X, numbers of type N, each value times `scale`.
template <typename N>
struct Column {
    const N* X;
    i64 row;
    int n;
    double scale;
    DEVICE double operator[](int i) const { return (double)X[i * row] * scale; }
};

constexpr int LOADS = 16;  // of a column that are under way at a time

// Writes the centred column to Z, its entries `step` apart; returns the sum of its squares. The mean is a double-double
// number, as in `_centre` of pycupc/independence/gaussian/blocked_products.py.
template <typename N>
DEVICE double centre_by_mean(const Column<N>& x, double* Z, const i64 step) {
    Double2x sum = {0.0, 0.0};
    for (int begin = 0; begin < x.n; begin += LOADS) {
        double v[LOADS];
        UNROLL
        for (int h = 0; h < LOADS; ++h) v[h] = begin + h < x.n ? x[begin + h] : 0.0;
        UNROLL
        for (int h = 0; h < LOADS; ++h) {  // zeros change no sum
            const Double2x next = two_sum(sum.high, v[h]);
            sum = {next.high, sum.low + next.low};
        }
    }
    const double n = x.n, mean = sum.high / n, rest = (fma(-mean, n, sum.high) + sum.low) / n;
    return sum_of_products<LOADS>(x.n, [&](int i, double& u, double& v) {
        const Double2x d = two_sum(x[i], -mean);
        u = v = Z[i * step] = d.high + (d.low - rest);
    });
}

// Centres the columns. One that is constant, or whose squares overflow or vanish, is scaled by a power of two and
// centred again; a constant one becomes NaN. The conditions are as in `Blocks.centre` of
// pycupc/independence/gaussian/blocked_products.py.
//   Work    one thread per column
//   Launch  grid ceil(p/32), block 32
//   to_row, to_column  entry (i, j) of Z lies at i * to_row + j * to_column
//   Template argument N: double or float, the type of X.
template <typename N>
__global__ void centre(const N* __restrict__ X, const i64 row, const i64 column, double* Z, double* squares,
                       const int n, const int p, const i64 to_row, const i64 to_column) {
    const int j = blockIdx.x * 32 + threadIdx.x;
    if (j >= p) return;
    Column<N> x = {X + j * column, row, n, 1.0};
    double sum = centre_by_mean(x, Z + j * to_column, to_row);
    if (!(sum > 1e-60 && sum < 1e60)) {
        double low = x[0], high = x[0];
        for (int i = 1; i < n; ++i) {
            low = fmin(low, x[i]);
            high = fmax(high, x[i]);
        }
        int exponent;
        frexp(fmax(-low, high), &exponent);
        x.scale = low == high ? nan_value() : ldexp(1.0, min(-exponent, 1000));
        sum = centre_by_mean(x, Z + j * to_column, to_row);
    }
    squares[j] = sum;
}

// C from the centred columns.
//   Work    one tile of 64 x 64 entries and its mirror image per block, 4 x 4 entries per thread; DEPTH observations at
//           a time lie in shared memory. Blocks below the diagonal return at once
//   Launch  grid (ceil(p/64), ceil(p/64)), block (16, 16)
constexpr int SIDE = 64, DEPTH = 16;
extern "C" __global__ void __launch_bounds__(256, 2)
    correlate(const double* __restrict__ Z, const double* __restrict__ squares, double* C, const int n, const int p) {
    __shared__ double2 left[DEPTH][SIDE / 2], right[DEPTH][SIDE / 2];
    const int y0 = blockIdx.y * SIDE, x0 = blockIdx.x * SIDE, tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    if (x0 < y0) return;
    TileOfSums S;
    for (int begin = 0; begin < n; begin += DEPTH) {
        for (int k = t >> 6; k < DEPTH; k += 4) {  // zeros beyond the last observation and column change no sum
            const int c = t & 63, i = begin + k;
            const double* from = Z + (i64)i * p + c;
            ((double*)left[k])[c] = i < n && y0 + c < p ? from[y0] : 0.0;
            ((double*)right[k])[c] = i < n && x0 + c < p ? from[x0] : 0.0;
        }
        __syncthreads();
        S.add<DEPTH>([&](const int k, double (&a)[4], double (&b)[4]) {
            UNROLL
            for (int h = 0; h < 2; ++h) {
                const double2 of_y = left[k][2 * ty + h], of_x = right[k][tx + 16 * h];
                a[2 * h] = of_y.x;
                a[2 * h + 1] = of_y.y;
                b[2 * h] = of_x.x;
                b[2 * h + 1] = of_x.y;
            }
        });
        S.close(begin + DEPTH);
        __syncthreads();
    }
    UNROLL
    for (int i = 0; i < 4; ++i) {
        UNROLL
        for (int j = 0; j < 4; ++j) {
            const int y = y0 + 4 * ty + i, x = x0 + 2 * tx + (j & 1) + 32 * (j >> 1);
            if (y >= p || x >= p) continue;
            const double r = S.sum(i, j) / sqrt(squares[y] * squares[x]);
            C[(i64)y * p + x] = C[(i64)x * p + y] = r > 1.0 ? 1.0 : r < -1.0 ? -1.0 : r;
        }
    }
}
