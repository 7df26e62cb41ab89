"""P-values of many tests, compiled. The bits are those of `fisher_z.p_value_of`, from Python 3.11 on."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats, Indices
from pycupc.independence.gaussian.limits import R_MAX
from pycupc.system.compiled import compiled, part

#: Rows that `fill_rows` fills between two looks at its flags.
BAND = 16
#: The flags of `fill_rows`: set by it, it has begun; set by others, it shall end.
BEGUN, STOP = 0, 1


@compiled
def erfc(values: Floats, out: Floats) -> None:
    """Set out[i] to math.erfc(values[i]), both float64 (k,)."""
    for i in range(len(values)):
        out[i] = math.erfc(values[i])


@compiled
def put_removals(x: NDArray[np.int32], y: NDArray[np.int32], r: Floats, root: Floats, out: Floats) -> None:
    """Set ``out``, float64 (p, p), to minus the p-value in the cells above the diagonal of the pairs (x, y).

    `r` has their partial correlations, `root` the square roots of n - level - 3, not below 0: float64 (k,).
    """
    for k in range(len(x)):
        low = x[k] if x[k] < y[k] else y[k]
        out[low, x[k] + y[k] - low] = -p_value(abs(r[k]), root[k])


@compiled
def fill_rows(first: int, step: int, root: float, out: Floats, flags: Indices) -> None:
    """Turn every `step`-th band of rows of ``out``, float64 (p, p), and the same columns into p-values.

    The bands have `BAND` rows; the first one is number `first`. Above the diagonal these rows hold the absolute
    correlations of pairs that level 0 removed, with the square root `root` of n - 3, and what `put_removals` has put
    there, in which the sign bit is set. `flags`, int64 (2,): see `BEGUN`.
    """
    flags[BEGUN] = 1
    for low in range(first * BAND, len(out), step * BAND):
        if flags[STOP] != 0:
            return
        for x in range(low, low + BAND if low + BAND < len(out) else len(out)):
            for y in range(x + 1, len(out)):
                value = out[x, y]
                p = -value if math.copysign(1.0, value) < 0 else p_value(value, root)
                out[x, y] = p
                out[y, x] = p


@part
def p_value(r, root):
    """The p-value of a correlation without its sign; `root`: of the degrees of freedom. 1 where it is NaN."""
    return math.erfc(root * math.atanh(R_MAX if r > R_MAX else r) * math.sqrt(0.5)) if r == r else 1.0
