"""Possible-D-SEP and biconnected components, against their definitions."""

from itertools import combinations

import numpy as np
import pag_oracle
from fci_cases import fitted, random_problem

from pycupc.graph.sparse import SparseGraph
from pycupc.orientation.pag.possible_d_sep import biconnected, possible_d_sep

TAIL, ARROW = 3, 2


def test_possible_d_sep():
    """Compiled against section 3 of docs/contracts/latent.md, step by step."""
    rng, beyond = np.random.default_rng(4), 0
    for _ in range(40):
        fit = fitted(random_problem(rng) | {"arguments": {"doPdsep": False}}).skeleton_fit
        pag = pag_oracle.Pag(fit.sparse_graph.skeleton().astype(int), fit.sepset.cells())
        pag.colliders("0", set())
        for x, got in enumerate(possible_d_sep(fit.sparse_graph, fit.sepset)):
            assert got.tolist() == walked(pag.M, x)
            beyond += len(got) > sum(map(bool, pag.M[x]))
    assert beyond > 10


def walked(M, x) -> list[int]:
    """Possible-D-SEP of x by directed steps."""
    steps = [(x, v) for v in range(len(M)) if M[x][v]]
    seen = set(steps)
    while steps:
        u, v = steps.pop()
        for w in range(len(M)):
            if M[v][w] and w != u and (v, w) not in seen and (M[u][w] or M[u][v] == M[w][v] == ARROW):
                seen.add((v, w))
                steps.append((v, w))
    return sorted({v for _, v in seen} - {x})


def joined(adjacent, a, b, without) -> bool:
    """Whether a path joins a and b that avoids a variable."""
    met, left = {a}, [a]
    while left:
        v = left.pop()
        new = set(np.flatnonzero(adjacent[v]).tolist()) - met - {without}
        met |= new
        left += new
    return b in met


def components(adjacent) -> set[frozenset[int]]:
    """Edges v - a and v - b are in one biconnected component if a path from a to b avoids v; so are chains of these."""
    edges = [tuple(edge) for edge in np.argwhere(np.triu(adjacent)).tolist()]
    number = {edge: k for k, edge in enumerate(edges)}
    for one, two in combinations(edges, 2):
        for v in set(one) & set(two):
            (a,), (b,) = set(one) - {v}, set(two) - {v}
            if joined(adjacent, a, b, v):
                old, new = number[two], number[one]
                number = {edge: new if k == old else k for edge, k in number.items()}
    return {frozenset(v for edge in edges if number[edge] == k for v in edge) for k in number.values()}


def test_biconnected_components():
    rng, several = np.random.default_rng(3), 0
    for _ in range(60):
        p = int(rng.integers(2, 12))
        adjacent = np.triu(rng.random((p, p)) < rng.uniform(0.1, 0.5), 1)
        adjacent |= adjacent.T
        found = [frozenset(part.tolist()) for part in biconnected(SparseGraph.from_dense(adjacent))]
        assert len(set(found)) == len(found)
        assert set(found) == components(adjacent)
        several += len(found) > 2
    assert several > 10
