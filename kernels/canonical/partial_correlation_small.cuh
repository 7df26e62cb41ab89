// partial_correlation_small.cuh -- the canonical formula for levels 2 to SMALL, with the operations of
//   partial_correlation.cuh in the same order, hence the same bits. The compiler knows all indices, so the matrix lies in
//   registers, and a rotation takes the latency of its divisions and roots, not that of some thirty loads and stores.
//   Compiles as CUDA and as plain C++.
#pragma once
#include "canonical/partial_correlation.cuh"

constexpr int SMALL = 5;  // 7 x 7 matrices; larger ones do not fit the registers and gain nothing (LOG.md)

// As pseudoinverse_r.
template <int L>
SLOW_HD double pseudoinverse_of_level(const double* C, i64 p, int x, int y, const int* S, int step) {
    constexpr int M = L + 2;
    double A[M][M], V[2][M];  // A[i][j] with i >= j only
    int v[M] = {x, y};
    UNROLL
    for (int i = 2; i < M; ++i) v[i] = S[(i - 2) * step];
    UNROLL
    for (int i = 0; i < M; ++i) {
        UNROLL
        for (int j = 0; j <= i; ++j) A[i][j] = i > 1 && j < 2 ? C[v[j] * p + v[i]] : C[v[i] * p + v[j]];
        V[0][i] = i == 0 ? 1.0 : 0.0;
        V[1][i] = i == 1 ? 1.0 : 0.0;
    }
    for (int sweep = 0; sweep < MAX_SWEEPS; ++sweep) {
        double largest = 0.0;
        UNROLL
        for (int i = 0; i < M; ++i)
            if (fabs(A[i][i]) > largest) largest = fabs(A[i][i]);
        const double tiny = largest * 1e-20;
        bool rotated = false;
        UNROLL
        for (int i = 0; i < M - 1; ++i) {
            UNROLL
            for (int j = i + 1; j < M; ++j) {
                const double off = A[j][i];
                if (fabs(off) <= tiny) continue;
                rotated = true;
                const Rotation rot = rotation(A[i][i], A[j][j], off);
                A[i][i] = A[i][i] - rot.t * off;
                A[j][j] = A[j][j] + rot.t * off;
                A[j][i] = 0.0;
                UNROLL
                for (int k = 0; k < M; ++k)
                    if (k != i && k != j) rotate(rot, k > i ? A[k][i] : A[i][k], k > j ? A[k][j] : A[j][k]);
                UNROLL
                for (int k = 0; k < 2; ++k) rotate(rot, V[k][i], V[k][j]);
            }
        }
        if (!rotated) break;
    }
    double largest = 0.0;
    UNROLL
    for (int i = 0; i < M; ++i)
        if (fabs(A[i][i]) > largest) largest = fabs(A[i][i]);
    PseudoInverse inverse(M * largest * EPS);
    UNROLL
    for (int k = 0; k < M; ++k) inverse.add(A[k][k], V[0][k], V[1][k]);
    return inverse.r();
}

// As partial_correlation.
template <int L>
SLOW_HD double correlation_of_level(const double* C, i64 p, int x, int y, const int* S, int step) {
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
        sound = sound && A[k][k] > PINV_PIVOT;
        UNROLL
        for (int i = k + 1; i < M; ++i) {
            const double f = A[i][k] / A[k][k];
            UNROLL
            for (int j = k + 1; j <= i; ++j) A[i][j] = A[i][j] - f * A[j][k];
        }
    }
    const Block block = {A[L][L], A[L + 1][L + 1], A[L + 1][L]};
    return sound && block.sound() ? block.r() : pseudoinverse_of_level<L>(C, p, x, y, S, step);
}

// As partial_correlation, for sizes 2 to L.
template <int L = SMALL>
HD double small_correlation(const double* C, i64 p, int x, int y, const int* S, int size, int step) {
    if constexpr (L > 2)
        if (size < L) return small_correlation<L - 1>(C, p, x, y, S, size, step);
    return correlation_of_level<L>(C, p, x, y, S, step);
}
