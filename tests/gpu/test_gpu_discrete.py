"""The GPU engine of discrete data against the CPU engine, level by level: counts, separating sets, p-values.

pytest -m gpu tests/gpu/test_gpu_discrete.py
"""

import dataclasses
import os

import numpy as np
import pytest
from conftest import take
from discrete_runs import compare, random_problem

from pycupc.engines.base import EngineError
from pycupc.engines.gpu import GpuEngine, tuning

pytestmark = pytest.mark.gpu

#: Random problems; 2,000 of them are run once per change of a kernel.
PROBLEMS = int(os.environ.get("PYCUPC_DISCRETE_PROBLEMS", "300"))


@pytest.mark.parametrize("block", range(10))
def test_random_problems(block):
    engine = GpuEngine()
    for seed in range(block, PROBLEMS, 10):
        compare(engine, random_problem(seed))
        compare(engine, random_problem(seed, observed=True))


@pytest.mark.parametrize(
    "change",
    [{"CONFIGURATIONS": 0}, {"CELLS": 300}, {"MASK_WORDS": 4096 + 256, "FIRST_SETS": 1, "GROWTH": 1}, {"DOUBTFUL": 0}],
    ids=str,
)
def test_tuning_changes_nothing(monkeypatch, change):
    for name, value in change.items():
        monkeypatch.setattr(tuning, name, value)
    for seed in range(3000, 3008):
        problem = random_problem(seed, small="DOUBTFUL" in change)
        if "DOUBTFUL" in change:
            problem.test.prepared = problem.test.prepared._replace(band=np.inf)
        compare(GpuEngine(), problem)


def test_many_observations():
    """Tables beyond shared memory, and masks in many parts."""
    problem = random_problem(7, n=300_000)
    compare(GpuEngine(), dataclasses.replace(problem, most=2))


@pytest.mark.parametrize("algorithm", ["cupc-e", "cupc-s"])
def test_other_algorithms_have_no_such_tests(algorithm):
    with pytest.raises(EngineError, match="no tests of discrete data"):
        take(GpuEngine(algorithm), random_problem(0).test)
