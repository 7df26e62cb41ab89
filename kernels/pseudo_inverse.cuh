// pseudo_inverse.cuh -- Moore-Penrose inverse of a small symmetric matrix by the full-rank Cholesky method: algorithm 7
//   of Zarebavani et al. (2020), after Courrieu (2005), Neural Information Processing - Letters and Reviews 8(2).
//   Compiles as CUDA and as plain C++ (tests/test_kernel_helpers.py).
#pragma once
#include "combinations.cuh"

// Y = A^+ for A [n, n] symmetric, row-major; work: 3 n^2 doubles. Returns the rank found.
//   G = A'A = L L' with L [n, r] of full column rank, then  A^+ = L (L'L)^-1 (L'L)^-1 L' A'.
HD int pseudo_inverse(const double* A, int n, double* Y, double* work) {
    double *G = work, *L = work + n * n, *M = work + 2 * n * n;
    double tolerance = 0.0;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double v = 0.0;
            for (int k = 0; k < n; ++k) v += A[k * n + i] * A[k * n + j];
            G[i * n + j] = v;
            L[i * n + j] = 0.0;
        }
    for (int i = 0; i < n; ++i)
        if (G[i * n + i] > 0.0 && (tolerance == 0.0 || G[i * n + i] < tolerance)) tolerance = G[i * n + i];
    tolerance *= 1e-9;
    int r = 0;
    for (int k = 0; k < n; ++k) {
        for (int i = k; i < n; ++i) {
            double v = G[i * n + k];
            for (int j = 0; j < r; ++j) v -= L[i * n + j] * L[k * n + j];
            L[i * n + r] = v;
        }
        if (L[k * n + r] > tolerance) {
            const double root = sqrt(L[k * n + r]);
            L[k * n + r] = root;
            for (int i = k + 1; i < n; ++i) L[i * n + r] /= root;
            ++r;
        } else {
            for (int i = k; i < n; ++i) L[i * n + r < n * n ? i * n + r : 0] = 0.0;
        }
    }
    // M = (L'L)^-1 by Gauss-Jordan without pivoting (L'L is positive definite), G as its work space
    for (int i = 0; i < r; ++i)
        for (int j = 0; j < r; ++j) {
            double v = 0.0;
            for (int k = 0; k < n; ++k) v += L[k * n + i] * L[k * n + j];
            G[i * n + j] = v;
            M[i * n + j] = i == j ? 1.0 : 0.0;
        }
    for (int k = 0; k < r; ++k) {
        const double pivot = G[k * n + k];
        for (int j = 0; j < r; ++j) { G[k * n + j] /= pivot; M[k * n + j] /= pivot; }
        for (int i = 0; i < r; ++i) {
            if (i == k) continue;
            const double f = G[i * n + k];
            for (int j = 0; j < r; ++j) { G[i * n + j] -= f * G[k * n + j]; M[i * n + j] -= f * M[k * n + j]; }
        }
    }
    // G = L M, then Y = G (G' A')
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < r; ++j) {
            double v = 0.0;
            for (int k = 0; k < r; ++k) v += L[i * n + k] * M[k * n + j];
            G[i * n + j] = v;
        }
    for (int j = 0; j < r; ++j)
        for (int i = 0; i < n; ++i) {
            double v = 0.0;
            for (int k = 0; k < n; ++k) v += G[k * n + j] * A[i * n + k];
            M[j * n + i] = v;
        }
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) {
            double v = 0.0;
            for (int k = 0; k < r; ++k) v += G[i * n + k] * M[k * n + j];
            Y[i * n + j] = v;
        }
    return r;
}
