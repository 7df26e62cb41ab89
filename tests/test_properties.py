"""Properties that hold for any data: engines agree, order and threads do not matter, separating sets separate.

The data are small and awkward: n from 5 on; duplicated, constant and collinear columns.
"""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from conftest import assert_same
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pycupc
from pycupc.independence.gaussian import gauss_ci_test

COMMON = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])


def draw_data(seed: int, p: int, n: int, *, awkward: bool) -> np.ndarray:
    """Observations (n, p) of a random linear model; with `awkward`, two columns are made copies, constants or sums."""
    rng = np.random.default_rng(seed)
    B = np.tril(rng.uniform(-1, 1, (p, p)) * (rng.random((p, p)) < 0.4), -1)
    X = rng.standard_normal((n, p))
    for j in range(p):
        X[:, j] += X[:, :j] @ B[j, :j]
    if awkward:
        kind = rng.integers(0, 4, size=2)
        for k in kind:
            a, b, c = rng.choice(p, 3, replace=False)
            if k == 0:
                X[:, a] = X[:, b]
            elif k == 1:
                X[:, a] = 3.0
            elif k == 2:
                X[:, a] = X[:, b] + X[:, c]
    return X


def correlations(X: np.ndarray) -> pycupc.SuffStat:
    """Of the data, without the warnings about constant and identical columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pycupc.SuffStat.from_data(X)


def run(suff_stat: pycupc.SuffStat, **kwargs) -> pycupc.PcAlgo:
    """`skeleton` without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pycupc.skeleton(suff_stat, **kwargs)


sizes = {
    "seed": st.integers(0, 2**32 - 1),
    "p": st.integers(3, 11),
    "n": st.integers(5, 200),
    "alpha": st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.5]),
}


@COMMON
@given(**sizes)
def test_cpu_equals_reference(seed, p, n, alpha):
    suff_stat = correlations(draw_data(seed, p, n, awkward=False))
    cpu, reference = (run(suff_stat, alpha=alpha, engine=engine) for engine in ("cpu", "reference"))
    assert_same(cpu, reference)
    np.testing.assert_allclose(cpu.pMax, reference.pMax, rtol=1e-6, atol=1e-300)


@COMMON
@given(**sizes)
def test_cpu_equals_reference_on_singular_data(seed, p, n, alpha):
    suff_stat = correlations(draw_data(seed, p, n, awkward=True))
    assert_same(*(run(suff_stat, alpha=alpha, engine=engine) for engine in ("cpu", "reference")))


@COMMON
@given(**sizes, threads=st.integers(2, 5))
def test_threads_do_not_matter(seed, p, n, alpha, threads):
    suff_stat = correlations(draw_data(seed, 3 * p, n + 20, awkward=True))
    one = run(suff_stat, alpha=alpha, engine="cpu", numCores=1)
    many = run(suff_stat, alpha=alpha, engine="cpu", numCores=threads)
    assert_same(one, many)
    np.testing.assert_array_equal(one.pMax, many.pMax)


def test_tasks_do_not_matter(monkeypatch):
    """Rows that are divided into many tasks, on threads, give the answer of a single task."""
    from pycupc.engines.cpu import gaussian, threads

    suff_stat = correlations(draw_data(5, 60, 150, awkward=False))
    whole = run(suff_stat, alpha=0.3, engine="cpu", numCores=1)
    monkeypatch.setattr(gaussian, "TASK_TESTS", 40)
    monkeypatch.setattr(gaussian, "GATHER_SHARE", 0)
    monkeypatch.setattr(threads, "INLINE_TESTS", 0)
    divided = run(suff_stat, alpha=0.3, engine="cpu", numCores=4)
    assert whole.max_ord >= 4
    assert_same(whole, divided)
    np.testing.assert_array_equal(whole.pMax, divided.pMax)


@COMMON
@given(**sizes)
def test_relabelling_permutes_the_skeleton(seed, p, n, alpha):
    X = draw_data(seed, p, n, awkward=False)
    order = np.random.default_rng(seed).permutation(p)
    plain, moved = (run(correlations(data), alpha=alpha, engine="cpu") for data in (X, X[:, order]))
    np.testing.assert_array_equal(moved.skeleton, plain.skeleton[np.ix_(order, order)])


@COMMON
@given(**sizes)
def test_every_stored_set_separates_and_no_kept_edge_has_one(seed, p, n, alpha):
    suff_stat = correlations(draw_data(seed, p, n, awkward=False))
    fit = run(suff_stat, alpha=alpha, engine="cpu")
    for (x, y), S in fit.sepset.cells().items():
        assert pycupc.gaussCItest(x, y, S, suff_stat) >= alpha
    for x, y in np.argwhere(fit.skeleton).tolist():
        others = [k for k in np.flatnonzero(fit.skeleton[x]) if k != y]
        for level in range(min(len(others), fit.max_ord) + 1):
            for S in combinations(others, level):
                assert pycupc.gaussCItest(x, y, S, suff_stat) < alpha


@pytest.mark.parametrize("seed", range(20))
def test_d_separation_oracle_recovers_the_true_cpdag(seed):
    import networkx as nx

    rng = np.random.default_rng(seed)
    p = int(rng.integers(4, 10))
    dag = nx.DiGraph([(i, j) for i, j in combinations(range(p), 2) if rng.random() < 0.35])
    dag.add_nodes_from(range(p))

    def oracle(x, y, S, graph):
        return float(nx.is_d_separator(graph, {x}, {y}, set(S)))

    fit = pycupc.pc(dag, oracle, alpha=0.5, p=p)
    np.testing.assert_array_equal(fit.graph, true_cpdag(dag, p))


def true_cpdag(dag, p: int) -> np.ndarray:
    """CPDAG of a DAG by definition: an edge is directed if all DAGs with its skeleton and colliders agree on it."""
    import networkx as nx

    edges = list(dag.edges)
    adjacent = {frozenset(edge) for edge in edges}

    def colliders(arrows) -> set:
        parents: dict[int, list[int]] = {}
        for a, b in arrows:
            parents.setdefault(b, []).append(a)
        return {
            (a, b, c)
            for b, into in parents.items()
            for a, c in combinations(sorted(into), 2)
            if frozenset((a, c)) not in adjacent
        }

    wanted = colliders(edges)
    graph = np.zeros((p, p), dtype=np.int8)
    assert len(edges) <= 14, "too many orientations to enumerate: choose other seeds"
    for flips in range(2 ** len(edges)):
        arrows = [(b, a) if flips >> i & 1 else (a, b) for i, (a, b) in enumerate(edges)]
        if colliders(arrows) == wanted and nx.is_directed_acyclic_graph(nx.DiGraph(arrows)):
            for a, b in arrows:
                graph[a, b] = 1
    return graph


def test_canonical_equals_pcalgs_formula():
    from pycupc.independence.gaussian import partial_correlation as canonical

    rng = np.random.default_rng(0)
    for _ in range(500):
        level = int(rng.integers(0, 9))
        X = rng.standard_normal((40, 12))
        X[:, 5], X[:, 7] = X[:, 3], X[:, 1] + X[:, 2]
        C = np.corrcoef(X, rowvar=False)
        index = rng.choice(12, level + 2, replace=False)
        S = np.sort(index[2:])
        nodes = np.array([*S, *index[:2]])
        got = canonical.partial_correlation(C, nodes, level, canonical.canonical_space(level))
        want = gauss_ci_test.partial_correlation(C, index[0], index[1], S)
        if len({3, 5} & set(index)) < 2 or level != 1:  # 0 / 0 and 1e-16 / 1e-16 are the same accident
            assert got == pytest.approx(want, abs=1e-9)
