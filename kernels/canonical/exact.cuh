// exact.cuh -- pcalg's partial correlation, for ill-conditioned matrices, as exact arithmetic gives it: computed in
//   double-double by the operations of pycupc/independence/gaussian/double_double.py, in the same order. That module
//   explains the method. Everything here is done by one thread. Compiles as CUDA and as plain C++.
#pragma once
#include "common/double_double.cuh"
#ifdef __CUDACC__
#define SLOW_HD __host__ __device__ __noinline__ static
#define ROLLED _Pragma("unroll 1")  // takes few registers, so callers keep theirs
#else
#include <cmath>
#define SLOW_HD static
#define ROLLED
#endif

constexpr double EPS = 2.220446049250313e-16;  // R's .Machine$double.eps
constexpr int MAX_SWEEPS = 30;                 // most sweeps of Jacobi's iteration

// A symmetric matrix of m = size + 2 rows and two further rows below it, in work space (canonical_doubles) whose
// consecutive words lie `step` apart, and the rotation in progress. All of it is kept in memory and passed by address,
// so that callers keep their registers.
struct Matrix {
    double* A;          // [m + 2, m] high parts, then [m + 2, m] low parts
    int m, step, i, j;  // the rotation zeroes entry (i, j)
    Double2x c, s;      // its cosine and sine
    HD volatile double& high(int row, int column) const { return A[(row * m + column) * step]; }
    HD volatile double& low(int row, int column) const { return high(row + m + 2, column); }
    HD Double2x at(int row, int column) const { return {high(row, column), low(row, column)}; }
    HD void set(int row, int column, const Double2x& v) const {
        high(row, column) = v.high;
        low(row, column) = v.low;
    }
};

struct Eliminated {
    double r, trace;  // partial correlation; trace of the inverse matrix, or 1e300 if a pivot is not positive
};
// Eliminates all variables, in the lower triangle. The inverse of the unit triangular factor goes to the upper
// triangle, in float64.
SLOW_HD Eliminated eliminate(const Matrix& A) {
    const int m = A.m, x = m - 2, y = m - 1;
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

// Applies the rotation to all rows but i and j.
SLOW_HD void turn(const Matrix& A) {
    ROLLED
    for (int k = 0; k < A.m + 2; ++k) {
        const int i = A.i, j = A.j;
        const Double2x c = A.c, s = A.s;
        if (k == i || k == j) continue;
        const Double2x u = A.at(k, i), v = A.at(k, j);
        const Double2x p = minus(times(c, u), times(s, v)), q = plus(times(s, u), times(c, v));
        A.set(k, i, p);
        A.set(k, j, q);
        if (k < A.m) {
            A.set(i, k, p);
            A.set(j, k, q);
        }
    }
}

// One Jacobi rotation, which zeroes entry (i, j). Rows m and m + 1 become the entries of x and y in the eigenvectors.
SLOW_HD void rotate(Matrix& A) {
    const int i = A.i, j = A.j;
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
    A.c = c;
    A.s = s;
    turn(A);
}

HD double largest_on_diagonal(const Matrix& A) {
    const int m = A.m;
    double largest = 0.0;
    ROLLED
    for (int i = 0; i < m; ++i)
        if (fabs(A.high(i, i)) > largest) largest = fabs(A.high(i, i));
    return largest;
}

// One sweep of rotations; false if nothing was left to rotate.
SLOW_HD bool sweep_once(Matrix& A) {
    const double tiny = largest_on_diagonal(A) * 1e-36;
    bool rotated = false;
    ROLLED
    for (A.i = 0; A.i < A.m - 1; ++A.i) {
        ROLLED
        for (A.j = A.i + 1; A.j < A.m; ++A.j)
            if (fabs(A.high(A.j, A.i)) > tiny) {
                rotated = true;
                rotate(A);
            }
    }
    return rotated;
}

// Entry of the pseudoinverse from rows a and b of the eigenvectors that pcalg's rank rule keeps: eigenvalues above
// `limit`; 0 for one on the diagonal if a change of the matrix no larger than `limit` can make it 0.
SLOW_HD double pseudoinverse_entry(const Matrix& A, int a, int b, double limit) {
    Double2x entry = {0.0, 0.0};
    double squares = 0.0;
    ROLLED
    for (int k = 0; k < A.m; ++k) {
        if (!(fabs(A.high(k, k)) > limit)) continue;
        const Double2x f = over(A.at(a, k), A.at(k, k));
        entry = plus(entry, times(f, A.at(b, k)));
        squares = squares + f.high * f.high;
    }
    return a != b || fabs(entry.high) > limit * squares ? entry.high : 0.0;
}

// r from the eigenvalues and from rows x and y of the eigenvectors; 0 where the diagonal entries of x and y in the
// pseudoinverse have no positive product.
SLOW_HD double truncated_r(const Matrix& A) {
    const int x = A.m, y = A.m + 1;
    const double limit = A.m * largest_on_diagonal(A) * EPS;
    const double product = pseudoinverse_entry(A, x, x, limit) * pseudoinverse_entry(A, y, y, limit);
    return product > 0.0 ? -pseudoinverse_entry(A, x, y, limit) / sqrt(product) : 0.0;
}

// r from the pseudoinverse of the matrix in A, by cyclic Jacobi rotations.
SLOW_HD double pseudoinverse_r(Matrix& A) {
    const int m = A.m;
    ROLLED
    for (int k = 0; k < m; ++k) {
        A.set(m, k, {k == m - 2 ? 1.0 : 0.0, 0.0});
        A.set(m + 1, k, {k == m - 1 ? 1.0 : 0.0, 0.0});
    }
    int sweep = 0;
    while (sweep < MAX_SWEEPS && sweep_once(A)) ++sweep;
    return truncated_r(A);
}

// Fills the matrix with the correlations of S, x, y; both cells of a pair come from the same cell of C.
SLOW_HD void load(const Matrix& A, const double* C, i64 p, int x, int y, const int* S, int size) {
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

// r of x and y given S, not clipped. The same arguments as partial_correlation.
SLOW_HD double exact_r(const double* C, i64 p, int x, int y, const int* S, int size, double* work, int step) {
    const int m = size + 2;
    Matrix A = {work, m, step};
    load(A, C, p, x, y, S, size);
    const Eliminated e = eliminate(A);
    if (2.0 * m * m * EPS * e.trace < 1.0) return e.r;  // no singular value exceeds m, all are above 1 / trace
    load(A, C, p, x, y, S, size);
    return pseudoinverse_r(A);
}
