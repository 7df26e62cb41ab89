// chi_square.cuh -- from the exact sum of a contingency table to a decision and a p-value.
//   Compiles as CUDA and as plain C++ (tests/kernels/test_kernel_discrete.py). The twins of upper_tail and degrees_of_freedom
//   are in pycupc/independence/discrete/; decisions have their bits, p-values agree to the accuracy of the mathematical
//   library.
#pragma once
#include "common/structures.cuh"
#ifndef __CUDACC__
#include <cmath>
using std::erfc;
using std::exp;
using std::fabs;
using std::fmin;
using std::lgamma;
using std::log;
using std::sqrt;
#endif

constexpr int LARGEST_SET_OF_DISCITEST = 4;  // as in pycupc/independence/discrete/g_square.py
constexpr int OBSERVATIONS_PER_DF = 10;
constexpr int OBSERVATIONS_PER_OBSERVED_DF = 5;

constexpr double LEAST_TERM = 1e-14;  // smaller terms of the series, relative to its sum, are left out

enum Outcome { DEPENDENT, INDEPENDENT, DOUBTFUL };

// The probability that a chi-square variable with df degrees of freedom exceeds g2, by its finite series, from the
// largest term to both sides: see pycupc.independence.discrete.chi_square.upper_tail, which adds more terms. Both are
// right to 1e-9.
HD double upper_tail(const double g2, const i64 df) {
    const double h = 0.5 * g2;
    if (!(h > 0.0)) return 1.0;
    const double a = df & 1 ? 0.5 : 0.0, tail = df & 1 ? erfc(sqrt(h)) : 0.0;
    const i64 last = df / 2 - 1;
    if (last < 0) return tail;
    const i64 i0 = h < (double)last ? (i64)h : last;
    const double largest = exp(((double)i0 + a) * log(h) - h - lgamma((double)i0 + a + 1.0));
    const double per_h = 1.0 / h;  // a thread that divides in every step keeps its block waiting
    double total = largest, term = largest;
    for (i64 i = i0; i > 0 && term > LEAST_TERM * total; --i) {
        term *= ((double)i + a) * per_h;
        total += term;
    }
    term = largest;
    for (i64 i = i0 + 1; i <= last && term > LEAST_TERM * total; ++i) {
        term *= h / ((double)i + a);
        total += term;
    }
    return fmin(tail + total, 1.0);
}

// Whether upper_tail(g2, df) is surely not above p, by Chernoff's bound (h / a)^a e^(a - h), h = g2 / 2 > a = df / 2.
// The margin of 1e-6 covers rounding. Where the bound is below the smallest double, the tail is 0.
HD bool tail_is_within(const double g2, const i64 df, const double p) {
    const double h = 0.5 * g2, a = 0.5 * (double)df;
    if (!(h > a)) return false;
    const double exponent = a * log(h / a) + a - h;
    return exponent < -746.0 || exp(exponent) * (1.0 + 1e-6) <= p;
}

// Whether to count the table of variables with kx and ky levels given a set of this size with q configurations, where q
// is n + 1 if there are more than n: there are enough observations, or only the table tells whether there are.
HD bool is_tested(const Codes& d, const int kx, const int ky, const int size, const i64 q) {
    if (d.observed) return true;
    if (d.quirks && size > LARGEST_SET_OF_DISCITEST) return false;
    return d.n >= OBSERVATIONS_PER_DF * ((i64)(kx - 1) * (ky - 1) * q);
}

// Degrees of freedom, lowered by the number of empty cells if d.adapt asks for it; 0 if there are too few observations.
// `empty`: the number of empty cells, or the observed degrees of freedom if d.observed.
HD i64 degrees_of_freedom(const Codes& d, const int kx, const int ky, const int size, const i64 q, i64 empty) {
    if (d.observed) return d.n >= OBSERVATIONS_PER_OBSERVED_DF * empty ? empty : 0;
    const i64 df = (i64)(kx - 1) * (ky - 1) * q;
    if (!d.adapt || size == 0) return df;
    if (d.quirks) empty += 4 * ((1LL << size) - q);
    return df - empty > 1 ? df - empty : 1;
}

// The outcome of the test with G^2, or DOUBTFUL where rounding could decide.
HD Outcome outcome_of(const Codes& d, const double g2, const i64 df) {
    if (df == 0) return INDEPENDENT;
    if (df >= d.cutoffs || !(fabs(g2 - d.cutoff[df]) > d.band)) return DOUBTFUL;
    return g2 < d.cutoff[df] ? INDEPENDENT : DEPENDENT;
}
