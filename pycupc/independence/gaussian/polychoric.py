"""The compiled half of `latent.py`: correlations of two ordinal variables by maximum likelihood, thresholds given."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pycupc.independence.base import Floats
from pycupc.system.jit import compiled, jit_inlined

#: Largest |correlation|: at 1 a cell that is not empty may have probability 0.
LARGEST = 0.9999
#: The search ends when a step is smaller than LAST_STEP, or after MOST_STEPS steps.
LAST_STEP, MOST_STEPS = 1e-8, 100
#: Below this derivative the log-likelihood counts as constant, unless its second derivative exceeds `SHARP`. In a table
#: whose zeros form a corner it is constant, to all digits, from some |r| on: the smallest such |r| is taken.
FLAT, SHARP = 1e-7, 1e-2
#: Probabilities are at least this: what rounding leaves of a smaller one has no meaning.
LEAST = 1e-13

#: Abscissas and weights on [-1, 1], and angles asin(r) at which the integral is cut: it changes within 1 - r.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
CUTS = np.array([0.0, 0.6, 1.0, 1.3, 1.45, 1.53, 1.58])


class Classes(NamedTuple):
    """Ordinal variables."""

    codes: NDArray[np.uint8]  # (p, n)
    levels: NDArray[np.int64]  # (p,): number of levels
    # cut, below: (p, most levels): thresholds, and shares of the observations up to each level, the last of which is 1.
    cut: Floats
    below: Floats


@jit_inlined
def _both_below(a, b, r, of_a, of_b):
    """P(X <= a, Y <= b) of two standard normal variables with correlation r, given P(X <= a) and P(Y <= b).

    Plackett (1954): its derivative by r is the density at (a, b); the integral is taken over the angle asin(r).
    """
    sign = 1.0 if r >= 0.0 else -1.0
    angle, total = math.asin(abs(r)), 0.0
    squares, product = 0.5 * (a * a + b * b), a * b
    for c in range(len(CUTS) - 1):
        low = CUTS[c]
        if low >= angle:
            break
        half = 0.5 * ((CUTS[c + 1] if CUTS[c + 1] < angle else angle) - low)
        for k in range(len(NODES)):
            sine = sign * math.sin(low + half * (1.0 + NODES[k]))
            total += half * WEIGHTS[k] * math.exp((product * sine - squares) / (1.0 - sine * sine))
    return of_a * of_b + sign * total / (2.0 * math.pi)


@jit_inlined
def _gradient(table, data, x, y, r, work):
    """Derivative of the log-likelihood by r to ``work[0, 0]``, and its expected second one, negative, to `work[0, 1]`.

    ``work[1:3]``: of one column of corners P(X <= a, Y <= b) and their derivatives.
    """
    rows, columns, cut_a, cut_b = data.levels[x], data.levels[y], data.cut[x], data.cut[y]
    below_a, below_b = data.below[x], data.below[y]
    gradient, information = 0.0, 0.0
    for i in range(rows):  # corners (i, -1)
        work[1, i] = 0.0
        work[2, i] = 0.0
    scale = 1.0 / (2.0 * math.pi * math.sqrt(1.0 - r * r))
    for j in range(columns):
        last, slope_last, at_left, slope_left = 0.0, 0.0, 0.0, 0.0  # of the corners (i - 1, j) and (i - 1, j - 1)
        for i in range(rows):
            if i < rows - 1 and j < columns - 1:
                a, b = cut_a[i], cut_b[j]
                corner = _both_below(a, b, r, below_a[i], below_b[j])
                slope = scale * math.exp((a * b * r - 0.5 * (a * a + b * b)) / (1.0 - r * r))
            else:
                corner, slope = (below_a[i] if j == columns - 1 else below_b[j]), 0.0
            probability = corner - last - work[1, i] + at_left
            change = slope - slope_last - work[2, i] + slope_left
            at_left, slope_left = work[1, i], work[2, i]
            work[1, i], work[2, i] = corner, slope
            last, slope_last = corner, slope
            if probability < LEAST:
                probability = LEAST
            gradient += table[i, j] / probability * change
            information += change * change / probability
    work[0, 0], work[0, 1] = gradient, information


@compiled
def fit_row(i: int, data: Classes, start: Floats, table: NDArray[np.int64], work: Floats, out: Floats) -> None:
    """Write the correlation of variable `i` with each j > i to ``out[j]``; the search for each j begins at its `start`.

    ``table`` and ``work``, int64 (most levels, most levels) and float64 (3, most levels), are work space.
    """
    codes, levels = data.codes, data.levels
    p, n = codes.shape
    for j in range(i + 1, p):
        for a in range(levels[i]):
            for b in range(levels[j]):
                table[a, b] = 0
        for k in range(n):
            table[codes[i, k], codes[j, k]] += 1
        low, high, r = -LARGEST, LARGEST, start[j]
        r = 0.0 if not low < r < high else r
        for _ in range(MOST_STEPS):
            _gradient(table, data, i, j, r, work)
            gradient, curvature = work[0, 0], n * work[0, 1]
            constant = abs(gradient) <= FLAT
            if constant and curvature > SHARP:
                break
            if (r < 0.0) if constant else (gradient > 0.0):
                low = r
            else:
                high = r
            step = gradient / curvature
            if constant or not low < r + step < high:  # also where it is no number
                step = 0.5 * (low + high) - r
            r += step
            if abs(step) < LAST_STEP:
                break
        out[j] = r
