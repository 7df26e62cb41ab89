// partial_correlation.cuh -- the canonical formula: the one definition of a partial correlation, operation for operation
//   that of pycupc/gaussian/partial_correlation.py. It decides the tests that a fast formula cannot decide with certainty.
//   Compiles as CUDA (with --fmad=false) and as plain C++ (with -ffp-contract=off): the bits must equal the Numba twin's.
//   Arguments of all versions: C [p, p] float64, row-major; x and y, given the variables S[0..size-1], ascending; A: work
//   space of one thread, a matrix [m, m] and behind it two vectors V [2, m], m = size + 2. Consecutive entries of S, A
//   and V lie `step` apart: threads of a warp that take neighbouring spaces touch neighbouring words.
#pragma once
#include "common/subsets.cuh"
#ifdef __CUDACC__
#define SLOW_HD __host__ __device__ __noinline__ static
#else
#include <cmath>
#define SLOW_HD static
#endif

constexpr double R_MAX = 0.9999999;   // pcalg clips r here
constexpr double PIVOT_FLOOR = 1e-9;  // a fast test decides alone only above this pivot (gaussian/fisher_z.py)
constexpr double ONE_MINUS_FLOOR = 1.0 - PIVOT_FLOOR;
constexpr double PINV_PIVOT = 1e-11;           // the canonical formula leaves elimination below this pivot
constexpr double EPS = 2.220446049250313e-16;  // R's .Machine$double.eps
constexpr int MAX_SWEEPS = 30;                 // bound on the sweeps of Jacobi's iteration

HD double clip_r(double r) {
    if (r != r) return 0.0;
    if (r > R_MAX) return R_MAX;
    if (r < -R_MAX) return -R_MAX;
    return r;
}

// Level 1: pcalg's literal formula, from the correlations of x and y, of x and k, of y and k.
HD double correlation_given_one(double xy, double xk, double yk) {
    return clip_r((xy - xk * yk) / sqrt((1.0 - yk * yk) * (1.0 - xk * xk)));
}

// Jacobi's rotation that makes the entry `off` between the diagonal entries ii and jj zero.
struct Rotation {
    double t, c, s;
};
HD Rotation rotation(double ii, double jj, double off) {
    const double theta = (jj - ii) / (2.0 * off);
    double t = 1.0 / (fabs(theta) + sqrt(theta * theta + 1.0));
    if (theta < 0.0) t = -t;
    const double c = 1.0 / sqrt(t * t + 1.0);
    return {t, c, t * c};
}
HD void rotate(const Rotation& rot, double& i, double& j) {
    const double u = i, v = j;
    i = rot.c * u - rot.s * v;
    j = rot.s * u + rot.c * v;
}

// Covariance matrix of x and y given S, by elimination.
struct Block {
    double vx, vy, cov;
    HD bool sound() const { return vx > PINV_PIVOT && vy > PINV_PIVOT && vx * vy - cov * cov > PINV_PIVOT * (vx * vy); }
    HD double r() const { return clip_r(cov / sqrt(vx * vy)); }
};

// Rows x and y of the pseudoinverse, summed over eigenvalues w with entries v0 and v1 of their eigenvectors. Eigenvalues
// up to `drop` count as 0.
struct PseudoInverse {
    double drop, p00 = 0.0, p01 = 0.0, p11 = 0.0;
    HD explicit PseudoInverse(double drop_) : drop(drop_) {}
    HD void add(double w, double v0, double v1) {
        if (fabs(w) > drop) {
            p00 = p00 + v0 * v0 / w;
            p01 = p01 + v0 * v1 / w;
            p11 = p11 + v1 * v1 / w;
        }
    }
    HD double r() const { return clip_r(-p01 / sqrt(p00 * p11)); }
};

// r from the pseudoinverse of the correlation matrix of x, y, S, by Jacobi's iteration on its lower triangle A. Only rows
// x and y of the matrix of eigenvectors are needed: V.
SLOW_HD double pseudoinverse_r(const double* C, i64 p, int x, int y, const int* S, int size, double* A, int step) {
    const int m = size + 2, row = m * step;
    double* V = A + m * row;
    for (int i = 0; i < m; ++i) {
        const int a = i == 0 ? x : (i == 1 ? y : S[(i - 2) * step]);
        for (int j = 0; j <= i; ++j) {
            const int b = j == 0 ? x : (j == 1 ? y : S[(j - 2) * step]);
            A[i * row + j * step] = i > 1 && j < 2 ? C[b * p + a] : C[a * p + b];  // the cell that elimination reads
        }
        V[i * step] = i == 0 ? 1.0 : 0.0;
        V[row + i * step] = i == 1 ? 1.0 : 0.0;
    }
    for (int sweep = 0; sweep < MAX_SWEEPS; ++sweep) {
        double largest = 0.0;
        for (int i = 0; i < m; ++i) {
            const double d = fabs(A[i * row + i * step]);
            if (d > largest) largest = d;
        }
        const double tiny = largest * 1e-20;
        bool rotated = false;
        for (int i = 0; i < m - 1; ++i)
            for (int j = i + 1; j < m; ++j) {
                const int in = i * step, jn = j * step, at_i = i * row, at_j = j * row;
                const double off = A[at_j + in];
                if (fabs(off) <= tiny) continue;
                rotated = true;
                const Rotation rot = rotation(A[at_i + in], A[at_j + jn], off);
                A[at_i + in] = A[at_i + in] - rot.t * off;
                A[at_j + jn] = A[at_j + jn] + rot.t * off;
                A[at_j + in] = 0.0;
                double *ki = A + at_i, *kj = A + at_j;  // (k, i) and (k, j), or their mirror images
                for (int k = 0; k < m; ++k) {
                    if (k != i && k != j) rotate(rot, *ki, *kj);
                    ki += k < i ? step : row;
                    kj += k < j ? step : row;
                }
                for (int k = 0; k < 2 * row; k += row) rotate(rot, V[k + in], V[k + jn]);
            }
        if (!rotated) break;
    }
    double largest = 0.0;
    for (int i = 0; i < m; ++i) {
        const double d = fabs(A[i * row + i * step]);
        if (d > largest) largest = d;
    }
    PseudoInverse inverse(m * largest * EPS);
    for (int k = 0; k < m; ++k) inverse.add(A[k * row + k * step], V[k * step], V[row + k * step]);
    return inverse.r();
}

// r of x and y given S, by Gaussian elimination where all pivots allow it.
SLOW_HD double partial_correlation(const double* C, i64 p, int x, int y, const int* S, int size, double* A, int step) {
    if (size == 0) return clip_r(C[x * p + y]);
    if (size == 1) return correlation_given_one(C[x * p + y], C[x * p + S[0]], C[y * p + S[0]]);
    const int m = size + 2, row = m * step;
    for (int i = 0; i < m; ++i) {
        const int a = i < size ? S[i * step] : (i == size ? x : y);
        for (int j = 0; j <= i; ++j) {
            const int b = j < size ? S[j * step] : (j == size ? x : y);
            const double v = C[a * p + b];
            if (v != v) return 0.0;
            A[i * row + j * step] = v;
        }
    }
    for (int k = 0; k < size; ++k) {
        const double pivot = A[k * row + k * step];
        if (!(pivot > PINV_PIVOT)) return pseudoinverse_r(C, p, x, y, S, size, A, step);
        for (int i = k + 1; i < m; ++i) {
            const double f = A[i * row + k * step] / pivot;
            for (int j = k + 1; j <= i; ++j) A[i * row + j * step] = A[i * row + j * step] - f * A[j * row + k * step];
        }
    }
    const double* last = A + size * (row + step);  // the 2 x 2 block of x and y
    const Block block = {last[0], last[row + step], last[row]};
    return block.sound() ? block.r() : pseudoinverse_r(C, p, x, y, S, size, A, step);
}
