"""Resamples on the GPU: the frequencies are those of the CPU, alone, side by side, and with a process per resample.

pytest -m gpu tests/gpu/test_gpu_stability.py
"""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import pycupc
from pycupc.stability import study

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def data() -> np.ndarray:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 120))
    for j in range(1, 120):
        X[:, j] += X[:, rng.integers(0, j, size=2)] @ rng.uniform(0.3, 0.8, size=2)
    return X


def frequencies(data: np.ndarray, **options) -> pycupc.Stability:
    return pycupc.stability(data, n_resamples=20, alpha=[0.01, 0.05], random_state=4, **options)


@pytest.fixture(scope="module")
def expected(data):
    return frequencies(data, engine="cpu")


@pytest.mark.parametrize("scheme", ["bootstrap", "subsample", "complementary"])
def test_as_on_the_cpu(data, scheme):
    assert frequencies(data, engine="gpu", scheme=scheme) == frequencies(data, engine="cpu", scheme=scheme)


def test_side_by_side(data, expected, monkeypatch):
    monkeypatch.setattr(study, "SIDE_BY_SIDE_FROM", 1)
    assert frequencies(data, engine="gpu") == expected


def test_processes_share_the_device(data, expected):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        assert frequencies(data, engine="gpu", executor=executor) == expected


def test_the_ranking_of_cstar_is_that_of_the_cpu(data, monkeypatch):
    monkeypatch.setattr(study, "SIDE_BY_SIDE_FROM", 2)
    call = {"n_resamples": 10, "random_state": 4}
    assert pycupc.cstar(data, engine="gpu", **call) == pycupc.cstar(data, engine="cpu", **call)
