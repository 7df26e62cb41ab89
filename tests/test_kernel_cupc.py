"""The kernels of cuPC-E and cuPC-S (kernels/cupc/) on the host: whole runs."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same
from gpu_on_host import HostEngine, build

import pycupc
from pycupc.engines.gpu.cupc import CupcTests, Geometry

LEVELS = 6  # from level 6 on, one kernel for all up to 8
FILES = {
    "common/binomials": ("binomial_table",),
    "graph/inspect": ("inspect",),
    "graph/neighbours": ("level0", "count_neighbours", "list_neighbours"),
    "graph/final": ("noncolliders", "weakest_evidence"),
    "graph/removals": ("settle", "finish"),
} | {
    file: tuple(CupcTests(algorithm, Geometry()).kernel(level)[1] for level in range(1, LEVELS + 1))
    for algorithm, file in (("cupc-e", "cupc/cupc_e"), ("cupc-s", "cupc/cupc_s"))
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), 256, FILES)


def observations(seed: int, p: int, n: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(p):
        X[:, j] += X[:, :j] @ (rng.normal(0, 0.5, j) * (rng.random(j) < 0.4))
    return X


@pytest.mark.parametrize("algorithm", ["cupc-e", "cupc-s"])
@pytest.mark.parametrize(("seed", "p", "n", "alpha"), [(0, 16, 60, 0.3), (1, 20, 400, 0.1), (2, 40, 40, 0.01)])
def test_the_answer_is_that_of_the_cpu(library, algorithm, seed, p, n, alpha):
    stat = {"C": np.corrcoef(observations(seed, p, n), rowvar=False), "n": n}
    expected = pycupc.skeleton(stat, alpha=alpha, engine="cpu", m_max=LEVELS)
    fit = pycupc.skeleton(stat, alpha=alpha, engine=HostEngine(library, algorithm), m_max=LEVELS)
    assert_same(fit, expected)
    np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6, atol=1e-300)
