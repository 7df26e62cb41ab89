"""Sections 4 and 5 of docs/contracts/contract.md written out on a matrix, pair by pair and round by round: slow, for
small graphs.

What the compiled orientation is compared with: the graph, what set each arrowhead, and the way that was taken.
"""

from itertools import combinations, product

import numpy as np


class Drawing:
    """The matrix G of section 4 with what set each arrowhead; (a, b) is the arrowhead at b."""

    def __init__(self, skeleton, solve_confl=False) -> None:
        self.skeleton, self.G, self.trace, self.solve_confl = skeleton, skeleton.astype(int), {}, solve_confl

    def arrow(self, a, b, why) -> None:
        G, now = self.G, (self.G[a, b], self.G[b, a])
        if not self.solve_confl or now == (1, 1):
            G[a, b], G[b, a] = 1, 0
            self.trace.pop((b, a), None)
            self.trace[a, b] = why
        elif now == (0, 1):
            G[a, b] = G[b, a] = 2
            self.trace[a, b] = why

    def listed(self, G, directed):
        """Pairs down the columns."""
        p = range(len(G))
        return [(a, b) for b in p for a in p if G[a, b] == 1 and G[b, a] == (0 if directed else 1)]


def is_ambiguous(ambiguous, a, b, c):
    return (a, b, c) in ambiguous or (c, b, a) in ambiguous


def colliders(drawing, sepset, ambiguous=()):
    """The arrows into y need one collider each: x takes its smallest z, and z takes x, unless it has one by then."""
    skeleton, p = drawing.skeleton, len(drawing.skeleton)
    for y in range(p):
        partner = {}
        for x, z in product(np.flatnonzero(skeleton[y]).tolist(), repeat=2):
            if x == z or skeleton[x, z] or x in partner or is_ambiguous(ambiguous, x, y, z):
                continue
            if not sepset.contains(x, z, y) and not sepset.contains(z, x, y):
                partner[x] = z
                partner.setdefault(z, x)
        for x, z in partner.items():
            drawing.arrow(x, y, ("collider", min(x, z), y, max(x, z)))


def rules(drawing, ambiguous=(), arrow_is_gap=False, rule_4=False):
    """With `arrow_is_gap` rule 3 as pcalg has it for "rand" and "retry": an arrow between c1 and c2 will do.

    Rule 4 is Meek's, for graphs with arrows that are known.
    """
    skeleton, now, p = drawing.skeleton, drawing.G, range(len(drawing.skeleton))
    while True:
        before = now.copy()
        G = now.copy() if drawing.solve_confl else now  # what conditions are read from
        for a, b in drawing.listed(G, True):
            for c in [c for c in p if G[b, c] == G[c, b] == 1 and not skeleton[a, c] and c != a]:
                if not is_ambiguous(ambiguous, a, b, c):
                    drawing.arrow(b, c, ("R1", a, b, c))
        G = now.copy() if drawing.solve_confl else now
        for a, b in drawing.listed(G, False):
            via = [c for c in p if G[a, c] == 1 and G[c, a] == 0 and G[c, b] == 1 and G[b, c] == 0]
            if via:
                drawing.arrow(a, b, ("R2", a, via[0], b))
        G = now.copy() if drawing.solve_confl else now
        for a, b in drawing.listed(G, False):
            cs = [c for c in p if G[a, c] == 1 and G[c, a] == 1 and G[c, b] == 1 and G[b, c] == 0]
            gap = G * G.T == 0 if arrow_is_gap else ~skeleton
            pairs = [(c, d) for c, d in combinations(cs, 2) if gap[c, d] and not is_ambiguous(ambiguous, c, a, d)]
            if pairs:
                drawing.arrow(a, b, ("R3", a, *pairs[0], b))
        G = now.copy() if drawing.solve_confl else now
        for a, b in drawing.listed(G, False) if rule_4 else ():
            near = [c for c in p if G[a, c] == G[c, a] == 1]
            far = [c for c in near if c != b and not skeleton[b, c] and not is_ambiguous(ambiguous, c, a, b)]
            into_b = [d for d in near if G[d, b] == 1 and G[b, d] == 0]
            pairs = [(c, d) for c in far for d in into_b if G[c, d] == 1 and G[d, c] == 0]
            if pairs:
                drawing.arrow(a, b, ("R4", a, *pairs[0], b))
        if (before == now).all():
            return


def extendable(G):
    """Dor and Tarsi (1992): take away a sink whose undirected neighbours are adjacent to all its neighbours."""
    left = set(range(len(G)))
    adjacent = (G + G.T) != 0
    while left:
        for x in sorted(left):
            near = [y for y in left if adjacent[x, y]]
            sink = not any(G[x, y] == 1 and G[y, x] == 0 for y in near)
            if sink and all(adjacent[y, z] for y in near if G[x, y] == G[y, x] == 1 for z in near if z != y):
                left.remove(x)
                break
        else:
            return False
    return True


def dag_cpdag(skeleton, order):
    drawing, place = Drawing(skeleton), {v: i for i, v in enumerate(order)}
    for y in range(len(skeleton)):
        parents = [x for x in np.flatnonzero(skeleton[y]).tolist() if place[x] < place[y]]
        for x in parents:
            others = [z for z in parents if z != x and not skeleton[x, z]]
            if others:
                drawing.arrow(x, y, ("collider", min(x, others[0]), y, max(x, others[0])))
    rules(drawing)
    return drawing


def lowest_sinks_last(G):
    """A causal order that agrees with the arrows, None if they have a cycle."""
    left, order = list(range(len(G))), []
    while left:
        sinks = [x for x in left if not any(G[x, y] == 1 and G[y, x] == 0 for y in left)]
        if not sinks:
            return None
        left.remove(sinks[0])
        order.insert(0, sinks[0])
    return order


def orient(skeleton, sepset, u2pd="relaxed", solve_confl=False, ambiguous=(), random_state=None):
    """(matrix, trace, status, number of tries)"""
    drawing = Drawing(skeleton, solve_confl)
    colliders(drawing, sepset, ambiguous)
    if u2pd == "relaxed":
        rules(drawing, ambiguous)
        return drawing.G, drawing.trace, "relaxed", 0
    heads = Drawing(skeleton, solve_confl=True)
    colliders(heads, sepset)
    both = [(a, b) for a, b in np.argwhere(np.triu(heads.G == 2)).tolist()]
    tries = min(2 ** len(both) - 1, 100) if u2pd == "retry" else 0
    start = drawing
    for code in range(tries + 1):
        drawing = Drawing(skeleton)
        drawing.G, drawing.trace = start.G.copy(), dict(start.trace)
        for bit, (a, b) in enumerate(both):
            if code >> bit & 1:
                pair = (b, a) if start.G[a, b] == 1 else (a, b)
                drawing.arrow(*pair, heads.trace[pair])
        if extendable(drawing.G):
            rules(drawing, arrow_is_gap=True)
            return drawing.G, drawing.trace, "reoriented" if code else "extendable", code
    order = lowest_sinks_last(drawing.G) if u2pd == "retry" else None
    status = "random" if order is None else "forced"
    if order is None:
        order = np.random.default_rng(random_state).permutation(len(skeleton)).tolist()
    drawing = dag_cpdag(skeleton, order)
    return drawing.G, drawing.trace, status, tries
