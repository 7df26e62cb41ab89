// correlations.cuh -- p-values of tests of partial correlations, by a warp: of imputations, of the complete rows, or with
//   a number of observations for each pair. NaN where the host has to make the test: a p-value is undefined, or
//   rounding could change it. Documented in docs/contracts/missing.md, as the tests of the host in
//   pycupc/independence/missing/ and gaussian/partial_correlation.py.
//   nodes [l + 2]: S ascending, x, y. work: doubles of the warp, _work() in pycupc/engines/gpu/missing.py.
#pragma once
#include "missing/tails.cuh"

constexpr double LEAST_PIVOT = 1e-4;  // smaller pivots, or 1 - r^2, leave fewer digits than the margin of alpha needs

constexpr double LEAST_VARIANCE = 1e-12;  // of complete rows, as a share of the squared mean: below it, digits are lost

HD int cell_of(const int i, const int j) { return i * (i + 1) / 2 + j; }

// The correlation of the last two of l + 2 variables given the others. A: lower triangle of their correlations, entry
// (i, j) at A[cell_of(i, j) * pitch]; overwritten. One thread.
DEVICE double given_others(double* A, const int l, const int pitch) {
    for (int k = 0; k < l; ++k) {
        const double pivot = A[cell_of(k, k) * pitch];
        if (!(pivot > LEAST_PIVOT)) return nan_value();
        for (int i = k + 1; i < l + 2; ++i) {
            const double f = A[cell_of(i, k) * pitch] / pivot;
            for (int j = k + 1; j <= i; ++j) A[cell_of(i, j) * pitch] -= f * A[cell_of(j, k) * pitch];
        }
    }
    const double vx = A[cell_of(l, l) * pitch], vy = A[cell_of(l + 1, l + 1) * pitch];
    const double cov = A[cell_of(l + 1, l) * pitch];
    if (!(vx > LEAST_PIVOT && vy > LEAST_PIVOT && vx * vy - cov * cov > LEAST_PIVOT * vx * vy)) return nan_value();
    return cov / sqrt(vx * vy);
}

// The p-value of Fisher's z with n - l - 3 degrees of freedom.
DEVICE double p_of_r(const double r, const double df) {
    if (r != r) return r;
    return df > 0.0 ? erfc(sqrt(df) * fabs(atanh(r)) * sqrt(0.5)) : 1.0;
}

// Copies correlations of the nodes from C to a triangle.
DEVICE void gather(const Observed& d, const double* C, const int* nodes, const int l, double* A, const int pitch) {
    for (int i = 0; i < l + 2; ++i)
        for (int j = 0; j <= i; ++j) A[cell_of(i, j) * pitch] = i == j ? 1.0 : C[nodes[i] * d.p + nodes[j]];
}

// Multiple imputation: a lane takes every 32nd imputation. z is summed up less z of the first one, which loses no digits.
DEVICE double imputed_p(const Observed& d, const int* nodes, const int l, double* work) {
    const int lane = threadIdx.x & 31;
    double first = 0.0, sum = 0.0, squares = 0.0;
    for (int m0 = 0; m0 < d.M; m0 += 32) {
        const int m = m0 + lane;
        double z = 0.0;
        if (m < d.M) {
            gather(d, d.value + m * d.p * d.p, nodes, l, work + lane, 32);
            const double r = given_others(work + lane, l, 32);
            z = 0.5 * log1p(2.0 * r / (1.0 - r));
        }
        if (m0 == 0) first = __shfl_sync(FULL, z, 0);
        if (m >= d.M) continue;
        sum += z - first;
        squares += (z - first) * (z - first);
    }
    sum = sum_over_warp(sum);
    squares = sum_over_warp(squares);
    const double M = d.M, mean = first + sum / M, between = max((squares - sum * sum / M) / (M - 1.0), 0.0);
    const double free = d.n - l - 3.0, within = 1.0 / free;
    if (free == 0.0 && mean == mean) return 1.0;
    const double total = within + (1.0 + 1.0 / M) * between;
    if (!(total > 0.0) || squares != squares) return nan_value();
    const double s = 1.0 + within / between * M / (M + 1.0);
    return upper_tail_of_f(mean * mean / total, 1.0, between > 0.0 ? (M - 1.0) * s * s : 1e300);
}

// The sum of `term(s)` over the complete rows s, in all lanes. Whole warp.
template <typename Term>
DEVICE double sum_over_rows(const Observed& d, const unsigned* complete, const Term& term) {
    const int lane = threadIdx.x & 31;
    double sum = 0.0;
    for (int w = 0; w < d.words; ++w)
        if (complete[w] >> lane & 1) sum += term(32 * w + lane);
    return sum_over_warp(sum);
}

// Test-wise deletion.
DEVICE double testwise_p(const Observed& d, const int* nodes, const int l, double* work) {
    const int lane = threadIdx.x & 31;
    double* const mean = work + cell_of(l + 2, 0);
    unsigned* const complete = (unsigned*)(mean + l + 2);
    int n = 0;
    for (int w = lane; w < d.words; w += 32) {
        unsigned all = FULL;
        for (int i = 0; i < l + 2; ++i) all &= d.there[(i64)nodes[i] * d.words + w];
        complete[w] = all;
        n += __popc(all);
    }
    __syncwarp();
    n = sum_over_warp(n);
    if (n < 2) return nan_value();
    bool lost = false;
    for (int i = 0; i < l + 2; ++i) {
        const double* const v = d.value + nodes[i] * d.rows;
        const double m = sum_over_rows(d, complete, [&](const int s) { return v[s]; }) / n;
        for (int j = 0; j <= i; ++j) {
            const double* const u = d.value + nodes[j] * d.rows;
            const double of_u = j == i ? m : mean[j];
            const double sum = sum_over_rows(d, complete, [&](const int s) { return (v[s] - m) * (u[s] - of_u); });
            if (lane == 0) work[cell_of(i, j)] = sum;
            lost = lost || (j == i && !(sum > LEAST_VARIANCE * n * m * m));
        }
        if (lane == 0) mean[i] = m;
        __syncwarp();
    }
    double r = nan_value();
    if (lane == 0 && !lost) {
        for (int i = 0; i < l + 2; ++i)
            for (int j = 0; j < i; ++j) work[cell_of(i, j)] /= sqrt(work[cell_of(i, i)] * work[cell_of(j, j)]);
        for (int i = 0; i < l + 2; ++i) work[cell_of(i, i)] = 1.0;
        r = given_others(work, l, 1);
    }
    return p_of_r(__shfl_sync(FULL, r, 0), n - l - 3.0);
}

// A number of observations for each pair.
DEVICE double pairwise_p(const Observed& d, const int* nodes, const int l, double* work) {
    double p = nan_value();
    if ((threadIdx.x & 31) == 0) {
        double least = 1e300, total = 0.0, inverse = 0.0;
        for (int i = 0; i < l + 2; ++i)
            for (int j = 0; j < i; ++j) {
                const double number = d.number[nodes[i] * d.p + nodes[j]];
                total += number;
                inverse += 1.0 / number;
                least = min(least, number);
            }
        const double pairs = cell_of(l + 1, 0);
        gather(d, d.value, nodes, l, work, 1);
        const double n = d.rule == 0 ? total / pairs : d.rule == 1 ? least : pairs / inverse;
        p = p_of_r(given_others(work, l, 1), n - (l + 3));
    }
    return __shfl_sync(FULL, p, 0);
}
