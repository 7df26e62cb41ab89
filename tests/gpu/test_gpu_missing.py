"""Tests of incomplete data on the GPU against the CPU engine, level by level.

pytest -m gpu tests/gpu/test_gpu_missing.py
"""

import os

import numpy as np
import pytest
from conftest import assert_same, take
from discrete_runs import compare
from missing_runs import FAMILIES, random_problem

import pycupc
from pycupc.engines.base import EngineError
from pycupc.engines.gpu import GpuEngine, tuning

pytestmark = pytest.mark.gpu

#: Random problems of each family.
PROBLEMS = int(os.environ.get("PYCUPC_MISSING_PROBLEMS", "100"))


@pytest.mark.parametrize("family", FAMILIES)
def test_random_problems(family):
    engine = GpuEngine()
    for seed in range(PROBLEMS):
        compare(engine, random_problem(family, seed))
    for seed in range(5):
        compare(engine, random_problem(family, seed, p=20))


@pytest.mark.parametrize(
    "change", [{"DOUBTFUL": 0}, {"OBSERVED_SHARED_BYTES": 0}, {"OBSERVED_TABLE_BYTES": 40}], ids=str
)
def test_tuning_changes_nothing(monkeypatch, change):
    for name, value in change.items():
        monkeypatch.setattr(tuning, name, value)
    for seed, family in enumerate(FAMILIES):
        compare(GpuEngine(), random_problem(family, seed))


def test_a_whole_run_with_every_option():
    X = np.random.default_rng(1).normal(size=(200, 12)).cumsum(axis=1)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    data = pycupc.IncompleteTable(X)
    for how in ({"conservative": True}, {"tiers": [0] * 6 + [1] * 6}, {"m_max": 1}):
        fit, expected = (pycupc.pc(data, alpha=0.2, engine=engine, **how) for engine in ("gpu", "cpu"))
        assert_same(fit, expected)
        np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6)


def test_other_algorithms_have_no_such_tests():
    with pytest.raises(EngineError, match="no tests of imputed data; take 'cpu', 'gpu' or 'reference'"):
        take(GpuEngine("cupc-e"), random_problem("gaussMItest", 0).test)
