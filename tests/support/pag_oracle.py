"""Sections 3 and 4 of docs/contracts/latent.md written out on a matrix, pair by pair and pass by pass: slow, for small
graphs.

What the compiled rules and the search for Possible-D-SEP sets are compared with. M[i, j] is the mark at j of the edge
i - j: 0 none, 1 circle, 2 arrowhead, 3 tail.
"""

from collections import deque
from itertools import combinations

import numpy as np
from orientation_oracle import is_ambiguous

ALL_RULES = (True,) * 10


def scan(M, there):
    """The pairs (i, j) with `there`, down the columns of the matrix."""
    p = range(len(M))
    return [(i, j) for j in p for i in p if i != j and M[i][j] and there(M[i][j], M[j][i])]


class Pag:
    """A graph being oriented: `orient` runs everything."""

    def __init__(self, M, cells, ambiguous=(), quirks=True, jci="0") -> None:
        self.M = [[int(v) for v in row] for row in M]
        self.p, self.cells, self.ambiguous, self.quirks = range(len(M)), cells, set(ambiguous), quirks
        self.trace, self.jci = {}, jci

    # -- helpers ------------------------------------------------------------------------------------------------------

    def unclear(self, a, b, c):
        return is_ambiguous(self.ambiguous, a, b, c)

    def separated_by(self, x, z, y):
        """Whether y is in a separating set of x and z."""
        return y in self.cells.get((x, z), ()) or y in self.cells.get((z, x), ())

    def put(self, a, b, mark, why):
        """The mark at b of a - b."""
        self.M[a][b] = mark
        self.trace[a, b] = why

    def neighbours(self, v):
        return [w for w in self.p if self.M[v][w]]

    def checked(self, path, closed):
        """Whether no triple of a path is ambiguous; of pcalg's check of open paths see docs/contracts/latent.md."""
        if not self.ambiguous:
            return True
        n = len(path)
        return not any(
            self.unclear(path[i % n], path[(i + 1) % n], path[(i + 2) % n])
            for i in range(n - 1 if self.quirks else n if closed else n - 2)
        )

    # -- before the rules ---------------------------------------------------------------------------------------------

    def joint_causal_inference(self, jci, context):
        M = self.M
        for x in self.p:
            for y in self.p:
                if not M[x][y] or x not in context:
                    continue
                if y in context:
                    if jci == "123":
                        self.put(x, y, 2, ("JCI", x, y))
                        self.put(y, x, 2, ("JCI", y, x))
                else:
                    self.put(x, y, 2, ("JCI", x, y))
                    if jci in ("12", "123"):
                        self.put(y, x, 3, ("JCI", y, x))

    def colliders(self, jci, context):
        M = self.M
        for x, y in scan(M, lambda at_j, _: at_j == 1):
            if jci == "123" and y in context:
                continue
            for z in self.neighbours(y):
                if z != x and not M[x][z] and not self.separated_by(x, z, y) and not self.unclear(x, y, z):
                    why = ("collider", min(x, z), y, max(x, z))
                    self.put(x, y, 2, why)
                    self.put(z, y, 2, why)

    # -- the rules ----------------------------------------------------------------------------------------------------

    def rule1(self):
        M = self.M
        for a, b in scan(M, lambda at_b, _: at_b == 2):
            for c in [c for c in self.p if c != a and M[c][b] == 1 and not M[a][c] and not self.unclear(a, b, c)]:
                self.put(b, c, 2, ("R1", a, b, c))
                self.put(c, b, 3, ("R1", a, b, c))

    def rule2(self):
        M = self.M
        for a, c in scan(M, lambda at_c, _: at_c == 1):
            for b in self.p:
                if M[a][b] == 2 and M[b][c] == 2 and (M[b][a] == 3 or M[c][b] == 3):
                    self.put(a, c, 2, ("R2", a, b, c))
                    break

    def rule3(self):
        M = self.M
        for b, d in scan(M, lambda _, at_b: at_b == 1):
            ends = [a for a in self.p if a not in (b, d) and M[a][b] == 2 and M[a][d] == 1]
            for a, c in combinations(ends, 2):
                if not M[a][c] and not self.unclear(a, d, c):
                    self.put(d, b, 2, ("R3", a, b, c, d))
                    break

    def rule4(self):
        M = self.M
        for b, c in scan(M, lambda _, at_b: at_b == 1):
            for a in self.p:
                if M[c][b] == 1 and M[b][a] == 2 and M[a][c] == 2 and M[c][a] == 3:
                    path = self.discriminating_path(a, b, c)
                    if path:
                        self.discriminate(path)

    def discriminating_path(self, a, b, c):
        M = self.M
        queue, visited = deque([(a,)]), {a, b, c}
        while queue:
            path = queue.popleft()
            v = path[0]
            visited.add(v)
            for d in self.p:
                if d not in visited and M[d][v] == 2:
                    if not M[d][c]:
                        return (d, *path, b, c)
                    if M[v][d] == 2 and M[d][c] == 2 and M[c][d] == 3:
                        queue.append((d, *path))
        return None

    def discriminate(self, path):
        d, a, b, c = path[0], path[-3], path[-2], path[-1]
        why = ("R4", *path)
        if self.separated_by(d, c, b):
            self.put(b, c, 2, why)
            self.put(c, b, 3, why)
        else:
            if self.jci == "0" or self.M[a][b] != 3:
                self.put(a, b, 2, why)
            self.put(b, c, 2, why)
            self.put(c, b, 2, why)

    def rule5(self):
        M = self.M
        for a, b in scan(M, lambda at_b, at_a: at_a == at_b == 1):
            cs = [c for c in self.p if M[a][c] == M[c][a] == 1 and not M[b][c] and c != b]
            ds = [d for d in self.p if M[b][d] == M[d][b] == 1 and not M[a][d] and d != a]
            for c in cs:
                for d in ds:
                    if M[a][b] == 1:
                        cycle = self.circle_path(a, b, c, d)
                        if cycle:
                            for u, v in zip(cycle, (*cycle[1:], cycle[0]), strict=True):
                                self.put(u, v, 3, ("R5", *cycle))
                                self.put(v, u, 3, ("R5", *cycle))

    def circle_path(self, a, b, c, d):
        """a, c, ..., d, b: an uncovered path of circle edges, the shortest; None if there is none."""
        M = self.M
        if M[c][d] == M[d][c] == 1:
            return (a, c, d, b) if self.checked((a, c, d, b), True) else None
        return self.search((a, c), d, {b, d}, lambda u, v: M[u][v] == M[v][u] == 1, (b,))

    def search(self, begin, end, avoided, step, after=()):
        """The shortest path begin, ..., end, after whose triples are unshielded and not ambiguous.

        Quirks: a vertex next to the end is never passed, the second one excepted; with `after`, no vertex is checked on
        the way, else the third. Without them each step is made at most once.
        """
        if not self.quirks:
            return self.search_steps(begin, end, step, after)
        M, first_checked = self.M, not after
        queue, visited = deque([begin]), {*begin, *avoided}
        while queue:
            path = queue.popleft()
            v = path[-1]
            visited.add(v)
            if step(v, end):
                full = (*path, end, *after)
                if not any(M[x][z] for x, z in zip(full, full[2:], strict=False)) and self.checked(full, bool(after)):
                    return full
                if len(path) > 2 or after:
                    continue
            for w in self.p:
                if w not in visited and step(v, w) and not (len(path) == 2 and first_checked and M[path[0]][w]):
                    queue.append((*path, w))
        return None

    def search_steps(self, begin, end, step, after):
        M, queue, made = self.M, deque([begin]), set()
        while queue:
            path = queue.popleft()
            u, v = path[-2:]
            for w in self.p:
                if w in path or w in after or (v, w) in made or not step(v, w) or M[u][w] or self.unclear(u, v, w):
                    continue
                if w == end:
                    full = (*path, end, *after)
                    covered = any(M[x][z] for x, z in zip(full, full[2:], strict=False))
                    if not covered and self.checked(full, bool(after)):
                        return full
                    continue
                made.add((v, w))
                queue.append((*path, w))
        return None

    def rule6(self):
        M = self.M
        for b, c in scan(M, lambda _, at_b: at_b == 1):
            for a in self.p:
                if M[a][b] == M[b][a] == 3:
                    self.put(c, b, 3, ("R6", a, b, c))
                    break

    def rule7(self):
        M = self.M
        for b, c in scan(M, lambda _, at_b: at_b == 1):
            for a in self.p:
                if a != c and M[a][b] == 1 and M[b][a] == 3 and not M[a][c] and not self.unclear(a, b, c):
                    self.put(c, b, 3, ("R7", a, b, c))
                    break

    def rule8(self):
        M = self.M
        for a, c in scan(M, lambda at_c, at_a: at_c == 2 and at_a == 1):
            for b in self.p:
                if M[a][b] in (1, 2) and M[b][a] == 3 and M[b][c] == 2 and M[c][b] == 3:
                    self.put(c, a, 3, ("R8", a, b, c))
                    break

    def step(self, u, v):
        """Whether u - v may be an edge of a potentially directed path: no arrowhead at u, no tail at v."""
        return self.M[u][v] in (1, 2) and self.M[v][u] in (1, 3)

    def rule9(self):
        M = self.M
        for a, c in scan(M, lambda at_c, at_a: at_c == 2 and at_a == 1):
            for b in self.p:
                if M[c][a] == 1 and b != c and self.step(a, b) and not M[b][c]:
                    path = self.directed_path(a, b, c)
                    if path:
                        self.put(c, a, 3, ("R9", *path))

    def directed_path(self, a, b, c):
        """a, b, ..., c: an uncovered potentially directed path, the shortest; None if there is none."""
        return self.search((a, b), c, {c}, self.step)

    def rule10(self):
        M = self.M
        for a, c in scan(M, lambda at_c, at_a: at_c == 2 and at_a == 1):
            parents = [b for b in self.p if M[b][c] == 2 and M[c][b] == 3]
            for b, d in combinations(parents, 2):
                if M[c][a] == 1 and self.two_paths(a, b, d, c):
                    self.put(c, a, 3, ("R10", a, b, c, d))

    def two_paths(self, a, b, d, c, ends_at_once=True):
        """`ends_at_once`: a step to b is a path to b."""
        M = self.M
        if self.quirks and self.step(a, b) and self.step(a, d) and not M[b][d]:
            return not self.unclear(b, a, d)
        firsts = [x for x in self.p if self.step(a, x) and not (self.quirks and x == c)]
        for x, y in combinations(firsts, 2):
            if M[x][y] or self.unclear(x, a, y):
                continue
            for ends in (((x, b), (y, d)), ((y, b), (x, d))):
                if all((ends_at_once and v == end) or self.directed_path(a, v, end) for v, end in ends):
                    return True
        return False


def orient(M, cells, rules=ALL_RULES, ambiguous=(), jci="0", context=(), quirks=True, colliders=True) -> Pag:
    """The graph of section 4 from a skeleton of circles (or any marks), and the cells that hold separating sets."""
    pag = Pag(M, cells, ambiguous, quirks, jci)
    if jci != "0" and len(context):
        pag.joint_causal_inference(jci, set(context))
    if colliders:
        pag.colliders(jci, set(context))
    for first, last in ((1, 4), (5, 7), (8, 10)):
        before = None
        while before != pag.M:
            before = [row[:] for row in pag.M]
            for number in range(first, last + 1):
                if rules[number - 1]:
                    getattr(pag, f"rule{number}")()
    return pag


def as_array(pag) -> np.ndarray:
    return np.array(pag.M, dtype=int)
