"""`pc_max` against a literal form of Ramsey's rule: one test after the other, for every subset."""

import logging
from itertools import combinations

import numpy as np
import pytest
from common import refused
from row_data import table
from stability_data import discrete

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.independence.gaussian.gauss_ci_test import gaussCItest
from pycupc.orientation import conservative, orient
from pycupc.orientation.conservative import AMBIGUOUS, COLLIDER, NON_COLLIDER
from pycupc.orientation.largest_p import SAME


def literal_decisions(adjacent, p_value, near=None):
    """Of each unshielded triple (a, b, c), a < c, the decision; `near(v, w)`: whether w counts as a neighbour of v."""
    p, found = len(adjacent), {}
    for a, c in combinations(range(p), 2):
        for b in range(p) if not adjacent[a, c] else ():
            if not (adjacent[a, b] and adjacent[b, c]):
                continue
            best = {True: 0.0, False: 0.0}
            for owner in (a, c):
                others = [v for v in range(p) if adjacent[owner, v] and (near is None or near(owner, v))]
                for size in range(len(others) + 1):
                    for S in combinations(others, size):
                        value = p_value(a, c, S)
                        best[b in S] = max(best[b in S], 0.0 if np.isnan(value) else value)
            same = abs(best[True] - best[False]) <= SAME * max(best.values())
            found[a, b, c] = AMBIGUOUS if same else COLLIDER if best[False] > best[True] else NON_COLLIDER
    return found


def compare(data, test, single, **options):
    """A run, with the decisions of the literal rule; returns the decisions and the result."""
    skeleton = pycupc.skeleton(data, test, **options)
    fit = pycupc.pc_max(data, test, **options)
    adjacent = skeleton.matrix().to_numpy() != 0
    want = literal_decisions(adjacent, single)
    assert fit.notes["ambiguous_triples"] == sum(kind == AMBIGUOUS for kind in want.values())
    for (a, b, c), kind in want.items():
        sets = [S for S in (fit.sepset[a][c], fit.sepset[c][a]) if S is not None]
        if kind != AMBIGUOUS:
            assert (any(b in S for S in sets)) == (kind == NON_COLLIDER)
    assert (fit.sparse_graph.low == skeleton.sparse_graph.low).all()
    assert fit.n_edgetests == skeleton.n_edgetests
    ambiguous = np.array([triple for triple, kind in want.items() if kind == AMBIGUOUS], dtype=np.int64).reshape(-1, 3)
    again = orient(skeleton.sparse_graph, fit.sepset, ambiguous=ambiguous)
    assert again.graph == fit.sparse_graph
    np.testing.assert_array_equal(fit.pMax, skeleton.pMax)
    return want, fit


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("how", [{}, {"pruning": False}, {"pruning": "always"}, {"correlations": "rows"}], ids=str)
def test_gaussian_data(seed, how):
    _, X = graph_and_data(seed, 10, 150, 3)
    data = pycupc.SuffStat.from_data(X)
    C = np.corrcoef(X, rowvar=False)
    single = lambda x, y, S: gaussCItest(x, y, S, {"C": C, "n": 150})  # noqa: E731
    want, fit = compare(data, None, single, alpha=0.05, engine="cpu", engine_options=how)
    assert {*want.values()} == {COLLIDER, NON_COLLIDER}
    assert fit.matrix().equals(pycupc.pc_max(data, alpha=0.05, engine="reference").matrix())
    assert fit.method == "pc_max"


def graph_and_data(seed, p, n, degree):
    """The adjacency matrix of a random DAG (row to column), and data of a linear model."""
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.4, 0.9, (p, p)) * rng.choice([-1, 1], (p, p))
    weights = np.triu((rng.random((p, p)) < degree / (p - 1)) * weights, 1)
    return weights != 0, rng.standard_normal((n, p)) @ np.linalg.inv(np.eye(p) - weights)


def colliders(matrix):
    """The unshielded colliders of a matrix, row to column."""
    arrows, adjacent = (matrix == 1) & (matrix.T == 0), (matrix != 0) | (matrix.T != 0)
    parents = [np.flatnonzero(arrows[:, b]).tolist() for b in range(len(matrix))]
    return {(a, b, c) for b in range(len(matrix)) for a, c in combinations(parents[b], 2) if not adjacent[a, c]}


def test_fewer_false_colliders():
    false = dict.fromkeys(("pc", "pc_max"), 0)
    for seed in range(8):
        dag, X = graph_and_data(seed, 60, 200, 2)
        for name in false:
            fit = getattr(pycupc, name)(X, alpha=0.01)
            false[name] += len(colliders(fit.matrix().to_numpy()) - colliders(dag.astype(int)))
    assert 0 < false["pc_max"] < 0.8 * false["pc"]


def test_discrete_data_and_a_function():
    data = discrete(n=400, p=7)
    data = data if isinstance(data, DiscreteSuffStat) else DiscreteSuffStat.from_data(data)
    single = lambda x, y, S: disCItest(x, y, S, data)  # noqa: E731
    want, _ = compare(data, disCItest, single, alpha=0.1)
    assert want
    X = table(80, 6, 2, 2)
    C = {"C": np.corrcoef(X, rowvar=False), "n": 80}

    def own(x, y, S, data):
        """No p-value for some sets: these are no evidence."""
        return np.nan if 3 in S else gaussCItest(x, y, S, data)

    want, _ = compare(C, own, lambda x, y, S: own(x, y, S, C), alpha=0.2, p=6)
    assert want


def test_equal_p_values_leave_a_triple_open():
    """Two disconnected tests of p-value 1 with b and without: nothing says whether b is a collider."""

    def own(x, y, S, data):
        return 0.0 if {x, y} in ({0, 1}, {1, 2}) else 1.0

    fit = pycupc.pc_max(None, own, p=3, alpha=0.05)
    assert fit.notes["ambiguous_triples"] == 1
    assert fit.matrix().to_numpy().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("seed", range(4))
def test_tiers(seed):
    """The triples that tiers leave open are decided by the rule, from neighbours in tiers not after the variable's."""
    (_, X), tiers = graph_and_data(seed, 12, 300, 2), [k // 4 for k in range(12)]
    fit = pycupc.pc_max(X, alpha=0.05, tiers=tiers)
    skeleton = pycupc.skeleton(X, alpha=0.05, tiers=tiers)
    C = {"C": np.corrcoef(X, rowvar=False), "n": 300}
    adjacent = skeleton.matrix().to_numpy() != 0
    want = literal_decisions(adjacent, lambda x, y, S: gaussCItest(x, y, S, C), lambda v, w: tiers[w] <= tiers[v])
    marks, found = fit.matrix().to_numpy(), 0
    for (a, b, c), kind in want.items():
        if tiers[b] == max(tiers[a], tiers[c]) and kind == COLLIDER:
            found += 1
            assert marks[a, b] > 0  # 2 where another rule wants the other direction
            assert marks[c, b] > 0
    for tail, head in np.argwhere((marks == 1) & (marks.T == 0)):
        assert tiers[tail] <= tiers[head]
    assert found


def test_it_is_a_method_like_the_others(tmp_path, caplog, monkeypatch):
    X = table(150, 9, 1, 3)
    with caplog.at_level(logging.INFO, logger="pycupc"):
        fit = pycupc.pc_max(X, alpha=0.05, verbose=True, checkpoint=tmp_path / "levels")
    assert "with the largest p-value" in caplog.text
    assert pycupc.pc_max(X, alpha=0.05, checkpoint=tmp_path / "levels") == fit
    fit.save(tmp_path / "fit.npz")
    assert pycupc.PcAlgo.load(tmp_path / "fit.npz") == fit
    assert str(fit.why("1", "2"))
    found = pycupc.stability(X, method="pc_max", n_resamples=3, alpha=0.05, random_state=1)
    rows = found.indices(2)
    assert found.method == "pc_max"
    assert len(found.edges(0.3)) >= len(pycupc.pc_max(X[rows], alpha=0.05).sparse_graph) // 3
    refused(
        "conservative is no argument of stability or pc_max",
        pycupc.stability,
        X,
        method="pc_max",
        conservative=True,
        error=TypeError,
    )
    monkeypatch.setattr(conservative, "MAX_SUBSETS", 1)
    refused("pc_max tests all subsets of adj.*Use a smaller alpha, or pc", pycupc.pc_max, X, alpha=0.05)
