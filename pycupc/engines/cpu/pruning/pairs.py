"""Levels from 5 on, pair by pair: whether a set separates it, and the first that does."""

from __future__ import annotations

import math

from pycupc.engines.cpu.pruning.search import NONE, SEPARATED, UNDECIDED, search
from pycupc.engines.cpu.threads import STOP
from pycupc.system.compiled import compiled, fused_part, part

#: Rows whose smallest delta is below this are not searched: their pivots might be doubtful.
LEAST_DELTA = 1e-5
#: A factorisation is sound while its pivots are above this.
PIVOT = 1e-10


@fused_part
def _invert(A, n):
    """Invert a symmetric matrix in place; returns whether it is positive definite."""
    for k in range(n):
        pivot = A[k, k]
        if not pivot > PIVOT:
            return False
        for c in range(n):
            A[k, c] /= pivot
        A[k, k] = 1.0 / pivot
        for r in range(n):
            if r != k:
                factor = A[r, k]
                for c in range(n):
                    A[r, c] -= factor * A[k, c]
                A[r, k] = -factor / pivot
    return True


@fused_part
def _is_positive(M, A, scale, mu, n):
    """Whether M - mu diag(scale) has a Cholesky factor."""
    for r in range(n):
        for c in range(n):
            A[r, c] = M[r, c]
        A[r, r] -= mu * scale[r]
    for k in range(n):
        if not A[k, k] > PIVOT:
            return False
        for r in range(k + 1, n):
            factor = A[k, r] / A[k, k]
            for c in range(n):
                A[r, c] -= factor * A[k, c]
    return True


@fused_part
def _largest_eigenvalue(A, scale, v, u, n):
    """About the largest eigenvalue of the symmetric matrix with entries sqrt(scale_r) A_rc sqrt(scale_c)."""
    norm = 1.0
    for r in range(n):
        v[r] = 1.0 + 0.5 * (r % 3)
    for _ in range(12):
        for r in range(n):
            u[r] = 0.0
        for c in range(n):
            factor = math.sqrt(scale[c]) * v[c] / norm
            for r in range(n):
                u[r] += A[c, r] * factor
        norm = 0.0
        for r in range(n):
            v[r] = math.sqrt(scale[r]) * u[r]
            norm += v[r] * v[r]
        norm = math.sqrt(norm)
    return norm


@part
def _find_delta(w, n):
    """Write delta: the row's matrix without diag(delta) is positive semidefinite; returns the smallest, 0 in vain."""
    for r in range(n):
        for c in range(n):
            w.A[r, c] = w.R[r, c]
    if not _invert(w.A, n):
        return 0.0
    for r in range(n):
        w.delta[r] = 1.0 / w.A[r, r]
    mu = 0.98 / _largest_eigenvalue(w.A, w.delta, w.v, w.u, n)
    tries = 0
    while not _is_positive(w.R, w.A, w.delta, mu, n):
        mu *= 0.8
        tries += 1
        if tries == 20:
            return 0.0
    least = 1.0
    for r in range(n):
        w.delta[r] *= mu * (1.0 - 1e-9)
        least = w.delta[r] if w.delta[r] < least else least
    return least


@part
def _gather(side, x, start, d, w):
    """The correlations of the row: its d neighbours, then x."""
    for i in range(d + 1):
        a = side.neighbours[start + i] if i < d else x
        for j in range(d + 1):
            b = side.neighbours[start + j] if j < d else x
            w.R[i, j] = side.C[a, b] if i != j else 1.0


@part
def _open_pair(w, base, i, d):
    """The pair of x and the neighbour at position i, nothing given, as the base of queries."""
    q = 0
    for k in range(d):
        if k != i:
            base.position[q] = k
            base.x[q], base.y[q], base.delta[q] = w.R[k, d], w.R[k, i], w.delta[k]
            n = 0
            for r in range(d):
                if r != i:
                    base.C[q, n] = w.R[k, r]
                    n += 1
            q += 1
    base.rho[0] = w.R[i, d]


@part
def _ask_all(base, nodes, q, m, n_taken):
    """Slot 0: the family of all m-subsets of the base's q candidates, after its first members."""
    for a in range(q):
        for b in range(q):
            nodes.C[0, a, b] = base.C[a, b]
        nodes.x[0, a], nodes.y[0, a], nodes.delta[0, a] = base.x[a], base.y[a], base.delta[a]
        nodes.position[0, a], nodes.weight[0, a] = base.position[a], m / q
    for t in range(n_taken):
        nodes.members[0, t] = base.members[t]
    nodes.rho[0], nodes.q[0], nodes.m[0], nodes.taken[0] = base.rho[0], q, m, n_taken


@fused_part
def _ask_given(base, nodes, first, q, m, n_taken):
    """Slot 0: the family of the base's candidate `first` and m - 1 of those after it."""
    size = q - first - 1
    xs, ys = base.x[first], base.y[first]
    x_scale, y_scale = 1.0 / math.sqrt(1.0 - xs * xs), 1.0 / math.sqrt(1.0 - ys * ys)
    for a in range(size):
        r = base.C[first, first + 1 + a]
        nodes.scale[a] = 1.0 / math.sqrt(1.0 - r * r)
    for a in range(size):
        k = first + 1 + a
        r, s = base.C[first, k], nodes.scale[a]
        for b in range(size):
            nodes.C[0, a, b] = (base.C[k, first + 1 + b] - r * base.C[first, first + 1 + b]) * s * nodes.scale[b]
        nodes.C[0, a, a] = 1.0
        nodes.x[0, a] = (base.x[k] - xs * r) * s * x_scale
        nodes.y[0, a] = (base.y[k] - ys * r) * s * y_scale
        delta = base.delta[k] * s * s
        nodes.delta[0, a] = delta if delta < 0.999999 else 0.999999
        nodes.weight[0, a] = (m - 1) / size
        nodes.position[0, a] = base.position[k]
    for t in range(n_taken):
        nodes.members[0, t] = base.members[t]
    nodes.members[0, n_taken] = base.position[first]
    nodes.taken[0] = n_taken + 1
    nodes.rho[0] = (base.rho[0] - xs * ys) * x_scale * y_scale
    nodes.q[0], nodes.m[0] = size, m - 1


@part
def _take(base, nodes):
    """Make slot 0 the base."""
    q = nodes.q[0]
    for a in range(q):
        for b in range(q):
            base.C[a, b] = nodes.C[0, a, b]
        base.x[a], base.y[a], base.delta[a] = nodes.x[0, a], nodes.y[0, a], nodes.delta[0, a]
        base.position[a] = nodes.position[0, a]
    base.rho[0] = nodes.rho[0]
    for t in range(nodes.taken[0]):
        base.members[t] = nodes.members[0, t]
    return q


@part
def _write_without(positions, skipped, members):
    """Write the positions as if `skipped` were not there."""
    for u in range(len(members)):
        members[u] = positions[u] - (positions[u] > skipped)


@compiled
def open_row(side, x, w):
    """Gather the row of x and find its delta; returns the smallest."""
    start = side.offsets[x]
    d = side.offsets[x + 1] - start
    _gather(side, x, start, d, w)
    return _find_delta(w, d + 1)


@compiled
def search_row(  # noqa: PLR0913 - a hot loop, with its work space
    side, x, targets, allowance, outcomes, w, base, nodes, leaf, f, state
):
    """Decide the pairs of x with the neighbours at the positions `targets`, in a row that `open_row` has prepared.

    `allowance` is the number of nanoseconds, in f.spent, that the searches about a pair may take. They are counted by
    the steps made, at times measured once on one machine, so that every machine decides the same pairs.

    The first question about a pair is whether any set separates it. If one does, the members of the first such set
    follow one by one: the smallest candidate that some separating set has after the members known so far.
    """
    start, level, t, first = side.offsets[x], side.level, 0, -1
    d, o, q = side.offsets[x + 1] - start, -1, 0
    found = NONE
    while state[STOP] == 0:
        if first < 0 and t == 0:  # the next pair
            o += 1
            if o == targets.shape[0]:
                break
            f.bound[0], f.smallest[0], f.spent[0] = side.bound[start + targets[o]], math.inf, 0.0
            f.nodes[level], f.nodes[level + 1] = x, side.neighbours[start + targets[o]]
            q = d - 1
            _open_pair(w, base, targets[o], d)
        if first < 0:
            _ask_all(base, nodes, q, level - t, t)
        else:
            _ask_given(base, nodes, first, q, level - t, t)
            if base.position[first] == base.known[t]:
                q = _take(base, nodes)
                t += 1
                first = -1 if t == level - 1 else 0
                continue
        found = search(side, nodes, leaf, f, allowance, state)
        if found == SEPARATED:
            for u in range(level):
                base.known[u] = leaf.set[u]
        if found == UNDECIDED or (first < 0 and (found == NONE or t == level - 1)):
            outcomes.found[o], outcomes.smallest[o] = found, f.smallest[0]
            f.spent[1] += f.spent[0]
            if found == SEPARATED:
                _write_without(base.known, targets[o], outcomes.members[o])
            t, first = 0, -1
        elif first < 0:
            first = 0
        elif found == NONE:
            first += 1
