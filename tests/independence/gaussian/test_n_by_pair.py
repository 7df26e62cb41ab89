"""A number of observations for each pair: the mean over a test's pairs, and pairwise deletion."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from any_tables import chain

from pycupc import SuffStat, pc

NAMED = pd.DataFrame(np.eye(3), index=[*"abc"], columns=[*"abc"])


@pytest.mark.parametrize("options", [{}, {"conservative": True}])
def test_one_n_in_all_cells_is_that_n(options):
    C = np.corrcoef(chain(seed=4), rowvar=False)
    one, many = pc({"C": C, "n": 300}, **options), pc({"C": C, "n": np.full(C.shape, 300)}, **options)
    assert (one.amat() == many.amat()).all(axis=None)
    assert one.n_edgetests == many.n_edgetests
    np.testing.assert_allclose(one.p_values.dense(), many.p_values.dense(), atol=1e-13)


def test_the_n_of_a_matrix_is_the_mean_over_its_pairs():
    X = chain(n=90, p=4)
    X[:30, 0], X[60:, 1], X[5:9, 2] = np.nan, np.nan, np.nan
    there = ~np.isnan(X)
    numbers = [(there[:, i] & there[:, j]).sum() for i, j in combinations(range(4), 2)]
    assert sorted({*numbers}) == [30, 56, 60, 86]
    for rule in ("mean", "min", "harmonic"):
        pairwise = SuffStat.from_data(X, missing="pairwise", n_rule=rule)
        given = SuffStat(pairwise.C, pairwise.pair_n.matrix + np.diag([90.0, 1, 2, 3]), n_rule=rule)
        assert pairwise.n == given.n == pairwise.pair_n.typical == pytest.approx(np.mean(numbers), rel=1e-15)
        assert pc(pairwise).n == pairwise.n


@pytest.mark.parametrize("rule", ["mean", "min", "harmonic"])
def test_n_of_a_test_is_that_of_its_pairs(rule):
    C, rng = np.corrcoef(chain(seed=5), rowvar=False), np.random.default_rng(0)
    N = np.triu(rng.integers(5, 300, C.shape), 1)
    data = SuffStat(C, N + N.T, n_rule=rule)
    numbers = [N[0, 1], N[0, 4], N[1, 4]]
    expected = {"mean": np.mean(numbers), "min": min(numbers), "harmonic": scipy.stats.hmean(numbers)}[rule]
    assert data.pair_n.of_test(4, 0, [1]) == pytest.approx(expected)
    fits = [pc(data, alpha=0.05, engine=engine) for engine in ("cpu", "reference")]
    assert fits[0].n_edgetests == fits[1].n_edgetests
    np.testing.assert_allclose(*(fit.p_values.dense() for fit in fits), atol=1e-12)


def test_n_of_each_pair_goes_by_its_names():
    N = pd.DataFrame(9 * np.ones((3, 3)), index=[*"abc"], columns=[*"abc"])
    N.loc["a", "b"] = N.loc["b", "a"] = 5
    data = SuffStat(NAMED, N.loc[[*"cab"], [*"bca"]])
    assert data.pair_n.of_test(0, 1, []) == 5
    assert data.pair_n.of_test(1, 2, []) == 9


def test_pairwise_complete_correlations():
    X = chain(n=120)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    data, D = SuffStat.from_data(X, missing="pairwise"), pd.DataFrame(X)
    np.testing.assert_allclose(data.C, D.corr(), atol=1e-12)
    assert data.pair_n.matrix[0, 1] == (D[0].notna() & D[1].notna()).sum()
    X[:60, 0], X[60:, 1] = np.nan, np.nan
    with pytest.warns(UserWarning, match="count as independent: column 0 and column 1"):
        apart = SuffStat.from_data(X, missing="pairwise")
    assert np.isnan(apart.C[0, 1])
    assert not pc(apart).sparse_graph.adjacent([0], [1])[0]
