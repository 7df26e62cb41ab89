// tails.cuh -- from statistics to p-values, by one thread: the twins of upper_tail_of_f and pooled_g2 in
//   pycupc/independence/missing/reference_tests.py. They agree to the accuracy of the mathematical library.
#pragma once
#include "common/warp.cuh"
#include "discrete/chi_square.cuh"

// From this many degrees of freedom of the denominator on, the tail is expanded around the tail of chi-square, since the
// fraction loses digits.
constexpr double LARGE_DF = 1e8;

// log(gamma(a + b) / gamma(a)), by Stirling's series if a is large: large terms would cancel.
DEVICE double log_gamma_ratio(const double a, const double b) {
    if (a < 1e3) return lgamma(a + b) - lgamma(a);
    const double e = a + b, series = (1.0 / e - 1.0 / a) / 12.0 - (1.0 / (e * e * e) - 1.0 / (a * a * a)) / 360.0;
    return (a - 0.5) * log1p(b / a) + b * (log(e) - 1.0) + series;
}

// P(F > value) with k, whole, and df > 0, real, degrees of freedom; NaN if it is undefined.
DEVICE double upper_tail_of_f(const double value, const double k, const double df) {
    if (!(df > 0.0 && k > 0.0 && value == value)) return nan_value();
    if (value <= 0.0) return 1.0;
    const double y = k * value;
    if (df > LARGE_DF) {
        double p = upper_tail(y, (i64)k);
        if (df < 1e12 && p > 0.0) {
            const double density = exp((0.5 * k - 1.0) * log(0.5 * y) - 0.5 * y - lgamma(0.5 * k)) / 2.0;
            p += density * y * (0.5 * y - 0.5 * k + 1.0) / df;
        }
        return min(p, 1.0);
    }
    double a = 0.5 * df, b = 0.5 * k, x = df / (df + y);
    const double rest = y / (df + y);
    const double log_x = rest < 0.5 ? log1p(-rest) : log(x), log_rest = x < 0.5 ? log1p(-x) : log(rest);
    const double front = exp(log_gamma_ratio(a, b) - lgamma(b) + a * log_x + b * log_rest);
    const bool swap = x >= (a + 1.0) / (a + b + 2.0);
    if (swap) {
        const double of_y = a;
        a = b;
        b = of_y;
        x = rest;
    }
    double c = 1.0, d = 1.0 / (1.0 - (a + b) * x / (a + 1.0)), fraction = d;
    for (int m = 1; m < 100000; ++m) {
        for (int odd = 0; odd < 2; ++odd) {
            const double up = odd ? -(a + m) * (a + b + m) : m * (b - m);
            const double term = up * x / ((a + 2.0 * m) * (a + 2.0 * m + (odd ? 1.0 : -1.0)));
            d = 1.0 / (1.0 + term * d);
            c = 1.0 + term / c;
            fraction *= c * d;
        }
        if (fabs(c * d - 1.0) < 1e-15) break;
    }
    const double p = front * fraction / a;
    return swap ? 1.0 - p : p;
}

// The p-value of the pooled likelihood ratio test of M imputations with k degrees of freedom.
DEVICE double pooled_g2(const double of_full, const double of_mean, const double k, const double M) {
    const double r = (M + 1.0) / (k * (M - 1.0)) * (of_full - of_mean), t = k * (M - 1.0);
    const double s = t > 4.0 ? 1.0 + (1.0 - 2.0 / t) / r : 1.0 + 1.0 / r;
    const double df = r == 0.0 ? 1e300 : t > 4.0 ? 4.0 + (t - 4.0) * s * s : t * (1.0 + 1.0 / k) * s * s / 2.0;
    return upper_tail_of_f(of_mean / (k * (1.0 + r)), k, df);
}
