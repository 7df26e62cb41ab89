"""docs/contracts/tiers.md written out on matrices: what `pc(tiers=...)` is compared with. Slow, for small graphs.

The tier of a variable without one is None.
"""

import math
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
from orientation_oracle import Drawing, rules


def later(tiers, a, b):
    """Whether it is known that a is in a later tier than b."""
    return tiers[a] is not None and tiers[b] is not None and tiers[a] > tiers[b]


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
            elif b in context or (a in context_tier and tiers[b] is not None):
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
            candidates = [
                v
                for v in range(p)
                if before[x, v] and v != y and not (later(tiers, v, x) and (not latent or later(tiers, v, y)))
            ]
            if latent and None in (tiers[x], tiers[y]):  # such a variable may be in the last tier
                candidates = [v for v in range(p) if before[x, v] and v != y]
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
            told = later(tiers, b, a) and later(tiers, b, c)  # a collider
            excluded = later(tiers, a, b) or later(tiers, c, b)
            if not G[a, c] and not {a, b, c} & context and not told and not excluded:
                yield a, b, c


def check(test, G, alpha, tiers, context, maj_rule):
    """The ambiguous triples, and the colliders."""
    undecided, colliders = [], []
    for a, b, c in examined(G, tiers, context):
        n = with_b = 0
        for owner in (a, c):
            near = [v for v in np.flatnonzero(G[owner]).tolist() if not later(tiers, v, owner)]
            for S in (S for size in range(len(near) + 1) for S in combinations(near, size) if near):
                if test(a, c, S) >= alpha:
                    n, with_b = n + 1, with_b + (b in S)
        if n and (with_b * 2 < n if maj_rule else with_b == 0):
            colliders.append((a, b, c))
        elif not n or not (with_b * 2 > n if maj_rule else with_b == n):
            undecided.append((a, b, c))
    return undecided, colliders


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
    drawing = Drawing(found.G, solve_confl=True)
    for a, b, c in colliders:
        if not forbidden[a, b] and not forbidden[c, b]:
            drawing.arrow(a, b, None)
            drawing.arrow(c, b, None)
    M = drawing.G
    M[forbidden] = 0
    for a, b in product(range(p), repeat=2):
        if later(tiers, a, b) or (b in context and a not in context):
            M[a, b] = 0
    drawing.skeleton = M + M.T > 0
    rules(drawing, found.ambiguous, rule_4=True)
    found.graph = M
    return found
