// double_double.cuh -- double-double arithmetic: numbers of about 32 digits, each the sum of two float64.
//   The operations of pycupc/independence/gaussian/double_double.py, in the same order. There the error of a product
//   comes from splitting its factors, here from a fused multiply-add: it is exact either way, so the bits are the same.
//   Compiles as CUDA (with --fmad=false) and as plain C++ (with -ffp-contract=off).
#pragma once
#include "common/subsets.cuh"

struct Double2x {
    double high, low;
};

HD Double2x two_sum(double a, double b) {
    const double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
// The sum of a and b where |b| is small beside |a|.
HD Double2x normalised(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
HD Double2x two_product(double a, double b) {
    const double p = a * b;
    return {p, fma(a, b, -p)};
}
HD Double2x plus(const Double2x& a, const Double2x& b) {
    const Double2x s = two_sum(a.high, b.high);
    return normalised(s.high, s.low + (a.low + b.low));
}
HD Double2x minus(const Double2x& a, const Double2x& b) {
    const Double2x s = two_sum(a.high, -b.high);
    return normalised(s.high, s.low + (a.low - b.low));
}
HD Double2x times(const Double2x& a, const Double2x& b) {
    const Double2x p = two_product(a.high, b.high);
    return normalised(p.high, p.low + (a.high * b.low + a.low * b.high));
}
HD Double2x over(const Double2x& a, const Double2x& b) {
    const double q = a.high / b.high;
    const Double2x rest = minus(a, times({q, 0.0}, b));
    return normalised(q, rest.high / b.high);
}
