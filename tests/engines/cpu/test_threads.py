"""No schedule of the threads changes an answer: they take many small items, and pause at random between them.

PYCUPC_SCHEDULES sets the number of random problems (12).
"""

import os
import random
import time

import numpy as np
import pytest
from common import assert_same
from one_item import one_at_a_time
from pruning_problems import random_correlations

import pycupc
from pycupc.data.mixed import MixedTable
from pycupc.discrete import DiscreteSuffStat, disCItest
from pycupc.engines.cpu import (
    answers,
    gaussian,
    gaussian_questions,
    level1_from_columns,
    setwise_levels,
    setwise_walk,
    threads,
    tuning,
    turn_walk,
)
from pycupc.engines.cpu.pruning import pair_search

#: Seconds, drawn with equal chances.
PAUSES = (*[0.0] * 10, *[1e-5] * 5, *[1e-4] * 4, 1e-3)
PROBLEMS = int(os.environ.get("PYCUPC_SCHEDULES", "12"))


@pytest.fixture
def small_items(monkeypatch):
    for module in (gaussian, level1_from_columns):
        monkeypatch.setattr(module, "TASK_TESTS", 30)
    for module in (gaussian, gaussian_questions, threads):
        monkeypatch.setattr(module, "INLINE_TESTS", 0)
    monkeypatch.setattr(gaussian, "GATHER_SHARE", 0)
    for name, value in (("GATHER_SHARE", 0), ("WALKED_TESTS", 50), ("ITEM_PAIRS", 1), ("WALKED_DEGREE", 0)):
        monkeypatch.setattr(tuning, name, value)
    for name, value in (("FEW_SETS", 20), ("WORTH", 0.0), ("WORTH_LOADING", 0.0), ("WALKED_LEVEL", 3)):
        monkeypatch.setattr(tuning, name, value)
    monkeypatch.setattr(pair_search, "INLINE_TESTS", 0)


def paused(monkeypatch, seed):
    draw = random.Random(seed)
    one_at_a_time(monkeypatch, lambda: time.sleep(draw.choice(PAUSES)))


def of_skeleton(C, n, alpha, cores, pruning):
    options = {"engine": "cpu", "numCores": cores, "engine_options": {"pruning": pruning}}
    return pycupc.skeleton({"C": C, "n": n}, alpha=alpha, m_max=5, **options)


@pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")
@pytest.mark.parametrize("part", range(3))
def test_no_schedule_changes_a_skeleton(part, small_items, monkeypatch):
    for seed in range(part, PROBLEMS, 3):
        rng = np.random.default_rng((5, seed))
        C, n = random_correlations(rng)
        C, alpha = np.ascontiguousarray(C[:24, :24]), float(rng.choice([0.01, 0.05, 0.2]))
        pruning = [False, "always", True][seed // 3 % 3]
        want = of_skeleton(C, n, alpha, 1, pruning)
        with monkeypatch.context() as patch:
            paused(patch, seed)
            for cores in (2, 5):
                fit = of_skeleton(C, n, alpha, cores, pruning)
                assert_same(fit, want)
                np.testing.assert_array_equal(fit.pMax, want.pMax)


@pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")
def test_no_schedule_changes_answers_to_questions(small_items, monkeypatch):
    for seed in range(PROBLEMS // 3):
        rng = np.random.default_rng((6, seed))
        C, n = random_correlations(rng)
        stat = {"C": np.ascontiguousarray(C[:10, :10]), "n": n}
        want, tiers = (
            pycupc.fci(stat, alpha=0.05, engine="cpu", numCores=1, m_max=3),
            [k % 3 for k in range(len(stat["C"]))],
        )
        tiered = pycupc.skeleton(stat, alpha=0.05, engine="cpu", numCores=1, tiers=tiers)
        with monkeypatch.context() as patch:
            paused(patch, seed)
            fit = pycupc.fci(stat, alpha=0.05, engine="cpu", numCores=4, m_max=3)
            assert fit == want
            np.testing.assert_array_equal(fit.pMax, want.pMax)
            assert_same(pycupc.skeleton(stat, alpha=0.05, engine="cpu", numCores=4, tiers=tiers), tiered)


def test_rows_whose_matrices_threads_share(small_items, monkeypatch):
    X = np.random.default_rng(1).standard_normal((60, 40)) @ np.random.default_rng(2).standard_normal((40, 40))
    for pruning in (False, "always"):
        options = {"alpha": 0.3, "m_max": 4, "engine": "cpu"}
        engine_options = {"correlations": "rows", "pruning": pruning}
        want = pycupc.skeleton(X, **options, numCores=1, engine_options=engine_options)
        with monkeypatch.context() as patch:
            paused(patch, 0)
            fit = pycupc.skeleton(X, **options, numCores=5, engine_options=engine_options)
        assert_same(fit, want)
        np.testing.assert_array_equal(fit.pMax, want.pMax)


#: Families of tests without bounds.
KINDS = ("discrete", "mixed", "gapped", "imputed", "by_pair", "batch")


def of_family(kind, seed):
    """Data of a family, and further arguments of `skeleton`."""
    rng = np.random.default_rng((7, seed))
    X = rng.standard_normal((80, 8)) @ (np.eye(8) + np.triu(rng.normal(0, 0.5, (8, 8)), 1))
    K, gaps = (X > 0).astype(int) + (X > 1), rng.random(X.shape) < 0.05
    if kind == "discrete":
        return DiscreteSuffStat(K, [3] * 8), {"indepTest": disCItest}
    if kind == "mixed":
        categories = tuple(("0", "1", "2") if j % 2 else None for j in range(8))
        return MixedTable(np.where(np.arange(8) % 2, K, X), categories, (False,) * 8, checked=True), {}
    if kind == "gapped":
        return pycupc.IncompleteTable(np.where(gaps, np.nan, X)), {}
    if kind == "imputed":
        return pycupc.MultipleImputation([np.where(gaps, rng.standard_normal(X.shape), X) for _ in range(2)]), {}
    if kind == "by_pair":
        return pycupc.SuffStat.from_data(np.where(gaps, np.nan, X), missing="pairwise"), {}
    return X, {"indepTest": pycupc.RCoT(features=10)}


@pytest.mark.filterwarnings("ignore:.*correlation:UserWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_no_schedule_changes_set_wise_tests(kind, monkeypatch):
    """Nor does the size of the rounds in which tests are made."""
    for seed in range(max(PROBLEMS // 12, 1)):
        data, options = of_family(kind, seed)
        options |= {"alpha": 0.2, "engine": "cpu"}
        want = pycupc.skeleton(data, numCores=1, **options), pycupc.pc(data, numCores=1, conservative=True, **options)
        with monkeypatch.context() as patch:
            for module in (answers, setwise_levels, threads):
                patch.setattr(module, "INLINE_TESTS", 0)
            for name, few in (("OPEN_PAIRS", 3), ("PART_SETS", 5), ("FIRST_ROUND", 2)):
                patch.setattr(setwise_walk, name, few)
            patch.setattr(turn_walk, "OPEN_PAIRS", 2)
            paused(patch, seed)
            for cores in (2, 5):
                fit = pycupc.skeleton(data, numCores=cores, **options)
                assert_same(fit, want[0])
                np.testing.assert_array_equal(fit.pMax, want[0].pMax)
            assert_same(pycupc.pc(data, numCores=3, conservative=True, **options), want[1])
