"""The bound of a node: no way of choosing m more members separates x and y. Source: docs/PRUNING.md, section 2.

A node holds correlations given the members already taken: `rho` of x and y, `x` and `y` of the q candidates with each
of them, `C` of the candidates among themselves, and `delta` with C - diag(delta) positive semidefinite.
"""

from __future__ import annotations

import math

from numba import uint64

from pycupc.engines.cpu.pruning.row_work import BOUNDS
from pycupc.system.compiled import fused_part, part

#: Steps of the relaxation at most.
STEPS = 8
#: Terms of `margin`. `PER_DELTA` and `PER_SUM` hold for sets of `MEMBERS` members and grow with their number.
LEAST_MARGIN, PER_DELTA, PER_SUM, MEMBERS = 1e-9, 1e-12, 3e-14, 40
#: Nanoseconds of a step of the relaxation with q candidates (per q squared, per q cubed), and of a bound besides.
PER_SQUARE, PER_CUBE, BOUND_TIME = 3.2, 0.018, 3100.0
#: Smallest weight of a candidate in the relaxation.
LEAST_WEIGHT = 1e-5


@part
def largest_sum(values, n, m, top):
    """Write the m + 1 largest of n values to `top`, descending; returns the sum of the first m."""
    for u in range(m + 1):
        top[u] = -1e300
    for k in range(n):
        v = values[k]
        if v > top[m]:
            u = m
            while u > 0 and top[u - 1] < v:
                top[u] = top[u - 1]
                u -= 1
            top[u] = v
    total = 0.0
    for u in range(m):
        total += top[u]
    return total


@fused_part
def _linear_part(node, slot, f, q, m, w2):
    """h: the most that each candidate can add to - w2 b' C_TT^-1 b, with the vector g = 0.85 b."""
    for k in range(q):
        g = 0.85 * f.b[k]
        for r in range(q):
            v = g * 0.85 * f.b[r] * node.C[slot, k, r]
            f.row[r] = v if v > 0.0 else 0.0
        f.row[k] = 0.0
        f.h[k] = w2 * (g * g - 2.0 * g * f.b[k] + largest_sum(f.row, q, m - 1, f.top))


@fused_part
def _factorise(node, slot, f, q):
    """Eliminate in E + diag(delta / weight), of which the upper triangle is used, with a as one more column."""
    for r in range(q):
        for c in range(uint64(r), uint64(q)):
            f.H[r, c] = node.C[slot, r, c]
        weight = node.weight[slot, r]
        weight = weight if weight > LEAST_WEIGHT else LEAST_WEIGHT
        delta = node.delta[slot, r]
        f.H[r, r] = 1.0 - delta + delta / weight
        f.H[r, q] = f.a[r]
    for k in range(q):
        inverse = 1.0 / f.H[k, k]
        for r in range(k + 1, q):
            factor = f.H[k, r] * inverse
            for c in range(uint64(r), uint64(q + 1)):
                f.H[r, c] -= factor * f.H[k, c]


@fused_part
def _solve(f, q):
    """z from the factor."""
    for r in range(q):
        f.z[r] = f.H[r, q]
    for r in range(q - 1, -1, -1):
        f.z[r] /= f.H[r, r]
        for u in range(r):
            f.z[u] -= f.H[u, r] * f.z[r]


@fused_part
def _scores(node, slot, f, q, w1):
    """s of each candidate for this z, and z' E z; also the value of the relaxation."""
    zEz, relaxed = 0.0, 0.0
    for k in range(q):
        f.Ez[k] = -node.delta[slot, k] * f.z[k]
    for r in range(q):
        zr = f.z[r]
        for k in range(q):
            f.Ez[k] += node.C[slot, r, k] * zr
    for k in range(q):
        v = f.a[k] - f.Ez[k]
        f.s[k] = w1 * v * v / node.delta[slot, k] + f.h[k]
        zEz += f.z[k] * f.Ez[k]
        relaxed += w1 * f.a[k] * f.z[k] + node.weight[slot, k] * f.h[k]
    return w1 * zEz, relaxed


@part
def excess(node, slot, f, q, m, rho, c):
    """How far the best bound found is above its budget: below -f.margin[0], every |rho_T| exceeds c.

    Writes the scores that belong to it to f.best; inf where rho itself is not above c.
    """
    sign = 1.0 if rho > 0.0 else -1.0
    rho *= sign
    if not rho > c:
        return math.inf
    xx, yy, least = 0.0, 0.0, 1.0
    for k in range(q):
        x, y, delta = node.x[slot, k], node.y[slot, k], node.delta[slot, k]
        xx += x * x
        yy += y * y
        least = delta if delta < least else least
    t = math.sqrt(yy / xx) if xx > 0.0 and yy > 0.0 else 1.0
    t = 1.5 if t > 1.5 else (1.0 / 1.5 if t < 1.0 / 1.5 else t)
    if rho <= 0.5 * c * (t + 1.0 / t):
        t = 1.0
    budget, w1, w2 = rho - 0.5 * c * (t + 1.0 / t), 0.25 * (1.0 - c), 0.25 * (1.0 + c)
    t = math.sqrt(t)
    for k in range(q):
        x, y = t * node.x[slot, k], sign * node.y[slot, k] / t
        f.a[k], f.b[k] = x + y, x - y
    f.margin[0] = margin(least, q, m, node.taken[slot])
    _linear_part(node, slot, f, q, m, w2)
    f.spent[0] += BOUND_TIME
    best = math.inf
    for step in range(STEPS):
        _factorise(node, slot, f, q)
        _solve(f, q)
        zEz, relaxed = _scores(node, slot, f, q, w1)
        over = zEz + largest_sum(f.s, q, m, f.top) - budget
        f.counts[BOUNDS] += 1
        f.spent[0] += (PER_SQUARE + PER_CUBE * q) * q * q
        if over < best:
            best = over
            for k in range(q):
                f.best[k] = f.s[k]
        if best < -f.margin[0] or relaxed > budget:
            break
        for k in range(q):
            step_to = 1.0 if f.s[k] >= f.top[m - 1] else 0.0
            node.weight[slot, k] += 2.0 / (step + 3.0) * (step_to - node.weight[slot, k])
    return best


@part
def margin(least, q, m, taken):
    """More than rounding can move a bound on m of q candidates whose smallest delta is `least`.

    docs/PRUNING.md, section 4, derives it.
    """
    growth = (taken + m) / MEMBERS if taken + m > MEMBERS else 1.0
    return LEAST_MARGIN + growth * (PER_DELTA * growth + PER_SUM * m * q * math.sqrt(q)) / least
