"""The sieve of level 0 on the matrix units, and whole runs on a matrix of correlations for each row.

pytest -m gpu tests/gpu
"""

import numpy as np
import pytest
from common import assert_same
from gpu_on_host import observations
from sieve_data import check_sieve, difficult

import pycupc
from pycupc.engines.gpu import GpuEngine, device_sieve
from pycupc.engines.gpu.device import open_device, session
from pycupc.engines.gpu.devices import DevicesEngine
from pycupc.system.machine import gpu_works

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("n", "p"), [(17, 129), (200, 700), (700, 2500), (1100, 300), (5000, 2100)])
def test_the_sieve_misses_no_pair_and_picks_few_others(n, p):
    dev = open_device(0)
    with session(dev, lambda: None):
        check_sieve(dev, difficult(n, p, 0.3), 0.3)


@pytest.mark.parametrize(("p", "n", "alpha"), [(60, 100, 0.2), (700, 200, 1e-3), (300, 1500, 0.01)])
def test_the_answer_is_that_of_the_cpu(monkeypatch, p, n, alpha):
    X = observations(p, 20, n, 0.4)
    X = np.hstack([X, np.random.default_rng(0).standard_normal((n, p - 20)) + X[:, :1]])
    X[:, 30:] += X[:, 20:-10]
    fit, expected = (pycupc.skeleton(X, alpha=alpha, engine=e) for e in (GpuEngine(correlations="rows"), "cpu"))
    assert_same(fit, expected)
    np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6, atol=1e-14)
    monkeypatch.setattr(device_sieve, "first_room", lambda p: 7)
    assert_same(pycupc.skeleton(X, alpha=alpha, engine=GpuEngine(correlations="rows")), expected)


@pytest.mark.skipif(not gpu_works(1)[0], reason="needs two CUDA devices")
@pytest.mark.parametrize("correlations", ["dense", "rows"])
def test_two_devices_have_the_answer_of_one(correlations):
    two = DevicesEngine([GpuEngine(device=i, correlations=correlations) for i in (0, 1)])
    X = observations(3, 120, 500, 0.2)
    one = pycupc.skeleton(X, alpha=0.05, engine=GpuEngine(correlations=correlations))
    fit = pycupc.skeleton(X, alpha=0.05, engine=two)
    assert_same(fit, one)
    np.testing.assert_allclose(fit.pMax, one.pMax, rtol=1e-6, atol=1e-14)
