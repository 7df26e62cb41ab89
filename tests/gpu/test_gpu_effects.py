"""Summaries of the effects of all pairs.

pytest -m gpu tests/gpu
"""

import numpy as np
import pytest
from gpu_on_host import observations

import pycupc

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("p", [40, 600])
def test_summaries_are_those_of_the_processor(p):
    X = np.random.default_rng(0).standard_normal((300, p))
    X[:, :40] += observations(1, 40, 300, 0.4)
    fit = pycupc.pc(X, alpha=0.01, u2pd="retry")  # a CPDAG: without it the 40 variables have a directed cycle
    cpu, gpu = (pycupc.effects(fit, X, engine=engine) for engine in ("cpu", "gpu"))
    np.testing.assert_allclose(gpu.smallest(), cpu.smallest(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(gpu.mean(), cpu.mean(), rtol=1e-10, atol=1e-12)
    assert gpu.top(9)["effect"].tolist() == cpu.top(9)["effect"].tolist()
