"""Meek's rules after required arrows, on matrices: what `add_background_knowledge` is compared with."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def close(M):
    """Meek's four rules, each of which sees its own arrows at once, until nothing changes; M is changed."""
    p = range(len(M))

    def pairs(directed):
        return [(a, b) for b in p for a in p if M[a, b] == 1 and M[b, a] == (0 if directed else 1)]

    def undirected(a, b):
        return M[a, b] == M[b, a] == 1

    def arrow(a, b):
        return M[a, b] == 1 and M[b, a] == 0

    def apart(a, b):
        return M[a, b] == M[b, a] == 0

    def direct(a, b):
        M[a, b], M[b, a] = 1, 0

    while True:
        before = M.copy()
        for a, b in pairs(True):
            for c in p:
                if c != a and undirected(b, c) and apart(a, c):
                    direct(b, c)
        for a, b in pairs(False):
            if any(arrow(a, c) and arrow(c, b) for c in p):
                direct(a, b)
        for a, b in pairs(False):
            near = [c for c in p if undirected(a, c) and arrow(c, b)]
            if any(apart(c, d) for c, d in combinations(near, 2)):
                direct(a, b)
        for a, b in pairs(False):
            near = [c for c in p if c != b and undirected(a, c)]
            if any(arrow(c, d) and arrow(d, b) and apart(c, b) for c in near for d in near):
                direct(a, b)
        if (before == M).all():
            return M


def add(M, arrows):
    """`M` with these arrows and what follows from them; None if an arrow contradicts."""
    M = close(np.array(M))
    for a, b in arrows:
        if M[a, b] != 1:
            return None
        M[b, a] = 0
        close(M)
    return M
