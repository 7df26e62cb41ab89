"""Correlations of latent variables: polycor's recorded answers (tests/files/any_data.npz), and what they estimate."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from any_tables import chain
from common import FILES, refused

from pycupc import SuffStat, pc
from pycupc.independence.gaussian.latent import kinds_of, latent_correlation, levels_of

RECORDED = np.load(FILES / "any_data.npz")


def log_likelihood(table, r):
    """Of a table of two ordinal variables with latent correlation r, by SciPy."""
    cuts = [np.r_[-9.0, scipy.stats.norm.ppf(np.cumsum(m)[:-1] / m.sum()), 9.0] for m in (table.sum(1), table.sum(0))]
    below = scipy.stats.multivariate_normal([0, 0], [[1, r], [r, 1]], allow_singular=True)
    corner = np.array([[below.cdf([a, b]) for b in cuts[1]] for a in cuts[0]])
    return (table * np.log(np.maximum(np.diff(np.diff(corner, axis=0), axis=1), 1e-300)))[table > 0].sum()


@pytest.mark.parametrize("k", range(5))
def test_latent_correlations_are_those_of_polycor(k):
    X, expected = RECORDED[f"latent_X{k}"], RECORDED[f"latent_C{k}"]
    C = latent_correlation(X, levels_of(X))
    np.testing.assert_array_equal(C, C.T)
    for i, j in combinations(range(X.shape[1]), 2):
        if abs(C[i, j]) < 0.95:
            assert C[i, j] == pytest.approx(expected[i, j], abs=1e-4)
        else:  # empty cells in a corner: the likelihood is constant from some r on
            table = pd.crosstab(X[:, i], X[:, j]).to_numpy()
            assert (table == 0).any()
            assert log_likelihood(table, C[i, j]) == pytest.approx(log_likelihood(table, expected[i, j]), abs=1e-4)


def test_kinds_of_columns_are_found():
    X = np.column_stack([np.arange(40) % 2, np.arange(40) % 7, np.arange(40) / 7, np.arange(40) % 3 / 2, np.ones(40)])
    assert kinds_of(levels_of(X), 5) == "1 binary, 1 ordinal, 3 continuous"


def test_latent_correlations_of_classes_estimate_those_before():
    X = chain(n=4000, p=4, seed=3)
    cut = X.copy()
    cut[:, 0], cut[:, 1] = X[:, 0] > 0.5, np.digitize(X[:, 1], [-1, 0, 2])
    np.testing.assert_allclose(SuffStat.from_data(cut, correlation="latent").C, np.corrcoef(X, rowvar=False), atol=0.05)


def test_categories_with_an_order_have_latent_correlations():
    X = chain(n=200, p=3)
    codes = np.digitize(X[:, 0], [-1, 0, 1])
    D = pd.DataFrame(X, columns=list("abc"))
    D["a"] = pd.Categorical.from_codes(codes, ["z", "y", "x", "w"], ordered=True)
    D["b"] = np.where(X[:, 1] > 0, "yes", "no")
    numbers = np.column_stack([codes, X[:, 1] > 0, X[:, 2]])
    np.testing.assert_array_equal(
        SuffStat.from_data(D, correlation="latent").C, SuffStat.from_data(numbers, correlation="latent").C
    )
    D["a"] = D["a"].astype(str)
    refused(r"need an order of the categories, .*: a \(w, x, y, z\)", pc, D, correlation="latent")
