"""The tests of incomplete data of the GPU engine without a GPU: the kernels run on the host and agree with the CPU."""

import pytest
from discrete_runs import compare
from gpu_on_host import MISSING_FILES, HostEngine, build
from missing_runs import FAMILIES, TUNING, random_problem

from pycupc.engines.gpu import device_tuning


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("kernels"), 128, MISSING_FILES)


@pytest.mark.parametrize("family", FAMILIES)
def test_engine_agrees_with_cpu(library, family):
    made = [compare(HostEngine(library), random_problem(family, seed)) for seed in range(6)]
    assert max(map(len, made)) > 2


@pytest.mark.parametrize("change", TUNING, ids=str)
def test_tuning_changes_nothing(library, monkeypatch, change):
    for name, value in change.items():
        monkeypatch.setattr(device_tuning, name, value)
    for family in FAMILIES:
        compare(HostEngine(library), random_problem(family, 4))
