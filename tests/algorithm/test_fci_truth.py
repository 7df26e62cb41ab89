"""`pycupc.fci` told the truth by d-separation finds the PAG by its definition; what is right without quirks."""

import pickle
import subprocess
import warnings
from itertools import combinations, product

import numpy as np
import pag_oracle
import pytest
from fci_cases import fitted, random_problem

import pycupc
from pycupc.orientation.pag.possible_d_sep import biconnected, possible_d_sep

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


def test_what_is_right_without_quirks():
    rng, differing = np.random.default_rng(5), set()
    for _ in range(30):
        case = random_problem(rng, p_max=12)
        case["arguments"] = {}
        right, pcalgs = fitted(case, quirks=False), fitted(case)
        assert right.sepset == pcalgs.sepset
        assert right.n_edgetests_pdsep == list(right.later.n_tests)
        assert right.max_ord_pdsep == len(right.later.n_tests) - 1
        assert sum(right.n_edgetests_pdsep) >= sum(pcalgs.n_edgetests_pdsep)
        np.testing.assert_array_equal(right.pMax, right.pMax.T)
        np.testing.assert_array_equal(right.pMax, np.maximum(pcalgs.pMax, pcalgs.pMax.T))
        pds = possible_d_sep(right.skeleton_fit.sparse_graph, right.skeleton_fit.sepset)
        assert [v.tolist() for v in right.all_pdsep] == [v.tolist() for v in pds]
        differing |= {"counts"} if right.n_edgetests_pdsep != pcalgs.n_edgetests_pdsep else set()
        differing |= {"pMax"} if (right.pMax != pcalgs.pMax).any() else set()
    assert differing == {"counts", "pMax"}


def test_components_by_position():
    rng, n = np.random.default_rng(6), 0
    for _ in range(40):
        case = random_problem(rng)
        case["arguments"] = {"biCC": True}
        named, numbered = dict(case), dict(case)
        named["labels"] = [f"v{k}" for k in range(len(case["labels"]))]
        numbered["labels"] = [str(k + 1) for k in range(len(case["labels"]))]
        one, two = fitted(named, quirks=False), fitted(numbered, quirks=False)
        assert (one.sparse_graph, one.sepset) == (two.sparse_graph, two.sepset)
        parts = [set(part.tolist()) for part in biconnected(one.skeleton_fit.sparse_graph)]
        for x, y, S in zip(one.later.x, one.later.y, map(one.later.S.of_one, range(len(one.later.x))), strict=True):
            assert any({x, y, *S} <= part for part in parts)
        n += sum(one.later.n_tests) > sum(fitted(named).later.n_tests)
    assert n > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"type": "anytime"}, "type='anytime' needs a finite m_max"),
        ({"type": "adaptive", "m_max": 2}, "type='adaptive' finds m_max itself"),
        ({"type": "slow"}, "type must be"),
        ({"conservative": True, "maj_rule": True}, "conservative=True and maj_rule=True"),
        ({"rules": [True] * 9}, "rules must be 10 values"),
        ({"jci": "2"}, "jci must be"),
        ({"jci": "12"}, "it needs selectionBias=False"),
        ({"contextVars": ["nobody"]}, "contextVars"),
        ({"pdsep_max": -1}, "pdsep_max must be"),
        ({"budget": 0}, "budget must be"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        pycupc.fci({"C": np.eye(3), "n": 10}, **options)


def test_a_budget_is_no_secret():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((40, 30)) @ (np.eye(30) + 0.4 * rng.standard_normal((30, 30)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stat = pycupc.SuffStat.from_data(X)
    with pytest.warns(UserWarning, match="later.open_pairs"):
        fit = pycupc.fci(stat, alpha=0.3, m_max=2, budget=1e-9)
    assert len(fit.later.open_pairs) > 0
    assert str(len(fit.later.open_pairs)) in fit.notes["not_searched_to_the_end"]


def test_the_stage_reports_the_pairs_decided():
    calls = []
    rng = np.random.default_rng(8)
    X = rng.standard_normal((200, 24)) @ (np.eye(24) + np.triu(rng.random((24, 24)) < 0.12, 1))
    fit = pycupc.fci(pycupc.SuffStat.from_data(X[:, ::2]), alpha=0.2, progress=lambda *now: calls.append(now))
    stage = [call[1:] for call in calls if call[0] == -1]
    assert sum(fit.later.n_tests) > 0
    assert stage
    assert all(0 <= done <= pairs and edges == len(fit.skeleton_fit.sparse_graph) for done, pairs, edges in stage)
    assert any(done == pairs for done, pairs, _ in stage)


def test_an_interrupt_keeps_the_skeleton(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pycupc.engines.cpu.CpuEngine.first_separating", interrupted)
    rng = np.random.default_rng(5)
    cases = [random_problem(rng) | {"arguments": {}} for _ in range(20)]
    with pytest.raises(pycupc.Interrupted, match="during the tests after the skeleton; levels 0 to") as caught:
        _ = [fitted(case, engine="cpu") for case in cases]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.partial) == (str(caught.value), caught.value.partial)
    assert len(copy.partial.sparse_graph)


def test_a_gap_between_context_variables():
    with pytest.raises(ValueError, match="one of which is in fixedGaps"):
        pycupc.fci(
            {"C": np.eye(3), "n": 10},
            fixedGaps=~np.eye(3, dtype=bool),
            jci="123",
            contextVars=[0, 1],
            selectionBias=False,
        )
