// delta.cu -- find_delta: delta and margin of a row, on which its bounds rely, and which rows can have bounds.
#include "common/pairs.cuh"
#include "common/warp.cuh"
#include "pruning/definite.cuh"
#include "pruning/node.cuh"

constexpr double MARGIN = 1e-9;              // the margin of a row's bounds is this / least^1.5; see kernels/README.md
constexpr int ITERATIONS = 16, PROOFS = 30;  // of the power method; values of mu that are tried

// The block's shared memory besides A.
struct RowMemory {
    int ids[MOST_NEIGHBOURS + 1];                   // places of the neighbours in the row's matrix
    double b[MOST_NEIGHBOURS], d[MOST_NEIGHBOURS];  // work space; 1 / (R^-1)_kk, see find_delta
    double sum;
};

// The correlations of a row: its matrix, the numbers in a row of it, and the place of x there.
struct Correlations {
    const double* C;
    i64 pitch;
    int x;
    DEVICE double operator()(const int i, const int j) const { return C[i * pitch + j]; }
};

// Fills A [n, n] with the neighbours' correlations, less `mu` d and `less` on the diagonal. Whole block.
DEVICE void fill(const Correlations& C, const RowMemory& mem, const int n, double* A, const double mu,
                 const double less) {
    for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5)
        for (int j = threadIdx.x & 31; j < n; j += 32) {
            const double v = C(mem.ids[i], mem.ids[j]);
            A[i * n + j] = i == j ? v - mu * mem.d[i] - less : v;
        }
    __syncthreads();
}

// Replaces A by -A^-1, by sweep operations; false if a pivot is not above LEAST. Whole block; b is work space.
DEVICE bool sweep_all(double* A, const int n, double* b) {
    for (int k = 0; k < n; ++k) {
        const double pivot = A[k * n + k];
        if (!(pivot > LEAST)) return false;
        const double inv = 1.0 / pivot;
        for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = A[i * n + k];
        __syncthreads();
        for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5) {
            const double f = b[i] * inv;
            for (int j = threadIdx.x & 31; j < n; j += 32) {
                double& v = A[i * n + j];
                if (i == k) v = j == k ? -inv : b[j] * inv;
                else v = j == k ? f : fma(-f, b[j], v);
            }
        }
        __syncthreads();
    }
    return true;
}

// Sum over the block of `v`, in all threads. sum: in shared memory.
DEVICE double block_sum(double v, double& sum) {
    __syncthreads();
    if (threadIdx.x == 0) sum = 0.0;
    __syncthreads();
    v = sum_over_warp(v);
    if ((threadIdx.x & 31) == 0) atomicAdd(&sum, v);
    __syncthreads();
    return sum;
}

// Replaces A = -R^-1 by D^1/2 R^-1 D^1/2, the inverse scaled to ones on its diagonal. Whole block; b is work space.
DEVICE void scale_inverse(double* A, const int n, RowMemory& mem) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) mem.b[i] = sqrt(mem.d[i]);
    __syncthreads();
    for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5)
        for (int j = threadIdx.x & 31; j < n; j += 32) A[i * n + j] *= -mem.b[i] * mem.b[j];
    __syncthreads();
}

// An estimate from below of the largest eigenvalue of A, by the power method. Whole block; b is work space.
DEVICE double largest_eigenvalue(const double* A, const int n, RowMemory& mem) {
    double scale = 1.0 / n, value = 1.0;  // scale: 1 / |b|^2
    for (int i = threadIdx.x; i < n; i += blockDim.x) mem.b[i] = (i * 2654435761u >> 16) & 1 ? 1.0 : -1.0;
    double next[(MOST_NEIGHBOURS + 7) / 8];  // entries of this warp's rows, 8 warps at least
    for (int step = 0; step < ITERATIONS; ++step) {
        __syncthreads();
        double square = 0.0;
        int r = 0;
        for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5, ++r) {
            double v = 0.0;
            for (int j = threadIdx.x & 31; j < n; j += 32) v = fma(A[i * n + j], mem.b[j], v);
            v = sum_over_warp(v);
            next[r] = v;
            square += v * v;
        }
        square = block_sum((threadIdx.x & 31) ? 0.0 : square, mem.sum);
        value = sqrt(square * scale);
        r = 0;
        const double norm = rsqrt(square);
        for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5, ++r)
            if ((threadIdx.x & 31) == 0) mem.b[i] = next[r] * norm;
        scale = 1.0;
    }
    __syncthreads();
    return value;
}

// var(x | all neighbours), from A = -R^-1. Whole block; b is work space.
DEVICE double variance_left(const Correlations& C, const double* A, const int n, RowMemory& mem) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) mem.b[i] = C(C.x, mem.ids[i]);
    __syncthreads();
    double v = 0.0;
    for (int i = threadIdx.x >> 5; i < n; i += blockDim.x >> 5)
        for (int j = threadIdx.x & 31; j < n; j += 32) v = fma(A[i * n + j] * mem.b[i], mem.b[j], v);
    return C(C.x, C.x) + block_sum(v, mem.sum);
}

// Delta and margin of every row that is worth a search.
//   delta = mu d, where d_k = 1 / (R^-1)_kk and mu is an estimate, a little low, of the smallest eigenvalue of
//   d^-1/2 R d^-1/2. A factorisation proves that R - diag(delta) is positive definite; where it fails, mu is lowered.
//   Work    one row at a time per block
//   Launch  any grid, block 256; dynamic shared memory `room` doubles, for rows whose matrix fits
//   Reads   g.C, g.start, g.column, lv.binom, f.least_sets, f.rows
//   Writes  f.delta, f.margin
//   f.work  per block the matrix [n, n] of a row that does not fit `room`
//   widest  largest degree of a row with bounds, at most MOST_NEIGHBOURS
extern "C" __global__ void __launch_bounds__(256, 1)
    find_delta(const Graph g, const Level lv, const Pruning f, const int widest, const int room) {
    extern __shared__ double row_matrix[];
    __shared__ RowMemory mem;
    for (int x; (x = next_row(f)) < (int)g.p;) {
        const i64 e0 = g.start[x];
        const int n = (int)(g.start[x + 1] - e0);
        if (threadIdx.x == 0) f.margin[x] = 0.0;
        if (__syncthreads_or(*lv.stop)) continue;  // not the end: the kernels that follow read all margins
        if (n <= lv.level || n > widest || (f.rows && !f.rows[x])) continue;
        if ((double)lv.binom(n - 1, lv.level) < f.least_sets) continue;
        double* A = n * n <= room ? row_matrix : f.work + blockIdx.x * f.work_doubles;
        const Correlations C = {matrix_of(g, x), pitch_of(g, x), place_of_row(g, x)};
        bool good = fabs(C(C.x, C.x) - 1.0) < MOST_OFF_ONE;
        for (int k = threadIdx.x; k < n; k += blockDim.x) {
            const int y = place_of_pair(g, e0 + k);
            good = good && fabs(C(C.x, y) - C(y, C.x)) <= MOST_ASYMMETRY;
            mem.ids[k] = y;
            mem.d[k] = 0.0;
        }
        if (!__syncthreads_and(good)) continue;
        fill(C, mem, n, A, 0.0, 0.0);
        if (!regular(A, n) || !sweep_all(A, n, mem.b)) continue;
        for (int k = threadIdx.x; k < n; k += blockDim.x) mem.d[k] = -1.0 / A[k * n + k];
        __syncthreads();
        const double vx = variance_left(C, A, n, mem);
        if (!(vx > LEAST)) continue;
        scale_inverse(A, n, mem);
        double mu = 0.98 / largest_eigenvalue(A, n, mem);
        bool proven = false;
        for (int i = 0; i < PROOFS && !proven; ++i) {
            if (i) mu *= 0.9;
            __syncthreads();
            fill(C, mem, n, A, mu, PROOF);
            proven = positive(A, n);
        }
        double least = vx;
        for (int k = 0; k < n; ++k) least = fmin(least, mu * mem.d[k]);
        if (!proven || !(least > LEAST)) continue;
        for (int k = threadIdx.x; k < n; k += blockDim.x) f.delta[e0 + k] = mu * mem.d[k];
        if (threadIdx.x == 0) f.margin[x] = MARGIN / (least * sqrt(least));
    }
}
