"""The bound of a node: no choice of m of its candidates separates x and y.

Source: docs/contracts/pruning.md, section 2.

Its vector g is 0.85 b here: without the term of b, 2.7 times as many tests were left of a graph of 800 variables.
"""

from __future__ import annotations

import math

from pycupc.engines.cpu.pruning.bounded_walk_arrays import BOUNDS
from pycupc.engines.cpu.tuning import BOUND_TIME, LEAST_WEIGHT, PER_CUBE, PER_SQUARE, STEPS
from pycupc.system.jit import jit_fma, jit_part
from pycupc.system.numba_names import uint64

#: Terms of `margin`. `PER_DELTA` and `PER_SUM` hold for sets of `MEMBERS` members and grow with their number.
LEAST_MARGIN, PER_DELTA, PER_SUM, MEMBERS = 1e-9, 1e-12, 3e-14, 40
#: No least value of a score, since every set of a node has m candidates.
ANY = -1e300


@jit_part
def largest_sum(values, n, m, top, floor):
    """Write the m + 1 largest of n values to `top`, descending; returns the sum of the first m, each at least `floor`.

    With `floor` 0 this is the most that any number of values up to m can sum to.
    """
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
        total += top[u] if top[u] > floor else floor
    return total


@jit_fma
def _linear_part(nodes, slot, w, q, m, w2):
    """h: the most that each candidate can add to - w2 b' C_TT^-1 b, with the vector g = 0.85 b."""
    for k in range(q):
        g = 0.85 * w.b[k]
        for r in range(q):
            v = g * 0.85 * w.b[r] * nodes.C[slot, k, r]
            w.row[r] = v if v > 0.0 else 0.0
        w.row[k] = 0.0
        w.h[k] = w2 * (g * g - 2.0 * g * w.b[k] + largest_sum(w.row, q, m - 1, w.top, ANY))


@jit_fma
def _factorise(nodes, slot, w, q):
    """Eliminate in E + diag(delta / weight), of which the upper triangle is used, with a as one more column."""
    for r in range(q):
        for c in range(uint64(r), uint64(q)):
            w.H[r, c] = nodes.C[slot, r, c]
        weight = nodes.weight[slot, r]
        weight = weight if weight > LEAST_WEIGHT else LEAST_WEIGHT
        delta = nodes.delta[slot, r]
        w.H[r, r] = 1.0 - delta + delta / weight
        w.H[r, q] = w.a[r]
    for k in range(q):
        inverse = 1.0 / w.H[k, k]
        for r in range(k + 1, q):
            factor = w.H[k, r] * inverse
            for c in range(uint64(r), uint64(q + 1)):
                w.H[r, c] -= factor * w.H[k, c]


@jit_fma
def _solve(w, q):
    """z from the factor."""
    for r in range(q):
        w.z[r] = w.H[r, q]
    for r in range(q - 1, -1, -1):
        w.z[r] /= w.H[r, r]
        for u in range(r):
            w.z[u] -= w.H[u, r] * w.z[r]


@jit_fma
def _scores(nodes, slot, w, q, w1):
    """s of each candidate for this z, and z' E z; also the value of the relaxation."""
    zEz, relaxed = 0.0, 0.0
    for k in range(q):
        w.Ez[k] = -nodes.delta[slot, k] * w.z[k]
    for r in range(q):
        zr = w.z[r]
        for k in range(q):
            w.Ez[k] += nodes.C[slot, r, k] * zr
    for k in range(q):
        v = w.a[k] - w.Ez[k]
        w.s[k] = w1 * v * v / nodes.delta[slot, k] + w.h[k]
        zEz += w.z[k] * w.Ez[k]
        relaxed += w1 * w.a[k] * w.z[k] + nodes.weight[slot, k] * w.h[k]
    return w1 * zEz, relaxed


@jit_part
def excess(nodes, slot, w, q, m, c, rise, floor):
    """How far the best bound found is above its budget: below -w.margin[0], |r| > c given every set of the node.

    Its sets have m of q candidates or, if `floor` is 0 instead of `ANY`, any number n up to m; then |r| > c + rise n.

    Writes the scores that belong to it to w.best; inf where rho itself is not above c.
    """
    rho, w.margin[0] = abs(nodes.rho[slot]), 0.0
    if not rho > c:
        return math.inf
    xx, yy, least = 0.0, 0.0, 1.0
    for k in range(q):
        x, y, delta = nodes.x[slot, k], nodes.y[slot, k], nodes.delta[slot, k]
        xx += x * x
        yy += y * y
        least = delta if delta < least else least
    t = math.sqrt(yy / xx) if xx > 0.0 and yy > 0.0 else 1.0
    t = 1.5 if t > 1.5 else (1.0 / 1.5 if t < 1.0 / 1.5 else t)
    if rho <= 0.5 * c * (t + 1.0 / t):
        t = 1.0
    budget, w1, w2 = rho - 0.5 * c * (t + 1.0 / t), 0.25 * (1.0 - c), 0.25 * (1.0 + c)
    per_member = 0.5 * rise * (t + 1.0 / t)
    t = math.sqrt(t)
    sign = 1.0 if nodes.rho[slot] > 0.0 else -1.0
    for k in range(q):
        x, y = t * nodes.x[slot, k], sign * nodes.y[slot, k] / t
        w.a[k], w.b[k] = x + y, x - y
    w.margin[0] = margin(least, q, m, nodes.taken[slot])
    _linear_part(nodes, slot, w, q, m, w2)
    for k in range(q):
        w.h[k] += per_member
    w.spent[0] += BOUND_TIME
    best = math.inf
    for step in range(STEPS):
        _factorise(nodes, slot, w, q)
        _solve(w, q)
        zEz, relaxed = _scores(nodes, slot, w, q, w1)
        over = zEz + largest_sum(w.s, q, m, w.top, floor) - budget
        w.counts[BOUNDS] += 1
        w.spent[0] += (PER_SQUARE + PER_CUBE * q) * q * q
        if over < best:
            best = over
            for k in range(q):
                w.best[k] = w.s[k]
        if best < -w.margin[0] or relaxed > budget:
            break
        for k in range(q):
            step_to = 1.0 if w.s[k] >= w.top[m - 1] and w.s[k] >= floor else 0.0
            nodes.weight[slot, k] += 2.0 / (step + 3.0) * (step_to - nodes.weight[slot, k])
    return best


@jit_part
def margin(least, q, m, taken):
    """More than rounding can move a bound on m of q candidates of least delta `least`
    (docs/contracts/pruning.md, section 4).
    """
    growth = (taken + m) / MEMBERS if taken + m > MEMBERS else 1.0
    return LEAST_MARGIN + growth * (PER_DELTA * growth + PER_SUM * m * q * math.sqrt(q)) / least
