"""Correlations of ranks, and the nearest correlation matrix to one that is none."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from any_tables import chain, run_to_out

import pycupc
from pycupc import SuffStat, cli, pc
from pycupc.engines.cpu.cpu_engine import CpuEngine
from pycupc.engines.gpu.device_correlation import concordances as on_device
from pycupc.independence.gaussian import ranks

MEASURES = ["spearman", "kendall", "normal-scores"]


def with_ties(n, seed=1):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.standard_normal((n, 2)), rng.integers(0, 3, (n, 2)), rng.integers(0, 2, n)])


def test_an_engine_with_a_device_counts_for_kendall():
    class Counting(CpuEngine):
        correlates_on_device, seen = True, 0

        def concordances(self, X):
            self.seen += 1
            return ranks.concordances(X)

    engine, X = Counting(), chain()
    assert pc(X, correlation="kendall", engine=engine) == pc(X, correlation="kendall", engine="cpu")
    assert engine.seen == 1


@pytest.mark.parametrize("n", [2, 5, 64, 65, 200])
def test_kendall_and_ranks_are_those_of_scipy(n):
    X = with_ties(n)
    np.testing.assert_array_equal(ranks.ranks(X), scipy.stats.rankdata(X, axis=0))
    tau = ranks.kendall(X)
    for i, j in combinations(range(X.shape[1]), 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = scipy.stats.kendalltau(X[:, i], X[:, j])[0]
        assert tau[i, j] == tau[j, i] or np.isnan(expected)
        np.testing.assert_allclose(tau[i, j], expected, rtol=0, atol=1e-14)
    X[:, 1] = 3.0  # a constant column
    tau = ranks.kendall(X)
    assert np.isnan(tau[1]).all()
    assert n < 20 or not np.isnan(np.delete(np.delete(tau, 1, 0), 1, 1)).any()


def test_signs_on_a_device_count_the_same_pairs():
    class Device:
        asarray, asnumpy, zeros, sign = staticmethod(np.asarray), staticmethod(np.asarray), np.zeros, np.sign
        float32, float64 = np.float32, np.float64

    X = with_ties(90)
    np.testing.assert_array_equal(on_device(Device, X), ranks.concordances(X))


def test_correlations_of_ranks_follow_their_formulas():
    X = chain()
    rho = scipy.stats.spearmanr(X)[0]
    np.testing.assert_allclose(SuffStat.from_data(X, correlation="spearman").C, 2 * np.sin(np.pi / 6 * rho), atol=1e-14)
    n, least = len(X), 1 / (4 * len(X) ** 0.25 * np.sqrt(np.pi * np.log(len(X))))
    scores = scipy.stats.norm.ppf(np.clip(scipy.stats.rankdata(X, axis=0) / n, least, 1 - least))
    expected = np.corrcoef(scores, rowvar=False)
    np.testing.assert_allclose(SuffStat.from_data(X, correlation="normal-scores").C, expected, atol=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_ranks_do_not_see_increasing_transformations(measure):
    X = chain()
    fit = pc(X, correlation=measure)
    assert fit == pc(np.exp(X), correlation=measure)
    assert len(fit.sparse_graph) == 5


def test_nearest_correlation_matrix_of_higham():
    C = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])  # Higham (2002), section 4
    near, distance = ranks.nearest_correlation(C)
    np.testing.assert_allclose(near[[0, 0, 1], [1, 2, 2]], [0.7607, 0.1573, 0.7607], atol=1e-4)
    assert distance == pytest.approx(0.5278, abs=1e-4)
    assert np.linalg.eigvalsh(near)[0] > 0


def test_an_indefinite_matrix_is_said_and_may_be_replaced():
    X = chain(n=8, p=6)
    with pytest.warns(UserWarning, match="C is not positive semidefinite, .* pcalg's rules .*nearest=True"):
        kept = SuffStat.from_data(X, correlation="kendall")
    assert np.linalg.eigvalsh(kept.C)[0] < 0
    with pytest.warns(UserWarning, match="the nearest correlation matrix, .* away, takes its place"):
        assert np.linalg.eigvalsh(SuffStat.from_data(X, correlation="kendall", nearest=True).C)[0] > 0


def test_an_indefinite_matrix_of_a_file_is_replaced_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    C = pd.DataFrame([[1, 0.9, 0.9], [0.9, 1, -0.9], [0.9, -0.9, 1]], columns=[*"abc"])
    C.to_csv("C.csv", index=False)
    near = ranks.nearest_correlation(C.to_numpy())[0]
    assert run_to_out("run", "C.csv", "--correlation", "50", "--nearest") == cli.OK
    assert "the nearest correlation matrix, 0.98 away, takes its place" in capsys.readouterr().err
    assert pycupc.PcAlgo.load("out/result.npz").p_values.correlations([0], [1]) == pytest.approx(near[0, 1])
