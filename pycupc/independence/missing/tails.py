"""The upper tail of the F distribution, compiled: of a pooled statistic, and of the square of Student's t."""

from __future__ import annotations

import math

from pycupc.independence.discrete.chi_square import upper_tail
from pycupc.system.compiled import part

#: From this many degrees of freedom of the denominator on, the tail is expanded around the one of chi-square, since the
#: fraction loses digits.
LARGE = 1e8


@part
def log_gamma_ratio(a, b):
    """log(gamma(a + b) / gamma(a)), by Stirling's series (DLMF 5.11.1) if a is large: large terms would cancel."""
    if a < 1e3:
        return math.lgamma(a + b) - math.lgamma(a)
    e = a + b
    series = (1.0 / e - 1.0 / a) / 12.0 - (1.0 / (e * e * e) - 1.0 / (a * a * a)) / 360.0
    return (a - 0.5) * math.log1p(b / a) + b * (math.log(e) - 1.0) + series


@part
def upper_tail_of_f(value, k, df):
    """P(F > value) with k, whole, and df > 0, real, degrees of freedom; NaN if a number is NaN or df not positive.

    The regularised incomplete beta function I_x(df / 2, k / 2) at x = df / (df + k value), by its continued fraction
    (DLMF 8.17.22), evaluated as Lentz does.
    """
    if not (df > 0.0 and k > 0 and value == value):
        return math.nan
    if value <= 0.0:
        return 1.0
    y = k * value
    if df > LARGE:
        p = upper_tail(y, k)
        if df < 1e12 and p > 0.0:  # the mean of the tail over a denominator with the variance 2 / df
            density = math.exp((0.5 * k - 1.0) * math.log(0.5 * y) - 0.5 * y - math.lgamma(0.5 * k)) / 2.0
            p += density * y * (0.5 * y - 0.5 * k + 1.0) / df
        return min(p, 1.0)
    a, b = 0.5 * df, 0.5 * k
    x, rest = df / (df + y), y / (df + y)
    log_x = math.log1p(-rest) if rest < 0.5 else math.log(x)
    log_rest = math.log1p(-x) if x < 0.5 else math.log(rest)
    front = math.exp(log_gamma_ratio(a, b) - math.lgamma(b) + a * log_x + b * log_rest)
    swap = x >= (a + 1.0) / (a + b + 2.0)
    if swap:
        a, b, x = b, a, rest
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, 100_000):
        for odd in range(2):
            if odd == 0:
                term = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
            else:
                term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
            d = 1.0 / (1.0 + term * d)
            c = 1.0 + term / c
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    p = front * fraction / a
    return 1.0 - p if swap else p
