// given_one.cuh -- the test of x and y given one variable, in double precision.
#pragma once
#include "canonical/partial_correlation.cuh"
#include "common/structures.cuh"

// Where 1 - r_xk^2 and 1 - r_yk^2 are above this, changes of 1e-15 in C change r by less than 1e-10.
constexpr double WELL_ABOVE = 1e-4;

// The test of x and y given k.
struct Test {
    double num2, den;  // r^2 = num2 / den
    bool certain;      // the fast formula has decided it; otherwise it is doubtful
    bool separates;
    bool close;  // the same test on side B, where the last bits of C differ, might be decided otherwise
};

DEVICE Test test(const Level& lv, const double xy, const double xk, const double yk) {
    Test t;
    const double num = fma(-xk, yk, xy), vx = fma(-xk, xk, 1.0), vy = fma(-yk, yk, 1.0);
    t.num2 = num * num;
    t.den = vx * vy;
    const bool sound = t.num2 < ONE_MINUS_FLOOR * t.den && vx > PIVOT_FLOOR && vy > PIVOT_FLOOR;
    t.separates = sound && t.num2 < lv.sure_in * t.den;
    t.certain = t.separates || (sound && t.num2 > lv.sure_out * t.den);
    t.close = !(t.certain && vx > WELL_ABOVE && vy > WELL_ABOVE);
    if (!t.certain) {
        const double r = fabs(correlation_given_one(xy, xk, yk));
        t.separates = r <= lv.cutoff;
        t.num2 = r * r;
        t.den = 1.0;
    }
    return t;
}
