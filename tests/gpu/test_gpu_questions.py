"""Questions about pairs on the GPU against the CPU engine, and runs of fci that ask them.

pytest -m gpu tests/gpu/test_gpu_questions.py
"""

import dataclasses

import numpy as np
import pytest
from question_cases import compare_answers, counts, random_questions
from wide_problems import N, planted

import pycupc
from pycupc.engines.cpu import CpuEngine
from pycupc.engines.cpu import tuning as cpu_tuning
from pycupc.engines.gpu import GpuEngine, device_answers, device_tuning, on_cpu
from pycupc.engines.gpu.pruning import device_branch_and_bound
from pycupc.engines.protocol import Lists, Questions
from pycupc.independence.gaussian.test import GaussianTest

pytestmark = pytest.mark.gpu


@pytest.fixture
def reached(monkeypatch):
    """What the device has found, of all questions, which it searches however few sets they have."""
    monkeypatch.setattr(device_tuning, "QUESTION_SETS", 0)
    monkeypatch.setattr(cpu_tuning, "FEW_SETS", 0)
    out: dict = {}

    def noted(*args):
        out.clear()
        out.update(answer := device_answers.search_on_device(*args))
        return answer

    monkeypatch.setattr(on_cpu, "search_on_device", noted)
    return out


@pytest.mark.parametrize("least_sets", [0.0, 50.0, 1e9])
def test_random_questions(reached, monkeypatch, least_sets):
    monkeypatch.setattr(
        device_branch_and_bound, "TUNING", dataclasses.replace(device_branch_and_bound.TUNING, least_sets=least_sets)
    )
    engines, total = (GpuEngine(), CpuEngine()), np.zeros(3, dtype=int)
    for seed in range(60):
        test, asked = random_questions(seed, 6 + seed % 12, 12)
        compare_answers(engines, test, asked)
        total += counts(reached, asked)
    assert min(total[:2]) > 100
    assert total[2] < 0.05 * sum(total)


@pytest.mark.parametrize("size", [10, 24])
def test_one_separating_set_among_many(reached, size):
    """Of 78 candidates; the second size has more sets than ranks of 64 bits."""
    rng = np.random.default_rng(size)
    x, y = 3, 50
    others = np.setdiff1d(np.arange(80), [x, y])
    S = np.sort(rng.choice(others, size, replace=False))
    test = GaussianTest(pycupc.SuffStat(planted(80, x, y, S.tolist()), N), 0.01)
    asked = Questions(np.array([x]), np.array([y]), Lists.of([others]), size - 1, 40, largest_p=False)
    answers = compare_answers((GpuEngine(), CpuEngine()), test, asked)
    assert answers.S.of_one(0) == S.tolist()
    assert reached[0][0] == size
    assert (reached[0][1] is None) == (size == 24)


@pytest.mark.parametrize("method", [pycupc.fci, pycupc.rfci])
def test_runs(reached, method):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((500, 18))
        for j in range(1, 18):
            X[:, j] += X[:, rng.integers(0, j, 2)] @ rng.uniform(0.4, 1, 2)
        mine, theirs = (method(X[:, ::2], alpha=0.05, engine=engine) for engine in ("gpu", "cpu"))
        assert mine == theirs
        np.testing.assert_allclose(mine.pMax, theirs.pMax, rtol=1e-6, atol=1e-300)
