"""`pycupc.fci` and `pycupc.rfci` told the truth by d-separation find the PAG by its definition."""

import subprocess
from itertools import combinations, product

import numpy as np
import pytest

import pycupc

TAIL, ARROW = 3, 2


def ancestors(M) -> np.ndarray:
    """[a, b]: a is b or an ancestor of b, in a graph of tails and arrowheads."""
    A = (M == ARROW) & (M.T == TAIL)
    found = A | np.eye(len(M), dtype=bool)
    for _ in range(len(M)):
        found = found | (found @ found)
    return found


def separated(M, x, y, S) -> bool:
    """m-separation: no walk from x to y has colliders only among the ancestors of S and no other variable in S."""
    opened = ancestors(M)[:, list(S)].any(axis=1) if S else np.zeros(len(M), dtype=bool)
    states = [(x, w) for w in np.flatnonzero(M[x]).tolist()]
    seen = set(states)
    while states:
        u, v = states.pop()
        if v == y:
            return False
        for w in np.flatnonzero(M[v]).tolist():
            collider = M[u, v] == ARROW and M[w, v] == ARROW
            if (opened[v] if collider else v not in S) and (v, w) not in seen:
                seen.add((v, w))
                states.append((v, w))
    return True


def random_truth(rng, p) -> np.ndarray:
    """A DAG as a matrix of marks; the first p variables are observed."""
    q = p + int(rng.integers(1, 4))
    order = rng.permutation(q)
    A = np.zeros((q, q), dtype=int)
    A[np.ix_(order, order)] = np.triu(rng.random((q, q)) < rng.uniform(0.2, 0.6), 1)
    return ARROW * A + TAIL * A.T


def statements(M, p) -> list[bool]:
    return [
        separated(M, x, y, S)
        for x, y in combinations(range(p), 2)
        for k in range(p - 1)
        for S in combinations([v for v in range(p) if v not in (x, y)], k)
    ]


def told(x, y, S, M) -> float:
    """A test that knows the truth."""
    return float(separated(M, x, y, tuple(S)))


def found_pag(M, p, **options) -> np.ndarray:
    return pycupc.fci(M, told, 0.5, p=p, **options).sparse_graph.amat_pag()


@pytest.mark.parametrize("quirks", [True, False])
def test_every_mark_is_true(quirks):
    rng = np.random.default_rng(1 + quirks)
    for _ in range(25):
        p = int(rng.integers(4, 8))
        M = random_truth(rng, p)
        got, causes = found_pag(M, p, quirks=quirks), ancestors(M)
        for x, y in combinations(range(p), 2):
            others = [v for v in range(p) if v not in (x, y)]
            sets = (S for k in range(p - 1) for S in combinations(others, k))
            assert (got[x, y] == 0) == any(separated(M, x, y, S) for S in sets)
            for a, b in ((x, y), (y, x)):
                assert got[a, b] != ARROW or not causes[b, a]
                assert got[a, b] != TAIL or causes[b, a]


def test_every_mark_of_rfci_is_true():
    """It may have more edges than `fci`; its marks are those that hold in the graph all the same."""
    rng = np.random.default_rng(9)
    for _ in range(25):
        p = int(rng.integers(4, 8))
        M = random_truth(rng, p)
        fit, causes = pycupc.rfci(M, told, 0.5, p=p), ancestors(M)
        got = fit.sparse_graph.amat_pag()
        assert (got[found_pag(M, p) > 0] > 0).all()
        for (x, y), S in fit.sepset.cells().items():
            assert separated(M, x, y, S)
        for a, b in np.argwhere(got > 1).tolist():
            assert causes[b, a] == (got[a, b] == TAIL)


def test_every_mark_of_the_class_is_found():
    """The PAG has the marks that all maximal ancestral graphs with the same separations share."""
    rng, met = np.random.default_rng(3), set()
    for _ in range(40):
        M = random_truth(rng, 4)
        got, truth = found_pag(M, 4, selectionBias=False), statements(M, 4)
        edges = [(x, y) for x, y in combinations(range(4), 2) if got[x, y]]
        marks: dict = {edge: set() for edge in edges}
        for kinds in product(((ARROW, TAIL), (TAIL, ARROW), (ARROW, ARROW)), repeat=len(edges)):
            G = np.zeros((4, 4), dtype=int)
            for (x, y), (at_y, at_x) in zip(edges, kinds, strict=True):
                G[x, y], G[y, x] = at_y, at_x
            causes = ancestors(G) & ~np.eye(4, dtype=bool)
            ancestral = not (causes & causes.T).any() and not (causes & (G.T == ARROW)).any()
            if ancestral and statements(G, 4) == truth:
                for edge, kind in zip(edges, kinds, strict=True):
                    marks[edge].add(kind)
        for (x, y), kinds in marks.items():
            for side, mark in enumerate((got[x, y], got[y, x])):
                shared = {kind[side] for kind in kinds}
                assert mark == (shared.pop() if len(shared) == 1 else 1), (M, got)
                met.add(int(mark))
    assert met == {1, 2, 3}


#: Reads lines of q, the hidden variables joined by commas, and q x q weights; prints the marks of pcalg::dag2pag.
_DAG2PAG = """
suppressMessages(library(pcalg))
for (line in readLines(file("stdin"))) {
  words <- strsplit(line, " ")[[1]]
  W <- matrix(as.numeric(words[-(1:2)]), as.integer(words[1]), byrow = TRUE)
  graph <- as(W, "graphNEL")
  data <- list(C = cov2cor(trueCov(graph)), n = 10^9)
  hidden <- as.integer(strsplit(words[2], ",")[[1]])
  cat(t(dag2pag(data, gaussCItest, graph, L = hidden, alpha = 0.9999)@amat), "\\n")
}
"""


@pytest.mark.r
def test_the_pag_is_that_of_dag2pag(rscript):
    rng, truths, lines = np.random.default_rng(12), [], []
    for _ in range(30):
        p = int(rng.integers(4, 7))
        M = random_truth(rng, p)
        order = np.argsort(ancestors(M).sum(axis=0), kind="stable")  # causes first
        M, hidden = M[np.ix_(order, order)], order >= p
        weights = np.where(np.triu(M == ARROW), rng.uniform(0.5, 1, M.shape).round(3), 0)
        numbers = " ".join(map(str, weights.ravel().tolist()))
        lines.append(f"{len(M)} {','.join(map(str, np.flatnonzero(hidden) + 1))} {numbers}")
        truths.append((M[np.ix_(order := np.argsort(hidden, kind="stable"), order)], p))
    done = subprocess.run([rscript, "-e", _DAG2PAG], input="\n".join(lines), capture_output=True, text=True, check=True)
    answers = done.stdout.splitlines()
    for (M, p), answer in zip(truths, answers, strict=True):
        np.testing.assert_array_equal(found_pag(M, p).ravel(), [int(mark) for mark in answer.split()], err_msg=str(M))


@pytest.mark.parametrize("function", ["fci", "rfci"])
def test_the_order_of_the_variables_does_not_matter(function):
    """Told the truth, tests contradict each other nowhere."""
    rng = np.random.default_rng(15)
    for _ in range(15):
        p = int(rng.integers(4, 8))
        M, order = random_truth(rng, p), rng.permutation(p)
        whole = np.append(order, np.arange(p, len(M)))
        got, moved = (
            getattr(pycupc, function)(G, told, 0.5, p=p).sparse_graph.amat_pag() for G in (M, M[np.ix_(whole, whole)])
        )
        if function == "fci":
            np.testing.assert_array_equal(moved, got[np.ix_(order, order)])
        else:  # which sets are found, and so which edges are left, may depend on the order
            both = (moved > 1) & (got[np.ix_(order, order)] > 1)
            np.testing.assert_array_equal(moved[both], got[np.ix_(order, order)][both])
