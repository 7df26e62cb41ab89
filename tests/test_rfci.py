"""rfci against its oracle: the tests of triples and of paths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import rfci_oracle
from conftest import take
from orientation_cases import flat_cells, noise_test

from pycupc.engines.cpu import CpuEngine
from pycupc.engines.reference import ReferenceEngine
from pycupc.graph.sepset import SepSets
from pycupc.graph.sparse import SparseGraph
from pycupc.independence.custom import CustomTest
from pycupc.independence.gaussian.family import GaussianTest
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.orientation.mixed_graph import undirected
from pycupc.orientation.pag.dependence import Dependence, unshielded


def random_problem(rng, p_max: int = 10):
    """A random skeleton and random separating sets: amat.pag with circles only, cells."""
    p = int(rng.integers(3, p_max))
    A = np.triu(rng.random((p, p)) < rng.uniform(0.2, 0.8), 1).astype(int)
    cells = {}
    for x, y in np.argwhere(np.triu(A == 0, 1)).tolist():
        others = [v for v in range(p) if v not in (x, y)]
        for cell in ((x, y), (y, x)):
            if rng.random() < 0.6:
                cells[cell] = tuple(rng.permutation(others)[: rng.integers(0, 4)].tolist())
    return A + A.T, cells


def sets_of(A, cells) -> SepSets:
    return SepSets.from_named_cells(SparseGraph.from_dense(A != 0), flat_cells(cells))


def some_correlations(rng, p: int) -> np.ndarray:
    C = np.corrcoef(rng.standard_normal((p + 4, p)).T + rng.standard_normal((1, p + 4)))
    np.fill_diagonal(C, 1.0)
    return (C + C.T) / 2


def engine_and_test(rng, p: int, custom: bool):
    """An engine that has taken a test, and this test as a function."""
    if custom:
        seed = int(rng.integers(1000))
        test = CustomTest(noise_test, seed, float(rng.choice([0.3, 0.6, 0.9])), p)
        engine = ReferenceEngine()
    else:
        data = SuffStat(some_correlations(rng, p), 30)
        test, engine = GaussianTest(data, float(rng.choice([0.05, 0.3]))), CpuEngine()
    take(engine, test)
    return engine, test


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize("quirks", [False, True])
def test_triples_and_paths_as_the_oracle(custom, quirks):
    rng = np.random.default_rng(11 + 2 * custom + quirks)
    removed = 0
    for _ in range(120):
        A, cells = random_problem(rng)
        p = len(A)
        engine, test = engine_and_test(rng, p, custom)
        graph = SparseGraph.from_dense(A != 0)
        kept = frozenset((x, y) for x, y in np.argwhere(np.triu(A)).tolist() if rng.random() < 0.1)
        oracle = rfci_oracle.Problem(A, cells, test.p_value, test.alpha, quirks=quirks)
        oracle.kept = kept
        options = {"in_order": test.in_order, "kept": kept, "quirks": quirks}
        found = Dependence(graph, sets_of(A, cells), engine.first_separating, **options)
        triples = rfci_oracle.unshielded(A)
        assert list(map(tuple, unshielded(undirected(graph)).tolist())) == triples
        rfci_oracle.orient_triples(oracle, triples)
        found.examine_all()
        compare_with_oracle(found, oracle, A)
        path = rng.permutation(p)[:4].tolist()
        if not oracle.A[path[0], path[-1]] and all(oracle.A[a, b] for a, b in pairwise(path)):
            oracle.A[oracle.A > 0] = 1
            cut = found.cut(path)
            wanted = rfci_oracle.cut(oracle, path)
            assert wanted == (None if cut is None else (cut.x, cut.y, list(cut.S)))
            if wanted is not None:
                rfci_oracle.remove(oracle, *wanted, [])
            compare_with_oracle(found, oracle, A)
        removed += len(found.removed)
    assert removed > 50


def compare_with_oracle(found: Dependence, oracle, A) -> None:
    graph = found.skeleton()
    np.testing.assert_array_equal(graph.skeleton(), oracle.A != 0)
    sets = found.sepset(graph)
    assert sets.cells() == oracle.cells
    sizes = [len(S) for *_, S in oracle.tested]
    np.testing.assert_array_equal(np.trim_zeros(found.n_tests, "b"), np.trim_zeros(np.bincount(sizes), "b"))
    assert all(A[edge.x, edge.y] for edge in found.removed)
