"""The choice of the engine: a GPU that is not there, options that it ignores, and the remedies."""

import re
import sys

import numpy as np
import pytest
from common import ROOT, refused

import pycupc
from pycupc import pc
from pycupc.engines import select
from pycupc.system.machine import gpu_works

C3 = np.array([[1, 0.5, 0.2], [0.5, 1, 0.3], [0.2, 0.3, 1]])


def test_gpu_that_is_not_there_is_not_replaced():
    if gpu_works()[0]:
        pytest.skip("a CUDA device is here")
    for engine in ("gpu", "schur", "cupc-e", "cupc-s"):
        with pytest.raises(pycupc.EngineError, match=f"engine='{engine}' cannot run: .*engine='cpu' needs no GPU"):
            pc({"C": C3, "n": 50}, engine=engine)


OPTION_OF = {"beta": "cupc-e", "gamma": "cupc-e", "theta": "cupc-s", "delta": "cupc-s"}


@pytest.mark.parametrize("engine", ["gpu", "schur", "auto", "cupc-e", "cupc-s"])
@pytest.mark.parametrize("option", OPTION_OF)
def test_options_that_the_algorithm_ignores_are_refused(engine, option):
    """Before a GPU is looked for, so that the answer is the same on every machine."""
    arguments = {"engine": engine, "engine_options": {option: 32}}
    if engine == OPTION_OF[option]:
        if not gpu_works()[0]:
            refused(f"engine='{engine}' cannot run", pc, {"C": C3, "n": 50}, **arguments, error=pycupc.EngineError)
        return
    words = f"{option!r} is an option of engine='{OPTION_OF[option]}'$"
    refused(words, pc, {"C": C3, "n": 50}, **arguments)


@pytest.mark.parametrize("engine", ["gpu", "cupc-e", "auto"])
def test_unknown_options_are_refused(engine):
    known = "device, devices, pruning, correlations, beta, gamma, theta, delta"
    words = f"engine_options must be among {known}, got 'alpha'"
    refused(words, pc, {"C": C3, "n": 50}, engine=engine, engine_options={"alpha": 1})


def test_auto_names_the_options_that_the_cpu_does_not_use():
    fit = pc({"C": C3, "n": 50}, alpha=0.05, engine_options={"device": 0})
    assert fit.engine == "cpu (auto: fewer than 500 variables; engine_options not used: device)"
    assert pc({"C": C3, "n": 50}, alpha=0.05).engine == "cpu (auto: fewer than 500 variables)"


def test_auto_on_a_large_problem_names_the_options_too(monkeypatch):
    monkeypatch.setattr(select, "gpu_works", lambda device: (False, f"CUDA device {device} does not exist"))
    monkeypatch.setattr(select, "has_driver", lambda: True)
    engine, note = select.make_engine("auto", 500, options={"device": 7})
    assert engine.name == "cpu"
    assert note == "cpu (auto: CUDA device 7 does not exist; engine_options not used: device)"


def test_auto_says_nothing_of_packages_where_there_is_no_driver(monkeypatch):
    monkeypatch.setattr("pycupc.system.machine._usable", {})
    monkeypatch.setattr("pycupc.system.machine._DRIVERS", {sys.platform: "no_such_library.so.1"})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in ("cupy", "cupy.cuda"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert select.make_engine("auto", 500)[1] == "cpu (auto: no NVIDIA driver)"
    words = "engine='gpu' cannot run: no NVIDIA driver: no_such_library.so.1 cannot be loaded; check with nvidia-smi"
    refused(words, pc, {"C": C3, "n": 50}, engine="gpu", error=pycupc.EngineError)


def test_schur_is_another_name_of_gpu(monkeypatch):
    chosen = []
    monkeypatch.setattr(select, "gpu_works", lambda device: (True, "a device"))
    monkeypatch.setattr(
        "pycupc.engines.gpu.GpuEngine", lambda algorithm, **options: chosen.append((algorithm, options))
    )
    notes = [select.make_engine(name, 5, options={"device": 1})[1] for name in ("gpu", "schur")]
    assert notes == ["gpu (requested)"] * 2
    assert chosen == [("schur", {"device": 1})] * 2


@pytest.mark.parametrize("engine", ["gpu", "schur", "cupc-e", "cupc-s"])
def test_the_remedy_names_extras_that_exist(engine, monkeypatch):
    monkeypatch.setattr("pycupc.system.machine._usable", {})
    monkeypatch.setattr("pycupc.system.machine.has_driver", lambda: True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(pycupc.EngineError, match=f"engine='{engine}' cannot run: CuPy is not installed") as caught:
        pc({"C": C3, "n": 50}, engine=engine)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = re.findall(r"pycupc\[(\w+)\]", str(caught.value))
    assert sorted(extras) == ["gpu", "gpu13"]
    for extra in extras:
        assert f"\n{extra} = [" in project
