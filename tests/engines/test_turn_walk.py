"""Pairs that take turns in compiled code: the answers of rounds of the same tests, whatever the threads."""

import numpy as np
import pytest
from common import assert_same, refused

import pycupc
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.engines.cpu import setwise_levels, setwise_walk, threads
from pycupc.independence.discrete.test import DiscreteTest
from pycupc.independence.gaussian.n_by_pair import LocalGaussianTest
from pycupc.independence.missing import imputed_tests
from pycupc.independence.missing.test import ImputedTest

pytestmark = pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")


def problem(kind, seed):
    """Data of a family whose tests walk, with nearly equal variables in every third problem."""
    rng = np.random.default_rng((11, seed))
    p, n = int(rng.integers(5, 10)), int(rng.integers(40, 200))
    X = rng.standard_normal((n, p)) @ (np.eye(p) + np.triu(rng.normal(0, 0.6, (p, p)), 1))
    if seed % 3 == 0:
        X[:, 3] = X[:, 0] + 1e-9 * X[:, 1]
    K, gaps, options = (X > 0).astype(int) + (X > 1), rng.random(X.shape) < 0.05, {}
    if kind == "discrete":
        data, options = DiscreteSuffStat(K, [3] * p, adaptDF=bool(seed % 2)), {"indepTest": disCItest}
    elif kind == "pairwise":
        rule, of_pair = ("harmonic", "min", "mean")[seed % 3], rng.integers(5, n, (p, p)).astype(float)
        data = pycupc.SuffStat(np.corrcoef(X, rowvar=False), np.maximum(of_pair, of_pair.T), n_rule=rule)
    else:
        values = K if kind == "disMItest" else X
        gaps[:, [0, 3]] = gaps[:, [0, 3]] & (seed % 2 == 0)
        drawn = [np.where(gaps, rng.permutation(values), values) for _ in range(int(rng.choice([2, 5, 9])))]
        data = pycupc.MultipleImputation(drawn, categories=kind == "disMItest")
    G = rng.random((p, p)) < 0.1
    options[("fixedGaps", "fixedEdges")[seed % 2]] = (G | G.T) & ~np.eye(p, dtype=bool)
    return data, options | {"alpha": float(rng.choice([0.01, 0.05, 0.3])), "engine": "cpu"}


@pytest.mark.parametrize("kind", ["discrete", "pairwise", "gaussMItest", "disMItest"])
def test_turns_have_the_answers_of_rounds(kind, monkeypatch):
    for module in (setwise_levels, threads):
        monkeypatch.setattr(module, "INLINE_TESTS", 0)
    for seed in range(9):
        data, options = problem(kind, seed)
        with monkeypatch.context() as patch:
            for test in (DiscreteTest, ImputedTest, LocalGaussianTest):
                patch.setattr(test, "walked", lambda *_: None)
            want = pycupc.skeleton(data, numCores=1, **options)
            of_fci = pycupc.fci(data, numCores=1, m_max=3, **options)
        for cores in (1, 3):
            fit = pycupc.skeleton(data, numCores=cores, **options)
            assert_same(fit, want)
            np.testing.assert_array_equal(fit.pMax, want.pMax)
        fit = pycupc.fci(data, numCores=2, m_max=3, **options)
        assert fit == of_fci
        np.testing.assert_array_equal(fit.pMax, of_fci.pMax)


@pytest.mark.parametrize("kind", ["discrete", "pairwise", "gaussMItest", "disMItest"])
def test_levels_make_no_rounds(kind, monkeypatch):
    monkeypatch.setattr(setwise_walk.SetwiseWalk, "__call__", lambda *_: pytest.fail("a round"))
    data, options = problem(kind, 0)
    assert len(pycupc.skeleton(data, **options).n_edgetests) > 1


def test_large_tables_of_imputations_go_by_rounds(monkeypatch):
    data, options = problem("disMItest", 1)
    want = pycupc.skeleton(data, **options)
    monkeypatch.setattr(imputed_tests, "MOST_WALKED", 0)
    fit = pycupc.skeleton(data, **options)
    assert_same(fit, want)
    np.testing.assert_array_equal(fit.pMax, want.pMax)
    monkeypatch.setattr(imputed_tests, "MOST_CELLS", 40)
    refused("too many: lower m_max", pycupc.skeleton, data, **options)
