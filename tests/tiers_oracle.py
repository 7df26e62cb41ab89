"""docs/TIERS.md written out on matrices, pair by pair: what `pc(tiers=...)` is compared with. Slow, for small graphs."""

from __future__ import annotations

import math
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np


def context_pairs(p, tiers, context_all, context_tier, forbidden):
    """The gaps and the fixed edges that context variables and forbidden edges make."""
    gaps, fixed = np.zeros((2, p, p), dtype=bool)
    context = {*context_all, *context_tier}
    for a in context:
        for b in range(p):
            if b == a:
                continue
            if b not in context and (a in context_all or tiers[a] == tiers[b]):
                fixed[a, b] = fixed[b, a] = True
            elif b in context or a in context_tier:
                gaps[a, b] = gaps[b, a] = True
    return gaps | (forbidden & forbidden.T), fixed


def skeleton(test, p, alpha, tiers, gaps, fixed, m_max=math.inf):
    """Levels with a frozen graph; the sets for x, y are drawn from the neighbours of x in tiers not after its own."""
    G = ~(np.eye(p, dtype=bool) | gaps)
    cells, counts, largest, level, more = {}, [], np.full((p, p), -np.inf), 0, True
    while more and G.any() and level <= m_max:
        more, before, n = False, G.copy(), 0
        for x, y in product(range(p), repeat=2):
            if not before[x, y] or not G[x, y] or fixed[x, y]:
                continue
            candidates = [v for v in range(p) if before[x, v] and v != y and tiers[v] <= tiers[x]]
            more = more or len(candidates) > level
            for S in combinations(candidates, level):
                n += 1
                value = test(x, y, S)
                largest[x, y] = max(largest[x, y], value)
                if value >= alpha:
                    G[x, y] = G[y, x] = False
                    cells[x, y] = S
                    break
        counts.append(n)
        level += 1
    largest = np.maximum(largest, largest.T)
    np.fill_diagonal(largest, 1)
    return SimpleNamespace(G=G, cells=cells, counts=counts or [0], max_ord=level - 1, pMax=largest)


def examined(G, tiers, context):
    """The triples a - b - c that are examined, by b, then a, then c."""
    p = len(G)
    for b in range(p):
        for a, c in combinations(np.flatnonzero(G[b]).tolist(), 2):
            if not G[a, c] and not {a, b, c} & context and tiers[b] == max(tiers[a], tiers[c]):
                yield a, b, c


def check(test, found, alpha, tiers, context, maj_rule):
    """The ambiguous triples and the collider triples; the cells of `found` change."""
    G, cells = found.G, dict(found.cells)
    undecided, colliders = [], []
    for a, b, c in examined(G, tiers, context):
        n = with_b = 0
        for owner in (a, c):
            near = [v for v in np.flatnonzero(G[owner]).tolist() if tiers[v] <= tiers[owner]]
            for size in range(len(near) + 1):
                for S in combinations(near, size):
                    if test(a, c, S) >= alpha:
                        n, with_b = n + 1, with_b + (b in S)
        collider = n and (with_b * 2 < n if maj_rule else with_b == 0)
        inside = n and (with_b * 2 > n if maj_rule else with_b == n)
        if collider:
            colliders.append((a, b, c))
        elif not inside:
            undecided.append((a, b, c))
        for cell in ((a, c), (c, a)):
            S = cells.get(cell, ())
            if inside:
                cells[cell] = S if b in S else (*S, b)
            elif collider or not n:
                cells[cell] = tuple(v for v in S if v != b)
            else:
                cells[cell] = S
    return undecided, colliders, cells


NO4 = False


def rules(M, ambiguous):
    """Meek's four rules with solve_confl; `M` is a matrix as of R's as(graph, "matrix")."""
    p = range(len(M))
    bad = {t for a, b, c in ambiguous for t in ((a, b, c), (c, b, a))}

    def arrow(a, b):
        if M[a, b] == 1 and M[b, a] == 1:
            M[b, a] = 0
        elif M[a, b] == 0 and M[b, a] == 1:
            M[a, b] = M[b, a] = 2

    def pairs(G, directed):
        return [(a, b) for b in p for a in p if G[a, b] == 1 and G[b, a] == (0 if directed else 1)]

    while True:
        start = M.copy()
        G = M.copy()
        for a, b in pairs(G, True):
            for c in p:
                if G[b, c] == G[c, b] == 1 and G[a, c] == G[c, a] == 0 and c != a and (a, b, c) not in bad:
                    arrow(b, c)
        G = M.copy()
        for a, b in pairs(G, False):
            if any(G[a, c] == 1 and G[c, a] == 0 and G[c, b] == 1 and G[b, c] == 0 for c in p):
                arrow(a, b)
        G = M.copy()
        for a, b in pairs(G, False):
            cs = [c for c in p if G[a, c] == G[c, a] == 1 and G[c, b] == 1 and G[b, c] == 0]
            if any(G[c, d] == G[d, c] == 0 and (c, a, d) not in bad for c, d in combinations(cs, 2)):
                arrow(a, b)
        G = M.copy()
        for a, b in (
            [] if NO4 else pairs(G, False)
        ):  # a - b, a - c, c -> d -> b ... a adjacent to d, c and b not adjacent
            cs = [
                c for c in p if G[a, c] == G[c, a] == 1 and G[b, c] == G[c, b] == 0 and c != b and (c, a, b) not in bad
            ]
            if any(
                G[a, d] == G[d, a] == 1 and G[c, d] == 1 and G[d, c] == 0 and G[d, b] == 1 and G[b, d] == 0
                for c in cs
                for d in p
            ):
                arrow(a, b)
        if (start == M).all():
            return M


def tpc(test, p, alpha, tiers=None, context_all=(), context_tier=(), forbidden=None, m_max=math.inf, maj_rule=True):
    tiers = [1] * p if tiers is None else list(tiers)
    forbidden = np.zeros((p, p), dtype=bool) if forbidden is None else np.asarray(forbidden)
    gaps, fixed = context_pairs(p, tiers, context_all, context_tier, forbidden)
    found = skeleton(test, p, alpha, tiers, gaps, fixed, m_max)
    context = {*context_all, *context_tier}
    ambiguous, colliders, _ = check(test, found, alpha, tiers, context, maj_rule)
    M = found.G.astype(int)
    for a, b, c in sorted(colliders, key=lambda t: (t[1], t[0], t[2])):
        if forbidden[a, b] or forbidden[c, b]:
            continue
        for x in (a, c):
            if M[x, b] == 1 and M[b, x] == 1:
                M[b, x] = 0
            elif M[x, b] == 0 and M[b, x] == 1:
                M[x, b] = M[b, x] = 2
    for a, b in product(range(p), repeat=2):
        if found.G[a, b] and tiers[a] < tiers[b]:
            M[b, a] = 0
    for a in context:
        for b in range(p):
            if found.G[a, b] and b not in context:
                M[b, a] = 0
    M[forbidden] = 0
    found.vstruct = M.copy()
    found.ambiguous = ambiguous
    found.graph = rules(M, ambiguous)
    return found
