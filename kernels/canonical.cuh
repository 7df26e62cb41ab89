// canonical.cuh -- the one definition of a partial correlation (pycupc/engines/canonical.py), operation for operation.
//   Compiles as CUDA (with --fmad=false) and as plain C++ (with -ffp-contract=off): the bits must equal the Numba twin's.
//   A, V: work space of (size + 2)^2 doubles each, contiguous, used by one thread at a time.
#pragma once
#include "combinations.cuh"
#ifdef __CUDACC__
#define SLOW_HD __host__ __device__ __noinline__ static
#else
#include <cmath>
#define SLOW_HD static
#endif

constexpr double R_MAX = 0.9999999;            // pcalg clips r here
constexpr double PIVOT_FLOOR = 1e-9;           // a fast test decides alone only above this pivot (pycupc/citest.py)
constexpr double PINV_PIVOT = 1e-11;           // the canonical formula leaves elimination below this pivot
constexpr double EPS = 2.220446049250313e-16;  // R's .Machine$double.eps
constexpr int MAX_SWEEPS = 30;

HD double clip_r(double r) {
    if (r != r) return 0.0;
    if (r > R_MAX) return R_MAX;
    if (r < -R_MAX) return -R_MAX;
    return r;
}

SLOW_HD double pseudoinverse_r(const double* C, i64 p, int x, int y, const int* S, int size, double* A, double* V) {
    const int m = size + 2;
    for (int i = 0; i < m; ++i) {
        const int a = i == 0 ? x : (i == 1 ? y : S[i - 2]);
        for (int j = 0; j < m; ++j) {
            const int b = j == 0 ? x : (j == 1 ? y : S[j - 2]);
            A[i * m + j] = C[a * p + b];
            V[i * m + j] = i == j ? 1.0 : 0.0;
        }
    }
    for (int sweep = 0; sweep < MAX_SWEEPS; ++sweep) {
        double largest = 0.0;
        for (int i = 0; i < m; ++i) {
            const double d = fabs(A[i * m + i]);
            if (d > largest) largest = d;
        }
        const double tiny = largest * 1e-20;
        bool rotated = false;
        for (int i = 0; i < m - 1; ++i)
            for (int j = i + 1; j < m; ++j) {
                if (fabs(A[i * m + j]) <= tiny) continue;
                rotated = true;
                const double theta = (A[j * m + j] - A[i * m + i]) / (2.0 * A[i * m + j]);
                double t = 1.0 / (fabs(theta) + sqrt(theta * theta + 1.0));
                if (theta < 0.0) t = -t;
                const double c = 1.0 / sqrt(t * t + 1.0);
                const double s = t * c;
                A[i * m + i] = A[i * m + i] - t * A[i * m + j];
                A[j * m + j] = A[j * m + j] + t * A[i * m + j];
                A[i * m + j] = 0.0;
                A[j * m + i] = 0.0;
                for (int k = 0; k < m; ++k) {
                    if (k != i && k != j) {
                        const double u = A[k * m + i], v = A[k * m + j];
                        A[k * m + i] = c * u - s * v;
                        A[k * m + j] = s * u + c * v;
                        A[i * m + k] = A[k * m + i];
                        A[j * m + k] = A[k * m + j];
                    }
                    const double u = V[k * m + i], v = V[k * m + j];
                    V[k * m + i] = c * u - s * v;
                    V[k * m + j] = s * u + c * v;
                }
            }
        if (!rotated) break;
    }
    double largest = 0.0;
    for (int i = 0; i < m; ++i) {
        const double d = fabs(A[i * m + i]);
        if (d > largest) largest = d;
    }
    const double drop = m * largest * EPS;
    double p00 = 0.0, p01 = 0.0, p11 = 0.0;
    for (int k = 0; k < m; ++k)
        if (fabs(A[k * m + k]) > drop) {
            p00 = p00 + V[k] * V[k] / A[k * m + k];
            p01 = p01 + V[k] * V[m + k] / A[k * m + k];
            p11 = p11 + V[m + k] * V[m + k] / A[k * m + k];
        }
    return clip_r(-p01 / sqrt(p00 * p11));
}

// r of x and y given S[0..size-1] (variables, ascending); C [p, p] float64, C order.
SLOW_HD double partial_correlation(const double* C, i64 p, int x, int y, const int* S, int size, double* A, double* V) {
    if (size == 0) return clip_r(C[x * p + y]);
    if (size == 1) {
        const double xy = C[x * p + y], xk = C[x * p + S[0]], yk = C[y * p + S[0]];
        return clip_r((xy - xk * yk) / sqrt((1.0 - yk * yk) * (1.0 - xk * xk)));
    }
    const int m = size + 2;
    for (int i = 0; i < m; ++i) {
        const int a = i < size ? S[i] : (i == size ? x : y);
        for (int j = 0; j <= i; ++j) {
            const int b = j < size ? S[j] : (j == size ? x : y);
            const double v = C[a * p + b];
            if (v != v) return 0.0;
            A[i * m + j] = v;
        }
    }
    for (int k = 0; k < size; ++k) {
        const double pivot = A[k * m + k];
        if (!(pivot > PINV_PIVOT)) return pseudoinverse_r(C, p, x, y, S, size, A, V);
        for (int i = k + 1; i < m; ++i) {
            const double f = A[i * m + k] / pivot;
            for (int j = k + 1; j <= i; ++j) A[i * m + j] = A[i * m + j] - f * A[j * m + k];
        }
    }
    const double vx = A[size * m + size], vy = A[(size + 1) * m + size + 1], cov = A[(size + 1) * m + size];
    if (!(vx > PINV_PIVOT && vy > PINV_PIVOT && vx * vy - cov * cov > PINV_PIVOT * (vx * vy)))
        return pseudoinverse_r(C, p, x, y, S, size, A, V);
    return clip_r(cov / sqrt(vx * vy));
}
