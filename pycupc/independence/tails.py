"""The upper tail of F, in compiled code, with the bits of `reference_tests.upper_tail_of_f`."""

from __future__ import annotations

import numpy as np

from pycupc.independence.base import Indices
from pycupc.system.foreign_code import address_of, call_of_three, call_of_two
from pycupc.system.jit import jit_part

#: From these degrees of freedom of the denominator on, F is chi-square over its degrees of freedom.
ENDLESS = 1e12


def tail_addresses() -> Indices:
    """The addresses of SciPy's upper tails of F and of chi-square, int64 (2,)."""
    from scipy.special import cython_special  # takes a while to import

    of_f = address_of(cython_special, "fdtrc", "double (double, double, double,")
    return np.array([of_f, address_of(cython_special, "chdtrc", "double (double, double,")])


@jit_part
def upper_tail_of_f(addresses, value, k, df):
    """P(F > value) with k and df degrees of freedom; NaN where it is undefined."""
    value = 0.0 if value < 0.0 else value
    if df > ENDLESS:
        return call_of_two(addresses[1], k, k * value)
    return call_of_three(addresses[0], k, df, value)
