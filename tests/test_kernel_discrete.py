"""The GPU engine of discrete data without a GPU: its kernels run on the host and agree with the CPU engine."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from discrete_runs import compare, random_problem
from gpu_on_host import HostEngine, build

from pycupc.engines.gpu import discrete


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    built = build(tmp_path_factory.mktemp("kernels"))
    if built is None:
        pytest.skip("no C++ compiler")
    return built


@pytest.mark.parametrize("seed", range(12))
def test_engine_agrees_with_cpu(library, seed):
    compare(HostEngine(library), random_problem(seed, small=True))


@pytest.mark.parametrize(
    "change",
    [{"configurations": 0}, {"cells": 300}, {"mask_words": 4096 + 256, "first_sets": 1, "growth": 1}, {"doubtful": 0}],
    ids=str,
)
def test_tuning_changes_nothing(library, monkeypatch, change):
    monkeypatch.setattr(discrete, "TUNING", dataclasses.replace(discrete.TUNING, **change))
    for seed in (100, 101, 102):
        problem = random_problem(seed, small=True)
        if "doubtful" in change:
            problem = dataclasses.replace(problem, data=problem.data._replace(band=np.inf))
        compare(HostEngine(library), problem)
