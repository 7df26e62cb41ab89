// exact.cuh -- pcalg's partial correlation of ill-conditioned matrices as exact arithmetic gives it, in double-double:
//   operation for operation that of pycupc/gaussian/exact.py, which says how it works. Compiles as CUDA and as plain C++.
#pragma once
#include "common/double_double.cuh"
#ifdef __CUDACC__
#define SLOW_HD __host__ __device__ __noinline__ static
#define ROLLED _Pragma("unroll 1")  // few registers: callers keep theirs
#else
#include <cmath>
#define SLOW_HD static
#define ROLLED
#endif

constexpr double EPS = 2.220446049250313e-16;  // R's .Machine$double.eps
constexpr int MAX_SWEEPS = 30;                 // bound on the sweeps of Jacobi's iteration

// A matrix of m rows and two rows below it, in work space (canonical_doubles): consecutive words lie `step` apart.
struct Matrix {
    double* A;
    int row, step, below;  // from one row to the next, one column to the next, a high part to its low part
    HD Matrix(double* A_, int m, int step_) : A(A_), row(m * step_), step(step_), below((m + 2) * m * step_) {}
    HD double& high(int i, int j) const { return A[i * row + j * step]; }
    HD double& low(int i, int j) const { return A[i * row + j * step + below]; }
    HD Double2x at(int i, int j) const { return {high(i, j), low(i, j)}; }
    HD void set(int i, int j, const Double2x& v) const {
        high(i, j) = v.high;
        low(i, j) = v.low;
    }
};
struct Eliminated {
    double r, trace;  // of the inverse; 1e300 if a pivot is not positive
};
// Eliminates all variables of the lower triangle. The upper triangle takes the inverse of the unit triangular factor, in float64.
SLOW_HD Eliminated eliminate(const Matrix A, const int m) {
    const int x = m - 2, y = m - 1;
    double vx = 0.0, vy = 0.0, cov = 0.0, trace = 0.0;
    ROLLED
    for (int k = 0; k < m; ++k) {
        if (k == x) {
            vx = A.high(x, x);
            vy = A.high(y, y);
            cov = A.high(y, x);
        }
        const Double2x pivot = A.at(k, k);
        if (!(pivot.high > 0.0)) return {0.0, 1e300};
        double norm = 1.0;
        ROLLED
        for (int j = 0; j < k; ++j) norm = norm + A.high(j, k) * A.high(j, k);
        trace = trace + norm / pivot.high;
        ROLLED
        for (int i = k + 1; i < m; ++i) {
            const Double2x f = over(A.at(i, k), pivot);
            ROLLED
            for (int j = 0; j < k; ++j) A.high(j, i) = A.high(j, i) - f.high * A.high(j, k);
            A.high(k, i) = -f.high;
            ROLLED
            for (int j = k + 1; j <= i; ++j) A.set(i, j, minus(A.at(i, j), times(f, A.at(j, k))));
        }
    }
    return {cov / sqrt(vx * vy), trace};
}

// The rotation of all rows but i and j themselves.
SLOW_HD void turn(const Matrix A, const int i, const int j, const int m, const Double2x c, const Double2x s) {
    ROLLED
    for (int k = 0; k < m + 2; ++k) {
        if (k == i || k == j) continue;
        const Double2x u = A.at(k, i), v = A.at(k, j);
        const Double2x p = minus(times(c, u), times(s, v)), q = plus(times(s, u), times(c, v));
        A.set(k, i, p);
        A.set(k, j, q);
        if (k < m) {
            A.set(i, k, p);
            A.set(j, k, q);
        }
    }
}

// One Jacobi rotation: zero entry (i, j) of the symmetric matrix, whose rows m and m + 1 hold eigenvectors.
SLOW_HD void rotate(const Matrix A, const int i, const int j, const int m) {
    const Double2x a = A.at(i, i), b = A.at(j, j), off = A.at(j, i), one = {1.0, 0.0};
    const Double2x width = minus(b, a);
    const double theta = width.high / (2.0 * off.high);
    double t0 = 1.0 / (fabs(theta) + sqrt(theta * theta + 1.0));
    if (theta < 0.0) t0 = -t0;
    const double c0 = 1.0 / sqrt(t0 * t0 + 1.0);
    Double2x rest = plus(times(off, minus(two_product(t0, t0), one)), times(width, {t0, 0.0}));
    const Double2x t = normalised(t0, -rest.high / (2.0 * off.high * t0 + width.high));
    rest = minus(one, times(two_product(c0, c0), plus(one, times(t, t))));
    const Double2x c = normalised(c0, 0.5 * c0 * rest.high), s = times(t, c);
    const Double2x shift = times(t, off), zero = {0.0, 0.0};
    A.set(i, i, minus(a, shift));
    A.set(j, j, plus(b, shift));
    A.set(i, j, zero);
    A.set(j, i, zero);
    turn(A, i, j, m, c, s);
}

HD double largest_on_diagonal(const Matrix A, const int m) {
    double largest = 0.0;
    ROLLED
    for (int i = 0; i < m; ++i)
        if (fabs(A.high(i, i)) > largest) largest = fabs(A.high(i, i));
    return largest;
}

// One sweep of rotations; false where nothing was left to rotate.
SLOW_HD bool sweep_once(const Matrix A, const int m) {
    const double tiny = largest_on_diagonal(A, m) * 1e-36;
    bool rotated = false;
    ROLLED
    for (int i = 0; i < m - 1; ++i) {
        ROLLED
        for (int j = i + 1; j < m; ++j)
            if (fabs(A.high(j, i)) > tiny) {
                rotated = true;
                rotate(A, i, j, m);
            }
    }
    return rotated;
}

// r from eigenvalues and rows x and y of their vectors.
SLOW_HD double truncated_r(const Matrix A, const int m) {
    const double drop = m * largest_on_diagonal(A, m) * EPS;
    double xx = 0.0, xy = 0.0, yy = 0.0;
    ROLLED
    for (int k = 0; k < m; ++k) {
        const double w = A.high(k, k), vx = A.high(m, k), vy = A.high(m + 1, k);
        if (fabs(w) > drop) {
            xx = xx + vx * vx / w;
            xy = xy + vx * vy / w;
            yy = yy + vy * vy / w;
        }
    }
    return -xy / sqrt(xx * yy);
}

// r from the pseudoinverse of the matrix in A, by cyclic Jacobi rotations.
SLOW_HD double pseudoinverse_r(const Matrix A, const int m) {
    ROLLED
    for (int k = 0; k < m; ++k) {
        A.set(m, k, {k == m - 2 ? 1.0 : 0.0, 0.0});
        A.set(m + 1, k, {k == m - 1 ? 1.0 : 0.0, 0.0});
    }
    int sweep = 0;
    while (sweep < MAX_SWEEPS && sweep_once(A, m)) ++sweep;
    return truncated_r(A, m);
}

// The matrix of S, x, y: each pair of variables from one cell of C.
SLOW_HD void load(const Matrix A, const double* C, i64 p, int x, int y, const int* S, int size) {
    const int m = size + 2;
    ROLLED
    for (int i = 0; i < m; ++i) {
        const i64 a = i < size ? S[i * A.step] : (i == size ? x : y);
        ROLLED
        for (int j = 0; j <= i; ++j) {
            const Double2x v = {C[a * p + (j < size ? S[j * A.step] : (j == size ? x : y))], 0.0};
            A.set(i, j, v);
            A.set(j, i, v);
        }
    }
}

// Arguments as of partial_correlation; not clipped.
SLOW_HD double exact_r(const double* C, i64 p, int x, int y, const int* S, int size, double* work, int step) {
    const int m = size + 2;
    const Matrix A(work, m, step);
    load(A, C, p, x, y, S, size);
    const Eliminated e = eliminate(A, m);
    if (2.0 * m * m * EPS * e.trace < 1.0) return e.r;  // no singular value exceeds m, all are above 1 / trace
    load(A, C, p, x, y, S, size);
    return pseudoinverse_r(A, m);
}
