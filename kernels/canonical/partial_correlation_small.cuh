// partial_correlation_small.cuh -- the canonical formula for levels 2 to SMALL, by the operations of
//   partial_correlation.cuh in the same order, hence with the same bits. The compiler knows all indices, so the matrix
//   lies in registers; only double-double takes work space.
//   Compiles as CUDA and as plain C++.
#pragma once
#include "canonical/partial_correlation.cuh"

constexpr int SMALL = 5;  // 7 x 7 matrices; larger ones do not fit the registers and gain nothing (kernels/log.md)

// As partial_correlation, for size L.
template <int L>
SLOW_HD double correlation_of_level(const double* C, i64 p, int x, int y, const int* S, double* work, int step) {
    constexpr int M = L + 2;
    double A[M][M];
    int v[M];
    UNROLL
    for (int i = 0; i < L; ++i) v[i] = S[i * step];
    v[L] = x;
    v[L + 1] = y;
    bool nan = false;
    UNROLL
    for (int i = 0; i < M; ++i) {
        UNROLL
        for (int j = 0; j <= i; ++j) {
            A[i][j] = C[v[i] * p + v[j]];
            nan = nan || A[i][j] != A[i][j];
        }
    }
    if (nan) return 0.0;
    bool sound = true;
    UNROLL
    for (int k = 0; k < L; ++k) {
        sound = sound && A[k][k] > EXACT_PIVOT;
        UNROLL
        for (int i = k + 1; i < M; ++i) {
            const double f = A[i][k] / A[k][k];
            UNROLL
            for (int j = k + 1; j <= i; ++j) A[i][j] = A[i][j] - f * A[j][k];
        }
    }
    const Block block = {A[L][L], A[L + 1][L + 1], A[L + 1][L]};
    return sound && block.sound() ? block.r() : clip_r(exact_r(C, p, x, y, S, L, work, step));
}

// As partial_correlation, for sizes 2 to L.
template <int L = SMALL>
HD double small_correlation(const double* C, i64 p, int x, int y, const int* S, int size, double* work, int step) {
    if constexpr (L > 2)
        if (size < L) return small_correlation<L - 1>(C, p, x, y, S, size, work, step);
    return correlation_of_level<L>(C, p, x, y, S, work, step);
}
