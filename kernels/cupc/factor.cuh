// factor.cuh -- Cholesky factor of M2, the correlation matrix of a conditioning set, and the inverse from it.
//   Compiles as CUDA and as plain C++ (tests/kernels/test_kernel_helpers.py).
//   Lower triangles are packed by rows, and all loops unroll where the size is known.
#pragma once
#include "common/subsets.cuh"

HD constexpr int packed(int i, int j) { return i * (i + 1) / 2 + j; }

HD double reciprocal_root(double v) {
#ifdef __CUDACC__
    return rsqrt(v);
#else
    return 1.0 / sqrt(v);
#endif
}

// M2 = R R', of l variables. P [packed(l, 0)] holds R below the diagonal; inv [l] holds the reciprocals of its
// diagonal. Each array is a variable of the caller: a structure that contained them would go to local memory as a whole
// wherever the compiler cannot unroll.
struct Factor {
    double *P, *inv;
};

// Computes row i of R. c: row s[i] of C; s: the variables of the set. Calls each(j, R_ij) for j = 0 .. i - 1 as soon as
// the entry is known. Returns the pivot, the square of R_ii.
template <class Each>
HD double factor_row(const Factor& f, const double* c, const int* s, const int i, Each each) {
    double pivot = 1.0;
    UNROLL
    for (int j = 0; j < i; ++j) {
        double v = c[s[j]];
        UNROLL
        for (int k = 0; k < j; ++k) v = fma(-f.P[packed(i, k)], f.P[packed(j, k)], v);
        v *= f.inv[j];
        f.P[packed(i, j)] = v;
        pivot = fma(-v, v, pivot);
        each(j, v);
    }
    f.inv[i] = reciprocal_root(pivot);
    return pivot;
}

// Turns P into the lower triangle of M2^-1 = R^-T R^-1.
HD void invert(const Factor& f, const int l) {
    UNROLL
    for (int j = 0; j < l; ++j) {  // R^-1, column by column
        f.P[packed(j, j)] = f.inv[j];
        UNROLL
        for (int i = j + 1; i < l; ++i) {
            double t = 0.0;
            UNROLL
            for (int k = j; k < i; ++k) t = fma(-f.P[packed(i, k)], f.P[packed(k, j)], t);
            f.P[packed(i, j)] = t * f.inv[i];
        }
    }
    UNROLL
    for (int i = 0; i < l; ++i) {  // entry (i, j) of the product needs the rows >= i only
        UNROLL
        for (int j = 0; j <= i; ++j) {
            double t = 0.0;
            UNROLL
            for (int k = i; k < l; ++k) t = fma(f.P[packed(k, i)], f.P[packed(k, j)], t);
            f.P[packed(i, j)] = t;
        }
    }
}

// Entry (i, j) of the symmetric matrix in P.
HD double entry(const Factor& f, const int i, const int j) { return i >= j ? f.P[packed(i, j)] : f.P[packed(j, i)]; }
