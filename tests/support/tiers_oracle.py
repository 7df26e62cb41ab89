"""docs/TIERS.md written out on matrices: what `pc(tiers=...)` is compared with. Slow, for small graphs."""

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


def skeleton(test, p, alpha, tiers, gaps, fixed, m_max=math.inf, latent=False):
    """Levels with a frozen graph; sets for x, y come from the tiers up to that of x, `latent`: up to the later one."""
    G = ~(np.eye(p, dtype=bool) | gaps)
    cells, counts, largest, level, more = {}, [], np.full((p, p), -np.inf), 0, True
    while more and G.any() and level <= m_max:
        more, before, n = False, G.copy(), 0
        for x, y in product(range(p), repeat=2):
            if not before[x, y] or not G[x, y] or fixed[x, y]:
                continue
            limit = max(tiers[x], tiers[y]) if latent else tiers[x]
            candidates = [v for v in range(p) if before[x, v] and v != y and tiers[v] <= limit]
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


def check(test, G, alpha, tiers, context, maj_rule):
    """The ambiguous triples, and the colliders."""
    undecided, colliders = [], []
    for a, b, c in examined(G, tiers, context):
        n = with_b = 0
        for owner in (a, c):
            near = [v for v in np.flatnonzero(G[owner]).tolist() if tiers[v] <= tiers[owner]]
            for S in (S for size in range(len(near) + 1) for S in combinations(near, size) if near):
                if test(a, c, S) >= alpha:
                    n, with_b = n + 1, with_b + (b in S)
        if n and (with_b * 2 < n if maj_rule else with_b == 0):
            colliders.append((a, b, c))
        elif not n or not (with_b * 2 > n if maj_rule else with_b == n):
            undecided.append((a, b, c))
    return undecided, colliders


def rules(M, ambiguous=()):  # noqa: C901
    """Meek's four rules with conflicts solved; `M` is a matrix as of R's as(graph, "matrix"), which is changed."""
    p, bad = range(len(M)), {t for a, b, c in ambiguous for t in ((a, b, c), (c, b, a))}

    def pairs(G, directed):
        return [(a, b) for b in p for a in p if G[a, b] == 1 and G[b, a] == (0 if directed else 1)]

    while True:
        before = M.copy()
        G = M.copy()
        for a, b in pairs(G, directed=True):
            for c in p:
                if line(G, b, c) and apart(G, a, c) and c != a and (a, b, c) not in bad:
                    direct(M, b, c)
        G = M.copy()
        for a, b in pairs(G, directed=False):
            if any(arrow(G, a, c) and arrow(G, c, b) for c in p):
                direct(M, a, b)
        G = M.copy()
        for a, b in pairs(G, directed=False):
            near = [c for c in p if line(G, a, c) and arrow(G, c, b)]
            if any(apart(G, c, d) and (c, a, d) not in bad for c, d in combinations(near, 2)):
                direct(M, a, b)
        G = M.copy()
        for a, b in pairs(G, directed=False):
            near = [c for c in p if line(G, a, c)]
            far = [c for c in near if c != b and apart(G, b, c) and (c, a, b) not in bad]
            if any(arrow(G, c, d) and arrow(G, d, b) for c in far for d in near):
                direct(M, a, b)
        if (before == M).all():
            return M


def line(G, a, b):
    return G[a, b] == G[b, a] == 1


def arrow(G, a, b):
    return G[a, b] == 1 and G[b, a] == 0


def apart(G, a, b):
    return G[a, b] == G[b, a] == 0


def direct(M, a, b):
    """a -> b if the edge is undirected, a <-> b if it points the other way."""
    if line(M, a, b):
        M[b, a] = 0
    elif arrow(M, b, a):
        M[a, b] = M[b, a] = 2


def tpc(
    test, p, alpha, tiers=None, context_all=(), context_tier=(), forbidden=None, m_max=math.inf, maj_rule=True, **more
):
    """`more`: gaps and fixed, symmetric matrices, and required, arrows (tail, head)."""
    tiers = [1] * p if tiers is None else list(tiers)
    forbidden = np.zeros((p, p), dtype=bool) if forbidden is None else np.array(forbidden)
    required = np.zeros((p, p), dtype=bool)
    for a, b in more.get("required", ()):
        required[a, b] = forbidden[b, a] = True
    gaps, fixed = context_pairs(p, tiers, context_all, context_tier, forbidden)
    gaps, fixed = gaps | more.get("gaps", gaps), fixed | more.get("fixed", fixed) | required | required.T
    context = {*context_all, *context_tier}
    found = skeleton(test, p, alpha, tiers, gaps, fixed, m_max)
    found.ambiguous, colliders = check(test, found.G, alpha, tiers, context, maj_rule)
    M = found.G.astype(int)
    for a, b, c in colliders:
        if not forbidden[a, b] and not forbidden[c, b]:
            direct(M, a, b)
            direct(M, c, b)
    M[forbidden] = 0
    for a, b in product(range(p), repeat=2):
        if tiers[a] > tiers[b] or (b in context and a not in context):
            M[a, b] = 0
    found.graph = rules(M, found.ambiguous)
    return found
