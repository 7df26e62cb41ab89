"""The Schur walk of the GPU engine (kernels/schur/), whole runs of it on the host, against the CPU engine."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import assert_same
from gpu_on_host import HostEngine, build

import pycupc
from pycupc.engines.gpu import schur

FILES = {
    "common/binomials": ("binomial_table",),
    "graph/inspect": ("inspect",),
    "graph/neighbours": ("level0", "count_neighbours", "list_neighbours"),
    "graph/removals": ("settle", "finish"),
    "schur/level1": ("level1",),
    "schur/plan": ("plan_phases", "subset_table"),
    "schur/sets": tuple(name for _, name in schur.SETS.values()),
    "schur/tiles": tuple(name for _, name in schur.TILES.values()),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), 256, FILES)


@pytest.fixture
def engine(library):
    host = HostEngine(library)
    host._prune = False
    host._gaussian = host._tests = schur.SchurTests(2, prune=False)
    return host


def observations(seed: int, p: int, n: int, strength: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(p):
        X[:, j] += X[:, :j] @ (rng.normal(0, strength, j) * (rng.random(j) < 0.4))
    return X


def compare(engine, C: np.ndarray, n: float, alpha: float, levels: int) -> pycupc.PcAlgo:
    fit = pycupc.skeleton({"C": C, "n": n}, alpha=alpha, engine=engine)
    expected = pycupc.skeleton({"C": C, "n": n}, alpha=alpha, engine="cpu")
    assert_same(fit, expected)
    assert len(fit.n_edgetests) >= levels
    np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6, atol=1e-300)
    return fit


@pytest.fixture(params=["rows in shared memory", "rows in tiles"])
def rows(request, monkeypatch):
    """Which kernel tests the rows of more than five neighbours."""
    if request.param == "rows in tiles":
        monkeypatch.setattr(schur, "BOUNDS", (1, 2, 3, 4, 5))


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize(
    ("n", "strength", "alpha", "levels"), [(60, 0.5, 0.3, 5), (2000, 0.3, 0.05, 5), (200, 2.0, 0.2, 4)]
)
def test_the_answer_is_that_of_the_cpu(engine, n, strength, alpha, levels):
    compare(engine, np.corrcoef(observations(0, 18, n, strength), rowvar=False), n, alpha, levels)


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("apart", [1e-3, 1e-6])
def test_columns_that_are_nearly_copies(engine, apart):
    """Conditional variances that single precision cannot tell from 0: its tests settle nothing."""
    X = observations(3, 14, 300, 0.5)
    X[:, 5] = X[:, 2] + apart * X[:, 5]
    X[:, 9] = X[:, 2] + X[:, 7] + apart * X[:, 9]
    fit = compare(engine, np.corrcoef(X, rowvar=False), 300, 0.2, 4)
    assert sum(level.n_careful for level in fit.levels) > 0 or apart > 1e-5


@pytest.mark.usefixtures("rows")
def test_cutoffs_below_the_errors_of_single_precision(engine):
    C = np.corrcoef(observations(1, 14, 100, 0.4), rowvar=False)
    fit = compare(engine, C, 1e9, 0.01, 4)
    assert len(fit.sparse_graph) > 60
