"""P-values of many tests, compiled, with the same bits as `fisher_z.p_value_of`, from Python 3.11 on."""

from __future__ import annotations

import math

from pycupc.independence.base import Floats
from pycupc.independence.gaussian.tolerances import R_MAX
from pycupc.system.jit import compiled, jit_part

#: Rows that `fill_rows` fills: columns of the other half are written in whole lines of the cache.
BAND = 16


@compiled
def erfc(values: Floats, out: Floats) -> None:
    """Set out[i] to math.erfc(values[i]), both float64 (k,)."""
    for i in range(len(values)):
        out[i] = math.erfc(values[i])


@compiled
def fill_rows(C: Floats, root: float, low: int, out: Floats) -> None:
    """Write the p-values of the correlations above the diagonal in `BAND` rows of C, from `low` on, to both halves.

    `C`, `out`, float64 (p, p). `root`: the square root of n - 3.
    """
    for x in range(low, low + BAND if low + BAND < len(C) else len(C)):
        for y in range(x + 1, len(C)):
            p = p_value(abs(C[x, y]), root)
            out[x, y] = p
            out[y, x] = p


@jit_part
def p_value(r, root):
    """The p-value of a correlation without its sign; `root`: of the degrees of freedom. 1 where it is NaN."""
    return math.erfc(root * math.atanh(R_MAX if r > R_MAX else r) * math.sqrt(0.5)) if r == r else 1.0
