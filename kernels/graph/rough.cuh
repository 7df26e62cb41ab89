// rough.cuh -- correlations in two bytes, and the tests that single precision decides with them.
//   level0 makes the copy of C, level1 reads it.
//
//   A code is 2^15 (c + 1), rounded. Code 0 stands for -1, for 1, for every number beyond them, and for NaN: it
//   settles nothing, since a variance 1 - 1^2 counts as 0. Every other c differs from its code by at most h = 2^-16,
//   and the rounding of a double, for which 3 u of `error` and 15 u of BELOW are left.
//
//   The test of x and y given k compares N^2 with a multiple of V: N = c - a b and V = (1 - a^2) (1 - b^2), where a =
//   C_xk, b = C_yk, c = C_xy. It takes the codes of a and b, and c as a float. With u = 2^-24, half an ulp of 1 - u:
//     N  is off by at most h |a| + h from the codes, u from c, and 2 u each from the rounding of num and num -+ error.
//        `error` is h |a| + h + 8 u, so |num| - error < |N| < |num| + error.
//     V  Each factor lacks at most h (2 |a| + h) + u, and gets BELOW = 2 h + 16 u more. So v is too large, also after
//        rounding and multiplication by a float, and by less than 4 BELOW + 4 u < ABOVE.
//   Let low2 = (|num| - error)^2, negative if that difference is, and high2 = (|num| + error)^2. Then
//     N^2 > r2 V        if low2 > r2 v;
//     N^2 < r2 V        if high2 < r2 (v - ABOVE) and r2 < 1; both factors of V are then above 5e-6;
//     V - N^2 > 1.1e-4  if v - low2 > REST, since N^2 < low2 + 4 error (1 + error). Then so are both factors of V, and
//                       r^2 < 1 - 1.1e-4.
//   In the first two there is room for the rounding of the same test in double precision, relatively 1e-7 and more. So
//   that would agree. A NaN fails all three.
#pragma once
#include "common/warp.cuh"

constexpr float CODE_STEP = 1.0f / 32768, CODE_ERROR = CODE_STEP / 2;
constexpr float BELOW = 2 * CODE_ERROR + 0x1p-20f, ABOVE = 1.4e-4f, REST = 3.8e-4f;

typedef unsigned short Code;

DEVICE Code code_of(const double c) {
    const int code = fabs(c) < 1.0 ? __double2int_rn(fma(c, 32768.0, 32768.0)) : 0;
    return (Code)(code < 65536 ? code : 0);
}

// The number of a code, exactly: the bits of the code are the last ones of a float between 256 and 258.
DEVICE float decoded(const Code code) { return __uint_as_float(0x43800000u | code) - 257.0f; }

// The numbers of x and k for the tests of x and y given k.
struct RoughGiven {
    float a, error, vx;
    DEVICE RoughGiven(const Code of_xk) {
        a = decoded(of_xk);
        error = fmaf(fabsf(a), CODE_ERROR, CODE_ERROR + 0x1p-21f);
        vx = fmaf(-a, a, 1.0f + BELOW);
    }
};

// The test of x and y given k; c: correlation of x and y, rounded.
struct RoughTest {
    float low2, high, v;
    DEVICE RoughTest(const RoughGiven& k, const float c, const Code of_yk) {
        const float b = decoded(of_yk), num = fmaf(-k.a, b, c), low = fabsf(num) - k.error;
        low2 = low * fabsf(low);
        high = fabsf(num) + k.error;
        v = k.vx * fmaf(-b, b, 1.0f + BELOW);
    }
    // r^2 is above this, and the test neither near-singular nor close.
    DEVICE bool above(const float r2) const { return (low2 > r2 * v) & (v - low2 > REST); }
    // r^2 is below this, which is at most 1 - 1e-5.
    DEVICE bool below(const float r2) const { return high * high < r2 * (v - ABOVE); }
    // Bounds of r^2 where `above` holds.
    DEVICE float least() const { return 0.99999f * __fdividef(low2, v); }
    DEVICE float most() const { return 1.00001f * __fdividef(high * high, v - ABOVE); }
};
