"""Levels with more tests than the device can count, on the host: the CPU engine takes over from level 0."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same
from gpu_on_host import HostEngine, build

import pycupc
from pycupc.engines.base import EngineError
from pycupc.engines.gpu import ahead, levels

FILES = {
    "common/binomials": ("binomial_table",),
    "graph/final": ("weakest_evidence",),
    "graph/inspect": ("inspect",),
    "graph/neighbours": ("level0", "count_neighbours", "list_neighbours"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), 256, FILES)


@pytest.fixture
def gpu(library, monkeypatch):
    """The engine on the host, to which every level from 1 on is too large."""
    monkeypatch.setattr(levels, "MOST_SETS", 2.0)
    monkeypatch.setattr(ahead, "AHEAD", 0.0)  # a level with so many tests is not launched before it is asked for
    return HostEngine(library)


def observations() -> np.ndarray:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((200, 24))
    for j in range(24):
        X[:, j] += X[:, :j] @ (rng.normal(0, 0.5, j) * (rng.random(j) < 0.4))
    return X


def masks() -> tuple[np.ndarray, np.ndarray]:
    gaps, fixed = np.zeros((24, 24), dtype=bool), np.zeros((24, 24), dtype=bool)
    gaps[2, 7:11] = gaps[7:11, 2] = True
    fixed[1, 3:6] = fixed[3:6, 1] = True
    return gaps, fixed


@pytest.mark.parametrize("restricted", [False, True])
def test_the_answer_is_that_of_the_cpu(gpu, restricted):
    C = np.corrcoef(observations(), rowvar=False)
    gaps, fixed = masks() if restricted else (None, None)
    stat, how = {"C": C, "n": 200}, {"alpha": 0.1, "fixedGaps": gaps, "fixedEdges": fixed}
    with pytest.warns(UserWarning, match=r"level 1 may need more than 2\^62 tests \(variable \d+ has \d+ neighbours"):
        fit = pycupc.skeleton(stat, engine=gpu, **how)
    expected = pycupc.skeleton(stat, engine="cpu", **how)
    assert_same(fit, expected)
    assert len(fit.n_edgetests) > 3
    np.testing.assert_array_equal(fit.pMax, expected.pMax)


def test_without_pruning_the_level_is_refused(gpu):
    gpu._prune = False
    with pytest.raises(EngineError, match=r"level 1 has more than 2\^62 conditioning sets"):
        pycupc.skeleton({"C": np.corrcoef(observations(), rowvar=False), "n": 200}, engine=gpu)
