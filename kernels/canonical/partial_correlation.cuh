// partial_correlation.cuh -- the canonical formula: the one definition of a partial correlation, by the operations of
//   pycupc/independence/gaussian/partial_correlation.py in the same order. It decides the doubtful tests. One thread
//   per test.
//   Compiles as CUDA (with --fmad=false) and as plain C++ (with -ffp-contract=off): the bits must equal Numba's.
//   Arguments of all versions: C [p, p] float64, row-major; x and y, given the variables S[0..size-1], ascending; A:
//   work space of one thread, canonical_doubles(size). Consecutive entries of S and A lie `step` apart, so that threads
//   of a warp with interleaved work spaces access neighbouring words.
#pragma once
#include "canonical/exact.cuh"

constexpr double R_MAX = 0.9999999;   // pcalg clips r here
constexpr double PIVOT_FLOOR = 1e-9;  // a fast test decides alone only above this pivot (gaussian/tolerances.py)
constexpr double ONE_MINUS_FLOOR = 1.0 - PIVOT_FLOOR;
constexpr double EXACT_PIVOT = 1e-7;  // the canonical formula takes double-double unless all pivots are above this

HD double clip_r(double r) {
    if (r != r) return 0.0;
    if (r > R_MAX) return R_MAX;
    if (r < -R_MAX) return -R_MAX;
    return r;
}

// Level 1: pcalg's own formula, from the correlations of x and y, of x and k, and of y and k.
HD double correlation_given_one(double xy, double xk, double yk) {
    return clip_r((xy - xk * yk) / sqrt((1.0 - yk * yk) * (1.0 - xk * xk)));
}

// Covariance matrix of x and y given S, as elimination leaves it.
struct Block {
    double vx, vy, cov;
    HD bool sound() const {
        return vx > EXACT_PIVOT && vy > EXACT_PIVOT && vx * vy - cov * cov > EXACT_PIVOT * (vx * vy);
    }
    HD double r() const { return clip_r(cov / sqrt(vx * vy)); }
};

// r of x and y given S: by Gaussian elimination in float64 where all pivots are above EXACT_PIVOT, else by exact_r.
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
        if (!(pivot > EXACT_PIVOT)) return clip_r(exact_r(C, p, x, y, S, size, A, step));
        for (int i = k + 1; i < m; ++i) {
            const double f = A[i * row + k * step] / pivot;
            for (int j = k + 1; j <= i; ++j) A[i * row + j * step] = A[i * row + j * step] - f * A[j * row + k * step];
        }
    }
    const double* last = A + size * (row + step);  // the 2 x 2 block of x and y
    const Block block = {last[0], last[row + step], last[row]};
    return block.sound() ? block.r() : clip_r(exact_r(C, p, x, y, S, size, A, step));
}
