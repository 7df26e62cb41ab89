"""Bounds on falsely selected edges: by hand, and against linear programs."""

import math

import numpy as np
import pytest
from common import refused
from scipy.optimize import linprog
from stability_data import gaussian

import pycupc
from pycupc.stability import bounds


def test_bounds_by_hand():
    """Meinshausen and Buehlmann: 10^2 / (0.6 * 1000); Shah and Samworth's constants of theorem 2 for B = 50."""
    assert bounds.meinshausen_buehlmann(10, 1000, 0.8) == pytest.approx(1 / 6)
    assert bounds.bound("worst-case", 10, 1000, 0.75, 100) == pytest.approx(0.2)
    assert bounds.unimodal(10, 1000, 0.75, 100) == pytest.approx(0.1 / (2 * (0.5 - 0.01)))
    assert bounds.unimodal(10, 1000, 0.9, 100) == pytest.approx(0.1 * 4 * (0.1 + 0.01) / 1.02)
    assert bounds.meinshausen_buehlmann(10, 1000, 0.5) == math.inf
    assert bounds.unimodal(600, 1000, 0.9, 100) == math.inf
    assert bounds.unimodal(10, 1000, 0.6, 100) == bounds.unimodal(10, 1000, 0.591, 100)
    for times in range(51, 101):  # 0.55 * 100 is 55.00000000000001
        assert bounds.unimodal(10, 1000, times / 100, 100) == bounds.unimodal(10, 1000, times / 100 - 1e-6, 100)


def largest_probability(B: int, threshold: float, theta: float) -> float:
    """Largest P(X >= 2 threshold - 1) of a unimodal X on 0, 1/B, ..., 1 with mean at most theta^2, by linear programs.

    This is what the unimodal bound rests on: X is the share of pairs of which both halves have the edge.
    """
    x = np.arange(B + 1) / B
    reward = -(x >= 2 * threshold - 1 - 1e-12).astype(float)
    largest = 0.0
    for mode in range(B + 1):
        steps = np.diff(np.eye(B + 1), axis=0)
        steps[:mode] *= -1
        found = linprog(
            reward, A_ub=np.vstack([steps, x]), b_ub=[*[0.0] * B, theta**2], A_eq=np.ones((1, B + 1)), b_eq=[1.0]
        )
        largest = max(largest, -found.fun) if found.status == 0 else largest
    return largest


@pytest.mark.parametrize("theta", [0.05, 0.3])
@pytest.mark.parametrize("k", [12, 14, 15, 16, 18, 20])
def test_unimodal_bound_is_the_largest_probability(theta, k):
    B, q, n_pairs = 10, theta * 500, 500
    factor = bounds.unimodal(q, n_pairs, k / (2 * B), 2 * B) / (q * q / n_pairs)
    assert factor == pytest.approx(largest_probability(B, k / (2 * B), theta) / theta**2, rel=1e-6)


def test_bounds_of_a_result(result):
    q, n_pairs = result.mean_edges(), 45
    assert result.bound(0.9) == pytest.approx(q * q / (0.8 * n_pairs))
    small = result.mean_edges(0.001)
    assert result.bound(0.9, 0.001, "unimodal") == bounds.unimodal(small, n_pairs, 0.9, 20)
    assert result.bound(0.5) == math.inf
    threshold = result.threshold_for(5, 0.001)
    assert result.bound(threshold, 0.001) <= 5 < result.bound(threshold - 0.05, 0.001)
    refused("no threshold bounds the expected number of false edges by 0.01", result.threshold_for, 0.01)
    with pytest.raises(ValueError, match="method='meinshausen-buehlmann' needs scheme='subsample'"):
        result.bound(0.9, method="meinshausen-buehlmann")
    refused("method must be one of", result.bound, 0.9, method="r-concave")


def test_no_bound_where_none_holds():
    data = gaussian(n=40, p=4)
    bootstrap = pycupc.stability(data, n_resamples=2, random_state=0)
    refused("no bound is known for bootstrap resamples", bootstrap.bound, 0.9)
    third = pycupc.stability(data, n_resamples=2, random_state=0, scheme="subsample", fraction=0.3)
    refused("no bound is known for subsamples of a share of 0.3", third.threshold_for, 1)
    half = pycupc.stability(data, n_resamples=2, random_state=0, scheme="subsample")
    assert half.bound(0.9) == pytest.approx(half.mean_edges() ** 2 / (0.8 * 6))
    refused("method='unimodal' needs scheme='complementary'", half.bound, 0.9, method="unimodal")
