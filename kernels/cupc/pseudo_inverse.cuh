// pseudo_inverse.cuh -- Moore-Penrose inverse of a small symmetric matrix by the full-rank Cholesky method: Algorithm 7
//   of Zarebavani et al. (2020), after Courrieu (2005), Neural Information Processing - Letters and Reviews 8(2).
//   No kernel uses it: cupc_s computes the same inverse more cheaply where M2 has full rank (factor.cuh), and leaves
//   the other sets to the canonical formula. tests/test_kernel_helpers.py compares the two. Compiles as CUDA and as
//   plain C++.
#pragma once
#include "common/subsets.cuh"

// G [n, n] = L L' with L [n, r] of full column rank: Cholesky's method that skips dependent columns. Returns r.
HD int full_rank_factor(const double* G, int n, double* L) {
    double tolerance = 0.0;
    for (int i = 0; i < n; ++i) {
        const double g = G[i * n + i];
        if (g > 0.0 && (tolerance == 0.0 || g < tolerance)) tolerance = g;
        for (int j = 0; j < n; ++j) L[i * n + j] = 0.0;
    }
    tolerance *= 1e-9;
    int r = 0;
    for (int k = 0; k < n; ++k) {
        for (int i = k; i < n; ++i) {
            double v = G[i * n + k];
            for (int j = 0; j < r; ++j) v -= L[i * n + j] * L[k * n + j];
            L[i * n + r] = v;
        }
        const bool independent = L[k * n + r] > tolerance;
        const double root = independent ? sqrt(L[k * n + r]) : 1.0;
        for (int i = k; i < n; ++i) L[i * n + r] = !independent ? 0.0 : i == k ? root : L[i * n + r] / root;
        r += independent;
    }
    return r;
}

// M [r, r] = (L'L)^-1 by Gauss-Jordan elimination, without pivoting since L'L is positive definite. Rows of L, M and
// the work space G have n entries.
HD void invert_gram(const double* L, int n, int r, double* G, double* M) {
    for (int i = 0; i < r; ++i)
        for (int j = 0; j < r; ++j) {
            double v = 0.0;
            for (int k = 0; k < n; ++k) v += L[k * n + i] * L[k * n + j];
            G[i * n + j] = v;
            M[i * n + j] = i == j ? 1.0 : 0.0;
        }
    for (int k = 0; k < r; ++k) {
        const double pivot = G[k * n + k];
        for (int j = 0; j < r; ++j) {
            G[k * n + j] /= pivot;
            M[k * n + j] /= pivot;
        }
        for (int i = 0; i < r; ++i) {
            if (i == k) continue;
            const double f = G[i * n + k];
            for (int j = 0; j < r; ++j) {
                G[i * n + j] -= f * G[k * n + j];
                M[i * n + j] -= f * M[k * n + j];
            }
        }
    }
}

// out [rows, columns] = A B, or A B' if `transposed`; all with n entries per row, and `inner` terms per sum.
HD void multiply(const double* A, const double* B, int n, int rows, int columns, int inner, bool transposed,
                 double* out) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            double v = 0.0;
            for (int k = 0; k < inner; ++k) v += A[i * n + k] * (transposed ? B[j * n + k] : B[k * n + j]);
            out[i * n + j] = v;
        }
}

// Y [n, n] = A^+ for A [n, n] symmetric, row-major; work: 4 n^2 doubles. Returns the rank that was found.
//   G = A'A = L L' with L of full column rank, then  A^+ = L (L'L)^-1 (L'L)^-1 L' A'.
HD int pseudo_inverse(const double* A, int n, double* Y, double* work) {
    double *G = work, *L = G + n * n, *M = L + n * n, *N = M + n * n;
    multiply(A, A, n, n, n, n, true, G);  // A is symmetric
    const int r = full_rank_factor(G, n, L);
    invert_gram(L, n, r, G, M);
    multiply(L, M, n, n, r, r, false, G);  // G = L M
    multiply(G, G, n, n, n, r, true, N);   // N = G G' = L M M L'
    multiply(N, A, n, n, n, n, true, Y);   // Y = N A'
    return r;
}
