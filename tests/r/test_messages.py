"""Messages with facts (pycupc/system/localised_message.py), in Python's terms and in R's (pycupc/r/messages.py)."""

import pickle

import numpy as np
import pytest

import pycupc
from pycupc.data import load_example
from pycupc.engines.protocol import EngineError
from pycupc.engines.subsets import refusal
from pycupc.independence.gaussian.suffstat import SuffStat
from pycupc.r.messages import failures_in_reply, in_r
from pycupc.system.localised_message import Argument, Cell, Message, Setting, Value, Variable, Variables, Words
from pycupc.system.machine import gpu_works, several_cupys

C = np.where(np.eye(3), 1.0, 0.5)


@pytest.mark.parametrize(
    ("fact", "python", "r"),
    [
        (Variable(1), "1", "2 (node 1)"),
        (Variable(2), "2", "3"),
        (Variable(7), "7", "8"),  # of other data
        (Variables((0, 2)), "(0, 2)", "(random_state, 3)"),
        (Cell(0, 2), "[0, 2]", "[1, 3]"),
        (Argument("m_max"), "m_max", "m.max"),
        (Argument("alpha"), "alpha", "alpha"),
        (Argument("data"), "data", "`x`"),
        (Setting("engine", "gpu"), "engine='gpu'", 'engine = "gpu"'),
        (Setting("solve_confl", True), "solve_confl=True", "solve.confl = TRUE"),
        (Setting("fraction", 0.3), "fraction=0.3", "fraction = 0.3"),
        (Value(None), "None", "NULL"),
        (Value(["cpu", 'g"pu']), """['cpu', 'g"pu']""", 'c("cpu", "g\\"pu")'),
        (Value([3]), "[3]", "3"),
        (Value("a", False), "'a', False", '"a", FALSE'),
        (Value(np.inf, -np.inf, np.nan), "inf, -inf, nan", "Inf, -Inf, NaN"),
        (Value(3.0, 0.5, 1e300), "3.0, 0.5, 1e+300", "3, 0.5, 1e+300"),
        (Words("pip install", "cu_install()"), "pip install", "cu_install()"),
        (Message("see {x}", x=Variable(1)), "see 1", "see 2 (node 1)"),
        (EngineError(Message("at {x}", x=Variable(1))), "at 1", "at 2 (node 1)"),
        (OSError("node 1"), "node 1", "node 1"),
        ("{node 1} and random_state", "{node 1} and random_state", "{node 1} and random_state"),
    ],
)
def test_a_fact_in_both_languages(fact, python, r):
    error = ValueError(Message("got {fact}; {n:.1f} GB", fact=fact, n=2))
    assert str(error) == f"got {python}; 2.0 GB"
    assert in_r(error, ["random_state", "node 1", "3"]) == f"got {r}; 2.0 GB"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert in_r(again, ["random_state", "node 1", "3"]) == in_r(error, ["random_state", "node 1", "3"])


@pytest.mark.parametrize("labels", [["node 1", "node 2", "variable 9"], ["random_state", "m_max", "C[0, 1]"]])
def test_labels_are_no_part_of_a_message(labels):
    constant = np.where(np.arange(3) == 2, np.nan, C)
    constant[2] = np.nan
    with failures_in_reply(labels) as reply:
        pycupc.pc({"C": constant, "n": 50}, labels=labels, alpha=0.05, engine="cpu")
    assert reply["error"] is None
    assert reply["notices"] == [f"C has NaN; pairs without a correlation count as independent: {labels[2]}"]


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
