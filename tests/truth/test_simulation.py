"""`simulate`: the data follow the weights; numbers of edges, errors, seeds, refusals."""

import numpy as np
import pytest
from common import refused

import pycupc
from pycupc.truth.simulation import ERRORS


def test_the_data_follow_the_weights():
    known = pycupc.simulate(6, 200_000, degree=3, weights=(-1, 1), seed=3, labels=list("uvwxyz"))
    W = known.weight_matrix()
    assert known.data.shape == (200_000, 6)
    assert known.labels == known.graph.labels == tuple("uvwxyz")
    assert np.array_equal(W != 0, known.graph.graph == 1)
    assert not np.tril(W).any()
    assert np.array_equal(W[known.graph.sparse_graph.low, known.graph.sparse_graph.high], known.weights)
    residuals = known.data - known.data @ W
    assert np.allclose(np.cov(residuals.T), np.eye(6), atol=0.02)  # a standard error of at most 0.0032
    assert list(known.table().columns) == list("uvwxyz")
    assert np.array_equal(known.table(), known.data)
    assert repr(known) == f"<Simulation: 200,000 observations of 6 variables, {len(known.weights)} edges, seed 3>"


def test_the_number_of_edges():
    """Of 4,950 pairs; the bounds are five standard deviations."""
    for options, share in (({"degree": 4}, 4 / 99), ({"prob": 0.3}, 0.3), ({}, 2 / 99)):
        m = len(pycupc.simulate(100, 1, seed=2, **options).weights)
        assert abs(m - 4950 * share) < 5 * np.sqrt(4950 * share * (1 - share))
    assert len(pycupc.simulate(20, 1, prob=1, seed=1).weights) == 190
    assert len(pycupc.simulate(20, 1, degree=0, seed=1).weights) == len(pycupc.simulate(1, 3, seed=1).weights) == 0
    weights = pycupc.simulate(100, 1, prob=1, weights=(0.5, 2), seed=1).weights
    assert 0.5 <= weights.min() < 0.51
    assert 1.99 < weights.max() <= 2


@pytest.mark.parametrize("errors", ERRORS)
def test_the_distributions_of_the_errors(errors):
    """By the share of values beyond 1, 3 and 30, and the mean where there is one."""
    from scipy import stats

    norm, t = stats.norm, stats.t
    with_others = {"mix": stats.cauchy, "mixt3": t(3), "mixN100": norm(0, 10)}
    pure = {
        "normal": norm,
        "cauchy": stats.cauchy,
        "t4": t(4),
        "uniform": stats.uniform(-(3**0.5), 2 * 3**0.5),
        "laplace": stats.laplace(0, 0.5**0.5),
        "exponential": stats.expon(-1),
    }
    x = pycupc.simulate(1, 100_000, errors=errors, seed=5).data[:, 0]
    for cut in (-3, -0.9, 0.4, 3, 30):
        share = pure[errors].cdf(cut) if errors in pure else 0.9 * norm.cdf(cut) + 0.1 * with_others[errors].cdf(cut)
        assert abs((x <= cut).mean() - share) < 5 * np.sqrt(share * (1 - share) / len(x)) + 1e-5


def test_a_seed_names_the_data_and_is_kept():
    one, two = pycupc.simulate(8, 50, seed=7), pycupc.simulate(8, 50, seed=7)
    assert np.array_equal(one.data, two.data)
    assert one.graph.sparse_graph == two.graph.sparse_graph
    drawn = pycupc.simulate(8, 50)
    assert np.array_equal(drawn.data, pycupc.simulate(8, 50, seed=drawn.seed).data)
    assert drawn.seed != pycupc.simulate(8, 50).seed


def test_pc_finds_the_class_with_enough_data():
    known = pycupc.simulate(8, 100_000, degree=2, weights=(0.5, 1), seed=1)
    it = pycupc.evaluate(pycupc.pc(known.data, alpha=1e-4), known.graph, as_cpdag=True)
    assert it.shd == 0
    assert it.edge_precision == it.edge_recall == 1


def test_refusals_of_simulate():
    for p, n in ((0, 5), (5, 0), (2.5, 5)):
        refused("must be a whole number of at least 1", pycupc.simulate, p, n)
    refused("p must be", pycupc.simulate, "5", 5, error=TypeError)
    refused("either degree or prob", pycupc.simulate, 5, 5, degree=2, prob=0.1)
    refused(r"degree must be a number in \[0, p - 1 = 4\], got 5", pycupc.simulate, 5, 5, degree=5)
    refused(r"prob must be a number in \[0, 1\], got nan", pycupc.simulate, 5, 5, prob=float("nan"))
    refused("errors must be one of 'normal'", pycupc.simulate, 5, 5, errors="gauss")
    refused("errors must be one of 'normal'", pycupc.simulate, 5, 5, errors=["normal"])
    refused("the least and the largest", pycupc.simulate, 5, 5, weights=(1, 0.1))
    refused("the least and the largest", pycupc.simulate, 5, 5, weights=(0, np.inf))
    refused("weights must be two numbers", pycupc.simulate, 5, 5, weights=1, error=TypeError)
    refused("seed must be a whole number of at least 0", pycupc.simulate, 5, 5, seed=-1)
    refused("labels must name all 5", pycupc.simulate, 5, 5, labels=["a"])
    refused("exceed the range of float64", pycupc.simulate, 400, 2, prob=1, weights=(9, 10), seed=1)
