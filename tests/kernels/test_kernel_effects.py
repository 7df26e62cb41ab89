"""The kernel that summarises effects (kernels/effects/), on the host."""

import importlib
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from effects_cases import cpdag, named, random_covariance, random_dag
from gpu_on_host import HostDevice, Memory, build
from stability_data import gaussian

import pycupc
from pycupc.effects import on_gpu
from pycupc.independence.gaussian.correlation import correlation


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    host = HostDevice(build(tmp_path_factory.mktemp("kernels"), 256, {"effects/summaries": (on_gpu.KERNEL[1],)}))
    vars(host.cp).update(
        abs=np.abs, sort=np.sort, nan_to_num=np.nan_to_num, flatnonzero=lambda a: np.flatnonzero(a).view(Memory)
    )
    return host


@pytest.fixture(autouse=True)
def _host(device, monkeypatch):
    monkeypatch.setattr(on_gpu, "open_device", lambda index: device)
    monkeypatch.setattr(on_gpu, "correlation", lambda dev, X: correlation(X).view(Memory))


def both(m, C, **options):
    """The effects computed by the processor, and by the kernel."""
    cpu = pycupc.effects(named(m), C, engine="cpu", **options)
    with mock.patch("pycupc.effects.effects.gpu_works", return_value=(True, "")):
        return cpu, pycupc.effects(named(m), C, engine="gpu", **options)


@pytest.mark.parametrize("at_a_time", [7, 1 << 26])
@pytest.mark.parametrize("some", [{}, {"causes": [11, 3], "effects": [3, 0, 7, 11]}])
def test_summaries_are_those_of_the_processor(monkeypatch, at_a_time, some):
    monkeypatch.setattr(on_gpu, "MOST", at_a_time)
    rng = np.random.default_rng(0)
    cpu, gpu = both(cpdag(random_dag(rng, 12, 0.3)), random_covariance(rng, 12), **some)
    for how in ("smallest", "mean", "sign_agreement"):
        np.testing.assert_allclose(getattr(gpu, how)(), getattr(cpu, how)(), rtol=1e-12, atol=1e-14, err_msg=how)
    assert gpu.top(5)["effect"].tolist() == cpu.top(5)["effect"].tolist()


@pytest.mark.filterwarnings("ignore:effects were computed although the graph is not a CPDAG")
def test_undefined_effects():
    m = np.zeros((8, 8), dtype=int)
    m[0, 2] = m[1, 2] = m[2, 3] = 1  # 0 and 1 are copies
    m[4, 5] = m[5, 4] = m[6, 5] = m[7, 4] = 1  # no set of parents of 4 or 5 is valid
    C = np.eye(8)
    C[0, 1] = C[1, 0] = 1.0
    cpu, gpu = both(m, C)
    for how in ("smallest", "mean", "sign_agreement"):
        np.testing.assert_array_equal(getattr(gpu, how)(), getattr(cpu, how)())
    assert np.isnan(gpu.smallest()).any(axis=1).tolist() == [v in (2, 4, 5) for v in range(8)]


@pytest.mark.parametrize(
    "options",
    [{}, {"effects": "v5", "standardize": False}, {"causes": ["v1", "v4", "v7"], "q": 3, "tiers": [1, 2] * 4}],
)
@pytest.mark.filterwarnings("ignore:identical columns")
def test_cstar_is_that_of_the_processor_bit_by_bit(monkeypatch, options):
    module, X = importlib.import_module("pycupc.stability.cstar"), gaussian(n=60, p=8)
    X["v3"] = X["v2"]  # undefined effects
    call = {"alpha": 0.3, "n_resamples": 6, "random_state": 1, **options}
    cpu, pc = pycupc.cstar(X, **call), module.pc

    def on_a_device(stat, **arguments):
        return replace(pc(stat.rows, **arguments), engine="gpu (requested)")

    monkeypatch.setattr(module, "pc", on_a_device)
    monkeypatch.setattr(module, "FEW", 0)
    for at_a_time in (11, 1 << 26):
        monkeypatch.setattr(on_gpu, "MOST", at_a_time)
        assert pycupc.cstar(X, **call) == cpu


def test_what_the_gpu_does_not_do():
    fit = named(np.zeros((2, 2), dtype=int))
    with pytest.raises(ValueError, match="'auto' or 'cpu' with method 'optimal', got 'gpu'"):
        pycupc.effects(fit, np.eye(2), method="optimal", engine="gpu")
    with (
        mock.patch("pycupc.effects.effects.gpu_works", return_value=(False, "no driver")),
        pytest.raises(pycupc.EngineError, match="cannot run: no driver"),
    ):
        pycupc.effects(fit, np.eye(2), engine="gpu")
