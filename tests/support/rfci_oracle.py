"""rfci() step by step in plain Python on dense matrices, as docs/contracts/latent.md describes it: slow, and the
oracle.

A is pcalg's amat.pag as int (p, p); `cells` a dict of separating sets by cell; a triple (x, y, z) has x < z; `test` is
a function (x, y, S) -> p.
"""

from itertools import chain, combinations, pairwise

import numpy as np
from pag_oracle import ALL_RULES, Pag


class Problem:
    """The present state of a run, and the options of its tests."""

    def __init__(self, A, cells, test, alpha, *, rule="", quirks=True, na_p=0.0):
        self.A, self.cells, self.test, self.alpha = A.copy(), dict(cells), test, alpha
        self.rule, self.quirks, self.na_p = rule, quirks, na_p
        self.p = len(A)
        self.kept = set()  # fixed edges, pairs x < y, that tests leave alone without quirks
        self.spared = ""  # a part of fault 10 that is not reproduced: "neighbours", "rule", "unseparated"
        self.ambiguous: set[tuple[int, int, int]] = set()
        self.tested: list[tuple[int, int, tuple[int, ...]]] = []

    def neighbours(self, v):
        return [w for w in range(self.p) if self.A[v, w] or self.A[w, v]]

    def independent(self, x, y, S):
        self.tested.append((x, y, tuple(S)))
        p = self.test(x, y, tuple(S))
        return (self.na_p if p != p else p) >= self.alpha

    def set_of(self, x, z, *without):
        """Both cells of a pair one after the other, each member once."""
        both = [*self.cells.get((x, z), ()), *self.cells.get((z, x), ())]
        return [v for v in dict.fromkeys(both) if v not in without]


def unshielded(A):
    """The unshielded triples in the order of scan."""
    p = len(A)
    adjacent = (A != 0) | (A.T != 0)
    return [
        (x, y, z)
        for y in range(p)
        for x in range(p)
        if adjacent[x, y]
        for z in range(x + 1, p)
        if adjacent[y, z] and not adjacent[x, z]
    ]


def separated(problem, x, y, S, smallest=1):
    """The first subset of S, by size, that separates x and y."""
    for size in range(smallest, len(S) + 1):
        for subset in combinations(S, size):
            if problem.independent(x, y, subset):
                return subset
    return None


def remove(problem, x, y, S, triples, without=(), circles=False):
    """Remove an edge; the triples over common neighbours are appended."""
    A = problem.A
    problem.A[x, y] = problem.A[y, x] = 0
    problem.cells[x, y] = problem.cells[y, x] = tuple(S)
    common = sorted(set(problem.neighbours(x)) & set(problem.neighbours(y)) - set(without))
    if circles:
        common = [m for m in common if A[x, m] == A[m, x] == A[y, m] == A[m, y] == 1]
    triples.extend((min(x, y), m, max(x, y)) for m in common)


def orient_triples(problem, triples, *, of_path=False):
    """Dependence of the triples' edges, then the colliders among the triples that are left."""
    triples, A = list(triples), problem.A
    n_examined = len(triples) if problem.quirks else None
    i = 0
    while i < (len(triples) if n_examined is None else n_examined):
        x, y, z = triples[i]
        i += 1
        if not (A[x, y] and A[z, y]):
            continue
        S = problem.set_of(x, z, y)
        for end in (x, z):
            if S and (min(end, y), max(end, y)) not in problem.kept and problem.independent(end, y, S):
                circles = problem.quirks and not (of_path and problem.spared == "neighbours")
                remove(problem, end, y, separated(problem, end, y, S), triples, (x, y, z), circles=circles)
    left = [(x, y, z) for x, y, z in triples if A[x, y] and A[z, y] and not A[x, z]]
    strict = of_path and problem.quirks and problem.spared != "unseparated"
    ambiguous = decided(problem, left, strict=strict) if problem.rule else set()
    for x, y, z in left:
        if (x, y, z) not in ambiguous and y not in problem.set_of(x, z):
            A[x, y] = A[z, y] = 2
    problem.ambiguous |= ambiguous


def decided(problem, triples, *, strict):
    """The ambiguous ones by the conservative or the majority rule, which changes the cells.

    `strict`: a triple whose ends no set separates is ambiguous.
    """
    ambiguous = set()
    for x, y, z in triples:
        found = [set(S) for v in (x, z) for S in _subsets(problem.neighbours(v)) if problem.independent(x, z, S)]
        with_y = sum(y in S for S in found)
        share = with_y / len(found) if found else 0
        split = 0 < share < 1 if problem.rule == "conservative" else share == 0.5
        if split or (strict and not found):
            ambiguous.add((x, y, z))
        for cell in ((x, z), (z, x)):
            S = problem.cells.get(cell, ())
            if not split:
                S = tuple(v for v in S if v != y) if share < 0.5 else S if y in S else (*S, y)
            problem.cells[cell] = S
    return ambiguous


def _subsets(values):
    """Of neighbours x, z excluded: in the order of binary counting."""
    return chain(tuple(v for k, v in enumerate(values) if bits >> k & 1) for bits in range(2 ** len(values)))


def cut(problem, path):
    """The first edge of a discriminating path that a subset of its ends' separating sets separates, and that set.

    Neighbours on a path that pcalg cut short need not be adjacent.
    """
    for x, y in pairwise(path):
        if (problem.quirks or problem.A[x, y]) and (min(x, y), max(x, y)) not in problem.kept:
            S = separated(problem, x, y, problem.set_of(path[0], path[-1], x, y))
            if S is not None:
                return x, y, list(S)
    return None


def check_path(problem, path):
    """Remove an independent edge of a discriminating path, with all that follows; whether there was one."""
    found = cut(problem, path)
    if found is None:
        return False
    triples, rule = [], problem.rule
    remove(problem, *found, triples)
    if problem.quirks and problem.spared != "rule":
        problem.rule = "conservative" if problem.ambiguous else ""
    orient_triples(problem, triples, of_path=True)
    problem.rule = rule
    return True


class RfciPag(Pag):
    """The ten rules in one loop, with the tests of discriminating paths in rule 4."""

    def __init__(self, problem) -> None:
        super().__init__(problem.A, problem.cells, quirks=problem.quirks)
        self.problem, self.cells, self.ambiguous = problem, problem.cells, problem.ambiguous
        self.n_cut, self.states = 0, set()

    def discriminate(self, path):
        problem, M = self.problem, self.M
        problem.A = np.array(M)
        cut = check_path(problem, (*path[:2], *path[-2:]) if self.quirks else path)
        self.n_cut += cut
        state = (path, problem.A.tobytes(), frozenset(self.cells.items()))
        if not cut or state in self.states:  # pcalg goes on for ever if nothing changes
            super().discriminate(path)
            return
        self.states.add(state)
        M[:] = problem.A.tolist()
        a, b, c = path[-3:]
        if M[c][b] == 1 and M[b][a] == 2 and M[a][c] == 2 and M[c][a] == 3:
            again = self.discriminating_path(a, b, c)
            if again:
                self.discriminate(again)

    def two_paths(self, a, b, d, c, ends_at_once=True):
        return super().two_paths(a, b, d, c, ends_at_once and not self.quirks)

    def run(self, rules=ALL_RULES):
        before = None
        while before != self.M:
            before = [row[:] for row in self.M]
            for number in range(1, 11):
                if rules[number - 1]:
                    getattr(self, f"rule{number}")()
        self.problem.A = np.array(self.M)
