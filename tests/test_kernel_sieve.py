"""The sieve of level 0 and the levels on a matrix for each row (kernels/sieve/, kernels/rows/), on the host."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from conftest import assert_same
from gpu_on_host import GRAPH_FILES, HostEngine, build, library_of, observations

import pycupc
from pycupc.data.pairs import Pairs
from pycupc.engines.base import EngineError
from pycupc.engines.gpu import schur, sieve, tuning
from pycupc.independence.gaussian.correlation import correlation

FILES = GRAPH_FILES | {
    "sieve/pick": ("round_columns", *(name for _, name in sieve.PICK.values())),
    "sieve/lists": tuple(name for _, name in (sieve.CORRELATE, sieve.COUNT, sieve.ENTER, sieve.SORT, sieve.MATRICES)),
    "rows/removals": ("settle", "finish"),
    "rows/level1": ("level1_rows",),
    "rows/sets": tuple(name for _, name in schur.SETS.values()),
    "rows/tiles": tuple(name for _, name in schur.TILES.values()),
    "schur/plan": ("plan_phases", "subset_table"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), 256, FILES)


@pytest.fixture
def engine(library):
    return HostEngine(library, correlations="rows")


def compare_data(engine, X, alpha, levels, **options):
    """The answer on data, which is that of the CPU engine, with at least so many levels."""
    fit, expected = (pycupc.skeleton(X, alpha=alpha, engine=e, **options) for e in (engine, "cpu"))
    assert_same(fit, expected)
    assert len(fit.n_edgetests) >= levels
    np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6, atol=1e-300)


@pytest.mark.parametrize(("n", "strength", "alpha", "levels"), [(60, 0.5, 0.3, 5), (1100, 0.3, 0.05, 4)])
def test_the_answer_is_that_of_the_cpu(engine, n, strength, alpha, levels):
    compare_data(engine, observations(0, 18, n, strength), alpha, levels)
