"""Errors in the terms of R (pycupc/r/messages.py), of `pc`, of `stability`, of the remedies."""

import numpy as np
import pytest

import pycupc
from pycupc.data import load_example
from pycupc.engines.subsets import refusal
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.r.messages import failures_in_reply, in_r
from pycupc.system.machine import gpu_works, several_cupys

C = np.where(np.eye(3), 1.0, 0.5)


def raised(call):
    with failures_in_reply(["a", "b", "c"]) as reply:
        call()
    return reply["message"]


def run(C=C, **arguments):
    arguments = {"engine": "cpu"} | arguments
    return raised(lambda: pycupc.pc({"C": C, "n": 50}, alpha=0.05, **arguments))


def changed(i, j, value, mirrored=False):
    out = C.copy()
    out[i, j] = value
    if mirrored:
        out[j, i] = value
    return out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"C": changed(0, 2, 0.1)}, "C must be symmetric, but C[1, 3] = 0.1 and C[3, 1] = 0.5 (1, 3)"),
        ({"C": changed(0, 1, np.inf, True)}, "C[1, 2] = Inf"),
        ({"C": changed(1, 1, 2.0)}, "C must have a diagonal of 1, but C[2, 2] = 2 (2);"),
        ({"C": changed(1, 0, -3.0, True)}, "C must hold correlations in [-1, 1], but C[1, 2] = -3 (1, 2)"),
        ({"engine": None}, '"auto", "cpu", "gpu", "cupc-e", "cupc-s", "reference", got NULL'),
        ({"engine": ["cpu", "gpu"]}, 'got c("cpu", "gpu")'),
        ({"engine": None}, "engine must be one of"),
        ({"m_max": -1}, "m.max must be a whole number"),
        ({"numCores": 0.5}, "at least 1, or NULL for all, got 0.5"),
        ({"quirks": True}, "quirks = TRUE reproduces faults"),
    ],
)
def test_errors_of_pc_in_the_terms_of_r(arguments, expected):
    assert expected in run(**arguments)


def test_errors_that_no_small_problem_raises_in_the_terms_of_r():
    said = in_r(refusal(1, 90, 20, "there is no bound"), ["a", "b"])
    assert "variable 2 (b) has 90 neighbours" in said
    assert "set m.max to 19 or less" in said


def failing_resample(**arguments):
    from pycupc.stability import stability

    X = np.random.default_rng(1).normal(size=(20, 3))
    return raised(lambda: stability(X, alpha=0.05, n_resamples=2, random_state=1, **arguments))


def test_errors_of_stability_in_the_terms_of_r(monkeypatch):
    assert 'fraction = 0.3 needs scheme = "subsample"' in failing_resample(fraction=0.3)
    monkeypatch.setattr(SuffStat, "check", lambda *_: (_ for _ in ()).throw(refusal(1, 90, 20, "so")))
    said = failing_resample(engine="cpu")
    assert said.startswith("resample 1 failed (EngineError: level 20 cannot be run: variable 2 (b) has")
    assert said.endswith("; with a checkpoint they would be kept")


def test_installing_for_the_gpu_in_the_terms_of_r(monkeypatch):
    monkeypatch.setattr("pycupc.system.machine.version_of", lambda name: "13")
    assert in_r(several_cupys(), ()).endswith('then cu_install(source, gpu = "gpu") for an NVIDIA driver of CUDA 12, '
                                              'gpu = "gpu13" for one of CUDA 13')  # fmt: skip
    monkeypatch.setattr("pycupc.system.machine._usable", {})
    monkeypatch.setattr("pycupc.system.machine.has_driver", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert in_r(gpu_works()[1], ()).startswith('CuPy is not installed; cu_install(source, gpu = "gpu")')


def test_contradicting_arrows_in_the_terms_of_r():
    """The remedies are functions and arguments of R."""
    fit = pycupc.pc(load_example("cell_nuclei"), alpha=0.01)
    assert in_r(fit._cpdag_note(), fit.labels).endswith("kept as pcalg has them; cu_to_cpdag() gives a CPDAG")
    fit = pycupc.pc(load_example("cell_nuclei").iloc[:, :10], alpha=0.01)
    assert in_r(fit._cpdag_note(), fit.labels).endswith('; u2pd = "retry" gives a graph that a DAG extends')
