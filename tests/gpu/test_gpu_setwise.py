"""Tests made set by set on the GPU, of discrete and of incomplete data, against the CPU engine, level by level.

pytest -m gpu tests/gpu/test_gpu_setwise.py
"""

import dataclasses
import os

import discrete_runs
import missing_runs
import numpy as np
import pytest
from common import assert_same, take
from discrete_runs import TUNING, compare
from missing_runs import TUNING as TUNING_OF_MISSING

import pycupc
from pycupc.engines.gpu import GpuEngine, device_tuning
from pycupc.engines.protocol import EngineError
from pycupc.system.machine import gpu_works

works, why = gpu_works()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not works, reason=f"no CUDA device ({why})")]

#: Random problems, and of each family of incomplete data; 2,000 of the former are run once per change of a kernel.
PROBLEMS = int(os.environ.get("PYCUPC_DISCRETE_PROBLEMS", "300"))
PROBLEMS_OF_MISSING = int(os.environ.get("PYCUPC_MISSING_PROBLEMS", "100"))


@pytest.mark.parametrize("block", range(10))
def test_random_problems_of_discrete_data(block):
    engine = GpuEngine()
    for seed in range(block, PROBLEMS, 10):
        compare(engine, discrete_runs.random_problem(seed))
        compare(engine, discrete_runs.random_problem(seed, observed=True))


@pytest.mark.parametrize("family", missing_runs.FAMILIES)
def test_random_problems_of_incomplete_data(family):
    engine = GpuEngine()
    for seed in range(PROBLEMS_OF_MISSING):
        compare(engine, missing_runs.random_problem(family, seed))
    for seed in range(5):
        compare(engine, missing_runs.random_problem(family, seed, p=20))


@pytest.mark.parametrize("change", [*TUNING, *TUNING_OF_MISSING], ids=str)
def test_tuning_changes_nothing(monkeypatch, change):
    for name, value in change.items():
        monkeypatch.setattr(device_tuning, name, value)
    for seed in range(3000, 3008):
        problem = discrete_runs.random_problem(seed, small="DOUBTFUL" in change)
        if "DOUBTFUL" in change:
            problem.test.prepared = problem.test.prepared._replace(band=np.inf)
        compare(GpuEngine(), problem)
    for seed, family in enumerate(missing_runs.FAMILIES):
        compare(GpuEngine(), missing_runs.random_problem(family, seed))


def test_many_observations():
    """Tables beyond shared memory, and masks in many parts."""
    problem = discrete_runs.random_problem(7, n=300_000)
    compare(GpuEngine(), dataclasses.replace(problem, most=2))


def test_a_whole_run_with_every_option():
    X = np.random.default_rng(1).normal(size=(200, 12)).cumsum(axis=1)
    X[np.random.default_rng(2).random(X.shape) < 0.1] = np.nan
    data = pycupc.IncompleteTable(X)
    for how in ({"conservative": True}, {"tiers": [0] * 6 + [1] * 6}, {"tiers": [0, None, 1] * 4}, {"m_max": 1}):
        fit, expected = (pycupc.pc(data, alpha=0.2, engine=engine, **how) for engine in ("gpu", "cpu"))
        assert_same(fit, expected)
        np.testing.assert_allclose(fit.pMax, expected.pMax, rtol=1e-6)


@pytest.mark.parametrize("algorithm", ["cupc-e", "cupc-s"])
def test_other_algorithms_have_no_such_tests(algorithm):
    for kind, problem in (
        ("discrete", discrete_runs.random_problem(0)),
        ("imputed", missing_runs.random_problem("gaussMItest", 0)),
    ):
        with pytest.raises(EngineError, match=f"no tests of {kind} data; take 'cpu', 'gpu' or 'reference'"):
            take(GpuEngine(algorithm), problem.test)
